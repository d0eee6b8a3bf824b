/* SPDX-License-Identifier: Apache-2.0 */
/* unmanaged.h - trials of experiments that the master only records. */
#ifndef MASTER_API_EXPERIMENTS_UNMANAGED_H
#define MASTER_API_EXPERIMENTS_UNMANAGED_H

#include <stdint.h>

#include "base/err.h"

struct request;
struct trial_view;

/* DET_STATE: the master runs this trial. */
det_status unmanaged_trial_get(struct request *req, int64_t id,
                               struct trial_view *ret_trial);

#endif
