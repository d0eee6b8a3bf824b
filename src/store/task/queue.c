/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - see queue.h.  One statement reads everything, without configurations. */
#include "store/task/queue.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/sql_tables.h"

enum { QUEUE_LIST, QUEUE_FIND };

static const struct sql queue_sql[] = {
    SQL(QUEUE_LIST,
        "SELECT e.id AS experiment, 0 AS job, 'EXPERIMENT', e.job_id, e.name,"
        "  COALESCE(u.username, ''), e.owner_id, e.resource_pool,"
        "  e.submitted_us AS submitted_us, e.priority AS priority, e.weight,"
        "  e.progress, SUM(a.slots),"
        "  SUM(CASE WHEN a.state = 'PENDING' THEN 0 ELSE a.slots END),"
        "  MAX(CASE WHEN a.state = 'PENDING' THEN 0 ELSE 1 END), TRUE,"
        "  COALESCE(p.workspace_id, 0)"
        "  FROM allocations a JOIN experiments e ON e.id = a.experiment_id"
        "  LEFT JOIN projects p ON p.id = e.project_id"
        "  LEFT JOIN users u ON u.id = e.owner_id"
        " WHERE a.state <> 'TERMINATED' GROUP BY e.id, u.username, p.workspace_id"
        " UNION ALL SELECT 0, j.id, j.type, j.task_id, j.name, COALESCE(u.username, "
        "''),"
        "  j.owner_id, j.resource_pool, j.submitted_us, j.priority, j.weight, 0.0,"
        "  a.slots, CASE WHEN a.state = 'PENDING' THEN 0 ELSE a.slots END,"
        "  CASE WHEN a.state = 'PENDING' THEN 0 ELSE 1 END, j.is_pausable,"
        "  j.workspace_id"
        "  FROM allocations a JOIN jobs j ON j.id = a.job_id"
        "  LEFT JOIN users u ON u.id = j.owner_id WHERE a.state <> 'TERMINATED'"
        " ORDER BY priority, submitted_us, experiment, job"),
    SQL(QUEUE_FIND, "SELECT id, 0 FROM experiments WHERE job_id = $1"
                    " AND NOT is_unmanaged"
                    " AND state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING',"
                    "  'DELETE_FAILED')"
                    " UNION ALL SELECT 0, id FROM jobs WHERE task_id = $1"
                    " AND state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"),
};
const struct sql_table queue_sql_table = SQL_TABLE(queue_sql);

static const struct field queue_fields[] = {
    FIELD(I64, queue_view, experiment_id, "the experiment's number"),
    FIELD(I64, queue_view, job, "the job's number"),
    FIELD(STR, queue_view, type, "its type"),
    FIELD(STR, queue_view, job_id, "its name in the queue"),
    FIELD(STR, queue_view, name, "its name"),
    FIELD(STR, queue_view, username, "its owner's name"),
    FIELD(I64, queue_view, owner_id, "its owner"),
    FIELD(STR, queue_view, resource_pool, "where it runs or waits"),
    FIELD(I64, queue_view, submitted_us, "its place in the queue"),
    FIELD(I64, queue_view, priority, "1 goes first"),
    FIELD(F64, queue_view, weight, "its share"),
    FIELD(F64, queue_view, progress, "its progress"),
    FIELD(I64, queue_view, requested, "slots it wants"),
    FIELD(I64, queue_view, allocated, "slots it holds"),
    FIELD(BOOL, queue_view, is_scheduled, "some allocation holds slots"),
    FIELD(BOOL, queue_view, is_preemptible, "it may be asked to stop"),
    FIELD(I64, queue_view, workspace_id, "its workspace"),
    FIELD_END,
};

/* An entry waits only for entries of its own pool. */
static void count_ahead(struct queue_view *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i; j > 0; j--) {
            const struct queue_view *before = &rows[j - 1];

            if (strcmp(before->resource_pool, rows[i].resource_pool))
                continue;
            rows[i].ahead = before->ahead + !before->is_scheduled;
            break;
        }
    }
}

det_status store_queue_list(struct db *db, struct arena *mem,
                            struct queue_view **ret_rows, uint32_t *ret_count,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &queue_sql[QUEUE_LIST], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, queue_fields, sizeof(**ret_rows), mem, &rows);

    if (st)
        return st;
    count_ahead(rows.at, rows.count);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}

det_status store_queue_find(struct db *db, const char *job_id,
                            int64_t *ret_experiment_id, int64_t *ret_job,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &queue_sql[QUEUE_FIND], err);

    db_bind_str(&q, job_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "job '%s' not found", job_id);
    *ret_experiment_id = db_col_i64(&q);
    *ret_job = db_col_i64(&q);
    return q.status;
}
