/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the loop of a supervisor, and what it works on.
 *
 * supervisor.c fills the struct, watch_task() lives with the task until its end was
 * reported, and supervisor.c takes everything down again. */
#ifndef AGENT_TASK_WATCH_H
#define AGENT_TASK_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/task/place.h"
#include "agent/task/ship.h"
#include "agent/task/spec.h"
#include "agent/task/spool.h"
#include "base/arena.h"

struct drain;
struct exec;
struct io;
struct io_file;
struct net;
struct steps;
struct talk;

enum phase { PREPARING, RUNNING, LEAVING, DRAINING, SHIPPING, REPORTING, OVER };
enum stop { STOP_NONE, STOP_TERM, STOP_KILL };

struct supervisor {
    const char *dir;
    struct arena mem;
    struct task_spec spec;
    const char *boot_id;
    const char *program; /* this executable */
    struct io *io;
    struct io_file *lock;
    struct io_file *log;

    struct exec *exec;
    struct net *net;
    struct talk *steps_talk;
    struct talk *ship_talk;
    struct talk *drain_talk;
    struct steps *steps;
    struct ship *ship;
    struct drain *drain;
    struct spool *spool[SHIP_STREAMS];

    int wake_fd;
    int signal_fd;
    int control_fd;
    int output[SHIP_STREAMS]; /* -1: at its end */

    enum phase phase;
    enum stop stop;
    bool was_asked;        /* somebody told us to end it */
    pid_t pid;             /* of the first process; 0: none */
    bool has_children;     /* as wait(2) knows */
    bool has_ended_output; /* the spools take no more */
    struct task_exit exit; /* `exit` NULL: not known yet */
    int64_t deadline_us;   /* of the phase, 0: none */
    int64_t kill_us;       /* when to kill (again), 0: not */
    int64_t look_us;       /* when to look after DIR */
    bool has_record;       /* exit.json is written */
    char bytes[SPOOL_RECORD];
};

void watch_task(struct supervisor *s);

/* Wakes the loop, from any thread; `arg` is the supervisor. */
void watch_wake(void *arg);
/* Writes DIR/pid as things stand. */
det_status watch_write_pid(struct supervisor *s, struct err *err);

#endif
