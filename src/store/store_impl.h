/* SPDX-License-Identifier: Apache-2.0 */
/* store_impl.h - what the files of this room share. */
#ifndef STORE_STORE_IMPL_H
#define STORE_STORE_IMPL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "store/db.h"

struct arena;
struct field;
struct field_i64s;
struct json;
struct page;
struct store;
struct trial;
struct trial_view;

/* Every file's SQL, so that a test can prepare all of it. */
struct sql_table {
    const struct sql *sql;
    size_t count;
};
#define SQL_TABLE(rows)                                                                \
    {                                                                                  \
        .sql = (rows), .count = ARRAY_LEN(rows)                                        \
    }
extern const struct sql_table *const sql_tables[]; /* ends with NULL */

/* ---- whole records --------------------------------------------------------------- */

/* Binds the record's fields and runs the statement. */
det_status row_put(struct db *db, const struct sql *sql, const struct field *fields,
                   const void *record, struct err *err);
/* The only row of a query whose parameters are bound; *ret_found: there was one. */
det_status row_get(struct db_query *q, const struct field *fields, struct arena *mem,
                   void *record, bool *ret_found);
/* All rows, as an array of structs of `size` bytes in `mem`. */
struct row_list {
    void *at;
    uint32_t count;
};
det_status rows_get(struct db_query *q, const struct field *fields, size_t size,
                    struct arena *mem, struct row_list *ret_rows);
/* A column of numbers. */
det_status numbers_get(struct db_query *q, struct arena *mem,
                       struct field_i64s *ret_ids);
/* Runs a statement with one number. */
det_status run_with_id(struct db *db, const struct sql *sql, int64_t id,
                       struct err *err);
/* The next value of a counter that is kept by name. */
det_status number_next(struct db *db, const char *name, int64_t by, int64_t *ret_value,
                       struct err *err);

/* ---- statements built at run time ------------------------------------------------ */

/* A sticky builder: text with values to be bound in the order they were added. */
struct build {
    struct buf text;
    struct arena *mem;
    VEC(const char *) strs;
    bool has_failed;
};
#define BUILD_INIT(arena)                                                              \
    {                                                                                  \
        .text = BUF_INIT, .mem = (arena)                                               \
    }
void build_done(struct build *b);
/* `before` $n `after`; the value borrows. */
void build_str(struct build *b, const char *before, const char *value,
               const char *after);
/* The same with a pattern that finds `part` anywhere. */
void build_like(struct build *b, const char *before, const char *part,
                const char *after);
/* " AND what IN (1, 2, 3)"; nothing for an empty list. */
void build_ids(struct build *b, const char *what, const struct field_i64s *ids);
/* " AND what IN ('A', 'B')" of a bit set by names; nothing for 0. */
void build_states(struct build *b, const char *what, const char *const *names,
                  uint32_t states);
/* "prefix.a, prefix.b, ..." */
void build_columns(struct build *b, const char *prefix, const struct field *fields);
/* A query of `head` and then the text, everything bound. */
struct db_query build_query(struct build *b, struct db *db, const char *head,
                            struct err *err);

/* Which rows [start, end) of `total` a page means; see views.h. */
void page_place(struct page *page, int64_t total);

/* How long a trial `t` of experiment `e` was on slots, of what runs elsewhere how long
 * it took; a run that goes on counts until `now`.  TRIAL_ON_SLOTS_SQL knows no time of
 * day: see trial_on_slots_us(). */
/* clang-format off */
#define SPAN_SQL(row, now)                                                             \
    "CASE WHEN " row ".end_us = 0 THEN " now " - " row ".start_us"                     \
    " WHEN " row ".end_us > " row ".start_us THEN " row ".end_us - " row ".start_us"   \
    " ELSE 0 END"
#define TRIAL_ON_SLOTS_AT_SQL(now)                                                     \
    "CASE WHEN e.is_unmanaged THEN " SPAN_SQL("t", now)                                \
    " ELSE COALESCE((SELECT SUM(" SPAN_SQL("a", now) ") FROM allocations a"            \
    "  WHERE a.trial_id = t.id AND a.start_us > 0), 0) END"
#define TRIAL_ON_SLOTS_SQL TRIAL_ON_SLOTS_AT_SQL("0")
/* clang-format on */

/* The highest steps of all groups and runs that were not taken back, of a trial
 * that the statement calls `t`. */
#define TRIAL_STEPS_SQL                                                                \
    "(SELECT MAX(m.s) FROM (SELECT 0 AS s"                                             \
    " UNION ALL SELECT r.top FROM metric_runs r WHERE r.trial_id = t.id"               \
    " UNION ALL SELECT (SELECT MAX(x.steps) FROM metric_tail x"                        \
    "   WHERE x.trial_id = r.trial_id AND x.group_id = r.group_id"                     \
    "   AND x.run_id = r.run_id)"                                                      \
    "  FROM metric_runs r WHERE r.trial_id = t.id AND r.top IS NULL"                   \
    " UNION ALL SELECT (SELECT b.last_steps FROM metric_blocks b"                      \
    "   WHERE b.trial_id = r.trial_id AND b.group_id = r.group_id"                     \
    "   AND b.run_id = r.run_id ORDER BY b.first_steps DESC, b.first_nth DESC LIMIT "  \
    "1)"                                                                               \
    "  FROM metric_runs r WHERE r.trial_id = t.id AND r.top IS NULL) AS m)"

/* Several reads of the same moment: rows go from tails into blocks beside us.  Within a
 * transaction, or a view, it is that one.
 *
 *   CLEANUP(store_view_done) struct store_view view = {0};
 *   det_status st = store_view_begin(&view, db, err); */
struct store_view {
    struct db *db; /* NULL: somebody else's */
};
det_status store_view_begin(struct store_view *view, struct db *db, struct err *err);
void store_view_done(struct store_view *view);

/* ---- across files ---------------------------------------------------------------- */

/* The trial's checkpoints are to be looked at: one came, or a validation did. */
det_status collect_trial(struct db *db, int64_t trial_id, struct err *err);
/* Before its row is written: the same when it ends, or resumes from another one. */
det_status collect_trial_put(struct db *db, const struct trial *row, struct err *err);
/* A run ended badly: it may have left something half written. */
det_status sweep_allocation(struct db *db, int64_t allocation_id, struct err *err);
/* Beside the trial's own: the checkpoint at those steps learns its metric. */
det_status checkpoint_validated(struct db *db, int64_t trial_id, int64_t steps,
                                double metric, struct err *err);
/* The trial's next run goes on from a checkpoint of `steps`: what earlier runs reported
 * beyond it was lost with them and is archived. */
det_status metric_resumes(struct db *db, int64_t trial_id, int64_t run_id,
                          int64_t steps, struct err *err);
/* Works best and latest out again from the validations that were not taken back. */
det_status trial_revalidate(struct db *db, int64_t trial_id, struct err *err);
/* The metric that decides in this trial's validation `metrics`: *ret_has false: none.
 */
det_status trial_deciding_metric(struct db *db, int64_t trial_id,
                                 const struct json *metrics, bool *ret_has,
                                 double *ret_metric, struct err *err);
/* The first line of the first chunk that has a line later than `after_us`; behind the
 * last line: none has. */
det_status log_seek(struct db *db, int64_t task, int64_t after_us, int64_t *ret_line,
                    struct err *err);
/* Rows of the metrics and logs go in steps; *ret_more: call again. */
det_status metric_delete_step(struct db *db, int64_t trial_id, bool *ret_more,
                              struct err *err);
det_status log_delete_step(struct db *db, const char *task_id, bool *ret_more,
                           struct err *err);

#endif
