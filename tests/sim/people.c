/* SPDX-License-Identifier: Apache-2.0 */
/* people.c - users submit experiments and change them; and the end of a run, where there
 * are no more faults and everything must end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/mem.h"
#include "data/json/json.h"
#include "search/methods.h"
#include "search/searcher.h"
#include "tests/sim/world.h"

enum { CONFIG_SIZE = 1024 };

/* ---- submissions ----------------------------------------------------------------- */

static bool is_built(const char *searcher)
{
    return search_method_find(searcher) != NULL;
}

static void write_searcher(struct world *w, char text[CONFIG_SIZE])
{
    static const char *const names[] = {"single", "random",        "random",
                                        "grid",   "async_halving", "adaptive_asha"};
    const char *name = names[world_below(w, ARRAY_LEN(names))];
    int trials = 1 + (int)world_below(w, 6);
    int at_once = (int)world_below(w, 4);

    if (!is_built(name))
        name = "random";
    snprintf(
        text, CONFIG_SIZE,
        "{\"name\":\"%s\",\"metric\":\"loss\",\"smaller_is_better\":true,"
        "\"max_trials\":%d,\"max_concurrent_trials\":%d,\"time_metric\":\"batches\","
        "\"max_time\":40,\"num_rungs\":3,\"max_rungs\":3,\"divisor\":3,"
        "\"mode\":\"standard\"}",
        name, trials, at_once);
}

/* A complete configuration, as the store would have it; returns max_restarts.  One random
 * draw per statement, so a seed gives the same result with every compiler. */
static int64_t write_config(struct world *w, char text[CONFIG_SIZE])
{
    static const int slots[] = {0, 1, 1, 2, 3, 4, 8, 16};
    static const int priorities[] = {1, 10, 42, 42, 42, 99};
    static const char *const pools[] = {"", "", "", "compute", "aux", "nowhere"};
    static const char *const single_nodes[] = {"true",  "null",  "null",
                                               "false", "false", "false"};
    char searcher[CONFIG_SIZE];
    int64_t restarts = (int64_t)world_below(w, 4);
    int slot_count = slots[world_below(w, ARRAY_LEN(slots))];
    int cap = world_below(w, 4) ? -1 : slot_count * (1 + (int)world_below(w, 3));
    char cap_text[16];
    int priority = priorities[world_below(w, ARRAY_LEN(priorities))];
    const char *single_node = single_nodes[world_below(w, ARRAY_LEN(single_nodes))];
    const char *pool = pools[world_below(w, ARRAY_LEN(pools))];

    write_searcher(w, searcher);
    if (cap < 0)
        snprintf(cap_text, sizeof(cap_text), "null");
    else
        snprintf(cap_text, sizeof(cap_text), "%d", cap);
    snprintf(text, CONFIG_SIZE,
             "{\"name\":\"sim\",\"searcher\":%s,\"hyperparameters\":{\"lr\":{\"type\":"
             "\"double\",\"minval\":0,\"maxval\":1,\"count\":3},\"units\":{\"type\":"
             "\"categorical\",\"vals\":[1,2]}},\"checkpoint_storage\":{\"type\":"
             "\"shared_fs\"},\"max_restarts\":%d,\"resources\":{\"slots_per_trial\":%d,"
             "\"max_slots\":%s,\"priority\":%d,\"is_single_node\":%s,\"resource_pool\":"
             "\"%s\"},"
             "\"reproducibility\":{\"experiment_seed\":%d}}",
             searcher, (int)restarts, slot_count, cap_text, priority, single_node, pool,
             (int)world_below(w, 1000));
    return restarts;
}

static void submit(struct world *w, struct message *message)
{
    char text[CONFIG_SIZE];

    message->number = write_config(w, text);
    message->long_text = mem_strdup(text);
    message->event.kind = EVENT_EXPERIMENT_SUBMITTED;
    message->event.submitted.job_id = "job";
    message->event.submitted.owner_id = 1;
    message->event.submitted.project_id = 1;
    message->event.submitted.config = message->long_text;
    message->event.submitted.original_config = "";
    message->event.submitted.name = "sim";
    message->event.submitted.activate = world_below(w, 5) != 0;
    if (!world_below(w, 3))
        message->event.submitted.warm_start = "warm";
}

/* A generic job.  The message holds what its event borrows. */
static void submit_job(struct world *w, struct message *message)
{
    static const int slots[] = {0, 1, 1, 2, 4, 16};
    static const char *const pools[] = {"", "", "compute", "aux", "nowhere"};
    struct job *row = mem_new(struct job);

    if (!row)
        abort();
    snprintf(message->text, sizeof(message->text), "job-%" PRIu64, w->next_uuid++);
    message->long_text = (char *)row; /* freed with the message */
    row->task_id = message->text;
    row->owner_id = 1;
    row->slots = slots[world_below(w, ARRAY_LEN(slots))];
    row->priority = (int64_t)world_below(w, 100);
    row->weight = 1;
    row->is_single_node = world_below(w, 6) == 0;
    row->is_pausable = world_below(w, 4) != 0;
    row->preemption_timeout_us = (1 + (int64_t)world_below(w, 60)) * SECOND;
    row->resource_pool = pools[world_below(w, ARRAY_LEN(pools))];
    message->event.kind = EVENT_JOB_SUBMITTED;
    message->event.job_submitted.row = row;
    message->event.job_submitted.name = "sim";
    message->event.job_submitted.config = "{}";
}

/* ---- meddling -------------------------------------------------------------------- */

static int64_t some_id(struct world *w, int64_t next)
{
    /* one more than there are: also what does not exist */
    return 1 + (int64_t)world_below(w, (uint64_t)next + 1);
}

static void change_resources(struct world *w, struct core_event *event)
{
    event->kind = EVENT_EXPERIMENT_RESOURCES;
    event->resources.experiment_id = some_id(w, w->store.counters.next_experiment);
    event->resources.max_slots = -2;
    switch (world_below(w, 4)) {
    case 0:
        event->resources.weight = (double)world_below(w, 8) / 2;
        break;
    case 1: /* less than a trial needs is refused */
        event->resources.max_slots = (int64_t)world_below(w, 12) - 2;
        break;
    case 2:
        event->resources.priority = (int64_t)world_below(w, 101);
        break;
    default:
        event->resources.resource_pool = world_below(w, 2) ? "aux" : "compute";
        break;
    }
}

static void meddle_with_job(struct world *w, struct core_event *event)
{
    static const enum experiment_action actions[] = {ACTION_PAUSE,    ACTION_PAUSE,
                                                     ACTION_ACTIVATE, ACTION_ACTIVATE,
                                                     ACTION_KILL,     ACTION_CANCEL};

    if (world_below(w, 4)) {
        event->kind = EVENT_JOB_ACTION;
        event->job_action.job_id = some_id(w, w->store.counters.next_job);
        event->job_action.action = actions[world_below(w, ARRAY_LEN(actions))];
        return;
    }
    change_resources(w, event);
    event->kind = EVENT_JOB_RESOURCES;
    event->resources.job_id = some_id(w, w->store.counters.next_job);
}

static void meddle_with_agent(struct world *w, struct core_event *event)
{
    const struct sim_agent *agent = &w->agent[world_below(w, w->agents)];

    if (world_below(w, 2)) {
        event->kind = EVENT_AGENT_ENABLE;
        event->agent_enable.name = agent->name;
        event->agent_enable.is_enabled = world_below(w, 3) != 0;
        event->agent_enable.drains = world_below(w, 2);
    } else {
        event->kind = EVENT_SLOT_ENABLE;
        event->slot_enable.name = agent->name;
        event->slot_enable.slot = (uint32_t)world_below(w, 9);
        event->slot_enable.is_enabled = world_below(w, 2);
        event->slot_enable.drains = world_below(w, 2);
    }
}

static void meddle(struct world *w, struct message *message)
{
    struct core_event *event = &message->event;
    static const enum experiment_action actions[] = {
        ACTION_PAUSE,    ACTION_PAUSE,    ACTION_PAUSE,  ACTION_ACTIVATE,
        ACTION_ACTIVATE, ACTION_ACTIVATE, ACTION_CANCEL, ACTION_KILL};
    uint64_t what = world_below(w, 16);

    if (what >= 13) {
        meddle_with_job(w, event);
    } else if (what >= 12) {
        event->kind = EVENT_RUN_KILL;
        event->run_kill.allocation_id = some_id(w, w->store.counters.next_allocation);
    } else if (what >= 10) {
        event->kind = EVENT_EXPERIMENT_CONTINUED;
        message->number = some_id(w, w->store.counters.next_experiment);
    } else if (what < 5) {
        event->kind = EVENT_EXPERIMENT_ACTION;
        event->action.experiment_id = some_id(w, w->store.counters.next_experiment);
        event->action.action = actions[world_below(w, ARRAY_LEN(actions))];
    } else if (what < 6) {
        event->kind = EVENT_TRIAL_KILL;
        event->trial_kill.trial_id = some_id(w, w->store.counters.next_trial);
    } else if (what < 8) {
        change_resources(w, event);
    } else {
        meddle_with_agent(w, event);
    }
}

void people_act(struct world *w)
{
    struct message *message;

    if (w->is_calm || !w->actions_left)
        return;
    w->actions_left--;
    world_send(w, PERSON_ACTS, 1, 30);
    message = world_send(w, SAYS_USER, 0, 0);
    if (world_below(w, 3) == 0)
        submit(w, message);
    else if (world_below(w, 5) == 0)
        submit_job(w, message);
    else
        meddle(w, message);
}

void people_init(struct world *w)
{
    w->actions_left = 15 + (uint32_t)world_below(w, 30);
    world_send(w, PERSON_ACTS, 3, 5);
}

/* ---- coming to rest -------------------------------------------------------------- */

static struct core_event *say(struct world *w, enum core_event_kind kind)
{
    struct message *message = world_send(w, SAYS_USER, 5, 6);

    message->event.kind = kind;
    return &message->event;
}

static void heal_agent(struct world *w, const struct sim_agent *agent)
{
    struct core_event *event = say(w, EVENT_AGENT_ENABLE);

    event->agent_enable.name = agent->name;
    event->agent_enable.is_enabled = true;
    for (uint32_t i = 0; i < 9; i++) {
        event = say(w, EVENT_SLOT_ENABLE);
        event->slot_enable.name = agent->name;
        event->slot_enable.slot = i;
        event->slot_enable.is_enabled = true;
    }
}

/* Of any one agent of the pool. */
static int64_t most_room(const struct world *w, const char *pool)
{
    int64_t room = 0;

    for (uint32_t i = 0; i < w->agents; i++)
        if (!strcmp(w->agent[i].pool, pool))
            room = MAX(room, w->agent[i].slots);
    return room;
}

/* Whether the agents of its pool could run its trials if all were idle.  Its log
 * policies may have excluded too many agents. */
static bool could_run(const struct world *w, const struct experiment *row)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct json *config = NULL;
    const struct trial *trial;
    int64_t slots;

    if (json_parse(row->config, strlen(row->config), &mem, &config, NULL))
        abort();
    slots = json_i64(json_path(config, "resources.slots_per_trial"), 0);
    for (size_t i = 0; (trial = map_next(&w->store.trials.rows, &i));)
        if (trial->experiment_id == row->id && trial->blocked_agents)
            return false;
    return slots <= most_room(w, row->resource_pool);
}

/* Activates everything that is paused; it must then end by itself. */
static void calm_jobs(struct world *w)
{
    const struct job *row;

    for (size_t i = 0; (row = map_next(&w->store.jobs.rows, &i));) {
        bool fits = row->slots <= most_room(w, row->resource_pool);
        struct core_event *event;

        if (job_is_terminal(row->state))
            continue;
        event = say(w, EVENT_JOB_ACTION);
        event->job_action.job_id = row->id;
        event->job_action.action = fits ? ACTION_ACTIVATE : ACTION_KILL;
    }
}

void people_calm(struct world *w)
{
    const struct experiment *row;

    world_trace(w, "the world calms down");
    w->is_calm = true;
    world_set_clock(w, 0);
    agents_calm(w);
    for (uint32_t i = 0; i < w->agents; i++)
        heal_agent(w, &w->agent[i]);
    for (size_t i = 0; (row = map_next(&w->store.experiments.rows, &i));) {
        struct core_event *event;

        if (experiment_is_terminal(row->state))
            continue;
        event = say(w, EVENT_EXPERIMENT_ACTION);
        event->action.experiment_id = row->id;
        event->action.action = could_run(w, row) ? ACTION_ACTIVATE : ACTION_KILL;
    }
    calm_jobs(w);
}

void people_check_rest(struct world *w)
{
    const struct experiment *row;
    const struct trial *trial;
    const struct job *job;

    for (size_t i = 0; (job = map_next(&w->store.jobs.rows, &i));)
        if (!job_is_terminal(job->state))
            world_fail(w, "job %" PRId64 " hangs in %s", job->id,
                       job_state_names[job->state]);
    for (size_t i = 0; (row = map_next(&w->store.experiments.rows, &i));)
        if (!experiment_is_terminal(row->state))
            world_fail(w, "experiment %" PRId64 " hangs in %s", row->id,
                       experiment_state_names[row->state]);
    for (size_t i = 0; (trial = map_next(&w->store.trials.rows, &i));)
        if (trial->restarts > w->max_restarts.at[trial->experiment_id - 1])
            world_fail(w, "trial %" PRId64 " restarted too often", trial->id);
    if (w->store.inputs.rows.count || w->store.snapshots.rows.count)
        world_fail(w, "a search left rows behind");
}
