/* SPDX-License-Identifier: Apache-2.0 */
/* test_preempt.c - stop requests, with a master in memory. */
#include "base/fault.h"
#include "base/thread/executor.h"
#include "libdet/client/runfile.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/unit/libdet/world.h"

/* A master in memory that answers polls as it is told. */
struct master {
    struct world w;
    struct executor *exec;
    struct net *net;
    struct net_server *server;
    det_context *det;
    char url[64];
    int polls;
    int acks;
    int wants_after; /* polls until it wants the slots back; -1: never */
    int fails;       /* this many calls are answered with 503 */
    char last[200];
};

static void answer(struct net_exchange *x, int status, const char *text)
{
    struct buf body = BUF_INIT;

    buf_puts(&body, text);
    net_answer(x, status, "application/json", NULL, &body);
}

static void handle(void *arg, struct net_exchange *x)
{
    struct master *m = arg;
    const char *path = net_request_path(x);

    snprintf(m->last, sizeof(m->last), "%s?%s", path, net_request_query(x));
    if (m->fails && m->fails--) {
        answer(x, 503, "{\"error\":{\"code\":14,\"error\":\"busy\"}}");
    } else if (strstr(path, "/ack_preemption")) {
        m->acks++;
        answer(x, 200, "{}");
    } else {
        bool wants = m->wants_after >= 0 && m->polls >= m->wants_after;

        m->polls++;
        answer(x, 200, wants ? "{\"preempt\":true}" : "{\"preempt\":false}");
    }
}

/* Another program on the port: its answer must not count. */
static void handle_as_stranger(void *arg, struct net_exchange *x)
{
    (void)arg;
    answer(x, 404, "no such page");
}

/* In a task of that type; NULL: a trial. */
static void master_make_for(struct master *m, const char *type, int wants_after,
                            int fails)
{
    struct net_server_config config = {.host = "127.0.0.1",
                                       .max_body_bytes = 1 << 20,
                                       .threads = 1,
                                       .mark = "0badcafe-0000",
                                       .handler = handle,
                                       .arg = m};
    det_init_options options = {.size = sizeof(options)};

    memset(m, 0, sizeof(*m));
    world_make(&m->w);
    m->wants_after = wants_after;
    m->fails = fails;
    CHECK_OK(executor_single_new(&m->w.clock, 1, &m->exec, &test_err));
    CHECK_OK(net_memory_new(m->exec, 1, &m->net, &test_err));
    CHECK_OK(net_serve(m->net, &config, &m->server, &test_err));
    snprintf(m->url, sizeof(m->url), "http://127.0.0.1:%u", net_server_port(m->server));
    world_set(&m->w, "DET_MASTER", m->url);
    world_set(&m->w, "DET_MASTER_FILE", "/task/master.json");
    if (type)
        world_set(&m->w, "DET_TASK_TYPE", type);
    m->w.at.exec = m->exec;
    m->w.at.net = m->net;
    CHECK_OK(context_open(&m->w.at, &options, &m->det, &test_err));
}

static void master_make(struct master *m, int wants_after, int fails)
{
    master_make_for(m, NULL, wants_after, fails);
}

static void master_end(struct master *m)
{
    det_close(m->det);
    net_server_free(m->server);
    net_free(m->net);
    executor_free(m->exec);
    world_end(&m->w);
}

static void pump(struct master *m, int times)
{
    while (times-- && !det_preempted(m->det))
        executor_pump(m->exec);
}

TEST(the_first_question_does_not_wait_and_the_next_ones_do)
{
    struct master m;

    master_make(&m, -1, 0);
    CHECK_EQ(det_preempted(m.det), 0);
    while (m.polls < 1)
        executor_pump(m.exec);
    CHECK_HAS(m.last,
              "/api/v1/allocations/3.abc.2/signals/preemption?timeoutSeconds=0");
    while (m.polls < 2)
        executor_pump(m.exec);
    CHECK_HAS(m.last, "timeoutSeconds=60");
    CHECK_EQ(det_preempted(m.det), 0);
    CHECK_EQ(det_preempt_ack(m.det, 0), DET_STATE);
    CHECK_STR(det_context_error(m.det),
              "the platform has not asked this program to stop");
    master_end(&m);
}

TEST(a_job_is_asked_to_stop_as_a_trial_is)
{
    struct master m;

    master_make_for(&m, "GENERIC", 2, 0);
    pump(&m, 1000);
    CHECK_EQ(det_preempted(m.det), 1);
    CHECK_OK(det_preempt_ack(m.det, 0));
    CHECK_EQ(m.acks, 1);
    master_end(&m);
}

TEST(who_is_asked_to_stop_sees_it_and_says_so)
{
    struct master m;

    master_make(&m, 2, 0);
    pump(&m, 1000);
    CHECK_EQ(det_preempted(m.det), 1);
    CHECK_EQ(m.acks, 0);
    m.fails = 3;
    CHECK_OK(det_preempt_ack(m.det, 0));
    CHECK_EQ(m.acks, 1);
    m.fails = 3;
    CHECK_OK(det_preempt_ack(m.det, INT64_MAX)); /* without a limit */
    CHECK_EQ(m.acks, 2);
    m.fails = 100000;
    CHECK_EQ(det_preempt_ack(m.det, 1000), DET_BUSY);
    CHECK_HAS(det_context_error(m.det), "the master was not told");
    m.fails = 0;
    master_end(&m);
}

static bool acknowledges_without_memory(int64_t nth)
{
    struct master m;
    bool fired;
    det_status st;

    master_make(&m, 0, 0);
    pump(&m, 1000);
    CHECK_EQ(det_preempted(m.det), 1);
    fault_arm(FAULT_MEMORY, nth);
    st = det_preempt_ack(m.det, 0);
    fired = fault_disarm(FAULT_MEMORY);
    CHECK(!st || fired);
    CHECK_OK(det_preempt_ack(m.det, 0));
    CHECK(m.acks >= 1);
    master_end(&m);
    return fired;
}

TEST(without_memory_an_acknowledgement_fails_and_the_next_one_is_heard)
{
    int64_t nth = 1;

    while (acknowledges_without_memory(nth))
        nth++;
    CHECK(nth > 1);
}

TEST(a_master_that_is_away_is_asked_again_less_and_less_often)
{
    struct master m;
    int64_t begun_us;

    master_make(&m, 0, 12);
    begun_us = m.w.clock.mono_us;
    pump(&m, 10000);
    CHECK_EQ(det_preempted(m.det), 1);
    CHECK(m.w.clock.mono_us - begun_us > 60000000);
    CHECK(m.w.clock.mono_us - begun_us < 200000000);
    master_end(&m);
}

TEST(a_master_that_answers_too_soon_is_not_asked_in_a_hot_loop)
{
    struct master m;
    int64_t begun_us;

    master_make(&m, 20, 0);
    begun_us = m.w.clock.mono_us;
    pump(&m, 10000);
    CHECK_EQ(det_preempted(m.det), 1);
    CHECK(m.w.clock.mono_us - begun_us > 60000000);
    master_end(&m);
}

/* The master leaves its port to another program and comes back on another port, which
 * the task's file names. */
static void move(struct master *m, struct net_server **ret_stranger)
{
    struct net_server_config config = {.host = "127.0.0.1",
                                       .port = net_server_port(m->server),
                                       .max_body_bytes = 1 << 20,
                                       .threads = 1,
                                       .handler = handle_as_stranger};
    char text[200];

    net_server_free(m->server);
    CHECK_OK(net_serve(m->net, &config, ret_stranger, &test_err));
    config.port = 0;
    config.mark = "0badcafe-0000";
    config.handler = handle;
    config.arg = m;
    CHECK_OK(net_serve(m->net, &config, &m->server, &test_err));
    snprintf(text, sizeof(text), "{\"given\":\"%s\",\"now\":\"http://127.0.0.1:%u\"}",
             m->url, net_server_port(m->server));
    world_file(&m->w, "/task/master.json", text);
}

TEST(a_master_that_moved_is_found_where_it_is)
{
    struct net_server *stranger;
    struct master m;

    master_make(&m, -1, 0);
    while (m.polls < 2)
        executor_pump(m.exec);
    move(&m, &stranger);
    m.wants_after = 0;
    pump(&m, 10000);
    CHECK_EQ(det_preempted(m.det), 1);
    CHECK_OK(det_preempt_ack(m.det, 0));
    CHECK_EQ(m.acks, 1);
    net_server_free(stranger);
    master_end(&m);
}

TEST(another_program_on_the_masters_port_is_not_believed)
{
    struct net_server *stranger;
    struct master m;

    master_make(&m, 0, 0);
    pump(&m, 1000);
    move(&m, &stranger);
    CHECK_OK(io_remove(m.w.io, "/task/master.json", &test_err));
    CHECK_EQ(det_preempt_ack(m.det, 1000), DET_UNREACHABLE);
    CHECK_HAS(det_context_error(m.det), "not the master of this task");
    net_server_free(stranger);
    master_end(&m);
}

TEST(a_file_that_stands_for_another_master_moves_nobody)
{
    struct world w;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    static const char *const texts[] = {"{\"given\":\"http://b\",\"now\":\"http://c\"}",
                                        "{", "[]", "",
                                        "{\"given\":\"http://a\",\"now\":7}"};

    world_make(&w);
    CHECK_OK(io_mkdir(w.io, "/task", true, &test_err));
    CHECK_STR(runfile_moved(w.io, NULL, "http://a", &mem), "http://a");
    CHECK_STR(runfile_moved(w.io, "/task/none", "http://a", &mem), "http://a");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        world_file(&w, "/task/m", texts[i]);
        CHECK_STR(runfile_moved(w.io, "/task/m", "http://a", &mem), "http://a");
    }
    world_end(&w);
}
