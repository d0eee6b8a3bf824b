/* SPDX-License-Identifier: Apache-2.0 */
/* shard_impl.h - meetings: shard.c holds them, shard_meet.c carries them. */
#ifndef LIBDET_SHARD_IMPL_H
#define LIBDET_SHARD_IMPL_H

#include "libdet/shard.h"

struct buf;
struct json;

struct shard {
    det_distributed *group; /* borrowed, for meetings: it may be gone at the end */
    det_ranks ranks;
    const char *whole;     /* the draft of all; NULL: there is none yet */
    bool has_met;          /* the meetings of the end have begun */
    bool is_reported_only; /* published: what is missing is the report */
    bool is_reported;      /* rank 0: the master knows it, so that it stays */
    bool owes;             /* missed what was said, and has not told so */
    struct err failed;
};

/* Says `status` (with its sentence) and `body`, a JSON value, to all, and hears them:
 * `ret_bodies` is an array by rank in `mem`.  The status of the first rank that has
 * failed, with its sentence; the same for all, but for DET_NOMEM with `owes`. */
det_status shard_meet(struct shard *shard, det_status status, const struct err *said,
                      struct buf *body, struct arena *mem, struct json ***ret_bodies,
                      struct err *err);
/* Only rank 0 speaks. */
det_status shard_hear(struct shard *shard, det_status status, const struct err *said,
                      struct buf *body, struct arena *mem, struct json **ret_body,
                      struct err *err);

/* shard_join.c: 4 to 6.  `status` is what this rank brings along. */
det_status shard_join(det_checkpoint *checkpoint, det_status status,
                      const struct err *said, struct err *err);

#endif
