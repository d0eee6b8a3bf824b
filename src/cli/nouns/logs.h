/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - prints the logs of trials and tasks. */
#ifndef CLI_NOUNS_LOGS_H
#define CLI_NOUNS_LOGS_H

#include <stdint.h>

#include "base/err.h"

struct cli;
struct log_options;

/* Of an experiment's first trial.  With `options->follow`, waits for the trial to appear
 * and prints until it ends. */
det_status logs_print_first_trial(struct cli *cli, int64_t experiment_id,
                                  const struct log_options *options);
/* The last lines of a trial. */
det_status logs_print_end(struct cli *cli, int64_t trial_id, int64_t lines);
det_status logs_print_task(struct cli *cli, const char *task_id,
                           const struct log_options *options);

#endif
