/* SPDX-License-Identifier: Apache-2.0 */
/* searcher.h - hyperparameter search as a pure decision procedure.
 *
 * A search method is told what happened to its trials and answers with the next
 * operations.  It never touches the database, the clock or the network; all randomness
 * comes from the seeded generator in `struct searcher`.  So the same seed and the same
 * inputs give the same operations.  Restoring a search after a restart of the master,
 * and the simulations, rely on this.
 *
 *   experiment --inputs--> searcher --operations--> experiment
 *
 * searcher.c does the bookkeeping that every method needs: how many trials were
 * requested, created, closed, failed, cancelled; progress; when the search is over.
 * Trials are numbered 0, 1, 2, ... in the order of their creation in the experiment.
 *
 * State: searcher_save() gives a snapshot (JSON text); searcher_load() restores it; the
 * experiment keeps the inputs since the last snapshot and replays them.
 *
 * To add another method: write NAME.c with a `const struct search_method`, add it to
 * the list in method.h, and its keys to config/keys/experiment_keys.c. */
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
    bool is_failure; /* SHUTDOWN: every trial failed, or the search gave up */
    bool is_cancel;  /* SHUTDOWN: every trial was cancelled by the user */
};

/* A sticky builder: the caller checks `status` once.  DET_INVALID (with err) means that
 * the search cannot go on, for instance because its metric is missing.  After a failure
 * the searcher has handled the input only in part: free it, or load its last snapshot.
 */
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
    SEARCH_EXIT_INVALID_HPARAMS, /* it reported that it cannot use these */
};

/* Random methods replace a trial with invalid hyperparameters, so the number of valid
 * ones is as configured; grid and single do not.  A search that finds only invalid ones
 * gives up: it creates nothing more and its shutdown is a failure.  It does so after
 * SEARCH_INVALID_LIMIT invalid trials in a row, times the number of open trials (at most
 * SEARCH_INVALID_LANES).  Another exit, or a validation, ends the row. */
enum { SEARCH_INVALID_LIMIT = 100, SEARCH_INVALID_LANES = 10 };

/* `searcher` and `hyperparameters` of a complete, checked experiment configuration;
 * borrows both trees for the life of the searcher.  DET_UNSUPPORTED for an unknown
 * method. */
det_status searcher_new(const struct json *searcher_config,
                        const struct json *hyperparameters, uint32_t seed,
                        struct searcher **ret_searcher, struct err *err);
void searcher_free(struct searcher *searcher);

/* The trials that searcher_start() will request, the bytes of the text of one trial's
 * hyperparameters (a sample; others may differ), and the bytes that the searcher holds. */
uint32_t searcher_first(const struct searcher *searcher);
det_status searcher_hparams_bytes(const struct searcher *searcher, size_t *ret_bytes);
size_t searcher_bytes(const struct searcher *searcher);

/* The inputs.  Each appends operations to `out`.  These are ignored: inputs about a trial
 * that was never requested or has exited; the creation of a trial that is created
 * already; validations of a stopped trial. */
void searcher_start(struct searcher *searcher, struct search_out *out);
void searcher_trial_created(struct searcher *searcher, uint32_t trial,
                            struct search_out *out);
/* `metrics`: the object of averaged validation metrics. */
void searcher_validated(struct searcher *searcher, uint32_t trial,
                        const struct json *metrics, struct search_out *out);
/* A second call for the same trial does nothing. */
void searcher_trial_exited(struct searcher *searcher, uint32_t trial,
                           enum search_exit why, struct search_out *out);
/* A trial that failed for good or was cancelled is open again.  Operations that its exit
 * caused are not taken back. */
void searcher_trial_reopened(struct searcher *searcher, uint32_t trial);
void searcher_set_progress(struct searcher *searcher, uint32_t trial, double progress);

/* 0..1; never NaN. */
double searcher_progress(const struct searcher *searcher);

/* Saves everything except the configuration, as JSON; the same state gives the same
 * text.  Load it into a searcher of the same configuration; it then continues as the
 * saved one would have.  After DET_CORRUPT or DET_NOMEM: load again, or free it. */
void searcher_save(const struct searcher *searcher, struct buf *out);
det_status searcher_load(struct searcher *searcher, const struct json *state,
                         struct err *err);

#endif
