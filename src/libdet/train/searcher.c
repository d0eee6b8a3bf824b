/* SPDX-License-Identifier: Apache-2.0 */
/* searcher.c - how long the search wants this trial to train. */
#include "det/searcher.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "data/json/json.h"
#include "libdet/client/task_call.h"
#include "libdet/context.h"
#include "libdet/train/length.h"

enum { PATH_BYTES = 128, ANSWER_BYTES = 1 << 16 };

static det_status find_length(const det_context *context, det_length *ret_length,
                              struct err *err)
{
    const struct json *said = json_path(context->config, "searcher.max_length");
    det_length length = length_read(said);

    if (json_is_null(said) && context->info.is_on_cluster)
        return err_set(err, DET_NOT_FOUND,
                       "the searcher of this experiment has no max_length: set "
                       "searcher.max_length, or train for as long as your program "
                       "decides itself");
    if (json_is_null(said))
        length = (det_length){DET_EPOCHS, 1};
    if (length.count < 1)
        return err_set(
            err, DET_INVALID,
            "searcher.max_length is not a length; expected a whole number of at least "
            "1, or batches, records or epochs with such a number");
    *ret_length = length;
    return DET_OK;
}

det_status det_searcher_operation(det_context *context, det_operation *ret_operation)
{
    det_operation found = {.size = sizeof(found)};
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && (!ret_operation || ret_operation->size < sizeof(size_t) ||
                ret_operation->size > sizeof(found)))
        st =
            err_set(&err, DET_INVALID, "ret_operation is NULL, or its size is not set");
    if (!st)
        st = find_length(context, &found.length, &err);
    if (!st) {
        found.size = ret_operation->size;
        memcpy(ret_operation, &found, found.size);
    }
    return context_end(context, st, &err);
}

static det_status check_operation(const det_context *context,
                                  const det_operation *operation, struct err *err)
{
    det_status st = context_check_trial(context, err);

    if (!st && (!operation || operation->size != sizeof(*operation) ||
                operation->length.count < 1))
        st = err_set(err, DET_INVALID,
                     "this operation does not come from det_searcher_operation()");
    return st;
}

det_status det_operation_progress(det_context *context, const det_operation *operation,
                                  double done)
{
    CONTEXT_ERR(err);
    det_status st = check_operation(context, operation, &err);

    if (!st && isnan(done))
        st = err_set(&err, DET_INVALID, "the progress is NaN");
    if (st)
        return context_end(context, st, &err);
    done /= (double)operation->length.count;
    return det_report_progress(context, MIN(MAX(done, 0.0), 1.0));
}

det_status det_operation_complete(det_context *context, det_operation *operation)
{
    CONTEXT_ERR(err);
    det_status st = check_operation(context, operation, &err);

    if (!st && operation->is_completed)
        st = err_set(&err, DET_STATE, "this operation was completed already");
    if (!st)
        operation->is_completed = 1;
    return context_end(context, st, &err);
}

det_status det_searcher_best(det_context *context, double *ret_metric)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ANSWER_BYTES);
    char path[PATH_BYTES];
    struct json *answer;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && !ret_metric)
        st = err_set(&err, DET_INVALID, "ret_metric is NULL");
    if (!st && !context->info.is_on_cluster)
        st = err_set(&err, DET_NOT_FOUND,
                     "there is no experiment: this run has no master");
    if (st)
        return context_end(context, st, &err);
    (void)snprintf(path, sizeof(path),
                   "/api/v1/experiments/%" PRId64
                   "/searcher/best_searcher_validation_metric",
                   context->info.experiment_id);
    st = task_call(context, "GET", path, NULL, &mem, &answer, &err);
    if (!st && !json_number(json_get(answer, "metric"), ret_metric))
        st = err_set(&err, DET_NOT_FOUND,
                     "no trial of the experiment has validated yet");
    return context_end(context, st, &err);
}
