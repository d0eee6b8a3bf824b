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
 *     det_trial trial = {sizeof(trial)};
 *
 *     trial.train_batch = train_batch;
 *     trial.evaluate = evaluate;
 *     trial.save = save;
 *     trial.load = load;
 *     return det_status_exit(det_fit_run(det, &trial, &model, NULL));
 *
 * A trial is a struct of functions.  det_fit_run() begins from the latest checkpoint,
 * trains as long as the configuration or the options say, reports, validates and saves
 * when det/trainer.h says so, and stops when the platform wants the slots back.  Killed
 * at any moment and run again, it does what an undisturbed run does, batch for batch:
 * its place, its averages and its random numbers are in every checkpoint, beside what
 * save() puts there.  A checkpoint that could not be written, because the disk is full,
 * ends the training at the next batch boundary, with its sentence; the one before is
 * still the latest.
 *
 * Several processes train together when the options have a group: each calls
 * det_fit_run() and trains its share of every batch, all the same number of batches.
 * Rank 0 reports the means over all ranks; evaluate_batch() is called for every batch
 * once, on one of the ranks, and evaluate() on each; the numbers of all ranks become
 * one, the same everywhere.  Whether to stop is decided by rank 0, or by any that calls
 * det_fit_stop(), and all stop at the same batch.  What one fails with ends it for all.
 *
 * On a cluster the experiment's configuration decides where it says something
 * (searcher.max_length, min_validation_period, min_checkpoint_period,
 * checkpoint_policy, perform_initial_validation, scheduling_unit, records_per_epoch,
 * the hyperparameter global_batch_size); the options fill in the rest. */
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

/* A training under way, lent to the functions of the trial. */
typedef struct det_fit det_fit;

/* Functions that are NULL are not called.  What a function returns but DET_OK ends the
 * training with that status. */
typedef struct det_trial {
    size_t size; /* sizeof(det_trial) */

    /* Trains the next batch.  Needed. */
    det_status (*train_batch)(void *self, det_fit *fit);
    /* Validates: the whole at once, or batch by batch (0 .. evaluate_batches - 1),
     * where the metrics of the batches are averaged. */
    det_status (*evaluate)(void *self, det_fit *fit);
    det_status (*evaluate_batch)(void *self, det_fit *fit, int64_t batch);
    int64_t evaluate_batches;
    /* Writes the state of the model with det_checkpoint_put() or into
     * det_checkpoint_path(), and reads it back.  The checkpoint is an overlapped one:
     * training goes on as soon as save() returns, and what was put was copied.  Every
     * rank saves, and the checkpoint holds the files of all: what several of them put
     * under one name must be the same, so that of a model that all have only rank 0
     * need put it. */
    det_status (*save)(void *self, det_checkpoint *checkpoint);
    det_status (*load)(void *self, const char *directory);

    det_status (*epoch_begin)(void *self, det_fit *fit);
    det_status (*epoch_end)(void *self, det_fit *fit);
    /* After a validation was reported. */
    det_status (*validated)(void *self, det_fit *fit, const det_metric *metrics,
                            size_t count);
    /* After a checkpoint was reported: at the first batch boundary after that, when
     * training has gone on.  A training that is to resume exactly changes nothing here.
     */
    det_status (*saved)(void *self, det_fit *fit, const char *uuid);

    /* Makes the model and its data, once, before anything else is called:
     * det_fit_context() has the hyperparameters, det_fit_group() the ranks. */
    det_status (*build)(void *self, det_fit *fit);
} det_trial;

/* Trains.  `options` (NULL: none) as far as the configuration is silent.  DET_OK: the
 * training is complete, or was interrupted because the platform asked for it. */
DET_API det_status det_fit_run(det_context *context, const det_trial *trial, void *self,
                               const det_trainer_options *options);

/* A number that describes this batch or, while validating, the model.  NaN counts. */
DET_API det_status det_fit_metric(det_fit *fit, const char *name, double value);
/* Ends the training at the next batch boundary, with a checkpoint; it counts as
 * complete: run again, it trains no more, unless max_length is another by then. */
DET_API void det_fit_stop(det_fit *fit);

/* Batches trained so far, complete epochs, and the place in the current one: what
 * train_batch() is to train is the batch of these numbers. */
DET_API int64_t det_fit_batches(const det_fit *fit);
DET_API int64_t det_fit_epochs(const det_fit *fit);
DET_API int64_t det_fit_epoch_position(const det_fit *fit);
/* The context that det_fit_run() was called with. */
DET_API det_context *det_fit_context(const det_fit *fit);

/* The processes that train together, as the options named them; NULL: none. */
DET_API det_distributed *det_fit_group(const det_fit *fit);

/* Random numbers that go on after a resume where they were: 64 bits, or 0 <= x < 1.
 * Every rank has its own. */
DET_API uint64_t det_fit_random(det_fit *fit);
DET_API double det_fit_uniform(det_fit *fit);

#ifdef __cplusplus
}
#endif

#endif
