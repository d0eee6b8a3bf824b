/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - rows of `agents`. */
#include "store/task/agent.h"

#include <inttypes.h>

#include "base/memory/arena.h"
#include "model/records.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

#define AGENT_COLUMNS                                                                  \
    "id, name, resource_pool, devices, addresses, slots, is_enabled, is_draining,"     \
    " is_connected, disabled_slots, boot_id, version, joined_us, silent_us,"           \
    " instance"

enum { AGENT_PUT, AGENT_DROP, AGENT_GET, AGENT_LIST };

static const struct sql agent_sql[] = {
    SQL(AGENT_PUT,
        "INSERT INTO agents (" AGENT_COLUMNS ")"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
        " ON CONFLICT (id) DO UPDATE SET name = $2, resource_pool = $3, devices = $4,"
        "  addresses = $5, slots = $6, is_enabled = $7, is_draining = $8,"
        "  is_connected = $9, disabled_slots = $10, boot_id = $11, version = $12,"
        "  joined_us = $13, silent_us = $14, instance = $15"),
    SQL(AGENT_DROP, "DELETE FROM agents WHERE id = $1"),
    SQL(AGENT_GET, "SELECT " AGENT_COLUMNS " FROM agents WHERE id = $1"),
    SQL(AGENT_LIST, "SELECT " AGENT_COLUMNS " FROM agents ORDER BY id"),
};
const struct sql_table agent_sql_table = SQL_TABLE(agent_sql);

det_status store_agent_put(struct db *db, const struct agent *row, struct err *err)
{
    return row_put(db, &agent_sql[AGENT_PUT], agent_fields, row, err);
}

det_status store_agent_drop(struct db *db, int64_t id, struct err *err)
{
    return run_with_id(db, &agent_sql[AGENT_DROP], id, err);
}

det_status store_agent_get(struct db *db, int64_t id, struct arena *mem,
                           struct agent *ret_row, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &agent_sql[AGENT_GET], err);
    bool found = false;
    det_status st;

    db_bind_i64(&q, id);
    st = row_get(&q, agent_fields, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "agent '%" PRId64 "' not found", id);
    return st;
}

det_status store_agent_list(struct db *db, struct arena *mem, struct agent **ret_rows,
                            uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &agent_sql[AGENT_LIST], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, agent_fields, sizeof(**ret_rows), mem, &rows);

    *ret_rows = rows.at;
    *ret_count = rows.count;
    return st;
}
