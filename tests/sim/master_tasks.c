/* SPDX-License-Identifier: Apache-2.0 */
/* master_tasks.c - agents, and the processes that they start.
 *
 * An agent says hello with what it runs, then fetches commands.  A process (with its
 * supervisor) has one thing to tell at a time and tells it until it is heard; a machine
 * that dies takes its processes with it, without a word.  A machine that is cut off trains
 * on; when it is back, its runs may have been given up, and deliver what they accepted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "tests/sim/master_world.h"

/* ---- agents ------------------------------------------------------------------------
 */

static bool runs_on(const struct process *p, const struct agent_machine *agent)
{
    return p->agent == agent && !p->is_gone && !p->is_said;
}

static void list_tasks(struct world *w, const struct agent_machine *agent,
                       struct buf *out)
{
    const char *comma = "";

    for (uint32_t i = 0; i < w->processes; i++) {
        const struct process *p = w->process[i];

        if (!runs_on(p, agent))
            continue;
        buf_printf(out, "%s\"%s/%" PRId64 "\"", comma, p->allocation, p->rank);
        comma = ",";
    }
}

static void say_hello(struct agent_machine *agent)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct world *w = agent->actor.world;
    struct call call = {.use = TOKEN_BEARER,
                        .token = w->agent_token,
                        .method = NET_POST,
                        .path = arena_printf(&agent->actor.mem,
                                             "/api/v1/det/agents/%s/hello",
                                             agent->actor.name)};

    buf_puts(&body, "{\"devices\":[");
    for (int i = 0; i < AGENT_SLOTS; i++)
        buf_printf(&body, "%s{\"id\":%d,\"type\":\"cpu\"}", i ? "," : "", i);
    buf_printf(&body,
               "],\"addresses\":[\"10.0.0.1\"],\"bootId\":\"%" PRId64
               "\",\"instance\":\"of %s\",\"tasks\":[",
               agent->boot, agent->actor.name);
    list_tasks(w, agent, &body);
    buf_puts(&body, "]}");
    call.body = arena_strdup(&agent->actor.mem, body.data);
    if (!actor_call(&agent->actor, &call))
        return;
    /* Its previous connection may still be open: it tries again later. */
    if (call.status == 409)
        return;
    if (call.status != 200) {
        world_fail(w, "hello: %d %s", call.status, call.text);
        return;
    }
    agent->epoch = arena_strdup(&w->mem, json_str(json_get(call.json, "epoch"), ""));
    agent->after = 0;
}

static struct process *find_process(struct world *w, const char *allocation,
                                    int64_t rank)
{
    for (uint32_t i = 0; i < w->processes; i++)
        if (!strcmp(w->process[i]->allocation, allocation) &&
            w->process[i]->rank == rank)
            return w->process[i];
    return NULL;
}

/* The greatest steps of a checkpoint that an earlier run was told is kept. */
static int64_t acked_steps(const struct world *w, int64_t trial, int64_t before_run)
{
    int64_t steps = 0;

    for (uint32_t i = 0; i < w->processes; i++) {
        const struct process *p = w->process[i];

        for (uint32_t k = 0; k < p->saves; k++)
            if (p->trial == trial && p->run < before_run && p->saved[k].is_acked &&
                !p->saved[k].is_late)
                steps = MAX(steps, p->saved[k].steps);
    }
    return steps;
}

static struct saved *find_saved(struct world *w, const char *uuid)
{
    for (uint32_t i = 0; i < w->processes; i++)
        for (uint32_t k = 0; k < w->process[i]->saves; k++)
            if (!strcmp(w->process[i]->saved[k].uuid, uuid))
                return &w->process[i]->saved[k];
    return NULL;
}

/* No trial resumes from files that are gone. */
static void check_resumes(struct process *p, const char *uuid)
{
    const struct saved *saved = uuid ? find_saved(p->actor.world, uuid) : NULL;

    if (saved && saved->is_removed)
        world_fail(p->actor.world, "%s resumes from %s, which was removed",
                   p->allocation, uuid);
}

bool process_may_forget(const struct process *p)
{
    const struct world *w = p->actor.world;

    for (uint32_t k = 0; k < w->wishes; k++)
        if (w->wish[k].id == p->experiment)
            return w->wish[k].is_continued && p->keeps_no_latest;
    return false;
}

static void start_process(struct agent_machine *agent, const struct json *command)
{
    struct world *w = agent->actor.world;
    const struct json *env = json_path(command, "spec.environment");
    struct process *p = mem_new(struct process);

    if (!p || w->processes == PROCESSES_MOST) {
        world_fail(w, "more processes than expected");
        mem_free(p);
        return;
    }
    w->process[w->processes++] = p;
    actor_init(&p->actor, w, "process", process_step);
    p->agent = agent;
    p->allocation =
        arena_strdup(&w->mem, json_str(json_get(command, "allocation"), ""));
    p->rank = json_i64(json_get(command, "rank"), -1);
    p->token =
        arena_strdup(&w->mem, json_str(json_path(command, "spec.supervisorToken"), ""));
    p->experiment = json_i64(json_get(env, "DET_EXPERIMENT_ID"), -1);
    p->trial = json_i64(json_get(env, "DET_TRIAL_ID"), -1);
    p->run = json_i64(json_get(env, "DET_TRIAL_RUN_ID"), -1);
    p->began = p->steps = json_i64(json_get(env, "DET_STEPS_COMPLETED"), -1);
    p->until = p->steps + 2 + (int64_t)roll(w, 12);
    p->op = OP_STATE;
    p->keeps_no_latest = strstr(json_str(json_get(env, "DET_EXPERIMENT_CONFIG"), ""),
                                "\"save_trial_latest\":0") != NULL;
    p->has_ring = one_in(w, 2);
    world_trace(w, "%s starts %s/%" PRId64 " of trial %" PRId64 " at %" PRId64,
                agent->actor.name, p->allocation, p->rank, p->trial, p->steps);
    if (p->steps < acked_steps(w, p->trial, p->run) && !process_may_forget(p))
        world_fail(w,
                   "%s starts at %" PRId64 " steps; its trial was told that %" PRId64
                   " are kept",
                   p->allocation, p->steps, acked_steps(w, p->trial, p->run));
    check_resumes(p, json_str(json_get(env, "DET_LATEST_CHECKPOINT"), NULL));
    actor_wake(&p->actor);
}

/* ---- removing checkpoints ---------------------------------------------------------
 */

static const char *remove_all(struct agent_machine *agent, const struct json *work)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct world *w = agent->actor.world;
    const char *comma = "";

    buf_puts(&body, "{\"results\":[");
    json_each(item, json_get(work, "removals")) {
        const char *uuid = json_str(json_get(item, "uuid"), "");
        struct saved *saved = find_saved(w, uuid);
        bool fails = !w->is_calm && one_in(w, 6);

        if (!saved)
            world_fail(w, "%s is to remove %s, which nobody saved", agent->actor.name,
                       uuid);
        else if (!fails)
            saved->is_removed = true;
        world_trace(w, "%s removes %s%s", agent->actor.name, uuid, fails ? ": no" : "");
        buf_printf(&body, "%s{\"uuid\":\"%s\"%s}", comma, uuid,
                   fails ? ",\"error\":\"no\"" : "");
        comma = ",";
    }
    buf_puts(&body, "],\"swept\":[");
    comma = "";
    json_each(item, json_get(work, "sweeps")) {
        buf_printf(&body, "%s{\"trial\":%" PRId64 ",\"run\":%" PRId64 "}", comma,
                   json_i64(json_get(item, "trial"), 0),
                   json_i64(json_get(item, "run"), 0));
        comma = ",";
    }
    buf_puts(&body, "]}");
    return arena_strdup(&w->mem, body.data);
}

/* A call without an answer is repeated later. */
static void clean(struct agent_machine *agent)
{
    struct actor *actor = &agent->actor;
    struct call call = {.use = TOKEN_BEARER,
                        .token = actor->world->agent_token,
                        .method = NET_GET,
                        .path = arena_printf(&actor->world->mem,
                                             "/api/v1/det/agents/%s/removals",
                                             actor->name)};

    if (!actor_call(actor, &call) || call.status != 200)
        return;
    call.body = remove_all(agent, call.json);
    call.method = NET_POST;
    if (actor_call(actor, &call) && call.status != 200)
        world_fail(actor->world, "removals: %d %s", call.status, call.text);
}

/* A command for a process that is not here (any more): the master hears so. */
static void report_missing(struct agent_machine *agent, const char *allocation,
                           int64_t rank, const char *exit)
{
    struct call call = {
        .use = TOKEN_BEARER,
        .token = agent->actor.world->agent_token,
        .method = NET_POST,
        .path =
            arena_printf(&agent->actor.mem, "/api/v1/det/agents/%s/allocations/%s/exit",
                         agent->actor.name, allocation),
        .body = arena_printf(&agent->actor.mem,
                             "{\"rank\":%" PRId64 ",\"exit\":\"%s\"}", rank, exit)};

    (void)actor_call(&agent->actor, &call); /* unheard: the command is repeated */
}

static void obey(struct agent_machine *agent, const struct json *command)
{
    struct world *w = agent->actor.world;
    const char *allocation =
        arena_strdup(&w->mem, json_str(json_get(command, "allocation"), ""));
    int64_t rank = json_i64(json_get(command, "rank"), -1);
    struct process *p = find_process(w, allocation, rank);

    if (!strcmp(json_str(json_get(command, "kind"), ""), "CLEAN")) {
        agent->is_cleaning = true; /* once the reply has been read */
    } else if (!strcmp(json_str(json_get(command, "kind"), ""), "START")) {
        if (!p)
            start_process(agent, command);
        else if (p->is_gone) /* it began before the machine died */
            report_missing(agent, allocation, rank, "TRANSIENT");
    } else if (p && runs_on(p, agent)) {
        p->is_killed = true;
    } else if (!p || p->is_gone) {
        report_missing(agent, allocation, rank, "KILLED");
    }
}

static void fetch(struct agent_machine *agent)
{
    struct world *w = agent->actor.world;
    struct call call = {.use = TOKEN_BEARER,
                        .token = w->agent_token,
                        .method = NET_GET,
                        .path =
                            arena_printf(&agent->actor.mem,
                                         "/api/v1/det/agents/%s/commands?after=%" PRId64
                                         "&epoch=%s&timeoutSeconds=%d"
                                         "&instance=of%%20%s",
                                         agent->actor.name, agent->after, agent->epoch,
                                         (int)roll(w, 3), agent->actor.name)};
    struct json *commands;

    if (!actor_call(&agent->actor, &call))
        return;
    if (call.status != 200) {
        world_fail(w, "commands: %d %s", call.status, call.text);
        return;
    }
    if (strcmp(json_str(json_get(call.json, "epoch"), ""), agent->epoch)) {
        agent->epoch = NULL; /* another start of the master */
        return;
    }
    commands = json_get(call.json, "commands");
    agent->after = MAX(agent->after, json_i64(json_get(call.json, "last"), 0));
    json_each(command, commands)
        if (!w->is_over && !w->has_no_power)
            obey(agent, command);
}

static void machine_dies(struct agent_machine *agent)
{
    struct world *w = agent->actor.world;

    world_trace(w, "%s dies", agent->actor.name);
    for (uint32_t i = 0; i < w->processes; i++)
        if (runs_on(w->process[i], agent))
            w->process[i]->is_gone = true;
    agent->boot++;
    agent->epoch = NULL;
    agent->down_until_us =
        w->clock.mono_us + (int64_t)roll(w, (one_in(w, 2) ? 60 : 5) * SECOND);
}

static bool is_cut_off(const struct agent_machine *agent)
{
    return agent->cut_until_us > agent->actor.world->clock.mono_us;
}

/* Sometimes for longer than the master waits. */
static void machine_is_cut_off(struct agent_machine *agent)
{
    struct world *w = agent->actor.world;

    world_trace(w, "%s is cut off", agent->actor.name);
    agent->epoch = NULL; /* it says hello when it is back */
    agent->cut_until_us = w->clock.mono_us + (int64_t)roll(w, 90 * (uint64_t)SECOND);
}

void agent_step(struct actor *actor)
{
    struct agent_machine *agent = CONTAINER_OF(actor, struct agent_machine, actor);
    struct world *w = actor->world;

    arena_clear(&actor->mem);
    if (agent->down_until_us > w->clock.mono_us) {
        actor_again(actor, agent->down_until_us - w->clock.mono_us);
        return;
    }
    if (is_cut_off(agent)) {
        actor_again(actor, agent->cut_until_us - w->clock.mono_us);
        return;
    }
    if (!w->is_calm && !w->is_gentle && one_in(w, 60))
        machine_dies(agent);
    else if (!w->is_calm && !w->is_gentle && one_in(w, 60))
        machine_is_cut_off(agent);
    else if (!agent->epoch)
        say_hello(agent);
    else if (agent->is_cleaning) {
        agent->is_cleaning = false;
        clean(agent);
    } else
        fetch(agent);
    actor_again(actor, (int64_t)roll(w, SECOND / 5));
}

/* ---- processes: what to tell next ---------------------------------------------------
 */

static void wish_exit(struct process *p, const char *exit)
{
    p->exit = exit;
    p->op = p->rungs_acked < p->rungs ? OP_BATCH : OP_EXIT; /* the end comes last */
}

static void next_metric(struct process *p, bool is_validation)
{
    if (p->metrics == REPORTS_MOST)
        return;
    if (!is_validation)
        p->steps++;
    p->metric[p->metrics++] =
        (struct metric){.steps = p->steps, .is_validation = is_validation};
    p->op = OP_METRIC;
}

static void next_checkpoint(struct process *p)
{
    unsigned char random[16];
    struct world *w = p->actor.world;
    struct saved *saved = &p->saved[p->saves];

    if (p->saves == REPORTS_MOST)
        return;
    for (int i = 0; i < 16; i++)
        random[i] = (unsigned char)roll(w, 256);
    uuid_format(random, saved->uuid);
    saved->steps = p->steps;
    p->saves++;
    p->op = OP_CHECKPOINT;
}

static void next_lines(struct process *p)
{
    p->lines += 1 + (int64_t)roll(p->actor.world, 4);
    p->op = OP_LOG;
}

static bool was_validated(const struct process *p)
{
    return p->metrics && p->metric[p->metrics - 1].is_validation &&
           p->metric[p->metrics - 1].steps == p->steps;
}

static void choose(struct process *p)
{
    struct world *w = p->actor.world;

    if (p->is_preempted) {
        wish_exit(p, "CLEAN");
    } else if (!w->is_calm && one_in(w, 16)) {
        wish_exit(p, one_in(w, 4) ? "TRANSIENT" : "FAILED");
    } else if (p->rank || one_in(w, 4)) {
        p->steps += p->rank > 0; /* only the chief reports */
        next_lines(p);
    } else if (one_in(w, 6)) {
        p->op = one_in(w, 2) ? OP_POLL : OP_ALIVE;
    } else if (one_in(w, 3) && p->steps > 0) {
        next_checkpoint(p);
    } else if (one_in(w, 3) && !was_validated(p)) {
        next_metric(p, true);
    } else {
        next_metric(p, false);
    }
    if (p->op == OP_NONE || (p->steps >= p->until && p->op != OP_EXIT && one_in(w, 2)))
        wish_exit(p, "CLEAN");
    else if (p->has_ring && (p->op == OP_METRIC || p->op == OP_CHECKPOINT))
        ring_put_last(p);
}

/* A process that nobody hears reports into its ring. */
static void train_on(struct process *p)
{
    struct world *w = p->actor.world;

    if (!p->has_ring || p->rank || p->exit || p->is_preempted || p->is_killed ||
        (p->op != OP_NONE && p->op != OP_BATCH) || one_in(w, 2))
        return;
    p->op = OP_NONE;
    if (one_in(w, 3) && p->steps > 0)
        next_checkpoint(p);
    else
        next_metric(p, one_in(w, 3) && !was_validated(p));
    if (p->op != OP_NONE)
        ring_put_last(p);
    else if (p->rungs_acked < p->rungs)
        p->op = OP_BATCH;
}

/* ---- processes: telling -------------------------------------------------------------
 */

static const char *write_lines(struct process *p)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;

    /* a line is ten bytes for all that the offsets know */
    buf_printf(&body,
               "{\"rank\":%" PRId64 ",\"stream\":\"stdout\",\"offset\":%" PRId64
               ",\"endOffset\":%" PRId64 ",\"lines\":[",
               p->rank, p->lines_acked * 10, p->lines * 10);
    for (int64_t i = p->lines_acked; i < p->lines; i++)
        buf_printf(&body, "%s[%" PRId64 ",\"%s/%" PRId64 " %" PRId64 "\"]",
                   i > p->lines_acked ? "," : "", 1 + i, p->allocation, p->rank, i);
    buf_puts(&body, "]}");
    p->lines_sent = p->lines;
    return arena_strdup(&p->actor.mem, body.data);
}

static void write_metric(struct process *p, struct call *call)
{
    const struct metric *m = &p->metric[p->metrics - 1];
    struct arena *mem = &p->actor.mem;

    call->path = arena_printf(mem, "/api/v1/trials/%" PRId64 "/metrics", p->trial);
    call->body = arena_printf(mem,
                              "{\"group\":\"%s\",\"metrics\":{\"trialId\":%" PRId64
                              ",\"trialRunId\":%" PRId64 ",\"stepsCompleted\":%" PRId64
                              ",\"metrics\":{\"avgMetrics\":{\"loss\":%" PRId64 "}}}}",
                              m->is_validation ? "validation" : "training", p->trial,
                              p->run, m->steps, metric_value(p, m));
}

static void write_checkpoint(struct process *p, struct call *call)
{
    const struct saved *saved = &p->saved[p->saves - 1];

    call->path = "/api/v1/checkpoints";
    call->body =
        arena_printf(&p->actor.mem,
                     "{\"uuid\":\"%s\",\"metadata\":{\"steps_completed\":%" PRId64
                     "},\"resources\":{\"model\":\"1\"}}",
                     saved->uuid, saved->steps);
}

static void fill_call(struct process *p, struct call *call)
{
    struct arena *mem = &p->actor.mem;

    switch (p->op) {
    case OP_STATE:
        call->path =
            arena_printf(mem, "/api/v1/det/allocations/%s/state", p->allocation);
        call->body =
            arena_printf(mem, "{\"rank\":%" PRId64 ",\"state\":\"RUNNING\"}", p->rank);
        break;
    case OP_METRIC:
        write_metric(p, call);
        break;
    case OP_LOG:
        call->path =
            arena_printf(mem, "/api/v1/det/allocations/%s/logs", p->allocation);
        call->body = write_lines(p);
        break;
    case OP_CHECKPOINT:
        write_checkpoint(p, call);
        break;
    case OP_BATCH:
        ring_fill_call(p, call);
        break;
    case OP_POLL:
        call->method = NET_GET;
        call->path = arena_printf(
            mem, "/api/v1/allocations/%s/signals/preemption?timeoutSeconds=%d",
            p->allocation, (int)roll(p->actor.world, 3));
        break;
    case OP_ALIVE:
        call->path =
            arena_printf(mem, "/api/v1/det/allocations/%s/alive", p->allocation);
        call->body = arena_printf(mem, "{\"rank\":%" PRId64 "}", p->rank);
        break;
    case OP_ACK:
        call->path = arena_printf(mem, "/api/v1/allocations/%s/signals/ack_preemption",
                                  p->allocation);
        break;
    case OP_EXIT:
    case OP_NONE:
        call->path =
            arena_printf(mem, "/api/v1/det/allocations/%s/exit", p->allocation);
        call->body =
            arena_printf(mem, "{\"rank\":%" PRId64 ",\"exit\":\"%s\",\"code\":%d}",
                         p->rank, p->exit, strcmp(p->exit, "CLEAN") ? 1 : 0);
        break;
    }
}

/* It was heard: the ledger knows. */
static void heard(struct process *p, const struct call *call)
{
    enum op op = p->op;

    p->op = OP_NONE;
    if (op == OP_BATCH)
        ring_heard(p, call);
    else if (op == OP_METRIC)
        p->metric[p->metrics - 1].is_acked = true;
    else if (op == OP_CHECKPOINT)
        p->saved[p->saves - 1].is_acked = true;
    else if (op == OP_LOG)
        p->lines_acked = json_i64(json_get(call->json, "offset"), -1) / 10;
    else if (op == OP_EXIT)
        p->is_said = p->actor.is_over = true;
    else if (op == OP_ACK)
        p->is_preempted = true;
    else if (op == OP_ALIVE && json_bool(json_get(call->json, "mustEnd"), false))
        p->is_killed = true;
    else if (op == OP_POLL && json_bool(json_get(call->json, "preempt"), false))
        p->op = OP_ACK;
    if (op == OP_LOG && p->lines_acked != p->lines)
        world_fail(p->actor.world,
                   "%s/%" PRId64 ": %" PRId64 " lines sent, %" PRId64 " acknowledged",
                   p->allocation, p->rank, p->lines, p->lines_acked);
}

/* Its run was given up: it ends, but not before everything that it accepted is stored. */
static void hear_refusal(struct process *p, const struct call *call)
{
    bool is_over = call->status == 401 || call->status == 400 || call->status == 404;

    if (!is_over || p->op == OP_BATCH)
        world_fail(p->actor.world, "%s: %d %s", call->path, call->status, call->text);
    else if (p->op == OP_LOG || p->op == OP_EXIT)
        p->is_gone = true;
    else
        wish_exit(p, "KILLED");
}

void process_step(struct actor *actor)
{
    struct process *p = CONTAINER_OF(actor, struct process, actor);
    struct world *w = actor->world;
    struct call call = {.use = TOKEN_OF_TASK, .token = p->token, .method = NET_POST};

    arena_clear(&actor->mem);
    if (p->is_gone) {
        actor->is_over = true;
        return;
    }
    if (is_cut_off(p->agent)) {
        train_on(p);
        actor_again(actor, (int64_t)roll(w, 5 * (uint64_t)SECOND));
        return;
    }
    if (p->is_killed && !p->exit)
        wish_exit(p, "KILLED");
    if (p->op == OP_NONE)
        choose(p);
    fill_call(p, &call);
    if (actor_call(actor, &call) && !p->is_gone) {
        if (call.status == 200)
            heard(p, &call);
        else
            hear_refusal(p, &call);
    }
    actor_again(actor, (int64_t)roll(w, SECOND));
}
