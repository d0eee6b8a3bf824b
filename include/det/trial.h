/* SPDX-License-Identifier: Apache-2.0 */
/* det/trial.h - what a training program says and asks.
 *
 *     char error[256];
 *     det_init_options options = {sizeof(options)};
 *     det_context *det;
 *     double lr;
 *
 *     options.error = error;
 *     options.error_size = sizeof(error);
 *     if (det_init(&options, &det) != DET_OK)
 *         return fail(error);
 *     if (det_hparam_double(det, "optimizer.lr", &lr) != DET_OK)
 *         return fail(det_context_error(det));
 *     for (int64_t step = 1; step <= steps && !det_preempted(det); step++) {
 *         det_metric loss = {"loss", train(lr)};
 *
 *         det_report_training(det, step, &loss, 1);
 *     }
 *     det_close(det);
 *
 * Inside a task everything is known from the variables that the platform sets. Anywhere
 * else the same program runs without a master: its reports and checkpoints stay in a
 * directory, and it is never asked to stop.
 *
 * Nothing here holds training up.  A report is copied into a file that the task's
 * supervisor sends from; when the call returns, the report survives the program, and it
 * reaches the master however long that is away.  Only det_flush(), det_preempt_ack()
 * and det_close() wait.
 *
 * Threads: every function may be called by any thread at any time, but for det_close(),
 * which must be the last.  After fork() the child's copy of a context is inert: each
 * call returns DET_STATE, and det_close() only frees memory. */
#ifndef DET_TRIAL_H
#define DET_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_context det_context;

/* ---- beginning and end ----------------------------------------------------------- */

enum det_init_flag {
    /* Nobody asks the master whether to stop, and no thread is started for that:
     * det_preempted() stays 0. */
    DET_INIT_QUIET = 1,
    /* DET_STATE outside a task, instead of a context without a master. */
    DET_INIT_TASK_ONLY = 2,
    /* Outside a task: this is a further process of the run in `directory`, which
     * another has begun: seed and number of the run are that one's.  For the ranks
     * behind the first of det/distributed.h; inside a task it says nothing. */
    DET_INIT_FOLLOW = 4,
    /* Numbers of the groups training and validation are also written for TensorBoard,
     * by a thread: see det_tensorboard_directory().  For one process of a trial. */
    DET_INIT_TENSORBOARD = 8,
    /* Outside a task: what the process prints is not kept, however DET_OFFLINE_LOGS is
     * set. */
    DET_INIT_NO_LOGS = 16,
    /* Also inside a task: a context without a master, beside the task's own.  To read
     * the checkpoints of a storage that is not the task's. */
    DET_INIT_APART = 32
};

/* Directory, hyperparameters, configuration and storage count outside of a task only.
 */
typedef struct det_init_options {
    size_t size;           /* sizeof(det_init_options) */
    unsigned flags;        /* enum det_init_flag */
    const char *directory; /* where reports and checkpoints stay; NULL: the variable
                              DET_OFFLINE_DIR, else a new one in the data directory */
    const char *hparams;   /* JSON; NULL: DET_HPARAMS, else {} */
    const char *config;    /* JSON; NULL: DET_EXPERIMENT_CONFIG, else {} */
    char *error;           /* gets the sentence when it fails; may be NULL */
    size_t error_size;
    const char *checkpoint_storage; /* JSON, as in an experiment's configuration; NULL:
                                       in the directory */
} det_init_options;

/* Makes the context of this process; NULL counts as all defaults.  Inside a task (where
 * DET_ALLOCATION_ID is set) the environment says all; the master is not called, so that
 * training begins also while it is away.  DET_INVALID: a variable is missing or makes
 * no sense; the sentence names it.  A named directory may be used by one run after the
 * other: the next continues from the last checkpoint in it.  DET_BUSY: another process
 * has a run under way there. */
DET_API det_status det_init(const det_init_options *options, det_context **ret_context);

/* Ends a context.  Does not wait for the master: what was accepted is sent by the
 * supervisor.  Waits for a checkpoint that is being written; how that went is told by
 * det_checkpoint_wait() only.  NULL does nothing. */
DET_API void det_close(det_context *context);

/* The program is being stopped before its end, by a signal that it will die of: without
 * a master, det_close() then notes that the run failed and not that it is complete.
 * Programs that end with an exit status other than 0 need not say so.  NULL does
 * nothing. */
DET_API void det_interrupted(det_context *context);

/* One plain sentence about the last failure of a call by this thread; "" when there was
 * none.  Lives until this thread's next failure in this context. */
DET_API const char *det_context_error(const det_context *context);

/* ---- where we are ---------------------------------------------------------------- */

/* Strings are NULL where nothing is known, ids 0.  Later versions add members at the
 * end; `size` says how much of it this library fills. */
typedef struct det_info {
    size_t size;
    int is_on_cluster;
    int is_trial; /* a trial, of a cluster or without one */
    const char *master_url;
    const char *cluster_id;
    const char *agent_id;
    const char *task_id;
    const char *task_type; /* "TRIAL"; "GENERIC": a job of `det job run`; ... */
    const char *allocation_id;
    int64_t experiment_id;
    int64_t trial_id;
    int64_t run_id;                /* 1 for the first run of the trial, then 2, ... */
    int64_t seed;                  /* the same in every run of the trial */
    int64_t steps_completed;       /* of the checkpoint to begin from */
    const char *latest_checkpoint; /* the checkpoint to begin from; NULL: none */
    const char *hparams;           /* JSON */
    const char *config;            /* the experiment's, or the job's, JSON */
    const char *data;        /* `data` of the configuration, JSON: the user's own */
    const int64_t *slot_ids; /* the slots on this node */
    size_t slot_count;
    int node_rank; /* of the nodes of this allocation */
    int node_count;
    int rank; /* of the processes: RANK and kin, else 0 of 1 */
    int world_size;
    int local_rank;
    int local_size;
    const char *directory; /* outside a task: where everything stays */
} det_info;

/* Who and where this process is.  Lives as long as the context; never NULL, but in a
 * forked child. */
DET_API const det_info *det_get_info(const det_context *context);

/* ---- hyperparameters --------------------------------------------------------------
 */

/* A `path` names what lies deeper with dots, list elements with brackets or numbers:
 * "optimizer.lr", "layers[0].units", "layers.0.units".  A name that itself holds dots
 * wins over a path.  DET_NOT_FOUND: there is none of that name.  DET_INVALID: it is of
 * another type; the sentence says of which. */

enum det_type {
    DET_TYPE_NULL = 0,
    DET_TYPE_BOOL = 1,
    DET_TYPE_INT = 2,
    DET_TYPE_DOUBLE = 3,
    DET_TYPE_STRING = 4,
    DET_TYPE_LIST = 5,
    DET_TYPE_MAP = 6
};

/* A hyperparameter that is a number, whole or not. */
DET_API det_status det_hparam_double(det_context *context, const char *path,
                                     double *ret_value);
/* A hyperparameter that is a whole number; 3.0 is one, 3.5 is not. */
DET_API det_status det_hparam_int(det_context *context, const char *path,
                                  int64_t *ret_value);
/* A hyperparameter that is true (1) or false (0). */
DET_API det_status det_hparam_bool(det_context *context, const char *path,
                                   int *ret_value);
/* A hyperparameter that is a string.  It lives as long as the context. */
DET_API det_status det_hparam_string(det_context *context, const char *path,
                                     const char **ret_value);
/* The type of a hyperparameter and, of a list or map, how many elements it has.
 * `ret_count` may be NULL. */
DET_API det_status det_hparam_type(det_context *context, const char *path,
                                   enum det_type *ret_type, size_t *ret_count);
/* Any hyperparameter as JSON text, cut to `size` bytes with its NUL; "" as the path is
 * all of them.  `ret_len` (may be NULL) is how long the whole text is, as snprintf()
 * counts. */
DET_API det_status det_hparam_json(det_context *context, const char *path, char *text,
                                   size_t size, size_t *ret_len);

/* ---- reports ----------------------------------------------------------------------
 */

/* What det_report(), det_report_...(), det_set_status() and det_alert() are told is
 * accepted at once, or refused:
 * DET_BUSY     too much waits to be sent, or the disk is full; nothing was kept, and a
 *              later report may succeed
 * DET_INVALID  it makes no sense; the sentence says why
 * DET_STATE    this task is no trial, or this is a forked child
 *
 * `steps` counts the batches trained so far: the x axis of every curve; -1 for none. */

typedef struct det_metric {
    const char *name;
    double value; /* NaN and the infinities are values like others */
} det_metric;

#define DET_GROUP_TRAINING   "training"
#define DET_GROUP_VALIDATION "validation"

/* Reports numbers of a group: "training", "validation", or a name of your own without a
 * dot.  Needs no memory for up to 64 metrics.  A name may come once in a report, and a
 * second report for the same group and steps may only add names. */
DET_API det_status det_report(det_context *context, const char *group, int64_t steps,
                              const det_metric *metrics, size_t count);
/* Reports numbers of the group "training". */
DET_API det_status det_report_training(det_context *context, int64_t steps,
                                       const det_metric *metrics, size_t count);
/* Reports numbers of the group "validation": those that searchers look at. */
DET_API det_status det_report_validation(det_context *context, int64_t steps,
                                         const det_metric *metrics, size_t count);
/* Reports values of any kind.  `metrics` is a JSON object; `batches` a JSON list of
 * objects, one for each batch, or NULL.  "NaN", "Infinity" and "-Infinity" are numbers.
 * A validation metric must not be null. */
DET_API det_status det_report_json(det_context *context, const char *group,
                                   int64_t steps, const char *metrics,
                                   const char *batches);
/* Tells how far the trial is, from 0 to 1. */
DET_API det_status det_report_progress(det_context *context, double progress);
/* Tells in a word what the trial is doing: "training", "validating", ... */
DET_API det_status det_set_status(det_context *context, const char *status);

enum det_exit_reason {
    DET_EXIT_INVALID_HP = 1,         /* these hyperparameters cannot be trained with */
    DET_EXIT_INIT_INVALID_HP = 2,    /* ... and it showed before training began */
    DET_EXIT_USER_REQUESTED_STOP = 3 /* it is done: nobody need be told, and the trial
                                        counts as complete */
};

/* Tells that the trial ends before its time, and why.  Exit with 0 then: the searcher
 * goes on without this trial. */
DET_API det_status det_report_early_exit(det_context *context,
                                         enum det_exit_reason reason);

enum det_alert_level {
    DET_ALERT_DEBUG = 0,
    DET_ALERT_INFO = 1,
    DET_ALERT_WARN = 2,
    DET_ALERT_ERROR = 3
};

/* Sends a message to the people who asked for alerts; `description` may be NULL. */
DET_API det_status det_alert(det_context *context, enum det_alert_level level,
                             const char *title, const char *description);

/* Waits until everything accepted so far is stored at the master; -1: for as long as it
 * takes.  DET_TIMEOUT: it is not yet, but nothing is lost.  Where the master has
 * refused a report of this context since the last call, its status (DET_EXISTS: other
 * values for the same steps) and its sentence are returned, once; of many only the last
 * few are known here, all are in the trial's log.  Outside a task it is where it stays,
 * and the call returns at once.  A checkpoint that is being written is waited for
 * everywhere, and what it failed with is returned as by det_checkpoint_wait(). */
DET_API det_status det_flush(det_context *context, int64_t timeout_ms);

/* ---- stopping ---------------------------------------------------------------------
 */

/* Whether the platform wants the slots back: 1, then save a checkpoint, call
 * det_preempt_ack() and exit with 0.  One load from memory: ask after every batch. */
DET_API int det_preempted(const det_context *context);

/* Tells the master that the request to stop was heard, so that the end of the program
 * counts as an interruption and not as the end of the trial.  Tries for `timeout_ms`
 * (0: a minute) while the master is away.  DET_STATE: nobody has asked.  First waits
 * for a checkpoint that is being written; what that failed with is returned, once, and
 * nothing acknowledged. */
DET_API det_status det_preempt_ack(det_context *context, int64_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
