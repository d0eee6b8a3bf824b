/* SPDX-License-Identifier: Apache-2.0 */
/* latest_checkpoint.h - latest.json: the checkpoint that the next process starts from.
 *
 * The file lies in the run's folder.  Any process of the run writes it after a commit;
 * a process that starts reads it.  Without such a folder all three functions do
 * nothing. */
#ifndef LIBDET_CHECKPOINT_LATEST_CHECKPOINT_H
#define LIBDET_CHECKPOINT_LATEST_CHECKPOINT_H

#include <stdint.h>

#include "base/err.h"
#include "det/trial.h"

struct arena;

det_status latest_checkpoint_write(det_context *context, const char *uuid,
                                   int64_t steps, struct err *err);
/* Leaves the outputs unchanged if no checkpoint was saved yet.  DET_CORRUPT. */
det_status latest_checkpoint_read(det_context *context, struct arena *mem,
                                  const char **ret_uuid, int64_t *ret_steps,
                                  struct err *err);
/* Removes the file: the checkpoint it names was deleted. */
det_status latest_checkpoint_forget(det_context *context, struct err *err);

#endif
