/* SPDX-License-Identifier: Apache-2.0 */
/* searcher.h - hyperparameter search as a pure decision procedure.
 *
 * A search method is told what happened to its trials and answers with the operations
 * it wants next.  It never touches the database, the clock or the network; all
 * randomness comes from the seeded generator in `struct searcher`.  The same seed and
 * the same inputs therefore give the same operations, which is what makes restore after
 * a master's restart and the simulations possible.
 *
 *   experiment --inputs--> searcher --operations--> experiment
 *
 * The bookkeeping that every method needs (how many were asked for, created, closed,
 * failed, cancelled; progress; when the search is over) is done once, here, around the
 * method.  Trials are numbered 0, 1, 2, ... in the order of their creation within the
 * experiment.
 *
 * State: searcher_save() gives a snapshot (JSON text); searcher_load() restores it; the
 * experiment keeps the inputs since the last snapshot and replays them.
 *
 * To add another method: write NAME.c with a `const struct search_method`, add it to
 * the list in method.h, and its keys to config/experiment_keys.c. */
#ifndef SEARCH_SEARCHER_H
#define SEARCH_SEARCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

struct arena;
struct json;
struct buf;
struct searcher;

enum search_op_kind {
    SEARCH_CREATE,   /* start a new trial with these hyperparameters */
    SEARCH_STOP,     /* end `trial` gracefully: it has trained enough */
    SEARCH_SHUTDOWN, /* the search is over */
};

struct search_op {
    enum search_op_kind kind;
    uint32_t trial;             /* CREATE, STOP */
    char request_id[UUID_TEXT]; /* CREATE: drawn from the generator */
    uint32_t trial_seed;        /* CREATE */
    const char *hparams;        /* CREATE: JSON text, in the arena of search_out */
    bool is_failure;            /* SHUTDOWN: every trial failed, or it gave up */
    bool is_cancel;             /* SHUTDOWN: every trial was cancelled by the user */
};

/* A sticky builder: methods cannot fail halfway; the experiment asks `status` once.
 * DET_INVALID (with err) means that the search itself cannot go on, for instance for
 * want of its metric.  After a failure the searcher has done half of what the input
 * asked for: free it, or load its last snapshot. */
struct search_out {
    struct arena *mem;
    struct search_op *op;
    uint32_t count;
    uint32_t cap;
    det_status status;
    struct err err;
};

enum search_exit {
    SEARCH_EXIT_DONE,            /* it finished by itself, or was stopped by us */
    SEARCH_EXIT_ERRORED,         /* it failed for good */
    SEARCH_EXIT_CANCELED,        /* the user killed or cancelled it */
    SEARCH_EXIT_INVALID_HPARAMS, /* it said that it cannot work with these */
};

/* Methods that draw at random replace a trial of invalid hyperparameters, so that the
 * number of valid ones is as configured; grid and single do not.  Lest a search go on
 * for ever, it gives up (creates nothing more; its shutdown is a failure) after
 * SEARCH_INVALID_LIMIT invalid trials in a row for each one open at a time, of which at
 * most SEARCH_INVALID_LANES count; another exit, or a validation, ends the row. */
enum { SEARCH_INVALID_LIMIT = 100, SEARCH_INVALID_LANES = 10 };

/* `searcher` and `hyperparameters` of a complete, checked experiment configuration;
 * borrows both trees for the life of the searcher.  DET_UNSUPPORTED for a method that
 * is not built. */
det_status searcher_new(const struct json *searcher_config,
                        const struct json *hyperparameters, uint32_t seed,
                        struct searcher **ret_searcher, struct err *err);
void searcher_free(struct searcher *searcher);

/* The inputs.  Each appends what it wants to `out`.  What makes no sense is ignored: a
 * trial that was never asked for, or that was said to be created before; validations
 * of a trial that was stopped; anything of one that has exited. */
void searcher_start(struct searcher *searcher, struct search_out *out);
void searcher_trial_created(struct searcher *searcher, uint32_t trial,
                            struct search_out *out);
/* `metrics`: the object of averaged validation metrics. */
void searcher_validated(struct searcher *searcher, uint32_t trial,
                        const struct json *metrics, struct search_out *out);
/* Once a trial; a second call for the same trial does nothing. */
void searcher_trial_exited(struct searcher *searcher, uint32_t trial,
                           enum search_exit why, struct search_out *out);
/* A trial that failed for good or was cancelled goes on after all: it is open again.
 * What its exit made the method ask for stays asked for. */
void searcher_trial_reopened(struct searcher *searcher, uint32_t trial);
void searcher_set_progress(struct searcher *searcher, uint32_t trial, double progress);

/* 0..1; never NaN. */
double searcher_progress(const struct searcher *searcher);

/* Everything but the configuration, as JSON; the same state gives the same text.  Load
 * into a searcher made of the same configuration, which then goes on as the saved one
 * would have.  DET_CORRUPT or DET_NOMEM: it is good for another load, or to be freed.
 */
void searcher_save(const struct searcher *searcher, struct buf *out);
det_status searcher_load(struct searcher *searcher, const struct json *state,
                         struct err *err);

/* What the search would create: [{"count":..,"unit":{...}}] of the preview call.
 * DET_INVALID for a method that has no preview. */
det_status searcher_preview(const struct json *searcher_config,
                            const struct json *hyperparameters, struct arena *mem,
                            struct json **ret_trials, struct err *err);

/* The names of all methods built, ends with NULL. */
const char *const *searcher_names(void);

#endif
