/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that follow a master which moves, on one thread and a network in memory. */
#include "agent/master_link.h"

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "data/json/json.h"
#include "net/memory/net_memory.h"
#include "tests/support/test.h"

enum { PLACES = 2, FIRST_PORT = 8080 };

struct world {
    struct clock_manual clock;
    struct executor *exec;
    struct net *net;
    struct net_server *server[PLACES];
    int calls[PLACES];
    struct master_link *link;
};

/* What a program that got the master's port may say, and what it hears. */
struct stranger {
    int status;
    const char *text;
    const char *mark;
    int tokens;
    int calls;
};

static void handle(void *arg, struct net_exchange *x)
{
    struct buf reply = BUF_INIT;

    ++*(int *)arg;
    buf_puts(&reply, "{}");
    net_answer(x, 200, "application/json", NULL, &reply);
}

static void world_init(struct world *w)
{
    *w = (struct world){0};
    clock_manual_init(&w->clock, 1000);
    CHECK_OK(executor_single_new(&w->clock, 1, &w->exec, &test_err));
    CHECK_OK(net_memory_new(w->exec, 1, &w->net, &test_err));
    for (uint16_t i = 0; i < PLACES; i++) {
        struct net_server_config config = {.host = "127.0.0.1",
                                           .port = (uint16_t)(FIRST_PORT + i),
                                           .max_body_bytes = 1 << 20,
                                           .threads = 1,
                                           .max_connections = 8,
                                           .mark = "c1",
                                           .handler = handle,
                                           .arg = &w->calls[i]};

        CHECK_OK(net_serve(w->net, &config, &w->server[i], &test_err));
    }
    CHECK_OK(master_link_new(w->net, "http://127.0.0.1:8080", LINK_TASK, "t", &w->link,
                             &test_err));
}

static void world_done(struct world *w)
{
    master_link_free(w->link);
    for (size_t i = 0; i < PLACES; i++)
        net_server_free(w->server[i]);
    executor_free(w->exec);
    net_free(w->net);
}

static det_status call(struct world *w)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const struct master_link_request request = {.method = NET_GET, .path = "/x"};
    struct json *reply;

    return master_link_call(w->link, &request, &mem, &reply, &test_err);
}

TEST(calls_follow_a_master_that_moves)
{
    struct world w;

    world_init(&w);
    CHECK_OK(call(&w));
    CHECK_OK(master_link_move(w.link, "http://127.0.0.1:8081", NULL, &test_err));
    CHECK_OK(call(&w));
    CHECK_OK(call(&w));
    CHECK_EQ(w.calls[0], 1);
    CHECK_EQ(w.calls[1], 2);
    CHECK_STR(master_link_address(w.link).url, "http://127.0.0.1:8081");
    world_done(&w);
}

/* A call that finds no memory comes again, and must not go astray then. */
TEST(out_of_memory_does_not_lose_the_way_to_a_master_that_moved)
{
    EACH_ALLOCATION_FAILS() {
        struct world w;
        det_status status;
        int64_t nth = fault_state.left[FAULT_MEMORY];

        (void)fault_disarm(FAULT_MEMORY);
        world_init(&w);
        CHECK_OK(master_link_move(w.link, "http://127.0.0.1:8081", NULL, &test_err));
        fault_arm(FAULT_MEMORY, nth);
        status = call(&w);
        if (status) {
            CHECK(master_link_may_retry(status));
            CHECK_OK(call(&w));
        }
        CHECK_EQ(w.calls[0], 0);
        CHECK(w.calls[1] > 0);
        world_done(&w);
    }
}

TEST(a_move_to_where_nobody_can_go_changes_nothing)
{
    struct world w;

    world_init(&w);
    CHECK_OK(call(&w));
    CHECK(master_link_move(w.link, "nonsense://", NULL, &test_err) != DET_OK);
    CHECK_OK(call(&w));
    CHECK_EQ(w.calls[0], 2);
    world_done(&w);
}

static void say(void *arg, struct net_exchange *x)
{
    struct stranger *stranger = arg;
    struct buf reply = BUF_INIT;

    stranger->calls++;
    stranger->tokens +=
        net_request_header(x, "Grpc-Metadata-x-allocation-token") != NULL;

    buf_puts(&reply, stranger->text);
    net_answer(x, stranger->status, "text/plain", NULL, &reply);
}

static void take_port(struct world *w, struct stranger *stranger)
{
    const struct net_server_config config = {.host = "127.0.0.1",
                                             .port = FIRST_PORT,
                                             .max_body_bytes = 1 << 20,
                                             .threads = 1,
                                             .max_connections = 8,
                                             .mark = stranger->mark,
                                             .handler = say,
                                             .arg = stranger};

    net_server_free(w->server[0]);
    CHECK_OK(net_serve(w->net, &config, &w->server[0], &test_err));
}

TEST(only_the_master_of_the_own_cluster_is_believed)
{
    static struct stranger strangers[] = {
        {404, "no such page", NULL},
        {401, "who are you", NULL},
        {400, "{\"error\":{\"code\":9,\"error\":\"it is over\"}}", NULL},
        {413, "", NULL},
        {501, "", NULL},
        {302, "", NULL},
        {200, "<html>", NULL},
        {200, "{}", NULL},
        {502, "", NULL},
        {404, "{\"error\":{\"code\":5,\"error\":\"no allocation\"}}", "another"},
    };

    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        struct world w;

        world_init(&w);
        master_link_expect(w.link, "c1");
        take_port(&w, &strangers[i]);
        CHECK(master_link_may_retry(call(&w)));
        if (strangers[i].status != 502)
            CHECK_HAS(test_err.text, "not the master of this cluster");
        world_done(&w);
    }
}

TEST(without_a_cluster_any_master_is_believed)
{
    struct stranger other = {404, "{}", "another"};
    struct world w;

    world_init(&w);
    take_port(&w, &other);
    CHECK_EQ(call(&w), DET_NOT_FOUND);
    world_done(&w);
}

TEST(an_answer_of_the_master_that_is_no_json_is_asked_for_again)
{
    struct stranger spoilt = {200, "{\"a\":", "c1"};
    struct world w;

    world_init(&w);
    master_link_expect(w.link, "c1");
    take_port(&w, &spoilt);
    CHECK_EQ(call(&w), DET_IO);
    world_done(&w);
}

TEST(a_stranger_does_not_get_the_token_with_every_attempt)
{
    struct stranger stranger = {.status = 404, .text = "no such page"};
    struct world w;

    world_init(&w);
    master_link_expect(w.link, "c1");
    CHECK_OK(call(&w));
    take_port(&w, &stranger);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(call(&w), DET_UNREACHABLE);
    CHECK_EQ(stranger.calls, 5);
    CHECK_EQ(stranger.tokens, 1);
    world_done(&w);
}

TEST(who_comes_after_a_failure_is_asked_first_who_it_is)
{
    struct stranger stranger = {.status = 404, .text = "no such page"};
    struct world w;

    world_init(&w);
    master_link_expect(w.link, "c1");
    net_server_free(w.server[0]);
    w.server[0] = NULL;
    CHECK_EQ(call(&w), DET_UNREACHABLE);
    take_port(&w, &stranger);
    CHECK_EQ(call(&w), DET_UNREACHABLE);
    CHECK_EQ(stranger.tokens, 0);
    CHECK_OK(master_link_move(w.link, "http://127.0.0.1:8081", NULL, &test_err));
    CHECK_OK(call(&w));
    CHECK_EQ(w.calls[1], 2); /* the question and the call */
    world_done(&w);
}
