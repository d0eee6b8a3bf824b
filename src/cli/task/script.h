/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - the connection of a task's own script to its task. */
#ifndef CLI_TASK_SCRIPT_H
#define CLI_TASK_SCRIPT_H

#include "det/det.h"

struct cli;

/* The context of the task that this command runs in; det_close() it.  DET_INVALID: this
 * is not a task. */
det_status script_open(struct cli *cli, det_context **ret_context);
/* Copies the sentence of a call that failed; returns `status`. */
det_status script_done(struct cli *cli, det_context *context, det_status status);

#endif
