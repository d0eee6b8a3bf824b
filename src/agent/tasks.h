/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - the tasks of an agent: one directory each, and an entry that says what is
 * to be done about it.
 *
 *   STARTING --> ALIVE --> ENDED (to be reported) --> forgotten, directory removed
 *       \__________________/
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
struct talk;
struct tasks;

struct tasks_config {
    struct io *io;
    const char *root;       /* DATA/tasks; copied, as are the others */
    const char *master_url; /* told to supervisors that know another one */
    const char *program;
    const char *agent_id;
};

/* Makes the directory and takes in the tasks that are there. */
det_status tasks_new(const struct tasks_config *config, struct tasks **ret_tasks,
                     struct err *err);
void tasks_free(struct tasks *tasks);

/* Starts what the (complete) spec says; nothing when it exists.  What goes wrong with a
 * spec that names its allocation is reported as the task's failure. */
det_status tasks_start(struct tasks *tasks, const struct json *spec, struct err *err);
/* Also of one that does not exist: its end is reported. */
det_status tasks_kill(struct tasks *tasks, const char *allocation, int64_t rank,
                      struct err *err);
/* ["<allocation>/<rank>", ...]: everything whose end was not yet reported. */
void tasks_write(struct json_writer *w, const char *key, struct tasks *tasks);

/* Looks at every task once: passes kills and the master's address on, finds ends,
 * reports them over `talk`. What cannot be reported now is tried again the next time.
 * False: the master is away. */
bool tasks_look(struct tasks *tasks, struct talk *talk);

/* Tells all to end; how many still run. */
void tasks_term(struct tasks *tasks);
size_t tasks_running(struct tasks *tasks);

#endif
