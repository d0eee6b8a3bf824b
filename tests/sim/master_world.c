/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/master_world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/thread/executor_impl.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key_tables.h"
#include "master/master.h"
#include "master/master_impl.h"
#include "net/memory/net_memory.h"

enum {
    PORT = 8080,
    CALL_MS = 5000,
    LIVES_MOST = 30,
    CALM_AFTER_S = 1200,
    CALLS_MOST = 60000, /* more: it goes round in circles */
};

/* ---- dice and words ----------------------------------------------------------------
 */

uint64_t roll(struct world *w, uint64_t sides)
{
    return rng64_below(&w->rng, sides);
}

bool one_in(struct world *w, uint64_t n)
{
    return roll(w, n) == 0;
}

/* The linker puts this in place of the kernel's (tests/sim/meson.build).  Secrets decide
 * where a row goes in an index, and so whether a page more is needed on a full disk: the
 * same seed must draw the same ones. */
static struct rng64 secrets;

ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t len, unsigned flags)
{
    unsigned char *byte = bytes;

    (void)flags;
    for (size_t i = 0; i < len; i++)
        byte[i] = (unsigned char)rng64_next(&secrets);
    return (ssize_t)len;
}

PRINTF_LIKE(2, 0)
static void say(struct world *w, const char *fmt, va_list args)
{
    char text[512];
    int len = snprintf(text, sizeof(text), "%10.6f ", (double)w->clock.mono_us / 1e6);

    vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, args);
    w->hash = hash_number(w->hash ^ hash_bytes(text, strlen(text)));
    if (w->traces)
        fprintf(stderr, "%s\n", text);
}

void world_trace(struct world *w, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(w, fmt, args);
    va_end(args);
}

void world_fail(struct world *w, const char *fmt, ...)
{
    va_list args;

    if (*w->why)
        return;
    va_start(args, fmt);
    vsnprintf(w->why, sizeof(w->why), fmt, args);
    va_end(args);
    world_trace(w, "FAILED: %s", w->why);
    w->is_over = true;
}

/* ---- actors ------------------------------------------------------------------------
 */

static void run_step(struct work *task)
{
    struct actor *actor = CONTAINER_OF(task, struct actor, task);

    if (!actor->is_over && !actor->world->has_no_power && !actor->world->is_over)
        actor->step(actor);
}

void actor_init(struct actor *actor, struct world *w, const char *name, actor_fn *step)
{
    *actor = (struct actor){.world = w,
                            .step = step,
                            .name = name,
                            .task = WORK_INIT(run_step),
                            .mem = ARENA_INIT((size_t)64 << 20)};
}

void actor_wake(struct actor *actor)
{
    struct world *w = actor->world;

    if (actor->is_over)
        return;
    actor->task = (struct work)WORK_INIT(run_step);
    if (lane_new(w->exec, actor->name, 1, &actor->lane, NULL) ||
        net_client_new(w->net, "127.0.0.1", PORT, &actor->client, NULL))
        world_fail(w, "out of memory");
    else
        actor_again(actor, (int64_t)roll(w, SECOND / 10));
}

void actor_again(struct actor *actor, int64_t in_us)
{
    struct world *w = actor->world;

    if (!w->has_no_power && !w->is_over)
        lane_post_at(actor->lane, &actor->task, w->clock.mono_us + 1 + in_us);
}

/* {"lines": [...]} for a stream of several records. */
static struct json *parse(struct arena *mem, const char *text)
{
    struct json *json, *lines = json_new(mem, JSON_ARRAY);
    struct json *all = json_new(mem, JSON_OBJECT);

    while (*text) {
        size_t len = strcspn(text, "\n");

        if (json_parse(text, len, mem, &json, NULL))
            return NULL;
        json_push(lines, json);
        text += len + (text[len] == '\n');
    }
    if (lines && lines->list.count == 1)
        return lines->list.first;
    json_set(mem, all, "lines", lines);
    return all;
}

static det_status send_call(struct actor *actor, struct call *call, struct buf *out)
{
    const char *header =
        call->use == TOKEN_OF_TASK
            ? arena_printf(&actor->mem, "Grpc-Metadata-x-allocation-token: Bearer %s",
                           call->token)
            : arena_printf(&actor->mem, "Authorization: Bearer %s", call->token);
    const char *headers[] = {call->use ? header : NULL, NULL};
    struct net_call what = {.method = call->method,
                            .path = call->path,
                            .headers = headers,
                            .body = call->body,
                            .body_len = call->body_len ? call->body_len
                                        : call->body   ? strlen(call->body)
                                                       : 0,
                            .timeout_ms =
                                call->timeout_ms ? call->timeout_ms : CALL_MS};
    struct net_reply reply = {.body = out};
    det_status st = net_call(actor->client, &what, &reply, NULL);

    call->status = st ? 0 : reply.status;
    return st;
}

bool actor_call(struct actor *actor, struct call *call)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct world *w = actor->world;
    det_status st;

    if (++w->calls > CALLS_MOST)
        world_fail(w, "it never comes to its end");
    w->depth++;
    st = send_call(actor, call, &out);
    w->depth--;
    world_trace(w, "%s %.*s: %d", actor->name, (int)strcspn(call->path, "?"),
                call->path, call->status); /* queries name epochs, which are secrets */
    if (st || w->has_no_power || w->is_over || call->status == 503) {
        call->status = 0;
        return false;
    }
    call->text = arena_strndup(&actor->mem, out.data, out.len);
    call->json = call->text ? parse(&actor->mem, call->text) : NULL;
    if (call->status >= 500 || !call->json)
        world_fail(w, "%s %s: %d %.300s", actor->name, call->path, call->status,
                   out.data);
    return !w->is_over;
}

/* ---- fate --------------------------------------------------------------------------
 */

static void every_actor(struct world *w, void (*fn)(struct actor *actor))
{
    for (int i = 0; i < AGENTS; i++)
        fn(&w->agent[i].actor);
    for (int i = 0; i < PEOPLE; i++)
        fn(&w->person[i].actor);
    for (uint32_t i = 0; i < w->processes; i++)
        fn(&w->process[i]->actor);
}

static void break_call(struct actor *actor)
{
    if (actor->client)
        net_client_cancel(actor->client);
}

/* Nothing of the master runs from here on: all calls end, and the stack unwinds. */
void power_goes(struct world *w)
{
    world_trace(w, "the power goes");
    io_crash(w->io);
    w->has_no_power = true;
    if (w->master->server) {
        net_memory_crash(w->master->server);
        w->master->server = NULL;
    }
    every_actor(w, break_call);
}

static void post_fate(struct world *w, int64_t in_us)
{
    lane_post_at(w->fate_lane, &w->fate, w->clock.mono_us + 1 + in_us);
}

/* A disk without room for anything new, for a while. */
static void disk_fills(struct world *w)
{
    world_trace(w, "the disk is full");
    w->is_full = true;
    io_memory_limit(w->io, 1);
    post_fate(w, (int64_t)roll(w, 20 * SECOND));
}

static void disk_empties(struct world *w)
{
    world_trace(w, "the disk has room again");
    w->is_full = false;
    io_memory_limit(w->io, 0);
    post_fate(w, (int64_t)roll(w, 60 * SECOND));
}

static void fate_strikes(struct world *w)
{
    if (w->is_full)
        disk_empties(w);
    else if (w->is_calm)
        return;
    else if (w->is_gentle)
        w->wants_stop = true;
    else if (w->is_up && one_in(w, 4))
        disk_fills(w);
    else if (w->is_up && one_in(w, 4))
        w->wants_stop = true;
    else
        power_goes(w);
}

/* Whether somebody else could run now. */
static bool is_busy(const struct world *w)
{
    for (const struct lane *lane = w->exec->lanes; lane; lane = lane->next)
        if (lane->queued && lane != w->fate_lane)
            return true;
    return false;
}

/* Time stands still while anything is ready to run: at a plain due time the master
 * would always be idle.  Fate waits until the master works, and then for a few steps of
 * that work. */
static void fate_hovers(struct work *task)
{
    struct world *w = CONTAINER_OF(task, struct world, fate);

    if (w->is_full || w->is_calm || !w->is_up)
        fate_strikes(w);
    else if (!is_busy(w)) /* together with whatever comes next */
        lane_post_at(w->fate_lane, &w->fate, executor_next_due_us(w->exec));
    else if (w->hover) {
        w->hover--;
        lane_post(w->fate_lane, &w->fate);
    } else {
        fate_strikes(w);
    }
}

/* ---- lives of the master ------------------------------------------------------------
 */

/* The process would end here after a failed sync.  The file system in memory never
 * fails a sync by itself, so this is an error. */
static void fatal(void *arg, const char *sentence)
{
    struct world *w = arg;

    if (!w->has_no_power)
        world_fail(w, "the master wants to end: %s", sentence);
}

static bool make_exec(struct world *w)
{
    const struct net_faults faults = {.lose_request = (uint32_t)roll(w, 40),
                                      .lose_reply = (uint32_t)roll(w, 40),
                                      .repeat = (uint32_t)roll(w, 40)};

    w->has_no_power = false;
    w->wants_stop = false;
    if (executor_single_new(&w->clock, rng64_next(&w->rng), &w->exec, NULL) ||
        net_memory_new(w->exec, rng64_next(&w->rng), &w->net, NULL) ||
        lane_new(w->exec, "fate", 1, &w->fate_lane, NULL))
        return false;
    if (!w->is_calm && !w->is_gentle)
        net_memory_faults(w->net, &faults);
    w->fate = (struct work)WORK_INIT(fate_hovers);
    w->hover = (uint32_t)roll(w, 20);
    if (!w->is_calm && w->lives < w->lives_most)
        post_fate(w, w->is_gentle   ? (int64_t)roll(w, 300 * SECOND)
                     : one_in(w, 4) ? (int64_t)roll(w, 30000)
                                    : (int64_t)roll(w, 15 * SECOND));
    return true;
}

static det_status start_master(struct world *w, struct err *err)
{
    struct master_config config = {.checks_invariants = true,
                                   .io = w->io,
                                   .exec = w->exec,
                                   .net = w->net,
                                   .data_dir = "/data",
                                   .host = "127.0.0.1",
                                   .port = PORT,
                                   .tree = w->config,
                                   .on_fatal = fatal,
                                   .arg = w};
    CLEANUP(buf_done) struct buf token = BUF_INIT;
    det_status st = master_new(&config, &w->master, err);

    if (!st)
        st = master_start(w->master, err);
    w->is_up = !st;
    if (!st)
        st = io_read_file(w->io, "/data/agent.token", &token, err);
    if (!st)
        w->agent_token = arena_strndup(&w->mem, token.data, strcspn(token.data, "\n"));
    return st;
}

/* A flood, a slow disk, a busy machine: some lanes take long, whoever else is fast. */
static void slow_lanes(struct world *w)
{
    static const struct {
        const char *name;
        int64_t most_us;
    } slow[] = {
        {"worker", 8 * SECOND}, {"heavy", 30 * SECOND},   {"login", 8 * SECOND},
        {"files", 8 * SECOND},  {"janitor", 60 * SECOND}, {"heart", SECOND},
        {"writer", SECOND},
    };

    if (w->is_calm || (!w->is_gentle && !one_in(w, 4)))
        return;
    for (struct lane *lane = w->exec->lanes; lane; lane = lane->next)
        for (size_t i = 0; i < ARRAY_LEN(slow); i++)
            if (!strcmp(lane->name, slow[i].name) && one_in(w, 2)) {
                world_trace(w, "%s is slow", lane->name);
                lane_slow_down(lane, slow[i].most_us);
            }
}

static void leave(struct actor *actor)
{
    net_client_free(actor->client);
    actor->client = NULL;
    actor->lane = NULL;
}

/* The end of the process: proper when it was asked for, else what is left is thrown
 * away in the order that touches nothing twice. */
static void end_life(struct world *w)
{
    if (!w->has_no_power) {
        world_trace(w, "the master stops");
        master_stop(w->master);
    }
    w->has_no_power = true; /* nobody posts any more */
    w->is_up = false;
    every_actor(w, leave);
    net_free(w->net);
    executor_free(w->exec);
    master_free(w->master);
    w->master = NULL;
}

static void run_master(struct world *w)
{
    struct err err = {0};
    det_status st;

    if (!make_exec(w)) {
        world_fail(w, "out of memory");
        return;
    }
    w->lives++;
    world_trace(w, "life %u", w->lives);
    st = start_master(w, &err);
    if (st && !w->has_no_power && !w->is_full)
        world_fail(w, "the master does not start: %s", err.text);
    if (!st) {
        slow_lanes(w);
        every_actor(w, actor_wake);
    }
    while (!st && !w->has_no_power && !w->is_over && !w->wants_stop)
        if (!executor_pump(w->exec))
            world_fail(w, "nothing is left to do, and it is not over");
    if (w->is_full) { /* somebody makes room before the next start */
        w->is_full = false;
        io_memory_limit(w->io, 0);
    }
    end_life(w);
}

/* ---- worlds ------------------------------------------------------------------------
 */

static bool world_init(struct world *w, uint64_t seed, bool traces)
{
    static const char yaml[] = "launch_error: false\n";
    struct config_report report;
    struct json *tree;

    *w = (struct world){.seed = seed,
                        .rng = {.state = seed * 0x9e3779b97f4a7c15},
                        .mem = ARENA_INIT((size_t)512 << 20),
                        .traces = traces};
    secrets = (struct rng64){.state = hash_number(seed)};
    w->is_gentle = seed % 4 == 3;
    w->lives_most = w->is_gentle ? 1 : 1 + (uint32_t)roll(w, LIVES_MOST);
    clock_manual_init(&w->clock, 1700000000LL * SECOND);
    report = (struct config_report)CONFIG_REPORT(&w->mem, NULL);
    if (config_load(CONFIG_MASTER, yaml, strlen(yaml), NULL, &report, &tree, NULL) ||
        io_memory_new(&w->io, NULL) || io_mkdir(w->io, "/data", true, NULL) ||
        io_sync_dir(w->io, "/", NULL))
        return false;
    w->config = tree;
    for (int i = 0; i < AGENTS; i++)
        actor_init(&w->agent[i].actor, w, i ? "agent1" : "agent0", agent_step);
    for (int i = 0; i < PEOPLE; i++)
        actor_init(&w->person[i].actor, w, i ? "admin" : "determined", person_step);
    return true;
}

static void forget(struct actor *actor)
{
    arena_done(&actor->mem);
}

static void world_done(struct world *w)
{
    every_actor(w, forget);
    for (uint32_t i = 0; i < w->processes; i++)
        mem_free(w->process[i]);
    io_free(w->io);
    arena_done(&w->mem);
}

bool world_run(uint64_t seed, bool traces, struct world_result *ret_result)
{
    struct world *w = mem_new(struct world);
    bool is_fine;

    if (!w || !world_init(w, seed, traces))
        return false;
    while (!w->is_over) {
        if (w->clock.mono_us > (int64_t)CALM_AFTER_S * SECOND ||
            w->lives >= w->lives_most)
            w->is_calm = true;
        run_master(w);
    }
    is_fine = !*w->why;
    memcpy(ret_result->why, w->why, sizeof(w->why));
    ret_result->hash = w->hash;
    ret_result->calls = w->calls;
    ret_result->lives = w->lives;
    ret_result->lived_us = w->clock.mono_us;
    world_done(w);
    mem_free(w);
    return is_fine;
}
