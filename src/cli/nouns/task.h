/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - finds tasks and reads their state, for several commands. */
#ifndef CLI_NOUNS_TASK_H
#define CLI_NOUNS_TASK_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct json;

/* The full id of a task.  The first characters of a job's id are enough.  In cli->mem. */
det_status task_find(struct cli *cli, const char *word, const char **ret_id);
/* The workspace of exactly this name.  DET_NOT_FOUND. */
det_status task_find_workspace(struct cli *cli, const char *name, int64_t *ret_id);
/* The state of a job: "PAUSED"; "" for a trial's task, which has none. */
const char *task_state(const struct json *task);
/* Why the latest run ended, as a sentence; "" if it has not, or without a reason. */
const char *task_reason(const struct json *task);

#endif
