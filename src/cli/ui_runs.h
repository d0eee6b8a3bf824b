/* SPDX-License-Identifier: Apache-2.0 */
/* ui_runs.h - runs in a folder, told to a master and followed.
 *
 * Looked at again and again: folders that are new, runs that begin again, what those
 * under way have reported and printed.  A look costs a few system calls for each run
 * that has ended, and little for one under way that is silent. */
#ifndef CLI_UI_RUNS_H
#define CLI_UI_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cli;
struct ui_runs;

/* Copies `path`: the folder of a run, or one with such folders in it. */
det_status ui_runs_new(struct cli *cli, const char *path, struct ui_runs **ret_runs);
void ui_runs_free(struct ui_runs *runs); /* NULL does nothing */

/* Finds what is new and tells that it is there, the oldest first: then all of it has
 * its number.  Runs that cannot be read are said on stderr, once, and left out. */
det_status ui_runs_find(struct ui_runs *runs);
/* Brings what has come since; of runs whose whole story is still to be told, one.
 * *ret_is_behind: there are more of those. */
det_status ui_runs_bring(struct ui_runs *runs, bool *ret_is_behind);
uint32_t ui_runs_count(const struct ui_runs *runs);

#endif
