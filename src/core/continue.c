/* SPDX-License-Identifier: Apache-2.0 */
/* continue.c - an experiment that had ended goes on.
 *
 * Ended objects have left the core, so the event brings the rows: the experiment's, with
 * its new configuration, and those of its trials.  The search begins anew from its seed.
 * A search draws its trials in order, whatever happens to them, so it asks for the same
 * trials under the same numbers:
 *
 *   it asks for a trial that ...   then
 *   completed                      the search hears at once that it exited, and may ask
 *                                  for more
 *   failed, or was cancelled       the trial is live again, with no restarts counted; its
 *                                  next run resumes from its latest checkpoint
 *   did not exist                  it is created as usual
 *
 * The only trial of a `single` search goes on however it ended, with the
 * hyperparameters of the new configuration.
 *
 * A search that runs few trials at a time created some of them only because others had
 * failed or were killed.  Those others are live again, so the search would not ask for
 * the later ones yet, and their rows would never be picked up.  Therefore, while such
 * rows are left, the search hears that a live trial exited, and then that it goes on
 * (SEARCH_INPUT_REOPENED).  So a few more trials than configured run at a time, and no
 * row is forgotten.
 *
 * All these are inputs of the search and stored as rows, so a core can be restored at
 * any point of a continued search.  The effect that writes the experiment's row applies
 * only if the row's end is still the one of the event: if somebody deleted or continued
 * the experiment meanwhile, the commit fails and no row is wrong. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/experiment_config.h"
#include "core/core_impl.h"

/* ---- checks ---------------------------------------------------------------------- */

static bool is_single(const struct experiment_config *config)
{
    return !strcmp(config->searcher_name, "single");
}

static det_status check_past(const struct core_event *event, bool is_single_trial,
                             struct err *err)
{
    const struct experiment *row = event->continued.row;
    const struct trial *past = event->continued.past;
    uint32_t completed = 0;

    for (uint32_t i = 0; i < event->continued.past_count; i++) {
        if (past[i].experiment_id != row->id || !trial_is_terminal(past[i].state) ||
            (i && past[i].number <= past[i - 1].number))
            return err_set(err, DET_INVALID,
                           "trial %" PRId64 " is not one of experiment %" PRId64
                           " that ended",
                           past[i].id, row->id);
        completed += past[i].state == TRIAL_COMPLETED;
    }
    if (!is_single_trial && row->state == EXPERIMENT_COMPLETED &&
        completed == event->continued.past_count)
        return err_set(err, DET_STATE,
                       "experiment %" PRId64 " cannot be continued: its search is "
                       "complete, and so are all its trials; fork it instead",
                       row->id);
    return DET_OK;
}

static det_status check_continued(const struct core *core,
                                  const struct core_event *event,
                                  const struct experiment_config *config,
                                  struct err *err)
{
    const struct experiment *row = event->continued.row;

    if (row->id < 1 || row->id >= core->counters.next_experiment)
        return err_set(err, DET_NOT_FOUND, "no experiment %" PRId64, row->id);
    if (map_get(&core->experiments, row->id) || !experiment_is_terminal(row->state))
        return err_set(err, DET_STATE,
                       "experiment %" PRId64 " cannot be continued: it is not over",
                       row->id);
    if (row->state > EXPERIMENT_ERROR)
        return err_set(err, DET_STATE,
                       "experiment %" PRId64 " cannot be continued: it is being "
                       "deleted",
                       row->id);
    if (!is_single(config) && strcmp(config->searcher_name, "random") != 0 &&
        strcmp(config->searcher_name, "grid") != 0)
        return err_set(err, DET_INVALID,
                       "experiment %" PRId64 " cannot be continued: only single, grid "
                       "and random searches can, and its searcher is '%s'",
                       row->id, config->searcher_name);
    return check_past(event, is_single(config), err);
}

/* ---- continuing ------------------------------------------------------------------ */

static void fill_continued_row(const struct core *core, const struct core_event *event,
                               const struct experiment_config *config,
                               const struct pool_entry *pool, struct experiment *row)
{
    *row = *event->continued.row;
    row->state = EXPERIMENT_ACTIVE;
    row->submitted_us = core->now_us;
    row->paused_us += core->now_us - row->end_us;
    row->end_us = 0;
    row->progress = 0;
    row->search_seq = 0;
    row->snapshot_seq = 0;
    row->resource_pool = pool->name;
    if (!event->continued.takes_resources)
        return;
    row->priority = config->priority ? config->priority : pool->default_priority;
    row->weight = config->weight;
    row->max_slots = config->max_slots;
}

/* All its trials begin from the same checkpoint. */
static void copy_warm_start(const struct core_event *event, struct live_experiment *it)
{
    for (uint32_t i = 0; i < event->continued.past_count && !it->warm_start; i++)
        if (event->continued.past[i].warm_start)
            it->warm_start =
                arena_strdup(&it->mem, event->continued.past[i].warm_start);
}

static det_status add_continued(struct core *core, const struct core_event *event,
                                const struct experiment_config *config,
                                const struct pool_entry *pool, struct err *err)
{
    struct continuing *continuing = &core->continuing;
    struct live_experiment *it = NULL;
    struct experiment row;
    det_status st;

    fill_continued_row(core, event, config, pool, &row);
    continuing->is_met =
        arena_array(&core->scratch, bool, (size_t)event->continued.past_count + 1);
    if (!continuing->is_met)
        return err_default(err, DET_NOMEM);
    st = experiment_new(core, &row, config, &it, err);
    if (!st)
        st = experiment_check_room(core, it, err);
    if (st) {
        if (it)
            live_free(&it->live);
        return st;
    }
    copy_warm_start(event, it);
    if (it->mem.has_failed || !map_put(&core->experiments, row.id, it)) {
        live_free(&it->live);
        return err_default(err, DET_NOMEM);
    }
    continuing->experiment = it;
    continuing->is_single = is_single(config);
    it->is_continued = true;
    core->out->id = row.id;
    core_touch(core, &it->live);
    experiment_unsettle(core, it);
    search_queue(core, it, &(struct search_input){.kind = SEARCH_INPUT_START});
    return DET_OK;
}

det_status experiment_continued(struct core *core, const struct core_event *event,
                                struct err *err)
{
    const struct experiment *row = event->continued.row;
    struct experiment_config config;
    struct pool_entry *pool = NULL;
    det_status st = experiment_config_open(row->config, strlen(row->config),
                                           &core->scratch, &config, err);

    if (st == DET_CORRUPT)
        return DET_INVALID;
    if (!st)
        st = check_continued(core, event, &config, err);
    if (!st)
        st =
            experiment_find_pool(core,
                                 event->continued.takes_resources ? config.resource_pool
                                                                  : row->resource_pool,
                                 &config, &pool, err);
    return st ? st : add_continued(core, event, &config, pool, err);
}

/* ---- its trials ------------------------------------------------------------------ */

static int compare_number(const void *key, const void *item)
{
    int64_t x = *(const int64_t *)key;
    int64_t y = ((const struct trial *)item)->number;

    return (x > y) - (x < y);
}

/* Makes an ended trial live again.  Its weights are in its latest checkpoint. */
static void revive_trial(struct core *core, struct live_experiment *experiment,
                         const struct trial *past, const char *hparams)
{
    struct trial row = *past;
    struct live_trial *it;

    row.state = TRIAL_ACTIVE;
    row.restarts = 0;
    row.end_us = 0;
    row.progress = 0;
    row.is_stopped_by_searcher = false;
    row.has_invalid_hparams = false;
    row.is_retry_cancelled = row.is_metric_checked = row.lacks_metric = false;
    row.hparams = hparams;
    it = trial_new(core, experiment, &row);
    if (!it) {
        core_fail_memory(core);
        return;
    }
    core_touch(core, &it->live);
    if (row.latest_checkpoint)
        core_log(core, &it->task, NULL,
                 "%s is continued from checkpoint %s, after %" PRId64 " batches",
                 task_title(core, &it->task), row.latest_checkpoint, row.latest_steps);
    else
        core_log(core, &it->task, NULL,
                 "%s is continued from the beginning: it has saved no checkpoint",
                 task_title(core, &it->task));
    allocation_request(core, &it->task);
}

/* A trial that completed is done, unless it is the only one of a `single` search. */
static bool is_done(const struct core *core, const struct trial *past)
{
    return past->state == TRIAL_COMPLETED && !core->continuing.is_single;
}

bool trial_continue(struct core *core, struct live_experiment *experiment,
                    const struct search_op *op)
{
    struct continuing *continuing = &core->continuing;
    struct search_input input = {.kind = SEARCH_INPUT_CREATED, .trial = op->trial};
    int64_t number = op->trial;
    const struct trial *past;

    if (continuing->experiment != experiment || !core->event->continued.past_count)
        return false;
    past = bsearch(&number, core->event->continued.past,
                   core->event->continued.past_count, sizeof(*past), compare_number);
    if (!past || continuing->is_met[past - core->event->continued.past])
        return false;
    continuing->is_met[past - core->event->continued.past] = true;
    continuing->met++;
    search_queue(core, experiment, &input);
    if (is_done(core, past)) {
        input.kind = SEARCH_INPUT_EXITED;
        input.why = trial_search_exit(past);
        search_queue(core, experiment, &input);
    } else {
        revive_trial(core, experiment, past,
                     continuing->is_single ? op->hparams : past->hparams);
    }
    return true;
}

bool continuing_queue_more(struct core *core)
{
    struct continuing *continuing = &core->continuing;
    const struct core_event *event = core->event;

    if (!continuing->experiment || core->status ||
        continuing->experiment->row.state != EXPERIMENT_ACTIVE ||
        continuing->met == event->continued.past_count)
        return false;
    while (continuing->reopened < event->continued.past_count) {
        uint32_t i = continuing->reopened++;
        const struct trial *past = &event->continued.past[i];
        struct search_input input = {.kind = SEARCH_INPUT_EXITED,
                                     .trial = past->number};

        if (!continuing->is_met[i] || is_done(core, past))
            continue;
        input.why = trial_search_exit(past);
        search_queue(core, continuing->experiment, &input);
        input.kind = SEARCH_INPUT_REOPENED;
        search_queue(core, continuing->experiment, &input);
        return true;
    }
    return false;
}
