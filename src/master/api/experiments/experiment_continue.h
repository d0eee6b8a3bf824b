/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_continue.h - checks whether an experiment can be continued. */
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENT_CONTINUE_H
#define MASTER_API_EXPERIMENTS_EXPERIMENT_CONTINUE_H

#include <stdint.h>

#include "base/err.h"

struct config_report;
struct experiment_config;
struct request;

/* Whether experiment `id` could continue with these changes.  Problems of the merged
 * configuration go to `report`. */
det_status experiment_continue_check(struct request *req, int64_t id,
                                     const char *changes, struct config_report *report,
                                     struct experiment_config *ret_config);

#endif
