/* SPDX-License-Identifier: Apache-2.0 */
/* store_report.c - how far the reports of each share's ring got.
 *
 * A batch of reports commits its rows, the journal entries of those that are events and
 * this number together: what comes again is skipped by it, whatever was lost in
 * between. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "store/store.h"
#include "store/store_impl.h"

enum { REPORT_MARK, REPORT_MARK_SET };

static const struct sql report_sql[] = {
    /* The mark of an exit has the name that master/api/allocations.c gives it. */
    SQL(REPORT_MARK,
        "SELECT a.name, a.run_id, t.run_id, a.state = 'TERMINATED' OR EXISTS"
        "  (SELECT 1 FROM marks m WHERE m.sender ="
        "   'exit ' || a.name || '/' || CAST($2 AS TEXT)),"
        "  COALESCE((SELECT r.number FROM report_marks r"
        "   WHERE r.allocation_id = $1 AND r.source = $2), 0)"
        "  FROM allocations a JOIN trials t ON t.id = a.trial_id WHERE a.id = $1"),
    SQL(REPORT_MARK_SET,
        "INSERT INTO report_marks (allocation_id, source, number) VALUES ($1, $2, $3)"
        " ON CONFLICT (allocation_id, source) DO UPDATE SET number = $3"),
};
const struct sql_table report_sql_table = SQL_TABLE(report_sql);

det_status store_report_mark(struct db *db, const struct report_sender *sender,
                             int64_t *ret_number, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &report_sql[REPORT_MARK], err);
    const char *name;
    int64_t run_id, current;

    db_bind_i64(&q, sender->allocation_id);
    db_bind_i64(&q, sender->source);
    if (!db_next(&q))
        return q.status ? q.status : err_set(err, DET_STATE, "the allocation is gone");
    name = db_col_str(&q, &mem);
    run_id = db_col_i64(&q);
    current = db_col_i64(&q);
    if (q.status)
        return q.status;
    if (run_id != current)
        return err_set(err, DET_STATE,
                       "run %" PRId64 " (allocation %s) is over, its trial's run is "
                       "now %" PRId64,
                       run_id, name, current);
    if (db_col_bool(&q))
        return err_set(err, DET_STATE, "allocation %s is over", name);
    *ret_number = db_col_i64(&q);
    return q.status;
}

det_status store_report_mark_set(struct db *db, const struct report_sender *sender,
                                 int64_t number, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &report_sql[REPORT_MARK_SET], err);

    db_bind_i64(&q, sender->allocation_id);
    db_bind_i64(&q, sender->source);
    db_bind_i64(&q, number);
    return db_run(&q);
}
