/* SPDX-License-Identifier: Apache-2.0 */
/* trial_load.c - rows of `trial_loads`. */
#include "store/experiment/trial_load.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { LOAD_PUT, LOAD_COUNT, LOAD_THIN, LOADS_OF };

static const struct sql trial_load_sql[] = {
    SQL(LOAD_PUT, "INSERT INTO trial_loads (trial_id, agent, time_us, load)"
                  " VALUES ($1, $2, $3, $4)"
                  " ON CONFLICT (trial_id, agent, time_us) DO UPDATE SET load = $4"),
    SQL(LOAD_COUNT,
        "SELECT COUNT(*) FROM trial_loads WHERE trial_id = $1 AND agent = $2"),
    SQL(LOAD_THIN,
        "DELETE FROM trial_loads WHERE trial_id = $1 AND agent = $2 AND time_us IN"
        "  (SELECT time_us FROM (SELECT time_us, ROW_NUMBER() OVER (ORDER BY time_us)"
        "    AS nth FROM trial_loads WHERE trial_id = $1 AND agent = $2) AS numbered"
        "    WHERE nth % 2 = 0)"),
    SQL(LOADS_OF, "SELECT agent, time_us, load FROM trial_loads WHERE trial_id = $1"
                  " ORDER BY agent, time_us"),
};
const struct sql_table trial_load_sql_table = SQL_TABLE(trial_load_sql);

static det_status count_loads(struct db *db, int64_t trial_id, const char *agent,
                              int64_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_load_sql[LOAD_COUNT], err);

    db_bind_i64(&q, trial_id);
    db_bind_str(&q, agent);
    if (db_next(&q))
        *ret_count = db_col_i64(&q);
    return q.status;
}

static det_status thin_loads(struct db *db, int64_t trial_id, const char *agent,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_load_sql[LOAD_THIN], err);

    db_bind_i64(&q, trial_id);
    db_bind_str(&q, agent);
    return db_run(&q);
}

static det_status put_load(struct db *db, int64_t trial_id,
                           const struct trial_load *load, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_load_sql[LOAD_PUT], err);

    db_bind_i64(&q, trial_id);
    db_bind_str(&q, load->agent);
    db_bind_i64(&q, load->time_us);
    db_bind_str(&q, load->load);
    return db_run(&q);
}

det_status store_trial_load_add(struct db *db, int64_t trial_id,
                                const struct trial_load *load, struct err *err)
{
    int64_t count = 0;
    det_status st = count_loads(db, trial_id, load->agent, &count, err);

    if (!st && count >= TRIAL_LOADS_MOST)
        st = thin_loads(db, trial_id, load->agent, err);
    return st ? st : put_load(db, trial_id, load, err);
}

det_status store_trial_loads(struct db *db, int64_t trial_id, struct arena *mem,
                             struct trial_load **ret_rows, uint32_t *ret_count,
                             struct err *err)
{
    VEC(struct trial_load) rows = {0};
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &trial_load_sql[LOADS_OF], err);
    struct trial_load *at = NULL;
    det_status st = DET_OK;

    db_bind_i64(&q, trial_id);
    while (!st && db_next(&q)) {
        struct trial_load row = {.agent = db_col_str(&q, mem)};

        row.time_us = db_col_i64(&q);
        row.load = db_col_str(&q, mem);
        if (!vec_push(&rows, row))
            st = err_default(err, DET_NOMEM);
    }
    if (!st)
        st = q.status;
    if (!st) {
        at = arena_array(mem, struct trial_load, rows.count + 1);
        st = at && !mem->has_failed ? DET_OK : err_default(err, DET_NOMEM);
    }
    if (!st && rows.count)
        memcpy(at, rows.at, rows.count * sizeof(*at));
    *ret_rows = at;
    *ret_count = st ? 0 : (uint32_t)rows.count;
    vec_done(&rows);
    return st;
}
