/* SPDX-License-Identifier: Apache-2.0 */
/* roster_find.h - a page of the table of experiments: searched, filtered, sorted and
 * counted in memory.
 *
 * roster.h says how it works.  A page of results holds ids only; roster_view.h reads
 * the texts of each.
 *
 * Threading: store_roster_find() from any thread, one at a time; it never makes the
 * writer wait. */
#ifndef STORE_ROSTER_ROSTER_FIND_H
#define STORE_ROSTER_ROSTER_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/field.h"
#include "model/states.h"

struct arena;
struct db;
struct query_cell;
struct roster;
struct store;
struct table_query;

/* The table shows one of these states in place of ACTIVE. */
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
    struct field_strs users;           /* any of these */
    struct field_strs labels;          /* all of these */
    struct field_strs searchers;       /* any of these */
    struct field_strs pools;           /* any of these */
    const struct field_i64s *projects; /* only these, ascending; NULL: all.  The others
                                        * are not counted anywhere. */
    enum roster_archived archived;
    struct table_query *filter; /* NULL: none; the search binds it to its columns */
    enum roster_sort
        sort; /* then by id; rows without a value come last in either direction */
    const char
        *sort_column; /* a hyperparameter or metric, instead of `sort`, or NULL */
    struct field_strs cells; /* these columns of each result, see roster_query.h */
    bool is_descending;
    int64_t offset; /* negative: from the end */
    int64_t limit;  /* 0: none, only counts; negative: all */
    int64_t now_us; /* for the duration of running experiments */
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
    struct query_cell *cells;      /* `count` times the wanted columns */
    int64_t start;                 /* the place of the first */
    int64_t total;                 /* matches */
    int64_t all;                   /* all experiments */
    int64_t states[ROSTER_STATES]; /* matches without the filter by state */
    /* with_values: the values that filters can have, of all experiments, by name */
    struct roster_values users, labels, searchers, pools;
};

/* `db` is a reader.  Results in `mem`. */
det_status store_roster_find(struct store *store, struct db *db,
                             const struct roster_query *query, struct arena *mem,
                             struct roster_page *ret_page, struct err *err);

/* Fills the roster before its first reader needs it. */
void store_roster_warm(struct store *store);

/* Calls `visit` for each row that passes all filters but that by state; `has_state` says
 * whether it passes that, too.  A failure ends the walk. */
struct roster_look;
struct roster_visitor {
    det_status (*visit)(void *arg, const struct roster_look *look, bool has_state);
    void *arg;
};
/* With `look` held, caught up.  Offset, limit and order of the query do not matter. */
det_status roster_walk(struct roster *roster, struct db *db,
                       const struct roster_query *query, struct arena *mem,
                       const struct roster_visitor *visitor, struct err *err);

/* With `look` held, caught up. */
det_status roster_find(struct roster *roster, struct db *db,
                       const struct roster_query *query, struct arena *mem,
                       struct roster_page *ret_page, struct err *err);

#endif
