/* SPDX-License-Identifier: Apache-2.0 */
/* log_compact.c - see log_compact.h. */
#include "store/log/log_compact.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/log/log_chunk.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"

enum {
    KEEP_LOAD,
    KEEP_BEFORE,
    KEEP_DROP,
    KEEP_PUT,
    KEEP_TASKS,
    KEEP_OLDEST,
    KEEP_DROP_ONE,
    KEEP_NEXT_LINE,
    KEEP_TASK,
    KEEP_DELETE_SOME,
    KEEP_DELETE_SENDERS,
    KEEP_DELETE_LIVE,
    KEEP_DELETE_VALUES,
    KEEP_DELETE_TASK,
};

static const struct sql log_compact_sql[] = {
    SQL(KEEP_LOAD, "SELECT id, data FROM log_chunks WHERE id >= $1 AND id <= $2"
                   " ORDER BY id"),
    SQL(KEEP_BEFORE, "SELECT to_us FROM log_chunks WHERE id >= $1 AND id < $2"
                     " ORDER BY id DESC LIMIT 1"),
    SQL(KEEP_DROP, "DELETE FROM log_chunks WHERE id >= $1 AND id <= $2"),
    SQL(KEEP_PUT, "INSERT INTO log_chunks (id, last_line, from_us, to_us, size, data)"
                  " VALUES ($1, $2, $3, $4, $5, $6)"),
    SQL(KEEP_TASKS, "SELECT l.id, COALESCE(e.log_retention_days, -2) FROM log_tasks l"
                    "  LEFT JOIN trials t ON t.task_id = l.task_id"
                    "  LEFT JOIN experiments e ON e.id = t.experiment_id"
                    " WHERE l.id > $1 ORDER BY l.id"),
    SQL(KEEP_OLDEST, "SELECT id, last_line, to_us FROM log_chunks"
                     " WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1"),
    SQL(KEEP_DROP_ONE, "DELETE FROM log_chunks WHERE id = $1"),
    SQL(KEEP_NEXT_LINE, "UPDATE log_tasks SET next_line = $2"
                        " WHERE id = $1 AND next_line < $2"),
    SQL(KEEP_TASK, "SELECT id FROM log_tasks WHERE task_id = $1"),
    SQL(KEEP_DELETE_SOME,
        "DELETE FROM log_chunks WHERE id IN (SELECT id FROM log_chunks"
        "  WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 64)"),
    SQL(KEEP_DELETE_SENDERS, "DELETE FROM log_senders WHERE task = $1"),
    SQL(KEEP_DELETE_LIVE, "DELETE FROM log_live WHERE task = $1"),
    SQL(KEEP_DELETE_VALUES, "DELETE FROM log_values WHERE task = $1"),
    SQL(KEEP_DELETE_TASK, "DELETE FROM log_tasks WHERE id = $1"),
};
const struct sql_table log_compact_sql_table = SQL_TABLE(log_compact_sql);

static det_status run_with_two(struct db *db, int which, int64_t a, int64_t b,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[which], err);

    db_bind_i64(&q, a);
    db_bind_i64(&q, b);
    return db_run(&q);
}

/* ---- merging --------------------------------------------------------------------- */

/* New chunks that wait until the old ones are dropped. */
struct merged {
    int64_t first;
    int64_t last;
    int64_t from_us;
    int64_t to_us;
    const void *bytes;
    size_t len;
};

struct merger {
    struct arena mem;
    struct log_writer w;
    int64_t first;   /* line of the open chunk */
    int64_t high_us; /* the latest time of all lines before it */
    VEC(struct merged) done;
    uint32_t chunks; /* old ones seen */
};

static det_status merger_close(struct merger *m, struct err *err)
{
    struct merged merged = {.first = m->first,
                            .last = m->first + m->w.count - 1,
                            .from_us = m->w.from_us,
                            .to_us = MAX(m->w.to_us, m->high_us)};
    char *bytes;

    if (!m->w.count)
        return DET_OK;
    m->high_us = merged.to_us;
    if (log_writer_end(&m->w))
        return err_default(err, DET_NOMEM);
    merged.len = m->w.out.len;
    bytes = arena_alloc(&m->mem, merged.len);
    if (!bytes)
        return err_default(err, DET_NOMEM);
    memcpy(bytes, m->w.out.data, merged.len);
    merged.bytes = bytes;
    if (!vec_push(&m->done, merged))
        return err_default(err, DET_NOMEM);
    log_writer_clear(&m->w);
    return DET_OK;
}

static det_status merger_add(struct merger *m, int64_t first, const void *bytes,
                             size_t len, struct err *err)
{
    struct log_reader lines;
    det_status st = DET_OK;

    m->chunks++;
    log_reader_init(&lines, bytes, len, first);
    while (!st && log_reader_next(&lines)) {
        bool follows = m->w.count && lines.line.id == m->first + m->w.count;

        if (!follows ||
            log_writer_size(&m->w) + lines.line.len > LOG_CHUNK_BYTES - 64) {
            st = merger_close(m, err);
            m->first = lines.line.id;
        }
        log_writer_add(&m->w, &lines.line);
    }
    if (!st && lines.blob.is_bad)
        st = err_set(err, DET_CORRUPT, "a chunk of a log is damaged");
    return st;
}

static det_status merger_begin(struct db *db, struct merger *m,
                               const struct log_stretch *stretch, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[KEEP_BEFORE], err);

    db_bind_i64(&q, log_chunk_id(stretch->task, 0));
    db_bind_i64(&q, log_chunk_id(stretch->task, stretch->first));
    m->high_us = db_next(&q) ? db_col_i64(&q) : INT64_MIN;
    return q.status;
}

static det_status merger_load(struct db *db, struct merger *m,
                              const struct log_stretch *stretch, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[KEEP_LOAD], err);
    det_status st = merger_begin(db, m, stretch, err);

    db_bind_i64(&q, log_chunk_id(stretch->task, stretch->first));
    db_bind_i64(&q, log_chunk_id(stretch->task, stretch->last));
    while (!st && db_next(&q)) {
        int64_t first = log_chunk_line(db_col_i64(&q));
        size_t len;
        const void *bytes = db_col_blob(&q, &len);

        st = merger_add(m, first, bytes, len, err);
    }
    if (!st)
        st = q.status;
    return st ? st : merger_close(m, err);
}

static det_status merged_put(struct db *db, int64_t task, const struct merged *merged,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[KEEP_PUT], err);

    db_bind_i64(&q, log_chunk_id(task, merged->first));
    db_bind_i64(&q, merged->last);
    db_bind_i64(&q, merged->from_us);
    db_bind_i64(&q, merged->to_us);
    db_bind_i64(&q, (int64_t)merged->len);
    db_bind_blob(&q, merged->bytes, merged->len);
    return db_run(&q);
}

static det_status merge_stretch(struct db *db, const struct log_stretch *stretch,
                                bool *ret_did, struct err *err)
{
    struct merger m = {.mem = ARENA_INIT(64 << 20), .w = LOG_WRITER_INIT};
    det_status st = merger_load(db, &m, stretch, err);

    *ret_did = !st && m.chunks > m.done.count;
    if (*ret_did)
        st = run_with_two(db, KEEP_DROP, log_chunk_id(stretch->task, stretch->first),
                          log_chunk_id(stretch->task, stretch->last), err);
    for (size_t i = 0; i < m.done.count && *ret_did && !st; i++)
        st = merged_put(db, stretch->task, &m.done.at[i], err);
    log_writer_done(&m.w);
    vec_done(&m.done);
    arena_done(&m.mem);
    return st;
}

det_status store_log_compact(struct db *db, bool *ret_did, struct err *err)
{
    struct writer_cache *cache = writer_cache_of(db);
    det_status st = DET_OK;

    *ret_did = false;
    if (!cache)
        return err_default(err, DET_NOMEM);
    while (!st && !*ret_did && cache->small.count) {
        struct log_stretch stretch = vec_pop(&cache->small);

        st = merge_stretch(db, &stretch, ret_did, err);
    }
    return st;
}

/* ---- retention ------------------------------------------------------------------- */

struct expiry {
    int64_t now_us;
    int64_t default_days;
    uint32_t chunks_left; /* that this call may still remove */
    int64_t removed;      /* lines */
};

/* *ret_more: the oldest chunk was removed; examine the next. */
static det_status expire_oldest(struct db *db, int64_t task, int64_t cutoff_us,
                                struct expiry *expiry, bool *ret_more, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[KEEP_OLDEST], err);
    int64_t id;
    int64_t last;
    det_status st;

    *ret_more = false;
    db_bind_i64(&q, log_chunk_id(task, 0));
    db_bind_i64(&q, log_chunk_id(task + 1, 0));
    if (!db_next(&q))
        return q.status;
    id = db_col_i64(&q);
    last = db_col_i64(&q);
    if (db_col_i64(&q) >= cutoff_us)
        return DET_OK;
    db_query_done(&q);
    st = run_with_id(db, &log_compact_sql[KEEP_DROP_ONE], id, err);
    if (!st)
        st = run_with_two(db, KEEP_NEXT_LINE, task, last + 1, err);
    if (st)
        return st;
    expiry->removed += last - log_chunk_line(id) + 1;
    expiry->chunks_left--;
    *ret_more = true;
    return DET_OK;
}

static det_status expire_task(struct db *db, int64_t task, int64_t days,
                              struct expiry *expiry, struct err *err)
{
    bool more = true;
    det_status st = DET_OK;

    if (days == -2)
        days = expiry->default_days;
    if (days < 0 || days > INT64_C(36500))
        return DET_OK;
    while (!st && more && expiry->chunks_left)
        st = expire_oldest(db, task, expiry->now_us - days * 86400 * INT64_C(1000000),
                           expiry, &more, err);
    return st;
}

det_status store_log_expire(struct db *db, int64_t now_us, int64_t default_days,
                            int64_t *ret_removed, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[KEEP_TASKS], err);
    struct expiry expiry = {
        .now_us = now_us, .default_days = default_days, .chunks_left = 256};
    det_status st = DET_OK;

    db_bind_i64(&q, 0);
    while (!st && expiry.chunks_left && db_next(&q)) {
        int64_t task = db_col_i64(&q);
        int64_t days = db_col_i64(&q);

        st = expire_task(db, task, days, &expiry, err);
    }
    if (!st)
        st = q.status;
    *ret_removed = expiry.removed;
    return st;
}

/* ---- deleting -------------------------------------------------------------------- */

det_status log_delete_step(struct db *db, const char *task_id, bool *ret_more,
                           struct err *err)
{
    static const int small[] = {KEEP_DELETE_SENDERS, KEEP_DELETE_LIVE,
                                KEEP_DELETE_VALUES, KEEP_DELETE_TASK};
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_compact_sql[KEEP_TASK], err);
    struct writer_cache *cache = writer_cache_of(db);
    int64_t task;
    det_status st;

    *ret_more = false;
    if (!cache)
        return err_default(err, DET_NOMEM);
    db_bind_str(&q, task_id);
    if (!db_next(&q))
        return q.status;
    task = db_col_i64(&q);
    (void)smap_remove(&cache->tasks, task_id);
    st = run_with_two(db, KEEP_DELETE_SOME, log_chunk_id(task, 0),
                      log_chunk_id(task + 1, 0), err);
    *ret_more = !st && db_changes(db) > 0;
    for (size_t i = 0; i < ARRAY_LEN(small) && !st && !*ret_more; i++)
        st = run_with_id(db, &log_compact_sql[small[i]], task, err);
    return st;
}
