/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.c - what users do to experiments: submit, activate, pause, cancel, kill,
 * move in the queue.  search.c has what their searchers do. */
#include <inttypes.h>
#include <string.h>

#include "config/experiment_config.h"
#include "core/core_impl.h"
#include "data/json/json.h"

enum {
    EXPERIMENT_BYTES = 64 << 20,
    TIMEOUT_MOST_S = 1 << 30,
    FIRST_TRIALS_MOST = 2000, /* of a search: one event makes them all */
    OWNER_MB_MOST = 128,      /* of one owner's experiments that are not over */
};

/* ---- trials by number ------------------------------------------------------------ */

int experiment_compare_trials(const struct tree_node *a, const struct tree_node *b)
{
    int64_t x = CONTAINER_OF(a, struct live_trial, node)->row.number;
    int64_t y = CONTAINER_OF(b, struct live_trial, node)->row.number;

    return (x > y) - (x < y);
}

static int compare_number(const void *key, const struct tree_node *node)
{
    int64_t x = *(const int64_t *)key;
    int64_t y = CONTAINER_OF(node, struct live_trial, node)->row.number;

    return (x > y) - (x < y);
}

struct live_trial *experiment_trial(const struct live_experiment *experiment,
                                    uint32_t number)
{
    int64_t key = number;
    struct tree_node *node = tree_find(&experiment->trials, &key, compare_number);

    return node ? CONTAINER_OF(node, struct live_trial, node) : NULL;
}

/* ---- submission ------------------------------------------------------------------ */

/* Copies the parts of the configuration that the searcher borrows. */
static det_status make_searcher(struct live_experiment *experiment,
                                const struct experiment_config *config, struct err *err)
{
    struct json *searcher = json_copy(&experiment->mem, config->searcher);
    struct json *space = json_copy(&experiment->mem, config->hyperparameters);

    if (experiment->mem.has_failed)
        return err_default(err, DET_NOMEM);
    experiment->metric = json_str(json_get(searcher, "metric"), NULL);
    return searcher_new(searcher, space, config->seed, &experiment->searcher, err);
}

det_status experiment_new(struct core *core, const struct experiment *row,
                          const struct experiment_config *config,
                          struct live_experiment **ret_experiment, struct err *err)
{
    struct live_experiment *it = mem_new(struct live_experiment);
    det_status st;

    if (!it)
        return err_default(err, DET_NOMEM);
    it->live.kind = LIVE_EXPERIMENT;
    it->mem = (struct arena)ARENA_INIT(EXPERIMENT_BYTES);
    it->trials = (struct tree)TREE_INIT(experiment_compare_trials);
    it->row = *row;
    it->row.config = NULL;
    it->row.original_config = NULL;
    it->row.job_id = arena_strdup(&it->mem, row->job_id);
    it->slots = config->slots_per_trial;
    it->max_restarts = config->max_restarts;
    it->trial_seed = config->trial_seed;
    it->is_single_node = config->is_single_node;
    it->prefers_single_node = config->prefers_single_node;
    it->preemption_timeout_us =
        config->preemption_timeout_s < 0
            ? core->config.preemption_timeout_us
            : MIN(config->preemption_timeout_s, (int64_t)TIMEOUT_MOST_S) * 1000000;
    st = make_searcher(it, config, err);
    if (st) {
        live_free(&it->live);
        return st;
    }
    *ret_experiment = it;
    return DET_OK;
}

/* ---- room ------------------------------------------------------------------------
 *
 * Experiments that are not over are in memory, with their trials, and no request holds
 * that memory.  So one owner may have only so much of it.  It is measured before the
 * trials exist, so that a short request cannot occupy everybody's master. */

static size_t live_bytes(const struct live_experiment *experiment)
{
    return sizeof(*experiment) + experiment->mem.used + experiment->trial_bytes +
           (experiment->searcher ? searcher_bytes(experiment->searcher) : 0);
}

det_status experiment_check_room(const struct core *core,
                                 const struct live_experiment *experiment,
                                 struct err *err)
{
    uint32_t first = searcher_first(experiment->searcher);
    const struct live_experiment *other;
    size_t bytes;
    det_status st;

    if (first > FIRST_TRIALS_MOST)
        return err_set(err, DET_INVALID,
                       "the search would begin with %u trials at once; at most %d are "
                       "possible: set searcher.max_concurrent_trials",
                       first, FIRST_TRIALS_MOST);
    st = searcher_hparams_bytes(experiment->searcher, &bytes);
    if (st)
        return err_default(err, st);
    bytes = live_bytes(experiment) +
            first * (sizeof(struct live_trial) + TRIAL_RUN_BYTES + bytes);
    for (size_t i = 0; (other = map_next(&core->experiments, &i));)
        if (other->row.owner_id == experiment->row.owner_id)
            bytes += live_bytes(other);
    if (bytes >> 20 >= OWNER_MB_MOST)
        return err_set(err, DET_STATE,
                       "with this one, the experiments of its owner that are not over "
                       "would take %zu MB of the master's memory; at most %d are "
                       "possible: wait until some have ended, or make the "
                       "hyperparameters smaller",
                       bytes >> 20, OWNER_MB_MOST);
    return DET_OK;
}

det_status experiment_find_pool(const struct core *core, const char *name,
                                const struct experiment_config *config,
                                struct pool_entry **ret_pool, struct err *err)
{
    const struct pool_wish wish = {
        .pool = name,
        .priority = config->priority,
        .slots = config->slots_per_trial,
        .is_single_node = config->is_single_node,
    };

    return pool_choice_find(core, &wish, ret_pool, err);
}

static det_status add_submitted(struct core *core, const struct core_event *event,
                                const struct experiment_config *config,
                                struct pool_entry *pool, struct err *err)
{
    struct experiment row = {
        .id = core->counters.next_experiment,
        .state = event->submitted.activate ? EXPERIMENT_ACTIVE : EXPERIMENT_PAUSED,
        .job_id = event->submitted.job_id,
        .owner_id = event->submitted.owner_id,
        .starter_id = event->submitted.owner_id,
        .project_id = event->submitted.project_id,
        .parent_id = event->submitted.parent_id,
        .resource_pool = pool->name,
        .priority = config->priority ? config->priority : pool->default_priority,
        .weight = config->weight,
        .max_slots = config->max_slots,
        .submitted_us = core->now_us,
        .start_us = core->now_us,
        .paused_since_us = event->submitted.activate ? 0 : core->now_us,
    };
    struct live_experiment *it = NULL;
    det_status st = experiment_new(core, &row, config, &it, err);

    if (!st)
        st = experiment_check_room(core, it, err);
    if (st) {
        if (it)
            live_free(&it->live);
        return st;
    }
    if (event->submitted.warm_start)
        it->warm_start = arena_strdup(&it->mem, event->submitted.warm_start);
    if (it->mem.has_failed || !map_put(&core->experiments, row.id, it)) {
        live_free(&it->live);
        return err_default(err, DET_NOMEM);
    }
    it->live.is_new = true;
    core->counters.next_experiment++;
    core->has_counted = true;
    core->out->id = row.id;
    core_touch(core, &it->live);
    experiment_unsettle(core, it);
    search_queue(core, it, &(struct search_input){.kind = SEARCH_INPUT_START});
    return DET_OK;
}

det_status experiment_submitted(struct core *core, const struct core_event *event,
                                struct err *err)
{
    const char *text = event->submitted.config;
    struct experiment_config config;
    struct pool_entry *pool = NULL;
    det_status st =
        experiment_config_open(text, strlen(text), &core->scratch, &config, err);

    /* The configuration is not stored yet, so this is the sender's mistake. */
    if (st == DET_CORRUPT)
        return DET_INVALID;
    if (!st)
        st = experiment_find_pool(core, config.resource_pool, &config, &pool, err);
    if (!st)
        st = add_submitted(core, event, &config, pool, err);
    return st;
}

/* ---- actions --------------------------------------------------------------------- */

static det_status find_live(const struct core *core, int64_t id,
                            struct live_experiment **ret_experiment, struct err *err)
{
    struct live_experiment *it = map_get(&core->experiments, id);

    if (!it && id > 0 && id < core->counters.next_experiment)
        return err_set(err, DET_STATE, "experiment %" PRId64 " has ended", id);
    if (!it)
        return err_set(err, DET_NOT_FOUND, "no experiment %" PRId64, id);
    *ret_experiment = it;
    return DET_OK;
}

static const enum experiment_state action_state[] = {
    [ACTION_ACTIVATE] = EXPERIMENT_ACTIVE,
    [ACTION_PAUSE] = EXPERIMENT_PAUSED,
    [ACTION_CANCEL] = EXPERIMENT_STOPPING_CANCELED,
    [ACTION_KILL] = EXPERIMENT_STOPPING_KILLED,
};

det_status experiment_acted(struct core *core, const struct core_event *event,
                            struct err *err)
{
    struct live_experiment *it = NULL;
    det_status st = find_live(core, event->action.experiment_id, &it, err);
    enum experiment_state to;
    uint32_t state;

    if (st)
        return st;
    if ((size_t)event->action.action >= ARRAY_LEN(action_state))
        return err_set(err, DET_INVALID, "no action %d", (int)event->action.action);
    to = action_state[event->action.action];
    state = it->row.state;
    /* It is already stopping at least as severely: not an error. */
    if (experiment_is_stopping(to) && experiment_is_stopping(state) && to <= state)
        return DET_OK;
    st = fsm_move(&experiment_fsm, &state, to, err);
    if (!st)
        experiment_move(core, it, to);
    return st;
}

/* ---- place in the queue ---------------------------------------------------------- */

static void move_runs(struct core *core, struct live_experiment *it)
{
    struct tree_node *next;

    for (struct tree_node *at = tree_first(&it->trials); at; at = next) {
        next = tree_next(at);
        allocation_replace(core,
                           CONTAINER_OF(at, struct live_trial, node)->task.allocation);
    }
}

det_status experiment_resources(struct core *core, const struct core_event *event,
                                struct err *err)
{
    struct live_experiment *it = NULL;
    struct pool_entry *pool = NULL;
    det_status st = find_live(core, event->resources.experiment_id, &it, err);

    if (!st)
        st = pool_choice_check_change(core, event, it->slots, it->is_single_node, &pool,
                                      err);
    if (!st && event->resources.max_slots >= 0 &&
        event->resources.max_slots < it->slots)
        st = err_set(
            err, DET_INVALID,
            "max_slots %" PRId64 " is less than the %" PRIu32
            " slots of a trial: no trial could run; pause the experiment instead",
            event->resources.max_slots, it->slots);
    if (st)
        return st;
    if (event->resources.priority)
        it->row.priority = event->resources.priority;
    if (event->resources.weight > 0)
        it->row.weight = event->resources.weight;
    if (event->resources.max_slots != -2)
        it->row.max_slots = event->resources.max_slots;
    if (pool)
        it->row.resource_pool = pool->name;
    core_touch(core, &it->live);
    move_runs(core, it);
    return DET_OK;
}
