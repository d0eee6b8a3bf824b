/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h - a checkpoint of several ranks.
 *
 * Every rank writes into its own draft, a part.  The parts become one checkpoint by
 * moving files, not by copying them.  The ranks meet over det/distributed.h: in each
 * meeting every rank sends its data and whether it failed.  Then all go on, or all stop
 * with the message of the first rank that failed.
 *
 *   begin    1. metadata and steps of all      merged; a contradiction names the ranks
 *            2. rank 0 makes the whole draft   and sends its path to all
 *            3. every rank makes its part, and checks that it sees the whole draft
 *   commit   4. lists of all parts             files with size and CRC-32C, directories
 *            5. hashes of common files         BLAKE2b: must be equal, else it is named
 *            6. every rank moves its files     the lowest rank moves common ones
 *            7. rank 0 publishes and reports   and tells all the outcome
 *
 * Parts lie beside the draft, under names that the next run and the agents recognise as
 * leftovers.  A rank that gives up comes to meeting 4 with its error.  A rank that dies
 * breaks the group: each call returns the group's error, and no rank waits.
 *
 * A rank without memory may miss the content of a meeting that all others received; it
 * says so in the next one (`owes`). */
#ifndef LIBDET_CHECKPOINT_SHARD_H
#define LIBDET_CHECKPOINT_SHARD_H

#include "libdet/checkpoint/checkpoint_impl.h"

/* Meetings 1 to 3. */
det_status shard_begin(det_context *context, const det_checkpoint_options *options,
                       det_checkpoint **ret_checkpoint, struct err *err);
/* Meetings 4 to 7, for a checkpoint that is not overlapped. */
det_status shard_commit(det_checkpoint *checkpoint, struct err *err);
/* Tells the others that this rank gives up, unless meeting 4 has begun. */
void shard_abort(det_checkpoint *checkpoint);
/* Removes this rank's part and, on rank 0, the whole draft, unless the master knows it.
 */
void shard_discard(det_checkpoint *checkpoint);
void shard_free(struct shard *shard); /* NULL does nothing */

det_distributed *shard_group(const struct shard *shard);
/* Keeps this rank's failure for the other ranks. */
void shard_failed(struct shard *shard, det_status status, const struct err *err);
/* Returns that failure; DET_OK if there is none. */
det_status shard_has_failed(const struct shard *shard, struct err *err);
/* Returns that failure, or that this rank gave up. */
const struct err *shard_failure(struct shard *shard);

/* Turns the parts written in the background into a checkpoint; all ranks call it.
 * DET_TIMEOUT: a part was not written by `deadline_us` (0: no limit). */
det_status shard_wait(det_context *context, int64_t deadline_us, struct err *err);

#endif
