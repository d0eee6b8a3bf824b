/* SPDX-License-Identifier: Apache-2.0 */
/* The real network over loopback: the common scenarios, and those that need sockets.
 */
#define IS_MEMORY false
#include "tests/unit/net/world.h"

#include "base/memory/allowance.h"
#include "base/thread/lock.h"
#include "tests/unit/net/raw.h"
#include "tests/unit/net/scenarios.inc"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void answer_text(struct net_exchange *x, const char *text)
{
    struct buf body = BUF_INIT;

    buf_puts(&body, text);
    net_answer(x, 200, "text/plain", NULL, &body);
}

/* ---- keeping connections --------------------------------------------------------- */

static void call_once(struct world *w)
{
    struct buf body = BUF_INIT;
    int status;

    CHECK_OK(world_call(w, NET_GET, "/echo", NULL, &status, &body));
    buf_done(&body);
}

static int open_sockets(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = 0;

    while ((entry = readdir(dir))) {
        char target[64];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));

        count += len > 7 && !memcmp(target, "socket:", 7);
    }
    closedir(dir);
    return count;
}

TEST(a_connection_serves_many_calls)
{
    struct world w;
    int before;

    world_init(&w, IS_MEMORY);
    call_once(&w);
    before = open_sockets();
    for (int i = 0; i < 20; i++)
        call_once(&w);

    CHECK_EQ(open_sockets(), before);
    world_done_all(&w);
}

TEST(ipv6_works_with_and_without_brackets)
{
    static const char *const hosts[] = {"::1", "[::1]"};
    struct net_server_config config = {
        .host = "::1", .handler = world_handler, .threads = 1};
    struct world w;

    world_init(&w, IS_MEMORY);
    config.arg = &w;
    net_server_free(w.server);
    w.server = NULL;
    if (net_serve(w.net, &config, &w.server, &test_err)) { /* a machine without IPv6 */
        world_done_all(&w);
        skip();
    }
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        net_client_free(w.client);
        w.client = world_client(&w, hosts[i]);
        call_once(&w);
    }
    world_done_all(&w);
}

/* ---- memory that bodies hold ------------------------------------------------------ */

enum { HELD_ALL = 300000, HELD_ONE = 200000 };

static struct net_limit limit_by_turn(void *arg, const struct net_exchange *x)
{
    const char *turn = net_request_header(x, "X-Turn");

    (void)arg;
    return (struct net_limit){SIZE_MAX, turn ? (uint32_t)*turn : 0};
}

/* /hold waits for the test; others say how many bytes arrived, or why none did. */
static void hold_or_tell(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    char text[64];
    size_t len;

    if (!strcmp(net_request_path(x), "/hold")) {
        w->held[0] = x;
        gate_open(w->has_held);
        return;
    }
    (void)net_request_body(x, &len);
    snprintf(text, sizeof(text), "%s %zu", det_status_name(net_request_problem(x)),
             len);
    answer_text(x, text);
}

static void post_bytes(int fd, const char *path, char turn, size_t len)
{
    char *bytes = calloc(1, len + 1);
    char head[200];

    memset(bytes, 'x', len);
    snprintf(head, sizeof(head),
             "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Turn: %c\r\n"
             "Content-Length: %zu\r\n\r\n",
             path, turn, len);
    raw_send(fd, head);
    raw_send(fd, bytes);
    free(bytes);
}

static void check_post(const struct world *w, char turn, size_t len, const char *want)
{
    int fd = raw_open(net_server_port(w->server));
    struct buf reply = BUF_INIT;

    post_bytes(fd, "/tell", turn, len);
    raw_read_all(fd, &reply);
    CHECK_HAS(reply.data, want);
    buf_done(&reply);
    close(fd);
}

TEST(bodies_hold_bounded_memory_and_nobody_holds_all_of_it)
{
    struct allowance memory = {.most = HELD_ALL, .group_most = HELD_ONE};
    struct net_server_config config = {.host = "127.0.0.1",
                                       .memory = &memory,
                                       .body_limit = limit_by_turn,
                                       .handler = hold_or_tell,
                                       .threads = 1};
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    config.arg = &w;
    net_server_free(w.server);
    CHECK_OK(net_serve(w.net, &config, &w.server, &test_err));
    fd = raw_open(net_server_port(w.server));
    post_bytes(fd, "/hold", 'a', HELD_ONE);
    CHECK(gate_wait(w.has_held, 0));

    check_post(&w, 'a', 70000, "BUSY 0");
    check_post(&w, 'a', NET_TINY_BODY, "OK 4096"); /* tiny ones always fit */
    check_post(&w, 'b', HELD_ALL - HELD_ONE, "OK 100000");
    check_post(&w, 'b', HELD_ALL - HELD_ONE + 1, "BUSY 0");
    answer_text(w.held[0], "held");
    raw_read_all(fd, &reply); /* its body is freed by now */
    check_post(&w, 'a', HELD_ONE, "OK 200000");
    buf_done(&reply);
    close(fd);
    world_done_all(&w);
}

/* ---- suspended connections ------------------------------------------------------- */

TEST(a_client_that_leaves_while_it_waits_is_noticed)
{
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(gate_wait(w.has_held, 0));
    CHECK(!net_is_gone(w.held[0]));

    close(fd);

    CHECK(gate_wait(w.is_gone, 0));
    CHECK(net_is_gone(w.held[0]));
    answer_text(w.held[0], "to nobody");
    CHECK_EQ(w.gone_count, 1);
    world_done_all(&w);
}

TEST(a_client_that_closes_its_sending_half_gets_its_reply)
{
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(gate_wait(w.has_held, 0));

    shutdown(fd, SHUT_WR);
    CHECK(gate_wait(w.is_gone, 0));
    answer_text(w.held[0], "to a listener");

    raw_read_all(fd, &reply);
    CHECK_HAS(reply.data, "to a listener");
    buf_done(&reply);
    close(fd);
    world_done_all(&w);
}

static void answer_when_gone(struct net_exchange *x)
{
    struct world *w = net_user(x);

    answer_text(x, "gone");
    gate_open(w->is_gone);
}

static void hold_and_answer_when_gone(void *arg, struct net_exchange *x)
{
    struct world *w = arg;

    net_set_user(x, arg);
    net_on_gone(x, answer_when_gone);
    gate_open(w->has_held);
}

TEST(the_gone_function_itself_may_answer)
{
    struct net_server_config config = {
        .host = "127.0.0.1", .handler = hold_and_answer_when_gone, .threads = 1};
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    net_server_free(w.server);
    config.arg = &w;
    CHECK_OK(net_serve(w.net, &config, &w.server, &test_err));
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(gate_wait(w.has_held, 0));

    close(fd);

    CHECK(gate_wait(w.is_gone, 0));
    world_done_all(&w);
}

TEST(a_client_that_leaves_a_waiting_stream_ends_it)
{
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    w.pieces = 10;
    w.ticks = 1;
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET /ticks HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read_until(fd, &reply, "tick 0\n");

    close(fd);

    CHECK(gate_wait(w.is_done, 0));
    CHECK_EQ(w.done_count, 1);
    CHECK_EQ(w.piece, 1);
    buf_done(&reply);
    world_done_all(&w);
}

/* Returns when nothing more arrives: the sender has no room left.  If that is wrong, the
 * test shows less, and still passes. */
static void wait_until_full(int fd)
{
    int before = -1;
    int now = 0;

    while (now != before || !now) {
        before = now;
        poll(NULL, 0, 30);
        CHECK_EQ(ioctl(fd, FIONREAD, &now), 0);
    }
}

/* It reads nothing, so the server waits for room in its socket when it leaves; by closing
 * only its sending half it leaves without a reset. */
TEST(a_client_that_leaves_a_stream_without_reading_it_ends_it)
{
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    w.pieces = INT_MAX;
    w.padding = 65536;
    fd = raw_open_small(net_server_port(w.server));
    raw_send(fd, "GET /count HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read_until(fd, &reply, "piece 0");
    wait_until_full(fd);

    shutdown(fd, SHUT_WR);

    CHECK(gate_wait(w.is_done, 0));
    close(fd);
    buf_done(&reply);
    world_done_all(&w);
}

/* Clients leave at the very moment in which they are answered: every order must end
 * well. */
TEST(leaving_and_answering_at_the_same_time_is_safe)
{
    struct world w;

    world_init(&w, IS_MEMORY);
    for (size_t i = 0; i < 300; i++) {
        int fd = raw_open(net_server_port(w.server));

        gate_free(w.has_held);
        CHECK_OK(gate_new(w.exec, &w.has_held, &test_err));
        lock_take(&w.lock);
        w.held_wanted = i + 1;
        lock_give(&w.lock);
        raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK(gate_wait(w.has_held, 0));
        close(fd);
        answer_text(w.held[i], "perhaps");
    }
    world_done_all(&w);
    CHECK(w.gone_count <= 300);
}

static void files_allowed(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 6000)
        skip();
}

TEST(two_thousand_clients_may_wait_at_once)
{
    enum { COUNT = 2000 };
    int *fd = mem_array(COUNT, sizeof(*fd));
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    files_allowed();
    world_init(&w, IS_MEMORY);
    w.held_wanted = COUNT;
    for (int i = 0; i < COUNT; i++) {
        fd[i] = raw_open(net_server_port(w.server));
        raw_send(fd[i], "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }
    CHECK(gate_wait(w.has_held, 0));
    CHECK_OK(
        world_call(&w, NET_GET, "/lane", "x", &status, &body)); /* others are served */

    for (int i = 0; i < COUNT; i++)
        answer_text(w.held[i], "at last");

    for (int i = 0; i < COUNT; i++) {
        struct buf reply = BUF_INIT;

        raw_read_all(fd[i], &reply);
        CHECK_HAS(reply.data, "at last");
        buf_done(&reply);
        close(fd[i]);
    }
    buf_done(&body);
    mem_free(fd);
    world_done_all(&w);
}

TEST(a_server_is_freed_while_thousands_wait)
{
    enum { COUNT = 1000 };
    int *fd = mem_array(COUNT, sizeof(*fd));
    struct world w;

    files_allowed();
    world_init(&w, IS_MEMORY);
    w.held_wanted = COUNT;
    for (int i = 0; i < COUNT; i++) {
        fd[i] = raw_open(net_server_port(w.server));
        raw_send(fd[i], "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    CHECK(gate_wait(w.has_held, 0));

    net_server_free(w.server);
    w.server = NULL;

    for (int i = 0; i < COUNT; i++) {
        struct buf reply = BUF_INIT;

        raw_read_all(fd[i], &reply);
        CHECK_HAS(reply.data, " 503 ");
        buf_done(&reply);
        close(fd[i]);
        answer_text(w.held[i], "too late");
    }
    mem_free(fd);
    world_done_all(&w);
}

static void *cancel_when_held(void *arg)
{
    struct world *w = arg;

    CHECK(gate_wait(w->has_held, 0));
    net_client_cancel(w->client);
    return NULL;
}

TEST(a_call_under_way_can_be_cancelled_from_another_thread)
{
    struct buf body = BUF_INIT;
    pthread_t thread;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    CHECK_EQ(pthread_create(&thread, NULL, cancel_when_held, &w), 0);

    CHECK_EQ(world_call(&w, NET_GET, "/hold", NULL, &status, &body), DET_TIMEOUT);

    CHECK_HAS(test_err.text, "cancelled");
    pthread_join(thread, NULL);
    CHECK(gate_wait(w.is_gone, 0));
    answer_text(w.held[0], "to nobody");
    CHECK_EQ(world_call(&w, NET_GET, "/echo", NULL, &status, &body), DET_TIMEOUT);
    world_done_all(&w);
}

/* ---- streams --------------------------------------------------------------------- */

static enum net_more big_next(void *arg, struct buf *out)
{
    struct world *w = arg;

    for (int i = 0; i < 20000; i++)
        buf_printf(out, "%09d\n", w->piece * 20000 + i);
    return ++w->piece == w->pieces ? NET_END : NET_MORE;
}

static void big_handler(void *arg, struct net_exchange *x)
{
    world_stream(arg, x, big_next);
}

TEST(pieces_larger_than_any_buffer_arrive_whole)
{
    struct net_server_config config = {
        .host = "127.0.0.1", .handler = big_handler, .threads = 1};
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    net_server_free(w.server);
    config.arg = &w;
    CHECK_OK(net_serve(w.net, &config, &w.server, &test_err));
    net_client_free(w.client);
    w.client = world_client(&w, "127.0.0.1");
    w.pieces = 5;

    CHECK_OK(world_call(&w, NET_GET, "/", NULL, &status, &body));

    CHECK_EQ(body.len, 5 * 20000 * 10);
    CHECK_STR(body.data + body.len - 10, "000099999\n");
    buf_done(&body);
    world_done_all(&w);
}

static enum net_more failing_next(void *arg, struct buf *out)
{
    (void)arg;
    buf_puts(out, "half");
    out->status = DET_NOMEM;
    return NET_MORE;
}

static void failing_handler(void *arg, struct net_exchange *x)
{
    world_stream(arg, x, failing_next);
}

TEST(a_piece_that_failed_breaks_the_connection)
{
    struct net_server_config config = {
        .host = "127.0.0.1", .handler = failing_handler, .threads = 1};
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    net_server_free(w.server);
    config.arg = &w;
    CHECK_OK(net_serve(w.net, &config, &w.server, &test_err));
    net_client_free(w.client);
    w.client = world_client(&w, "127.0.0.1");

    CHECK_EQ(world_call(&w, NET_GET, "/", NULL, &status, &body), DET_UNREACHABLE);

    CHECK(gate_wait(w.is_done, 0));
    buf_done(&body);
    world_done_all(&w);
}

TEST(a_stream_for_an_old_client_ends_with_the_connection)
{
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    w.pieces = 3;
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET /count HTTP/1.0\r\n\r\n");

    raw_read_all(fd, &reply);

    CHECK_HAS(reply.data, "\r\n\r\npiece 0\npiece 1\npiece 2\n");
    close(fd);
    buf_done(&reply);
    world_done_all(&w);
}

TEST(a_head_request_for_a_stream_gets_its_head)
{
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    w.pieces = 3;

    CHECK_OK(world_call(&w, NET_HEAD, "/count", NULL, &status, &body));

    CHECK_EQ(status, 200);
    CHECK(gate_wait(w.is_done, 0));
    CHECK_EQ(w.piece, 0);
    world_done_all(&w);
}

/* ---- bad requests ---------------------------------------------------------------- */

struct garbage {
    const char *bytes;
    const char *reply; /* NULL: waits for more */
};

TEST(garbage_is_survived)
{
    static const struct garbage garbage[] = {
        {"\r\n\r\n\r\n", NULL},
        {"\x16\x03\x01\x02\x01\x01\x02\x01\xfc\x03\x03", NULL},
        {"GET\r\n\r\n", ""},
        {"GET / HTTP/9.9\r\n\r\n", " 505 "},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", " 400 "},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
         " 413 "},
        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
         " 400 "},
        {"GET http://elsewhere/ HTTP/1.1\r\nConnection: close\r\n\r\n", "INVALID"},
        {"BREW /pot HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "7 /pot?"},
        {"GET / HTTP/1.1\r\n: no name\r\nConnection: close\r\n\r\n", " 200 "},
    };
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        int fd = raw_open(net_server_port(w.server));

        raw_send(fd, garbage[i].bytes);
        buf_clear(&body);
        if (garbage[i].reply) {
            raw_read_all(fd, &body);
            CHECK_HAS(body.data, garbage[i].reply);
        }
        close(fd);
    }
    CHECK_OK(world_call(&w, NET_GET, "/echo", NULL, &status, &body));
    CHECK_EQ(status, 200);
    buf_done(&body);
    world_done_all(&w);
}

/* libmicrohttpd may miss an end that comes together with the bytes before it, and then
 * keeps the connection until it was idle for long: so nobody waits for that here. */
TEST(a_request_that_breaks_off_anywhere_is_forgotten)
{
    static const char request[] = "POST /echo?q=1 HTTP/1.1\r\nHost: x\r\n"
                                  "Content-Length: 10\r\n\r\n123456789";
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    for (size_t len = 0; len < sizeof(request); len++) {
        int fd = raw_open(net_server_port(w.server));

        CHECK_EQ(send(fd, request, len, MSG_NOSIGNAL), (ssize_t)len);
        close(fd);
    }
    CHECK_OK(world_call(&w, NET_GET, "/echo", NULL, &status, &body));
    buf_done(&body);
    world_done_all(&w);
    CHECK_EQ(w.requests, 1);
}

TEST(a_header_bomb_is_refused)
{
    struct buf bomb = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    buf_puts(&bomb, "GET /echo HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 5000; i++)
        buf_printf(&bomb, "X-Bomb-%d: 0123456789012345678901234567890123456789\r\n", i);
    buf_puts(&bomb, "\r\n");
    world_init(&w, IS_MEMORY);
    fd = raw_open(net_server_port(w.server));

    raw_send(fd, bomb.data);

    raw_read_all(fd, &reply);
    CHECK(!strstr(reply.data, "200 OK"));
    close(fd);
    world_done_all(&w);
    CHECK_EQ(w.requests, 0);
    buf_done(&bomb);
    buf_done(&reply);
}

TEST(chunked_and_pipelined_requests_are_read)
{
    struct buf reply = BUF_INIT;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "POST /lane HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
                 "POST /lane HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                 "Connection: close\r\n\r\nxyz");

    raw_read_all(fd, &reply);

    CHECK_HAS(reply.data, "abcdefg");
    CHECK_HAS(reply.data, "xyz");
    close(fd);
    buf_done(&reply);
    world_done_all(&w);
}

/* The allocations of libmicrohttpd's thread fail: the next of that thread, from now on.
 */
static void starving_handler(void *arg, struct net_exchange *x)
{
    struct world *w = arg;
    bool is_later = w->requests++ > 0;

    world_echo(x);
    if (!is_later)
        fault_arm(FAULT_MEMORY, w->pieces);
}

TEST(a_server_without_memory_says_503)
{
    struct net_server_config config = {
        .host = "127.0.0.1", .handler = starving_handler, .threads = 1};

    for (int nth = 1; nth <= 4; nth++) {
        struct buf body = BUF_INIT;
        struct world w;
        int status;

        world_init(&w, IS_MEMORY);
        net_server_free(w.server);
        config.arg = &w;
        w.pieces = nth;
        CHECK_OK(net_serve(w.net, &config, &w.server, &test_err));
        net_client_free(w.client);
        w.client = world_client(&w, "127.0.0.1");
        CHECK_OK(world_call(&w, NET_POST, "/echo", "x", &status, &body));
        CHECK_EQ(status, 200);
        CHECK_OK(world_call(&w, NET_POST, "/echo", "x", &status, &body));
        CHECK_EQ(status, 503);
        CHECK_OK(world_call(&w, NET_POST, "/echo", "x", &status, &body));
        CHECK_EQ(status, 200);
        buf_done(&body);
        world_done_all(&w);
    }
}

TEST(serving_survives_every_failed_allocation)
{
    struct world w;
    struct net_server_config config = {.host = "127.0.0.1", .handler = world_handler};

    world_init(&w, IS_MEMORY);
    EACH_ALLOCATION_FAILS() {
        struct net_server *server;
        det_status st = net_serve(w.net, &config, &server, NULL);

        CHECK(st == DET_OK || (st == DET_NOMEM && fault_fired()));
        if (!st)
            net_server_free(server);
    }
    fault_disarm(FAULT_MEMORY);
    world_done_all(&w);
}

/* ---- the process ----------------------------------------------------------------- */

TEST(the_peer_is_the_user_who_holds_the_other_end)
{
    uint32_t uid = 4711;
    struct world w;
    int fd;

    world_init(&w, IS_MEMORY);
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(gate_wait(w.has_held, 0));

    CHECK(net_peer_is_loopback(w.held[0]));
    CHECK(net_peer_uid(w.held[0], &uid));
    CHECK_EQ(uid, getuid());

    close(fd); /* now nobody owns it, so it is not root's */
    CHECK(gate_wait(w.is_gone, 0));
    CHECK(!net_peer_uid(w.held[0], &uid));
    answer_text(w.held[0], "");
    world_done_all(&w);
}

TEST(no_descriptor_survives_exec)
{
    struct buf body = BUF_INIT;
    struct dirent *entry;
    struct world w;
    int status;
    DIR *dir;
    int fd;

    world_init(&w, IS_MEMORY);
    CHECK_OK(world_call(&w, NET_GET, "/echo", NULL, &status, &body));
    fd = raw_open(net_server_port(w.server));
    raw_send(fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(gate_wait(w.has_held, 0));

    dir = opendir("/proc/self/fd");
    while ((entry = readdir(dir))) {
        char target[64] = "";
        int number = (int)strtol(entry->d_name, NULL, 10);
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

        if (len > 0 &&
            (!memcmp(target, "socket:", 7) || !memcmp(target, "anon_inode:", 11)))
            CHECK(number <= 2 || (fcntl(number, F_GETFD) & FD_CLOEXEC));
    }
    closedir(dir);
    answer_text(w.held[0], "");
    close(fd);
    buf_done(&body);
    world_done_all(&w);
}
