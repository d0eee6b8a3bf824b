/* SPDX-License-Identifier: Apache-2.0 */
/* det/det.h - all of the library of det.
 *
 *   det/trial.h       reports, hyperparameters and stop requests of a training program
 *   det/checkpoint.h  saves and restores its state
 *   det/trainer.h     when to report, validate, save and stop
 *   det/fit.h         a training loop around it
 *   det/profiler.h    how busy the machine is meanwhile, and where the time goes
 *   det/data.h        data sets, files of records, batches
 *   det/tensorboard.h event files for TensorBoard
 *   det/media.h       pictures, sounds, texts, tables and histograms of a trial
 *   det/distributed.h messages between the processes that train together
 *   det/searcher.h    how long the search wants the trial to train
 *   det/metadata.h    notes that a trial keeps about itself
 *   det/client.h      calls to the master, for everything else
 *   det/status.h      the status codes
 *
 * For C99 and C++. Handles are opaque.  Option structs start with their own size, so
 * they can grow: zero them, and set `size`.  Output parameters are written only on
 * success.  The library has no global state: two contexts or clients in one process are
 * independent. */
#ifndef DET_DET_H
#define DET_DET_H

#include "det/checkpoint.h"
#include "det/client.h"
#include "det/data.h"
#include "det/distributed.h"
#include "det/fit.h"
#include "det/media.h"
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
