/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_runs.h - the folder that TensorBoard reads: one run per trial.
 *
 *   LOGS/experiment_N/trial_M    for a trial with event files: a symlink to them
 *                                for other trials (scripts, imports): a folder with a
 *                                file made from the metrics in the master
 *
 * tensorboard_runs_update() adds new reports and new trials.  If a trial writes its first
 * event file late, the symlink replaces the folder.  After a restart, only steps higher
 * than those in the file are added. */
#ifndef CLI_TASK_TENSORBOARD_RUNS_H
#define CLI_TASK_TENSORBOARD_RUNS_H

#include "base/err.h"

struct cli;
struct json;
struct tensorboard_runs;

/* `sources` is {"experimentIds":[..],"trialIds":[..]}.  Borrows all arguments. */
det_status tensorboard_runs_new(struct cli *cli, const struct json *sources,
                                const char *logs, struct tensorboard_runs **ret_runs);
void tensorboard_runs_free(struct tensorboard_runs *runs);

/* Brings the folder up to date.  A failure of one trial does not stop the others; the
 * first failure is returned. */
det_status tensorboard_runs_update(struct tensorboard_runs *runs, struct err *err);

#endif
