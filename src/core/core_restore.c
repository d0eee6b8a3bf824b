/* SPDX-License-Identifier: Apache-2.0 */
/* core_restore.c - see core_restore.h.
 *
 * Rows come in the order of ids, so one walk over each list finds the rows that belong
 * together.  Nothing is decided here: the old core's decisions are in the rows, and its
 * orders are given again. */
#include "core/core_restore.h"

#include <inttypes.h>
#include <string.h>

#include "config/experiment_config.h"
#include "core/core_impl.h"
#include "data/json/json.h"

/* The next row of a walk over rows that belong to other rows. */
struct cursor {
    const struct core_rows *rows;
    uint32_t snapshot;
    uint32_t input;
    uint32_t share;
};

static det_status corrupt(struct err *err, const char *what, int64_t id)
{
    return err_set(err, DET_CORRUPT, "the row of %s %" PRId64 " belongs to nothing",
                   what, id);
}

static det_status no_pool(struct err *err, const char *what, const char *name,
                          const char *pool)
{
    return err_set(err, DET_INVALID,
                   "%s %s is in resource pool %s, which is not configured", what, name,
                   pool ? pool : "");
}

/* The numbers of a JSON list, in scratch memory; NULL text is an empty list. */
static det_status read_numbers(struct core *core, const char *text,
                               int64_t **ret_number, size_t *ret_count, struct err *err)
{
    struct json *list = NULL;
    det_status st = DET_OK;

    *ret_count = 0;
    if (text && *text)
        st = json_parse(text, strlen(text), &core->scratch, &list, err);
    if (st || !list)
        return st;
    if (list->kind != JSON_ARRAY)
        return err_set(err, DET_CORRUPT, "'%s' is not a list of numbers", text);
    *ret_number = arena_array(&core->scratch, int64_t, list->list.count + 1);
    if (!*ret_number)
        return err_default(err, DET_NOMEM);
    json_each(item, list)
        (*ret_number)[(*ret_count)++] = json_i64(item, -1);
    return DET_OK;
}

/* ---- agents ---------------------------------------------------------------------- */

static det_status restore_agent(struct core *core, const struct agent *row,
                                struct err *err)
{
    struct pool_entry *pool =
        row->resource_pool ? core_find_pool(core, row->resource_pool) : NULL;
    struct live_agent *agent;
    int64_t *off = NULL;
    size_t count = 0;
    det_status st;

    if (!pool)
        return no_pool(err, "agent", row->name, row->resource_pool);
    if (row->slots < 0 || row->slots > SLOTS_MOST)
        return err_set(err, DET_CORRUPT, "agent %s has %" PRId64 " slots", row->name,
                       row->slots);
    st = read_numbers(core, row->disabled_slots, &off, &count, err);
    if (st)
        return st;
    agent = agent_add(core, row, pool);
    if (!agent)
        return DET_OK; /* core->status says why */
    for (size_t i = 0; i < count; i++)
        if (off[i] >= 0 && off[i] < row->slots)
            agent->is_slot_off[off[i]] = true;
    agent_sync_slots(core, agent);
    agent_set_timer(core, agent);
    return DET_OK;
}

/* ---- experiments ----------------------------------------------------------------- */

static det_status load_snapshot(struct core *core, struct live_experiment *it,
                                const struct search_snapshot *snapshot, struct err *err)
{
    struct json *state = NULL;
    det_status st = json_parse(snapshot->state, strlen(snapshot->state), &core->scratch,
                               &state, err);

    if (st)
        return st;
    it->row.snapshot_seq = snapshot->seq;
    return searcher_load(it->searcher, state, err);
}

/* A snapshot, if there is one, and the inputs since. */
static det_status restore_search(struct core *core, struct live_experiment *it,
                                 struct cursor *at, struct err *err)
{
    const struct core_rows *rows = at->rows;
    int64_t id = it->row.id;
    int64_t seq = 0;
    det_status st = DET_OK;

    while (at->snapshot < rows->snapshots &&
           rows->snapshot[at->snapshot].experiment_id < id)
        at->snapshot++;
    if (at->snapshot < rows->snapshots &&
        rows->snapshot[at->snapshot].experiment_id == id) {
        seq = rows->snapshot[at->snapshot].seq;
        st = load_snapshot(core, it, &rows->snapshot[at->snapshot], err);
    }
    for (;
         at->input < rows->inputs && rows->input[at->input].experiment_id <= id && !st;
         at->input++) {
        const struct search_input *input = &rows->input[at->input];

        if (input->experiment_id < id || input->seq <= seq || it->is_search_broken)
            continue;
        if (input->seq != ++seq)
            return err_set(err, DET_CORRUPT,
                           "experiment %" PRId64 " lacks input %" PRId64
                           " of its searcher",
                           id, seq);
        st = search_replay(core, it, input, err);
        arena_clear(&core->scratch);
    }
    if (!st && seq != it->row.search_seq)
        return err_set(err, DET_CORRUPT,
                       "experiment %" PRId64 " has lost inputs of its searcher", id);
    return st;
}

static det_status restore_experiment(struct core *core, const struct experiment *row,
                                     struct cursor *at, struct err *err)
{
    struct pool_entry *pool =
        row->resource_pool ? core_find_pool(core, row->resource_pool) : NULL;
    struct experiment copy = *row;
    struct experiment_config config;
    struct live_experiment *it = NULL;
    det_status st;

    if (!pool)
        return no_pool(err, "experiment", row->job_id, row->resource_pool);
    if (!row->config)
        return err_set(err, DET_CORRUPT,
                       "experiment %" PRId64 " has lost its configuration", row->id);
    copy.resource_pool = pool->name;
    st = experiment_config_open(row->config, strlen(row->config), &core->scratch,
                                &config, err);
    if (!st)
        st = experiment_new(core, &copy, &config, &it, err);
    if (st)
        return st;
    if (!map_put(&core->experiments, row->id, it)) {
        live_free(&it->live);
        return err_default(err, DET_NOMEM);
    }
    arena_clear(&core->scratch);
    return restore_search(core, it, at, err);
}

/* ---- trials ---------------------------------------------------------------------- */

static det_status restore_trial(struct core *core, const struct trial *row,
                                struct err *err)
{
    struct live_experiment *experiment =
        map_get(&core->experiments, row->experiment_id);
    struct live_trial *trial;
    int64_t *blocked = NULL;
    size_t count = 0;
    det_status st;

    if (!experiment)
        return corrupt(err, "trial", row->id);
    st = read_numbers(core, row->blocked_agents, &blocked, &count, err);
    if (st)
        return st;
    trial = trial_new(core, experiment, row);
    if (!trial)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < count; i++)
        if (!task_block(&trial->task, blocked[i]))
            return err_default(err, DET_NOMEM);
    /* All trials of an experiment begin from the same checkpoint. */
    if (row->warm_start && !experiment->warm_start)
        experiment->warm_start = arena_strdup(&experiment->mem, row->warm_start);
    return experiment->mem.has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

/* ---- jobs ------------------------------------------------------------------------ */

static det_status restore_job(struct core *core, const struct job *row, struct err *err)
{
    struct pool_entry *pool =
        row->resource_pool ? core_find_pool(core, row->resource_pool) : NULL;
    struct job copy = *row;

    if (!row->task_id)
        return corrupt(err, "job", row->id);
    if (!pool)
        return no_pool(err, "job", row->task_id, row->resource_pool);
    copy.resource_pool = pool->name;
    return job_new(core, &copy) ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- allocations ----------------------------------------------------------------- */

static det_status read_share(struct core *core, const struct share *row,
                             struct pool_share *ret_share, struct err *err)
{
    int64_t *number = NULL;
    size_t count = 0;
    det_status st = read_numbers(core, row->slots, &number, &count, err);
    uint32_t *slots;

    if (st)
        return st;
    slots = arena_array(&core->scratch, uint32_t, count + 1);
    if (!slots)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < count; i++)
        slots[i] = (uint32_t)number[i];
    *ret_share = (struct pool_share){row->agent_id, (uint32_t)count, slots};
    return DET_OK;
}

/* Its shares are the next rows of the walk. */
static det_status restore_shares(struct core *core, struct live_allocation *it,
                                 struct cursor *at, struct err *err)
{
    const struct share *row;
    uint32_t count = 0;
    struct pool_share *share;
    det_status st = DET_OK;

    if (at->share == at->rows->shares)
        return corrupt(err, "allocation", it->row.id);
    row = &at->rows->share[at->share];
    while (at->share + count < at->rows->shares &&
           row[count].allocation_id == it->row.id && row[count].rank == count)
        count++;
    if (!count || count != it->row.shares)
        return err_set(err, DET_CORRUPT,
                       "allocation %" PRId64 " has %" PRIu32 " of its %" PRId64
                       " shares",
                       it->row.id, count, it->row.shares);
    at->share += count;
    share = arena_array(&core->scratch, struct pool_share, count);
    if (!share)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < count && !st; i++)
        st = read_share(core, &row[i], &share[i], err);
    if (st)
        return st;
    if (!allocation_set_shares(core, it, row, share, count))
        return err_default(err, DET_NOMEM);
    return allocation_hold(core, it, err);
}

static void order_again(struct core *core, const struct live_allocation *it)
{
    struct core_effect *effect;

    for (int64_t i = 0; i < it->row.shares; i++) {
        const struct live_share *share = &it->share[i];

        if (share->row.has_exited)
            continue;
        if (it->row.is_killed)
            core_emit_share(core, EFFECT_KILL, share);
        else if (!share->row.is_running)
            core_emit_share(core, EFFECT_START, share);
    }
    effect = it->row.is_preempted && !it->row.is_killed
                 ? core_emit(core, EFFECT_PREEMPT)
                 : NULL;
    if (effect)
        effect->allocation_id = it->row.id;
}

/* The trial or job whose run the allocation is; NULL: it is not live. */
static struct live_task *find_task(const struct core *core,
                                   const struct allocation *row)
{
    struct live_trial *trial =
        row->trial_id ? map_get(&core->trials, row->trial_id) : NULL;
    struct live_job *job = row->job_id ? map_get(&core->jobs, row->job_id) : NULL;

    return trial ? &trial->task : job ? &job->task : NULL;
}

static det_status restore_allocation(struct core *core, const struct allocation *row,
                                     struct cursor *at, struct err *err)
{
    struct live_task *task = find_task(core, row);
    struct live_allocation *it;
    det_status st;

    if (!task || task->allocation || task_run_id(task) != row->run_id)
        return corrupt(err, "allocation", row->id);
    if (!row->resource_pool || !core_find_pool(core, row->resource_pool))
        return no_pool(err, "allocation", row->name, row->resource_pool);
    it = allocation_new(core, task, row);
    if (!it)
        return err_default(err, DET_NOMEM);
    while (at->share < at->rows->shares &&
           at->rows->share[at->share].allocation_id < row->id)
        at->share++;
    if (row->state == ALLOCATION_PENDING) {
        it->row.shares = 0;
        allocation_wait(core, it);
        return DET_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(row->ports); i++)
        if (row->ports[i] > 0 && row->ports[i] < PORT_WORDS * 64)
            port_mark(core, row->ports[i]);
    timer_set(core, &it->timer, row->preempt_deadline_us);
    st = restore_shares(core, it, at, err);
    if (!st)
        order_again(core, it);
    return st;
}

/* ---- all ------------------------------------------------------------------------- */

/* The first failure: `st`, or the one the core remembers. */
static det_status failure(const struct core *core, det_status st, struct err *err)
{
    if (core->status && err)
        *err = core->err;
    return core->status ? core->status : st;
}

static det_status restore_rows(struct core *core, const struct core_rows *rows,
                               struct err *err)
{
    struct cursor at = {.rows = rows};
    det_status st = DET_OK;

    core->counters = rows->counters;
    for (uint32_t i = 0; i < rows->agents && !st; i++)
        st = failure(core, restore_agent(core, &rows->agent[i], err), err);
    for (uint32_t i = 0; i < rows->experiments && !st; i++)
        st = restore_experiment(core, &rows->experiment[i], &at, err);
    for (uint32_t i = 0; i < rows->trials && !st; i++)
        st = restore_trial(core, &rows->trial[i], err);
    for (uint32_t i = 0; i < rows->jobs && !st; i++)
        st = restore_job(core, &rows->job[i], err);
    for (uint32_t i = 0; i < rows->allocations && !st; i++) {
        st = failure(core, restore_allocation(core, &rows->allocation[i], &at, err),
                     err);
        arena_clear(&core->scratch);
    }
    return st;
}

det_status core_restore(const struct core_config *config, const struct core_rows *rows,
                        int64_t now_us, struct core **ret_core, struct core_out *out,
                        struct err *err)
{
    struct core *core = NULL;
    det_status st = core_new(config, &core, err);

    if (st)
        return st;
    core->now_us = now_us;
    core->out = out;
    st = restore_rows(core, rows, err);
    core->out = NULL;
    arena_clear(&core->scratch);
    /* The old core had planned as far as possible. */
    for (uint32_t i = 0; i < core->config.pool_count; i++)
        core->pool[i].is_dirty = false;
    if (st) {
        core_free(core);
        return st;
    }
    *ret_core = core;
    return DET_OK;
}
