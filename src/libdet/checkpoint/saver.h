/* SPDX-License-Identifier: Apache-2.0 */
/* saver.h - saves checkpoints in the background.
 *
 * A context has at most one saver.  The first overlapped checkpoint makes it, and it
 * lives until the context is closed.  It holds one checkpoint at a time:
 *
 *            begin             commit            done
 *   FREE ------------> FILLING -------> BUSY ------------> FREE
 *                         |              | (of a group)
 *                         |              v
 *                         |            PARTED --joined---> FREE
 *                         |              ^
 *                         +-- give up ---+ (of a group; else leave --> FREE)
 *
 *   FREE     the memory is unused; the last outcome may wait to be collected
 *   FILLING  one thread copies into the memory
 *   BUSY     the saver's thread writes to disk (or prepares pages)
 *   PARTED   this rank's part is written, or has failed; the ranks have not met yet
 *
 * So there is one snapshot in memory and one checkpoint in flight; the next beginning
 * waits.  A failure is kept with its message and returned once: to the first caller that
 * waits, begins, flushes, or acknowledges a preemption.
 *
 * Copying: the caller and a few threads copy stripes of the bytes into memory whose
 * pages are kept (base/memory/snapshot.h).  Writing: a few threads write one file each,
 * and compute its checksum on the way.
 *
 * In a memory file system, and if the world brings its own executor, everything happens
 * on the caller's thread in the same order, because tests inject faults there. */
#ifndef LIBDET_CHECKPOINT_SAVER_H
#define LIBDET_CHECKPOINT_SAVER_H

#include "libdet/checkpoint/checkpoint_impl.h"

/* FREE -> FILLING: waits until it is free; makes the saver if needed.  Returns a
 * failure that was not returned yet, once.  DET_STATE: another checkpoint is being
 * filled, or a part waits for other ranks. */
det_status saver_begin(det_context *context, struct err *err);
/* FILLING -> FREE: discards the copies. */
void saver_leave(det_context *context);
/* Copies into the saver's memory.  Returns false if there is no room. */
bool saver_copy(det_context *context, uint64_t limit_bytes, const void *bytes,
                size_t len, uint64_t *ret_offset);
/* FILLING -> BUSY; takes the checkpoint. */
void saver_commit(det_context *context, det_checkpoint *checkpoint);
/* FILLING -> PARTED, with the error for the other ranks; takes the checkpoint. */
void saver_give_up(det_context *context, det_checkpoint *checkpoint,
                   const struct err *err);
/* Writes the copies into the draft; for the saver's thread. */
det_status saver_write(det_checkpoint *checkpoint, struct err *err);

/* Waits until nothing is being written, at most until `deadline_us` (monotonic; 0: no
 * limit).  Returns false at the deadline.  Does not collect the outcome. */
bool saver_is_quiet(det_context *context, int64_t deadline_us);
/* Returns the outcome if it was not returned yet, as det_checkpoint_wait() does. */
det_status saver_collect(det_context *context, det_checkpoint_outcome *ret_outcome,
                         struct err *err);
/* Whether a rank's part is being written or waits for the other ranks. */
bool saver_has_part(det_context *context);
/* The ranks that save it together. */
det_distributed *saver_group(det_context *context);
/* Returns that part, once it is written, and this rank's failure. */
det_checkpoint *saver_part(det_context *context, const struct err **ret_failed);
/* PARTED -> FREE, with the outcome of all ranks. */
void saver_joined(det_context *context, det_status status, const struct err *err);

/* For det_close(): waits, and frees everything. */
void saver_end(det_context *context, bool is_child);

#endif
