/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - the training loop.
 *
 * One round: train a batch, ask the trainer what is due, and do it in this order:
 * report, validate, end the epoch, save.  Everything before the checkpoint is part of
 * it, including what the trial's functions change: a resumed run neither repeats nor
 * misses it.
 *
 * Several ranks run the same loop in step; fit_ranks.h says what they exchange.
 *
 * `fit.det` in a checkpoint holds the state of the random generator on one line, and
 * then the trainer's text: no times and no ids, so equal states are equal bytes.  It
 * belongs to rank 0.  Other ranks have other generators and averages: rank 2 of 4 uses
 * `fit-2-of-4.det`.  Between the two parts is a line if det_fit_stop() was called:
 *
 *   enough asked 1 1200   the next batch of the training over 1200 batches is the last
 *   enough done 1 1200    there is no next batch
 *
 * A run with another max_length ignores that line, because it is meant to train longer.
 */
#include "det/fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "libdet/checkpoint/shard.h"
#include "libdet/context.h"
#include "libdet/profile/profiler.h"
#include "libdet/train/fit_ranks.h"

#define FIT_STATE "fit.det"

enum {
    PATH_BYTES = 4096,
    NAME_BYTES = 48,
    LINE_BYTES = 64,
    STATE_BYTES = 1 << 20,
};

struct det_fit {
    det_context *context;
    const det_trial *trial;
    void *self;
    det_trainer *trainer;
    det_distributed *group;
    struct fit_ranks ranks;
    struct rng64 random;
    const char *metric; /* the searcher's; NULL: the only one, else the loss */
    bool is_validating;
    bool is_saving;     /* a checkpoint is being written, or its outcome is not
                           collected */
    bool has_told_wait; /* the warning about too little memory was given */
    det_length max_length;
    bool has_had_enough;          /* det_fit_stop() */
    bool is_over;                 /* ... and all ranks know it */
    struct fit_averages averages; /* of a window or a validation */
    VEC(det_metric) metrics;      /* the report in preparation */
};

/* ---- for the trial's functions --------------------------------------------------- */

det_status det_fit_metric(det_fit *fit, const char *name, double value)
{
    return fit->is_validating ? fit_averages_add(&fit->averages, name, value, 1)
                              : det_trainer_metric(fit->trainer, name, value);
}

void det_fit_stop(det_fit *fit)
{
    fit->has_had_enough = true;
}

int64_t det_fit_batches(const det_fit *fit)
{
    return det_trainer_batches(fit->trainer);
}

int64_t det_fit_epochs(const det_fit *fit)
{
    return det_trainer_epochs(fit->trainer);
}

int64_t det_fit_epoch_position(const det_fit *fit)
{
    return det_trainer_epoch_position(fit->trainer);
}

det_context *det_fit_context(const det_fit *fit)
{
    return fit->context;
}

det_distributed *det_fit_group(const det_fit *fit)
{
    return fit->group;
}

uint64_t det_fit_random(det_fit *fit)
{
    return rng64_next(&fit->random);
}

double det_fit_uniform(det_fit *fit)
{
    return (double)(rng64_next(&fit->random) >> 11) * 0x1p-53;
}

/* ---- reporting and validating ---------------------------------------------------- */

/* A full ring or disk costs a report, not the training.  The next report may find room.
 */
static det_status tolerate_busy(det_status status)
{
    return status == DET_BUSY ? DET_OK : status;
}

/* Makes the metrics to report from the values of all ranks. */
static det_status make_metrics(det_fit *fit, int place)
{
    det_status st =
        fit_ranks_reduce(&fit->ranks, place, det_fit_batches(fit), &fit->averages);

    vec_clear(&fit->metrics);
    for (size_t i = 0; i < fit->averages.list.count && !st; i++) {
        const struct fit_average *average = &fit->averages.list.at[i];
        det_metric metric = {average->name, average->sum / (double)average->count};

        st = vec_push(&fit->metrics, metric) ? DET_OK : DET_NOMEM;
    }
    return st;
}

/* Only rank 0 reports. */
static det_status report_metrics(det_fit *fit, const char *group)
{
    if (fit->ranks.rank || !fit->metrics.count)
        return DET_OK;
    return tolerate_busy(det_report(fit->context, group, det_fit_batches(fit),
                                    fit->metrics.at, fit->metrics.count));
}

static det_status report_window(det_fit *fit)
{
    const char *const *names;
    const double *means;
    size_t count = det_trainer_window(fit->trainer, &names, &means);
    det_status st = DET_OK;

    if (!fit->ranks.rank)
        st = tolerate_busy(
            det_report_progress(fit->context, det_trainer_progress(fit->trainer)));
    fit_averages_clear(&fit->averages);
    for (size_t i = 0; i < count && !st; i++)
        st = fit_averages_add(&fit->averages, names[i], means[i], 1);
    if (!st)
        st = make_metrics(fit, FIT_WINDOW);
    return st ? st : report_metrics(fit, DET_GROUP_TRAINING);
}

static det_status evaluate_trial(det_fit *fit)
{
    const det_trial *trial = fit->trial;
    det_timing timing;
    det_status st = DET_OK;

    if (!trial->evaluate && !trial->evaluate_batch)
        return DET_OK;
    det_timing_begin(fit->context, &timing);
    if (trial->evaluate)
        st = trial->evaluate(fit->self, fit);
    for (int64_t i = fit->ranks.rank;
         !trial->evaluate && i < trial->evaluate_batches && !st; i += fit->ranks.size)
        st = trial->evaluate_batch(fit->self, fit, i);
    det_timing_end(fit->context, &timing, DET_TIMING_VALIDATE);
    return st;
}

/* The searcher's metric: by its name, else the only one, else the loss. */
static double searcher_value(const det_fit *fit)
{
    const char *name = fit->metric ? fit->metric : "loss";

    for (size_t i = 0; i < fit->metrics.count; i++) {
        if (!strcmp(fit->metrics.at[i].name, name))
            return fit->metrics.at[i].value;
    }
    return !fit->metric && fit->metrics.count == 1 ? fit->metrics.at[0].value : NAN;
}

static det_status validate(det_fit *fit, unsigned *todo)
{
    det_status st;

    fit_averages_clear(&fit->averages);
    vec_clear(&fit->metrics);
    fit->is_validating = true;
    st = evaluate_trial(fit);
    fit->is_validating = false;
    if (!st)
        st = make_metrics(fit, FIT_VALIDATION);
    if (!st)
        st = report_metrics(fit, DET_GROUP_VALIDATION);
    *todo |= det_trainer_validated(fit->trainer, searcher_value(fit));
    if (!st && fit->trial->validated)
        st = fit->trial->validated(fit->self, fit, fit->metrics.at, fit->metrics.count);
    return st;
}

/* ---- saving and loading ---------------------------------------------------------- */

/* The name of a rank's state in a checkpoint. */
static const char *state_name(const det_fit *fit, int rank, char name[NAME_BYTES])
{
    if (!rank)
        return FIT_STATE;
    (void)snprintf(name, NAME_BYTES, "fit-%d-of-%d.det", rank, fit->ranks.size);
    return name;
}

/* The line of the state after det_fit_stop(). */
static const char *enough_line(const det_fit *fit, const char *word,
                               char line[LINE_BYTES])
{
    (void)snprintf(line, LINE_BYTES, "enough %s %d %" PRId64 "\n", word,
                   fit->max_length.unit, fit->max_length.count);
    return line;
}

static det_status write_state(det_fit *fit, struct buf *text)
{
    char line[LINE_BYTES];
    const char *trainer;
    det_status st = det_trainer_save(fit->trainer, &trainer);

    if (st)
        return st;
    buf_printf(text, "random %016" PRIx64 "\n", fit->random.state);
    if (fit->is_over || fit->has_had_enough)
        buf_puts(text, enough_line(fit, fit->is_over ? "done" : "asked", line));
    buf_puts(text, trainer);
    return text->status;
}

static det_status put_state(det_fit *fit, det_checkpoint *checkpoint)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    char name[NAME_BYTES];
    det_status st = write_state(fit, &text);

    if (st)
        return st;
    return det_checkpoint_put(checkpoint, state_name(fit, fit->ranks.rank, name),
                              text.data, text.len);
}

/* Warns once per run: training goes on, but slower than it could. */
static void tell_wait(det_fit *fit, const det_checkpoint_outcome *outcome)
{
    char text[200];

    if (!outcome->waited_bytes || fit->has_told_wait)
        return;
    fit->has_told_wait = true;
    (void)snprintf(
        text, sizeof(text),
        "%" PRIu64 " of %" PRIu64 " bytes did not fit into memory beside the "
        "training, and were written while it waited",
        outcome->waited_bytes, outcome->waited_bytes + outcome->copied_bytes);
    (void)det_alert(fit->context, DET_ALERT_WARN, "checkpoints hold training up", text);
}

/* Collects the outcome of the last checkpoint; waits for `timeout_ms`.  If only its
 * report failed, training goes on. */
static det_status collect_outcome(det_fit *fit, int64_t timeout_ms)
{
    det_checkpoint_outcome outcome = {.size = sizeof(outcome)};
    det_status st;

    if (!fit->is_saving)
        return DET_OK;
    st = det_checkpoint_wait(fit->context, timeout_ms, &outcome);
    if (st == DET_TIMEOUT && timeout_ms >= 0)
        return DET_OK;
    fit->is_saving = false;
    tell_wait(fit, &outcome);
    if (!st && fit->trial->saved && outcome.uuid[0])
        st = fit->trial->saved(fit->self, fit, outcome.uuid);
    return tolerate_busy(st);
}

/* Tells the other ranks the reason when they wait. */
static void give_up(const det_fit *fit, det_checkpoint *checkpoint, det_status status)
{
    CONTEXT_ERR(err);

    (void)err_set(&err, status, "%s", context_failure_text(fit->context, status));
    if (checkpoint->shard)
        shard_failed(checkpoint->shard, status, &err);
    det_checkpoint_abort(checkpoint);
}

/* Each rank puts its own state; together they become one checkpoint. */
static det_status save_checkpoint(det_fit *fit)
{
    det_checkpoint_options options = {.size = sizeof(options),
                                      .steps = det_fit_batches(fit),
                                      .flags = DET_CHECKPOINT_OVERLAPPED,
                                      .group = fit->ranks.group};
    det_checkpoint *checkpoint;
    det_status st = collect_outcome(fit, -1);

    if (!st)
        st = det_checkpoint_begin_with(fit->context, &options, &checkpoint);
    if (st)
        return st;
    st = put_state(fit, checkpoint);
    if (!st && fit->trial->save)
        st = fit->trial->save(fit->self, checkpoint);
    if (!st)
        st = det_checkpoint_commit(checkpoint);
    if (st)
        give_up(fit, checkpoint, st);
    if (st && (tolerate_busy(st) || !fit->ranks.group))
        return tolerate_busy(st);
    /* also if this rank gave up: the others have committed and wait for it */
    fit->is_saving = true;
    det_trainer_saved(fit->trainer);
    return DET_OK;
}

/* Returns the text after the line, if there is one; NULL: the line has no end. */
static const char *read_enough(det_fit *fit, const char *at)
{
    static const char word[] = "enough ";
    const char *end = strchr(at, '\n');
    char line[LINE_BYTES];
    size_t len;

    if (strncmp(at, word, sizeof(word) - 1) != 0)
        return at;
    if (!end)
        return NULL;
    len = (size_t)(++end - at);
    if (!strncmp(at, enough_line(fit, "asked", line), len) && !line[len])
        fit->has_had_enough = true;
    if (!strncmp(at, enough_line(fit, "done", line), len) && !line[len])
        fit->is_over = true;
    return end;
}

static det_status read_state(det_fit *fit, const char *text, struct err *err)
{
    static const char word[] = "random ";
    const char *at = text + sizeof(word) - 1;
    char *end = NULL;
    det_status st;

    if (!strncmp(text, word, sizeof(word) - 1))
        fit->random.state = strtoull(at, &end, 16);
    at = end && end == at + 16 && *end == '\n' ? read_enough(fit, end + 1) : NULL;
    st = at ? det_trainer_load(fit->trainer, at) : DET_CORRUPT;
    if (st)
        return st == DET_NOMEM
                   ? err_default(err, st)
                   : err_set(err, st, "'" FIT_STATE "' of the checkpoint is damaged");
    if (fit->is_over)
        det_trainer_stop(fit->trainer);
    return DET_OK;
}

/* Ranks other than 0 have their own generators, derived from that of rank 0. */
static void own_generator(det_fit *fit)
{
    struct rng64 other = {fit->random.state +
                          (uint64_t)fit->ranks.rank * UINT64_C(0xd1342543de82ef95)};

    if (fit->ranks.rank)
        fit->random.state = rng64_next(&other);
}

/* Loads this rank's state if the same number of ranks saved it; else that of rank 0,
 * with its own generator. */
static det_status load_state(det_fit *fit, const char *directory, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(STATE_BYTES);
    char name[NAME_BYTES], path[PATH_BYTES + NAME_BYTES];
    struct io *io = fit->context->world.io;
    det_status st;

    (void)snprintf(path, sizeof(path), "%s/%s", directory,
                   state_name(fit, fit->ranks.rank, name));
    st = io_read_file(io, path, &text, err);
    if (st != DET_NOT_FOUND || !fit->ranks.rank)
        return st ? st : read_state(fit, text.data, err);
    (void)snprintf(path, sizeof(path), "%s/" FIT_STATE, directory);
    st = io_read_file(io, path, &text, err);
    if (!st)
        st = read_state(fit, text.data, err);
    own_generator(fit);
    return st;
}

/* Without a checkpoint the training starts from the beginning. */
static det_status resume_training(det_fit *fit)
{
    char directory[PATH_BYTES];
    CONTEXT_ERR(err);
    det_status st =
        det_checkpoint_restore(fit->context, NULL, 0, directory, sizeof(directory));

    if (st == DET_NOT_FOUND) {
        own_generator(fit);
        return DET_OK;
    }
    if (st)
        return st;
    st = load_state(fit, directory, &err);
    if (st)
        return context_end(fit->context, st, &err);
    return fit->trial->load ? fit->trial->load(fit->self, directory) : DET_OK;
}

/* ---- the loop -------------------------------------------------------------------- */

static det_status do_due(det_fit *fit, unsigned todo)
{
    det_status st = DET_OK;

    if (todo & DET_REPORT)
        st = report_window(fit);
    if (!st && (todo & DET_VALIDATE))
        st = validate(fit, &todo);
    if (!st && (todo & DET_EPOCH_END) && fit->trial->epoch_end)
        st = fit->trial->epoch_end(fit->self, fit);
    if (!st && (todo & DET_CHECKPOINT))
        st = save_checkpoint(fit);
    return st;
}

static det_status train_step(det_fit *fit)
{
    det_timing timing;
    det_status st;

    profiler_batches(fit->context, det_fit_batches(fit));
    det_timing_begin(fit->context, &timing);
    st = fit->trial->train_batch(fit->self, fit);
    det_timing_end(fit->context, &timing, DET_TIMING_STEP);
    return st;
}

/* Rank 0 knows whether the platform wants the slots back; any rank may stop for all. */
static det_status must_stop(det_fit *fit, bool *ret_stop)
{
    bool is_wanted = !fit->ranks.rank && det_preempted(fit->context);
    struct fit_word word = {.place = FIT_BATCH,
                            .number = det_fit_batches(fit),
                            .flags = (fit->has_had_enough ? FIT_ENOUGH : 0u) |
                                     (is_wanted ? FIT_PREEMPTED : 0u)};
    unsigned flags = 0;
    det_status st = fit_ranks_exchange(&fit->ranks, &word, &flags, NULL);

    *ret_stop = flags != 0;
    fit->is_over = flags & FIT_ENOUGH;
    return st;
}

static det_status train(det_fit *fit)
{
    const det_trial *trial = fit->trial;
    unsigned todo = det_trainer_begin(fit->trainer);
    bool is_last = false;
    det_status st = do_due(fit, todo);

    while (!st && !(todo & DET_STOP)) {
        if (!det_fit_epoch_position(fit) && trial->epoch_begin)
            st = trial->epoch_begin(fit->self, fit);
        if (!st)
            st = train_step(fit);
        if (!st)
            st = must_stop(fit, &is_last);
        if (st)
            break;
        if (is_last)
            det_trainer_stop(fit->trainer);
        todo = det_trainer_batch_end(fit->trainer);
        st = collect_outcome(fit, 0);
        if (!st)
            st = do_due(fit, todo);
    }
    if (!st)
        st = collect_outcome(fit, -1);
    if (!st && !fit->ranks.rank && det_preempted(fit->context))
        st = det_preempt_ack(fit->context, 0);
    return st;
}

/* All ranks use the seed of rank 0. */
static det_status begin_training(det_fit *fit)
{
    struct fit_word word = {.place = FIT_BEGIN,
                            .bytes = {&fit->random.state, sizeof(uint64_t)}};
    det_part *parts = mem_array((size_t)fit->ranks.size, sizeof(*parts));
    det_status st = parts ? DET_OK : DET_NOMEM;

    if (!st)
        st = fit_ranks_exchange(&fit->ranks, &word, NULL, parts);
    if (!st && parts[0].len == sizeof(uint64_t))
        memmove(&fit->random.state, parts[0].data, sizeof(uint64_t));
    mem_free(parts);
    return st;
}

static det_status run_training(det_fit *fit)
{
    struct fit_word word = {.place = FIT_LOADED};
    det_status st = begin_training(fit);

    if (!st && fit->trial->build)
        st = fit->trial->build(fit->self, fit);
    if (!st)
        st = resume_training(fit);
    word.number = det_fit_batches(fit);
    if (!st)
        st = fit_ranks_exchange(&fit->ranks, &word, NULL, NULL);
    if (!st)
        st = train(fit);
    return fit_ranks_end(&fit->ranks, det_fit_batches(fit), st);
}

det_status det_fit_run(det_context *context, const det_trial *trial, void *self,
                       const det_trainer_options *options)
{
    det_trial known = {0};
    struct det_fit fit = {.context = context, .trial = &known, .self = self};
    det_trainer_options merged = {.size = sizeof(merged)};
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (st)
        return context_end(context, st, &err);
    memcpy(&known, trial, MIN(trial->size, sizeof(known)));
    if (!known.train_batch) {
        st = err_set(&err, DET_INVALID, "a trial needs the function train_batch");
        return context_end(context, st, &err);
    }
    if (options)
        memcpy(&merged, options, MIN(options->size, sizeof(merged)));
    merged.size = sizeof(merged);
    st = det_trainer_configure(context, &merged);
    if (st)
        return st;
    st = det_trainer_new(&merged, &fit.trainer, err.text, sizeof(err.text));
    if (st)
        return context_end(context, st, &err);
    fit.averages.mem = (struct arena)ARENA_INIT(STATE_BYTES);
    fit.random.state = (uint64_t)context->info.seed;
    fit.metric = json_str(json_path(context->config, "searcher.metric"), NULL);
    fit.group = merged.group;
    fit.max_length = merged.max_length;
    fit_ranks_init(&fit.ranks, context, merged.group);
    st = run_training(&fit);
    if (st) /* also if a function of the trial returned only a status */
        (void)err_set(&err, st, "%s", context_failure_text(context, st));
    det_trainer_free(fit.trainer);
    vec_done(&fit.metrics);
    fit_averages_done(&fit.averages);
    return context_end(context, st, &err);
}
