/* SPDX-License-Identifier: Apache-2.0 */
/* validation.h - the best and the latest validation of a trial. */
#ifndef STORE_METRIC_VALIDATION_H
#define STORE_METRIC_VALIDATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct json;

/* Call it for each new validation: updates the best and the latest one.  The searcher's
 * metric decides; if none is configured, the only metric, else `loss`. */
det_status store_validation_add(struct db *db, int64_t trial_id, int64_t steps,
                                int64_t report_us, const struct json *metrics,
                                struct arena *mem, struct err *err);
/* Computes best and latest again from the validations that are not archived. */
det_status validation_recompute(struct db *db, int64_t trial_id, struct err *err);
/* The metric that decides among `metrics` of a validation.  *ret_has is false if there
 * is none. */
det_status validation_deciding_metric(struct db *db, int64_t trial_id,
                                      const struct json *metrics, bool *ret_has,
                                      double *ret_metric, struct err *err);

#endif
