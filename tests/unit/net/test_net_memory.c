/* SPDX-License-Identifier: Apache-2.0 */
#define IS_MEMORY true
#include "tests/unit/net/world.h"

#include "net/memory/net_memory.h"
#include "tests/unit/net/scenarios.inc"

/* 300 calls under faults; the outcomes as a string, and how often the handler ran. */
static void run_faulty(uint64_t seed, const struct net_faults *faults,
                       struct buf *outcomes, int *ret_requests)
{
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init_seeded(&w, IS_MEMORY, seed);
    net_memory_faults(w.net, faults);
    for (int i = 0; i < 300; i++) {
        det_status st = world_call(&w, NET_POST, "/lane", "x", &status, &body);

        buf_putc(outcomes, (char)('a' + (int)st));
        CHECK(st == DET_OK || st == DET_UNREACHABLE || st == DET_TIMEOUT);
    }
    while (executor_pump(w.exec))
        ; /* second deliveries that are still under way */
    *ret_requests = w.requests;
    buf_done(&body);
    world_done_all(&w);
}

TEST(the_same_seed_gives_the_same_losses)
{
    struct net_faults faults = {.lose_request = 100, .lose_reply = 100, .repeat = 100};
    struct buf first = BUF_INIT;
    struct buf second = BUF_INIT;
    struct buf other = BUF_INIT;
    int requests[3];

    run_faulty(1, &faults, &first, &requests[0]);
    run_faulty(1, &faults, &second, &requests[1]);
    run_faulty(2, &faults, &other, &requests[2]);

    CHECK_STR(first.data, second.data);
    CHECK_EQ(requests[0], requests[1]);
    CHECK(strcmp(first.data, other.data) != 0);
    buf_done(&first);
    buf_done(&second);
    buf_done(&other);
}

TEST(a_lost_request_never_reaches_the_handler)
{
    struct net_faults faults = {.lose_request = 1000};
    struct buf outcomes = BUF_INIT;
    int requests;

    run_faulty(3, &faults, &outcomes, &requests);

    CHECK_EQ(requests, 0);
    CHECK(!strchr(outcomes.data, 'a' + DET_OK));
    CHECK(strchr(outcomes.data, 'a' + DET_TIMEOUT) != NULL);
    CHECK(strchr(outcomes.data, 'a' + DET_UNREACHABLE) != NULL);
    buf_done(&outcomes);
}

TEST(a_lost_reply_means_that_the_work_was_done)
{
    struct net_faults faults = {.lose_reply = 1000};
    struct buf outcomes = BUF_INIT;
    int requests;

    run_faulty(4, &faults, &outcomes, &requests);

    CHECK_EQ(requests, 300);
    CHECK(!strchr(outcomes.data, 'a' + DET_OK));
    buf_done(&outcomes);
}

TEST(a_repeated_request_runs_the_handler_twice_and_answers_once)
{
    struct net_faults faults = {.repeat = 1000};
    struct buf outcomes = BUF_INIT;
    int requests;

    run_faulty(5, &faults, &outcomes, &requests);

    CHECK_EQ(requests, 600);
    CHECK_EQ(strspn(outcomes.data, "a"), 300);
    buf_done(&outcomes);
}

TEST(streams_end_exactly_once_under_any_faults)
{
    struct net_faults faults = {.lose_request = 150, .lose_reply = 150, .repeat = 150};

    for (uint64_t seed = 0; seed < 60; seed++) {
        struct net_reply reply = {0};
        struct world w;
        struct net_call calls[] = {
            {.method = NET_GET, .path = "/count"},
            {.method = NET_GET, .path = "/ticks", .on_data = refuse_data},
        };

        world_init_seeded(&w, IS_MEMORY, seed);
        net_memory_faults(w.net, &faults);
        w.pieces = 1000;
        w.ticks = 1;
        for (size_t i = 0; i < 10; i++)
            (void)net_call(w.client, &calls[i % 2], &reply, &test_err);
        while (executor_pump(w.exec))
            ;
        CHECK_EQ(w.done_count, w.requests);
        world_done_all(&w);
    }
}

TEST(a_lost_reply_ends_a_stream_too)
{
    struct net_faults faults = {.lose_reply = 1000};
    struct buf body = BUF_INIT;
    struct world w;
    int status;

    world_init(&w, IS_MEMORY);
    w.pieces = 3;
    net_memory_faults(w.net, &faults);

    CHECK(world_call(&w, NET_GET, "/count", NULL, &status, &body) != DET_OK);

    CHECK(gate_wait(w.is_done, 0));
    CHECK_EQ(w.piece, 0);
    world_done_all(&w);
}

TEST(a_crash_breaks_calls_and_frees_what_nobody_answered)
{
    struct buf body = BUF_INIT;
    struct net_reply reply = {.body = &body};
    struct net_call call = {.method = NET_GET, .path = "/hold", .timeout_ms = 20};
    struct world w;

    world_init(&w, IS_MEMORY);
    CHECK_EQ(net_call(w.client, &call, &reply, &test_err), DET_TIMEOUT);
    CHECK_EQ(w.held_count, 1);

    net_memory_crash(w.server);
    w.server = NULL;

    CHECK_EQ(net_call(w.client, &call, &reply, &test_err), DET_UNREACHABLE);
    world_done_all(&w);
}

struct crash_job {
    struct work task;
    struct world *world;
};

static void crash_job(struct work *task)
{
    struct world *w = CONTAINER_OF(task, struct crash_job, task)->world;

    net_memory_crash(w->server);
    w->server = NULL;
}

static void crash_while(const char *path)
{
    struct buf body = BUF_INIT;
    struct world w;
    struct crash_job job = {WORK_INIT(crash_job), &w};
    struct lane *lane;
    int status;

    world_init(&w, IS_MEMORY);
    w.pieces = 5;
    w.ticks = 1;
    CHECK_OK(lane_new(w.exec, "crash", 1, &lane, &test_err));
    lane_post_at(lane, &job.task, clock_mono_us(&w.clock.clock) + 1000000);

    CHECK_EQ(world_call(&w, NET_GET, path, NULL, &status, &body), DET_UNREACHABLE);

    CHECK_EQ(w.done_count, 0);
    CHECK_EQ(w.gone_count, 0);
    buf_done(&body);
    world_done_all(&w);
}

TEST(a_crash_breaks_the_call_and_the_stream_under_way)
{
    crash_while("/hold");
    crash_while("/ticks");
}

struct cancel_job {
    struct work task;
    struct world *world;
};

static void cancel_job(struct work *task)
{
    net_client_cancel(CONTAINER_OF(task, struct cancel_job, task)->world->client);
}

TEST(a_cancelled_call_ends_and_its_exchange_is_gone)
{
    struct buf body = BUF_INIT;
    struct world w;
    struct cancel_job job = {WORK_INIT(cancel_job), &w};
    struct lane *lane;
    int status;

    world_init(&w, IS_MEMORY);
    CHECK_OK(lane_new(w.exec, "cancel", 1, &lane, &test_err));
    lane_post_at(lane, &job.task, clock_mono_us(&w.clock.clock) + 1000000);

    CHECK_EQ(world_call(&w, NET_GET, "/hold", NULL, &status, &body), DET_TIMEOUT);

    CHECK(gate_wait(w.is_gone, 0));
    net_answer(w.held[0], 200, NULL, NULL, &body);
    CHECK_EQ(world_call(&w, NET_GET, "/echo", NULL, &status, &body), DET_TIMEOUT);
    CHECK_EQ(w.requests, 1);
    world_done_all(&w);
}

TEST(any_address_answers_for_every_host_and_hosts_differ)
{
    struct net_server_config config = {
        .host = "0.0.0.0", .port = 8080, .handler = world_handler};
    struct buf body = BUF_INIT;
    struct net_server *any;
    struct net_client *clients[2];
    struct world w;

    world_init(&w, IS_MEMORY);
    config.arg = &w;
    CHECK_OK(net_serve(w.net, &config, &any, &test_err));
    CHECK_OK(net_client_new(w.net, "node-7", 8080, &clients[0], &test_err));
    CHECK_OK(net_client_new(w.net, "node-7", net_server_port(w.server), &clients[1],
                            &test_err));
    struct net_call call = {.method = NET_GET, .path = "/echo"};
    struct net_reply reply = {.body = &body};

    CHECK_OK(net_call(clients[0], &call, &reply, &test_err));
    CHECK_EQ(net_call(clients[1], &call, &reply, &test_err), DET_UNREACHABLE);

    net_client_free(clients[0]);
    net_client_free(clients[1]);
    net_server_free(any);
    buf_done(&body);
    world_done_all(&w);
}

TEST(the_peer_is_this_user_on_this_machine)
{
    struct net_call call = {.method = NET_GET, .path = "/hold", .timeout_ms = 20};
    struct net_reply reply = {0};
    struct buf none = BUF_INIT;
    struct world w;
    uint32_t uid = 4711;

    world_init(&w, IS_MEMORY);
    CHECK_EQ(net_call(w.client, &call, &reply, &test_err), DET_TIMEOUT);

    CHECK(net_peer_is_loopback(w.held[0]));
    CHECK(net_peer_uid(w.held[0], &uid));
    CHECK(uid != 4711);
    net_answer(w.held[0], 200, NULL, NULL, &none);
    world_done_all(&w);
}

TEST(a_struck_call_is_lost_on_its_way_there_or_back_or_comes_twice)
{
    static const struct {
        enum fault_kind kind;
        enum fault_how how;
        det_status status;
        int requests;
    } ways[] = {{FAULT_SEND, FAULT_FAILS, DET_UNREACHABLE, 0},
                {FAULT_SEND, FAULT_TWICE, DET_OK, 2},
                {FAULT_RECEIVE, FAULT_FAILS, DET_UNREACHABLE, 1},
                {FAULT_RECEIVE, FAULT_TORN, DET_UNREACHABLE, 1}};

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct buf body = BUF_INIT;
        struct world w;
        int status;

        world_init_seeded(&w, IS_MEMORY, 1);
        fault_arm_as(ways[i].kind, 1, ways[i].how);
        CHECK_EQ(world_call(&w, NET_POST, "/echo", "x", &status, &body),
                 ways[i].status);
        CHECK(fault_disarm(ways[i].kind));
        CHECK_EQ(w.requests, ways[i].requests);
        CHECK_OK(world_call(&w, NET_POST, "/echo", "x", &status, &body));
        CHECK_EQ(status, 200);
        buf_done(&body);
        world_done_all(&w);
    }
}
