/* SPDX-License-Identifier: Apache-2.0 */
/* master_twins.c - tests of the master that need a simulated clock, disk and memory:
 * clients that leave, a disk that fills, memory that runs out anywhere, a loss of power
 * at any step of the first start. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "data/json/json.h"
#include "master/master.h"
#include "master/master_impl.h"
#include "net/memory/net_memory.h"
#include "net/net.h"
#include "tests/support/test.h"

enum { PORT = 8080, SECOND = 1000000 };

struct twin {
    struct arena mem;
    struct clock_manual clock;
    struct io *io;
    struct json *config;
    struct executor *exec;
    struct net *net;
    struct master *master;
    struct net_client *client;
    const char *user; /* tokens */
    const char *agent;
    int64_t timeout_ms; /* of a call */
    bool was_fatal;
    /* the crash of the sweep */
    struct lane *lane;
    struct work crash;
    int64_t steps_left;
    bool has_crashed;
};

static void on_fatal(void *arg, const char *sentence)
{
    struct twin *t = arg;

    (void)sentence;
    t->was_fatal = true;
}

static void twin_init(struct twin *t)
{
    static const char yaml[] = "launch_error: false\n";
    struct config_report report;

    *t = (struct twin){.mem = ARENA_INIT((size_t)1 << 30), .timeout_ms = 20000};
    report = (struct config_report)CONFIG_REPORT(&t->mem, NULL);
    log_setup(LOG_ERROR, -1);
    clock_manual_init(&t->clock, 1700000000LL * SECOND);
    CHECK_OK(io_memory_new(&t->io, &test_err));
    CHECK_OK(io_mkdir(t->io, "/data", true, &test_err));
    CHECK_OK(io_sync_dir(t->io, "/", &test_err));
    CHECK_OK(config_load(CONFIG_MASTER, yaml, sizeof(yaml) - 1, NULL, &report,
                         &t->config, &test_err));
}

static void twin_make_exec(struct twin *t, uint64_t seed)
{
    CHECK_OK(executor_single_new(&t->clock, seed, &t->exec, &test_err));
    CHECK_OK(net_memory_new(t->exec, seed, &t->net, &test_err));
    CHECK_OK(net_client_new(t->net, "127.0.0.1", PORT, &t->client, &test_err));
}

static det_status twin_start(struct twin *t, struct err *err)
{
    struct master_config config = {.checks_invariants = true,
                                   .io = t->io,
                                   .exec = t->exec,
                                   .net = t->net,
                                   .data_dir = "/data",
                                   .host = "127.0.0.1",
                                   .port = PORT,
                                   .tree = t->config,
                                   .on_fatal = on_fatal,
                                   .arg = t};
    det_status st = master_new(&config, &t->master, err);

    return st ? st : master_start(t->master, err);
}

/* Proper, or without power. */
static void twin_end(struct twin *t)
{
    if (t->has_crashed) {
        if (t->master->server)
            net_memory_crash(t->master->server);
        t->master->server = NULL;
    } else {
        master_stop(t->master);
    }
    net_client_free(t->client);
    net_free(t->net);
    executor_free(t->exec);
    master_free(t->master);
    t->master = NULL;
    t->has_crashed = false;
}

static void twin_done(struct twin *t)
{
    if (t->master)
        twin_end(t);
    io_free(t->io);
    arena_done(&t->mem);
}

/* One call; 0: no answer came. */
static int call(struct twin *t, const char *token, enum net_method method,
                const char *path, const char *body, struct json **ret_json)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    char header[200];
    const char *headers[] = {token ? header : NULL, NULL};
    struct net_call what = {.method = method,
                            .path = path,
                            .headers = headers,
                            .body = body,
                            .body_len = body ? strlen(body) : 0,
                            .timeout_ms = t->timeout_ms};
    struct net_reply reply = {.body = &out};

    snprintf(header, sizeof(header), "Authorization: Bearer %s", token ? token : "");
    if (net_call(t->client, &what, &reply, NULL))
        return 0;
    if (ret_json && json_parse(out.data, out.len, &t->mem, ret_json, NULL))
        return 0;
    return reply.status;
}

static void log_in(struct twin *t)
{
    CLEANUP(buf_done) struct buf token = BUF_INIT;
    struct json *reply = NULL;

    CHECK_EQ(call(t, NULL, NET_POST, "/api/v1/auth/login",
                  "{\"username\":\"admin\",\"password\":\"\"}", &reply),
             200);
    t->user = json_str(json_get(reply, "token"), NULL);
    CHECK_OK(io_read_file(t->io, "/data/agent.token", &token, &test_err));
    t->agent = arena_strndup(&t->mem, token.data, strcspn(token.data, "\n"));
}

static void twin_open(struct twin *t)
{
    twin_init(t);
    twin_make_exec(t, 1);
    CHECK_OK(twin_start(t, &test_err));
    log_in(t);
}

#define TWIN(name)                                                                     \
    CLEANUP(twin_done) struct twin name;                                               \
    twin_open(&name)

/* ---- time ---------------------------------------------------------------------------
 */

static void pass_time(struct twin *t, int64_t us)
{
    struct gate *never;

    CHECK_OK(gate_new(t->exec, &never, &test_err));
    (void)gate_wait(never, t->clock.mono_us + us);
    gate_free(never);
}

static bool is_connected(struct twin *t)
{
    struct json *reply = NULL;

    CHECK_EQ(call(t, t->user, NET_GET, "/api/v1/agents", NULL, &reply), 200);
    return json_bool(json_get(json_first(json_get(reply, "agents")), "connected"),
                     false);
}

static const char *say_hello(struct twin *t)
{
    struct json *reply = NULL;

    CHECK_EQ(call(t, t->agent, NET_POST, "/api/v1/det/agents/a1/hello",
                  "{\"devices\":[{\"id\":0,\"type\":\"cpu\"}]}", &reply),
             200);
    return json_str(json_get(reply, "epoch"), "");
}

TEST(a_poll_whose_client_left_keeps_no_agent_alive)
{
    TWIN(t);
    const char *path = arena_printf(
        &t.mem, "/api/v1/det/agents/a1/commands?timeoutSeconds=60&epoch=%s",
        say_hello(&t));

    t.timeout_ms = 1000;
    CHECK_EQ(call(&t, t.agent, NET_GET, path, NULL, NULL), 0); /* it hangs up */
    CHECK(!is_connected(&t));                                  /* noticed at once */
    (void)say_hello(&t);
    CHECK(is_connected(&t));
}

TEST(an_agent_that_polls_no_more_falls_silent)
{
    TWIN(t);
    const char *path =
        arena_printf(&t.mem, "/api/v1/det/agents/a1/commands?timeoutSeconds=0&epoch=%s",
                     say_hello(&t));

    CHECK_EQ(call(&t, t.agent, NET_GET, path, NULL, NULL), 200);
    CHECK(is_connected(&t));
    pass_time(&t, 15 * SECOND);
    CHECK(!is_connected(&t));
}

TEST(an_agent_that_polls_is_alive_however_long_nothing_happens)
{
    TWIN(t);
    const char *path =
        arena_printf(&t.mem, "/api/v1/det/agents/a1/commands?timeoutSeconds=1&epoch=%s",
                     say_hello(&t));

    for (int i = 0; i < 60; i++)
        CHECK(call(&t, t.agent, NET_GET, path, NULL, NULL) >= 0);
    CHECK(is_connected(&t));
}

static int64_t count_agents(struct twin *t)
{
    struct json *reply = NULL;

    CHECK_EQ(call(t, t->user, NET_GET, "/api/v1/agents", NULL, &reply), 200);
    return json_i64(json_path(reply, "pagination.total"), -1);
}

/* Whether forwards or back. */
TEST(a_clock_that_is_set_disturbs_no_deadline)
{
    for (int64_t by_us = INT64_C(-7200) * SECOND; by_us <= INT64_C(7200) * SECOND;
         by_us += INT64_C(14400) * SECOND) {
        TWIN(t);

        (void)say_hello(&t);
        CHECK_EQ(call(&t, t.agent, NET_POST, "/api/v1/det/agents/a1/bye", "{}", NULL),
                 200);
        CHECK(!is_connected(&t));
        t.clock.wall_us += by_us;
        (void)say_hello(&t); /* heard again, and silent again */
        CHECK_EQ(call(&t, t.agent, NET_POST, "/api/v1/det/agents/a1/bye", "{}", NULL),
                 200);
        t.clock.wall_us += by_us;
        pass_time(&t, 20 * SECOND);
        CHECK_EQ(count_agents(&t), 1);
        pass_time(&t, 10 * SECOND);
        CHECK_EQ(count_agents(&t), 0);
    }
}

/* ---- disk ---------------------------------------------------------------------------
 */

static const char create_body[] =
    "{\"config\":\"entrypoint: x\\nsearcher: {name: grid, metric: loss}\\n"
    "hyperparameters: {a: {type: categorical, vals: [1, 2]}}\\n\",\"activate\":true,"
    "\"modelDefinition\":[{\"path\":\"a\",\"type\":48,\"content\":\"aGk=\"}]}";

static int create(struct twin *t)
{
    return call(t, t->user, NET_POST, "/api/v1/experiments", create_body, NULL);
}

static int64_t count_experiments(struct twin *t)
{
    struct json *reply = NULL;

    CHECK_EQ(call(t, t->user, NET_GET, "/api/v1/experiments?limit=-2", NULL, &reply),
             200);
    return json_i64(json_path(reply, "pagination.total"), -1);
}

TEST(on_a_full_disk_nothing_is_taken_and_nothing_breaks)
{
    TWIN(t);

    CHECK_EQ(create(&t), 200);
    io_memory_limit(t.io, 1);
    CHECK_EQ(create(&t), 503);
    CHECK_EQ(create(&t), 503);
    CHECK_EQ(count_experiments(&t), 1); /* reading goes on */
    io_memory_limit(t.io, 0);
    CHECK_EQ(create(&t), 200);
    CHECK_EQ(count_experiments(&t), 2);
    CHECK(!t.was_fatal);
}

TEST(what_happens_by_itself_is_not_forgotten_on_a_full_disk)
{
    TWIN(t);
    const char *path = arena_printf(
        &t.mem, "/api/v1/det/agents/a1/commands?timeoutSeconds=60&epoch=%s",
        say_hello(&t));

    io_memory_limit(t.io, 1);
    t.timeout_ms = 1000;
    CHECK_EQ(call(&t, t.agent, NET_GET, path, NULL, NULL), 0); /* it hangs up */
    t.timeout_ms = 20000;
    CHECK(is_connected(&t)); /* as far as the rows know */
    io_memory_limit(t.io, 0);
    pass_time(&t, 10 * SECOND);
    CHECK(!is_connected(&t));
    CHECK(!t.was_fatal);
}

TEST(on_a_full_disk_the_first_start_says_so)
{
    CLEANUP(twin_done) struct twin t;
    struct err err = {0};

    twin_init(&t);
    twin_make_exec(&t, 1);
    io_memory_limit(t.io, 1);
    CHECK_EQ(twin_start(&t, &err), DET_FULL);
    CHECK(*err.text);
    twin_end(&t);
    io_memory_limit(t.io, 0);
    twin_make_exec(&t, 2);
    CHECK_OK(twin_start(&t, &test_err));
}

/* ---- power --------------------------------------------------------------------------
 */

static void step_or_crash(struct work *task)
{
    struct twin *t = CONTAINER_OF(task, struct twin, crash);

    if (t->steps_left-- > 0) {
        lane_post(t->lane, &t->crash);
    } else {
        io_crash(t->io);
        t->has_crashed = true;
    }
}

static void crash_after(struct twin *t, int64_t steps)
{
    CHECK_OK(lane_new(t->exec, "crash", 1, &t->lane, &test_err));
    t->crash = (struct work)WORK_INIT(step_or_crash);
    t->steps_left = steps;
    lane_post(t->lane, &t->crash);
}

/* The disk dies with the power at each write of the first start in turn. */
TEST(the_power_may_go_at_any_step_of_the_first_start)
{
    for (int64_t steps = 0; steps < 12; steps++) {
        CLEANUP(twin_done) struct twin t;

        twin_init(&t);
        twin_make_exec(&t, (uint64_t)steps);
        crash_after(&t, steps);
        (void)twin_start(&t, NULL);
        io_crash(t.io);
        t.has_crashed = true;
        twin_end(&t);
        twin_make_exec(&t, 7);
        CHECK_OK(twin_start(&t, &test_err));
        log_in(&t);
        CHECK_EQ(create(&t), 200);
    }
}

/* ---- memory -------------------------------------------------------------------------
 */

/* A call whose success comes with this header; without it: -1. */
static int call_with(struct twin *t, enum net_method method, const char *path,
                     const char *body, const char *header)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(buf_done) struct buf headers = BUF_INIT;
    struct net_call what = {.method = method,
                            .path = path,
                            .body = body,
                            .body_len = body ? strlen(body) : 0,
                            .timeout_ms = t->timeout_ms};
    struct net_reply reply = {.body = &out, .headers = &headers};

    if (net_call(t->client, &what, &reply, NULL))
        return 0;
    return reply.status == 200 && !strstr(headers.data, header) ? -1 : reply.status;
}

static int login_again(struct twin *t)
{
    return call_with(t, NET_POST, "/api/v1/auth/login",
                     "{\"username\":\"admin\",\"password\":\"\"}", "Set-Cookie: auth_");
}

static int show_webui(struct twin *t)
{
    return call_with(t, NET_GET, "/det/", NULL, "X-Frame-Options: DENY\n");
}

static int list(struct twin *t)
{
    return call(t, t->user, NET_GET, "/api/v1/experiments", NULL, NULL);
}

static int hello(struct twin *t)
{
    return call(t, t->agent, NET_POST, "/api/v1/det/agents/a1/hello",
                "{\"devices\":[{\"id\":0,\"type\":\"cpu\"}],\"tasks\":[\"9.x.1/0\"]}",
                NULL);
}

static int show_openapi(struct twin *t)
{
    return call(t, NULL, NET_GET, "/docs/openapi.json", NULL, NULL);
}

static int add_label(struct twin *t)
{
    return call(t, t->user, NET_PUT, "/api/v1/experiments/1/labels/x", NULL, NULL);
}

static int pause_it(struct twin *t)
{
    return call(t, t->user, NET_POST, "/api/v1/experiments/1/pause", NULL, NULL);
}

static int activate_it(struct twin *t)
{
    return call(t, t->user, NET_POST, "/api/v1/experiments/1/activate", NULL, NULL);
}

static int read_logs(struct twin *t)
{
    return call(t, t->user, NET_GET, "/api/v1/trials/1/logs", NULL, NULL);
}

/* A refused creation has no effect: after another try there is one experiment. */
static int create_or_not(struct twin *t)
{
    int64_t left = fault_state.left[FAULT_MEMORY];
    int64_t before;
    int status;

    fault_state.left[FAULT_MEMORY] = 0;
    before = count_experiments(t);
    fault_state.left[FAULT_MEMORY] = left;
    status = create(t);
    left = fault_state.left[FAULT_MEMORY];
    fault_state.left[FAULT_MEMORY] = 0;
    if (status)
        CHECK_EQ(count_experiments(t), before + (status == 200));
    fault_state.left[FAULT_MEMORY] = left;
    return status;
}

/* The n-th allocation of everything that a call brings about fails, for each n: it is
 * done or refused, never anything else, and the master goes on. */
static void sweep(struct twin *t, const char *what, int (*made)(struct twin *t))
{
    bool struck = true;

    for (int64_t nth = 1; struck; nth++) {
        int status;

        fault_arm(FAULT_MEMORY, nth);
        status = made(t);
        struck = fault_disarm(FAULT_MEMORY);
        if (struck ? status != 200 && status != 503 && status != 0 : status != 200)
            fail_msg("%s with allocation %" PRId64 " failing: %d", what, nth, status);
        if (list(t) != 200 || t->was_fatal)
            fail_msg("after %s with allocation %" PRId64 " failing it is not well",
                     what, nth);
    }
}

TEST(memory_may_run_out_anywhere)
{
    TWIN(t);

    CHECK_EQ(create(&t), 200);
    sweep(&t, "login", login_again);
    sweep(&t, "list", list);
    sweep(&t, "hello", hello);
    sweep(&t, "label", add_label);
    sweep(&t, "pause", pause_it);
    sweep(&t, "activate", activate_it);
    sweep(&t, "logs", read_logs);
    sweep(&t, "openapi", show_openapi);
    sweep(&t, "WebUI", show_webui);
}

TEST(memory_may_run_out_while_an_experiment_is_made)
{
    TWIN(t);

    sweep(&t, "create", create_or_not);
}
