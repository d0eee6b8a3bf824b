/* SPDX-License-Identifier: Apache-2.0 */
/* det/trial.h - reports, hyperparameters and stop requests of a training program.
 *
 *     char error[256];
 *     det_init_options options = {0};
 *     det_context *det;
 *     double lr;
 *
 *     options.size = sizeof(options);
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
 * Inside a task all settings come from variables that the platform sets.  Outside a
 * task the same program runs without a master: its reports and checkpoints stay in a
 * directory, and it is never asked to stop.
 *
 * Reports do not block training.  A report is copied into a file from which the
 * task's supervisor sends it.  When the call returns, the report survives the program,
 * and it reaches the master however long the master is away.  Only det_flush(),
 * det_preempt_ack() and det_close() wait.
 *
 * Threads: any thread may call any function at any time, except det_close(), which must
 * be the last call.  After fork() the child's copy of a context is unusable: every call
 * returns DET_STATE, and det_close() only frees memory. */
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
    /* Does not ask the master whether to stop, and starts no thread for that:
     * det_preempted() stays 0. */
    DET_INIT_QUIET = 1,
    /* Fails with DET_STATE outside a task, instead of making a context without a
     * master. */
    DET_INIT_TASK_ONLY = 2,
    /* Outside a task: joins the run in `directory` that another process has started,
     * with the seed and run number of that one.  For ranks 1 and up of
     * det/distributed.h.  Inside a task it has no effect. */
    DET_INIT_FOLLOW = 4,
    /* Also writes the metrics of the groups training and validation for TensorBoard, in
     * a thread: see det_tensorboard_directory().  Set it in one process per trial. */
    DET_INIT_TENSORBOARD = 8,
    /* Outside a task: does not record the output of the process, whatever
     * DET_OFFLINE_LOGS says. */
    DET_INIT_NO_LOGS = 16,
    /* Makes a context without a master even inside a task, beside the task's own.  For
     * reading checkpoints from another storage than the task's. */
    DET_INIT_APART = 32
};

/* `directory`, `hparams`, `config` and `checkpoint_storage` are used outside a task
 * only. */
typedef struct det_init_options {
    size_t size;           /* sizeof(det_init_options) */
    unsigned flags;        /* enum det_init_flag */
    const char *directory; /* where reports and checkpoints are kept; NULL: the
                              variable DET_OFFLINE_DIR, else a new one in the data
                              directory */
    const char *hparams;   /* JSON; NULL: DET_HPARAMS, else {} */
    const char *config;    /* JSON; NULL: DET_EXPERIMENT_CONFIG, else {} */
    char *error;           /* receives the message of a failure; may be NULL */
    size_t error_size;
    const char *checkpoint_storage; /* JSON, as in an experiment's configuration;
                                       NULL: inside `directory` */
} det_init_options;

/* Makes the context of this process; NULL means all defaults.  Inside a task
 * (DET_ALLOCATION_ID is set) everything comes from the environment.  The master is not
 * called, so training starts even while it is away.  Outside a task, several runs may
 * use one directory, one after another: the next continues from the last checkpoint in
 * it.  DET_INVALID: a variable is missing or wrong; the message names it.  DET_BUSY:
 * another process has a run under way in the directory. */
DET_API det_status det_init(const det_init_options *options, det_context **ret_context);

/* Closes a context.  Does not wait for the master: the supervisor sends the accepted
 * reports.  Waits for a checkpoint that is being written, but does not say how that
 * ended; det_checkpoint_wait() does.  NULL does nothing. */
DET_API void det_close(det_context *context);

/* Notes that a signal is ending the program early: without a master, det_close() then
 * records that the run failed, not that it completed.  A program that exits with a
 * status other than 0 does not need it.  NULL does nothing. */
DET_API void det_interrupted(det_context *context);

/* The error message of this thread's last failed call; "" if no call failed.  Valid
 * until this thread's next failure in this context. */
DET_API const char *det_context_error(const det_context *context);

/* ---- where we are ---------------------------------------------------------------- */

/* Unknown strings are NULL, unknown ids 0.  Later versions add members at the end;
 * `size` says how many bytes this library fills. */
typedef struct det_info {
    size_t size;
    int is_on_cluster;
    int is_trial; /* 1 for a trial, on a cluster or without one */
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
    int64_t steps_completed;       /* of the checkpoint to start from */
    const char *latest_checkpoint; /* the checkpoint to start from; NULL: none */
    const char *hparams;           /* JSON */
    const char *config;            /* the experiment's, or the job's, JSON */
    const char *data;        /* the user's own `data` section of the configuration,
                                JSON */
    const int64_t *slot_ids; /* the slots on this node */
    size_t slot_count;
    int node_rank; /* of the nodes of this allocation */
    int node_count;
    int rank; /* of the processes: RANK and similar, else 0 of 1 */
    int world_size;
    int local_rank;
    int local_size;
    const char *directory; /* outside a task: where everything is kept */
} det_info;

/* What is known about this process: its trial, its ids, its ranks.  Valid as long as
 * the context; NULL only in a forked child. */
DET_API const det_info *det_get_info(const det_context *context);

/* ---- hyperparameters ------------------------------------------------------------- */

/* A `path` uses dots for nested maps, and brackets or numbers for list elements:
 * "optimizer.lr", "layers[0].units", "layers.0.units".  A hyperparameter whose own name
 * contains dots is found first.  DET_NOT_FOUND: there is no hyperparameter of that
 * name.  DET_INVALID: it has another type; the message says which. */

enum det_type {
    DET_TYPE_NULL = 0,
    DET_TYPE_BOOL = 1,
    DET_TYPE_INT = 2,
    DET_TYPE_DOUBLE = 3,
    DET_TYPE_STRING = 4,
    DET_TYPE_LIST = 5,
    DET_TYPE_MAP = 6
};

/* Reads a hyperparameter that is a number, whole or not. */
DET_API det_status det_hparam_double(det_context *context, const char *path,
                                     double *ret_value);
/* Reads a hyperparameter that is a whole number; 3.0 is one, 3.5 is not. */
DET_API det_status det_hparam_int(det_context *context, const char *path,
                                  int64_t *ret_value);
/* Reads a hyperparameter that is true (1) or false (0). */
DET_API det_status det_hparam_bool(det_context *context, const char *path,
                                   int *ret_value);
/* Reads a hyperparameter that is a string.  It is valid as long as the context. */
DET_API det_status det_hparam_string(det_context *context, const char *path,
                                     const char **ret_value);
/* Gets the type of a hyperparameter and, for a list or map, the number of its elements.
 * `ret_count` may be NULL. */
DET_API det_status det_hparam_type(det_context *context, const char *path,
                                   enum det_type *ret_type, size_t *ret_count);
/* Writes any hyperparameter as JSON text, cut to `size` bytes including the NUL; an
 * empty path means all of them.  `ret_len` (may be NULL) is the length of the whole
 * text, as snprintf() counts. */
DET_API det_status det_hparam_json(det_context *context, const char *path, char *text,
                                   size_t size, size_t *ret_len);

/* ---- reports --------------------------------------------------------------------- */

/* det_report(), det_report_...(), det_set_status() and det_alert() accept or refuse a
 * report at once:
 * DET_BUSY     too much waits to be sent, or the disk is full; nothing was kept, and a
 *              later report may succeed
 * DET_INVALID  an argument is wrong; the message says which
 * DET_STATE    this task is not a trial, or this is a forked child
 *
 * `steps` counts the batches trained so far, the x axis of every curve; -1 means none.
 */

typedef struct det_metric {
    const char *name;
    double value; /* may be NaN or infinite */
} det_metric;

#define DET_GROUP_TRAINING   "training"
#define DET_GROUP_VALIDATION "validation"

/* Reports metrics of a group: "training", "validation", or a name of your own without a
 * dot.  Allocates no memory for up to 64 metrics.  A name may occur once per report,
 * and a second report for the same group and steps may only add names. */
DET_API det_status det_report(det_context *context, const char *group, int64_t steps,
                              const det_metric *metrics, size_t count);
/* Reports metrics of the group "training". */
DET_API det_status det_report_training(det_context *context, int64_t steps,
                                       const det_metric *metrics, size_t count);
/* Reports metrics of the group "validation", which searchers look at. */
DET_API det_status det_report_validation(det_context *context, int64_t steps,
                                         const det_metric *metrics, size_t count);
/* Reports metrics of any JSON type.  `metrics` is a JSON object; `batches` is a JSON
 * list with one object per batch, or NULL. "NaN", "Infinity" and "-Infinity" count as
 * numbers.  A validation metric must not be null. */
DET_API det_status det_report_json(det_context *context, const char *group,
                                   int64_t steps, const char *metrics,
                                   const char *batches);
/* Reports the progress of the trial, from 0 to 1. */
DET_API det_status det_report_progress(det_context *context, double progress);
/* Sets one word for what the trial is doing: "training", "validating", ... */
DET_API det_status det_set_status(det_context *context, const char *status);

enum det_exit_reason {
    DET_EXIT_INVALID_HP = 1,         /* training with these hyperparameters is
                                        impossible */
    DET_EXIT_INIT_INVALID_HP = 2,    /* ... and this was clear before training
                                        started */
    DET_EXIT_USER_REQUESTED_STOP = 3 /* the program is done; nothing is sent, and the
                                        trial counts as completed */
};

/* Reports why the trial ends early.  Exit with 0 after it: the searcher goes on without
 * this trial. */
DET_API det_status det_report_early_exit(det_context *context,
                                         enum det_exit_reason reason);

enum det_alert_level {
    DET_ALERT_DEBUG = 0,
    DET_ALERT_INFO = 1,
    DET_ALERT_WARN = 2,
    DET_ALERT_ERROR = 3
};

/* Sends a message to all subscribers of alerts; `description` may be NULL. */
DET_API det_status det_alert(det_context *context, enum det_alert_level level,
                             const char *title, const char *description);

/* Waits until the master has stored all reports accepted so far.  `timeout_ms` -1 means
 * no limit.  DET_TIMEOUT: not all are stored yet, but none is lost.  If the master has
 * refused a report of this context since the last call, returns the status of the
 * refusal (DET_EXISTS: other values for the same steps) and its message, once.  Only
 * the last few refusals are known here; the trial's log has them all.  Outside a task
 * reports stay where they are, and there is nothing to wait for.  In both cases it
 * first waits for a checkpoint that is being written, and returns its failure as
 * det_checkpoint_wait() does. */
DET_API det_status det_flush(det_context *context, int64_t timeout_ms);

/* ---- stopping -------------------------------------------------------------------- */

/* Returns 1 if the platform wants the slots back, else 0.  Then save a checkpoint, call
 * det_preempt_ack() and exit with 0.  It costs one read from memory, so ask after every
 * batch. */
DET_API int det_preempted(const det_context *context);

/* Confirms to the master that the request to stop was heard.  The end of the program
 * then counts as an interruption, not as the end of the trial.  Tries for `timeout_ms`
 * (0: one minute) while the master is away.  First waits for a checkpoint that is being
 * written; if that failed, returns its failure once and confirms nothing.  DET_STATE:
 * the platform has not asked this program to stop. */
DET_API det_status det_preempt_ack(det_context *context, int64_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
