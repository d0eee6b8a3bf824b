/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - the context of a training program, behind det/trial.h.
 *
 *   context.c      opens and closes it; keeps the last error of each thread
 *   environment.c  fills it inside a task, offline/ outside of one
 *   client/        calls to the master, as a user or as the task
 *   ring/          reports on their way to the supervisor
 *   report/        metrics, status and alerts as records; files for TensorBoard
 *   checkpoint/    saving and restoring
 *   data/          data sets and loaders
 *   train/         hyperparameters, the search, preemption, the training loop
 *   ranks/         the processes that train together
 *   profile/       what the machine does meanwhile
 *
 * Threading: context_open() sets most members, and they never change later, so they
 * need no lock.  `lock` guards the slots of the failures, `saver`, `latest` and
 * `tensorboard_dir`; the ring has its own lock; `is_preempted` is atomic.  A forked
 * child may only touch `mark` and `strings`. */
#ifndef LIBDET_CONTEXT_H
#define LIBDET_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/rng.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "base/thread/shared_lock.h"
#include "det/det.h"

struct io;
struct json;
struct net;
struct output_recorder;
struct preempt;
struct profiler;
struct ring;
struct saver;
struct tensorboard_reports;

/* The surroundings of a context; tests bring their own.  Borrowed; outlives it. */
struct context_world {
    struct io *io;
    const struct clock *clock;
    struct net *net;       /* NULL: made when it is needed */
    struct executor *exec; /* NULL: the context makes its own threads */
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
    const struct json *storage; /* without a master; NULL: the run's own folder */
    const char *token;          /* of the session; NULL outside a task */
    const char *master_file;    /* says where the master has moved to, or NULL */
    const char *ring_dir;
    const char *notes_dir;    /* run_notes.h; NULL: there are no notes */
    struct io_file *run_lock; /* held while the run is under way; NULL: in a task */
    struct tensorboard_reports *tensorboard; /* NULL: not asked for */
    const char *tensorboard_dir;             /* NULL: not asked for yet */
    struct output_recorder *recorder;        /* NULL: output is not recorded */
    struct ring *ring;                       /* NULL: this task is not a trial */
    struct preempt *preempt;
    struct saver *saver;       /* NULL: no overlapped checkpoint so far */
    struct profiler *profiler; /* NULL: this task is not a trial */
    atomic_int is_preempted;
    _Atomic uint64_t refusal_told;  /* the last refused report that det_flush() named */
    int64_t names_most;             /* of metrics; 0: any number */
    _Atomic uint32_t names_seen[8]; /* see report/name_count.c */
    struct lock lock;
    struct map names;       /* of metrics, as hashes; under the lock */
    struct map groups;      /* of metrics, the same */
    char latest[UUID_TEXT]; /* the last one this process committed; "": none */
    uint32_t next_failure;
    struct context_failure failure[CONTEXT_FAILURES];
};

/* As det_init(), in a given world. */
det_status context_open(const struct context_world *world,
                        const det_init_options *options, det_context **ret_context,
                        struct err *err);

/* Every public function starts with one of these two.  DET_INVALID: no context;
 * DET_STATE: this is a forked child. */
det_status context_check(const det_context *context, struct err *err);
/* ... and for functions of trials.  DET_STATE: this task is not a trial. */
det_status context_check_trial(const det_context *context, struct err *err);
/* Every public function ends with this: keeps the error for det_context_error() and
 * returns `status`. */
det_status context_end(det_context *context, det_status status, const struct err *err);
/* The text of this thread's last failure if that was `status`, else the default text of
 * the status. */
const char *context_failure_text(const det_context *context, det_status status);
/* Declares an error.  Clears only what must be cleared: clearing all of it would cost
 * more than a report does. */
#define CONTEXT_ERR(name)                                                              \
    struct err name;                                                                   \
    name.status = DET_OK;                                                              \
    name.text[0] = '\0'

/* The value of an environment variable; NULL if it is not set or empty. */
const char *context_variable(const det_context *context, const char *name);

#endif
