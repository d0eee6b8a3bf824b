/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are handed on to another server, over real sockets. */
#include "tests/unit/net/raw.h"
#include "tests/unit/net/upstream.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/task.h"
#include "net/net.h"

struct place {
    struct exec *exec;
    struct lane *lane;
    struct net *net;
    struct net_server *server;
    struct upstream up;
    uint16_t up_port;
    const char *address;
    struct gate *all_done;
    _Atomic int begun;
    _Atomic int done;
};

/* What lives as long as a request that is handed on. */
struct handed {
    struct place *place;
    const char *headers[32];
    char lines[32][256];
    char target[256];
};

static bool keep_header(void *arg, const char *name, const char *value, struct buf *out)
{
    (void)arg;
    if (!strcasecmp(name, "Set-Cookie"))
        return false;
    buf_puts(out, value);
    return true;
}

static void refuse(void *arg, struct net_exchange *x, det_status status,
                   const char *sentence)
{
    struct buf body = BUF_INIT;

    (void)arg;
    buf_printf(&body, "%s: %s", det_status_name(status), sentence);
    net_answer(x, 502, "text/plain", NULL, &body);
}

static void done(void *arg)
{
    struct handed *handed = arg;

    handed->place->done++;
    mem_free(handed);
}

static void hand_on(void *arg, struct net_exchange *x)
{
    struct place *place = arg;
    struct handed *handed = mem_new(struct handed);
    const char *at = NULL;
    const char *name;
    const char *value;
    size_t count = 0;
    struct net_relay to = {
        .address = place->address,
        .port = place->up_port,
        .headers = handed->headers,
        .target = handed->target,
        .may_switch = net_request_header(x, "Upgrade"),
        .lane = place->lane,
        .header = keep_header,
        .refuse = refuse,
        .done = done,
        .arg = handed,
    };

    handed->place = place;
    place->begun++;
    snprintf(handed->target, sizeof(handed->target), "%s", net_request_path(x));
    while (net_request_next_header(x, &at, &name, &value)) {
        if (strcasecmp(name, "X-Keep"))
            continue;
        snprintf(handed->lines[count], sizeof(handed->lines[count]), "%s: %s", name,
                 value);
        handed->headers[count] = handed->lines[count];
        count++;
    }
    net_relay(x, &to);
}

static size_t later(void *arg, const struct net_exchange *x)
{
    const char *length = net_request_header(x, "Content-Length");

    (void)arg;
    return net_request_header(x, "Transfer-Encoding") ||
                   (length && strtoull(length, NULL, 10) > 1000)
               ? NET_BODY_LATER
               : 1000;
}

static void place_open_for(struct place *place, uint32_t most)
{
    struct net_server_config config = {
        .host = "127.0.0.1",
        .max_body_bytes = 1 << 20,
        .body_limit = later,
        .threads = 2,
        .max_relays = most,
        .handler = hand_on,
        .arg = place,
    };

    memset(place, 0, sizeof(*place));
    upstream_start(&place->up);
    place->up_port = place->up.port;
    place->address = "127.0.0.1";
    CHECK_OK(exec_threads_new(&clock_system, &place->exec, &test_err));
    CHECK_OK(lane_new(place->exec, "test", 2, &place->lane, &test_err));
    CHECK_OK(net_system_new(place->exec, &place->net, &test_err));
    CHECK_OK(net_serve(place->net, &config, &place->server, &test_err));
}

static void place_open(struct place *place)
{
    place_open_for(place, 0);
}

/* Every request that was begun is over soon. */
static void place_close(struct place *place)
{
    net_server_free(place->server);
    while (place->done < place->begun)
        usleep(1000);
    upstream_stop(&place->up);
    net_free(place->net);
    exec_free(place->exec);
}

static int place_connect(struct place *place)
{
    return raw_open(net_server_port(place->server));
}

/* One request that says it is the last; everything that comes back. */
static void ask(struct place *place, const char *request, struct buf *answer)
{
    int fd = place_connect(place);

    raw_send(fd, request);
    raw_read_all(fd, answer);
    close(fd);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"

TEST(a_request_is_handed_on_with_the_headers_it_is_given)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/echo") "X-Keep: this\r\nCookie: secret\r\n\r\n", &answer);

    CHECK_HAS(answer.data, "HTTP/1.1 200");
    CHECK_HAS(answer.data, "GET /echo HTTP/1.1\r\n");
    CHECK_HAS(answer.data, "X-Keep: this");
    CHECK_HAS(answer.data, "X-Up: yes");
    CHECK_NULL(strstr(answer.data, "secret"));
    CHECK_NULL(strstr(answer.data, "Set-Cookie"));
    CHECK_NULL(strstr(answer.data, "X-Hop"));
    buf_done(&answer);
    place_close(&place);
}

TEST(headers_that_are_said_to_be_of_one_connection_are_not_handed_on)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place,
        "GET /echo HTTP/1.1\r\nHost: h\r\nX-Keep: this\r\n"
        "Connection: close, x-keep\r\n\r\n",
        &answer);

    CHECK_HAS(answer.data, "HTTP/1.1 200");
    CHECK_NULL(strstr(answer.data, "X-Keep"));
    CHECK_NULL(strstr(answer.data, "X-Hop"));
    buf_done(&answer);
    place_close(&place);
}

TEST(a_small_body_goes_with_its_request)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place,
        "POST /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Content-Length: 5\r\n\r\nhello",
        &answer);

    CHECK_HAS(answer.data, "\r\n\r\nlength 5");
    buf_done(&answer);
    place_close(&place);
}

TEST(an_empty_body_is_one)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place,
        "POST /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n",
        &answer);
    CHECK_HAS(answer.data, "\r\n\r\nlength 0");

    buf_clear(&answer);
    ask(&place,
        "POST /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        &answer);
    CHECK_HAS(answer.data, "\r\n\r\nchunked 5");
    buf_done(&answer);
    place_close(&place);
}

static void send_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

TEST(a_large_body_is_streamed_with_its_length)
{
    enum { SIZE = 3 << 20 }; /* more than any buffer on the way */
    char *body = mem_alloc(SIZE);
    struct buf answer = BUF_INIT;
    char head[128];
    struct place place;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    snprintf(head, sizeof(head),
             "POST /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
             "Content-Length: %d\r\n\r\n",
             SIZE);
    raw_send(fd, head);
    send_all(fd, body, SIZE);
    raw_read_all(fd, &answer);

    snprintf(head, sizeof(head), "\r\n\r\nlength %d", SIZE);
    CHECK_HAS(answer.data, head);
    close(fd);
    mem_free(body);
    buf_done(&answer);
    place_close(&place);
}

/* Two lengths of one body: the chunks count, and the program behind hears of no other;
 * else it would take the rest for a request of its own. */
TEST(a_body_with_a_length_and_chunks_has_chunks)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place,
        "POST /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Content-Length: 5000\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\n01234\r\n0\r\n\r\n",
        &answer);

    CHECK_HAS(answer.data, "chunked 15"); /* one chunk and the last, with frames */
    buf_done(&answer);
    place_close(&place);
}

TEST(a_body_in_chunks_is_streamed_in_chunks)
{
    struct buf answer = BUF_INIT;
    struct place place;
    char chunk[4096 + 16];
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    raw_send(fd, "POST /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                 "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
    raw_read_until(fd, &answer, "100 Continue");
    snprintf(chunk, sizeof(chunk), "1000\r\n%4096s\r\n", "x");
    for (int i = 0; i < 500; i++)
        send_all(fd, chunk, strlen(chunk));
    raw_send(fd, "0\r\n\r\n");
    raw_read_all(fd, &answer);

    CHECK_HAS(answer.data, "\r\n\r\nchunked 2");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(an_answer_before_the_body_was_read_arrives)
{
    enum { SIZE = 1 << 20 };
    char *body = mem_alloc(SIZE);
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    raw_send(fd, "POST /early HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                 "Content-Length: 1048576\r\n\r\n");
    send_all(fd, body, SIZE);
    raw_read_all(fd, &answer);

    CHECK_HAS(answer.data, "413");
    close(fd);
    mem_free(body);
    buf_done(&answer);
    place_close(&place);
}

TEST(a_reply_in_chunks_is_one)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/chunks") "\r\n", &answer);

    CHECK_HAS(answer.data, "Transfer-Encoding: chunked");
    CHECK_HAS(answer.data, "Content-Type: text/plain");
    CHECK_HAS(answer.data, "999\n\r\n0\r\n\r\n");
    buf_done(&answer);
    place_close(&place);
}

static void check_large(const struct buf *answer)
{
    const char *body = strstr(answer->data, "\r\n\r\n") + 4;
    size_t len = answer->len - (size_t)(body - answer->data);

    CHECK_EQ(len, UPSTREAM_LARGE);
    for (size_t i = 0; i < len; i += 65536 + 7) /* `at` began anew at each 64 KB */
        CHECK_EQ((unsigned char)body[i], i * 31 % 251);
}

TEST(a_large_reply_has_its_length_and_every_byte)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/large") "\r\n", &answer);

    CHECK_HAS(answer.data, "Content-Length: 25165824");
    check_large(&answer);
    buf_done(&answer);
    place_close(&place);
}

/* The sender is held up: of 24 MB no more is under way than buffers have. */
TEST(a_slow_reader_makes_the_other_side_wait)
{
    enum { SMALL = 131072 };
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){SMALL}, sizeof(int)), 0);
    raw_send(fd, GET("/large") "\r\n");
    raw_read_until(fd, &answer, "Content-Length");
    for (size_t before = 1; before != place.up.sent;) {
        before = place.up.sent; /* until it stands still */
        usleep(20000);
    }
    CHECK(place.up.sent < UPSTREAM_LARGE);
    raw_read_all(fd, &answer);
    check_large(&answer);
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(a_reply_that_ends_with_its_connection_is_complete)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/until") "\r\n", &answer);

    CHECK_HAS(answer.data, "until the end");
    CHECK_HAS(answer.data, "0\r\n\r\n");
    buf_done(&answer);
    place_close(&place);
}

TEST(replies_without_a_body_have_none)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/empty") "\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 204");
    CHECK_HAS(answer.data + answer.len - 4, "\r\n\r\n");

    buf_clear(&answer);
    ask(&place, "HEAD /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        &answer);
    CHECK_HAS(answer.data, "Content-Length: 25165824");
    CHECK_HAS(answer.data + answer.len - 4, "\r\n\r\n");
    buf_done(&answer);
    place_close(&place);
}

TEST(events_arrive_when_they_are_sent)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    raw_send(fd, GET("/events") "\r\n");
    raw_read_until(fd, &answer, "data: one");
    CHECK_NULL(strstr(answer.data, "data: two"));
    upstream_go(&place.up);
    raw_read_until(fd, &answer, "data: two");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

/* ---- failures -------------------------------------------------------------------- */

TEST(more_than_the_most_are_refused_until_one_ends)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open_for(&place, 1);
    fd = place_connect(&place);
    raw_send(fd, GET("/events") "\r\n");
    raw_read_until(fd, &answer, "data: one");
    buf_clear(&answer);
    ask(&place, GET("/echo") "\r\n", &answer);
    CHECK_HAS(answer.data, "BUSY: 1 conversations are open, which is the most");

    upstream_go(&place.up);
    raw_read_all(fd, &answer);
    while (place.done < 2) /* also the one that was refused: its memory is free */
        usleep(1000);
    buf_clear(&answer);
    ask(&place, GET("/echo") "\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 200");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(who_closes_without_an_answer_is_told_of_in_a_sentence)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/none") "\r\n", &answer);
    CHECK_HAS(answer.data, "502");
    CHECK_HAS(answer.data, "UNREACHABLE: it closed the connection without an answer");

    buf_clear(&answer);
    ask(&place, GET("/wrong") "\r\n", &answer);
    CHECK_HAS(answer.data, "the answer is not HTTP");
    buf_done(&answer);
    place_close(&place);
}

TEST(nobody_there_is_told_at_once)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open(&place);
    place.up_port = 1;
    ask(&place, GET("/echo") "\r\n", &answer);
    CHECK_HAS(answer.data, "502");
    CHECK_HAS(answer.data, "nobody listens there");

    buf_clear(&answer);
    fd = place_connect(&place); /* with a body that is under way */
    raw_send(fd, "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n"
                 "Connection: close\r\n\r\n");
    for (int i = 0; i < 200; i++)
        raw_send(fd, "0123456789");
    raw_read_all(fd, &answer);
    CHECK_HAS(answer.data, "nobody listens there");
    close(fd);

    buf_clear(&answer);
    place.address = "localhost";
    ask(&place, GET("/echo") "\r\n", &answer);
    CHECK_HAS(answer.data, "'localhost' is not an address");
    buf_done(&answer);
    place_close(&place);
}

TEST(a_reply_that_breaks_off_is_no_whole_one)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/half") "\r\n", &answer);

    CHECK_HAS(answer.data, "Content-Length: 1000");
    CHECK(answer.len < 1000);
    buf_done(&answer);
    place_close(&place);
}

TEST(clients_may_leave_at_any_moment)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd[4];

    place_open(&place);
    fd[0] = place_connect(&place); /* in the middle of its body */
    raw_send(fd[0], "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\nx");
    fd[1] = place_connect(&place); /* while nothing comes */
    raw_send(fd[1], GET("/events") "\r\n");
    raw_read_until(fd[1], &answer, "data: one");
    fd[2] = place_connect(&place); /* with much to read */
    raw_send(fd[2], GET("/large") "\r\n");
    fd[3] = place_connect(&place);
    raw_send(fd[3], GET("/socket") "Upgrade: websocket\r\n\r\n");
    for (int i = 0; i < 4; i++)
        close(fd[i]);
    upstream_go(&place.up);
    buf_done(&answer);
    place_close(&place);
}

TEST(a_server_that_stops_ends_what_is_handed_on)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd[3];

    place_open(&place);
    fd[0] = place_connect(&place);
    raw_send(fd[0], GET("/events") "\r\n");
    raw_read_until(fd[0], &answer, "data: one");
    fd[1] = place_connect(&place);
    raw_send(fd[1], "GET /socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\n\r\n");
    raw_read_until(fd[1], &answer, "hello");
    fd[2] = place_connect(&place);
    raw_send(fd[2],
             "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\nx");
    while (place.begun < 3)
        usleep(1000);
    net_server_free(place.server);
    while (place.done < place.begun)
        usleep(1000);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    upstream_stop(&place.up);
    net_free(place.net);
    exec_free(place.exec);
    buf_done(&answer);
}

/* ---- another protocol ------------------------------------------------------------ */

#define SOCKET                                                                         \
    "GET /socket HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"                        \
    "Connection: Upgrade\r\nX-Keep: k\r\n\r\n"

TEST(after_a_switch_both_talk_as_they_like)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    raw_send(fd, SOCKET "first ");
    raw_read_until(fd, &answer, "hello");
    CHECK_HAS(answer.data, "HTTP/1.1 101");
    CHECK_HAS(answer.data, "Upgrade: websocket");
    CHECK_HAS(answer.data, "Sec-WebSocket-Accept: yes");
    raw_read_until(fd, &answer, "first ");
    raw_send(fd, "second");
    raw_read_until(fd, &answer, "second");
    shutdown(fd, SHUT_WR); /* the other side hears, and has the last word */
    raw_read_all(fd, &answer);
    CHECK_HAS(answer.data, "secondbye");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(a_switch_whose_head_comes_in_parts_is_one)
{
    struct buf answer = BUF_INIT;
    struct place place;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    raw_send(fd, "GET /slowly HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\n\r\n");
    while (!place.up.has_begun)
        usleep(1000);
    ask(&place, GET("/echo") "\r\n", &answer); /* the thread has seen the first line */
    CHECK_HAS(answer.data, "HTTP/1.1 200");
    upstream_go(&place.up);
    raw_read_until(fd, &answer, "hello");
    CHECK_HAS(answer.data, "HTTP/1.1 101");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

static void *send_much(void *arg)
{
    char *bytes = mem_alloc(UPSTREAM_LARGE);
    int fd = *(int *)arg;

    memset(bytes, 'x', UPSTREAM_LARGE);
    send_all(fd, bytes, UPSTREAM_LARGE);
    shutdown(fd, SHUT_WR);
    mem_free(bytes);
    return NULL;
}

TEST(a_tunnel_carries_more_than_it_holds)
{
    struct buf answer = BUF_INIT;
    struct place place;
    pthread_t sender;
    int fd;

    place_open(&place);
    fd = place_connect(&place);
    raw_send(fd, SOCKET);
    raw_read_until(fd, &answer, "hello");
    buf_clear(&answer);
    CHECK_EQ(pthread_create(&sender, NULL, send_much, &fd), 0);
    raw_read_all(fd, &answer);
    pthread_join(sender, NULL);

    CHECK_EQ(answer.len, UPSTREAM_LARGE + strlen("bye"));
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(who_does_not_want_to_switch_answers_as_ever)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/refuse") "Upgrade: websocket\r\n\r\n", &answer);

    CHECK_HAS(answer.data, "HTTP/1.1 403");
    buf_done(&answer);
    place_close(&place);
}

TEST(nobody_switches_who_was_not_asked_to)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/socket") "\r\n", &answer);

    CHECK_HAS(answer.data, "502");
    buf_done(&answer);
    place_close(&place);
}
