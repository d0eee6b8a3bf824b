/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.c - rows of `proxies`. */
#include "store/task/proxy.h"

#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { PROXY_FORGET, PROXY_PUT, PROXY_OF_TASK };

static const struct sql proxy_sql[] = {
    SQL(PROXY_FORGET, "DELETE FROM proxies WHERE task_id = $1"),
    SQL(PROXY_PUT, "INSERT INTO proxies (allocation_id, task_id, address, port)"
                   " VALUES ($1, $2, $3, $4)"),
    SQL(PROXY_OF_TASK,
        "SELECT p.allocation_id, p.task_id, p.address, p.port FROM proxies p"
        "  JOIN allocations a ON a.id = p.allocation_id"
        " WHERE p.task_id = $1 AND a.state <> 'TERMINATED'"),
};
const struct sql_table proxy_sql_table = SQL_TABLE(proxy_sql);

static const struct field proxy_row_fields[] = {
    FIELD(I64, proxy_row, allocation_id, "the allocation"),
    FIELD(STR, proxy_row, task_id, "its task"),
    FIELD(STR, proxy_row, address, "the host"),
    FIELD(I64, proxy_row, port, "the port"),
    FIELD_END,
};

static det_status forget_proxies(struct db *db, const char *task_id, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &proxy_sql[PROXY_FORGET], err);

    db_bind_str(&q, task_id);
    return db_run(&q);
}

det_status store_proxy_put(struct db *db, const struct proxy_row *row, struct err *err)
{
    det_status st = forget_proxies(db, row->task_id, err);

    return st ? st : row_put(db, &proxy_sql[PROXY_PUT], proxy_row_fields, row, err);
}

det_status store_proxy_of_task(struct db *db, const char *task_id, struct arena *mem,
                               struct proxy_row *ret_row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &proxy_sql[PROXY_OF_TASK], err);
    struct proxy_row row = {0};

    db_bind_str(&q, task_id);
    if (!db_next(&q))
        return q.status
                   ? q.status
                   : err_set(err, DET_NOT_FOUND, "task '%s' serves nothing", task_id);
    db_read(&q, proxy_row_fields, &row, mem);
    if (!q.status)
        *ret_row = row;
    return q.status;
}
