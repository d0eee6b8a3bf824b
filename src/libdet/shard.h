/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h - a checkpoint of several ranks.
 *
 * Every rank writes into a draft of its own, a part; the parts become one checkpoint by
 * moving files, not by copying them.  The ranks meet over det/distributed.h: each
 * meeting carries what every rank has to say and whether it has failed, so that all of
 * them go on, or all of them stop with the sentence of the first rank that failed.
 *
 *   begin    1. metadata and steps of all      merged; who contradicts is named
 *            2. rank 0 makes the draft of all  its place is told to all
 *            3. every rank makes its part, and sees that the draft of all is there
 *   commit   4. lists of all parts             files with size and CRC-32C, directories
 *            5. hashes of what several have    BLAKE2b: the same, or it is named
 *            6. every rank moves its files     of equal ones the lowest rank's
 *            7. rank 0 publishes and reports   and tells all how that went
 *
 * Parts lie beside the draft, under names that the next run and the agents know to be
 * leftovers.  A rank that gives up meets the others at 4 with its sentence.  A rank
 * that dies breaks the group: each call returns the group's sentence, and nobody waits.
 *
 * Out of memory a rank may miss what was said in a meeting that all others heard; it
 * says so in the next one (`owes`). */
#ifndef LIBDET_SHARD_H
#define LIBDET_SHARD_H

#include "libdet/checkpoint_impl.h"

/* All of the beginning. */
det_status shard_begin(det_context *context, const det_checkpoint_options *options,
                       det_checkpoint **ret_checkpoint, struct err *err);
/* All of the end, of one that is not overlapped. */
det_status shard_commit(det_checkpoint *checkpoint, struct err *err);
/* Tells the others that this rank gives up, unless it has met them. */
void shard_abort(det_checkpoint *checkpoint);
/* Removes this rank's part and, on rank 0, the whole, unless the master knows it. */
void shard_discard(det_checkpoint *checkpoint);
void shard_free(struct shard *shard); /* NULL does nothing */

det_distributed *shard_group(const struct shard *shard);
/* What this rank has failed with: the others are to hear it. */
void shard_failed(struct shard *shard, det_status status, const struct err *err);
/* That; DET_OK: nothing. */
det_status shard_has_failed(const struct shard *shard, struct err *err);
/* That, or that it gave up. */
const struct err *shard_failure(struct shard *shard);

/* The parts in the background become a checkpoint; all ranks are here.  DET_TIMEOUT:
 * one was not written by `deadline_us` (0: for ever). */
det_status shard_wait(det_context *context, int64_t deadline_us, struct err *err);

#endif
