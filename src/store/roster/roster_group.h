/* SPDX-License-Identifier: Apache-2.0 */
/* roster_group.h - the table of experiments by groups, and the columns it can have.
 *
 * A group is what experiments with equal values in some columns have in common: their
 * number, and count, mean, standard deviation, smallest and largest value of other columns.
 * Runs that differ only in their seed become one line.  One pass over the rows finds them.
 * Grouped by `label` alone, an experiment is in the group of each of its labels. */
#ifndef STORE_ROSTER_ROSTER_GROUP_H
#define STORE_ROSTER_ROSTER_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"
#include "model/table_query.h"
#include "store/roster/roster_find.h"

enum {
    ROSTER_GROUP_COLUMNS = 4,
    ROSTER_GROUP_METRICS = 16,
    ROSTER_GROUPS_MOST = 10000, /* more are refused */
};

struct roster_stat {
    int64_t count; /* finite values */
    double mean;
    double squares; /* the sum of squared differences from the mean */
    double min, max;
};

struct roster_group {
    int64_t count;
    int64_t example; /* one of its experiments */
    struct query_cell cells[ROSTER_GROUP_COLUMNS];
    struct roster_stat *stats; /* one per metric */
    struct roster_group *next; /* with the same hash */
};

struct roster_grouping {
    struct field_strs by;      /* 1 to ROSTER_GROUP_COLUMNS columns */
    struct field_strs metrics; /* columns of numbers, at most ROSTER_GROUP_METRICS */
    const char *sort;          /* count, or one of these columns; NULL: count */
    bool is_descending;
};

struct roster_groups {
    struct roster_group **at; /* the page */
    size_t count;
    int64_t total;   /* all groups */
    int64_t matches; /* experiments in them */
};

/* Filters, offset and limit come from `query`.  Results in `mem`. */
det_status store_roster_groups(struct store *store, struct db *db,
                               const struct roster_query *query,
                               const struct roster_grouping *grouping,
                               struct arena *mem, struct roster_groups *ret_groups,
                               struct err *err);
/* The sample's standard deviation; 0 for fewer than two values. */
double roster_stat_deviation(const struct roster_stat *stat);

struct roster_column_view {
    const char *name;
    enum query_kind kind; /* of a hyperparameter or metric: QUERY_NUMBER, TEXT or ANY */
    int64_t count;        /* experiments with a value; -1: not counted */
    double min, max;      /* of the finite numbers */
    bool has_range;
};

struct roster_column_list {
    struct roster_column_view *at; /* fixed ones first, then by name */
    size_t count;
    bool is_cut; /* there are more names than the roster holds */
};

/* The columns of the experiments of these projects (NULL: all). */
det_status store_roster_columns(struct store *store, struct db *db,
                                const struct field_i64s *projects, struct arena *mem,
                                struct roster_column_list *ret_columns,
                                struct err *err);

#endif
