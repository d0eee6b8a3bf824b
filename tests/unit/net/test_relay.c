/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are handed on to another server, over real sockets. */
#include "tests/unit/net/relay_place.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

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

TEST(an_empty_body_is_handed_on)
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

/* Two lengths of one body: the chunks count, and the program gets no other length;
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

TEST(a_reply_in_chunks_stays_in_chunks)
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
    for (size_t i = 0; i < len; i += 65536 + 7) /* `at` starts again at each 64 KB */
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

/* ---- back pressure --------------------------------------------------------------- */

/* A ring of 64 KB, a piece made of it or about to go into it, and 32 KB in libmicrohttpd.
 * A literal on purpose: the test must fail if somebody enlarges the rings. */
enum { MOST_HELD = 160 << 10 };

/* Over TLS one record of 16 KB more in the server, in the client and in the client's thread.
 * The kernel's count is of encrypted bytes, which are a little more. */
static size_t most_held(void)
{
    return MOST_HELD + (raw_wrap ? 48 << 10 : 0);
}

/* Until `count` is past a ring's size and stands still. */
static void wait_until_still(const _Atomic size_t *count)
{
    size_t before = 0;

    for (int still = 0; still < 10; still++) {
        if (*count != before || *count < 65536)
            still = 0;
        before = *count;
        usleep(10000);
    }
}

static uint16_t port_of_end(int fd, bool is_peer)
{
    struct sockaddr_in at = {0};
    socklen_t size = sizeof(at);
    int code = is_peer ? getpeername(fd, (struct sockaddr *)&at, &size)
                       : getsockname(fd, (struct sockaddr *)&at, &size);

    return code || at.sin_family != AF_INET ? 0 : ntohs(at.sin_port);
}

/* The connected socket of this process with this port at its own end or at its far end. */
static int find_socket(uint16_t port, bool is_peer)
{
    for (int fd = 0; fd < 1024; fd++)
        if (port_of_end(fd, true) && port_of_end(fd, is_peer) == port)
            return fd;
    CHECK(false);
    return -1;
}

/* How many bytes the kernel holds on their way from one socket to the other. */
static size_t in_kernel(int from, int to)
{
    int unacknowledged = 0;
    int unread = 0;

    CHECK_EQ(ioctl(from, SIOCOUTQ, &unacknowledged), 0);
    CHECK_EQ(ioctl(to, FIONREAD, &unread), 0);
    return (size_t)unacknowledged + (size_t)unread;
}

/* All four sockets are in this process, so the kernel tells exactly how much the relay and
 * libmicrohttpd hold, however large its own buffers are. */
struct four_sockets {
    int client;
    int server; /* libmicrohttpd's end of the client's connection */
    int relay;  /* our end of the program's connection */
    int program;
};

/* Bytes between the test and the thread that speaks TLS for it. */
static size_t in_pair(int end)
{
    int unread = 0;

    if (raw_wrap)
        CHECK_EQ(ioctl(end, FIONREAD, &unread), 0);
    return (size_t)unread;
}

static struct four_sockets find_sockets(struct place *place, int client)
{
    if (raw_wrap)
        client = raw_wrapped.connection;
    return (struct four_sockets){
        .client = client,
        .server = find_socket(port_of_end(client, false), true),
        .relay = find_socket(place->up_port, true),
        .program = find_socket(place->up_port, false),
    };
}

TEST(a_slow_reader_makes_the_program_wait)
{
    struct buf answer = BUF_INIT;
    struct four_sockets four;
    struct place place;
    size_t passed_on;
    int fd;

    place_open(&place);
    raw_set_small(place.up.listener);
    fd = raw_open_small(net_server_port(place.server));
    raw_send(fd, GET("/large") "\r\n");
    raw_read_until(fd, &answer, "Content-Length");
    wait_until_still(&place.up.sent);

    four = find_sockets(&place, fd);
    passed_on = answer.len + in_pair(fd) + in_kernel(four.server, four.client) +
                in_kernel(four.program, four.relay);
    CHECK(place.up.sent < UPSTREAM_LARGE);
    fprintf(stderr, "DOWN %zu %zu\n", place.up.sent, place.up.sent - passed_on);
    CHECK(place.up.sent < passed_on + most_held());
    raw_read_all(fd, &answer);
    check_large(&answer);
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

struct upload {
    pthread_t thread;
    int fd;
    _Atomic size_t sent;
};

static void *run_upload(void *arg)
{
    struct upload *upload = arg;
    char bytes[4096] = "";

    while (upload->sent < UPSTREAM_LARGE) {
        ssize_t n = send(upload->fd, bytes, sizeof(bytes), MSG_NOSIGNAL);

        if (n <= 0)
            break;
        upload->sent += (size_t)n;
    }
    return NULL;
}

TEST(a_slow_program_makes_the_client_wait)
{
    struct upload upload = {0};
    struct buf answer = BUF_INIT;
    struct four_sockets four;
    struct place place;
    size_t passed_on;
    char text[128];

    place_open(&place);
    raw_set_small(place.up.listener);
    upload.fd = raw_open_small(net_server_port(place.server));
    snprintf(text, sizeof(text),
             "POST /stall HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
             "Content-Length: %d\r\n\r\n",
             UPSTREAM_LARGE);
    raw_send(upload.fd, text);
    CHECK_EQ(pthread_create(&upload.thread, NULL, run_upload, &upload), 0);
    wait_until_still(&upload.sent);

    four = find_sockets(&place, upload.fd);
    passed_on = in_pair(raw_wrapped.inner) + in_kernel(four.client, four.server) +
                in_kernel(four.relay, four.program);
    CHECK(upload.sent < UPSTREAM_LARGE);
    fprintf(stderr, "UP %zu %zu\n", upload.sent, upload.sent - passed_on);
    CHECK(upload.sent < passed_on + most_held());
    upstream_go(&place.up);
    pthread_join(upload.thread, NULL);
    raw_read_all(upload.fd, &answer);
    snprintf(text, sizeof(text), "\r\n\r\nlength %d", UPSTREAM_LARGE);
    CHECK_HAS(answer.data, text);
    close(upload.fd);
    buf_done(&answer);
    place_close(&place);
}

/* ---- ends ------------------------------------------------------------------------ */

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

TEST(relays_above_the_limit_are_refused_until_one_ends)
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
    CHECK_HAS(answer.data,
              "BUSY: 1 requests are handed on already, which is the limit");

    upstream_go(&place.up);
    raw_read_all(fd, &answer);
    while (place.done < 2) /* also the refused one: its memory is freed */
        usleep(1000);
    buf_clear(&answer);
    ask(&place, GET("/echo") "\r\n", &answer);
    CHECK_HAS(answer.data, "HTTP/1.1 200");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(a_missing_or_broken_answer_is_explained)
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

TEST(a_program_that_does_not_listen_is_reported_at_once)
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

TEST(a_reply_that_breaks_off_is_not_completed)
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
    executor_free(place.exec);
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
    /* what comes before the 101 is lost over TLS: WebSockets wait for it */
    raw_send(fd, raw_wrap ? SOCKET : SOCKET "first ");
    raw_read_until(fd, &answer, "hello");
    if (raw_wrap)
        raw_send(fd, "first ");
    CHECK_HAS(answer.data, "HTTP/1.1 101");
    CHECK_HAS(answer.data, "Upgrade: websocket");
    CHECK_HAS(answer.data, "Sec-WebSocket-Accept: yes");
    raw_read_until(fd, &answer, "first ");
    raw_send(fd, "second");
    raw_read_until(fd, &answer, "second");
    shutdown(fd, SHUT_WR); /* the other side notices, and sends the last bytes */
    raw_read_all(fd, &answer);
    CHECK_HAS(answer.data, "secondbye");
    close(fd);
    buf_done(&answer);
    place_close(&place);
}

TEST(a_switch_may_come_in_parts)
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

TEST(a_program_may_refuse_to_switch)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/refuse") "Upgrade: websocket\r\n\r\n", &answer);

    CHECK_HAS(answer.data, "HTTP/1.1 403");
    buf_done(&answer);
    place_close(&place);
}

TEST(a_switch_that_was_not_requested_is_refused)
{
    struct buf answer = BUF_INIT;
    struct place place;

    place_open(&place);
    ask(&place, GET("/socket") "\r\n", &answer);

    CHECK_HAS(answer.data, "502");
    buf_done(&answer);
    place_close(&place);
}
