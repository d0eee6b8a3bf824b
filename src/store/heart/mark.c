/* SPDX-License-Identifier: Apache-2.0 */
/* mark.c - see mark.h.
 *
 * A batch of reports commits its rows, its journal entries and the mark together.  A
 * sender that missed the answer sends the batch again, and the mark skips it. */
#include "store/heart/mark.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { MARK_ADVANCE, REPORT_MARK, REPORT_MARK_SET };

static const struct sql mark_sql[] = {
    SQL(MARK_ADVANCE,
        "INSERT INTO marks (sender, seq) VALUES ($1, $2)"
        " ON CONFLICT (sender) DO UPDATE SET seq = $2 WHERE marks.seq < $2"),
    /* master/api/tasks/allocations.c gives the mark of an exit its name. */
    SQL(REPORT_MARK,
        "SELECT a.name, a.run_id <> t.run_id OR a.state = 'TERMINATED', EXISTS"
        "  (SELECT 1 FROM marks m WHERE m.sender ="
        "   'exit ' || a.name || '/' || CAST($2 AS TEXT)),"
        "  COALESCE((SELECT r.number FROM report_marks r"
        "   WHERE r.allocation_id = $1 AND r.source = $2), 0)"
        "  FROM allocations a JOIN trials t ON t.id = a.trial_id WHERE a.id = $1"),
    SQL(REPORT_MARK_SET,
        "INSERT INTO report_marks (allocation_id, source, number) VALUES ($1, $2, $3)"
        " ON CONFLICT (allocation_id, source) DO UPDATE SET number = $3"),
};
const struct sql_table mark_sql_table = SQL_TABLE(mark_sql);

det_status store_mark_advance(struct db *db, const char *sender, int64_t seq,
                              bool *ret_is_new, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &mark_sql[MARK_ADVANCE], err);

    db_bind_str(&q, sender);
    db_bind_i64(&q, seq);
    if (!db_run(&q))
        *ret_is_new = db_changes(db) > 0;
    return q.status;
}

det_status store_report_mark(struct db *db, const struct report_sender *sender,
                             struct report_mark *ret_mark, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &mark_sql[REPORT_MARK], err);
    struct report_mark mark;
    const char *name;

    db_bind_i64(&q, sender->allocation_id);
    db_bind_i64(&q, sender->source);
    if (!db_next(&q))
        return q.status ? q.status : err_set(err, DET_STATE, "the allocation is gone");
    name = db_col_str(&q, &mem);
    mark.is_late = db_col_bool(&q);
    if (db_col_bool(&q) && !q.status)
        return err_set(err, DET_STATE,
                       "the end of allocation %s was reported; nothing can be added",
                       name);
    mark.number = db_col_i64(&q);
    if (!q.status)
        *ret_mark = mark;
    return q.status;
}

det_status store_report_mark_set(struct db *db, const struct report_sender *sender,
                                 int64_t number, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &mark_sql[REPORT_MARK_SET], err);

    db_bind_i64(&q, sender->allocation_id);
    db_bind_i64(&q, sender->source);
    db_bind_i64(&q, number);
    return db_run(&q);
}
