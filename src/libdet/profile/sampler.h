/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - reads the machine, and reports the means of several readings. */
#ifndef LIBDET_PROFILE_SAMPLER_H
#define LIBDET_PROFILE_SAMPLER_H

#include <stdint.h>

#include "base/err.h"
#include "det/profiler.h"

struct sampler;

enum { TIMING_KINDS = DET_TIMING_VALIDATE + 1 };

/* The sum of one kind of timing. */
struct timing_sum {
    uint64_t us;
    uint64_t count;
};

det_status sampler_new(det_context *context, struct sampler **ret_sampler,
                       struct err *err);
void sampler_free(struct sampler *sampler); /* NULL does nothing */
/* Takes a sample.  Counters need two readings, so the very first one and the first
 * after sampler_forget() only serve for comparison. */
void sampler_take(struct sampler *sampler);
/* Looks for GPUs, which may take a second the first time.  Without it they are not
 * sampled. */
void sampler_find_gpus(struct sampler *sampler);
void sampler_forget(struct sampler *sampler);
/* Reports the means since the last report.  If the ring is full they are lost:
 * measuring never delays or fails anything else. */
void sampler_report(struct sampler *sampler);
/* Reports the timings of the last `seconds`. */
void sampler_report_timings(struct sampler *sampler, double seconds,
                            const struct timing_sum sums[TIMING_KINDS]);

#endif
