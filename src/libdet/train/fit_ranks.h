/* SPDX-License-Identifier: Apache-2.0 */
/* fit_ranks.h - what several ranks exchange at a batch boundary, and how they average
 * their metrics.
 *
 * All ranks train in step: they know the same length, periods and validations, so their
 * trainers give the same answers.  Facts that only one rank knows (the platform wants
 * the slots back, the program wants to stop) are sent in an exchange, an allgather of
 * one short message:
 *
 *   place          where in the loop it is; must be the same for all ranks
 *   number         batches so far; must be the same for all ranks
 *   flags, bytes   the facts
 *
 * A rank that fails ends the group with its error.  The other ranks end with the same
 * status, wherever they are, and no rank waits.  Without a group all of this costs
 * nothing. */
#ifndef LIBDET_TRAIN_FIT_RANKS_H
#define LIBDET_TRAIN_FIT_RANKS_H

#include <stdbool.h>

#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "det/distributed.h"
#include "det/trial.h"

enum fit_place {
    FIT_BEGIN,
    FIT_LOADED,
    FIT_BATCH,
    FIT_WINDOW,
    FIT_VALIDATION,
    FIT_END,
};

enum fit_flag { FIT_ENOUGH = 1, FIT_PREEMPTED = 2 };

struct fit_ranks {
    det_context *context;
    det_distributed *group; /* NULL: a single process */
    int rank;
    int size;
};

void fit_ranks_init(struct fit_ranks *ranks, det_context *context,
                    det_distributed *group);

/* The message of one rank. */
struct fit_word {
    int place;
    int64_t number;
    unsigned flags; /* enum fit_flag */
    det_part bytes;
};

/* Sends a message and receives those of the others. *ret_flags has the flags that any
 * rank has set, but FIT_PREEMPTED only from rank 0; `ret_parts` (may be NULL) has the
 * bytes by rank, valid until the next exchange.  Without a group returns DET_OK at
 * once, with the caller's own bytes. */
det_status fit_ranks_exchange(struct fit_ranks *ranks, const struct fit_word *word,
                              unsigned *ret_flags, det_part *ret_parts);
/* The last exchange, or the notice of a failure. */
det_status fit_ranks_end(struct fit_ranks *ranks, int64_t number, det_status status);

/* ---- averages -------------------------------------------------------------------- */

struct fit_average {
    const char *name;
    double sum;
    int64_t count;
};

struct fit_averages {
    struct arena mem; /* of the names */
    VEC(struct fit_average) list;
};

det_status fit_averages_add(struct fit_averages *averages, const char *name, double sum,
                            int64_t count);
void fit_averages_clear(struct fit_averages *averages);
void fit_averages_done(struct fit_averages *averages);

/* Adds up the values of all ranks, in rank order, so the result has the same bits
 * everywhere. */
det_status fit_ranks_reduce(struct fit_ranks *ranks, int place, int64_t number,
                            struct fit_averages *averages);

#endif
