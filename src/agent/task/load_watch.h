/* SPDX-License-Identifier: Apache-2.0 */
/* load_watch.h - measures the load of the machine while a trial runs, and sends it to the
 * master.
 *
 * The program does not notice: the supervisor reads /proc.  The first values come after two
 * seconds, then at growing distances: LOAD_WATCH_LEAST_US at first, then a hundredth of the
 * time that the trial runs, at most LOAD_WATCH_MOST_US.  Each is the mean since the last
 * one.  What the master does not take is lost: nothing waits for it. */
#ifndef AGENT_TASK_LOAD_WATCH_H
#define AGENT_TASK_LOAD_WATCH_H

#include <stdint.h>

#include "base/err.h"

struct executor;
struct field_strs;
struct io;
struct lane;
struct load_watch;
struct master_link;

#define LOAD_WATCH_FIRST_US INT64_C(2000000)
#define LOAD_WATCH_LEAST_US INT64_C(15000000)
#define LOAD_WATCH_MOST_US  INT64_C(300000000)

struct load_watch_config {
    struct io *io;
    struct executor *exec;
    struct lane *lane; /* of width 1; all blocking happens there */
    struct master_link *link;
    const char *allocation; /* copied, as all strings */
    int64_t rank;
    const char *storage;                /* a directory; NULL: none */
    const struct field_strs *gpu_uuids; /* of the task; none: GPUs are not read */
};

/* Borrows all but the strings. */
det_status load_watch_new(const struct load_watch_config *config,
                          struct load_watch **ret_watch, struct err *err);
/* After its lane has stopped (executor_free()); NULL does nothing. */
void load_watch_free(struct load_watch *watch);

/* The task runs.  NULL does nothing, as below. */
void load_watch_start(struct load_watch *watch);
/* From any thread: the task has ended; nothing more is sent. */
void load_watch_end(struct load_watch *watch);

/* When to measure again, after so long a run; pure. */
int64_t load_watch_pause_us(int64_t running_us);

#endif
