/* SPDX-License-Identifier: Apache-2.0 */
/* slot_use.c - see slot_use.h.  `past_allocations` has the allocations of deleted trials. */
#include "store/experiment/slot_use.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

#define HELD_THEN                                                                      \
    "a.id > $1 AND a.start_us > 0 AND a.start_us < $3"                                 \
    " AND (a.end_us = 0 OR a.end_us > $2)"
#define WORKSPACE_OF_EXPERIMENT                                                        \
    " LEFT JOIN projects p ON p.id = e.project_id"                                     \
    " LEFT JOIN workspaces w ON w.id = p.workspace_id"

enum { USE_LIST, USE_KEEP };

static const struct sql slot_use_sql[] = {
    SQL(USE_LIST,
        "SELECT a.id, a.name, 'TRIAL', e.owner_id, COALESCE(u.username, ''),"
        "  COALESCE(w.name, ''), a.experiment_id, e.name, e.labels,"
        "  COALESCE(a.resource_pool, ''), a.slots, a.start_us, a.end_us"
        "  FROM allocations a JOIN experiments e ON e.id = a.experiment_id"
        "  LEFT JOIN users u ON u.id = e.owner_id" WORKSPACE_OF_EXPERIMENT
        " WHERE a.job_id = 0 AND " HELD_THEN
        " UNION ALL SELECT a.id, a.name, j.type, j.owner_id, COALESCE(u.username, ''),"
        "  COALESCE(w.name, ''), 0, j.name, '[]', COALESCE(a.resource_pool, ''),"
        "  a.slots, a.start_us, a.end_us"
        "  FROM allocations a JOIN jobs j ON j.id = a.job_id"
        "  LEFT JOIN users u ON u.id = j.owner_id"
        "  LEFT JOIN workspaces w ON w.id = j.workspace_id"
        " WHERE a.job_id > 0 AND " HELD_THEN
        " UNION ALL SELECT a.id, a.name, 'TRIAL', a.owner_id, COALESCE(u.username, ''),"
        "  a.workspace, a.experiment_id, a.experiment, a.labels, a.resource_pool,"
        "  a.slots, a.start_us, a.end_us"
        "  FROM past_allocations a LEFT JOIN users u ON u.id = a.owner_id"
        " WHERE " HELD_THEN " ORDER BY 1 LIMIT $4"),
    SQL(USE_KEEP,
        "INSERT INTO past_allocations (id, name, owner_id, workspace, experiment_id,"
        "  experiment, labels, resource_pool, slots, start_us, end_us)"
        " SELECT a.id, COALESCE(a.name, ''), e.owner_id, COALESCE(w.name, ''), e.id,"
        "  e.name, e.labels, COALESCE(a.resource_pool, ''), a.slots, a.start_us,"
        "  a.end_us"
        "  FROM allocations a JOIN experiments e ON e.id = "
        "a.experiment_id" WORKSPACE_OF_EXPERIMENT
        " WHERE a.trial_id = $1 AND a.start_us > 0 AND a.end_us > 0 AND a.slots > 0"
        " ON CONFLICT DO NOTHING"),
};
const struct sql_table slot_use_sql_table = SQL_TABLE(slot_use_sql);

static struct slot_use read_row(struct db_query *q, struct arena *mem)
{
    struct slot_use row = {.id = db_col_i64(q)};

    row.allocation = db_col_str(q, mem);
    row.type = db_col_str(q, mem);
    row.user_id = db_col_i64(q);
    row.username = db_col_str(q, mem);
    row.workspace = db_col_str(q, mem);
    row.experiment_id = db_col_i64(q);
    row.experiment = db_col_str(q, mem);
    row.labels = db_col_str(q, mem);
    row.resource_pool = db_col_str(q, mem);
    row.slots = db_col_i64(q);
    row.start_us = db_col_i64(q);
    row.end_us = db_col_i64(q);
    return row;
}

det_status store_slot_uses(struct db *db, const struct slot_use_query *query,
                           struct arena *mem, struct slot_use **ret_rows,
                           uint32_t *ret_count, struct err *err)
{
    struct slot_use *rows = arena_array(mem, struct slot_use, (size_t)query->limit + 1);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &slot_use_sql[USE_LIST], err);
    uint32_t count = 0;

    if (!rows)
        return err_default(err, DET_NOMEM);
    db_bind_i64(&q, query->after);
    db_bind_i64(&q, query->from_us);
    db_bind_i64(&q, query->to_us);
    db_bind_i64(&q, query->limit);
    while (count < query->limit && db_next(&q))
        rows[count++] = read_row(&q, mem);
    if (q.status)
        return q.status;
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_rows = rows;
    *ret_count = count;
    return DET_OK;
}

det_status store_slot_use_keep(struct db *db, int64_t trial_id, struct err *err)
{
    return run_with_id(db, &slot_use_sql[USE_KEEP], trial_id, err);
}
