/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h - watching what happens, for several commands. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct log_options;

/* Waits until an experiment is over; `ret_state` is COMPLETED, CANCELED, ERROR or
 * DELETED.  `timeout_s` CLI_UNSET: for ever; else DET_TIMEOUT. */
det_status follow_experiment(struct cli *cli, int64_t id, int64_t timeout_s,
                             const char **ret_state);
/* Prints the logs of an experiment's first trial; with `options->follow` waits for the
 * trial and goes on to its end. */
det_status follow_first_trial(struct cli *cli, int64_t experiment_id,
                              const struct log_options *options);
/* Prints the logs of a task, by its id. */
det_status follow_task(struct cli *cli, const char *task_id,
                       const struct log_options *options);
/* How an experiment or trial (`what`) is now: "RUNNING". */
det_status steer_state(struct cli *cli, const char *what, int64_t id,
                       const char **ret_state);
/* DET_STATE, in the words of all commands, when `state` is one that nothing follows. */
det_status steer_refuse_ended(struct cli *cli, const char *what, int64_t id,
                              const char *state);
void follow_sleep(int64_t milliseconds);

#endif
