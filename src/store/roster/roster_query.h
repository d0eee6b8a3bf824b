/* SPDX-License-Identifier: Apache-2.0 */
/* roster_query.h - the columns of the table of experiments by name, and the query line on
 * them (model/table_query.h).
 *
 * The fixed columns are those of `roster_sort_names`, then `label` and `project`.  The
 * others are hyperparameters and metrics (roster_cells.h).  Columns of experiments that the
 * caller may not see do not exist for it.
 *
 * Threading: with the roster's `look` held. */
#ifndef STORE_ROSTER_ROSTER_QUERY_H
#define STORE_ROSTER_ROSTER_QUERY_H

#include "model/field.h"
#include "model/records.h"
#include "model/table_query.h"
#include "store/roster/roster.h"
#include "store/roster/roster_find.h"
#include "store/roster/roster_group.h"

struct db;

/* Fixed columns that cannot be sorted by. */
enum { ROSTER_LABEL = ROSTER_BY_PRIORITY + 1, ROSTER_PROJECT, ROSTER_FIXED };

/* A row that is looked at.  Reading a long text may fail: `status` says so. */
struct roster_look {
    const struct roster *roster;
    const struct roster_row *row;
    const struct field_i64s *projects; /* NULL: all */
    int64_t now_us;
    struct db *db;
    det_status status;
    struct err *err;
};

/* Whether the place is in use, by an experiment that may be shown. */
bool roster_is_shown(const struct roster_row *row, const struct field_i64s *projects);

/* Whether the folded text is anywhere in id, name, description or labels.  Long
 * descriptions are read from the database; there are few. */
bool roster_has_text(struct roster_look *look, const char *folded, size_t len);

/* The columns that the caller may know; borrows `look`. */
struct query_columns roster_columns(const struct roster_look *look);
/* Binds the query to the columns, and folds the texts that it looks for. */
det_status roster_bind(const struct roster_look *look, struct table_query *query,
                       struct arena *mem, struct err *err);
/* Whether look->row matches. */
bool roster_matches(struct roster_look *look, const struct table_query *query);

/* The labels of a row one after the other; *at is NULL at first.  False: no more. */
bool roster_next_label(const struct roster_row *row, const char **at,
                       struct query_cell *ret_cell);

/* A fixed column, as it is listed. */
struct roster_column_view roster_fixed_column(uint32_t place);

/* The cell of look->row; of `label` only the first label.  Names are folded. */
struct query_cell roster_cell_of(const struct roster_look *look, uint32_t place);

#endif
