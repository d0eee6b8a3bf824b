/* SPDX-License-Identifier: Apache-2.0 */
/* The real client against servers that do odd things. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/memory/mem.h"
#include "net/client_tick.h"
#include "net/net.h"
#include "net/net_system.h"
#include "tests/unit/net/raw.h"

/* A scripted server: accepts a connection for each text, answers the request on it
 * with the text, and closes.  Behind a '+' it waits for one more request first, and
 * does not answer that.  Behind a '~' the text never ends: another letter comes every few
 * milliseconds, until the client leaves. */
struct script {
    int listen_fd;
    uint16_t port;
    pthread_t thread;
    const char *const *texts; /* ends with NULL */
};

static void drip(int fd)
{
    struct pollfd client = {.fd = fd, .events = POLLRDHUP};

    for (int i = 0; i < 10000 && !poll(&client, 1, 20); i++)
        if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
            break;
}

static void script_serve(int fd, const char *text)
{
    struct buf request = BUF_INIT;
    bool has_more = *text == '+', drips = *text == '~';

    raw_read_until(fd, &request, "\r\n\r\n");
    raw_send(fd, text + (has_more || drips));
    if (drips)
        drip(fd);
    buf_clear(&request);
    if (has_more)
        raw_read_until(fd, &request, "\r\n\r\n");
    shutdown(fd, SHUT_WR);
    raw_read_all(fd, &request); /* else the unread bytes would break the reply */
    buf_done(&request);
}

static void *script_run(void *arg)
{
    struct script *script = arg;

    for (const char *const *text = script->texts; *text; text++) {
        int fd = accept(script->listen_fd, NULL, NULL);

        CHECK(fd >= 0);
        script_serve(fd, *text);
        close(fd);
    }
    return NULL;
}

static void script_start(struct script *script, const char *const *texts)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);

    script->texts = texts;
    script->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(bind(script->listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_EQ(listen(script->listen_fd, 8), 0);
    getsockname(script->listen_fd, (struct sockaddr *)&at, &size);
    script->port = ntohs(at.sin_port);
    CHECK_EQ(pthread_create(&script->thread, NULL, script_run, script), 0);
}

static void script_stop(struct script *script)
{
    pthread_join(script->thread, NULL);
    close(script->listen_fd);
}

struct ticks {
    int count;
    size_t sent;
};

static void count_tick(void *arg, size_t sent_bytes, size_t body_bytes)
{
    struct ticks *ticks = arg;

    ticks->count++;
    ticks->sent = sent_bytes;
    CHECK_EQ(body_bytes, 4);
}

static struct ticks *watching; /* the ticks of the next calls; NULL: none */

/* Calls a scripted server `calls` times; returns the last outcome. */
static det_status call_script_with(const struct net_call *call,
                                   const char *const *texts, int calls,
                                   struct net_reply *reply)
{
    struct net_client *client;
    struct script script;
    det_status st = DET_OK;
    struct net *net;

    script_start(&script, texts);
    CHECK_OK(net_system_new(NULL, &net, &test_err));
    CHECK_OK(net_client_new(net, "localhost", script.port, &client, &test_err));
    net_client_tick(client, watching ? count_tick : NULL, watching);
    for (int i = 0; i < calls; i++)
        st = net_call(client, call, reply, &test_err);
    net_client_free(client);
    script_stop(&script);
    net_free(net);
    return st;
}

static det_status call_script(const char *const *texts, int calls, struct buf *body)
{
    struct net_call call = {.method = NET_GET, .path = "/", .timeout_ms = 20000};
    struct net_reply reply = {.body = body};

    return call_script_with(&call, texts, calls, &reply);
}

TEST(a_connection_that_closes_before_it_answers_is_tried_again_once)
{
    static const char *const texts[] = {
        "+HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo", NULL};
    static const char *const never[] = {
        "+HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none", "", NULL};
    struct buf body = BUF_INIT;

    CHECK_OK(call_script(texts, 2, &body));
    CHECK_STR(body.data, "two");
    CHECK_EQ(call_script(never, 2, &body), DET_UNREACHABLE);
    buf_done(&body);
}

TEST(a_server_may_answer_before_it_has_the_whole_body)
{
    static const char *const texts[] = {
        "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig", NULL};
    struct buf body = BUF_INIT;
    struct net_reply reply = {.body = &body};
    size_t len = 64 << 20; /* more than sockets hold */
    char *bytes = mem_alloc(len);
    struct net_call call = {
        .method = NET_POST, .path = "/", .body = bytes, .body_len = len};

    CHECK_OK(call_script_with(&call, texts, 1, &reply));

    CHECK_EQ(reply.status, 413);
    CHECK_STR(body.data, "big");
    mem_free(bytes);
    buf_done(&body);
}

static det_status stop_after_ticks(void *arg, const char *bytes, size_t len,
                                   struct err *err)
{
    const struct ticks *ticks = arg;

    (void)bytes;
    (void)len;
    return ticks->count < 3 ? DET_OK : err_set(err, DET_STATE, "enough");
}

TEST(a_call_says_how_far_it_is_while_its_stream_never_rests)
{
    static const char *const texts[] = {"~HTTP/1.1 200 OK\r\n\r\n", NULL};
    struct ticks ticks = {0};
    struct net_reply reply = {0};
    struct net_call call = {.method = NET_POST,
                            .path = "/",
                            .body = "body",
                            .body_len = 4,
                            .on_data = stop_after_ticks,
                            .arg = &ticks};

    watching = &ticks;
    CHECK_EQ(call_script_with(&call, texts, 1, &reply), DET_STATE);
    watching = NULL;

    CHECK(ticks.count >= 3);
    CHECK_EQ(ticks.sent, 4);
}

TEST(a_kept_connection_that_was_closed_is_opened_again)
{
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo", NULL};
    struct buf body = BUF_INIT;

    CHECK_OK(call_script(texts, 2, &body));

    CHECK_STR(body.data, "two");
    buf_done(&body);
}

TEST(a_reply_that_breaks_off_is_not_taken_for_whole)
{
    static const char *const cut_length[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\none", NULL};
    static const char *const cut_chunk[] = {
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", NULL};
    static const char *const cut_head[] = {"HTTP/1.1 200 OK\r\nContent-", NULL};
    static const char *const nothing[] = {"", NULL};
    static const char *const *const all[] = {cut_length, cut_chunk, cut_head, nothing};
    struct buf body = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        CHECK_EQ(call_script(all[i], 1, &body), DET_UNREACHABLE);
    buf_done(&body);
}

TEST(an_answer_that_comes_too_slowly_ends_the_call)
{
    static const char *const texts[] = {
        "~HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", NULL};
    static const char *const heads[] = {"~HTTP/1.1 200 OK\r\nA: ", NULL};
    struct net_call call = {.method = NET_GET, .path = "/", .timeout_ms = 1000};
    struct buf body = BUF_INIT;
    struct net_reply reply = {.body = &body};

    CHECK_EQ(call_script_with(&call, texts, 1, &reply), DET_TIMEOUT);
    CHECK_HAS(test_err.text, "comes too slowly");
    CHECK_EQ(call_script_with(&call, heads, 1, &reply), DET_TIMEOUT);
    buf_done(&body);
}

TEST(an_answer_that_is_not_http_is_named)
{
    static const char *const texts[] = {"220 smtp.example.org ESMTP\r\n", NULL};
    struct buf body = BUF_INIT;

    CHECK_EQ(call_script(texts, 1, &body), DET_IO);

    CHECK_HAS(test_err.text, "localhost port ");
    buf_done(&body);
}

TEST(old_servers_are_understood)
{
    static const char *const texts[] = {"HTTP/1.0 200 OK\r\n\r\nuntil the end", NULL};
    struct buf body = BUF_INIT;

    CHECK_OK(call_script(texts, 1, &body));

    CHECK_STR(body.data, "until the end");
    buf_done(&body);
}

TEST(an_unknown_host_is_unreachable)
{
    struct net_call call = {.method = NET_GET, .path = "/"};
    struct net_client *client;
    struct net_reply reply = {0};
    struct net *net;

    CHECK_OK(net_system_new(NULL, &net, &test_err));
    CHECK_OK(net_client_new(net, "no-such-host.invalid", 80, &client, &test_err));

    CHECK_EQ(net_call(client, &call, &reply, &test_err), DET_UNREACHABLE);

    CHECK_HAS(test_err.text, "no-such-host.invalid");
    net_client_free(client);
    net_free(net);
}
