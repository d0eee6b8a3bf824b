/* SPDX-License-Identifier: Apache-2.0 */
/* test_turns.c - many streams that are woken at once take turns (server_stream.c). */
#include <poll.h>
#include <unistd.h>

#include "net/server_http_impl.h"
#include "tests/unit/net/raw.h"
#include "tests/unit/net/world.h"

/* Many streams that wait, of which each says "one", and "two" when it is woken. */
enum { MANY = 64, FIRST_USER = 1, OTHER_USER = 2 };

struct many {
    struct world w;
    struct net_exchange *x[MANY];
    int fd[MANY];
    struct one {
        struct many *all;
        int said;
    } one[MANY];
    struct lane *free_lane; /* never blocked: of the stream of another user */
    struct work block;
    struct gate *is_blocked;
    struct gate *goes_on;
};

static enum net_more one_next(void *arg, struct buf *out)
{
    struct one *one = arg;

    buf_puts(out, one->said++ ? "two\n" : "one\n");
    return one->said == 2 ? NET_END : NET_WAIT;
}

static void one_done(void *arg)
{
    struct one *one = arg;

    world_done(&one->all->w);
}

static void many_handler(void *arg, struct net_exchange *x)
{
    struct many *m = arg;
    size_t i = m->w.held_count++;
    bool is_other = !strcmp(net_request_path(x), "/other");
    struct net_stream stream = {.lane = is_other ? m->free_lane : m->w.lane,
                                .next = one_next,
                                .done = one_done,
                                .arg = &m->one[i],
                                .turn = is_other ? OTHER_USER : FIRST_USER};

    if (i >= MANY) {
        world_echo(x);
        return;
    }
    m->x[i] = x;
    m->one[i].all = m;
    net_answer_stream(x, "text/event-stream", &stream);
}

static void block_lane(struct work *work)
{
    struct many *m = CONTAINER_OF(work, struct many, block);

    gate_open(m->is_blocked);
    CHECK(gate_wait(m->goes_on, 0));
}

static uint32_t steps_waiting(struct many *m)
{
    struct lane_state state;

    CHECK_EQ(executor_look(m->w.exec, &state, 1), 1);
    return state.waiting;
}

/* All streams wait, and nothing runs on the lane of the first ones. */
static void many_init(struct many *m, size_t others)
{
    struct net_server_config config = {
        .host = "127.0.0.1", .handler = many_handler, .threads = 1, .arg = m};

    memset(m, 0, sizeof(*m));
    world_init(&m->w, false);
    net_server_free(m->w.server);
    CHECK_OK(lane_new(m->w.exec, "free", 1, &m->free_lane, &test_err));
    CHECK_OK(net_serve(m->w.net, &config, &m->w.server, &test_err));
    for (size_t i = 0; i < MANY; i++) {
        struct buf reply = BUF_INIT;

        m->fd[i] = raw_open(net_server_port(m->w.server));
        raw_send(m->fd[i], i < MANY - others
                               ? "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                               : "GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
        raw_read_until(m->fd[i], &reply, "one\n");
        buf_done(&reply);
    }
    CHECK_OK(gate_new(m->w.exec, &m->is_blocked, &test_err));
    CHECK_OK(gate_new(m->w.exec, &m->goes_on, &test_err));
    m->block = (struct work)WORK_INIT(block_lane);
    lane_post(m->w.lane, &m->block);
    CHECK(gate_wait(m->is_blocked, 0));
}

/* Wakes all, until as many as may have a turn are queued on the lane. */
static void many_wake(struct many *m)
{
    for (size_t i = 0; i < MANY; i++)
        net_stream_wake(m->x[i]);
    while (steps_waiting(m) < HTTP_STREAM_TURNS)
        poll(NULL, 0, 1);
}

static void many_done(struct many *m)
{
    world_done_all(&m->w);
    CHECK_EQ(m->w.done_count, MANY);
    gate_free(m->is_blocked);
    gate_free(m->goes_on);
}

TEST(streams_woken_at_once_take_turns_and_all_are_sent)
{
    struct buf reply = BUF_INIT;
    struct many m;
    int fd;

    many_init(&m, 0);
    many_wake(&m);
    /* A request is answered meanwhile, and the server has seen the end of each piece. */
    fd = raw_open(net_server_port(m.w.server));
    raw_send(fd, "GET /here HTTP/1.0\r\n\r\n");
    raw_read_all(fd, &reply);
    CHECK_HAS(reply.data, "/here");
    CHECK_EQ(steps_waiting(&m), HTTP_STREAM_TURNS);
    close(fd);

    gate_open(m.goes_on);
    for (size_t i = 0; i < MANY; i++) {
        buf_clear(&reply);
        raw_read_until(m.fd[i], &reply, "two\n");
        close(m.fd[i]);
    }
    buf_done(&reply);
    many_done(&m);
}

/* Their steps may wait long behind other work of their user. */
TEST(streams_of_one_user_that_wait_for_the_lane_keep_no_turn_of_others)
{
    struct buf reply = BUF_INIT;
    struct many m;

    many_init(&m, 1);
    many_wake(&m);
    raw_read_until(m.fd[MANY - 1], &reply, "two\n");
    CHECK_EQ(steps_waiting(&m), HTTP_STREAM_TURNS);
    gate_open(m.goes_on);
    buf_done(&reply);
    many_done(&m);
    for (size_t i = 0; i < MANY; i++)
        close(m.fd[i]);
}

TEST(clients_that_leave_while_they_wait_for_a_turn_keep_nobody_from_theirs)
{
    struct buf reply = BUF_INIT;
    struct many m;

    many_init(&m, 0);
    many_wake(&m);
    for (size_t i = 0; i < MANY; i += 2)
        close(m.fd[i]);
    gate_open(m.goes_on);
    for (size_t i = 1; i < MANY; i += 2) {
        buf_clear(&reply);
        raw_read_until(m.fd[i], &reply, "two\n");
        close(m.fd[i]);
    }
    buf_done(&reply);
    many_done(&m);
}

TEST(a_server_that_is_freed_ends_streams_that_wait_for_a_turn)
{
    struct many m;

    many_init(&m, 0);
    many_wake(&m);
    gate_open(m.goes_on);
    many_done(&m);
    for (size_t i = 0; i < MANY; i++)
        close(m.fd[i]);
}
