/* SPDX-License-Identifier: Apache-2.0 */
/* det/profiler.h - measures how busy the machine is while a trial runs, and where the
 * time goes.
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
 * A thread of the library reads the use of processors, memory, disks, network and GPUs
 * every second.  It reports the means of ten seconds as metrics of the groups `cpu`,
 * `memory`, `disk`, `network` and `gpu`, without steps, and the sums of the timings as
 * the group `timing`.  They travel like all reports: training does not wait for them.
 * `det trial profile` shows them.
 *
 * With `profiling: {enabled: true}` in the experiment's configuration all of this
 * happens automatically from det_init() on.  The library itself times the steps and
 * validations of det_fit_run(), reports, checkpoints, and the waits of a loader that
 * was made with a context (det_loader_options). */
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
    /* Follows the experiment's configuration: does nothing without profiling.enabled or
     * if it is on already, and measures only the batches that the configuration names.
     */
    DET_PROFILER_CONFIGURED = 1
};

typedef struct det_profiler_options {
    size_t size;                /* sizeof(det_profiler_options) */
    unsigned flags;             /* enum det_profiler_flag */
    int64_t interval_ms;        /* between two samples, at least 100; 0: 1000 */
    int64_t samples_per_report; /* at least 1; 0: 10 */
} det_profiler_options;

/* Starts measuring; NULL means all defaults.  One process per machine measures: on
 * other local ranks than 0 the call does nothing and returns DET_OK.  If it is on
 * already, it continues with the new options.  DET_INVALID: an option is wrong.
 * DET_STATE: this task is not a trial. */
DET_API det_status det_profiler_on(det_context *context,
                                   const det_profiler_options *options);
/* Stops measuring, and reports what was measured since the last report.  Does nothing
 * if it is not on. det_close() calls it too. */
DET_API det_status det_profiler_off(det_context *context);

/* ---- timings --------------------------------------------------------------------- */

enum det_timing_kind {
    DET_TIMING_DATA = 0,       /* waiting for the next batch */
    DET_TIMING_STEP = 1,       /* training it */
    DET_TIMING_REPORT = 2,     /* reporting; the library times this itself */
    DET_TIMING_CHECKPOINT = 3, /* saving; the library times begin to commit itself */
    DET_TIMING_VALIDATE = 4
};

/* A start time.  Only for det_timing_end(). */
typedef struct det_timing {
    int64_t begun_us;
    int64_t inner_us;
} det_timing;

/* Notes the start time of something.  Any thread may call it; it takes no lock and no
 * memory, and costs almost nothing while the profiler is off. */
DET_API void det_timing_begin(const det_context *context, det_timing *ret_timing);
/* Adds the time since det_timing_begin() to the sum of a kind.  For DET_TIMING_STEP and
 * DET_TIMING_VALIDATE it subtracts the waits for data and the reports inside, so
 * nothing counts twice. */
DET_API void det_timing_end(det_context *context, const det_timing *timing,
                            enum det_timing_kind kind);

#ifdef __cplusplus
}
#endif

#endif
