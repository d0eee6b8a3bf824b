/* SPDX-License-Identifier: Apache-2.0 */
/* det/searcher.h - how long the search wants this trial to train, and the best metric
 * of all trials so far.
 *
 *     det_operation operation = {0};
 *
 *     operation.size = sizeof(operation);
 *     if (det_searcher_operation(det, &operation) != DET_OK)
 *         return fail(det_context_error(det));
 *     for (int64_t step = 1; step <= operation.length.count; step++) {
 *         train(step);
 *         det_operation_progress(det, &operation, (double)step);
 *     }
 *     det_report_validation(det, operation.length.count, metrics, count);
 *     det_operation_complete(det, &operation);
 *
 * A trial has one operation: to train for searcher.max_length.  The searcher looks at
 * the reported validation metrics.  If it wants a trial to end early, the trial is
 * asked to stop like any other.  Of several processes only rank 0 reports.
 *
 * Threads: as in det/trial.h; one thread at a time may use an operation. */
#ifndef DET_SEARCHER_H
#define DET_SEARCHER_H

#include <stddef.h>

#include "det/status.h"
#include "det/trainer.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_operation {
    size_t size;       /* sizeof(det_operation) */
    det_length length; /* counted from the start of the training; DET_NO_UNIT: the
                          configuration names no unit */
    int is_completed;
} det_operation;

/* Reads searcher.max_length of the configuration.  Without a master the default is one
 * epoch.  DET_NOT_FOUND: it is not set: your program decides how long to train.
 * DET_INVALID: it is not a length. */
DET_API det_status det_searcher_operation(det_context *context,
                                          det_operation *ret_operation);
/* Reports how much of the operation's length is done, in its unit. */
DET_API det_status det_operation_progress(det_context *context,
                                          const det_operation *operation, double done);
/* Marks the operation as done.  Sends nothing.  DET_STATE: it was done already. */
DET_API det_status det_operation_complete(det_context *context,
                                          det_operation *operation);

/* Gets the best value of the searcher's metric so far, over all trials of the
 * experiment.  Calls the master and waits for it.  DET_NOT_FOUND: there is none yet, or
 * there is no master. */
DET_API det_status det_searcher_best(det_context *context, double *ret_metric);

#ifdef __cplusplus
}
#endif

#endif
