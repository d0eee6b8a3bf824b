/* SPDX-License-Identifier: Apache-2.0 */
/* allocation.c - rows of `allocations` and `shares`. */
#include "store/task/allocation.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "model/records.h"
#include "model/states.h"
#include "store/checkpoint/removal.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/nonce.h"
#include "store/sql_tables.h"

#define ALLOCATION_COLUMNS                                                             \
    "id, trial_id, experiment_id, task_id, name, run_id, state, resource_pool, slots," \
    " request_us, start_us, end_us, is_ready, is_preempted, is_acknowledged, "         \
    "is_killed,"                                                                       \
    " preempt_deadline_us, exit, exit_code, exit_reason, shares, port_ssh, "           \
    "port_comm_1,"                                                                     \
    " port_comm_2, port_c10d, job_id, quick_ends, retry_us, wait_reason,"              \
    " avoided_agent, has_progressed"
#define SHARE_COLUMNS                                                                  \
    "allocation_id, rank, agent_id, agent, container_id, slots, is_running,"           \
    " has_exited, exit, exit_code"

enum {
    ALLOCATION_PUT,
    ALLOCATION_BY_ID,
    ALLOCATION_NAME,
    ALLOCATION_NONCE,
    ALLOCATION_BY_NAME,
    ALLOCATIONS_OF_TASK,
    ALLOCATIONS_LIVE,
    ALLOCATION_DELAYED,
    ALLOCATION_FIRST,
    SHARE_PUT,
    SHARES_OF,
    SHARES_LIVE,
    SHARE_DELIVER,
    SHARE_IS_DELIVERED,
};

static const struct sql allocation_sql[] = {
    SQL(ALLOCATION_PUT,
        "INSERT INTO allocations (" ALLOCATION_COLUMNS ", nonce)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
        "$16,"
        "  $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, "
        "$32)"
        " ON CONFLICT (id) DO UPDATE SET trial_id = $2, experiment_id = $3, task_id = "
        "$4,"
        "  name = $5, run_id = $6, state = $7, resource_pool = $8, slots = $9,"
        "  request_us = $10, start_us = $11, end_us = $12, is_ready = $13,"
        "  is_preempted = $14, is_acknowledged = $15, is_killed = $16,"
        "  preempt_deadline_us = $17, exit = $18, exit_code = $19, exit_reason = $20,"
        "  shares = $21, port_ssh = $22, port_comm_1 = $23, port_comm_2 = $24,"
        "  port_c10d = $25, job_id = $26, quick_ends = $27, retry_us = $28,"
        "  wait_reason = $29, avoided_agent = $30, has_progressed = $31"),
    SQL(ALLOCATION_BY_ID,
        "SELECT " ALLOCATION_COLUMNS " FROM allocations WHERE id = $1"),
    SQL(ALLOCATION_NAME, "SELECT name FROM allocations WHERE id = $1"),
    SQL(ALLOCATION_NONCE, "SELECT nonce FROM allocations WHERE id = $1"),
    SQL(ALLOCATION_BY_NAME, "SELECT " ALLOCATION_COLUMNS " FROM allocations"
                            " WHERE name = $1 ORDER BY id DESC LIMIT 1"),
    SQL(ALLOCATIONS_OF_TASK,
        "SELECT " ALLOCATION_COLUMNS " FROM allocations WHERE task_id = $1"
        " ORDER BY CASE WHEN state = 'TERMINATED' THEN 1 ELSE 0 END, end_us DESC, id "
        "DESC"),
    SQL(ALLOCATIONS_LIVE, "SELECT " ALLOCATION_COLUMNS " FROM allocations"
                          " WHERE state <> 'TERMINATED' ORDER BY id"),
    SQL(ALLOCATION_DELAYED,
        "SELECT " ALLOCATION_COLUMNS " FROM allocations WHERE experiment_id = $1"
        " AND state <> 'TERMINATED' AND retry_us > 0 ORDER BY retry_us LIMIT 1"),
    SQL(ALLOCATION_FIRST,
        "SELECT start_us FROM allocations WHERE experiment_id = $1 AND start_us > 0"
        " ORDER BY id LIMIT 1"),
    SQL(SHARE_PUT,
        "INSERT INTO shares (" SHARE_COLUMNS ")"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        " ON CONFLICT (allocation_id, rank) DO UPDATE SET agent_id = $3, agent = $4,"
        "  container_id = $5, slots = $6, is_running = $7, has_exited = $8, exit = $9,"
        "  exit_code = $10"),
    SQL(SHARES_OF, "SELECT " SHARE_COLUMNS " FROM shares WHERE allocation_id = $1"
                   " ORDER BY rank"),
    SQL(SHARES_LIVE, "SELECT " SHARE_COLUMNS " FROM shares WHERE allocation_id IN"
                     "  (SELECT a.id FROM allocations a WHERE a.state <> 'TERMINATED')"
                     " ORDER BY allocation_id, rank"),
    SQL(SHARE_DELIVER, "UPDATE shares SET is_delivered = TRUE"
                       " WHERE allocation_id = $1 AND rank = $2"),
    SQL(SHARE_IS_DELIVERED, "SELECT is_delivered FROM shares"
                            " WHERE allocation_id = $1 AND rank = $2"),
};
const struct sql_table allocation_sql_table = SQL_TABLE(allocation_sql);

/* The random digits of its tokens are made with the row and stay. */
static det_status put_row(struct db *db, const struct allocation *row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATION_PUT], err);
    char nonce[NONCE_TEXT];
    det_status st = nonce_make(nonce, err);

    if (st)
        return st;
    db_bind_record(&q, allocation_fields, row);
    db_bind_str(&q, nonce);
    return db_run(&q);
}

det_status store_allocation_put(struct db *db, const struct allocation *row,
                                struct err *err)
{
    det_status st = put_row(db, row, err);

    if (!st && row->state == ALLOCATION_TERMINATED && row->exit != EXIT_CLEAN)
        st = sweep_allocation(db, row->id, err);
    return st;
}

det_status store_share_put(struct db *db, const struct share *row, struct err *err)
{
    return row_put(db, &allocation_sql[SHARE_PUT], share_fields, row, err);
}

static det_status allocation_get(struct db_query *q, struct arena *mem,
                                 struct allocation *ret_row, bool *ret_found)
{
    struct allocation row = {0};
    det_status st = row_get(q, allocation_fields, mem, &row, ret_found);

    if (!st && *ret_found)
        *ret_row = row;
    return st;
}

det_status store_allocation_get(struct db *db, const char *name, struct arena *mem,
                                struct allocation *ret_row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATION_BY_NAME], err);
    bool found = false;
    det_status st;

    db_bind_str(&q, name);
    st = allocation_get(&q, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "allocation '%s' not found", name);
    return st;
}

det_status store_allocation_by_id(struct db *db, int64_t id, struct arena *mem,
                                  struct allocation *ret_row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATION_BY_ID], err);
    bool found = false;
    det_status st;

    db_bind_i64(&q, id);
    st = allocation_get(&q, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "allocation '%" PRId64 "' not found", id);
    return st;
}

det_status store_allocation_delayed(struct db *db, int64_t experiment_id,
                                    struct arena *mem, struct allocation *ret_row,
                                    bool *ret_found, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATION_DELAYED], err);

    db_bind_i64(&q, experiment_id);
    return allocation_get(&q, mem, ret_row, ret_found);
}

det_status store_allocation_first_us(struct db *db, int64_t experiment_id,
                                     int64_t *ret_us, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATION_FIRST], err);
    int64_t us = 0;

    db_bind_i64(&q, experiment_id);
    if (db_next(&q))
        us = db_col_i64(&q);
    if (!q.status)
        *ret_us = us;
    return q.status;
}

static det_status allocations_get(struct db_query *q, struct arena *mem,
                                  struct allocation **ret_rows, uint32_t *ret_count)
{
    struct row_list rows = {0};
    det_status st = rows_get(q, allocation_fields, sizeof(**ret_rows), mem, &rows);

    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

static det_status read_text(struct db *db, int sql, int64_t id, struct arena *mem,
                            const char **ret_text, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &allocation_sql[sql], err);
    const char *text = NULL;

    db_bind_i64(&q, id);
    if (db_next(&q))
        text = db_col_str(&q, mem);
    if (q.status)
        return q.status;
    if (!text)
        return err_set(err, DET_NOT_FOUND, "allocation %" PRId64 " not found", id);
    *ret_text = text;
    return DET_OK;
}

det_status store_allocation_name(struct db *db, int64_t id, struct arena *mem,
                                 const char **ret_name, struct err *err)
{
    return read_text(db, ALLOCATION_NAME, id, mem, ret_name, err);
}

det_status store_allocation_nonce(struct db *db, int64_t id, struct arena *mem,
                                  const char **ret_nonce, struct err *err)
{
    return read_text(db, ALLOCATION_NONCE, id, mem, ret_nonce, err);
}

det_status store_allocations_of_task(struct db *db, const char *task_id,
                                     struct arena *mem, struct allocation **ret_rows,
                                     uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATIONS_OF_TASK], err);

    db_bind_str(&q, task_id);
    return allocations_get(&q, mem, ret_rows, ret_count);
}

det_status store_allocations_live(struct db *db, struct arena *mem,
                                  struct allocation **ret_rows, uint32_t *ret_count,
                                  struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[ALLOCATIONS_LIVE], err);

    return allocations_get(&q, mem, ret_rows, ret_count);
}

det_status store_shares_of(struct db *db, int64_t allocation_id, struct arena *mem,
                           struct share **ret_rows, uint32_t *ret_count,
                           struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[SHARES_OF], err);
    struct row_list rows = {0};
    det_status st;

    db_bind_i64(&q, allocation_id);
    st = rows_get(&q, share_fields, sizeof(**ret_rows), mem, &rows);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}

det_status store_share_deliver(struct db *db, int64_t allocation_id, int64_t rank,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[SHARE_DELIVER], err);

    db_bind_i64(&q, allocation_id);
    db_bind_i64(&q, rank);
    return db_run(&q);
}

det_status store_share_check_open(struct db *db, int64_t allocation_id, int64_t rank,
                                  struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[SHARE_IS_DELIVERED], err);
    bool is_delivered;

    db_bind_i64(&q, allocation_id);
    db_bind_i64(&q, rank);
    is_delivered = db_next(&q) && db_col_bool(&q);
    if (q.status || !is_delivered)
        return q.status;
    return err_set(err, DET_FORBIDDEN,
                   "the supervisor of rank %" PRId64
                   " has delivered everything and reported its end; nothing can be "
                   "added",
                   rank);
}

det_status store_shares_live(struct db *db, struct arena *mem, struct share **ret_rows,
                             uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &allocation_sql[SHARES_LIVE], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, share_fields, sizeof(**ret_rows), mem, &rows);

    if (st)
        return st;
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}
