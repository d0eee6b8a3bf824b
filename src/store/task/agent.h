/* SPDX-License-Identifier: Apache-2.0 */
/* agent.h - rows of agents. */
#ifndef STORE_TASK_AGENT_H
#define STORE_TASK_AGENT_H

#include <stdint.h>

#include "base/err.h"

struct agent;
struct arena;
struct db;

det_status store_agent_put(struct db *db, const struct agent *row, struct err *err);
det_status store_agent_drop(struct db *db, int64_t id, struct err *err);
/* DET_NOT_FOUND: there is none. */
det_status store_agent_get(struct db *db, int64_t id, struct arena *mem,
                           struct agent *ret_row, struct err *err);
det_status store_agent_list(struct db *db, struct arena *mem, struct agent **ret_rows,
                            uint32_t *ret_count, struct err *err);

#endif
