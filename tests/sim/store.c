/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/store.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/mem.h"
#include "core/core_restore.h"

enum { RANKS = 4096, SLOTS = 64, LIST_BYTES = 1 << 28 };

static void broken(struct sim_store *store, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void broken(struct sim_store *store, const char *fmt, ...)
{
    va_list args;

    if (store->why[0])
        return;
    va_start(args, fmt);
    vsnprintf(store->why, sizeof(store->why), fmt, args);
    va_end(args);
}

/* ---- rows, by their field tables ------------------------------------------------- */

static char **text_at(void *row, const struct field *field)
{
    if (field->type != FIELD_STR && field->type != FIELD_JSON)
        return NULL;
    return (char **)(void *)((char *)row + field->offset);
}

static void row_free(const struct sim_table *table, void *row)
{
    for (const struct field *f = table->fields; f->name; f++) {
        char **text = text_at(row, f);

        if (text)
            mem_free(*text);
    }
    mem_free(row);
}

static void *row_copy(const struct sim_table *table, const void *row)
{
    void *copy = mem_alloc(table->size);

    if (!copy)
        abort();
    memcpy(copy, row, table->size);
    for (const struct field *f = table->fields; f->name; f++) {
        char **text = text_at(copy, f);

        if (text)
            *text = mem_strdup(*text);
    }
    return copy;
}

static void table_put(struct sim_table *table, int64_t key, const void *row)
{
    void *copy = row_copy(table, row);
    void *old = map_remove(&table->rows, key);

    if (old)
        row_free(table, old);
    if (!map_put(&table->rows, key, copy))
        abort();
}

static void table_drop(struct sim_table *table, int64_t key)
{
    void *old = map_remove(&table->rows, key);

    if (old)
        row_free(table, old);
}

static void table_done(struct sim_table *table)
{
    void *row;

    for (size_t i = 0; (row = map_next(&table->rows, &i));)
        row_free(table, row);
    map_done(&table->rows);
}

void sim_store_init(struct sim_store *store)
{
    *store = (struct sim_store){
        .experiments = {experiment_fields, sizeof(struct experiment), {0}},
        .trials = {trial_fields, sizeof(struct trial), {0}},
        .jobs = {job_fields, sizeof(struct job), {0}},
        .allocations = {allocation_fields, sizeof(struct allocation), {0}},
        .shares = {share_fields, sizeof(struct share), {0}},
        .agents = {agent_fields, sizeof(struct agent), {0}},
        .inputs = {search_input_fields, sizeof(struct search_input), {0}},
        .snapshots = {search_snapshot_fields, sizeof(struct search_snapshot), {0}},
        .counters = {1, 1, 1, 1, 0, 1, 1},
    };
}

void sim_store_done(struct sim_store *store)
{
    table_done(&store->experiments);
    table_done(&store->trials);
    table_done(&store->jobs);
    table_done(&store->allocations);
    table_done(&store->shares);
    table_done(&store->agents);
    table_done(&store->inputs);
    table_done(&store->snapshots);
    map_done(&store->run_of);
    vec_done(&store->continued);
}

const struct experiment *sim_store_experiment(const struct sim_store *store, int64_t id)
{
    return map_get(&store->experiments.rows, id);
}

const struct trial *sim_store_trial(const struct sim_store *store, int64_t id)
{
    return map_get(&store->trials.rows, id);
}

const struct job *sim_store_job(const struct sim_store *store, int64_t id)
{
    return map_get(&store->jobs.rows, id);
}

const struct allocation *sim_store_allocation(const struct sim_store *store, int64_t id)
{
    return map_get(&store->allocations.rows, id);
}

/* ---- committing ------------------------------------------------------------------ */

static void put_experiment(struct sim_store *store, const struct core_effect *effect)
{
    const struct experiment *row = &effect->experiment.row;
    const struct experiment *old = sim_store_experiment(store, row->id);
    bool is_continued = effect->kind == EFFECT_CONTINUE_EXPERIMENT;
    bool is_new = effect->kind == EFFECT_ADD_EXPERIMENT;
    bool has_config = is_new || is_continued;
    struct experiment merged = *row;

    if (is_new == (old != NULL))
        broken(store, "experiment %" PRId64 " is added twice, or put before", row->id);
    if (!old && !is_new)
        return;
    if (old && experiment_is_terminal(old->state) != is_continued)
        broken(store, "experiment %" PRId64 " changed after its end", row->id);
    if (is_continued && old->end_us != effect->experiment.was_end_us)
        broken(store, "experiment %" PRId64 " ended anew, and was continued", row->id);
    if (is_continued && !vec_push(&store->continued, row->id))
        abort();
    if (old && !is_continued && !fsm_may(&experiment_fsm, old->state, row->state) &&
        !experiment_is_terminal(row->state))
        broken(store, "experiment %" PRId64 " went from %s to %s", row->id,
               experiment_state_names[old->state], experiment_state_names[row->state]);
    /* Strings of `old` die with the put. */
    merged.config = has_config ? row->config : mem_strdup(old->config);
    merged.original_config =
        has_config ? row->original_config : mem_strdup(old->original_config);
    table_put(&store->experiments, row->id, &merged);
    if (!has_config) {
        mem_free((char *)merged.config);
        mem_free((char *)merged.original_config);
    }
}

/* An ended trial is live again if its experiment was continued; its restarts then count
 * from 0. */
static bool is_revived(const struct sim_store *store, const struct trial *old)
{
    bool is_continued = false;

    for (size_t i = 0; i < store->continued.count; i++)
        is_continued |= store->continued.at[i] == old->experiment_id;
    return is_continued && trial_is_terminal(old->state);
}

/* Whether its latest run ended by a failure of its program. */
static bool has_failed(const struct sim_store *store, int64_t trial)
{
    const struct allocation *run = map_get(&store->run_of, trial);

    return run && run->state == ALLOCATION_TERMINATED && run->exit == EXIT_FAILED;
}

static void put_trial(struct sim_store *store, const struct core_effect *effect)
{
    const struct trial *row = &effect->trial;
    const struct trial *old = sim_store_trial(store, row->id);
    const struct experiment *experiment =
        sim_store_experiment(store, row->experiment_id);
    bool is_new = effect->kind == EFFECT_ADD_TRIAL;
    bool lives_again = old && is_revived(store, old);

    if (is_new == (old != NULL) || !experiment)
        broken(store, "trial %" PRId64 " is added twice, or put before, or an orphan",
               row->id);
    if (old && trial_is_terminal(old->state) && !lives_again)
        broken(store, "trial %" PRId64 " changed after its end", row->id);
    if (old && row->run_id != old->run_id && row->run_id != old->run_id + 1)
        broken(store, "trial %" PRId64 " went from run %" PRId64 " to %" PRId64,
               row->id, old->run_id, row->run_id);
    if (old && !lives_again && row->restarts != old->restarts &&
        row->restarts != old->restarts + 1)
        broken(store, "trial %" PRId64 " miscounts its restarts", row->id);
    if (old && row->restarts > old->restarts && !has_failed(store, row->id))
        broken(store, "trial %" PRId64 " pays a restart for a failure of others",
               row->id);
    if (old && row->latest_steps < old->latest_steps)
        broken(store, "trial %" PRId64 " forgot a checkpoint", row->id);
    table_put(&store->trials, row->id, row);
}

static void put_job(struct sim_store *store, const struct core_effect *effect)
{
    const struct job *row = &effect->job.row;
    const struct job *old = sim_store_job(store, row->id);

    if ((effect->kind == EFFECT_ADD_JOB) == (old != NULL))
        broken(store, "job %" PRId64 " is added twice, or put before", row->id);
    if (old && job_is_terminal(old->state))
        broken(store, "job %" PRId64 " changed after its end", row->id);
    if (old && old->state != row->state && !job_is_terminal(row->state) &&
        !fsm_may(&job_fsm, old->state, row->state))
        broken(store, "job %" PRId64 " went from %s to %s", row->id,
               job_state_names[old->state], job_state_names[row->state]);
    if (old && row->run_id != old->run_id && row->run_id != old->run_id + 1)
        broken(store, "job %" PRId64 " went from run %" PRId64 " to %" PRId64, row->id,
               old->run_id, row->run_id);
    table_put(&store->jobs, row->id, row);
}

/* Trials and jobs are numbered separately. */
static int64_t task_key(const struct allocation *row)
{
    return row->job_id ? -row->job_id : row->trial_id;
}

/* It failed or was lost within seconds: the next run waits. */
static bool ended_too_soon(const struct allocation *row)
{
    return row->start_us && row->end_us - row->start_us < 10000000 &&
           (row->exit == EXIT_FAILED || row->exit == EXIT_TRANSIENT ||
            row->exit == EXIT_LACKING);
}

/* Only a task's latest run is kept: older ones are over, which is checked here. */
static void put_allocation(struct sim_store *store, const struct allocation *row)
{
    const struct allocation *old = sim_store_allocation(store, row->id);
    const struct allocation *latest = map_get(&store->run_of, task_key(row));

    if (row->job_id ? !sim_store_job(store, row->job_id)
                    : !sim_store_trial(store, row->trial_id))
        broken(store, "allocation %" PRId64 " is an orphan", row->id);
    if (old && old->state == ALLOCATION_TERMINATED)
        broken(store, "allocation %" PRId64 " changed after its end", row->id);
    if (old && old->state > row->state)
        broken(store, "allocation %" PRId64 " went back", row->id);
    if (old && row->start_us && row->start_us < old->retry_us)
        broken(store, "allocation %" PRId64 " did not wait before it tried again",
               row->id);
    if (!old && !row->retry_us && latest && latest->end_us == row->request_us &&
        ended_too_soon(latest) && !store->has_user)
        broken(store, "task %s tries again at once", row->task_id);
    if (!old && latest) {
        int64_t id = latest->id;

        if (latest->state != ALLOCATION_TERMINATED || latest->run_id + 1 != row->run_id)
            broken(store, "task %s has two runs at once", row->task_id);
        for (int64_t i = 0; i < latest->shares; i++)
            table_drop(&store->shares, id * RANKS + i);
        table_drop(&store->allocations, id);
    }
    table_put(&store->allocations, row->id, row);
    if (!map_put(&store->run_of, task_key(row),
                 map_get(&store->allocations.rows, row->id)))
        abort();
}

static void put_share(struct sim_store *store, const struct share *row)
{
    int64_t key = row->allocation_id * RANKS + row->rank;
    const struct share *old = map_get(&store->shares.rows, key);

    if (!sim_store_allocation(store, row->allocation_id))
        broken(store, "a share of allocation %" PRId64 " is an orphan",
               row->allocation_id);
    if (old && old->has_exited)
        broken(store, "a share of allocation %" PRId64 " exited twice",
               row->allocation_id);
    table_put(&store->shares, key, row);
}

static int64_t input_key(int64_t experiment, int64_t seq)
{
    return experiment << 32 | seq;
}

static void put_snapshot(struct sim_store *store, const struct search_snapshot *row)
{
    table_put(&store->snapshots, row->experiment_id, row);
    for (int64_t seq = row->seq; seq > 0; seq--) {
        if (!map_get(&store->inputs.rows, input_key(row->experiment_id, seq)))
            break;
        table_drop(&store->inputs, input_key(row->experiment_id, seq));
    }
}

static void drop_search(struct sim_store *store, int64_t experiment)
{
    const struct search_snapshot *snapshot =
        map_get(&store->snapshots.rows, experiment);

    for (int64_t seq = snapshot ? snapshot->seq + 1 : 1;
         map_get(&store->inputs.rows, input_key(experiment, seq)); seq++)
        table_drop(&store->inputs, input_key(experiment, seq));
    table_drop(&store->snapshots, experiment);
}

static void commit(struct sim_store *store, const struct core_effect *effect)
{
    switch ((int)effect->kind) {
    case EFFECT_ADD_EXPERIMENT:
    case EFFECT_PUT_EXPERIMENT:
    case EFFECT_CONTINUE_EXPERIMENT:
        put_experiment(store, effect);
        return;
    case EFFECT_ADD_TRIAL:
    case EFFECT_PUT_TRIAL:
        put_trial(store, effect);
        return;
    case EFFECT_ADD_JOB:
    case EFFECT_PUT_JOB:
        put_job(store, effect);
        return;
    case EFFECT_PUT_ALLOCATION:
        put_allocation(store, &effect->allocation);
        return;
    case EFFECT_PUT_SHARE:
        put_share(store, &effect->share);
        return;
    case EFFECT_PUT_AGENT:
        table_put(&store->agents, effect->agent.id, &effect->agent);
        return;
    case EFFECT_DROP_AGENT:
        table_drop(&store->agents, effect->agent.id);
        return;
    case EFFECT_ADD_SEARCH_INPUT:
        table_put(&store->inputs,
                  input_key(effect->input.experiment_id, effect->input.seq),
                  &effect->input);
        return;
    case EFFECT_PUT_SNAPSHOT:
        put_snapshot(store, &effect->snapshot);
        return;
    case EFFECT_DROP_SEARCH:
        drop_search(store, effect->experiment_id);
        return;
    case EFFECT_PUT_COUNTERS:
        store->counters = effect->counters;
        return;
    default:
        return;
    }
}

/* ---- what somebody who continues it has read --------------------------------------
 */

static int compare_numbers(const void *a, const void *b)
{
    const struct trial *x = a;
    const struct trial *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

void sim_store_fill_continued(const struct sim_store *store, int64_t id,
                              struct arena *mem, struct core_event *event)
{
    const struct experiment *row = sim_store_experiment(store, id);
    struct experiment *copy = arena_new(mem, struct experiment);
    struct trial *past = arena_array(mem, struct trial, store->trials.rows.count + 1);
    const struct trial *trial;
    uint32_t count = 0;

    if (!copy || !past)
        abort();
    *copy = row ? *row : (struct experiment){.id = id, .config = "{}"};
    /* Rows may be replaced before the effects of the event are. */
    copy->config = arena_strdup(mem, copy->config);
    copy->original_config = "";
    copy->job_id = arena_strdup(mem, copy->job_id);
    copy->resource_pool = arena_strdup(mem, copy->resource_pool);
    for (size_t i = 0; (trial = map_next(&store->trials.rows, &i));)
        if (trial->experiment_id == id)
            past[count++] = *trial;
    qsort(past, count, sizeof(*past), compare_numbers);
    event->continued.row = copy;
    event->continued.past = past;
    event->continued.past_count = count;
}

/* ---- what must hold between rows ------------------------------------------------- */

/* Slot by slot, by the shares of allocations that are not over.  A share on an agent
 * that was dropped holds nothing. */
static void check_slots(struct sim_store *store)
{
    struct map held = {0};
    const struct share *share;

    for (size_t i = 0; (share = map_next(&store->shares.rows, &i));) {
        const struct allocation *run =
            sim_store_allocation(store, share->allocation_id);
        const char *at = share->slots;

        if (!run || run->state == ALLOCATION_TERMINATED ||
            !map_get(&store->agents.rows, share->agent_id))
            continue;
        while (*at++ != ']') {
            int64_t slot = strtol(at, (char **)&at, 10);

            if (at[-1] == '[')
                break; /* an empty list */
            if (map_get(&held, share->agent_id * SLOTS + slot))
                broken(store, "slot %" PRId64 " of agent %s is held twice", slot,
                       share->agent);
            if (!map_put(&held, share->agent_id * SLOTS + slot, (void *)share))
                abort();
        }
    }
    map_done(&held);
}

static void check_ends(struct sim_store *store)
{
    const struct trial *trial;
    const struct job *job;

    for (size_t i = 0; (trial = map_next(&store->trials.rows, &i));) {
        const struct experiment *of = sim_store_experiment(store, trial->experiment_id);
        const struct allocation *run = map_get(&store->run_of, trial->id);

        if (of && experiment_is_terminal(of->state) && !trial_is_terminal(trial->state))
            broken(store, "experiment %" PRId64 " ended before trial %" PRId64, of->id,
                   trial->id);
        if (run && trial_is_terminal(trial->state) &&
            run->state != ALLOCATION_TERMINATED)
            broken(store, "trial %" PRId64 " ended before its run", trial->id);
        if (run && run->run_id != trial->run_id)
            broken(store, "trial %" PRId64 " lost its run", trial->id);
    }
    for (size_t i = 0; (job = map_next(&store->jobs.rows, &i));) {
        const struct allocation *run = map_get(&store->run_of, -job->id);

        if (!run || run->run_id != job->run_id)
            broken(store, "job %" PRId64 " lost its run", job->id);
        else if (job_is_terminal(job->state) && run->state != ALLOCATION_TERMINATED)
            broken(store, "job %" PRId64 " ended before its run", job->id);
    }
}

void sim_store_commit(struct sim_store *store, const struct core_out *out)
{
    vec_clear(&store->continued);
    for (uint32_t i = 0; i < out->count; i++)
        commit(store, &out->effect[i]);
    check_slots(store);
    check_ends(store);
}

/* ---- giving back ----------------------------------------------------------------- */

/* The first field of every row but a share's and an input's is its id; those two sort
 * by their first two, and all are int64_t. */
static int compare_rows(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return 0;
}

static int compare_pairs(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    int first = compare_rows(a, b);

    return first ? first : (x[1] > y[1]) - (x[1] < y[1]);
}

typedef bool is_live_fn(const struct sim_store *store, const void *row);

static bool experiment_lives(const struct sim_store *store, const void *row)
{
    (void)store;
    return !experiment_is_terminal(((const struct experiment *)row)->state);
}

static bool trial_lives(const struct sim_store *store, const void *row)
{
    (void)store;
    return !trial_is_terminal(((const struct trial *)row)->state);
}

static bool job_lives(const struct sim_store *store, const void *row)
{
    (void)store;
    return !job_is_terminal(((const struct job *)row)->state);
}

static bool allocation_lives(const struct sim_store *store, const void *row)
{
    (void)store;
    return ((const struct allocation *)row)->state != ALLOCATION_TERMINATED;
}

static bool share_lives(const struct sim_store *store, const void *row)
{
    const struct allocation *run =
        sim_store_allocation(store, ((const struct share *)row)->allocation_id);

    return run && allocation_lives(store, run);
}

static const void *list(const struct sim_store *store, const struct sim_table *table,
                        is_live_fn *is_live, struct arena *mem, uint32_t *ret_count)
{
    char *rows = arena_array_of(mem, table->rows.count + 1, table->size);
    uint32_t count = 0;
    const void *row;

    if (!rows)
        abort();
    for (size_t i = 0; (row = map_next(&table->rows, &i));)
        if (!is_live || is_live(store, row))
            memcpy(rows + count++ * table->size, row, table->size);
    qsort(rows, count, table->size,
          table == &store->shares || table == &store->inputs ? compare_pairs
                                                             : compare_rows);
    *ret_count = count;
    return rows;
}

det_status sim_store_restore(const struct sim_store *store,
                             const struct core_config *config, int64_t now_us,
                             struct core **ret_core, struct core_out *out,
                             struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(LIST_BYTES);
    struct core_rows rows = {.counters = store->counters};

    rows.experiment =
        list(store, &store->experiments, experiment_lives, &mem, &rows.experiments);
    rows.trial = list(store, &store->trials, trial_lives, &mem, &rows.trials);
    rows.job = list(store, &store->jobs, job_lives, &mem, &rows.jobs);
    rows.allocation =
        list(store, &store->allocations, allocation_lives, &mem, &rows.allocations);
    rows.share = list(store, &store->shares, share_lives, &mem, &rows.shares);
    rows.agent = list(store, &store->agents, NULL, &mem, &rows.agents);
    rows.snapshot = list(store, &store->snapshots, NULL, &mem, &rows.snapshots);
    rows.input = list(store, &store->inputs, NULL, &mem, &rows.inputs);
    return core_restore(config, &rows, now_us, ret_core, out, err);
}
