/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - a task's directory: what lies in it and what it tells about the task.
 *
 *   spec.json       what to run (spec.h); only its owner may read it
 *   lock            held by the supervisor as long as it lives
 *   pid             who runs here, since which boot
 *   control         the supervisor's socket (control.h)
 *   exit.json       how the task ended; written once, whole or not at all
 *   *.spool.*       output that the master may not have yet (spool.h)
 *   supervisor.log  what the supervisor has to say
 *   master.json     where the master is, once it has moved: its DET_MASTER_FILE, which
 *                   the task reads and only the supervisor writes
 *   work/  run/     the task's working directory, and its DET_RUN_DIR, with what
 *                   env/enter.h writes: environment.json and failure.json
 *   reports/        the ring of what it reports, its DET_REPORT_RING (libdet/ring.h);
 *                   not in run/, where a task of another user could put a link in its
 *                   place and lead its supervisor elsewhere
 *
 * The lock decides: held, the task lives; free with an exit.json, it ended; free
 * without one, its supervisor vanished.
 *
 * spec.json, pid and exit.json carry a check behind their JSON: a disk that turned a 0
 * into a 1 is found out, and what stands there is not believed. */
#ifndef AGENT_TASK_PLACE_H
#define AGENT_TASK_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct io;
struct io_file;
struct json;

#define PLACE_SPEC    "spec.json"
#define PLACE_LOCK    "lock"
#define PLACE_PID     "pid"
#define PLACE_CONTROL "control"
#define PLACE_EXIT    "exit.json"
#define PLACE_LOG     "supervisor.log"
#define PLACE_MASTER  "master.json"
#define PLACE_WORK    "work"
#define PLACE_RUN     "run"
#define PLACE_REPORTS "reports"
#define PLACE_HOOK    "run/dynamic-tcd-startup-hook.sh"
#define PLACE_RECORD  "run/environment.json"
#define PLACE_FAILURE "run/failure.json"

/* "DIR/NAME" in `mem`; NULL when memory is out. */
char *place_path(struct arena *mem, const char *dir, const char *name);

/* This start of the machine; "" where the kernel does not say; NULL when memory is out.
 * A test may play another one by setting DET_TEST_BOOT_ID. */
const char *place_boot_id(struct arena *mem);

/* Writes JSON with a check behind it, durably.  `text` gets the check. */
det_status place_write(struct io *io, const char *path, struct buf *text,
                       struct err *err);
/* Reads it into `text`, whose limit is the file's; DET_CORRUPT: it is damaged.  A file
 * without a check (written by hand) is only parsed. */
det_status place_read(struct io *io, const char *path, struct buf *text,
                      struct arena *mem, struct json **ret_tree, struct err *err);

/* ---- who runs -------------------------------------------------------------------- */

struct place_pid {
    int64_t supervisor;
    int64_t
        group; /* the task's first process, its group and its session; 0: none yet */
    int64_t group_start; /* its start in ticks since boot, against numbers used again */
    const char *boot_id;
};
det_status place_write_pid(struct io *io, const char *dir, const struct place_pid *pid,
                           struct err *err);
/* DET_NOT_FOUND: no supervisor ever ran here. */
det_status place_read_pid(struct io *io, const char *dir, struct arena *mem,
                          struct place_pid *ret_pid, struct err *err);

/* ---- how it ended ---------------------------------------------------------------- */

struct task_exit {
    const char *exit; /* CLEAN, FAILED, KILLED or TRANSIENT */
    int64_t code;
    const char *reason;
    const char *boot_id;
    bool is_final; /* whoever tries again will fail again */
};

/* From a status of wait(2).  `was_asked`: somebody told us to end the task, so however
 * its processes ended, it was killed.  The reason lies in `mem`; never NULL. */
struct task_exit exit_classify(int wait_status, bool was_asked, struct arena *mem);
det_status place_write_exit(struct io *io, const char *dir,
                            const struct task_exit *exit, struct err *err);
/* DET_NOT_FOUND: there is none. */
det_status place_read_exit(struct io *io, const char *dir, struct arena *mem,
                           struct task_exit *ret_exit, struct err *err);

/* ---- looking --------------------------------------------------------------------- */

enum place_state { PLACE_ALIVE, PLACE_ENDED, PLACE_VANISHED };

/* When nobody holds the lock it is taken, and handed over in `ret_lock` (to be closed
 * by the caller), so that no late supervisor starts in a directory that is being
 * removed. */
det_status place_look(struct io *io, const char *dir, enum place_state *ret_state,
                      struct io_file **ret_lock, struct err *err);

#endif
