/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - experiments and their searchers.
 *
 *   an event ------------> queue of inputs --> searcher --> CREATE, STOP, SHUTDOWN
 *                              ^                                  |
 *                              +------- may queue more -----------+
 *
 * Every input is a row before the searcher gets it, so a snapshot and the inputs since
 * give the same searcher again.  To limit the number of rows, progress counts in whole
 * hundredths (at most 100 rows per trial).  To limit their size, a large search takes
 * snapshots less often: the size of a snapshot grows with the search. */
#include <assert.h>
#include <string.h>

#include "base/memory/buf.h"
#include "core/core_impl.h"
#include "data/json/json.h"

void search_queue(struct core *core, struct live_experiment *experiment,
                  const struct search_input *input)
{
    struct queued_input queued = {experiment, *input};

    queued.input.experiment_id = experiment->row.id;
    if (!vec_push(&core->inputs, queued))
        core_fail_memory(core);
}

void experiment_unsettle(struct core *core, struct live_experiment *experiment)
{
    if (experiment->is_unsettled)
        return;
    experiment->is_unsettled = true;
    experiment->next_unsettled = core->unsettled;
    core->unsettled = experiment;
}

bool search_wants_snapshot(const struct core *core,
                           const struct live_experiment *experiment)
{
    const struct experiment *row = &experiment->row;

    return !experiment->is_search_broken && !experiment_is_terminal(row->state) &&
           row->search_seq - row->snapshot_seq >=
               MAX((int64_t)core->config.snapshot_every, row->trials);
}

/* ---- states ---------------------------------------------------------------------- */

/* The state of the trials of an experiment that moves to `state`. */
static enum trial_state trial_state_for(enum experiment_state state)
{
    static const enum trial_state trial_states[] = {
        [EXPERIMENT_ACTIVE] = TRIAL_ACTIVE,
        [EXPERIMENT_PAUSED] = TRIAL_PAUSED,
        [EXPERIMENT_STOPPING_COMPLETED] = TRIAL_STOPPING_COMPLETED,
        [EXPERIMENT_STOPPING_CANCELED] = TRIAL_STOPPING_CANCELED,
        [EXPERIMENT_STOPPING_KILLED] = TRIAL_STOPPING_KILLED,
        [EXPERIMENT_STOPPING_ERROR] = TRIAL_STOPPING_ERROR,
    };

    assert((size_t)state < ARRAY_LEN(trial_states));
    return trial_states[state];
}

void experiment_move(struct core *core, struct live_experiment *experiment,
                     enum experiment_state to)
{
    struct experiment *row = &experiment->row;
    struct tree_node *next;

    if (row->state == to || fsm_move(&experiment_fsm, &row->state, to, NULL))
        return;
    if (row->paused_since_us)
        row->paused_us += core->now_us - row->paused_since_us;
    row->paused_since_us = to == EXPERIMENT_PAUSED ? core->now_us : 0;
    core_touch(core, &experiment->live);
    experiment_unsettle(core, experiment);
    /* A trial that ends here leaves the tree; its searcher hears of it later. */
    for (struct tree_node *at = tree_first(&experiment->trials); at; at = next) {
        next = tree_next(at);
        trial_move(core, CONTAINER_OF(at, struct live_trial, node),
                   trial_state_for(to));
    }
}

static void end_experiment(struct core *core, struct live_experiment *experiment)
{
    struct experiment *row = &experiment->row;
    struct core_effect *effect;

    assert(!experiment->trials.count);
    if (NEVER(!experiment_is_stopping(row->state)))
        row->state = EXPERIMENT_STOPPING_ERROR; /* no trials and no shutdown */
    row->state = experiment_end_of(row->state);
    row->end_us = core->now_us;
    if (row->state == EXPERIMENT_COMPLETED)
        row->progress = 1;
    core_touch(core, &experiment->live);
    effect = core_emit(core, EFFECT_DROP_SEARCH);
    if (effect)
        effect->experiment_id = row->id;
    effect = core_emit(core, EFFECT_EXPERIMENT_OVER);
    if (effect)
        effect->experiment_id = row->id;
    map_remove(&core->experiments, row->id);
    core_bury(core, &experiment->live);
}

/* ---- operations of a searcher ---------------------------------------------------- */

static void shut_down_search(struct core *core, struct live_experiment *experiment,
                             const struct search_op *op)
{
    experiment_move(core, experiment,
                    op->is_failure  ? EXPERIMENT_STOPPING_ERROR
                    : op->is_cancel ? EXPERIMENT_STOPPING_CANCELED
                                    : EXPERIMENT_STOPPING_COMPLETED);
}

static void stop_trial(struct core *core, struct live_experiment *experiment,
                       uint32_t number)
{
    struct live_trial *trial = experiment_trial(experiment, number);

    if (!trial || trial->row.is_stopped_by_searcher)
        return;
    trial->row.is_stopped_by_searcher = true;
    core_touch(core, &trial->live);
    trial_move(core, trial, TRIAL_STOPPING_COMPLETED);
}

/* A search that a user is stopping gets no new trials. */
static void carry_out_operation(struct core *core, struct live_experiment *experiment,
                                const struct search_op *op)
{
    bool is_stopping = experiment_is_stopping(experiment->row.state);

    switch (op->kind) {
    case SEARCH_CREATE:
        if (!is_stopping && !trial_continue(core, experiment, op))
            trial_create(core, experiment, op);
        return;
    case SEARCH_STOP:
        if (!is_stopping)
            stop_trial(core, experiment, op->trial);
        return;
    case SEARCH_SHUTDOWN:
        shut_down_search(core, experiment, op);
        return;
    }
}

static void break_search(struct core *core, struct live_experiment *experiment,
                         const struct search_input *input, const struct search_out *ops)
{
    const struct live_trial *trial =
        experiment_trial(experiment, (uint32_t)input->trial);

    experiment->is_search_broken = true;
    if (trial)
        core_log(core, &trial->task, NULL, "the search cannot go on: %s",
                 ops->err.text);
    experiment_move(core, experiment, EXPERIMENT_STOPPING_ERROR);
}

/* ---- inputs ---------------------------------------------------------------------- */

static void tell_searcher(struct searcher *searcher, const struct search_input *input,
                          const struct json *metrics, struct search_out *ops)
{
    uint32_t trial = (uint32_t)input->trial;

    switch ((enum search_input_kind)input->kind) {
    case SEARCH_INPUT_START:
        searcher_start(searcher, ops);
        return;
    case SEARCH_INPUT_CREATED:
        searcher_trial_created(searcher, trial, ops);
        return;
    case SEARCH_INPUT_VALIDATED:
        searcher_validated(searcher, trial, metrics, ops);
        return;
    case SEARCH_INPUT_EXITED:
        searcher_trial_exited(searcher, trial, input->why, ops);
        return;
    case SEARCH_INPUT_PROGRESS:
        searcher_set_progress(searcher, trial, input->progress);
        return;
    case SEARCH_INPUT_REOPENED:
        searcher_trial_reopened(searcher, trial);
        return;
    }
}

static det_status read_metrics(struct core *core, const struct search_input *input,
                               struct json **ret_metrics, struct err *err)
{
    if (input->kind != SEARCH_INPUT_VALIDATED)
        return DET_OK;
    return json_parse(input->metrics, strlen(input->metrics), &core->scratch,
                      ret_metrics, err);
}

static void feed_input(struct core *core, struct live_experiment *experiment,
                       struct search_input *input)
{
    struct search_out ops = {.mem = &core->scratch};
    struct json *metrics = NULL;
    det_status st = read_metrics(core, input, &metrics, NULL);
    struct core_effect *effect;

    if (st == DET_NOMEM)
        core_fail_memory(core);
    if (st || experiment->is_search_broken)
        return; /* metrics that are not JSON are ignored */

    if (metrics)
        trial_check_metric(core, experiment_trial(experiment, (uint32_t)input->trial),
                           metrics);
    input->seq = ++experiment->row.search_seq;
    effect = core_emit(core, EFFECT_ADD_SEARCH_INPUT);
    if (effect)
        effect->input = *input;
    core_touch(core, &experiment->live);
    tell_searcher(experiment->searcher, input, metrics, &ops);
    if (ops.status == DET_NOMEM) {
        core_fail_memory(core);
        return;
    }
    if (ops.status)
        break_search(core, experiment, input, &ops);
    else
        experiment->row.progress = searcher_progress(experiment->searcher);
    for (uint32_t i = 0; i < ops.count && !ops.status; i++)
        carry_out_operation(core, experiment, &ops.op[i]);
}

static void feed_all_inputs(struct core *core)
{
    /* Feeding may queue more, which moves the vector. */
    while (core->inputs_fed < core->inputs.count && !core->status) {
        struct queued_input queued = core->inputs.at[core->inputs_fed++];

        feed_input(core, queued.experiment, &queued.input);
    }
}

void search_settle(struct core *core)
{
    do
        feed_all_inputs(core);
    while (continuing_queue_more(core));
    vec_clear(&core->inputs);
    core->inputs_fed = 0;

    while (core->unsettled) {
        struct live_experiment *experiment = core->unsettled;

        core->unsettled = experiment->next_unsettled;
        experiment->is_unsettled = false;
        if (!experiment->trials.count && !core->status)
            end_experiment(core, experiment);
    }
}

det_status search_replay(struct core *core, struct live_experiment *experiment,
                         const struct search_input *input, struct err *err)
{
    struct search_out ops = {.mem = &core->scratch};
    struct json *metrics = NULL;
    det_status st = read_metrics(core, input, &metrics, err);

    if (st)
        return st;
    tell_searcher(experiment->searcher, input, metrics, &ops);
    if (ops.status == DET_NOMEM)
        return err_default(err, DET_NOMEM);
    experiment->is_search_broken = ops.status != DET_OK;
    return DET_OK;
}
