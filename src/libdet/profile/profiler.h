/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.h - the profiler behind det/profiler.h.
 *
 *   profiler.c  on and off, when a sample is due, timings
 *   sampler.c   reports the load of the machine, and timings
 *   load.c      reads the machine, means of several readings
 *   machine.c   parses /proc;  gpu.c  NVIDIA's library
 *
 * Threading: any thread counts `timing` and `batches` without a lock.  A thread that
 * switches on or off holds `lock` meanwhile; the sampling thread never takes it, and
 * owns the other members while it runs. */
#ifndef LIBDET_PROFILE_PROFILER_H
#define LIBDET_PROFILE_PROFILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "det/profiler.h"
#include "libdet/profile/sampler.h"

struct timing_counter {
    _Atomic uint64_t us;
    _Atomic uint64_t count;
};

struct profiler {
    det_context *context;
    struct lock lock;
    atomic_bool is_on;
    _Atomic int64_t batches; /* trained so far, as last reported */
    struct timing_counter timing[TIMING_KINDS];

    struct executor *exec; /* owned; NULL: the world's executor, or off */
    struct lane *lane;     /* of the world's executor, kept while off */
    struct work task;
    struct sampler *sampler;
    int64_t interval_us;
    int64_t samples_per_report;
    int64_t first_batch;
    int64_t last_batch;
    int64_t due_us;
    int64_t samples;   /* since the last report */
    int64_t sample_us; /* when the last one was taken */
    int64_t report_us; /* start of the next report */
    bool has_sample;   /* since measuring began */
    bool is_measuring; /* the current batches are to be measured */
    struct timing_sum told[TIMING_KINDS];
};

/* Makes the profiler of a trial's context, and switches it on if the configuration says
 * so and `is_quiet` is false. */
det_status profiler_open(det_context *context, bool is_quiet, struct err *err);
/* Switches off and frees.  A forked child has no thread to end: what that thread held
 * stays. */
void profiler_close(det_context *context, bool is_child);
/* Sets the number of trained batches: one store into memory. */
void profiler_batches(det_context *context, int64_t batches);

#endif
