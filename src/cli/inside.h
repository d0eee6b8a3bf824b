/* SPDX-License-Identifier: Apache-2.0 */
/* inside.h - what the commands for a task's own scripts share. */
#ifndef CLI_INSIDE_H
#define CLI_INSIDE_H

#include "det/det.h"

struct cli;

/* The context of the task this runs in; det_close() it.  DET_INVALID outside of one. */
det_status inside_open(struct cli *cli, det_context **ret_context);
/* Takes over the sentence of a call that failed; returns its status. */
det_status inside_done(struct cli *cli, det_context *context, det_status status);

#endif
