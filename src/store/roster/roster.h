/* SPDX-License-Identifier: Apache-2.0 */
/* roster.h - the table of experiments in memory, and how it learns of changes.
 *
 *   writer's connection --row changed--> noted --commit--> changed --+
 *                                                                    v
 *   store_roster_find(): reads changed rows again --> rows --> filter, count, choose
 *
 * A page of the table needs any of fifteen orders, any filter, a text anywhere, and a
 * count per state.  No index of the database answers that without reading every row.
 * So the columns for sorting and filtering (some 200 bytes per experiment, and 16 for
 * each hyperparameter and metric) are kept here, and a page costs one pass over them: a few milliseconds for 100,000
 * experiments.  The texts of the page are then read from the database.
 *
 * Measured with 100,000 experiments, the database alone took 27 ms (counts per state),
 * 92 ms (an order without an index) and 250 ms (an order by the best metric); here each
 * takes 1 to 4 ms.  A full-text index of trigrams would not find texts shorter than three
 * letters.
 *
 * It is only a cache.  The first reader fills it from the database, it holds committed
 * rows only, and after any failure it is dropped and filled again.  A client that got
 * the answer to its write finds the change here.
 *
 * Two locks: a reader holds `look`, also while it reads the database.  The reader and
 * the writer hold `note` only for moments.  `look` comes first. */
#ifndef STORE_ROSTER_ROSTER_H
#define STORE_ROSTER_ROSTER_H

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "base/thread/lock.h"
#include "store/roster/roster_cells.h"

struct arena;
struct db;

/* Separates the texts of a row; people do not type it. */
#define ROSTER_BETWEEN '\x1f'

struct roster_row {
    int64_t id; /* 0: the place is free */
    int64_t start_us;
    int64_t end_us;
    int64_t paused_us;
    int64_t paused_since_us;
    int64_t trials;
    int64_t checkpoint_size;
    int64_t checkpoint_count;
    int64_t priority;
    int64_t project_id;
    double progress;
    double best_metric;
    /* name, id, description, labels, folded; then NUL, then the labels unfolded, if
     * any. Owned. */
    char *text;
    struct roster_cell *cells; /* by column; owned */
    uint32_t cell_count;
    uint32_t text_len;
    uint32_t name_len;
    uint32_t labels_len;
    uint32_t name_rank; /* equal names have equal ranks */
    uint64_t counted;   /* of its memory, by roster_share.h */
    uint32_t counted_owner;
    uint32_t owner; /* places in `struct roster_names` */
    uint32_t searcher;
    uint32_t pool;
    uint8_t state; /* as it is shown */
    bool is_archived;
    bool has_best_metric;
    bool is_long;     /* its description is in the database only */
    bool is_unranked; /* its name is new, or gone */
};

/* A few different names; a row holds the place of its name here. */
struct roster_names {
    VEC(char *) names;
};

struct roster_change {
    uint32_t kind;
    int64_t id;
};

enum { CHANGED_EXPERIMENT, CHANGED_TRIAL, CHANGED_ALLOCATION, CHANGED_USER, CHANGES };

struct roster {
    /* only for the writer: the changes of its open transaction */
    VEC(struct roster_change) noted;
    bool has_noted_all; /* too many, or no memory: anything may have changed */

    struct lock note; /* guards what follows */
    bool has_note;
    bool is_watched;             /* it was read at least once: changes matter */
    bool is_all_changed;         /* all rows must be read again */
    struct map changed[CHANGES]; /* ids, to be read again */

    struct lock look; /* guards what follows */
    bool has_look;
    VEC(struct roster_row) rows;
    VEC(uint32_t) free; /* places in it */
    struct map by_id;   /* the place plus 1 */
    int64_t count;
    VEC(uint32_t) by_name; /* places; unranked rows are missing or misplaced */
    bool has_unranked;
    struct map owner_ids; /* user id to place plus 1 */
    struct roster_names owners;
    VEC(uint64_t) owner_bytes; /* by the same places: roster_share.h */
    struct roster_names searchers;
    struct roster_names pools;
    struct roster_cells cells;
};

det_status roster_init(struct roster *roster, struct err *err);
void roster_done(struct roster *roster);

/* The writer's connection calls it inside the transaction for every row it changes. */
void roster_note(void *roster, const char *what, int64_t id);
/* The writer calls it after each commit, also a failed one, before it answers the
 * senders. */
void roster_committed(struct roster *roster);

/* With `look` held: reads changed rows again.  After a failure the next call reads
 * everything. */
det_status roster_catch_up(struct roster *roster, struct db *db, struct err *err);
/* With `look` held, caught up: gives every row its name_rank. */
det_status roster_rank_names(struct roster *roster, struct err *err);
/* The description of an is_long row, folded; in `mem`. */
det_status roster_description(struct db *db, int64_t id, struct arena *mem,
                              const char **ret_text, struct err *err);

#endif
