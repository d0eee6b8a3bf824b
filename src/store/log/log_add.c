/* SPDX-License-Identifier: Apache-2.0 */
/* log_add.c - stores a batch of lines as a chunk.
 *
 * The usual case costs one insert, and one more for the sender's mark: the cache
 * (writer_cache.h) has the task's number, its next line and the values its lines
 * had. */
#include "store/log/log_add.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/log/log_chunk.h"
#include "store/log/log_line.h"
#include "store/sql_tables.h"
#include "store/writer_cache.h"

enum {
    TASK_GET,
    TASK_ADD,
    TASK_END,
    TASK_SIZES,
    CHUNK_ADD,
    SENDER_GET,
    SENDER_PUT,
    VALUE_ADD,
    VALUES_GET,
    LIVE_PUT,
    LIVE_DROP,
    LIVE_OF,
};

static const struct sql log_add_sql[] = {
    SQL(TASK_GET, "SELECT id, next_line FROM log_tasks WHERE task_id = $1"),
    SQL(TASK_ADD, "INSERT INTO log_tasks (id, task_id)"
                  " VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM log_tasks), $1)"
                  " RETURNING id, next_line"),
    SQL(TASK_END, "SELECT last_line, to_us FROM log_chunks WHERE id >= $1 AND id < $2"
                  " ORDER BY id DESC LIMIT 1"),
    SQL(TASK_SIZES, "SELECT id, size FROM log_chunks WHERE id >= $1 AND id < $2"
                    " ORDER BY id DESC LIMIT 512"),
    SQL(CHUNK_ADD, "INSERT INTO log_chunks (id, last_line, from_us, to_us, size, data)"
                   " VALUES ($1, $2, $3, $4, $5, $6)"),
    SQL(SENDER_GET, "SELECT end_offset FROM log_senders WHERE sender = $1"),
    SQL(SENDER_PUT, "INSERT INTO log_senders (sender, task, end_offset)"
                    " VALUES ($1, $2, $3)"
                    " ON CONFLICT (sender) DO UPDATE SET end_offset = $3"),
    SQL(VALUE_ADD, "INSERT INTO log_values (task, kind, value) VALUES ($1, $2, $3)"
                   " ON CONFLICT DO NOTHING"),
    SQL(VALUES_GET, "SELECT v.value FROM log_tasks t JOIN log_values v ON v.task = t.id"
                    " WHERE t.task_id = $1 AND v.kind = $2 ORDER BY v.value"),
    SQL(LIVE_PUT, "INSERT INTO log_live (sender, task, data) VALUES ($1, $2, $3)"
                  " ON CONFLICT (sender) DO UPDATE SET data = $3"),
    SQL(LIVE_DROP, "DELETE FROM log_live WHERE sender >= $1 AND sender <= $2"),
    SQL(LIVE_OF, "SELECT data FROM log_live WHERE sender >= $1 AND sender <= $2"
                 " ORDER BY sender"),
};
const struct sql_table log_add_sql_table = SQL_TABLE(log_add_sql);

/* ---- what is remembered of a task ------------------------------------------------ */

static det_status task_number(struct db *db, const char *task_id, struct log_task *task,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[TASK_GET], err);
    CLEANUP(db_query_done)
    struct db_query add = db_query(db, &log_add_sql[TASK_ADD], err);

    db_bind_str(&q, task_id);
    if (db_next(&q)) {
        task->number = db_col_i64(&q);
        task->next_line = db_col_i64(&q);
    }
    if (q.status || task->number)
        return q.status;
    db_bind_str(&add, task_id);
    if (db_next(&add)) {
        task->number = db_col_i64(&add);
        task->next_line = db_col_i64(&add);
    }
    return db_run(&add);
}

static void bind_range(struct db_query *q, const struct log_task *task)
{
    db_bind_i64(q, log_chunk_id(task->number, 0));
    db_bind_i64(q, log_chunk_id(task->number + 1, 0));
}

/* Finds the small chunks at the end that are not noted for merging yet. */
static det_status task_small(struct db *db, struct log_task *task, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[TASK_SIZES], err);

    bind_range(&q, task);
    while (db_next(&q)) {
        int64_t first = log_chunk_line(db_col_i64(&q));
        int64_t size = db_col_i64(&q);

        if (size >= LOG_SMALL_BYTES)
            break;
        task->small_from = first;
        task->small_bytes += (uint64_t)size;
    }
    return q.status;
}

static det_status task_load(struct db *db, const char *task_id, struct log_task *task,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[TASK_END], err);
    det_status st = task_number(db, task_id, task, err);

    if (st)
        return st;
    bind_range(&q, task);
    task->high_us = INT64_MIN;
    if (db_next(&q)) {
        task->next_line = MAX(task->next_line, db_col_i64(&q) + 1);
        task->high_us = db_col_i64(&q);
    }
    return q.status ? q.status : task_small(db, task, err);
}

static det_status task_of(struct db *db, struct writer_cache *cache,
                          const char *task_id, struct log_task **ret_task,
                          struct err *err)
{
    struct log_task *task = smap_get(&cache->tasks, task_id);
    const char *key;
    det_status st;

    if (task) {
        *ret_task = task;
        return DET_OK;
    }
    task = arena_new(&cache->mem, struct log_task);
    key = arena_strdup(&cache->mem, task_id);
    if (!task || !key)
        return err_default(err, DET_NOMEM);
    st = task_load(db, task_id, task, err);
    if (st)
        return st;
    if (!smap_put(&cache->tasks, key, task))
        return err_default(err, DET_NOMEM);
    *ret_task = task;
    return DET_OK;
}

/* ---- values for the filters ------------------------------------------------------ */

static det_status value_add(struct db *db, const struct log_task *task,
                            const char *kind, const char *value, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[VALUE_ADD], err);

    if (!value)
        return DET_OK;
    db_bind_i64(&q, task->number);
    db_bind_str(&q, kind);
    db_bind_str(&q, value);
    return db_run(&q);
}

static uint64_t origin_hash(const struct log_line *line)
{
    const char *const part[] = {line->allocation, line->agent, line->container,
                                line->source};
    uint64_t hash = 1;

    for (size_t i = 0; i < ARRAY_LEN(part); i++)
        hash = hash_number(hash ^ (part[i] ? hash_bytes(part[i], strlen(part[i])) : i));
    return hash;
}

static det_status note_origin(struct db *db, struct log_task *task,
                              const struct log_line *line, struct err *err)
{
    uint64_t hash = origin_hash(line);
    det_status st;

    for (size_t i = 0; i < ARRAY_LEN(task->origins); i++) {
        if (task->origins[i] == hash)
            return DET_OK;
    }
    st = value_add(db, task, "allocation", line->allocation, err);
    if (!st)
        st = value_add(db, task, "agent", line->agent, err);
    if (!st)
        st = value_add(db, task, "container", line->container, err);
    if (!st)
        st = value_add(db, task, "source", line->source, err);
    task->origins[task->next_origin++ % ARRAY_LEN(task->origins)] = hash;
    return st;
}

static const char *stream_name(enum log_stream stream)
{
    static const char *const names[] = {NULL, "stdout", "stderr"};

    return names[stream];
}

static det_status note_line(struct db *db, struct log_task *task,
                            const struct log_line *line, struct err *err)
{
    uint64_t bit = UINT64_C(1) << (line->rank < 0 ? 63 : MIN(line->rank, 62));
    char rank[24];
    det_status st = DET_OK;

    if (!(task->streams >> line->stream & 1)) {
        st = value_add(db, task, "stream", stream_name(line->stream), err);
        task->streams |= 1u << line->stream;
    }
    /* Ranks from 62 on share one bit, so it proves nothing. */
    if (!st && line->rank >= 0 && (line->rank >= 62 || !(task->ranks & bit))) {
        (void)snprintf(rank, sizeof(rank), "%" PRId64, line->rank);
        st = value_add(db, task, "rank", rank, err);
    }
    task->ranks |= bit;
    return st;
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_origin(const struct log_line *a, const struct log_line *b)
{
    return same_name(a->allocation, b->allocation) && same_name(a->agent, b->agent) &&
           same_name(a->container, b->container) && same_name(a->source, b->source);
}

static det_status note_values(struct db *db, struct log_task *task,
                              const struct log_line *line, uint32_t count,
                              struct err *err)
{
    det_status st = DET_OK;

    for (uint32_t i = 0; i < count && !st; i++) {
        if (!i || !same_origin(&line[i], &line[i - 1]))
            st = note_origin(db, task, &line[i], err);
        if (!st && (!i || line[i].rank != line[i - 1].rank ||
                    line[i].stream != line[i - 1].stream))
            st = note_line(db, task, &line[i], err);
    }
    return st;
}

/* ---- chunks ---------------------------------------------------------------------- */

/* Notes small chunks for merging once they make a large one. */
static void note_size(struct writer_cache *cache, struct log_task *task, int64_t first,
                      int64_t last, size_t size)
{
    struct log_stretch stretch = {task->number, task->small_from, last};

    if (size < LOG_SMALL_BYTES) {
        if (!task->small_from)
            stretch.first = task->small_from = first;
        task->small_bytes += size;
        if (task->small_bytes < LOG_CHUNK_BYTES)
            return;
    } else {
        stretch.last = first - 1;
    }
    /* Without memory for the hint the chunks stay small, which is harmless. */
    if (task->small_bytes >= LOG_SMALL_BYTES / 2)
        (void)vec_push(&cache->small, stretch);
    task->small_from = 0;
    task->small_bytes = 0;
}

static det_status chunk_add(struct db *db, struct writer_cache *cache,
                            struct log_task *task, struct log_writer *w,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[CHUNK_ADD], err);
    int64_t first = task->next_line;
    int64_t last = first + w->count - 1;
    det_status st = log_writer_end(w);

    if (st)
        return err_default(err, st);
    db_bind_i64(&q, log_chunk_id(task->number, first));
    db_bind_i64(&q, last);
    db_bind_i64(&q, w->from_us);
    db_bind_i64(&q, MAX(w->to_us, task->high_us));
    db_bind_i64(&q, (int64_t)w->out.len);
    db_bind_blob(&q, w->out.data, w->out.len);
    st = db_run(&q);
    if (st)
        return st;
    task->next_line = last + 1;
    task->high_us = MAX(w->to_us, task->high_us);
    note_size(cache, task, first, last, w->out.len);
    return DET_OK;
}

/* The usual case: lines of one batch point to the same names. */
static bool is_same_pointers(const struct log_line *a, const struct log_line *b)
{
    return a->allocation == b->allocation && a->agent == b->agent &&
           a->container == b->container && a->source == b->source;
}

static det_status add_lines(struct db *db, struct writer_cache *cache,
                            struct log_task *task, const struct log_line *line,
                            uint32_t count, struct err *err)
{
    CLEANUP(log_writer_done) struct log_writer w = LOG_WRITER_INIT;
    det_status st = note_values(db, task, line, count, err);

    for (uint32_t i = 0; i < count && !st; i++) {
        if (w.count && log_writer_size(&w) + line[i].len > LOG_CHUNK_BYTES - 64) {
            st = chunk_add(db, cache, task, &w, err);
            log_writer_clear(&w);
        }
        if (w.count && is_same_pointers(&line[i], &line[i - 1]))
            log_writer_add_same(&w, &line[i]);
        else
            log_writer_add(&w, &line[i]);
    }
    if (!st && w.count)
        st = chunk_add(db, cache, task, &w, err);
    return st;
}

/* ---- senders --------------------------------------------------------------------- */

det_status store_log_offset(struct db *db, const char *sender, int64_t *ret_offset,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[SENDER_GET], err);

    db_bind_str(&q, sender);
    *ret_offset = db_next(&q) ? db_col_i64(&q) : 0;
    return q.status;
}

static det_status sender_put(struct db *db, const struct log_batch *batch,
                             const struct log_task *task, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[SENDER_PUT], err);

    db_bind_str(&q, batch->sender);
    db_bind_i64(&q, task->number);
    db_bind_i64(&q, batch->end_offset);
    return db_run(&q);
}

/* Counts the lines of the batch before the mark.  A line is its text and a newline. */
static uint32_t lines_before(const struct log_batch *batch, int64_t mark)
{
    int64_t at = batch->offset;
    uint32_t skip = 0;

    while (skip < batch->count && at + batch->line[skip].len < mark)
        at += batch->line[skip++].len + 1;
    return skip;
}

/* ---- lines that are being rewritten ---------------------------------------------- */

static det_status live_drop(struct db *db, const char *first, const char *last,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[LIVE_DROP], err);

    db_bind_str(&q, first);
    db_bind_str(&q, last);
    return db_run(&q);
}

static det_status live_put(struct db *db, const struct log_batch *batch,
                           const struct log_task *task, struct err *err)
{
    CLEANUP(log_writer_done) struct log_writer w = LOG_WRITER_INIT;
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[LIVE_PUT], err);
    det_status st;

    if (!batch->live)
        return live_drop(db, batch->sender, batch->sender, err);
    log_writer_add(&w, batch->live);
    st = log_writer_end(&w);
    if (st)
        return err_default(err, st);
    db_bind_str(&q, batch->sender);
    db_bind_i64(&q, task->number);
    db_bind_blob(&q, w.out.data, w.out.len);
    return db_run(&q);
}

/* Adds the line in the current row to the log. */
static det_status settle_line(struct db *db, struct writer_cache *cache,
                              const char *task_id, struct db_query *q)
{
    struct log_reader reader;
    struct log_task *task;
    size_t len;
    const void *bytes = db_col_blob(q, &len);
    det_status st = task_of(db, cache, task_id, &task, q->err);

    if (st)
        return st;
    log_reader_init(&reader, bytes, len, 0);
    if (!log_reader_next(&reader))
        return err_set(q->err, DET_CORRUPT, "a line of a log is damaged");
    return add_lines(db, cache, task, &reader.line, 1, q->err);
}

det_status store_log_settle(struct db *db, const char *task_id, const char *allocation,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[LIVE_OF], err);
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 10);
    struct writer_cache *cache = writer_cache_of(db);
    /* the names of its senders lie between these two */
    const char *first = arena_printf(&mem, "%s/", allocation);
    const char *last = arena_printf(&mem, "%s/~", allocation);
    det_status st = DET_OK;
    bool has_any = false;

    if (!cache || !first || !last)
        return err_default(err, DET_NOMEM);
    db_bind_str(&q, first);
    db_bind_str(&q, last);
    while (!st && db_next(&q)) {
        has_any = true;
        st = settle_line(db, cache, task_id, &q);
    }
    if (st || q.status)
        return st ? st : q.status;
    return has_any ? live_drop(db, first, last, err) : DET_OK;
}

/* ---- batches --------------------------------------------------------------------- */

/* Adds the lines that are not stored yet. */
static det_status add_batch(struct db *db, struct writer_cache *cache,
                            const struct log_batch *batch, int64_t mark,
                            uint32_t *ret_stored, struct err *err)
{
    struct log_task *task = NULL;
    uint32_t skip = batch->sender ? lines_before(batch, mark) : 0;
    bool is_new = !batch->sender || batch->end_offset > mark;
    det_status st = task_of(db, cache, batch->task_id, &task, err);

    if (!st && is_new)
        st = add_lines(db, cache, task, batch->line + skip, batch->count - skip, err);
    if (!st && is_new && batch->sender)
        st = sender_put(db, batch, task, err);
    if (!st && batch->sender)
        st = live_put(db, batch, task, err);
    if (!st && is_new)
        *ret_stored = batch->count - skip;
    return st;
}

det_status store_log_add(struct db *db, const struct log_batch *batch,
                         struct arena *mem, uint32_t *ret_stored, struct err *err)
{
    struct writer_cache *cache = writer_cache_of(db);
    int64_t mark = 0;
    det_status st = DET_OK;

    (void)mem;
    if (!cache)
        return err_default(err, DET_NOMEM);
    *ret_stored = 0;
    writer_cache_trim(cache);
    if (batch->sender)
        st = store_log_offset(db, batch->sender, &mark, err);
    if (st || (batch->sender && (batch->end_offset < mark || batch->offset > mark)))
        return st; /* a duplicate, or something before it is missing */
    return add_batch(db, cache, batch, mark, ret_stored, err);
}

/* ---- what the filters could have ------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static det_status write_ranks(struct db_query *q, struct json_writer *w,
                              struct arena *mem)
{
    VEC(int64_t) ranks = {0};
    det_status st = DET_OK;

    while (!st && db_next(q)) {
        const char *text = db_col_str(q, mem);

        if (text && !vec_push(&ranks, strtoll(text, NULL, 10)))
            st = err_default(q->err, DET_NOMEM);
    }
    if (ranks.count)
        qsort(ranks.at, ranks.count, sizeof(*ranks.at), by_number);
    for (size_t i = 0; i < ranks.count; i++)
        jw_i64(w, NULL, ranks.at[i]);
    vec_done(&ranks);
    return st ? st : q->status;
}

static det_status write_values(struct db *db, const char *task_id, const char *kind,
                               struct json_writer *w, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_add_sql[VALUES_GET], err);

    db_bind_str(&q, task_id);
    db_bind_str(&q, kind);
    if (!strcmp(kind, "rank"))
        return write_ranks(&q, w, &mem);
    while (db_next(&q))
        jw_str(w, NULL, db_col_str(&q, &mem));
    return q.status;
}

det_status store_log_fields(struct db *db, const char *task_id, struct buf *ret_json,
                            struct err *err)
{
    static const struct {
        const char *key;
        const char *kind;
    } fields[] = {{"allocationIds", "allocation"}, {"agentIds", "agent"},
                  {"containerIds", "container"},   {"rankIds", "rank"},
                  {"sources", "source"},           {"stdtypes", "stream"}};
    struct json_writer w = JSON_WRITER(ret_json);
    det_status st = DET_OK;

    jw_object(&w, NULL);
    for (size_t i = 0; i < ARRAY_LEN(fields) && !st; i++) {
        jw_array(&w, fields[i].key);
        st = write_values(db, task_id, fields[i].kind, &w, err);
        jw_end_array(&w);
    }
    jw_end_object(&w);
    if (!st && ret_json->status)
        st = err_default(err, ret_json->status);
    return st;
}
