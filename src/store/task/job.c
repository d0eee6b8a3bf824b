/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - rows of `jobs` and the tables beside it. */
#include "store/task/job.h"

#include <inttypes.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/page.h"
#include "store/sql_tables.h"

#define JOB_COLUMNS                                                                    \
    "j.id, j.state, j.task_id, j.owner_id, j.resource_pool, j.priority, j.weight,"     \
    " j.slots, j.is_single_node, j.is_pausable, j.preemption_timeout_us,"              \
    " j.submitted_us, j.start_us, j.end_us, j.run_id"
#define JOB_VIEW(config)                                                               \
    "SELECT " JOB_COLUMNS ", j.name, j.forked_from, j.files_size,"                     \
    " COALESCE(u.username, ''), j.type, j.sources, j.workspace_id, w.name, " config    \
    "  FROM jobs j LEFT JOIN users u ON u.id = j.owner_id"                             \
    "  LEFT JOIN workspaces w ON w.id = j.workspace_id"
#define JOB_WITH_CONFIG JOB_VIEW("c.config") " LEFT JOIN job_configs c ON c.id = j.id"
#define IS_ALIVE        "j.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR')"

enum {
    JOB_ADD,
    JOB_ADD_CONFIG,
    JOB_ADD_FILES,
    JOB_PUT,
    JOB_GET,
    JOB_BY_ID,
    JOB_IS_OVER,
    JOB_LIST,
    JOB_LIST_ALIVE,
    JOB_COUNT,
    JOB_COUNT_ALIVE,
    JOB_FILES,
    JOBS_ALIVE,
};

static const struct sql job_sql[] = {
    SQL(JOB_ADD,
        "INSERT INTO jobs (id, state, task_id, owner_id, resource_pool, priority,"
        "  weight, slots, is_single_node, is_pausable, preemption_timeout_us,"
        "  submitted_us, start_us, end_us, run_id, name, forked_from, files_size, type,"
        "  sources, workspace_id)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
        "  $16, $17, $18, $19, $20, $21)"),
    SQL(JOB_ADD_CONFIG, "INSERT INTO job_configs (id, config) VALUES ($1, $2)"),
    SQL(JOB_ADD_FILES, "INSERT INTO job_files (id, files) VALUES ($1, $2)"),
    SQL(JOB_PUT,
        "UPDATE jobs SET state = $2, task_id = $3, owner_id = $4, resource_pool = $5,"
        "  priority = $6, weight = $7, slots = $8, is_single_node = $9,"
        "  is_pausable = $10, preemption_timeout_us = $11, submitted_us = $12,"
        "  start_us = $13, end_us = $14, run_id = $15 WHERE id = $1"),
    SQL(JOB_GET, JOB_WITH_CONFIG " WHERE j.task_id = $1"),
    SQL(JOB_BY_ID, JOB_WITH_CONFIG " WHERE j.id = $1"),
    SQL(JOB_IS_OVER, "SELECT NOT (" IS_ALIVE ") FROM jobs j WHERE j.id = $1"),
    SQL(JOB_LIST,
        JOB_VIEW(
            "NULL") " WHERE w.id IS NOT NULL ORDER BY j.id DESC LIMIT $1 OFFSET $2"),
    SQL(JOB_LIST_ALIVE,
        JOB_VIEW("NULL") " WHERE " IS_ALIVE " ORDER BY j.id DESC LIMIT $1 OFFSET $2"),
    SQL(JOB_COUNT,
        "SELECT COUNT(*) FROM jobs j JOIN workspaces w ON w.id = j.workspace_id"),
    SQL(JOB_COUNT_ALIVE, "SELECT COUNT(*) FROM jobs j WHERE " IS_ALIVE),
    SQL(JOB_FILES, "SELECT files FROM job_files WHERE id = $1"),
    SQL(JOBS_ALIVE,
        "SELECT " JOB_COLUMNS " FROM jobs j WHERE " IS_ALIVE " ORDER BY j.id"),
};
const struct sql_table job_sql_table = SQL_TABLE(job_sql);

/* ---- the heart's rows ------------------------------------------------------------ */

static det_status add_row(struct db *db, const struct job *row,
                          const struct job_texts *texts, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_ADD], err);

    db_bind_record(&q, job_fields, row);
    db_bind_str(&q, texts->name ? texts->name : "");
    db_bind_str(&q, texts->forked_from);
    db_bind_i64(&q, (int64_t)texts->files_len);
    db_bind_str(&q, texts->type ? texts->type : JOB_GENERIC);
    db_bind_str(&q, texts->sources);
    db_bind_i64(&q, texts->workspace_id ? texts->workspace_id : 1);
    return db_run(&q);
}

static det_status add_config(struct db *db, int64_t id, const char *config,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &job_sql[JOB_ADD_CONFIG], err);

    db_bind_i64(&q, id);
    db_bind_str(&q, config ? config : "{}");
    return db_run(&q);
}

static det_status add_files(struct db *db, int64_t id, const struct job_texts *texts,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &job_sql[JOB_ADD_FILES], err);

    db_bind_i64(&q, id);
    db_bind_blob(&q, texts->files, texts->files_len);
    return db_run(&q);
}

det_status store_job_add(struct db *db, const struct job *row,
                         const struct job_texts *texts, struct err *err)
{
    det_status st = add_row(db, row, texts, err);

    if (!st)
        st = add_config(db, row->id, texts->config, err);
    if (!st && texts->files_len)
        st = add_files(db, row->id, texts, err);
    return st;
}

det_status store_job_put(struct db *db, const struct job *row, struct err *err)
{
    return row_put(db, &job_sql[JOB_PUT], job_fields, row, err);
}

/* ---- looking --------------------------------------------------------------------- */

static const struct field job_view_fields[] = {
    FIELD(STR, job_view, name, "shown in lists"),
    FIELD(STR, job_view, forked_from, "the task it was made from"),
    FIELD(I64, job_view, files_size, "bytes of its files"),
    FIELD(STR, job_view, username, "its owner's name"),
    FIELD(STR, job_view, type, "its type"),
    FIELD(JSON, job_view, sources, "the experiments and trials it shows"),
    FIELD(I64, job_view, workspace_id, "its workspace"),
    FIELD(STR, job_view, workspace_name, "the name of that"),
    FIELD(JSON, job_view, config, "the complete configuration"),
    FIELD_END,
};

static void read_view(struct db_query *q, struct arena *mem, struct job_view *view)
{
    db_read(q, job_fields, &view->row, mem);
    db_read(q, job_view_fields, view, mem);
}

static det_status get_one(struct db_query *q, struct arena *mem,
                          struct job_view *ret_row, bool *ret_found)
{
    struct job_view view = {0};

    *ret_found = db_next(q);
    if (*ret_found)
        read_view(q, mem, &view);
    if (!q->status && *ret_found)
        *ret_row = view;
    return q->status;
}

det_status store_job_get(struct db *db, const char *task_id, struct arena *mem,
                         struct job_view *ret_row, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_GET], err);
    bool found;
    det_status st;

    db_bind_str(&q, task_id);
    st = get_one(&q, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "task '%s' not found", task_id);
    return st;
}

det_status store_job_by_id(struct db *db, int64_t id, struct arena *mem,
                           struct job_view *ret_row, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_BY_ID], err);
    bool found;
    det_status st;

    db_bind_i64(&q, id);
    st = get_one(&q, mem, ret_row, &found);
    if (!st && !found)
        return err_set(err, DET_NOT_FOUND, "job %" PRId64 " not found", id);
    return st;
}

det_status store_job_is_over(struct db *db, int64_t id, bool *ret_is_over,
                             struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_IS_OVER], err);

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "job %" PRId64 " not found", id);
    *ret_is_over = db_col_bool(&q);
    return q.status;
}

static det_status place_page(struct db *db, bool with_ended, struct page *page,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &job_sql[with_ended ? JOB_COUNT : JOB_COUNT_ALIVE], err);

    if (page->limit == 0)
        page->limit = -1;
    if (db_next(&q))
        page_place(page, db_col_i64(&q));
    return q.status;
}

det_status store_job_list(struct db *db, bool with_ended, struct page *page,
                          struct arena *mem, struct job_view **ret_rows,
                          uint32_t *ret_count, struct err *err)
{
    det_status st = place_page(db, with_ended, page, err);
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &job_sql[with_ended ? JOB_LIST : JOB_LIST_ALIVE], err);
    VEC(struct job_view) views = {0};
    struct job_view *rows;

    if (st)
        return st;
    db_bind_i64(&q, page->end - page->start);
    db_bind_i64(&q, page->start);
    while (db_next(&q)) {
        struct job_view view = {0};

        read_view(&q, mem, &view);
        if (!vec_push(&views, view))
            q.status = err_default(err, DET_NOMEM);
    }
    rows = arena_array(mem, struct job_view, views.count + 1);
    if (!q.status && !rows)
        q.status = err_default(err, DET_NOMEM);
    for (size_t i = 0; !q.status && i < views.count; i++)
        rows[i] = views.at[i];
    if (!q.status) {
        *ret_rows = rows;
        *ret_count = (uint32_t)views.count;
    }
    vec_done(&views);
    return q.status;
}

det_status store_job_files(struct db *db, int64_t id, struct buf *ret_tgz,
                           struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOB_FILES], err);
    const void *bytes;
    size_t len;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status;
    bytes = db_col_blob(&q, &len);
    if (len)
        buf_add(ret_tgz, bytes, len);
    return ret_tgz->status ? err_default(err, ret_tgz->status) : q.status;
}

det_status store_jobs_alive(struct db *db, struct arena *mem, struct job **ret_rows,
                            uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, &job_sql[JOBS_ALIVE], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, job_fields, sizeof(**ret_rows), mem, &rows);

    if (st)
        return st;
    *ret_rows = rows.at;
    *ret_count = rows.count;
    return DET_OK;
}
