/* SPDX-License-Identifier: Apache-2.0 */
/* board_runs.h - the folder that TensorBoard reads: one run for each trial.
 *
 *   LOGS/experiment_N/trial_M    a link to the trial's own event files, where it has
 *                                written any: they are read where they lie
 *                                a folder with a file made of the master's metrics, for
 *                                trials that have none (scripts that report, imports)
 *
 * What a trial reports later is added at the next look; new trials of an experiment
 * appear; a trial whose own files appear late gets the link in the place of the file.
 * A redone stretch (after a restart) is added from where it passes what is there. */
#ifndef CLI_BOARD_RUNS_H
#define CLI_BOARD_RUNS_H

#include "base/err.h"

struct board_runs;
struct cli;
struct json;

/* `sources` is {"experimentIds":[..],"trialIds":[..]}, borrowed, as are the others. */
det_status board_runs_new(struct cli *cli, const struct json *sources, const char *logs,
                          struct board_runs **ret_runs);
void board_runs_free(struct board_runs *runs);

/* Brings the folder up to date.  What fails for one trial does not stop the others; the
 * first failure is the result. */
det_status board_runs_look(struct board_runs *runs, struct err *err);

#endif
