/* SPDX-License-Identifier: Apache-2.0 */
/* shard_impl.h - what shard.c, shard_join.c and shard_meet.c share. */
#ifndef LIBDET_CHECKPOINT_SHARD_IMPL_H
#define LIBDET_CHECKPOINT_SHARD_IMPL_H

#include "libdet/checkpoint/shard.h"

struct buf;
struct json;

struct shard {
    det_distributed *group; /* borrowed, for meetings; may be gone at the end */
    det_ranks ranks;
    const char *whole;     /* the draft of all ranks; NULL: none yet */
    bool has_met;          /* meeting 4 has begun */
    bool is_reported_only; /* published: only the report is missing */
    bool is_reported;      /* rank 0: the master knows it, so it must stay */
    bool owes;             /* missed the content of a meeting and has not said so yet */
    struct err failed;
};

/* Sends `status` (with its message) and `body`, a JSON value, to all, and receives
 * theirs: `ret_bodies` is an array by rank in `mem`.  Returns the failure of the first
 * rank that failed; the same for all, except for DET_NOMEM with `owes`. */
det_status shard_meet(struct shard *shard, det_status status, const struct err *said,
                      struct buf *body, struct arena *mem, struct json ***ret_bodies,
                      struct err *err);
/* The same, but only rank 0 sends. */
det_status shard_hear(struct shard *shard, det_status status, const struct err *said,
                      struct buf *body, struct arena *mem, struct json **ret_body,
                      struct err *err);

/* Meetings 4 to 6.  `status` is the outcome of this rank so far. */
det_status shard_join(det_checkpoint *checkpoint, det_status status,
                      const struct err *said, struct err *err);

#endif
