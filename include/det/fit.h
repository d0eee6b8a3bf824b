/* SPDX-License-Identifier: Apache-2.0 */
/* det/fit.h - the training loop for C programs.
 *
 *     static det_status train_batch(void *self, det_fit *fit)
 *     {
 *         struct model *model = self;
 *
 *         det_fit_metric(fit, "loss", step(model, det_fit_batches(fit)));
 *         return DET_OK;
 *     }
 *     ...
 *     det_trial trial = {0};
 *
 *     trial.size = sizeof(trial);
 *     trial.train_batch = train_batch;
 *     trial.evaluate = evaluate;
 *     trial.save = save;
 *     trial.load = load;
 *     return det_status_exit(det_fit_run(det, &trial, &model, NULL));
 *
 * A trial is a struct of functions. det_fit_run() starts from the latest checkpoint,
 * trains as long as the configuration or the options say, reports, validates and saves
 * when det/trainer.h says so, and stops when the platform wants the slots back.  If the
 * program is killed at any moment and run again, it does the same as an undisturbed
 * run, batch for batch: every checkpoint holds its position, its averages and its
 * random numbers, beside what save() adds.  If a checkpoint cannot be written, for
 * example because the disk is full, training ends at the next batch boundary with that
 * failure; the checkpoint before it is still the latest.
 *
 * Several processes train together if the options have a group: each calls
 * det_fit_run() and trains its share of every batch, all the same number of batches.
 * evaluate_batch() is called once per batch, on one of the ranks; evaluate() is called
 * on each rank.  Metrics are averaged over all ranks, all ranks see the same result,
 * and rank 0 reports it.  Rank 0 decides when the platform's request to stop takes
 * effect; any rank may call det_fit_stop().  All stop at the same batch.  If one rank
 * fails, all ranks end with its failure.
 *
 * On a cluster the experiment's configuration has priority (searcher.max_length,
 * min_validation_period, min_checkpoint_period, checkpoint_policy,
 * perform_initial_validation, scheduling_unit, records_per_epoch, and the
 * hyperparameter global_batch_size); the options fill in the rest. */
#ifndef DET_FIT_H
#define DET_FIT_H

#include <stdint.h>

#include "det/checkpoint.h"
#include "det/distributed.h"
#include "det/status.h"
#include "det/trainer.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A training under way; valid inside the functions of the trial. */
typedef struct det_fit det_fit;

/* Functions that are NULL are not called.  A function that returns anything but DET_OK
 * ends the training with that status. */
typedef struct det_trial {
    size_t size; /* sizeof(det_trial) */

    /* Trains the next batch.  Required. */
    det_status (*train_batch)(void *self, det_fit *fit);
    /* Validate: evaluate() does all of it, or evaluate_batch() one batch at a time (0
     * .. evaluate_batches - 1), and the metrics of the batches are averaged. */
    det_status (*evaluate)(void *self, det_fit *fit);
    det_status (*evaluate_batch)(void *self, det_fit *fit, int64_t batch);
    int64_t evaluate_batches;
    /* save() writes the state of the model with det_checkpoint_put() or into
     * det_checkpoint_path(); load() reads it back.  The checkpoint overlaps training:
     * det_checkpoint_put() copies, and training goes on as soon as save() returns.
     * Every rank saves, and the checkpoint holds the files of all ranks.  Files that
     * several ranks put under one name must be equal, so for a model that all ranks
     * share it is enough that rank 0 puts it. */
    det_status (*save)(void *self, det_checkpoint *checkpoint);
    det_status (*load)(void *self, const char *directory);

    det_status (*epoch_begin)(void *self, det_fit *fit);
    det_status (*epoch_end)(void *self, det_fit *fit);
    /* Called after a validation was reported. */
    det_status (*validated)(void *self, det_fit *fit, const det_metric *metrics,
                            size_t count);
    /* Called after a checkpoint was reported, at the next batch boundary, when training
     * has already gone on.  To make runs resume exactly, change no state here. */
    det_status (*saved)(void *self, det_fit *fit, const char *uuid);

    /* Makes the model and its data, once, before any other function: use
     * det_fit_context() for the hyperparameters and det_fit_group() for the ranks. */
    det_status (*build)(void *self, det_fit *fit);
} det_trial;

/* Runs the training.  `options` (NULL: none) apply where the configuration says
 * nothing.  DET_OK: the training is complete, or the platform asked it to stop. */
DET_API det_status det_fit_run(det_context *context, const det_trial *trial, void *self,
                               const det_trainer_options *options);

/* Adds a metric of this batch or, while validating, of the model.  NaN is a value too.
 */
DET_API det_status det_fit_metric(det_fit *fit, const char *name, double value);
/* Ends the training at the next batch boundary, with a checkpoint.  The training then
 * counts as complete: a later run trains no more, unless max_length has changed. */
DET_API void det_fit_stop(det_fit *fit);

/* Batches trained so far, complete epochs, or the batch in the current epoch: the
 * numbers of the batch that train_batch() trains next. */
DET_API int64_t det_fit_batches(const det_fit *fit);
DET_API int64_t det_fit_epochs(const det_fit *fit);
DET_API int64_t det_fit_epoch_position(const det_fit *fit);
/* The context that det_fit_run() was called with. */
DET_API det_context *det_fit_context(const det_fit *fit);

/* The processes that train together, as given in the options; NULL: none. */
DET_API det_distributed *det_fit_group(const det_fit *fit);

/* Returns a random number, of 64 bits or with 0 <= x < 1.  A resumed run continues the
 * sequence.  Every rank has its own. */
DET_API uint64_t det_fit_random(det_fit *fit);
DET_API double det_fit_uniform(det_fit *fit);

#ifdef __cplusplus
}
#endif

#endif
