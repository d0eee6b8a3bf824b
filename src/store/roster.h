/* SPDX-License-Identifier: Apache-2.0 */
/* roster.h - the table of experiments: searched, filtered, sorted and counted in
 * memory.
 *
 *   writer's connection --row changed--> noted --commit--> changed --+
 *                                                                    v
 *   store_roster_find(): reads again what changed --> rows --> filter, count, choose
 * page
 *
 * A page of the table wants any of fifteen orders, any filter, a text that may stand
 * anywhere, and how many there are of each state: no index of the database answers that
 * without reading every row.  So what is sorted and filtered by (some 200 bytes an
 * experiment) is kept here, and a page costs one walk over it, a few milliseconds at
 * 100,000; the texts of the page are then read from the database.
 *
 * It is a cache and nothing else: it is filled from the database when somebody first
 * looks, holds what was committed only, and is thrown away and filled again whenever
 * something went wrong with it.  Whoever's write was answered finds it here.
 *
 * Threading: store_roster_find() from any thread, one at a time; the writer is never
 * kept waiting by it. */
#ifndef STORE_ROSTER_H
#define STORE_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"
#include "model/states.h"

struct arena;
struct db;
struct store;

/* What the table shows: ACTIVE is one of the running kinds, which follow the states. */
enum {
    ROSTER_QUEUED = EXPERIMENT_STATES,
    ROSTER_PULLING,
    ROSTER_STARTING,
    ROSTER_RUNNING,
    ROSTER_STATES
};
extern const char *const roster_state_names[]; /* ends with NULL */

enum roster_sort {
    ROSTER_BY_ID,
    ROSTER_BY_NAME,
    ROSTER_BY_STATE,
    ROSTER_BY_OWNER,
    ROSTER_BY_START,
    ROSTER_BY_END,
    ROSTER_BY_DURATION,
    ROSTER_BY_PROGRESS,
    ROSTER_BY_TRIALS,
    ROSTER_BY_BEST_METRIC,
    ROSTER_BY_SEARCHER,
    ROSTER_BY_POOL,
    ROSTER_BY_CHECKPOINT_SIZE,
    ROSTER_BY_CHECKPOINTS,
    ROSTER_BY_PRIORITY,
};
extern const char *const roster_sort_names[]; /* ends with NULL */

enum roster_archived { ROSTER_ALL, ROSTER_NOT_ARCHIVED, ROSTER_ARCHIVED };

struct roster_query {
    const char *search; /* anywhere in id, name, description or labels; NULL: all */
    uint32_t states;    /* a bit each; EXPERIMENT_ACTIVE: all running kinds; 0: all */
    struct field_strs users;     /* any of these */
    struct field_strs labels;    /* all of these */
    struct field_strs searchers; /* any of these */
    struct field_strs pools;     /* any of these */
    enum roster_archived archived;
    enum roster_sort sort; /* then by id; what has no value comes last either way */
    bool is_descending;
    int64_t offset; /* negative: from the end */
    int64_t limit;  /* 0: none, only counts; negative: all */
    int64_t now_us; /* how long those run that have not ended */
    bool with_values;
};

struct roster_value {
    const char *name;
    int64_t count;
};
struct roster_values {
    struct roster_value *at;
    size_t count;
};

struct roster_page {
    int64_t *ids; /* in order */
    size_t count;
    int64_t start;                 /* the first one's place */
    int64_t total;                 /* that match */
    int64_t all;                   /* experiments there are */
    int64_t states[ROSTER_STATES]; /* matches but for the filter by state */
    /* with_values: what could be filtered by, among all experiments, by name */
    struct roster_values users, labels, searchers, pools;
};

/* `db` is a reader.  Results in `mem`. */
det_status store_roster_find(struct store *store, struct db *db,
                             const struct roster_query *query, struct arena *mem,
                             struct roster_page *ret_page, struct err *err);

/* Fills it where nobody has looked yet, for somebody who is about to. */
void store_roster_warm(struct store *store);

/* ---- one row, as it is shown ----------------------------------------------------- */

enum { ROSTER_DESCRIPTION = 300 };

struct roster_view {
    int64_t id;
    enum experiment_state state;
    const char *name;
    const char *description; /* its first ROSTER_DESCRIPTION characters */
    int64_t description_length;
    int64_t notes_length;
    const char *labels; /* JSON list */
    int64_t owner_id;
    const char *username;
    int64_t start_us;
    int64_t end_us;
    double progress;
    int64_t trials;
    const char *searcher_type;
    const char *searcher_metric;
    bool smaller_is_better;
    int64_t best_trial_id; /* 0: none */
    bool has_best_metric;
    double best_metric;
    const char *resource_pool;
    bool is_archived;
    bool is_unmanaged;
    int64_t parent_id;
    int64_t checkpoint_size;
    int64_t checkpoint_count;
    int64_t priority;
    uint32_t live_state;
};
/* *ret_found false: it is gone. */
det_status store_roster_view(struct db *db, int64_t id, struct arena *mem,
                             struct roster_view *ret_view, bool *ret_found,
                             struct err *err);

/* Where it stands, for whoever acts on many.  DET_NOT_FOUND. */
struct experiment_standing {
    enum experiment_state state;
    bool is_unmanaged;
};
det_status store_experiment_standing(struct db *db, int64_t id,
                                     struct experiment_standing *ret_standing,
                                     struct err *err);

#endif
