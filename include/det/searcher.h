/* SPDX-License-Identifier: Apache-2.0 */
/* det/searcher.h - what the search wants of this trial: how long to train, and how good
 * the best of all trials is so far.
 *
 *     det_operation operation = {sizeof(operation)};
 *
 *     if (det_searcher_operation(det, &operation) != DET_OK)
 *         return fail(det_context_error(det));
 *     for (int64_t step = 1; step <= operation.length.count; step++) {
 *         train(step);
 *         det_operation_progress(det, &operation, (double)step);
 *     }
 *     det_report_validation(det, operation.length.count, metrics, count);
 *     det_operation_complete(det, &operation);
 *
 * A trial has one operation: to train for searcher.max_length.  The searcher itself
 * looks at the validation metrics that are reported; a trial that should end early is
 * asked to stop like any other.  Only rank 0 of several processes reports.
 *
 * Threads: as in det/trial.h; an operation belongs to one thread at a time. */
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
    det_length length; /* counted from the very beginning of the training; with
                          DET_NO_UNIT the configuration names no unit */
    int is_completed;
} det_operation;

/* What the configuration says in searcher.max_length.  DET_NOT_FOUND: it says nothing:
 * train for as long as the program decides itself.  Without a platform that is one
 * epoch.  DET_INVALID: it is no length. */
DET_API det_status det_searcher_operation(det_context *context,
                                          det_operation *ret_operation);
/* Tells how much of the operation's length is done, in its unit. */
DET_API det_status det_operation_progress(det_context *context,
                                          const det_operation *operation, double done);
/* Says that the operation is done; nobody is told but the operation itself.  DET_STATE:
 * it was done already. */
DET_API det_status det_operation_complete(det_context *context,
                                          det_operation *operation);

/* The best value of the searcher's metric that any trial of the experiment has reached
 * so far.  Asks the master, and waits for it.  DET_NOT_FOUND: there is none yet; or
 * there is no platform. */
DET_API det_status det_searcher_best(det_context *context, double *ret_metric);

#ifdef __cplusplus
}
#endif

#endif
