/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor_loop.h - the supervisor's loop and its state.
 *
 * supervisor.c fills the struct, supervisor_loop_task() runs until the task's exit was
 * reported, and supervisor.c takes everything down again. */
#ifndef AGENT_TASK_SUPERVISOR_LOOP_H
#define AGENT_TASK_SUPERVISOR_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "agent/task/output/last_words.h"
#include "agent/task/output/new_files.h"
#include "agent/task/output/ship.h"
#include "agent/task/output/spool.h"
#include "agent/task/prepare/task_start.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/memory/arena.h"

struct load_watch;
struct ring_drain;
struct executor;
struct io;
struct io_file;
struct lifecycle;
struct net;
struct master_link;

enum phase {
    PREPARING,
    RUNNING,
    LEAVING,
    DRAINING,
    KEEPING,
    SHIPPING,
    REPORTING,
    OVER
};
enum stop { STOP_NONE, STOP_TERM, STOP_KILL };

struct supervisor {
    const char *dir;
    struct arena mem;
    struct task_spec spec;
    struct task_start start;
    const char *boot_id;
    int64_t mark; /* of our processes and us (process_tree.h); 0: none */
    struct io *io;
    struct io_file *lock;
    const char *lock_path;
    struct stat lock_id; /* which file it is */
    struct io_file *log;

    struct executor *exec;
    struct net *net;
    struct master_link *ship_link;
    struct master_link *drain_link;
    struct master_link *load_link; /* NULL, as the next: the load is not measured */
    struct load_watch *load_watch;
    struct lifecycle *lifecycle; /* with start.link */
    struct ship *ship;
    struct ring_drain *drain;
    struct spool *spool[SHIP_STREAMS];

    int wake_fd;
    int signal_fd;
    int control_fd;
    int output[SHIP_STREAMS]; /* -1: at its end */

    enum phase phase;
    enum stop stop;
    bool was_asked;        /* we were told to end it */
    bool must_leave;       /* ... softly: then we end, too, master or not */
    pid_t pid;             /* of the first process; 0: none */
    int exit_fd;           /* tells the status of an isolated program; -1: none */
    int exit_status;       /* ... that status */
    bool has_children;     /* as wait(2) knows */
    bool has_ended_output; /* the spools take no more */
    struct task_exit exit; /* `exit` NULL: not known yet */
    int64_t deadline_us;   /* of the phase, 0: none */
    int64_t kill_us;       /* when to kill (again), 0: not */
    int64_t look_us;       /* when to look after DIR */
    const char *outgrown;  /* what it used more of than it may; NULL: nothing */
    bool is_removed;       /* DIR is gone: what is open is all that there is */
    int64_t dir_us;        /* when to look whether it is */
    int64_t memory_us;     /* when to look at its memory */
    bool has_record;       /* exit.json is written */
    struct last_words last_words; /* of standard error */
    struct new_files new_files;   /* of its working directory */
    bool has_kept;                /* `det task keep` ran */
    bool has_keeper_ended;        /* ... and its status is known */
    int64_t killed_told; /* processes that the log names as killed for memory */
    char bytes[SPOOL_RECORD];
};

void supervisor_loop_task(struct supervisor *s);

/* Wakes the loop, from any thread; `arg` is the supervisor. */
void supervisor_loop_wake(void *arg);
/* Writes DIR/pid. */
det_status supervisor_loop_write_pid(struct supervisor *s, struct err *err);

#endif
