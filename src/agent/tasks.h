/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - the tasks of an agent: one directory each, and an entry that says what to
 * do.
 *
 *   STARTING --> ALIVE --> ENDED (to be reported) --> forgotten, directory removed
 *       \__________________/
 *
 * The agent believes nothing in a directory that its task could have changed: it opens plain
 * files only, checks what they hold, and sets a directory aside that is not what it should be
 * (quarantine.h).
 *
 * Threading: tasks_start(), tasks_kill() and tasks_write() may be called by one thread
 * while another is in tasks_look(). */
#ifndef AGENT_TASKS_H
#define AGENT_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct io;
struct json;
struct json_writer;
struct master_link;
struct tasks;

struct tasks_config {
    struct io *io;
    const char *root;       /* DATA/tasks; copied, as are the others */
    const char *master_url; /* told to supervisors that know another one */
    const char *cert_file;  /* by which tasks know it; NULL: none */
    const char *program;
    const char *agent_id;
    const char *control_group; /* in which tasks get theirs; NULL: none */
};

/* Makes the directory and adopts the tasks that are there. */
det_status tasks_new(const struct tasks_config *config, struct tasks **ret_tasks,
                     struct err *err);
void tasks_free(struct tasks *tasks);

/* Starts the task of a complete spec; does nothing if it exists.  A failure of a
 * spec that names its allocation is reported as the task's failure. */
det_status tasks_start(struct tasks *tasks, const struct json *spec, struct err *err);
/* Works also for a task that does not exist: its end is reported. */
det_status tasks_kill(struct tasks *tasks, const char *allocation, int64_t rank,
                      struct err *err);
/* ["<allocation>/<rank>", ...]: everything whose end was not yet reported. */
void tasks_write(struct json_writer *w, const char *key, struct tasks *tasks);

/* Looks at every task once: passes on kills and the master's address, finds ends and
 * reports them over `link`.  Failed reports are repeated at the next look.  False:
 * the master is away. */
bool tasks_look(struct tasks *tasks, struct master_link *link);

/* Tells all tasks to end; again and again, since some may just be starting. */
void tasks_term(struct tasks *tasks);
/* Kills those that did not, with their supervisors. */
void tasks_end(struct tasks *tasks);
/* Tasks that run or start, and supervisors that have not ended. */
size_t tasks_running(struct tasks *tasks);

#endif
