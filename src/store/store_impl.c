/* SPDX-License-Identifier: Apache-2.0 */
/* store_impl.c - whole records, and statements built at run time. */
#include "store/store_impl.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "model/field.h"
#include "store/db_impl.h"
#include "store/views.h"

enum { NUMBER_NEXT };

static const struct sql impl_sql[] = {
    SQL(NUMBER_NEXT, "INSERT INTO numbers (name, value) VALUES ($1, $2)"
                     " ON CONFLICT (name) DO UPDATE SET value = numbers.value + $2"
                     " RETURNING value"),
};
static const struct sql_table impl_sql_table = SQL_TABLE(impl_sql);

#define EACH_SQL_TABLE(X)                                                              \
    X(version_sql_table)                                                               \
    X(experiment_sql_table)                                                            \
    X(experiment_edit_sql_table)                                                       \
    X(experiment_table_sql_table)                                                      \
    X(roster_sql_table)                                                                \
    X(continue_sql_table)                                                              \
    X(trial_sql_table)                                                                 \
    X(trial_view_sql_table)                                                            \
    X(unmanaged_sql_table)                                                             \
    X(allocation_sql_table)                                                            \
    X(search_sql_table)                                                                \
    X(report_sql_table)                                                                \
    X(record_sql_table)                                                                \
    X(setting_sql_table)                                                               \
    X(job_sql_table)                                                                   \
    X(proxy_sql_table)                                                                 \
    X(queue_sql_table)                                                                 \
    X(journal_sql_table)                                                               \
    X(alive_sql_table)                                                                 \
    X(user_sql_table)                                                                  \
    X(caller_sql_table)                                                                \
    X(checkpoint_sql_table)                                                            \
    X(collect_sql_table)                                                               \
    X(removal_sql_table)                                                               \
    X(delete_sql_table)                                                                \
    X(metric_sql_table)                                                                \
    X(metric_keep_sql_table)                                                           \
    X(metric_compact_sql_table)                                                        \
    X(metric_summary_sql_table)                                                        \
    X(metric_name_sql_table)                                                           \
    X(level_sql_table)                                                                 \
    X(series_sql_table)                                                                \
    X(trial_table_sql_table)                                                           \
    X(log_sql_table)                                                                   \
    X(log_read_sql_table)                                                              \
    X(log_seek_sql_table)                                                              \
    X(log_keep_sql_table)

#define DECLARE(table) extern const struct sql_table table;
EACH_SQL_TABLE(DECLARE)

#define NAME(table) &table,
const struct sql_table *const sql_tables[] = {EACH_SQL_TABLE(NAME) & impl_sql_table,
                                              NULL};

/* ---- whole records --------------------------------------------------------------- */

det_status row_put(struct db *db, const struct sql *sql, const struct field *fields,
                   const void *record, struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, sql, err);

    db_bind_record(&q, fields, record);
    return db_run(&q);
}

det_status row_get(struct db_query *q, const struct field *fields, struct arena *mem,
                   void *record, bool *ret_found)
{
    *ret_found = db_next(q);
    db_read(q, fields, record, mem);
    return q->status;
}

static char *grow(char *rows, uint32_t count, uint32_t *cap, size_t size)
{
    char *more;

    if (count < *cap)
        return rows;
    more = mem_resize(rows, *cap ? *cap * 2 : 16, size);
    if (more)
        *cap = *cap ? *cap * 2 : 16;
    return more;
}

det_status rows_get(struct db_query *q, const struct field *fields, size_t size,
                    struct arena *mem, struct row_list *ret_rows)
{
    CLEANUP(mem_freep) char *rows = NULL;
    uint32_t count = 0;
    uint32_t cap = 0;

    while (db_next(q)) {
        char *more = grow(rows, count, &cap, size);

        if (!more)
            return err_default(q->err, DET_NOMEM);
        rows = more;
        memset(rows + count * size, 0, size);
        db_read(q, fields, rows + count * size, mem);
        count++;
    }
    if (q->status)
        return q->status;
    ret_rows->count = count;
    ret_rows->at = arena_array_of(mem, count ? count : 1, size);
    if (!ret_rows->at)
        return err_default(q->err, DET_NOMEM);
    if (count)
        memcpy(ret_rows->at, rows, count * size);
    return DET_OK;
}

det_status numbers_get(struct db_query *q, struct arena *mem,
                       struct field_i64s *ret_ids)
{
    VEC(int64_t) ids = {0};
    det_status st;

    while (db_next(q)) {
        if (!vec_push(&ids, db_col_i64(q))) {
            vec_done(&ids);
            return err_default(q->err, DET_NOMEM);
        }
    }
    st = q->status;
    if (!st) {
        ret_ids->count = ids.count;
        ret_ids->at = arena_array(mem, int64_t, ids.count ? ids.count : 1);
        if (!ret_ids->at)
            st = err_default(q->err, DET_NOMEM);
        else if (ids.count)
            memcpy(ret_ids->at, ids.at, ids.count * sizeof(*ids.at));
    }
    vec_done(&ids);
    return st;
}

det_status run_with_id(struct db *db, const struct sql *sql, int64_t id,
                       struct err *err)
{
    CLEANUP(db_query_done) struct db_query q = db_query(db, sql, err);

    db_bind_i64(&q, id);
    return db_run(&q);
}

det_status number_next(struct db *db, const char *name, int64_t by, int64_t *ret_value,
                       struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &impl_sql[NUMBER_NEXT], err);

    db_bind_str(&q, name);
    db_bind_i64(&q, by);
    if (db_next(&q))
        *ret_value = db_col_i64(&q);
    return db_run(&q);
}

/* ---- statements built at run time ------------------------------------------------ */

void build_done(struct build *b)
{
    buf_done(&b->text);
    vec_done(&b->strs);
}

void build_str(struct build *b, const char *before, const char *value,
               const char *after)
{
    if (!value || !vec_push(&b->strs, value)) {
        b->has_failed = true;
        return;
    }
    buf_printf(&b->text, "%s$%zu%s", before, b->strs.count, after);
}

void build_like(struct build *b, const char *before, const char *part,
                const char *after)
{
    char *pattern = arena_alloc(b->mem, strlen(part) * 2 + 3);
    char *to = pattern;

    if (!pattern) {
        b->has_failed = true;
        return;
    }
    *to++ = '%';
    for (const char *at = part; *at; at++) {
        if (strchr("%_\\", *at))
            *to++ = '\\';
        *to++ = *at;
    }
    *to++ = '%';
    *to = '\0';
    build_str(b, before, pattern, after);
}

void build_ids(struct build *b, const char *what, const struct field_i64s *ids)
{
    if (!ids->count)
        return;
    buf_printf(&b->text, " AND %s IN (", what);
    for (size_t i = 0; i < ids->count; i++)
        buf_printf(&b->text, "%s%" PRId64, i ? ", " : "", ids->at[i]);
    buf_puts(&b->text, ")");
}

void build_states(struct build *b, const char *what, const char *const *names,
                  uint32_t states)
{
    const char *comma = "";

    if (!states)
        return;
    buf_printf(&b->text, " AND %s IN (", what);
    for (uint32_t i = 0; names[i]; i++) {
        if (!(states >> i & 1))
            continue;
        buf_printf(&b->text, "%s'%s'", comma, names[i]);
        comma = ", ";
    }
    buf_puts(&b->text, ")");
}

void build_columns(struct build *b, const char *prefix, const struct field *fields)
{
    for (const struct field *field = fields; field->name; field++)
        buf_printf(&b->text, "%s%s.%s", field == fields ? "" : ", ", prefix,
                   field->name);
}

struct db_query build_query(struct build *b, struct db *db, const char *head,
                            struct err *err)
{
    struct db_query q = {.db = db, .err = err};
    char *text = NULL;

    if (!b->has_failed && !b->text.status)
        text = arena_printf(b->mem, "%s%s", head, b->text.data);
    if (!text) {
        q.status = err_default(err, DET_NOMEM);
        return q;
    }
    q = db_query_text(db, text, err);
    for (size_t i = 0; i < b->strs.count; i++)
        db_bind_str(&q, b->strs.at[i]);
    return q;
}

det_status store_view_begin(struct store_view *view, struct db *db, struct err *err)
{
    det_status st;

    if (db_is_in_transaction(db))
        return DET_OK;
    st = db_snapshot(db, err);
    if (!st)
        view->db = db;
    return st;
}

void store_view_done(struct store_view *view)
{
    if (view->db)
        db_snapshot_end(view->db);
    view->db = NULL;
}

void page_place(struct page *page, int64_t total)
{
    int64_t limit = page->limit == 0 ? 100 : page->limit;
    int64_t start = page->offset < 0 ? total + page->offset : page->offset;

    page->total = total;
    page->start = MAX(0, MIN(start, total));
    if (limit == -2)
        page->end = page->start;
    else if (limit < 0 || limit > total - page->start)
        page->end = total;
    else
        page->end = page->start + limit;
}
