/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "store/engine/row.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "model/field.h"
#include "store/engine/db.h"

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

static char *grow_rows(char *rows, uint32_t count, uint32_t *cap, size_t size)
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
        char *more = grow_rows(rows, count, &cap, size);

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

uint32_t row_state(struct db_query *q, const char *const *names, struct arena *mem)
{
    const char *text = db_col_str(q, mem);
    uint32_t state = 0;

    while (text && names[state] && strcmp(names[state], text) != 0)
        state++;
    return text && names[state] ? state : 0;
}
