/* SPDX-License-Identifier: Apache-2.0 */
/* det/det.h - the library of det, whole.
 *
 *   det/trial.h       what a training program says and asks: its hyperparameters, its
 *                     metrics, whether it must stop
 *   det/checkpoint.h  saving and restoring its state
 *   det/trainer.h     when to report, validate, save and stop
 *   det/fit.h         the training loop around it
 *   det/profiler.h    what the machine does meanwhile, and where the time goes
 *   det/data.h        its data: sets, files of records, batches
 *   det/tensorboard.h event files for TensorBoard
 *   det/distributed.h what the processes of one training tell one another
 *   det/searcher.h    how long the search wants it to train
 *   det/metadata.h    notes that a trial keeps about itself
 *   det/client.h      calls to the master, for everything else
 *   det/status.h      how a call can end
 *
 * C99 and C++.  Handles are opaque.  Option structs begin with their own size, so that
 * they may grow: zero them, and set `size`.  Output parameters are written only on
 * success.  The library keeps no global state: two contexts or clients in one process
 * know nothing of one another. */
#ifndef DET_DET_H
#define DET_DET_H

#include "det/checkpoint.h"
#include "det/client.h"
#include "det/data.h"
#include "det/distributed.h"
#include "det/fit.h"
#include "det/metadata.h"
#include "det/profiler.h"
#include "det/searcher.h"
#include "det/status.h"
#include "det/tensorboard.h"
#include "det/trainer.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library: "0.1.0". */
DET_API const char *det_version(void);

#ifdef __cplusplus
}
#endif

#endif
