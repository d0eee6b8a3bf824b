/* SPDX-License-Identifier: Apache-2.0 */
/* task_dir.h - the directory of a task: what is in it, and what it says about the task.
 *
 *   spec.json       what to run (spec.h); only its owner may read it
 *   lock            held by the supervisor as long as it lives
 *   pid             the processes, and the boot they belong to
 *   control         the supervisor's socket (control.h)
 *   exit.json       how the task ended; written once, complete or not at all
 *   *.spool.*       output that the master may not have yet (spool.h)
 *   supervisor.log  the supervisor's own log
 *   master.json     where the master is, after it has moved: the task's
 *                   DET_MASTER_FILE; only the supervisor writes it
 *   master.crt      by which the task knows the master over TLS: its
 *                   DET_MASTER_CERT_FILE; only the agent writes it (master_cert.h)
 *   work/  run/     the task's working directory and its DET_RUN_DIR, with the files of
 *                   env/enter.h: environment.json and failure.json
 *   tmp/            an isolated task's /tmp
 *   reports/        the ring of reports, DET_REPORT_RING (libdet/ring/ring.h); not in
 *                   run/, where a task of another user could replace it with a symlink
 *
 * The lock decides: held, the task lives; free with an exit.json, it ended; free
 * without one, its supervisor vanished.
 *
 * spec.json, pid and exit.json end with a checksum after their JSON, so damage is
 * found. */
#ifndef AGENT_TASK_TASK_DIR_H
#define AGENT_TASK_TASK_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct io;
struct io_file;
struct json;

#define TASK_DIR_SPEC    "spec.json"
#define TASK_DIR_LOCK    "lock"
#define TASK_DIR_PID     "pid"
#define TASK_DIR_CONTROL "control"
#define TASK_DIR_EXIT    "exit.json"
#define TASK_DIR_LOG     "supervisor.log"
#define TASK_DIR_MASTER  "master.json"
#define TASK_DIR_CERT    "master.crt"
#define TASK_DIR_WORK    "work"
#define TASK_DIR_RUN     "run"
#define TASK_DIR_REPORTS "reports"
#define TASK_DIR_TMP     "tmp"
#define TASK_DIR_HIDDEN  "hidden" /* empty: the task sees it in place of a key */
#define TASK_DIR_HOOK    "run/dynamic-tcd-startup-hook.sh"
#define TASK_DIR_RECORD  "run/environment.json"
#define TASK_DIR_FAILURE "run/failure.json"

/* "DIR/NAME" in `mem`; NULL: out of memory. */
char *task_dir_path(struct arena *mem, const char *dir, const char *name);

/* The id of this boot; "" if the kernel does not say; NULL: no memory.  A test sets
 * DET_TEST_BOOT_ID to simulate another boot. */
const char *task_dir_boot_id(struct arena *mem);

/* Writes JSON and its checksum, durably.  The checksum is added to `text`. */
det_status task_dir_write(struct io *io, const char *path, struct buf *text,
                          struct err *err);
/* Reads it into `text`, whose limit applies to the file; DET_CORRUPT: it is damaged.
 * A file without a checksum (written by hand) is only parsed. */
det_status task_dir_read(struct io *io, const char *path, struct buf *text,
                         struct arena *mem, struct json **ret_tree, struct err *err);

/* ---- processes ------------------------------------------------------------------- */

struct task_dir_pid {
    int64_t supervisor;
    int64_t
        group; /* the task's first process, its group and its session; 0: none yet */
    int64_t group_start; /* its start in ticks since boot: detects a reused number */
    const char *boot_id;
    int64_t mark;       /* of its processes (process_tree.h); 0: none */
    const char *groups; /* the control group that has that of the task; NULL: none */
};
det_status task_dir_write_pid(struct io *io, const char *dir,
                              const struct task_dir_pid *pid, struct err *err);
/* DET_NOT_FOUND: no supervisor ever ran here. */
det_status task_dir_read_pid(struct io *io, const char *dir, struct arena *mem,
                             struct task_dir_pid *ret_pid, struct err *err);

/* ---- how it ended ---------------------------------------------------------------- */

struct task_exit {
    const char *exit; /* CLEAN, FAILED, KILLED, TRANSIENT or LACKING (resources) */
    int64_t code;
    const char *reason;
    const char *boot_id;
    bool is_final; /* a retry would fail again */
};

/* From a status of wait(2).  `was_asked`: the task was told to end, so it counts as
 * killed however its processes ended.  The reason is in `mem`; never NULL. */
struct task_exit exit_classify(int wait_status, bool was_asked, struct arena *mem);
det_status task_dir_write_exit(struct io *io, const char *dir,
                               const struct task_exit *exit, struct err *err);
/* DET_NOT_FOUND: there is none. */
det_status task_dir_read_exit(struct io *io, const char *dir, struct arena *mem,
                              struct task_exit *ret_exit, struct err *err);

/* ---- looking --------------------------------------------------------------------- */

/* Whether each known name in DIR is of the kind that it should be, or missing.  DET_CORRUPT says
 * which one is not, or cannot be reached: no crash and no disk replaces a file by a link, a pipe
 * or a directory, or takes its owner's rights away. */
det_status task_dir_check(struct io *io, const char *dir, struct err *err);
/* Before its sentence, where it is the reason of a run's end. */
#define TASK_DIR_SPOILED "a process of the task spoiled its directory: "

enum task_dir_state { TASK_DIR_ALIVE, TASK_DIR_ENDED, TASK_DIR_VANISHED };

/* If the lock is free, takes it and returns it in `ret_lock` (the caller closes it),
 * so no late supervisor starts in a directory that is being removed. */
det_status task_dir_look(struct io *io, const char *dir, enum task_dir_state *ret_state,
                         struct io_file **ret_lock, struct err *err);

#endif
