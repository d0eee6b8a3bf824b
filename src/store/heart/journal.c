/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - see journal.h.
 *
 * Sequence numbers come from a counter, not from the rows: applied entries are dropped,
 * and their numbers must not be used again. */
#include "store/heart/journal.h"

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/setting.h"
#include "store/sql_tables.h"

enum { JOURNAL_ADD, JOURNAL_READ, JOURNAL_DROP };

static const struct sql journal_sql[] = {
    SQL(JOURNAL_ADD, "INSERT INTO journal (seq, kind, data) VALUES ($1, $2, $3)"),
    SQL(JOURNAL_READ, "SELECT seq, kind, data FROM journal WHERE seq > $1"
                      " ORDER BY seq LIMIT $2"),
    SQL(JOURNAL_DROP, "DELETE FROM journal WHERE seq <= $1"),
};
const struct sql_table journal_sql_table = SQL_TABLE(journal_sql);

det_status store_journal_add(struct db *db, uint32_t kind, const char *data,
                             int64_t *ret_seq, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &journal_sql[JOURNAL_ADD], err);
    int64_t seq = 0;
    det_status st = store_number_next(db, "store.journal", 1, &seq, err);

    if (st)
        return st;
    db_bind_i64(&q, seq);
    db_bind_i64(&q, kind);
    db_bind_str(&q, data);
    st = db_run(&q);
    if (!st)
        *ret_seq = seq;
    return st;
}

det_status store_journal_read(struct db *db, int64_t after, uint32_t limit,
                              struct arena *mem, struct journal_entry **ret_entries,
                              uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &journal_sql[JOURNAL_READ], err);
    struct journal_entry *entries =
        arena_array(mem, struct journal_entry, limit ? limit : 1);
    uint32_t count = 0;

    if (!entries)
        return err_default(err, DET_NOMEM);
    db_bind_i64(&q, after);
    db_bind_i64(&q, limit);
    while (count < limit && db_next(&q)) {
        entries[count].seq = db_col_i64(&q);
        entries[count].kind = (uint32_t)db_col_i64(&q);
        entries[count].data = db_col_str(&q, mem);
        count++;
    }
    *ret_entries = entries;
    *ret_count = count;
    return q.status;
}

det_status store_journal_drop(struct db *db, int64_t upto, struct err *err)
{
    return run_with_id(db, &journal_sql[JOURNAL_DROP], upto, err);
}
