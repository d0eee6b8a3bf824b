/* SPDX-License-Identifier: Apache-2.0 */
/* experiments.h - answers to actions that an experiment does not allow. */
#ifndef MASTER_API_EXPERIMENTS_EXPERIMENTS_H
#define MASTER_API_EXPERIMENTS_EXPERIMENTS_H

#include <stdint.h>

#include "base/err.h"
#include "core/event.h"

/* The answer to an action on an experiment that has ended. */
det_status experiments_answer_ended(int64_t id, enum experiment_state state,
                                    enum experiment_action action, struct err *err);
/* DET_STATE: the master does not run this experiment. */
det_status experiments_refuse_unmanaged(int64_t id, struct err *err);
/* DET_INVALID unless logs can be kept for so many days; -1: for ever. */
det_status experiments_check_retention(int64_t days, struct err *err);

#endif
