/* SPDX-License-Identifier: Apache-2.0 */
/* Who may hold connections, with sockets of several loopback addresses. */
#include "net/accept/acceptor.h"
#include "net/accept/listen.h"
#include "net/accept/seats.h"

#define IS_MEMORY false
#include "tests/unit/net/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/net/raw.h"

enum { MOST = 64, OF_ONE = MOST / 4, FLOOD = 200, RATE = 1000, SECOND = 1000000 };

/* A server with small limits; `config` may change them. */
static void serve(struct world *w, struct net_server_config config)
{
    world_init(w, IS_MEMORY);
    net_server_free(w->server);
    config.host = "0.0.0.0";
    config.max_body_bytes = 1 << 20;
    config.max_connections = config.max_connections ? config.max_connections : MOST;
    config.handler = world_handler;
    config.arg = w;
    CHECK_OK(net_serve(w->net, &config, &w->server, &test_err));
}

static int open_unbound(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* Comes from that address of loopback. */
static int open_from(const struct world *w, const char *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    int fd = open_unbound();

    CHECK(inet_pton(AF_INET, address, &from.sin_addr) == 1);
    CHECK_EQ(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    return raw_connect(fd, net_server_port(w->server));
}

static void check_served(int fd)
{
    struct buf reply = BUF_INIT;

    raw_send(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_read_until(fd, &reply, "/echo?");
    buf_done(&reply);
}

static void check_closed(int fd)
{
    struct buf reply = BUF_INIT;

    raw_read_all(fd, &reply);
    buf_done(&reply);
    close(fd);
}

TEST(half_open_connections_of_one_address_hinder_neither_others_nor_itself)
{
    struct world w;
    int fd[FLOOD];
    int other;
    int own;

    serve(&w, (struct net_server_config){0});
    for (int i = 0; i < FLOOD; i++) {
        fd[i] = open_from(&w, "127.0.0.2");
        raw_send(fd[i], i % 2 ? "GET / HTTP/1.1\r\nHo" : "");
    }

    other = open_from(&w, "127.0.0.1");
    check_served(other);
    own = open_from(&w, "127.0.0.2");
    check_served(own);

    close(other);
    close(own);
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
    world_done_all(&w);
}

TEST(half_open_connections_of_many_addresses_hinder_nobody)
{
    struct world w;
    int fd[FLOOD];
    int other;

    serve(&w, (struct net_server_config){0});
    for (int i = 0; i < FLOOD; i++) {
        char address[32];

        snprintf(address, sizeof(address), "127.0.1.%d", 1 + i % 100);
        fd[i] = open_from(&w, address);
        raw_send(fd[i], "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1");
    }

    other = open_from(&w, "127.0.0.1");
    check_served(other);

    close(other);
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
    world_done_all(&w);
}

static void on_warning(void *arg, const char *text)
{
    struct world *w = arg;

    CHECK_HAS(text, "too many connections: ");
    CHECK_HAS(text, " of 127.0.0.2 ");
    gate_open(w->is_done);
}

/* A request that is being handled is never closed for another. */
TEST(an_address_that_waits_for_its_whole_share_is_refused_and_others_are_not)
{
    struct buf reply = BUF_INIT;
    struct world w;
    int fd[OF_ONE];
    int next;

    serve(&w, (struct net_server_config){.warn = on_warning});
    w.held_wanted = OF_ONE;
    for (int i = 0; i < OF_ONE; i++) {
        fd[i] = open_from(&w, "127.0.0.2");
        raw_send(fd[i], "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }
    CHECK(gate_wait(w.has_held, 0));

    next = open_from(&w, "127.0.0.2");
    raw_read_all(next, &reply);
    CHECK_HAS(reply.data, "503 ");
    CHECK_HAS(reply.data, "Retry-After: ");
    close(next);
    CHECK(gate_wait(w.is_done, 0));
    next = open_from(&w, "127.0.0.3");
    check_served(next);
    close(next);

    for (int i = 0; i < OF_ONE; i++) {
        struct buf body = BUF_INIT;

        buf_puts(&body, "at last");
        net_answer(w.held[i], 200, "text/plain", NULL, &body);
        buf_clear(&reply);
        raw_read_all(fd[i], &reply);
        CHECK_HAS(reply.data, "at last");
        close(fd[i]);
    }
    buf_done(&reply);
    world_done_all(&w);
}

TEST(a_trusted_proxy_is_not_bound_by_the_share)
{
    struct net_range proxy;
    struct world w;
    int fd[OF_ONE * 2];

    CHECK(net_range_parse("127.0.0.2", &proxy));
    serve(&w, (struct net_server_config){.trusted = {&proxy, 1}});
    w.held_wanted = OF_ONE * 2;
    for (int i = 0; i < OF_ONE * 2; i++) {
        fd[i] = open_from(&w, "127.0.0.2");
        raw_send(fd[i], "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    }

    CHECK(gate_wait(w.has_held, 0));

    for (int i = 0; i < OF_ONE * 2; i++) {
        net_answer(w.held[i], 200, "text/plain", NULL, NULL);
        close(fd[i]);
    }
    world_done_all(&w);
}

/* The server closes it; long before libmicrohttpd would, after 75 seconds. */
static void check_cut_off(int fd)
{
    const struct timeval most = {.tv_sec = 60};
    char bytes[256];

    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)), 0);
    CHECK(recv(fd, bytes, sizeof(bytes), 0) == 0 || errno == ECONNRESET);
    close(fd);
}

TEST(heads_and_bodies_that_trickle_are_cut_off)
{
    static const char *const starts[] = {
        "",
        "GET / HTTP/1.1\r\nHost: x\r\nX-A",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    };
    struct world w;
    int kept;
    int fd[4];

    serve(&w, (struct net_server_config){.head_us = 3000000, .least_rate = 1 << 30});
    kept = raw_open(net_server_port(w.server));
    check_served(kept);
    raw_send(kept, starts[1]);
    for (size_t i = 0; i < 4; i++) {
        fd[i] = raw_open(net_server_port(w.server));
        raw_send(fd[i], starts[i]);
    }

    check_cut_off(kept);
    for (size_t i = 0; i < 4; i++)
        check_cut_off(fd[i]);
    world_done_all(&w);
}

/* Uses up all descriptors of this process but `fd`. */
static int use_up_files(int *fds, int most)
{
    int count = 0;

    while (count < most && (fds[count] = dup(0)) >= 0)
        count++;
    return count;
}

TEST(without_descriptors_the_oldest_connection_that_rests_makes_room)
{
    enum { FILES = 256 };
    struct rlimit usual;
    struct rlimit few;
    struct world w;
    int used[FILES];
    int resting[4];
    int count;
    int fd;

    serve(&w, (struct net_server_config){0});
    for (int i = 0; i < 4; i++) {
        resting[i] = open_from(&w, "127.0.0.1");
        check_served(resting[i]);
    }
    fd = open_unbound();
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = (struct rlimit){.rlim_cur = FILES, .rlim_max = usual.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    count = use_up_files(used, FILES);

    check_served(raw_connect(fd, net_server_port(w.server)));

    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    check_closed(resting[0]);
    close(fd);
    while (count--)
        close(used[count]);
    for (int i = 1; i < 4; i++)
        close(resting[i]);
    world_done_all(&w);
}

/* ---- the rules alone ------------------------------------------------------------- */

struct pairs {
    struct clock_manual clock;
    struct seats *seats;
    int ours[MOST];
    int theirs[MOST];
    int count;
};

static void pairs_init(struct pairs *p, uint32_t most, uint32_t of_one)
{
    *p = (struct pairs){0};
    clock_manual_init(&p->clock, 0);
    CHECK_OK(seats_new(&(struct seats_config){.clock = &p->clock.clock,
                                              .most = most,
                                              .most_of_one = of_one,
                                              .head_us = 20 * SECOND,
                                              .idle_us = 50 * SECOND,
                                              .least_rate = RATE},
                       &p->seats, &test_err));
}

static struct seat *pairs_take(struct pairs *p, const char *address)
{
    struct net_addr from = {.ip = {[10] = 0xff, [11] = 0xff}};
    int fds[2];

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    p->ours[p->count] = fds[0];
    p->theirs[p->count++] = fds[1];
    if (inet_pton(AF_INET6, address, from.ip) != 1)
        CHECK(inet_pton(AF_INET, address, from.ip + 12) == 1);
    return seats_take(p->seats, fds[0], &from) ? seats_find(p->seats, fds[0]) : NULL;
}

static bool pairs_is_closed(const struct pairs *p, int i)
{
    char byte;

    return recv(p->theirs[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static void pairs_done(struct pairs *p)
{
    seats_free(p->seats);
    for (int i = 0; i < p->count; i++) {
        close(p->ours[i]);
        close(p->theirs[i]);
    }
}

TEST(those_that_lose_least_are_closed_first)
{
    enum { ROOM = 6 };
    struct seat *seat[ROOM];
    struct pairs p;

    pairs_init(&p, ROOM, 2 * ROOM);
    for (int i = 0; i < ROOM; i++)
        seat[i] = pairs_take(&p, "10.0.0.1");
    seat_busy(p.seats, seat[0]);
    seat_got_head(p.seats, seat[1]); /* its body is under way */
    seat_sending(p.seats, seat[2], 1000000);
    clock_manual_advance(&p.clock, 2 * SECOND);
    seat_idle(p.seats, seat[3]);
    seat_head_began(p.seats, seat[3]); /* an early head */
    seat_idle(p.seats, seat[4]);       /* seat 5 is a late head */

    for (int closed = ROOM - 1; closed >= 1; closed--) {
        CHECK(!pairs_is_closed(&p, closed));
        seat_busy(p.seats, pairs_take(&p, "10.0.0.2"));
        CHECK(pairs_is_closed(&p, closed));
    }

    CHECK_NULL(pairs_take(&p, "10.0.0.2")); /* all are busy */
    CHECK(!pairs_is_closed(&p, 0));
    CHECK_EQ(seats_count(p.seats), ROOM);
    pairs_done(&p);
}

TEST(a_network_of_ipv6_counts_as_one_address)
{
    struct pairs p;

    pairs_init(&p, 8, 2);
    CHECK(pairs_take(&p, "2001:db8::1"));
    CHECK(pairs_take(&p, "2001:db8::2"));
    CHECK(pairs_take(&p, "2001:db8:0:1::3"));
    CHECK(!pairs_is_closed(&p, 0));

    CHECK(pairs_take(&p, "2001:db8::4"));

    CHECK(pairs_is_closed(&p, 0));
    pairs_done(&p);
}

/* The first connection is closed exactly `us` from now. */
static void check_ends_after(struct pairs *p, int64_t us)
{
    char address[NET_ADDRESS_TEXT];

    clock_manual_advance(&p->clock, us - 1);
    CHECK_EQ(seats_sweep(p->seats, address), 0);
    CHECK(!pairs_is_closed(p, 0));
    clock_manual_advance(&p->clock, 1);
    CHECK_EQ(seats_sweep(p->seats, address), 0); /* nobody was in need of it */
    CHECK(pairs_is_closed(p, 0));
    pairs_done(p);
}

TEST(the_first_head_has_a_deadline_that_its_first_bytes_do_not_move)
{
    struct seat *seat;
    struct pairs p;

    pairs_init(&p, 8, 8);
    seat = pairs_take(&p, "10.0.0.1");
    clock_manual_advance(&p.clock, 5 * SECOND);
    seat_head_began(p.seats, seat);

    check_ends_after(&p, 15 * SECOND);
}

TEST(a_kept_connection_has_a_deadline_for_the_next_request_line)
{
    struct pairs p;

    pairs_init(&p, 8, 8);
    seat_idle(p.seats, pairs_take(&p, "10.0.0.1"));

    check_ends_after(&p, 50 * SECOND);
}

TEST(the_next_head_of_a_kept_connection_has_the_deadline_of_a_head)
{
    struct seat *seat;
    struct pairs p;

    pairs_init(&p, 8, 8);
    seat = pairs_take(&p, "10.0.0.1");
    seat_idle(p.seats, seat);
    clock_manual_advance(&p.clock, 10 * SECOND);
    seat_head_began(p.seats, seat);

    check_ends_after(&p, 20 * SECOND);
}

TEST(a_reply_has_the_time_that_the_least_rate_takes)
{
    struct pairs p;

    pairs_init(&p, 8, 8);
    seat_sending(p.seats, pairs_take(&p, "10.0.0.1"), 7 * RATE);

    check_ends_after(&p, (20 + 7) * SECOND);
}

TEST(the_deadline_of_a_body_moves_with_the_bytes_that_came)
{
    struct seat *seat;
    struct pairs p;

    pairs_init(&p, 8, 8);
    seat = pairs_take(&p, "10.0.0.1");
    seat_got_head(p.seats, seat);
    clock_manual_advance(&p.clock, 15 * SECOND);
    seat_got_body(p.seats, seat, 3 * RATE);

    check_ends_after(&p, (5 + 3) * SECOND);
}

TEST(a_body_that_came_fast_may_not_rest_longer_than_a_head)
{
    struct seat *seat;
    struct pairs p;

    pairs_init(&p, 8, 8);
    seat = pairs_take(&p, "10.0.0.1");
    seat_got_head(p.seats, seat);
    clock_manual_advance(&p.clock, SECOND);
    seat_got_body(p.seats, seat, 100000 * RATE);

    check_ends_after(&p, 20 * SECOND);
}

/* ---- without descriptors --------------------------------------------------------- */

enum { TRIES = 3 };
static struct {
    struct gate *is_enough; /* NULL: accept4() works */
    int64_t tried_us[TRIES];
    int count;
} no_files;

/* In place of the C library's, whose types it repeats. */
int accept4(int fd, __SOCKADDR_ARG from, socklen_t *restrict size, int flags)
{
    if (!no_files.is_enough)
        return (int)syscall(SYS_accept4, fd, from.__sockaddr__, size, flags);
    if (no_files.count < TRIES) {
        no_files.tried_us[no_files.count++] = clock_mono_us(&clock_system);
        if (no_files.count == TRIES)
            gate_open(no_files.is_enough);
    }
    errno = EMFILE;
    return -1;
}

TEST(without_descriptors_the_acceptor_pauses_if_all_connections_are_busy)
{
    struct acceptor_config config = {0};
    struct acceptor *acceptor;
    struct executor *exec;
    struct pairs p;
    uint16_t port;
    int client;

    pairs_init(&p, 8, 8);
    seat_busy(p.seats, pairs_take(&p, "10.0.0.1"));
    config.seats = p.seats;
    CHECK_OK(listen_open(&(struct net_server_config){.host = "127.0.0.1"}, &config.fd,
                         &port, &test_err));
    client = raw_open(port);
    CHECK_OK(executor_threads_new(&clock_system, &exec, &test_err));
    CHECK_OK(gate_new(exec, &no_files.is_enough, &test_err));

    CHECK_OK(acceptor_new(&config, &acceptor, &test_err));
    CHECK(gate_wait(no_files.is_enough, 0));
    acceptor_free(acceptor);

    for (int i = 1; i < TRIES; i++) /* poll() never returns early */
        CHECK(no_files.tried_us[i] - no_files.tried_us[i - 1] >= 50000);
    gate_free(no_files.is_enough);
    no_files.is_enough = NULL;
    executor_free(exec);
    close(client);
    pairs_done(&p);
}
