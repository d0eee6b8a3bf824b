/* SPDX-License-Identifier: Apache-2.0 */
#include "store/count.h"

#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

#define IS_ALIVE "state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"

enum { COUNT_ROWS };

static const struct sql count_sql[] = {
    SQL(COUNT_ROWS,
        "SELECT 'experiments', state, COUNT(*) FROM experiments GROUP BY state"
        " UNION ALL SELECT 'trials', state, COUNT(*) FROM trials WHERE " IS_ALIVE
        "  GROUP BY state"
        " UNION ALL SELECT 'jobs', state, COUNT(*) FROM jobs WHERE " IS_ALIVE
        "  GROUP BY state"
        " UNION ALL SELECT 'journal', '', COUNT(*) FROM journal"
        " UNION ALL SELECT 'removals', '', COUNT(*) FROM removals"
        " UNION ALL SELECT 'deletions', '', COUNT(*) FROM experiments"
        "  WHERE state = 'DELETING'"),
};
const struct sql_table count_sql_table = SQL_TABLE(count_sql);

static const struct field count_fields[] = {
    FIELD(STR, row_count, what, NULL),
    FIELD(STR, row_count, state, NULL),
    FIELD(I64, row_count, rows, NULL),
    FIELD_END,
};

det_status store_count(struct db *db, struct arena *mem, struct row_count **ret_counts,
                       uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &count_sql[COUNT_ROWS], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, count_fields, sizeof(struct row_count), mem, &rows);

    if (st)
        return st;
    *ret_counts = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}
