/* SPDX-License-Identifier: Apache-2.0 */
/* search_progress.h - how far an experiment is, in the line at the bottom of the terminal:
 *
 *   experiment 3: 12 of 64 trials done, 4 running, best loss 0.0123, about 3m 20s left
 *
 *   experiment 3: building the environment (2 packages found): Collecting numpy; 0 % done
 *
 * Without a terminal (progress_line.h) nothing is asked.  It has a connection of its own,
 * because that of the command may be busy with a stream of log lines. */
#ifndef CLI_TRIALS_SEARCH_PROGRESS_H
#define CLI_TRIALS_SEARCH_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "det/det.h"

struct cli;

struct search_progress {
    struct cli *cli;
    int64_t id;
    det_client *client; /* NULL: nothing is shown */
    int64_t next_us;    /* not asked again before this time */
    int64_t total;      /* trials of the whole search; 0: unknown, -1: not asked yet */
    /* The first progress that was seen; the time left follows from the pace since. */
    int64_t first_us; /* 0: none yet */
    double first;
};

/* The command is connected. */
void search_progress_begin(struct search_progress *progress, struct cli *cli,
                           int64_t experiment_id);
/* Asks the master, at most once a second, and changes the line.  A master that does not
 * answer changes nothing. */
void search_progress_look(struct search_progress *progress);
/* The same, as a client_tick_fn. */
void search_progress_tick(void *progress, size_t sent_bytes, size_t body_bytes);
void search_progress_end(struct search_progress *progress);

#endif
