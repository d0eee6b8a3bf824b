/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - a training program's context from inside: what det/trial.h and
 * det/checkpoint.h stand on.
 *
 *   context.c     made, ended, failures by thread, forked children
 *   info.c        what the environment says
 *   offline.c     a run without a master: its directory
 *   hparam.c      paths into the hyperparameters
 *   reports.c     records for the ring
 *   preempt.c     the long poll in the background; preempt_ranks.c of several processes
 *   profiler.c    what the machine does meanwhile (profiler.h)
 *   run_call.c    other calls to the master: searcher.c, metadata.c
 *   board.c       the same reports for TensorBoard; record.c what the process prints
 *   checkpoint.c  saving (see checkpoint_impl.h); restore.c the way back; manifest.c
 *                 what is in one
 *
 * Threading: what is set by context_open() is never changed and needs no lock; `lock`
 * guards the failures' slots, `saver` and `latest`; the ring has its own;
 * `is_preempted` is atomic.  In a forked child nothing but `mark` and `strings` may be
 * touched. */
#ifndef LIBDET_CONTEXT_H
#define LIBDET_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/shared.h"
#include "base/task.h"
#include "det/det.h"

struct board;
struct io;
struct json;
struct net;
struct preempt;
struct profiler;
struct ring;
struct saver;
struct watch;

/* Where a context lives.  Borrowed; outlives it. */
struct context_world {
    struct io *io;
    const struct clock *clock;
    struct net *net;   /* NULL: made when it is needed */
    struct exec *exec; /* NULL: threads of its own */
    const char *(*variable)(void *arg, const char *name); /* NULL: getenv() */
    void *arg;
};

enum { CONTEXT_FAILURES = 64 };

/* The last failure of one thread. */
struct context_failure {
    _Atomic(uintptr_t) thread;
    struct err err;
};

struct det_context {
    struct context_world world;
    struct fork_mark mark;
    struct arena strings; /* all that `info` points at */
    det_info info;
    const struct json *hparams; /* an object */
    const struct json *config;  /* an object */
    const struct json *storage; /* of a run without a master; NULL: its directory */
    const char *token;          /* of the session; NULL off a cluster */
    const char *master_file;    /* where it says that the master has moved, or NULL */
    const char *ring_dir;
    const char *notes_dir;    /* of latest.json; NULL: nowhere */
    struct io_file *run_lock; /* held while the run is under way; NULL: in a task */
    struct board *board;      /* board.c; NULL: nothing is written for TensorBoard */
    const char *board_dir;    /* guarded by `lock`; NULL: nobody has asked yet */
    struct watch *watch;      /* record.c; NULL: nobody looks */
    struct ring *ring;        /* NULL: this task is no trial */
    struct preempt *preempt;
    struct saver *saver; /* NULL: no checkpoint has overlapped training; see `lock` */
    struct profiler *profiler; /* NULL: this task is no trial */
    atomic_int is_preempted;
    _Atomic uint64_t refusal_told; /* the last refused report that det_flush() named */
    struct lock lock;
    char latest[UUID_TEXT]; /* last committed by this process; "": none */
    uint32_t next_failure;
    struct context_failure failure[CONTEXT_FAILURES];
};

/* As det_init(), in a given world. */
det_status context_open(const struct context_world *world,
                        const det_init_options *options, det_context **ret_context,
                        struct err *err);

/* Whether a call may go on: DET_STATE in a forked child, DET_INVALID for NULL. */
det_status context_check(const det_context *context, struct err *err);
/* ... and for what only trials do. */
det_status context_check_trial(const det_context *context, struct err *err);
/* Keeps the sentence for det_context_error() and returns `status`. */
det_status context_end(det_context *context, det_status status, const struct err *err);
/* The sentence of this thread's last failure, if that was `status`; else the status's
 * own. */
const char *context_failure_text(const det_context *context, det_status status);
/* An error to be filled; not cleared as a whole, which would cost more than a report.
 */
#define CONTEXT_ERR(name)                                                              \
    struct err name;                                                                   \
    name.status = DET_OK;                                                              \
    name.text[0] = '\0'

/* A variable's value; NULL when it is not set, or empty. */
const char *context_variable(const det_context *context, const char *name);

/* info.c: fills info, hparams, config, token and ring_dir inside a task. */
det_status info_read(det_context *context, struct err *err);
/* What both kinds of context need once the texts are there. */
det_status info_parse(det_context *context, const char *hparams, const char *config,
                      struct err *err);

/* A text that must be an object; `name` is for the sentence. */
det_status info_object(det_context *context, const char *name, const char *text,
                       const struct json **ret_object, struct err *err);

/* reports.c: a record with JSON in it; `kind` is of enum report_kind. */
struct buf;
det_status reports_put(det_context *context, int kind, const struct buf *body,
                       struct err *err);

/* offline.c: the same outside of one; makes or continues the directory. */
det_status offline_open(det_context *context, const det_init_options *options,
                        struct err *err);
/* What was saved last here, by whichever process: it is what the next one begins from.
 * latest_read() leaves its outputs as they are when nothing was saved. */
det_status latest_write(det_context *context, const char *uuid, int64_t steps,
                        struct err *err);
det_status latest_read(det_context *context, struct arena *mem, const char **ret_uuid,
                       int64_t *ret_steps, struct err *err);
det_status latest_forget(det_context *context, struct err *err);

/* A JSON object in the run's directory; NULL in `ret_tree` when there is none yet. */
det_status own_file_read(det_context *context, const char *name, struct arena *mem,
                         struct json **ret_tree, struct err *err);
det_status own_file_write(det_context *context, const char *name, struct buf *text,
                          struct err *err);

/* preempt.c: a client of the master that the task belongs to, as the task. */
struct det_client;
det_status context_client(const det_context *context, struct net *net, long timeout_ms,
                          struct det_client **ret_client, struct err *err);
/* run_call.c: one call as the task, and the tree it is answered with. */
det_status context_call(det_context *context, const char *method, const char *path,
                        const char *body, struct arena *mem, struct json **ret_tree,
                        struct err *err);
det_status preempt_start(det_context *context, struct err *err);
void preempt_stop(det_context *context);

#endif
