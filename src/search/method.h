/* SPDX-License-Identifier: Apache-2.0 */
/* method.h - what a search method is, and what it may use; private to this room.
 *
 * A method is a table of functions and private state in `searcher->state`.  It gets each
 * input after searcher.c has done its bookkeeping, and answers only through
 * search_create() and search_stop(); searcher.c shuts the search down.  Rules:
 *
 *   1. decisions depend on the configuration, the inputs and `searcher->rng` only;
 *   2. the cost of an input does not grow with the number of trials;
 *   3. save() writes all that load() needs to continue, and the same state always gives
 *      the same text. */
#ifndef SEARCH_METHOD_H
#define SEARCH_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "search/searcher.h"

struct hparam;
struct json_writer;

/* All methods, in the order of the documentation. */
#define SEARCH_METHOD_MAP(X)                                                           \
    X(single)                                                                          \
    X(random)                                                                          \
    X(grid)

struct search_method {
    const char *name;  /* the value of `searcher.name` */
    size_t state_size; /* bytes of private state, zeroed before init() */
    bool needs_grid;   /* every hyperparameter has a count: hparam_points() works */
    /* It replaces a trial that exits with invalid hyperparameters.  Such a search might
     * never end: see search_gives_up() in searcher.c. */
    bool replaces_invalid;

    /* Reads searcher->config and ->space into the state. */
    det_status (*init)(struct searcher *s, struct err *err);
    /* Frees what the state owns; also called after a failed init() or load().  May be
     * NULL. */
    void (*done)(struct searcher *s);

    void (*start)(struct searcher *s, struct search_out *out);
    uint32_t (*first)(const struct searcher *s); /* trials that start() creates */
    /* May be NULL.  Called once per trial, when it runs. */
    void (*trial_created)(struct searcher *s, uint32_t trial, struct search_out *out);
    /* May be NULL.  Never called for a trial that was stopped or has exited. */
    void (*validated)(struct searcher *s, uint32_t trial, const struct json *metrics,
                      struct search_out *out);
    /* Called once per trial, as its last input. */
    void (*trial_exited)(struct searcher *s, uint32_t trial, enum search_exit why,
                         struct search_out *out);
    /* NULL: the mean over all trials, including those that left() announces. */
    double (*progress)(const struct searcher *s);
    uint32_t (*left)(
        const struct searcher *s); /* trials still to come; NULL: unknown */

    /* save() writes the members of an open object; load() reads them into a state that
     * init() made. */
    void (*save)(const struct searcher *s, struct json_writer *w);
    det_status (*load)(struct searcher *s, const struct json *state, struct err *err);

    /* Appends the rows of the preview to `trials` (search_preview_row()).  NULL: the
     * method has no preview. */
    void (*preview)(const struct searcher *s, struct arena *mem, struct json *trials);
};

/* The sum of progress is fixed-point: rounding errors do not accumulate, and a restored
 * search has the same sum.  2^-60 represents every double from 1/128 to 1 exactly. */
enum { PROGRESS_BITS = 60 };
__extension__ typedef unsigned __int128 progress_sum;

struct search_trial {
    uint64_t progress; /* in units of 2^-PROGRESS_BITS, as last reported */
    uint8_t phase;     /* enum trial_phase in searcher.c */
};

struct searcher {
    const struct search_method *method;
    const struct json *config;  /* borrowed: `searcher` of the configuration */
    const struct hparam *space; /* in `mem` */
    void *state;                /* private to the method */
    struct rng rng;

    /* The bookkeeping; methods only read it. */
    VEC(struct search_trial) trials; /* all that were ever requested, by number */
    uint32_t closed;
    uint32_t failures;
    uint32_t cancels;
    uint32_t counted;      /* trials in the mean progress */
    progress_sum progress; /* of those */
    uint32_t invalid_in_a_row;
    bool has_given_up;

    struct buf text;  /* scratch for the hyperparameters of a new trial */
    struct arena mem; /* lives as long as the searcher */
};

/* Requests a trial with new hyperparameters (a random sample, or those of `point`), a
 * request id and a seed.  Returns its number, or SEARCH_NONE if `out` has failed or the
 * search has given up. */
#define SEARCH_NONE UINT32_MAX
uint32_t search_create(struct searcher *s, struct search_out *out);
uint32_t search_create_at(struct searcher *s, uint64_t point, struct search_out *out);

/* Asks `trial` to end; does nothing unless it runs.  For methods that stop trials early;
 * the methods of today do not call it. */
void search_stop(struct searcher *s, uint32_t trial, struct search_out *out);

/* The search cannot go on; the first reason is kept. */
void search_fail(struct search_out *out, det_status status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* A whole number of the searcher's configuration between `least` and 2^32 - 2.  If it is
 * absent: `fallback`, unless that is negative.  DET_INVALID. */
det_status search_config_u32(const struct searcher *s, const char *key, uint32_t least,
                             int64_t fallback, uint32_t *ret_value, struct err *err);
/* The same of a saved state, up to `most`.  DET_CORRUPT. */
det_status search_saved_u32(const struct json *state, const char *key, uint32_t most,
                            uint32_t *ret_value, struct err *err);

#define SEARCH_METHOD_DECLARE(name_) extern const struct search_method search_##name_;
SEARCH_METHOD_MAP(SEARCH_METHOD_DECLARE)
#undef SEARCH_METHOD_DECLARE

#endif
