/* SPDX-License-Identifier: Apache-2.0 */
/* saver.h - checkpoints behind the caller's back.
 *
 * A context has at most one saver, made by the first checkpoint that overlaps training
 * and kept until the context ends.  It has one place, which goes through these states:
 *
 *   FREE     --begin-->   FILLING  --commit-->  BUSY  --done-->  FREE
 *     ^                      |                    |
 *     |                      +----- abort --------+--of a group-->  PARTED --joined-->
 * FREE
 *     +------------------------------------------------------------------------------+
 *
 *   FREE     nobody uses the memory; how the last one went may wait to be told
 *   FILLING  one thread copies into the memory
 *   BUSY     the saver's thread writes it to disk (or makes pages ready)
 *   PARTED   this rank's part is written, or has failed; the ranks have not met yet
 *
 * So there is one snapshot in memory at a time, and one checkpoint in flight; the next
 * beginning waits.  What failed is kept with its sentence until one caller was told:
 * whoever waits, begins, flushes, or acknowledges a preemption first.
 *
 * Copying: stripes of the bytes are copied by the caller and by a few threads, into
 * memory whose pages stay (base/snapshot.h).  Writing: one task a file, on a few
 * threads; each sums its bytes on the way.
 *
 * In a memory file system, and where the world brings its own executor, everything
 * happens on the caller's thread, in the same order: faults strike there. */
#ifndef LIBDET_SAVER_H
#define LIBDET_SAVER_H

#include "libdet/checkpoint_impl.h"

struct saver;

/* Waits until the place is free and takes it for a checkpoint to be filled; makes the
 * saver when there is none.  A failure that nobody was told of is returned, once.
 * DET_STATE: somebody fills it, or a part waits for other ranks. */
det_status saver_begin(det_context *context, struct err *err);
/* FILLING -> FREE: nothing is written. */
void saver_leave(det_context *context);
/* Copies into the saver's memory.  False: there is no room for it. */
bool saver_copy(det_context *context, uint64_t limit_bytes, const void *bytes,
                size_t len, uint64_t *ret_offset);
/* FILLING -> BUSY; takes the checkpoint. */
void saver_commit(det_context *context, det_checkpoint *checkpoint);
/* FILLING -> PARTED, with the sentence for the other ranks; takes the checkpoint. */
void saver_give_up(det_context *context, det_checkpoint *checkpoint,
                   const struct err *err);
/* Writes what lies in memory into the draft; for the saver's thread. */
det_status saver_write(det_checkpoint *checkpoint, struct err *err);

/* Waits until nothing is written, at most until `deadline_us` (monotonic; 0: for ever).
 * False: it is.  Tells nothing. */
bool saver_is_quiet(det_context *context, int64_t deadline_us);
/* The outcome that nobody was told of, as det_checkpoint_wait() has it. */
det_status saver_collect(det_context *context, det_checkpoint_outcome *ret_outcome,
                         struct err *err);
/* Whether a rank's part is being written, or waits for the others. */
bool saver_has_part(det_context *context);
/* The ranks it is shared with. */
det_distributed *saver_group(det_context *context);
/* That part, once it is quiet, and what this rank failed with. */
det_checkpoint *saver_part(det_context *context, const struct err **ret_failed);
/* PARTED -> FREE, with the outcome of all ranks. */
void saver_joined(det_context *context, det_status status, const struct err *err);

/* For det_close(): waits, and gives everything back. */
void saver_end(det_context *context, bool is_child);

#endif
