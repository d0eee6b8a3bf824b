/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.h - det/profiler.h from inside.
 *
 *   profiler.c  on and off, when a sample is due, timings
 *   sampler.c   one reading of the machine, the means of some, and what is reported
 *   machine.c   the texts of /proc;  gpu.c  NVIDIA's library
 *
 * Threading: `timings` and `batches` are counted by any thread without a lock.  `lock`
 * is held by whoever switches on or off, for as long as that takes; the thread that
 * samples never takes it, and owns the rest while it runs. */
#ifndef LIBDET_PROFILER_H
#define LIBDET_PROFILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/task.h"
#include "det/profiler.h"

struct sampler;

enum { TIMING_KINDS = DET_TIMING_VALIDATE + 1 };

/* What has been counted of one kind. */
struct timing_sum {
    uint64_t us;
    uint64_t count;
};

struct timing_counter {
    _Atomic uint64_t us;
    _Atomic uint64_t count;
};

struct profiler {
    det_context *context;
    struct lock lock;
    atomic_bool is_on;
    _Atomic int64_t batches; /* trained so far, as far as it was said */
    struct timing_counter timing[TIMING_KINDS];

    struct exec *exec; /* owned; NULL: the world's, or off */
    struct lane *lane; /* of the world's, kept from one time to the next */
    struct task task;
    struct sampler *sampler;
    int64_t interval_us;
    int64_t samples_per_report;
    int64_t first_batch;
    int64_t last_batch;
    int64_t due_us;
    int64_t samples;   /* since the last report */
    int64_t sample_us; /* when the last one was taken */
    int64_t report_us; /* when what is reported next began */
    bool has_sample;   /* since measuring began */
    bool is_measuring; /* the batches are those that were asked for */
    struct timing_sum told[TIMING_KINDS];
};

/* The profiler of a trial's context, off; and on, where the configuration says so and
 * `is_quiet` does not. */
det_status profiler_open(det_context *context, bool is_quiet, struct err *err);
/* Off, and gone.  A forked child's copy has no thread to be ended: what that held stays. */
void profiler_close(det_context *context, bool is_child);
/* How many batches were trained: one store into memory. */
void profiler_batches(det_context *context, int64_t batches);

/* ---- sampler.c ------------------------------------------------------------------- */

det_status sampler_new(det_context *context, struct sampler **ret_sampler,
                       struct err *err);
void sampler_free(struct sampler *sampler); /* NULL does nothing */
/* Reads the machine.  What counts up needs two readings: the first after
 * sampler_forget(), or of all, is only what the next is compared with. */
void sampler_take(struct sampler *sampler);
/* GPUs are read once they were looked for, which may take a second the first time. */
void sampler_find_gpus(struct sampler *sampler);
void sampler_forget(struct sampler *sampler);
/* Reports the means of what was taken since the last time.  What the ring has no room
 * for is lost: measuring holds nobody up and fails for nobody. */
void sampler_report(struct sampler *sampler);
/* ... and what was counted of each kind within `seconds`. */
void sampler_report_timings(struct sampler *sampler, double seconds,
                            const struct timing_sum sums[TIMING_KINDS]);

#endif
