/* SPDX-License-Identifier: Apache-2.0 */
/* fit_ranks.h - a training of several processes from inside: what they tell each other
 * at a boundary, and how their numbers become one.
 *
 * All ranks train in step: each knows the same length, the same periods and the same
 * validations, so that their trainers say the same.  What only one of them can know
 * (the platform wants the slots back, a program has had enough) is
 * told in an exchange, an allgather of one short message:
 *
 *   place   where in the loop it is; all must be at the same
 *   number  batches so far; all must have trained as many
 *   flags, bytes   what there is to be told
 *
 * A rank that fails ends the group with its sentence, whatever the others are at: they
 * end with the same status, and nobody waits.  Without a group all of it costs
 * nothing. */
#ifndef LIBDET_FIT_RANKS_H
#define LIBDET_FIT_RANKS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
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
    det_distributed *group; /* NULL: a process alone */
    int rank;
    int size;
};

void fit_ranks_init(struct fit_ranks *ranks, det_context *context,
                    det_distributed *group);

/* What one rank has to tell. */
struct fit_word {
    int place;
    int64_t number;
    unsigned flags; /* enum fit_flag */
    det_part bytes;
};

/* Tells, and hears the others: those flags that any rank has set, but FIT_PREEMPTED of
 * rank 0 only; and the bytes by rank, which live until the next exchange
 * (`ret_parts` may be NULL).  DET_OK at once where there is no group: `parts` is then
 * the caller's own. */
det_status fit_ranks_exchange(struct fit_ranks *ranks, const struct fit_word *word,
                              unsigned *ret_flags, det_part *ret_parts);
/* The last exchange, or the news of a failure. */
det_status fit_ranks_end(struct fit_ranks *ranks, int64_t number, det_status status);

/* ---- numbers that become one ----------------------------------------------------- */

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

/* Adds up the numbers of all ranks, in their order, everywhere with the same bits. */
det_status fit_ranks_reduce(struct fit_ranks *ranks, int place, int64_t number,
                            struct fit_averages *averages);

#endif
