/* SPDX-License-Identifier: Apache-2.0 */
/* metric_names.h - which metrics trials and experiments have. */
#ifndef STORE_METRIC_METRIC_NAMES_H
#define STORE_METRIC_METRIC_NAMES_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct json;
struct series_metric;

/* The metrics of these trials that are numbers, sorted by group and name. */
det_status store_series_names(struct db *db, const int64_t *trial, uint32_t trials,
                              struct arena *mem, struct series_metric **ret_names,
                              uint32_t *ret_count, struct err *err);

/* An experiment's metrics: [{"group":..,"name":..,"type":..}], sorted.  The type is
 * "number" if any report has a number, else the type that store_metric_list() gives for
 * the first trial that has the metric.  At most METRIC_TYPE_LOOKS groups of trials are
 * examined for that; all other metrics count as "string". */
enum { METRIC_TYPE_LOOKS = 16 };
det_status store_metric_names(struct db *db, int64_t experiment_id, struct arena *mem,
                              struct json **ret_names, struct err *err);
/* The same for all experiments of a project. */
det_status store_metric_names_in_project(struct db *db, int64_t project_id,
                                         struct arena *mem, struct json **ret_names,
                                         struct err *err);
/* The validation metrics that are numbers, of the experiment's first trial that reported
 * a validation; there is room for one more name.  *ret_trial_id is 0 if no trial did. */
det_status store_validation_names(struct db *db, int64_t experiment_id,
                                  struct arena *mem, int64_t *ret_trial_id,
                                  const char ***ret_names, uint32_t *ret_count,
                                  struct err *err);

#endif
