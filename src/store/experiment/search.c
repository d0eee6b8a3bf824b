/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - see search.h. */
#include "store/experiment/search.h"

#include "base/compiler.h"
#include "model/records.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { INPUT_ADD, INPUT_DROP_UPTO, INPUT_DROP, SNAPSHOT_PUT, SNAPSHOT_DROP };

static const struct sql search_sql[] = {
    SQL(INPUT_ADD, "INSERT INTO search_inputs (experiment_id, seq, kind, trial, why,"
                   "  progress, metrics)"
                   " VALUES ($1, $2, $3, $4, $5, $6, $7)"),
    SQL(INPUT_DROP_UPTO,
        "DELETE FROM search_inputs WHERE experiment_id = $1 AND seq <= $2"),
    SQL(INPUT_DROP, "DELETE FROM search_inputs WHERE experiment_id = $1"),
    SQL(SNAPSHOT_PUT,
        "INSERT INTO search_snapshots (experiment_id, seq, state)"
        " VALUES ($1, $2, $3)"
        " ON CONFLICT (experiment_id) DO UPDATE SET seq = $2, state = $3"),
    SQL(SNAPSHOT_DROP, "DELETE FROM search_snapshots WHERE experiment_id = $1"),
};
const struct sql_table search_sql_table = SQL_TABLE(search_sql);

det_status store_search_input_add(struct db *db, const struct search_input *row,
                                  struct err *err)
{
    return row_put(db, &search_sql[INPUT_ADD], search_input_fields, row, err);
}

static det_status drop_inputs(struct db *db, const struct search_snapshot *row,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &search_sql[INPUT_DROP_UPTO], err);

    db_bind_i64(&q, row->experiment_id);
    db_bind_i64(&q, row->seq);
    return db_run(&q);
}

det_status store_search_snapshot_put(struct db *db, const struct search_snapshot *row,
                                     struct err *err)
{
    det_status st =
        row_put(db, &search_sql[SNAPSHOT_PUT], search_snapshot_fields, row, err);

    return st ? st : drop_inputs(db, row, err);
}

det_status store_search_drop(struct db *db, int64_t experiment_id, struct err *err)
{
    det_status st = run_with_id(db, &search_sql[INPUT_DROP], experiment_id, err);

    return st ? st : run_with_id(db, &search_sql[SNAPSHOT_DROP], experiment_id, err);
}
