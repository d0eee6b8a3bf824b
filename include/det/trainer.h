/* SPDX-License-Identifier: Apache-2.0 */
/* det/trainer.h - decides when a training loop reports, validates, saves and stops.
 *
 *     while (!(todo & DET_STOP)) {
 *         train_one_batch(&loss);
 *         det_trainer_metric(trainer, "loss", loss);
 *         todo = det_trainer_batch_end(trainer);
 *         if (todo & DET_REPORT) {
 *             size_t count = det_trainer_window(trainer, &names, &means);
 *
 *             report(names, means, count);
 *         }
 *         if (todo & DET_VALIDATE)
 *             todo |= det_trainer_validated(trainer, validate());
 *         if (todo & DET_CHECKPOINT)
 *             save();
 *     }
 *
 * At each batch boundary the trainer says which of these are due: closing the averaging
 * window and reporting it, validating, saving a checkpoint, stopping.  It knows the
 * length of the training, the periods, the checkpoint policy, and whether the platform
 * wants the slots back.  C programs (det_fit_run()), Keras and PyTorch all use it, so
 * one configuration means the same to all.
 *
 * Its state is a short text that belongs into the checkpoint.  A trainer that loads it
 * continues with the very next batch, with the same windows and periods, bit for bit.
 *
 * Threads: one thread at a time may use a trainer. */
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

/* A number of batches, records or epochs; with DET_NO_UNIT, not given. */
typedef struct det_length {
    int unit; /* enum det_unit */
    int64_t count;
} det_length;

/* ---- options --------------------------------------------------------------------- */

enum det_keep {
    DET_KEEP_BEST = 0, /* saves after a validation that is the best so far */
    DET_KEEP_ALL = 1,  /* saves after every validation */
    DET_KEEP_NONE = 2  /* saves only after the period and at the end */
};

typedef struct det_trainer_options {
    size_t size;                  /* sizeof(det_trainer_options) */
    det_length max_length;        /* of the whole training; required */
    det_length validation_period; /* none: only at the end */
    det_length checkpoint_period; /* none: only at the end */
    det_length reporting_period;  /* none: every 100 batches */
    int64_t batches_per_epoch;    /* 0: unknown; then det_trainer_epoch_end() counts */
    int64_t records_per_batch;    /* over all slots; 0: unknown */
    int keep;                     /* enum det_keep */
    int initial_validation;       /* validates before the first batch */
    int larger_is_better;         /* of the searcher's metric */
    /* The processes that train together (det/distributed.h); NULL: this one alone.
     * Only det_fit_run() uses it. */
    struct det_distributed *group;
} det_trainer_options;

/* What is due; flags that are combined. */
enum det_todo {
    DET_REPORT = 1,
    DET_VALIDATE = 2,
    DET_CHECKPOINT = 4,
    DET_STOP = 8,
    DET_EPOCH_END = 16 /* the batch was the last of its epoch */
};

/* ---- asking ---------------------------------------------------------------------- */

/* Replaces options by what the experiment's configuration says: the length
 * (`searcher.max_length`), the periods (`min_validation_period`,
 * `min_checkpoint_period`, and `scheduling_unit` for the reports), the checkpoint
 * policy, the initial validation, and whether a larger metric is better.  If the
 * program gives no records per batch or batches per epoch, they are computed from the
 * hyperparameter `global_batch_size` and from `records_per_epoch`.  Other options stay
 * as they are. det_fit_run() does this itself. */
DET_API det_status det_trainer_configure(struct det_context *context,
                                         det_trainer_options *options);
/* Makes a trainer.  `error` (may be NULL) receives the message of a failure.
 * DET_INVALID: a length in records without records_per_batch, no max_length, or a
 * negative count. */
DET_API det_status det_trainer_new(const det_trainer_options *options,
                                   det_trainer **ret_trainer, char *error,
                                   size_t error_size);
/* Frees a trainer.  NULL does nothing. */
DET_API void det_trainer_free(det_trainer *trainer);

/* Says what is due before the first batch: DET_VALIDATE if an initial validation is
 * wanted, DET_STOP if the training is complete already.  In a resumed training: the
 * validation and its report that were due when the training was asked to stop. */
DET_API unsigned det_trainer_begin(det_trainer *trainer);
/* Says what is due after a batch was trained. */
DET_API unsigned det_trainer_batch_end(det_trainer *trainer);
/* Says what is also due because the data ended an epoch.  For epochs of unknown length;
 * call it after det_trainer_batch_end(). */
DET_API unsigned det_trainer_epoch_end(det_trainer *trainer);
/* Tells the trainer the result of a validation: `metric` is the searcher's metric (NAN:
 * none).  Returns DET_CHECKPOINT if the policy wants this state saved. */
DET_API unsigned det_trainer_validated(det_trainer *trainer, double metric);
/* Tells the trainer that the current state was saved. */
DET_API void det_trainer_saved(det_trainer *trainer);
/* Asks for a stop at the next boundary.  Call it if the platform wants the slots back,
 * or if the program is done.  The next answer contains DET_STOP, and DET_CHECKPOINT if
 * something would be lost. */
DET_API void det_trainer_stop(det_trainer *trainer);

/* ---- averaging windows ----------------------------------------------------------- */

/* Adds a value of this batch to the window of `name`. */
DET_API det_status det_trainer_metric(det_trainer *trainer, const char *name,
                                      double value);
/* Returns the means of the window, and opens a new one.  They are in the order in which
 * the names first came.  The arrays are valid until the next call. */
DET_API size_t det_trainer_window(det_trainer *trainer, const char *const **ret_names,
                                  const double **ret_means);

/* ---- where we are ---------------------------------------------------------------- */

/* Batches trained so far. */
DET_API int64_t det_trainer_batches(const det_trainer *trainer);
/* Complete epochs so far. */
DET_API int64_t det_trainer_epochs(const det_trainer *trainer);
/* The next batch of the current epoch, from 0. */
DET_API int64_t det_trainer_epoch_position(const det_trainer *trainer);
/* The part of the training that is done, from 0 to 1. */
DET_API double det_trainer_progress(const det_trainer *trainer);

/* ---- state ----------------------------------------------------------------------- */

/* Returns the state as text, to be stored in a checkpoint.  Valid until the next call.
 */
DET_API det_status det_trainer_save(det_trainer *trainer, const char **ret_text);
/* Loads the state that det_trainer_save() returned; the options may differ (a longer
 * training).  DET_CORRUPT: the text is not a saved state; then nothing has changed. */
DET_API det_status det_trainer_load(det_trainer *trainer, const char *text);

#ifdef __cplusplus
}
#endif

#endif
