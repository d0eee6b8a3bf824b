/* SPDX-License-Identifier: Apache-2.0 */
/* det/profiler.h - what the machine does while a trial runs, and where the time goes.
 *
 *     det_profiler_on(det, NULL);
 *     for (;;) {
 *         det_timing timing;
 *
 *         det_timing_begin(det, &timing);
 *         wait_for_batch();
 *         det_timing_end(det, &timing, DET_TIMING_DATA);
 *         ...
 *     }
 *     det_profiler_off(det);
 *
 * A thread of the library's reads how busy processors, memory, disks, network and GPUs
 * are, every second, and reports the means of ten seconds at a time as metrics of the
 * groups `cpu`, `memory`, `disk`, `network` and `gpu`, without steps; what the timings
 * have added up to goes beside them, as the group `timing`.  They travel like every
 * report: training waits for none of it, and `det trial profile` shows it.
 *
 * Where the experiment's configuration says `profiling: {enabled: true}` all of it
 * happens by itself from det_init() on.  The library times by itself what it sees: the
 * steps and validations of det_fit_run(), reports, checkpoints, and the waits of a
 * loader that was made with a context (det_loader_options). */
#ifndef DET_PROFILER_H
#define DET_PROFILER_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

enum det_profiler_flag {
    /* Only as the experiment's configuration says: nothing where it does not have
     * profiling.enabled, or where it is on already, and only while the batches that it
     * names are trained. */
    DET_PROFILER_CONFIGURED = 1
};

typedef struct det_profiler_options {
    size_t size;                /* sizeof(det_profiler_options) */
    unsigned flags;             /* enum det_profiler_flag */
    int64_t interval_ms;        /* between two samples, at least 100; 0: 1000 */
    int64_t samples_per_report; /* at least 1; 0: 10 */
} det_profiler_options;

/* Begins to measure; NULL counts as all defaults.  One process of each machine does:
 * where the local rank is not 0 nothing happens, and that is no failure.  When it is on
 * already it goes on with these options.  DET_INVALID: options that make no sense.
 * DET_STATE: this task is no trial. */
DET_API det_status det_profiler_on(det_context *context,
                                   const det_profiler_options *options);
/* Ends measuring, and reports what was measured since the last report; fine when it is
 * not on.  det_close() does it as well. */
DET_API det_status det_profiler_off(det_context *context);

/* ---- timings --------------------------------------------------------------------- */

enum det_timing_kind {
    DET_TIMING_DATA = 0,       /* waiting for the next batch */
    DET_TIMING_STEP = 1,       /* training it */
    DET_TIMING_REPORT = 2,     /* in the library's reports; it times them itself */
    DET_TIMING_CHECKPOINT = 3, /* saving; from begin to commit it times that itself */
    DET_TIMING_VALIDATE = 4
};

/* When something began.  Only for det_timing_end(). */
typedef struct det_timing {
    int64_t begun_us;
    int64_t inner_us;
} det_timing;

/* Notes when something begins.  Any thread; takes no lock and no memory, and while the
 * profiler is off it costs as good as nothing. */
DET_API void det_timing_begin(const det_context *context, det_timing *ret_timing);
/* Adds the time since then to what a kind has taken.  Of DET_TIMING_STEP and
 * DET_TIMING_VALIDATE the waits for data and the reports inside are taken out, so that
 * nothing counts twice. */
DET_API void det_timing_end(det_context *context, const det_timing *timing,
                            enum det_timing_kind kind);

#ifdef __cplusplus
}
#endif

#endif
