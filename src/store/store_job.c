/* SPDX-License-Identifier: Apache-2.0 */
/* store_job.c - the queue: experiments with allocations that are not over, in one
 * statement, and without their configurations. */
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "model/field.h"
#include "store/store_impl.h"
#include "store/views.h"

enum { JOB_LIST, JOB_FIND };

static const struct sql job_sql[] = {
    SQL(JOB_LIST,
        "SELECT e.id, e.job_id, e.name, COALESCE(u.username, ''), e.owner_id,"
        "  e.resource_pool, e.submitted_us, e.priority, e.weight, e.progress,"
        "  SUM(a.slots),"
        "  SUM(CASE WHEN a.state = 'PENDING' THEN 0 ELSE a.slots END),"
        "  MAX(CASE WHEN a.state = 'PENDING' THEN 0 ELSE 1 END)"
        "  FROM allocations a JOIN experiments e ON e.id = a.experiment_id"
        "  LEFT JOIN users u ON u.id = e.owner_id"
        " WHERE a.state <> 'TERMINATED'"
        " GROUP BY e.id, u.username ORDER BY e.priority, e.submitted_us, e.id"),
    SQL(JOB_FIND, "SELECT id FROM experiments WHERE job_id = $1"
                  " AND NOT is_unmanaged"
                  " AND state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING',"
                  "  'DELETE_FAILED')"),
};
const struct sql_table job_sql_table = SQL_TABLE(job_sql);

static const struct field job_fields[] = {
    FIELD(I64, job_view, experiment_id, "the experiment's number"),
    FIELD(STR, job_view, job_id, "its name in the queue"),
    FIELD(STR, job_view, name, "its name"),
    FIELD(STR, job_view, username, "its owner's name"),
    FIELD(I64, job_view, owner_id, "its owner"),
    FIELD(STR, job_view, resource_pool, "where it runs or waits"),
    FIELD(I64, job_view, submitted_us, "its place in the queue"),
    FIELD(I64, job_view, priority, "1 goes first"),
    FIELD(F64, job_view, weight, "its share"),
    FIELD(F64, job_view, progress, "how far it is"),
    FIELD(I64, job_view, requested, "slots it wants"),
    FIELD(I64, job_view, allocated, "slots it holds"),
    FIELD(BOOL, job_view, is_scheduled, "some allocation holds slots"),
    FIELD_END,
};

/* A job waits behind those of its own pool only. */
static void count_ahead(struct job_view *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i; j > 0; j--) {
            const struct job_view *before = &rows[j - 1];

            if (strcmp(before->resource_pool, rows[i].resource_pool))
                continue;
            rows[i].ahead = before->ahead + !before->is_scheduled;
            break;
        }
    }
}

det_status store_job_list(struct db *db, struct arena *mem, struct job_view **ret_rows,
                          uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_LIST], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, job_fields, sizeof(**ret_rows), mem, &rows);

    if (st)
        return st;
    count_ahead(rows.at, rows.count);
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}

det_status store_job_find(struct db *db, const char *job_id, int64_t *ret_experiment_id,
                          struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_FIND], err);

    db_bind_str(&q, job_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "job '%s' not found", job_id);
    *ret_experiment_id = db_col_i64(&q);
    return q.status;
}
