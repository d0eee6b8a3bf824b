/* SPDX-License-Identifier: Apache-2.0 */
/* trials.h - the reply that shows one trial. */
#ifndef MASTER_API_EXPERIMENTS_TRIALS_H
#define MASTER_API_EXPERIMENTS_TRIALS_H

#include <stdint.h>

#include "base/err.h"

struct request;

det_status trials_reply(struct request *req, int64_t id);

#endif
