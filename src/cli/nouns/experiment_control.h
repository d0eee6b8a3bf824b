/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_control.h - states of experiments and trials, for commands that change or
 * await them. */
#ifndef CLI_NOUNS_EXPERIMENT_CONTROL_H
#define CLI_NOUNS_EXPERIMENT_CONTROL_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct wait_options;

/* Waits until an experiment ends.  `ret_state` is COMPLETED, CANCELED, ERROR, DELETED or
 * DELETE_FAILED.  `options` NULL: without a timeout; else DET_TIMEOUT. */
det_status experiment_control_wait(struct cli *cli, int64_t id,
                                   const struct wait_options *options,
                                   const char **ret_state);
/* The current state of an experiment or trial (`what`): "RUNNING". */
det_status experiment_control_state(struct cli *cli, const char *what, int64_t id,
                                    const char **ret_state);
/* DET_STATE, with the sentence that all commands share, if `state` is final. */
det_status experiment_control_refuse_ended(struct cli *cli, const char *what,
                                           int64_t id, const char *state);

#endif
