/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c - agents and their tasks, as the core sees them: through late, lost and
 * repeated messages. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "tests/sim/world.h"
#include "tests/support/core_view.h"

#define NOBODYS UINT32_MAX /* a session: orders for a twin */

static bool one_in(struct world *w, uint64_t count)
{
    return world_below(w, count) == 0;
}

static void say(struct world *w, struct sim_agent *agent, enum message_kind kind)
{
    world_send(w, kind, 0, 0)->agent = (uint32_t)(agent - w->agent);
}

/* ---- tasks ----------------------------------------------------------------------- */

static struct sim_task *find_task(const struct sim_agent *agent, int64_t allocation,
                                  int64_t rank)
{
    for (size_t i = 0; i < agent->tasks.count; i++)
        if (agent->tasks.at[i]->allocation == allocation &&
            agent->tasks.at[i]->rank == rank)
            return agent->tasks.at[i];
    return NULL;
}

static struct sim_task *add_task(struct world *w, struct sim_agent *agent,
                                 const struct message *order)
{
    struct sim_task *task = mem_new(struct sim_task);

    if (!task || !vec_push(&agent->tasks, task))
        abort();
    task->allocation = order->allocation;
    task->rank = order->rank;
    task->trial = order->trial;
    task->run = order->run;
    task->work_left = 1 + (uint32_t)world_below(w, w->is_calm ? 3 : 8);
    task->hangs = world_mishap(w, 3);
    snprintf(task->name, sizeof(task->name), "%s", order->text);
    return task;
}

static struct message *send_of(struct world *w, enum message_kind kind,
                               const struct sim_agent *agent,
                               const struct sim_task *task, int64_t to_s)
{
    struct message *message = world_send(w, kind, 0, to_s);

    message->agent = (uint32_t)(agent - w->agent);
    message->allocation = task->allocation;
    message->rank = task->rank;
    message->trial = task->trial;
    message->run = task->run;
    return message;
}

/* Sent by the supervisor, and sometimes by the agent, too. */
static void report_exit(struct world *w, struct sim_agent *agent, struct sim_task *task)
{
    for (int i = 0; i < (world_mishap(w, 30) ? 2 : 1); i++) {
        struct message *report = send_of(w, REPORTS_EXIT, agent, task, 5);

        report->number = task->exit;
        report->event.share_exited.code = task->code;
        report->is_final = task->exit == EXIT_FAILED && task->code == 127;
    }
}

static void exit_task(struct world *w, struct sim_agent *agent, struct sim_task *task,
                      enum exit_kind exit, int64_t code)
{
    if (task->has_exited)
        return;
    task->has_exited = true;
    task->exit = exit;
    task->code = code;
    world_trace(w, "task %s exits %s", task->name, exit_kind_names[exit]);
    report_exit(w, agent, task);
    if (exit != EXIT_CLEAN || task->rank != 0)
        return;
    /* When the chief is done, the others are, too. */
    for (uint32_t i = 0; i < w->agents; i++)
        for (size_t k = 0; k < w->agent[i].tasks.count; k++)
            if (w->agent[i].tasks.at[k]->allocation == task->allocation)
                w->agent[i].tasks.at[k]->is_finishing = true;
}

static void step_after(struct world *w, struct sim_agent *agent, struct sim_task *task,
                       int64_t from_s, int64_t to_s)
{
    struct message *step = world_send(w, TASK_STEP, from_s, to_s);

    step->agent = (uint32_t)(agent - w->agent);
    step->allocation = task->allocation;
    step->rank = task->rank;
    step->session = agent->boot;
}

static void next_step(struct world *w, struct sim_agent *agent, struct sim_task *task)
{
    step_after(w, agent, task, 0, 10);
}

static void say_state(struct world *w, struct sim_agent *agent, struct sim_task *task,
                      enum allocation_state state)
{
    if (world_mishap(w, 5))
        return; /* lost */
    for (int i = 0; i < (world_mishap(w, 10) ? 2 : 1); i++)
        send_of(w, SAYS_STATE, agent, task, 3)->number = state;
}

static void checkpoint(struct world *w, struct sim_agent *agent, struct sim_task *task)
{
    struct message *report = send_of(w, REPORTS_CHECKPOINT, agent, task, 5);

    report->number = task->steps;
    snprintf(report->text, sizeof(report->text), "checkpoint-%" PRIu64, w->next_uuid++);
}

static void validate(struct world *w, struct sim_agent *agent, struct sim_task *task)
{
    struct message *report = send_of(w, REPORTS_VALIDATION, agent, task, 5);
    bool lacks_metric = world_mishap(w, 2);

    report->number = task->steps;
    snprintf(report->text, sizeof(report->text),
             "{\"%s\":0.%03d,\"batches\":%" PRId64 "}", lacks_metric ? "other" : "loss",
             (int)world_below(w, 1000), task->steps);
}

/* One step of a training program. */
static void work(struct world *w, struct sim_agent *agent, struct sim_task *task)
{
    uint64_t what = world_below(w, 100);
    int64_t percent = (int64_t)world_below(w, 101);

    task->steps += 1 + (int64_t)world_below(w, 10);
    if (what < 30)
        send_of(w, SAYS_PROGRESS, agent, task, 3)->number = percent;
    else if (what < 55)
        validate(w, agent, task);
    else if (what < 80)
        checkpoint(w, agent, task);
    else if (what < 84 && !w->is_calm)
        send_of(w, SAYS_EARLY_EXIT, agent, task, 3);
    else if (what < 88 && !w->is_calm)
        send_of(w, SAYS_LOG_POLICY, agent, task, 3)->number = percent % 3;
    else if (what < 90 && !w->is_calm)
        send_of(w, SAYS_PREEMPT_ME, agent, task, 3);
}

/* Some programs fail as soon as they start: always, for want of a command, or now and
 * then; and a machine may have no process left for them.  True: it ended. */
static bool fails_at_once(struct world *w, struct sim_agent *agent,
                          struct sim_task *task)
{
    if (agent->lacks_until_us > w->now_us)
        exit_task(w, agent, task, EXIT_LACKING, 1);
    else if (!w->is_calm && task->trial % 7 == 3)
        exit_task(w, agent, task, EXIT_FAILED, 1);
    else if (world_mishap(w, 3))
        exit_task(w, agent, task, EXIT_FAILED, one_in(w, 4) ? 127 : 1);
    return task->has_exited;
}

static void step(struct world *w, struct sim_agent *agent, struct sim_task *task)
{
    static const enum allocation_state phases[] = {
        ALLOCATION_PULLING, ALLOCATION_STARTING, ALLOCATION_RUNNING};

    if (task->has_exited)
        return;
    if (!agent->is_up)
        say(w, agent, SAYS_TASK_HEARD);
    if (!task->phase && fails_at_once(w, agent, task))
        return;
    if (task->phase < ARRAY_LEN(phases)) {
        say_state(w, agent, task, phases[task->phase++]);
    } else if (task->is_finishing) {
        exit_task(w, agent, task, EXIT_CLEAN, 0);
        return;
    } else if (world_mishap(w, 4)) {
        exit_task(w, agent, task, EXIT_FAILED, 1 + (int64_t)world_below(w, 3));
        return;
    } else if (task->rank == 0) {
        work(w, agent, task);
        task->is_finishing = --task->work_left == 0;
    }
    if (task->hangs && w->is_calm)
        task->hangs = false;
    if (task->hangs && task->phase == ARRAY_LEN(phases)) {
        /* looks again from time to time, in case the world has calmed down */
        step_after(w, agent, task, 100, 200);
        return;
    }
    next_step(w, agent, task);
}

/* ---- orders ---------------------------------------------------------------------- */

static uint32_t agent_named(const struct world *w, const char *name)
{
    for (uint32_t i = 0; i < w->agents; i++)
        if (!strcmp(w->agent[i].name, name))
            return i;
    return 0;
}

/* It does not arrive before the previous one. */
static void keep_order(struct world *w, struct message *message, int64_t *last_us)
{
    tree_remove(&w->queue, &message->node);
    message->at_us = MAX(message->at_us, *last_us);
    tree_add(&w->queue, &message->node);
    *last_us = message->at_us;
}

static struct message *order(struct world *w, enum message_kind kind, const char *name)
{
    struct message *message = world_send(w, kind, 0, 4);
    uint32_t i = agent_named(w, name);

    message->agent = i;
    message->session = w->agent[i].is_taken ? NOBODYS : w->agent[i].session;
    keep_order(w, message, &w->agent[i].last_order_us);
    return message;
}

static void order_share(struct world *w, enum message_kind kind,
                        const struct share *share)
{
    const struct allocation *run =
        sim_store_allocation(&w->store, share->allocation_id);
    struct message *message;

    if (!run)
        return;
    message = order(w, kind, share->agent);
    message->allocation = share->allocation_id;
    message->rank = share->rank;
    message->trial = run->trial_id;
    message->run = run->run_id;
    snprintf(message->text, sizeof(message->text), "%s/%" PRId64, run->name,
             share->rank);
}

void agents_order(struct world *w, const struct core_effect *effect)
{
    struct message *message;

    switch ((int)effect->kind) {
    case EFFECT_START:
        order_share(w, ORDERS_START, &effect->share);
        return;
    case EFFECT_KILL:
        order_share(w, ORDERS_KILL, &effect->share);
        return;
    case EFFECT_KILL_STRAY:
        message = order(w, ORDERS_STRAY, effect->stray.agent);
        snprintf(message->text, sizeof(message->text), "%s", effect->stray.task);
        return;
    case EFFECT_PREEMPT:
        world_send(w, ORDERS_PREEMPT, 0, 10)->allocation = effect->allocation_id;
        return;
    default:
        return;
    }
}

static void start(struct world *w, struct sim_agent *agent,
                  const struct message *message)
{
    struct sim_task *task = find_task(agent, message->allocation, message->rank);

    if (task && task->has_exited)
        report_exit(w, agent, task); /* it was started, and ended, before */
    if (!task)
        step_after(w, agent, add_task(w, agent, message), 0, one_in(w, 2) ? 1 : 10);
}

static void kill_task(struct world *w, struct sim_agent *agent,
                      const struct message *message)
{
    struct sim_task *task = find_task(agent, message->allocation, message->rank);

    if (!task)
        task = add_task(w, agent, message); /* never to be started */
    if (task->has_exited)
        report_exit(w, agent, task);
    else if (!world_mishap(w, 10)) /* or this kill got lost: another comes */
        exit_task(w, agent, task, EXIT_KILLED, 137);
    else if (!task->phase)
        next_step(w, agent, task);
}

static void kill_stray(struct world *w, struct sim_agent *agent, const char *name)
{
    for (size_t i = 0; i < agent->tasks.count; i++)
        if (!strcmp(agent->tasks.at[i]->name, name))
            exit_task(w, agent, agent->tasks.at[i], EXIT_KILLED, 137);
}

/* The chief notices, acknowledges, saves and exits; or it ignores the order. */
static void preempt(struct world *w, int64_t allocation)
{
    for (uint32_t i = 0; i < w->agents; i++) {
        struct sim_task *task = find_task(&w->agent[i], allocation, 0);

        if (!task || task->has_exited || world_mishap(w, 15))
            continue;
        if (!world_mishap(w, 15))
            send_of(w, SAYS_ACKNOWLEDGED, &w->agent[i], task, 0);
        if (!world_mishap(w, 20))
            checkpoint(w, &w->agent[i], task);
        task->is_finishing = true;
    }
}

/* ---- agents ---------------------------------------------------------------------- */

static void join(struct world *w, struct sim_agent *agent)
{
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    struct message *message = world_send(w, SAYS_JOINED, 0, 2);

    agent->is_up = true;
    agent->session++; /* what was ordered before is not fetched any more */
    for (size_t i = 0; i < agent->tasks.count; i++)
        if (!agent->tasks.at[i]->has_exited || !agent->tasks.at[i]->is_reported)
            buf_printf(&lines, "%s\n", agent->tasks.at[i]->name);
    keep_order(w, message, &agent->last_join_us);
    message->agent = (uint32_t)(agent - w->agent);
    message->session = agent->session;
    message->number = agent->slots;
    snprintf(message->text, sizeof(message->text), "%s", agent->boot_id);
    message->long_text = mem_strdup(lines.data);
}

static void reboot(struct sim_agent *agent)
{
    for (size_t i = 0; i < agent->tasks.count; i++)
        mem_free(agent->tasks.at[i]);
    vec_clear(&agent->tasks);
    snprintf(agent->boot_id, sizeof(agent->boot_id), "boot-%u", ++agent->boot);
}

static bool is_polling(const struct sim_agent *agent, const struct agent *row)
{
    return agent->is_up && !strcmp(row->instance, agent->instance) &&
           !strcmp(row->boot_id, agent->boot_id);
}

static void beat(struct world *w, struct sim_agent *agent)
{
    const struct agent *row = core_agent(w->core, agent->name);

    world_send(w, AGENT_BEAT, 5, 25)->agent = (uint32_t)(agent - w->agent);
    /* The heart notices agents that are connected but do not poll. */
    if (row && row->is_connected && !is_polling(agent, row))
        say(w, agent, SAYS_SILENT);
    if (!agent->is_up)
        return;
    /* Unknown to the master, without a reply, or refused as another agent. */
    if (!row || agent->known_session != agent->session ||
        strcmp(row->instance, agent->instance))
        join(w, agent);
    else if (!row->is_connected)
        say(w, agent, SAYS_HEARD);
}

static void vanish(struct world *w, struct sim_agent *agent)
{
    uint64_t how = world_below(w, 6); /* 4: gone for long, while its tasks go on */
    struct message *back;

    world_trace(w, "agent %s vanishes, in way %d", agent->name, (int)how);
    agent->is_up = false;
    if (how == 3 || how == 5)
        reboot(agent);
    if (how == 5)
        agent->slots = (int64_t)world_below(w, 5);
    if (how != 2)
        say(w, agent, SAYS_SILENT);
    back = how == 0   ? world_send(w, AGENT_RETURNS, 1, 20)
           : how == 2 ? world_send(w, AGENT_RETURNS, 1, 5)
           : how == 4 ? world_send(w, AGENT_RETURNS, 100, 600)
                      : world_send(w, AGENT_RETURNS, 5, 200);
    back->agent = (uint32_t)(agent - w->agent);
    back->number = how != 0; /* only a short silence needs no joining */
}

/* Another machine was given the same name.  It is refused while this one is heard; in
 * its place, it soon falls silent, and this one joins again. */
static void meet_twin(struct world *w, struct sim_agent *agent)
{
    struct message *twin = world_send(w, SAYS_TWIN, 0, 2);

    twin->agent = (uint32_t)(agent - w->agent);
    twin->number = agent->slots;
    snprintf(twin->text, sizeof(twin->text), "%s", agent->boot_id);
    twin->long_text = mem_strdup("");
}

void agents_event_taken(struct world *w, const struct message *message)
{
    struct sim_agent *agent = &w->agent[message->agent];

    switch ((int)message->kind) {
    case SAYS_TWIN:
        if (agent->heard_us == INT64_MAX && !agent->is_taken)
            world_fail(w, "a second %s joined beside the first", agent->name);
        agent->is_taken = true;
        agent->heard_us = INT64_MAX;
        world_send(w, SAYS_SILENT, 1, 10)->agent = message->agent;
        break;
    case SAYS_JOINED:
        agent->is_taken = false;
        agent->heard_us = INT64_MAX;
        break;
    case SAYS_HEARD:
        agent->heard_us = INT64_MAX; /* as long as it is connected */
        break;
    case SAYS_SILENT:
        agent->heard_us = MIN(agent->heard_us, w->now_us);
        break;
    case SAYS_TASK_HEARD:
        if (agent->heard_us != INT64_MAX)
            agent->heard_us = w->now_us;
        break;
    case SAYS_STARTED:
        for (uint32_t i = 0; i < w->agents; i++) {
            const struct agent *row = core_agent(w->core, w->agent[i].name);

            w->agent[i].heard_us = row && row->is_connected ? INT64_MAX : w->now_us;
            w->agent[i].is_taken = row && !strcmp(row->instance, "twin");
        }
        break;
    default:
        break;
    }
}

void agents_check_lost(struct world *w, const struct core_effect *effect)
{
    const struct sim_agent *agent = &w->agent[agent_named(w, effect->agent.name)];

    if (agent->heard_us == INT64_MAX ||
        w->now_us - agent->heard_us < w->pool[0].agent_reconnect_wait_us)
        world_fail(w, "agent %s was lost although it was heard", agent->name);
}

static void come_back(struct world *w, struct sim_agent *agent, bool joins)
{
    agent->is_up = true;
    if (joins)
        join(w, agent);
}

static void obey(struct world *w, struct sim_agent *agent, const struct message *order_)
{
    if (order_->kind == ORDERS_START)
        start(w, agent, order_);
    else if (order_->kind == ORDERS_KILL)
        kill_task(w, agent, order_);
    else
        kill_stray(w, agent, order_->text);
}

/* True: the order was delivered.  An agent that is away fetches it later, unless it joins
 * anew. */
static bool take_order(struct world *w, struct sim_agent *agent,
                       struct message *message)
{
    if (message->session != agent->session)
        return true;
    if (agent->is_up) {
        obey(w, agent, message);
        return true;
    }
    message->at_us = w->now_us + SECOND;
    agent->last_order_us = MAX(agent->last_order_us, message->at_us);
    tree_add(&w->queue, &message->node);
    return false;
}

bool agents_deliver(struct world *w, struct message *message)
{
    struct sim_agent *agent = &w->agent[message->agent];
    struct sim_task *task = find_task(agent, message->allocation, message->rank);

    if (message->kind >= ORDERS_START && message->kind <= ORDERS_STRAY)
        return take_order(w, agent, message);
    if (message->kind == ORDERS_PREEMPT) {
        preempt(w, message->allocation);
    } else if (message->kind == AGENT_RETURNS) {
        come_back(w, agent, message->number != 0);
    } else if (message->kind == AGENT_BEAT) {
        if (agent->is_up && world_mishap(w, 6))
            vanish(w, agent);
        if (world_mishap(w, 2))
            meet_twin(w, agent);
        if (world_mishap(w, 5))
            agent->lacks_until_us = w->now_us + (int64_t)world_below(w, 300) * SECOND;
        beat(w, agent);
    } else if (task && message->session == agent->boot) {
        step(w, agent, task);
    }
    return true;
}

void agents_join_stored(struct world *w, const struct message *message)
{
    w->agent[message->agent].known_session = message->session;
}

/* The master has stored it: the agent does not list the task any more. */
void agents_exit_stored(struct world *w, const struct message *message)
{
    struct sim_task *task =
        find_task(&w->agent[message->agent], message->allocation, message->rank);

    if (task)
        task->is_reported = true;
}

/* Connects everything again.  Agents that were connected need not join again. */
void agents_calm(struct world *w)
{
    for (uint32_t i = 0; i < w->agents; i++) {
        struct sim_agent *agent = &w->agent[i];
        bool is_small = i == 0 && agent->slots < 8;

        if (is_small)
            agent->slots = 8;
        agent->lacks_until_us = 0;
        if (is_small || !agent->is_up)
            join(w, agent);
    }
}

void agents_init(struct world *w)
{
    static const int64_t sizes[] = {8, 4, 2, 4, 8, 1};

    w->agents = 2 + (uint32_t)world_below(w, AGENTS_MOST - 1);
    for (uint32_t i = 0; i < w->agents; i++) {
        struct sim_agent *agent = &w->agent[i];

        snprintf(agent->name, sizeof(agent->name), "agent-%u", i);
        snprintf(agent->boot_id, sizeof(agent->boot_id), "boot-0");
        snprintf(agent->instance, sizeof(agent->instance), "instance-%u", i);
        agent->pool = i == 1 ? "aux" : "compute";
        agent->slots = i == 1 ? (int64_t)world_below(w, 3) : sizes[i];
        join(w, agent);
        world_send(w, AGENT_BEAT, 5, 25)->agent = i;
    }
}

void agents_done(struct world *w)
{
    for (uint32_t i = 0; i < w->agents; i++) {
        for (size_t k = 0; k < w->agent[i].tasks.count; k++)
            mem_free(w->agent[i].tasks.at[k]);
        vec_done(&w->agent[i].tasks);
    }
}
