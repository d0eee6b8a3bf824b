/* SPDX-License-Identifier: Apache-2.0 */
/* method.h - what a search method is, and what it may use; private to this room.
 *
 * A method is a row of functions and a lump of private state in `searcher->state`.
 * It is told of each input after the bookkeeping around it (searcher.c) has been done,
 * and answers through search_create() and search_stop() and nothing else; the shutdown
 * at the end is not its business.  Rules:
 *
 *   1. decisions depend on the configuration, the inputs and `searcher->rng` only;
 *   2. an input costs no more with many trials than with few;
 *   3. save() writes all that load() needs to go on as if nothing had happened, and
 *      the same state always gives the same text. */
#ifndef SEARCH_METHOD_H
#define SEARCH_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"
#include "base/vec.h"
#include "search/searcher.h"

struct hparam;
struct json_writer;

/* Every method built, in the order of the documentation. */
#define SEARCH_METHOD_MAP(X)                                                           \
    X(single)                                                                          \
    X(random)                                                                          \
    X(grid)

struct search_method {
    const char *name;  /* the value of `searcher.name` */
    size_t state_size; /* bytes of private state, zeroed before init() */
    bool needs_grid;   /* hyperparameters must be countable: hparam_points() works */
    /* It draws another for a trial that exits with invalid hyperparameters.  Such a
     * search might never end: see search_gives_up() in searcher.c. */
    bool replaces_invalid;

    /* Reads searcher->config and ->space into the state. */
    det_status (*init)(struct searcher *s, struct err *err);
    /* Frees what the state owns; also after a failed init() or load().  NULL: nothing.
     */
    void (*done)(struct searcher *s);

    void (*start)(struct searcher *s, struct search_out *out);
    /* NULL: not interested.  `trial` runs and has not been told of before. */
    void (*trial_created)(struct searcher *s, uint32_t trial, struct search_out *out);
    /* NULL: not interested.  Never for a trial that was stopped or has exited. */
    void (*validated)(struct searcher *s, uint32_t trial, const struct json *metrics,
                      struct search_out *out);
    /* Once a trial, the last that is heard of it. */
    void (*trial_exited)(struct searcher *s, uint32_t trial, enum search_exit why,
                         struct search_out *out);
    /* NULL: the mean over the trials, those counted in that left() says will come. */
    double (*progress)(const struct searcher *s);
    uint32_t (*left)(const struct searcher *s); /* NULL: nobody can tell */

    /* The members of an object that is open; and back, over a state as init() left it.
     */
    void (*save)(const struct searcher *s, struct json_writer *w);
    det_status (*load)(struct searcher *s, const struct json *state, struct err *err);

    /* Pushes the rows of the preview on `trials` (search_preview_row()).  NULL: this
     * method has no preview. */
    void (*preview)(const struct searcher *s, struct arena *mem, struct json *trials);
};

/* Progress is summed in fixed point: no rounding error gathers however many reports
 * come, and a restored search sums up to the same.  2^-60 keeps every double from
 * 1/128 to 1 exactly. */
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
    void *state;                /* the method's own */
    struct rng rng;

    /* The bookkeeping; methods read at most. */
    VEC(struct search_trial) trials; /* all that were ever asked for, by number */
    uint32_t closed;
    uint32_t failures;
    uint32_t cancels;
    uint32_t counted;      /* trials in the mean progress */
    progress_sum progress; /* of those */
    uint32_t invalid_in_a_row;
    bool has_given_up;

    struct buf text;  /* scratch for the hyperparameters of a new trial */
    struct arena mem; /* what lives as long as the searcher */
};

/* Draws (or, for grid, takes at `point`) hyperparameters, a request id and a seed, and
 * asks for a trial with them.  Returns its number; SEARCH_NONE when there is none to
 * come: out has failed, or the search has given up. */
#define SEARCH_NONE UINT32_MAX
uint32_t search_create(struct searcher *s, struct search_out *out);
uint32_t search_create_at(struct searcher *s, uint64_t point, struct search_out *out);

/* Asks `trial` to end, once; nothing unless it runs. */
void search_stop(struct searcher *s, uint32_t trial, struct search_out *out);

/* The search cannot go on; the first reason is kept. */
void search_fail(struct search_out *out, det_status status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* A whole number of the searcher's configuration between `least` and 2^32 - 2; the
 * fallback, unless that is negative, when it is absent.  DET_INVALID. */
det_status search_config_u32(const struct searcher *s, const char *key, uint32_t least,
                             int64_t fallback, uint32_t *ret_value, struct err *err);
/* The same of a saved state, up to `most`.  DET_CORRUPT. */
det_status search_saved_u32(const struct json *state, const char *key, uint32_t most,
                            uint32_t *ret_value, struct err *err);

/* {"count": count, "unit": {"maxLength": true}}: `count` trials that train for as long
 * as their code says. */
void search_preview_row(struct arena *mem, struct json *trials, uint32_t count);

const struct search_method *search_method_find(const char *name); /* NULL: none */

#define SEARCH_METHOD_DECLARE(name_) extern const struct search_method search_##name_;
SEARCH_METHOD_MAP(SEARCH_METHOD_DECLARE)
#undef SEARCH_METHOD_DECLARE

#endif
