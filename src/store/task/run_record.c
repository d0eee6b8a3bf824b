/* SPDX-License-Identifier: Apache-2.0 */
/* run_record.c - see run_record.h.  Equal records are one row, found by checksum. */
#include "store/task/run_record.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "data/sha256.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { RECORD_PUT, RECORD_ID, RUN_RECORD_PUT, RUN_RECORDS_OF };

static const struct sql run_record_sql[] = {
    SQL(RECORD_PUT, "INSERT INTO records (sum, record) VALUES ($1, $2)"
                    " ON CONFLICT (sum) DO NOTHING"),
    SQL(RECORD_ID, "SELECT id FROM records WHERE sum = $1"),
    SQL(RUN_RECORD_PUT,
        "INSERT INTO run_records (allocation_id, rank, record_id) VALUES ($1, $2, $3)"
        " ON CONFLICT (allocation_id, rank) DO UPDATE SET record_id = $3"),
    SQL(RUN_RECORDS_OF,
        "SELECT a.name, a.run_id, x.rank, s.agent, r.record"
        "  FROM allocations a JOIN run_records x ON x.allocation_id = a.id"
        "  JOIN records r ON r.id = x.record_id"
        "  LEFT JOIN shares s ON s.allocation_id = a.id AND s.rank = x.rank"
        " WHERE a.trial_id = $1 ORDER BY a.run_id, x.rank"),
};
const struct sql_table run_record_sql_table = SQL_TABLE(run_record_sql);

static det_status find_id(struct db *db, const char *sum, int64_t *ret_id,
                          struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_record_sql[RECORD_ID], err);

    db_bind_str(&q, sum);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_CORRUPT, "the record of a run is missing");
    *ret_id = db_col_i64(&q);
    return q.status;
}

static det_status put_record(struct db *db, const char *sum, const char *record,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_record_sql[RECORD_PUT], err);

    db_bind_str(&q, sum);
    db_bind_str(&q, record);
    return db_run(&q);
}

static det_status put_run(struct db *db, int64_t allocation_id, int64_t rank,
                          int64_t id, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_record_sql[RUN_RECORD_PUT], err);

    db_bind_i64(&q, allocation_id);
    db_bind_i64(&q, rank);
    db_bind_i64(&q, id);
    return db_run(&q);
}

det_status store_run_record_put(struct db *db, int64_t allocation_id, int64_t rank,
                                const char *record, struct err *err)
{
    struct sha256 sum;
    char text[SHA256_TEXT];
    int64_t id = 0;
    det_status st;

    sha256_init(&sum);
    sha256_add(&sum, record, strlen(record));
    sha256_text(&sum, text);
    st = put_record(db, text, record, err);
    if (!st)
        st = find_id(db, text, &id, err);
    return st ? st : put_run(db, allocation_id, rank, id, err);
}

det_status store_run_records(struct db *db, int64_t trial_id, struct arena *mem,
                             struct run_record **ret_rows, uint32_t *ret_count,
                             struct err *err)
{
    VEC(struct run_record) rows = {0};
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &run_record_sql[RUN_RECORDS_OF], err);
    struct run_record *at = NULL;
    det_status st = DET_OK;

    db_bind_i64(&q, trial_id);
    while (!st && db_next(&q)) {
        struct run_record row = {.allocation = db_col_str(&q, mem)};

        row.run_id = db_col_i64(&q);
        row.rank = db_col_i64(&q);
        row.agent = db_col_str(&q, mem);
        row.record = db_col_str(&q, mem);
        if (!vec_push(&rows, row))
            st = err_default(err, DET_NOMEM);
    }
    if (!st)
        st = q.status;
    if (!st) {
        at = arena_array(mem, struct run_record, rows.count + 1);
        st = at ? DET_OK : err_default(err, DET_NOMEM);
    }
    if (!st && rows.count)
        memcpy(at, rows.at, rows.count * sizeof(*at));
    if (!st) {
        *ret_rows = at;
        *ret_count = (uint32_t)rows.count;
    }
    vec_done(&rows);
    return st;
}
