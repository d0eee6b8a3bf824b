/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - jobs by their tasks, for several commands. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>

#include "base/err.h"

struct cli;
struct json;

/* The whole id of a task: of a job the beginning is enough.  In cli->mem. */
det_status job_find(struct cli *cli, const char *word, const char **ret_id);
/* How it is now: "PAUSED"; a trial's task has no state of its own: "". */
const char *job_state(const struct json *task);
bool job_is_over(const char *state);
/* Why its latest run ended, a sentence; "" where it has not, or needs none. */
const char *job_reason(const struct json *task);

#endif
