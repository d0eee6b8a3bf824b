/* SPDX-License-Identifier: Apache-2.0 */
/* roster_impl.h - the rows behind roster.h, and who tells them that something changed.
 *
 * Two locks: `look` is held by whoever reads the roster, also while he reads the
 * database; `note` only for moments, by him and by the writer.  `look` comes first. */
#ifndef STORE_ROSTER_IMPL_H
#define STORE_ROSTER_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/task.h"
#include "base/vec.h"
#include "store/roster.h"

/* What lies between two texts of a row; nobody types it. */
#define ROSTER_BETWEEN '\x1f'

struct roster_row {
    int64_t id; /* 0: the place is free */
    int64_t start_us;
    int64_t end_us;
    int64_t trials;
    int64_t checkpoint_size;
    int64_t checkpoint_count;
    int64_t priority;
    double progress;
    double best_metric;
    /* name, id, description, labels, folded; then NUL, then the labels as they are, or
     * nothing.  Owned. */
    char *text;
    uint32_t text_len;
    uint32_t name_len;
    uint32_t labels_len;
    uint32_t name_rank; /* equal names have the same */
    uint32_t owner;     /* places in `struct roster_names` */
    uint32_t searcher;
    uint32_t pool;
    uint8_t state; /* as it is shown */
    bool is_archived;
    bool has_best_metric;
    bool is_long;     /* its description is in the database only */
    bool is_unranked; /* its name is new, or gone */
};

/* Few different ones, a number each. */
struct roster_names {
    VEC(char *) names;
};

struct roster_change {
    uint32_t kind;
    int64_t id;
};

enum { CHANGED_EXPERIMENT, CHANGED_TRIAL, CHANGED_ALLOCATION, CHANGED_USER, CHANGES };

struct roster {
    /* the writer's own: what its open transaction has changed */
    VEC(struct roster_change) noted;
    bool has_noted_all; /* too many, or no memory: anything may have changed */

    struct lock note; /* guards what follows */
    bool has_note;
    bool is_watched;             /* somebody has looked: changes matter */
    bool is_all_changed;         /* the rows are worth nothing */
    struct map changed[CHANGES]; /* ids, to be read again */

    struct lock look; /* guards what follows */
    bool has_look;
    VEC(struct roster_row) rows;
    VEC(uint32_t) free; /* places in it */
    struct map by_id;   /* the place plus 1 */
    int64_t count;
    VEC(uint32_t) by_name; /* places; what is unranked is not, or wrongly, in it */
    bool has_unranked;
    struct map owner_ids; /* user id to place plus 1 */
    struct roster_names owners;
    struct roster_names searchers;
    struct roster_names pools;
};

det_status roster_init(struct roster *roster, struct err *err);
void roster_done(struct roster *roster);

/* By the writer's connection, within a transaction, for every row it changes. */
void roster_note(void *roster, const char *what, int64_t id);
/* By the writer, after the commit, before those who wrote are answered; also after one
 * that failed. */
void roster_committed(struct roster *roster);

/* With `look` held: reads again what changed.  After a failure everything is read again
 * next time. */
det_status roster_catch_up(struct roster *roster, struct db *db, struct err *err);
/* With `look` held, caught up: gives every row its name_rank. */
det_status roster_rank_names(struct roster *roster, struct err *err);
/* With `look` held, caught up. */
det_status roster_find(struct roster *roster, struct db *db,
                       const struct roster_query *query, struct arena *mem,
                       struct roster_page *ret_page, struct err *err);

/* So that letters of either case are the same: ASCII, Latin, Greek and Cyrillic ones.
 * `to` has room for `len` bytes, and may be `from`. */
void roster_fold(char *to, const char *from, size_t len);
/* The description of a row that is_long, folded; in `mem`. */
det_status roster_description(struct db *db, int64_t id, struct arena *mem,
                              const char **ret_text, struct err *err);

struct roster *store_roster(struct store *store);

#endif
