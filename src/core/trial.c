/* SPDX-License-Identifier: Apache-2.0 */
/* trial.c - what a trial does next.
 *
 *   state                 with a run that is not over       without one
 *   ACTIVE                goes on                           asks for a run
 *   PAUSED                asked to stop                     nothing
 *   STOPPING_COMPLETED    asked to stop (by its searcher)   ends
 *   STOPPING_CANCELED     asked to stop                     ends
 *   STOPPING_KILLED       killed                            ends
 *   STOPPING_ERROR        killed                            ends
 *
 * When a run ended, these rules apply in this order (trial_run_over()):
 *
 *   1. the trial was stopping: it ends as its state says; ERROR if its program failed;
 *   2. it refused its hyperparameters: it is done, and its searcher is told why;
 *   3. transient failure (the agent was lost, or lacked resources): it runs again; this
 *      is not a restart;
 *   4. failure: it runs again from its latest checkpoint, max_restarts times.  Then, or
 *      if a log policy forbids restarts, or if its supervisor knows that it would fail
 *      again: ERROR;
 *   5. exit 0 without being asked to stop: done;
 *   6. preempted or killed: it runs again if it is active.
 *
 * A run that ended too soon is followed by a wait (retry.c). */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "config/metric/metric_missing.h"
#include "core/core_impl.h"
#include "data/json/json.h"

/* ---- making ---------------------------------------------------------------------- */

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

/* Copies `text` to *at and moves *at behind it. */
static const char *copy_text(char **at, const char *text)
{
    size_t size = size_of(text);
    char *copy = *at;

    if (!text)
        return NULL;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

struct live_trial *trial_new(struct core *core, struct live_experiment *experiment,
                             const struct trial *row)
{
    size_t size = sizeof(struct live_trial) + size_of(row->request_id) +
                  size_of(row->task_id) + size_of(row->hparams) +
                  size_of(row->warm_start);
    struct live_trial *it = mem_alloc(size);
    char *at = (char *)(it + 1);

    if (!it)
        return NULL;
    it->live.kind = LIVE_TRIAL;
    it->experiment = experiment;
    it->row = *row;
    it->row.request_id = copy_text(&at, row->request_id);
    it->row.task_id = copy_text(&at, row->task_id);
    it->task.kind = LIVE_TRIAL;
    it->task.id = it->row.task_id;
    it->row.hparams = copy_text(&at, row->hparams);
    it->row.warm_start = copy_text(&at, row->warm_start);
    it->row.blocked_agents = NULL;
    it->latest_checkpoint = mem_strdup(row->latest_checkpoint);
    it->row.latest_checkpoint = it->latest_checkpoint;
    if ((row->latest_checkpoint && !it->latest_checkpoint) ||
        !map_put(&core->trials, row->id, it)) {
        live_free(&it->live);
        return NULL;
    }
    tree_add(&experiment->trials, &it->node);
    it->bytes = size + TRIAL_RUN_BYTES;
    experiment->trial_bytes += it->bytes;
    return it;
}

/* The first trial's log is where a user looks first. */
static void log_warning(struct core *core, const struct live_trial *trial)
{
    const struct core_event *event = core->event;

    if (event->kind == EVENT_EXPERIMENT_SUBMITTED && event->submitted.warning &&
        trial->experiment->row.trials == 1)
        core_log(core, &trial->task, NULL, "warning: %s", event->submitted.warning);
}

void trial_create(struct core *core, struct live_experiment *experiment,
                  const struct search_op *op)
{
    struct trial row = {
        .id = core->counters.next_trial,
        .experiment_id = experiment->row.id,
        .number = op->trial,
        .state =
            experiment->row.state == EXPERIMENT_ACTIVE ? TRIAL_ACTIVE : TRIAL_PAUSED,
        .request_id = op->request_id,
        .task_id = arena_printf(&core->scratch, "%" PRId64 ".%s", experiment->row.id,
                                op->request_id),
        .seed = experiment->trial_seed < 0 ? op->trial_seed : experiment->trial_seed,
        .hparams = op->hparams,
        .start_us = core->now_us,
        .warm_start = experiment->warm_start,
    };
    struct live_trial *it = row.task_id ? trial_new(core, experiment, &row) : NULL;

    if (!it) {
        core_fail_memory(core);
        return;
    }
    core->counters.next_trial++;
    core->has_counted = true;
    experiment->row.trials++;
    core_touch(core, &experiment->live);
    it->live.is_new = true;
    core_touch(core, &it->live);
    log_warning(core, it);
    search_queue(
        core, experiment,
        &(struct search_input){.kind = SEARCH_INPUT_CREATED, .trial = op->trial});
    if (row.state == TRIAL_ACTIVE)
        allocation_request(core, &it->task);
}

/* ---- ending ---------------------------------------------------------------------- */

enum search_exit trial_search_exit(const struct trial *row)
{
    if (row->state == TRIAL_ERROR)
        return SEARCH_EXIT_ERRORED;
    if (row->state == TRIAL_CANCELED)
        return SEARCH_EXIT_CANCELED;
    return row->has_invalid_hparams ? SEARCH_EXIT_INVALID_HPARAMS : SEARCH_EXIT_DONE;
}

/* Ends the trial as `stopping` says, unless it is already stopping more severely. */
static void end_trial(struct core *core, struct live_trial *trial,
                      enum trial_state stopping)
{
    struct live_experiment *experiment = trial->experiment;
    struct trial *row = &trial->row;

    if (fsm_may(&trial_fsm, row->state, stopping))
        row->state = stopping;
    assert(!trial->task.allocation && trial_is_stopping(row->state));
    row->state = trial_end_of(row->state);
    row->end_us = core->now_us;
    core_touch(core, &trial->live);
    tree_remove(&experiment->trials, &trial->node);
    experiment->trial_bytes -= trial->bytes;
    map_remove(&core->trials, row->id);
    core_bury(core, &trial->live);
    search_queue(core, experiment,
                 &(struct search_input){.kind = SEARCH_INPUT_EXITED,
                                        .trial = row->number,
                                        .why = trial_search_exit(row)});
    experiment_unsettle(core, experiment);
}

/* ---- states ---------------------------------------------------------------------- */

static const char *reason_of(const struct live_trial *trial)
{
    switch ((enum trial_state)trial->row.state) {
    case TRIAL_PAUSED:
        return "the experiment was paused";
    case TRIAL_STOPPING_COMPLETED:
        return "the searcher stopped the trial";
    case TRIAL_STOPPING_CANCELED:
        return "the experiment was canceled";
    case TRIAL_STOPPING_KILLED:
        return "the trial was killed";
    case TRIAL_ACTIVE:
    case TRIAL_STOPPING_ERROR:
    case TRIAL_COMPLETED:
    case TRIAL_CANCELED:
    case TRIAL_ERROR:
    case TRIAL_STATES:
        break;
    }
    return "the experiment failed";
}

void trial_move(struct core *core, struct live_trial *trial, enum trial_state to)
{
    struct trial *row = &trial->row;

    if (row->state == to || !fsm_may(&trial_fsm, row->state, to))
        return;
    row->state = to;
    core_touch(core, &trial->live);
    if (to == TRIAL_ACTIVE) {
        if (!trial->task.allocation)
            allocation_request(core, &trial->task);
    } else if (!trial->task.allocation) {
        if (trial_is_stopping(to))
            end_trial(core, trial, to);
    } else if (to == TRIAL_STOPPING_KILLED || to == TRIAL_STOPPING_ERROR) {
        allocation_kill(core, trial->task.allocation, reason_of(trial));
    } else {
        allocation_preempt(core, trial->task.allocation, reason_of(trial));
    }
}

/* Whether the agents that it may use have enough slots.  They may still be of a size
 * that does not fit, but then other agents may join. */
static bool has_room(const struct core *core, const struct live_trial *trial)
{
    const struct live_experiment *experiment = trial->experiment;
    struct pool_entry *pool = core_find_pool(core, experiment->row.resource_pool);
    struct pool_stats stats;
    int64_t agents, slots;

    if (!trial->task.blocked.count || !core->config.refuses_unfittable)
        return true;
    pool_get_stats(pool->pool, &stats);
    agents = stats.agents;
    slots = stats.slots;
    for (size_t i = 0; i < trial->task.blocked.count; i++) {
        const struct live_agent *agent =
            map_get(&core->agents, trial->task.blocked.at[i]);

        if (agent && agent->pool == pool) {
            slots -= agent->row.slots;
            agents--;
        }
    }
    return experiment->slots ? slots >= (int64_t)experiment->slots : agents > 0;
}

static void request_next_run(struct core *core, struct live_trial *trial,
                             const struct live_allocation *run)
{
    if (trial->row.state != TRIAL_ACTIVE)
        return;
    if (has_room(core, trial)) {
        allocation_retry(core, &trial->task, run);
        return;
    }
    core_log(core, &trial->task, NULL,
             "%s has too few agents left that its log policies do not exclude",
             task_title(core, &trial->task));
    end_trial(core, trial, TRIAL_STOPPING_ERROR);
}

/* The sentence that says why the trial ends with an error. */
static void log_no_restart(struct core *core, const struct live_trial *trial,
                           const struct live_allocation *run)
{
    const char *title = task_title(core, &trial->task);
    const char *why = run->exit_reason ? run->exit_reason : "";

    if (run->is_final)
        core_log(core, &trial->task, NULL,
                 "%s is not retried, because it would fail again: %s", title, why);
    else if (trial->row.is_retry_cancelled)
        core_log(core, &trial->task, NULL, "%s is not retried: a log policy forbids it",
                 title);
    else
        core_log(core, &trial->task, NULL, "%s exceeded max restarts", title);
}

static void restart_or_fail(struct core *core, struct live_trial *trial,
                            const struct live_allocation *run)
{
    struct trial *row = &trial->row;

    if (row->is_retry_cancelled || row->restarts >= trial->experiment->max_restarts) {
        log_no_restart(core, trial, run);
        end_trial(core, trial, TRIAL_STOPPING_ERROR);
        return;
    }
    row->restarts++;
    core_touch(core, &trial->live);
    request_next_run(core, trial, run);
}

void trial_run_over(struct core *core, struct live_trial *trial,
                    const struct live_allocation *run)
{
    struct trial *row = &trial->row;
    bool has_failed = run->row.exit == EXIT_FAILED;

    if (trial_is_stopping(row->state))
        end_trial(core, trial, has_failed ? TRIAL_STOPPING_ERROR : row->state);
    else if (row->has_invalid_hparams)
        end_trial(core, trial, TRIAL_STOPPING_COMPLETED);
    else if (has_failed)
        restart_or_fail(core, trial, run);
    else if (run->row.exit == EXIT_CLEAN && !run->row.is_acknowledged)
        end_trial(core, trial, TRIAL_STOPPING_COMPLETED);
    else
        request_next_run(core, trial, run);
}

/* ---- reports --------------------------------------------------------------------- */

/* An id below the counter existed once: a message about an ended trial is late, not
 * wrong. */
static det_status find_live(const struct core *core, int64_t id,
                            struct live_trial **ret_trial, struct err *err)
{
    *ret_trial = map_get(&core->trials, id);
    if (!*ret_trial && (id < 1 || id >= core->counters.next_trial))
        return err_set(err, DET_NOT_FOUND, "no trial %" PRId64, id);
    return DET_OK;
}

det_status trial_kill(struct core *core, const struct core_event *event,
                      struct err *err)
{
    int64_t id = event->trial_kill.trial_id;
    struct live_trial *trial;
    det_status st = find_live(core, id, &trial, err);

    if (st)
        return st;
    if (!trial)
        return err_set(err, DET_STATE, "trial %" PRId64 " has ended", id);
    trial_move(core, trial, TRIAL_STOPPING_KILLED);
    return DET_OK;
}

/* The trial if the report belongs to its present run, else NULL.  No error: journal
 * entries are never refused. */
static struct live_trial *find_run(const struct core *core, int64_t id, int64_t run_id)
{
    struct live_trial *trial = map_get(&core->trials, id);

    return trial && trial->row.run_id == run_id ? trial : NULL;
}

/* The numbers among `metrics`, in scratch memory. */
static bool list_numbers(struct core *core, const struct json *metrics,
                         struct metric_list *ret_names)
{
    size_t count = json_first(metrics) ? metrics->list.count : 0;
    double number;

    *ret_names = (struct metric_list){
        .at = arena_array(&core->scratch, const char *, count + 1)};
    if (!ret_names->at)
        return false;
    json_each(item, metrics)
        if (item->key && json_number(item, &number))
            ret_names->at[ret_names->count++] = item->key;
    return true;
}

void trial_check_metric(struct core *core, struct live_trial *trial,
                        const struct json *metrics)
{
    struct metric_list names;
    const char *doubt;

    if (!trial || trial->row.is_metric_checked || !trial->experiment->metric)
        return;
    trial->row.is_metric_checked = true;
    core_touch(core, &trial->live);
    if (!list_numbers(core, metrics, &names)) {
        core_fail_memory(core);
        return;
    }
    doubt = metric_missing_doubt(trial->experiment->metric, trial->row.id, &names,
                                 &core->scratch);
    trial->row.lacks_metric = doubt;
    if (doubt)
        core_log(core, &trial->task, NULL, "warning: %s", doubt);
    else if (core->scratch.has_failed)
        core_fail_memory(core);
}

det_status trial_validated(struct core *core, const struct core_event *event,
                           struct err *err)
{
    struct live_trial *trial =
        find_run(core, event->validated.trial_id, event->validated.run_id);
    struct search_input input = {.kind = SEARCH_INPUT_VALIDATED};

    (void)err;
    if (trial)
        allocation_progressed(core, trial->task.allocation);
    if (!trial || trial_is_stopping(trial->row.state) || !event->validated.metrics)
        return DET_OK;
    input.trial = trial->row.number;
    input.metrics = event->validated.metrics;
    search_queue(core, trial->experiment, &input);
    return DET_OK;
}

det_status trial_progress(struct core *core, const struct core_event *event,
                          struct err *err)
{
    double progress = event->progress.progress;
    struct live_trial *trial;
    det_status st = find_live(core, event->progress.trial_id, &trial, err);

    if (st)
        return event->journal_seq ? DET_OK : st;
    if (progress != progress)
        return event->journal_seq
                   ? DET_OK
                   : err_set(err, DET_INVALID, "progress is not a number");
    /* The small addend keeps 0.29 at 0.29. */
    progress = (double)(int64_t)(MAX(0, MIN(progress, 1)) * 100 + 1e-6) / 100;
    if (trial)
        allocation_progressed(core, trial->task.allocation);
    if (!trial || trial->row.progress == progress)
        return DET_OK;
    trial->row.progress = progress;
    core_touch(core, &trial->live);
    search_queue(core, trial->experiment,
                 &(struct search_input){.kind = SEARCH_INPUT_PROGRESS,
                                        .trial = trial->row.number,
                                        .progress = progress});
    return DET_OK;
}

det_status trial_checkpointed(struct core *core, const struct core_event *event,
                              struct err *err)
{
    struct live_trial *trial =
        find_run(core, event->checkpointed.trial_id, event->checkpointed.run_id);
    char *uuid;

    (void)err;
    if (trial)
        allocation_progressed(core, trial->task.allocation);
    if (!trial || !event->checkpointed.uuid ||
        (trial->latest_checkpoint &&
         event->checkpointed.steps < trial->row.latest_steps))
        return DET_OK;
    uuid = mem_strdup(event->checkpointed.uuid);
    if (!uuid) {
        core_fail_memory(core);
        return DET_OK;
    }
    mem_free(trial->latest_checkpoint);
    trial->latest_checkpoint = uuid;
    trial->row.latest_checkpoint = uuid;
    trial->row.latest_steps = event->checkpointed.steps;
    core_touch(core, &trial->live);
    return DET_OK;
}

det_status trial_early_exit(struct core *core, const struct core_event *event,
                            struct err *err)
{
    struct live_trial *trial;
    det_status st = find_live(core, event->early_exit.trial_id, &trial, err);

    if (st)
        return event->journal_seq ? DET_OK : st;
    if (!trial || trial->row.has_invalid_hparams)
        return DET_OK;
    trial->row.has_invalid_hparams = true;
    core_touch(core, &trial->live);
    if (!trial->task.allocation)
        end_trial(core, trial, TRIAL_STOPPING_COMPLETED);
    else if (trial->task.allocation->row.state == ALLOCATION_PENDING)
        allocation_kill(core, trial->task.allocation,
                        "its hyperparameters are invalid");
    else
        allocation_set_deadline(core, trial->task.allocation,
                                core->now_us + INVALID_GRACE_US);
    return DET_OK;
}

/* ---- log policies ---------------------------------------------------------------- */

det_status trial_log_policy(struct core *core, const struct core_event *event,
                            struct err *err)
{
    const char *name = event->log_policy.exclude_agent;
    const struct live_agent *agent = name ? smap_get(&core->agent_names, name) : NULL;
    struct live_trial *trial;
    det_status st = find_live(core, event->log_policy.trial_id, &trial, err);

    if (st || !trial)
        return st;
    if (event->log_policy.cancels_retries && !trial->row.is_retry_cancelled) {
        trial->row.is_retry_cancelled = true;
        core_touch(core, &trial->live);
    }
    if (agent) {
        if (!task_block(&trial->task, agent->row.id))
            core_fail_memory(core);
        core_touch(core, &trial->live);
        if (trial->task.allocation &&
            trial->task.allocation->row.state == ALLOCATION_PENDING)
            allocation_wait(core, trial->task.allocation);
    }
    return DET_OK;
}
