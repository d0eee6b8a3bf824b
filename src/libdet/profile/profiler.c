/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.c - switches measuring on and off, decides when a sample is due, and sums up
 * timings.
 *
 *   training threads   det_timing_begin/end --> timing[kind], batches     (atomic)
 *   "det-profiler"     every interval: sampler_take(); every few intervals:
 *                      sampler_report() and the timings since the last one --> ring
 *
 * While the profiler is off, a timing costs one load.
 *
 * The thread exists only while the profiler is on; switching off joins it.  The caller
 * that switches on takes the first reading, so even a short training has a profile;
 * opening NVIDIA's library is slow and left to the thread.  Whether the current batch
 * is to be measured is checked when a sample is due, so the limits are as exact as the
 * interval.  A late sample delays the following ones. */
#include "libdet/profile/profiler.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "libdet/context.h"

enum {
    INTERVAL_MS = 1000,
    INTERVAL_LEAST_MS = 100,
    INTERVAL_MOST_MS = 24 * 3600 * 1000,
    SAMPLES_PER_REPORT = 10,
    SAMPLES_MOST = 1000000,
    LAST_SAMPLE_US = 100000, /* a shorter interval says little */
};

/* ---- timings --------------------------------------------------------------------- */

/* Returns the profiler if it is on, else NULL. */
static struct profiler *counting(const det_context *context)
{
    struct profiler *profiler = context ? context->profiler : NULL;

    if (!profiler || !atomic_load_explicit(&profiler->is_on, memory_order_relaxed) ||
        !fork_mark_is_ours(&context->mark))
        return NULL;
    return profiler;
}

/* The time to subtract from the surrounding steps and validations. */
static int64_t inner_us(struct profiler *profiler)
{
    return (int64_t)(atomic_load_explicit(&profiler->timing[DET_TIMING_DATA].us,
                                          memory_order_relaxed) +
                     atomic_load_explicit(&profiler->timing[DET_TIMING_REPORT].us,
                                          memory_order_relaxed));
}

void det_timing_begin(const det_context *context, det_timing *ret_timing)
{
    struct profiler *profiler = counting(context);

    ret_timing->begun_us = -1;
    if (!profiler)
        return;
    ret_timing->inner_us = inner_us(profiler);
    ret_timing->begun_us = clock_mono_us(context->world.clock);
}

void det_timing_end(det_context *context, const det_timing *timing,
                    enum det_timing_kind kind)
{
    struct profiler *profiler = counting(context);
    int64_t us;

    if (!profiler || !timing || timing->begun_us < 0 || (size_t)kind >= TIMING_KINDS)
        return;
    us = clock_mono_us(context->world.clock) - timing->begun_us;
    if (kind == DET_TIMING_STEP || kind == DET_TIMING_VALIDATE)
        us -= inner_us(profiler) - timing->inner_us;
    atomic_fetch_add_explicit(&profiler->timing[kind].us, (uint64_t)MAX(us, 0),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&profiler->timing[kind].count, 1, memory_order_relaxed);
}

void profiler_batches(det_context *context, int64_t batches)
{
    struct profiler *profiler = counting(context);

    if (profiler)
        atomic_store_explicit(&profiler->batches, batches, memory_order_relaxed);
}

/* ---- measuring: by the thread, or when there is none ----------------------------- */

static void read_timings(struct profiler *profiler,
                         struct timing_sum ret_sums[TIMING_KINDS])
{
    for (size_t i = 0; i < TIMING_KINDS; i++) {
        ret_sums[i].us =
            atomic_load_explicit(&profiler->timing[i].us, memory_order_relaxed);
        ret_sums[i].count =
            atomic_load_explicit(&profiler->timing[i].count, memory_order_relaxed);
    }
}

static void begin_measuring(struct profiler *profiler, int64_t now_us)
{
    sampler_forget(profiler->sampler);
    sampler_take(profiler->sampler);
    read_timings(profiler, profiler->told);
    profiler->samples = 0;
    profiler->has_sample = false;
    profiler->sample_us = now_us;
    profiler->report_us = now_us;
    profiler->is_measuring = true;
}

static void take_sample(struct profiler *profiler, int64_t now_us)
{
    sampler_take(profiler->sampler);
    profiler->samples++;
    profiler->has_sample = true;
    profiler->sample_us = now_us;
}

static void report_samples(struct profiler *profiler, int64_t now_us)
{
    struct timing_sum sums[TIMING_KINDS], since[TIMING_KINDS];
    bool is_timed = false;

    sampler_report(profiler->sampler);
    read_timings(profiler, sums);
    for (size_t i = 0; i < TIMING_KINDS; i++) {
        since[i].us = sums[i].us - profiler->told[i].us;
        since[i].count = sums[i].count - profiler->told[i].count;
        is_timed = is_timed || sums[i].count;
    }
    if (is_timed)
        sampler_report_timings(profiler->sampler,
                               (double)(now_us - profiler->report_us) / 1e6, since);
    memcpy(profiler->told, sums, sizeof(sums));
    profiler->samples = 0;
    profiler->report_us = now_us;
}

static void end_measuring(struct profiler *profiler, int64_t now_us)
{
    int64_t least_us = profiler->has_sample ? LAST_SAMPLE_US : 1;

    if (now_us - profiler->sample_us >= least_us)
        take_sample(profiler, now_us);
    if (profiler->samples)
        report_samples(profiler, now_us);
    profiler->is_measuring = false;
}

static bool is_wanted(const struct profiler *profiler, int64_t batches)
{
    return batches >= profiler->first_batch && batches <= profiler->last_batch;
}

/* Called when a sample is due, and for slow work that must not delay training. */
static void sample_once(struct work *task)
{
    struct profiler *profiler = CONTAINER_OF(task, struct profiler, task);
    int64_t now_us = clock_mono_us(profiler->context->world.clock);
    int64_t batches = atomic_load_explicit(&profiler->batches, memory_order_relaxed);

    sampler_find_gpus(profiler->sampler);
    if (now_us < profiler->due_us) {
        lane_post_at(profiler->lane, task, profiler->due_us);
        return;
    }
    if (profiler->is_measuring && !is_wanted(profiler, batches)) {
        end_measuring(profiler, now_us);
    } else if (profiler->is_measuring) {
        take_sample(profiler, now_us);
        if (profiler->samples >= profiler->samples_per_report)
            report_samples(profiler, now_us);
    } else if (is_wanted(profiler, batches)) {
        begin_measuring(profiler, now_us);
    }
    if (batches > profiler->last_batch)
        return; /* the batches to measure are over */
    profiler->due_us += profiler->interval_us;
    if (profiler->due_us <= now_us)
        profiler->due_us = now_us + profiler->interval_us;
    lane_post_at(profiler->lane, task, profiler->due_us);
}

/* ---- on and off ------------------------------------------------------------------ */

static void stop_sampling(struct profiler *profiler)
{
    if (!atomic_load(&profiler->is_on))
        return;
    if (profiler->exec) {
        executor_free(profiler->exec); /* waits for a sample under way */
        profiler->exec = NULL;
        profiler->lane = NULL;
    } else {
        (void)lane_cancel(profiler->lane, &profiler->task);
    }
    if (profiler->is_measuring)
        end_measuring(profiler, clock_mono_us(profiler->context->world.clock));
    sampler_free(profiler->sampler);
    profiler->sampler = NULL;
    atomic_store(&profiler->is_on, false);
}

static det_status make_lane(struct profiler *profiler, struct err *err)
{
    const struct context_world *world = &profiler->context->world;
    struct executor *exec = world->exec;
    det_status st = DET_OK;

    if (profiler->lane)
        return DET_OK;
    if (!exec) {
        st = executor_threads_new(world->clock, &profiler->exec, err);
        exec = profiler->exec;
    }
    if (!st)
        st = lane_new(exec, "det-profiler", 1, &profiler->lane, err);
    if (st && profiler->exec) {
        executor_free(profiler->exec);
        profiler->exec = NULL;
    }
    return st;
}

static det_status start_sampling(struct profiler *profiler,
                                 const det_profiler_options *options, struct err *err)
{
    const struct json *config = json_get(profiler->context->config, "profiling");
    bool is_configured = options->flags & DET_PROFILER_CONFIGURED;
    int64_t now_us = clock_mono_us(profiler->context->world.clock);
    det_status st = sampler_new(profiler->context, &profiler->sampler, err);

    if (!st)
        st = make_lane(profiler, err);
    if (st) {
        sampler_free(profiler->sampler);
        profiler->sampler = NULL;
        return err_prefix(err, "cannot start the profiler");
    }
    profiler->interval_us = options->interval_ms * 1000;
    profiler->samples_per_report = options->samples_per_report;
    profiler->first_batch =
        is_configured ? json_i64(json_get(config, "begin_on_batch"), 0) : 0;
    profiler->last_batch =
        is_configured ? json_i64(json_get(config, "end_after_batch"), INT64_MAX)
                      : INT64_MAX;
    profiler->is_measuring = false;
    /* Clears what the last thread left in it. */
    profiler->task = (struct work)WORK_INIT(sample_once);
    profiler->due_us = now_us + profiler->interval_us;
    if (is_wanted(profiler, atomic_load(&profiler->batches)))
        begin_measuring(profiler, now_us);
    atomic_store(&profiler->is_on, true);
    lane_post(profiler->lane, &profiler->task);
    return DET_OK;
}

static det_status check_options(det_profiler_options *options, struct err *err)
{
    if (options->interval_ms == 0)
        options->interval_ms = INTERVAL_MS;
    if (options->samples_per_report == 0)
        options->samples_per_report = SAMPLES_PER_REPORT;
    if (options->interval_ms < INTERVAL_LEAST_MS ||
        options->interval_ms > INTERVAL_MOST_MS)
        return err_set(err, DET_INVALID,
                       "interval_ms is %" PRId64 "; expected %d to %d, or 0 for %d",
                       options->interval_ms, INTERVAL_LEAST_MS, INTERVAL_MOST_MS,
                       INTERVAL_MS);
    if (options->samples_per_report < 1 || options->samples_per_report > SAMPLES_MOST)
        return err_set(err, DET_INVALID,
                       "samples_per_report is %" PRId64 "; expected 1 to %d, or 0 for "
                       "%d",
                       options->samples_per_report, SAMPLES_MOST, SAMPLES_PER_REPORT);
    return DET_OK;
}

static bool is_asked_for(const det_context *context,
                         const det_profiler_options *options)
{
    if (context->info.local_rank != 0)
        return false;
    return !(options->flags & DET_PROFILER_CONFIGURED) ||
           json_bool(json_path(context->config, "profiling.enabled"), false);
}

static det_status switch_on(det_context *context, const det_profiler_options *options,
                            struct err *err)
{
    struct profiler *profiler = context->profiler;
    det_status st;

    if (!is_asked_for(context, options))
        return DET_OK;
    lock_take(&profiler->lock);
    /* An explicit call has priority over the configuration. */
    if (options->flags & DET_PROFILER_CONFIGURED && atomic_load(&profiler->is_on)) {
        lock_give(&profiler->lock);
        return DET_OK;
    }
    stop_sampling(profiler);
    st = start_sampling(profiler, options, err);
    lock_give(&profiler->lock);
    return st;
}

det_status det_profiler_on(det_context *context, const det_profiler_options *options)
{
    det_profiler_options all = {.size = sizeof(all)};
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && options && (!options->size || options->size > sizeof(all)))
        st = err_set(&err, DET_INVALID,
                     "the profiler's options have a wrong size: set it to "
                     "sizeof(det_profiler_options)");
    if (!st && options)
        memcpy(&all, options, options->size);
    if (!st)
        st = check_options(&all, &err);
    if (!st)
        st = switch_on(context, &all, &err);
    return context_end(context, st, &err);
}

det_status det_profiler_off(det_context *context)
{
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st) {
        lock_take(&context->profiler->lock);
        stop_sampling(context->profiler);
        lock_give(&context->profiler->lock);
    }
    return context_end(context, st, &err);
}

/* ---- opening and closing --------------------------------------------------------- */

det_status profiler_open(det_context *context, bool is_quiet, struct err *err)
{
    det_profiler_options options = {.size = sizeof(options),
                                    .flags = DET_PROFILER_CONFIGURED};
    struct profiler *profiler = mem_new(struct profiler);
    det_status st;

    if (!profiler)
        return err_default(err, DET_NOMEM);
    context->profiler = profiler;
    profiler->context = context;
    atomic_store(&profiler->batches, context->info.steps_completed);
    st = lock_init(&profiler->lock, err);
    if (!st)
        st = check_options(&options, err);
    if (!st && !is_quiet)
        st = switch_on(context, &options, err);
    return st;
}

void profiler_close(det_context *context, bool is_child)
{
    struct profiler *profiler = context->profiler;

    if (!profiler)
        return;
    if (!is_child)
        stop_sampling(profiler);
    lock_done(&profiler->lock);
    context->profiler = NULL;
    mem_free(profiler);
}
