/* SPDX-License-Identifier: Apache-2.0 */
/* det/trainer.h - what now?  The question of every training loop, answered in one
 * place.
 *
 *     while (!(todo & DET_STOP)) {
 *         train_one_batch(&loss);
 *         det_trainer_metric(trainer, "loss", loss);
 *         todo = det_trainer_batch_end(trainer);
 *         if (todo & DET_REPORT)
 *             det_trainer_report(trainer);
 *         if (todo & DET_VALIDATE)
 *             todo |= det_trainer_validated(trainer, validate());
 *         if (todo & DET_CHECKPOINT)
 *             save();
 *     }
 *
 * At each batch boundary the trainer says which of these are due: closing the averaging
 * window and reporting it, validating, saving a checkpoint, stopping.  It knows the
 * length of the training, the periods, the checkpoint policy and whether the platform
 * wants the slots back.  C programs (det_fit()), Keras and PyTorch all ask it, so that
 * one configuration means the same to each.
 *
 * Its state is a short text that belongs into the checkpoint: a trainer that reads it
 * goes on with the very next batch, its windows and periods as they were, bit for bit.
 *
 * Threads: a trainer belongs to one thread at a time. */
#ifndef DET_TRAINER_H
#define DET_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_trainer det_trainer;
struct det_context;
struct det_distributed;

/* ---- lengths --------------------------------------------------------------------- */

enum det_unit { DET_NO_UNIT = 0, DET_BATCHES = 1, DET_RECORDS = 2, DET_EPOCHS = 3 };

/* So many batches, records or epochs; with DET_NO_UNIT nothing was said. */
typedef struct det_length {
    int unit; /* enum det_unit */
    int64_t count;
} det_length;

/* ---- options --------------------------------------------------------------------- */

enum det_keep {
    DET_KEEP_BEST = 0, /* a validation that is the best so far is saved */
    DET_KEEP_ALL = 1,  /* every validation is saved */
    DET_KEEP_NONE = 2  /* only the periods count, and the end */
};

typedef struct det_trainer_options {
    size_t size;                  /* sizeof(det_trainer_options) */
    det_length max_length;        /* of the whole training; must be given */
    det_length validation_period; /* none: only at the end */
    det_length checkpoint_period; /* none: only at the end */
    det_length reporting_period;  /* none: every 100 batches */
    int64_t batches_per_epoch; /* 0: not known; then det_trainer_epoch_end() counts */
    int64_t records_per_batch; /* over all slots; 0: not known */
    int keep;                  /* enum det_keep */
    int initial_validation;    /* validates before the first batch */
    int larger_is_better;      /* of the searcher's metric */
    /* The processes that train together (det/distributed.h); NULL: this one alone.
     * det_fit_run() looks at it, the trainer does not. */
    struct det_distributed *group;
} det_trainer_options;

/* What is due; a set of bits. */
enum det_todo {
    DET_REPORT = 1,
    DET_VALIDATE = 2,
    DET_CHECKPOINT = 4,
    DET_STOP = 8,
    DET_EPOCH_END = 16 /* the batch was the last of its epoch */
};

/* ---- asking ---------------------------------------------------------------------- */

/* Puts what the experiment's configuration says over what the program says: the length
 * (`searcher.max_length`), the periods (`min_validation_period`,
 * `min_checkpoint_period`, and `scheduling_unit` of the reports), the checkpoint
 * policy, the initial validation, which way the searcher's metric is better.  Where the
 * program does not say how many records a batch and batches an epoch have, they follow
 * from `global_batch_size` of the hyperparameters and `records_per_epoch`.  What the
 * configuration is silent about stays.  det_fit_run() does this by itself. */
DET_API det_status det_trainer_configure(struct det_context *context,
                                         det_trainer_options *options);
/* Makes a trainer.  `error` (may be NULL) gets a sentence when it fails.  DET_INVALID:
 * a length in records without records_per_batch, no max_length, a count below zero. */
DET_API det_status det_trainer_new(const det_trainer_options *options,
                                   det_trainer **ret_trainer, char *error,
                                   size_t error_size);
/* Frees a trainer.  NULL does nothing. */
DET_API void det_trainer_free(det_trainer *trainer);

/* What is due before the first batch: DET_VALIDATE where an initial validation was
 * asked for, DET_STOP where the training is complete already.  When training goes on:
 * the validation (and with it the report) that was due when somebody asked to stop. */
DET_API unsigned det_trainer_begin(det_trainer *trainer);
/* A batch was trained. */
DET_API unsigned det_trainer_batch_end(det_trainer *trainer);
/* The data ended an epoch, where its length was not known; after
 * det_trainer_batch_end(). Adds to what that said. */
DET_API unsigned det_trainer_epoch_end(det_trainer *trainer);
/* The validation that was due gave `metric` for the searcher's metric (NAN: none). Says
 * DET_CHECKPOINT where the policy wants this state. */
DET_API unsigned det_trainer_validated(det_trainer *trainer, double metric);
/* The state as it is now was saved. */
DET_API void det_trainer_saved(det_trainer *trainer);
/* Training must stop at the next boundary: the platform wants the slots back, or the
 * program itself has had enough.  The next answer says DET_STOP, and DET_CHECKPOINT
 * where something would be lost. */
DET_API void det_trainer_stop(det_trainer *trainer);

/* ---- averaging windows ----------------------------------------------------------- */

/* Adds a value of this batch to the window of `name`. */
DET_API det_status det_trainer_metric(det_trainer *trainer, const char *name,
                                      double value);
/* The means since the window was opened, in the order the names first came; then a new
 * window begins.  The arrays live until the next call. */
DET_API size_t det_trainer_window(det_trainer *trainer, const char *const **ret_names,
                                  const double **ret_means);

/* ---- where we are ---------------------------------------------------------------- */

/* Batches trained so far. */
DET_API int64_t det_trainer_batches(const det_trainer *trainer);
/* Complete epochs so far. */
DET_API int64_t det_trainer_epochs(const det_trainer *trainer);
/* The batch of the current epoch that comes next, from 0. */
DET_API int64_t det_trainer_epoch_position(const det_trainer *trainer);
/* How much of the training is done, from 0 to 1. */
DET_API double det_trainer_progress(const det_trainer *trainer);

/* ---- state ----------------------------------------------------------------------- */

/* The state as text, as it is to lie in a checkpoint.  Lives until the next call. */
DET_API det_status det_trainer_save(det_trainer *trainer, const char **ret_text);
/* Goes on from what det_trainer_save() wrote; the options may differ (a longer
 * training). DET_CORRUPT: not such a text; then nothing has changed. */
DET_API det_status det_trainer_load(det_trainer *trainer, const char *text);

#ifdef __cplusplus
}
#endif

#endif
