/* SPDX-License-Identifier: Apache-2.0 */
/* ui_runs.h - imports the runs of a folder into a master and follows them.
 *
 * Called again and again, it notices new folders, restarted runs, and new reports and
 * output of running ones.  One pass costs a few system calls per ended run, and little
 * for a running one without news. */
#ifndef CLI_OFFLINE_UI_RUNS_H
#define CLI_OFFLINE_UI_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct ui_runs;

/* Copies `path`: the folder of a run, or a folder that contains such folders. */
det_status ui_runs_new(struct cli *cli, const char *path, struct ui_runs **ret_runs);
void ui_runs_free(struct ui_runs *runs); /* NULL does nothing */

/* Finds new runs and imports their names, oldest first, which fixes their numbers.
 * Unreadable runs are reported on stderr once and left out. */
det_status ui_runs_find(struct ui_runs *runs);
/* Imports what is new.  Of the runs whose data was never imported, it imports one.
 * *ret_is_behind: there are more of those. */
det_status ui_runs_update(struct ui_runs *runs, bool *ret_is_behind);
uint32_t ui_runs_count(const struct ui_runs *runs);

#endif
