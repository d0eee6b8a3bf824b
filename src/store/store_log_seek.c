/* SPDX-License-Identifier: Apache-2.0 */
/* store_log_seek.c - where in a task's log a time is.
 *
 * Lines stand in the order in which they came.  With several senders their times are
 * not in order, not even those of whole chunks: no search by halves would find one.  So
 * a chunk's to_us is not its own latest time but the latest of all lines up to its
 * last, the running maximum: it never falls, and the first chunk with to_us >= T is
 * exactly the first one with a line at or after T.  Times are found by halving line
 * numbers, a probe of the chunks' tree each: no index beside it, nothing more to write
 * when lines come. */
#include "store/log_seek.h"

#include "base/compiler.h"
#include "store/data.h"
#include "store/db.h"
#include "store/log_chunk.h"
#include "store/store_impl.h"

enum { SEEK_FIRST, SEEK_LAST, SEEK_PROBE, SEEK_OWNER };

static const struct sql log_seek_sql[] = {
    SQL(SEEK_FIRST, "SELECT c.id FROM log_tasks t JOIN log_chunks c"
                    "  ON c.id >= t.id << 38 AND c.id < (t.id + 1) << 38"
                    " WHERE t.task_id = $1 ORDER BY c.id LIMIT 1"),
    SQL(SEEK_LAST, "SELECT last_line FROM log_chunks WHERE id >= $1 AND id < $2"
                   " ORDER BY id DESC LIMIT 1"),
    SQL(SEEK_PROBE, "SELECT id, last_line, to_us FROM log_chunks"
                    " WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT 1"),
    SQL(SEEK_OWNER, "SELECT id, experiment_id, 0 FROM trials WHERE task_id = $1"
                    " UNION ALL SELECT 0, 0, id FROM jobs WHERE task_id = $1"
                    " UNION ALL SELECT trial_id, experiment_id, job_id FROM allocations"
                    "  WHERE task_id = $1 LIMIT 1"),
};
const struct sql_table log_seek_sql_table = SQL_TABLE(log_seek_sql);

static det_status last_line(struct db *db, int64_t task, int64_t *ret_last,
                            struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_seek_sql[SEEK_LAST], err);

    db_bind_i64(&q, log_chunk_id(task, 0));
    db_bind_i64(&q, log_chunk_id(task + 1, 0));
    *ret_last = db_next(&q) ? db_col_i64(&q) : 0;
    return q.status;
}

/* The chunk that holds `line`, or the last before it: whether it is later than
 * `after_us`; then the time is up to *upto, else behind *from. */
static det_status probe(struct db *db, int64_t task, int64_t line, int64_t after_us,
                        struct log_span *span, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_seek_sql[SEEK_PROBE], err);
    int64_t first;
    int64_t last;

    db_bind_i64(&q, log_chunk_id(task, 0));
    db_bind_i64(&q, log_chunk_id(task, line));
    if (!db_next(&q)) { /* the first ones have expired */
        span->first = line + 1;
        return q.status;
    }
    first = log_chunk_line(db_col_i64(&q));
    last = db_col_i64(&q);
    if (db_col_i64(&q) > after_us)
        span->last = first;
    else
        span->first = MAX(last, line) + 1;
    return q.status;
}

det_status log_seek(struct db *db, int64_t task, int64_t after_us, int64_t *ret_line,
                    struct err *err)
{
    struct log_span span = {.first = 1}; /* it is one of these */
    det_status st = last_line(db, task, &span.last, err);

    span.last++;
    while (!st && span.first < span.last)
        st = probe(db, task, span.first + (span.last - span.first) / 2, after_us, &span,
                   err);
    *ret_line = span.last;
    return st;
}

det_status store_log_span(struct db *db, const char *task_id, struct log_span *ret_span,
                          struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_seek_sql[SEEK_FIRST], err);
    int64_t id;

    *ret_span = (struct log_span){.first = 1};
    db_bind_str(&q, task_id);
    if (!db_next(&q))
        return q.status;
    id = db_col_i64(&q);
    ret_span->first = log_chunk_line(id);
    return last_line(db, id >> LOG_LINE_BITS, &ret_span->last, err);
}

/* The chunk is known in no time; the line in it is found by reading. */
det_status store_log_at(struct db *db, const char *task_id, int64_t time_us,
                        struct arena *mem, int64_t *ret_line, struct err *err)
{
    struct log_query query = {.task_id = task_id, .from_us = time_us - 1, .limit = 1};
    struct log_page page = {0};
    det_status st = DET_OK;

    query.from_us = query.from_us ? query.from_us : -1; /* 0: no bound */
    while (!st && !page.count && !page.is_end) {
        query.after_id = page.next;
        st = store_log_read(db, &query, mem, &page, err);
    }
    if (!st)
        *ret_line = page.count ? page.line[0].id : page.next + 1;
    return st;
}

det_status store_log_owner(struct db *db, const char *task_id,
                           struct log_owner *ret_owner, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_seek_sql[SEEK_OWNER], err);

    db_bind_str(&q, task_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND, "task '%s' not found", task_id);
    ret_owner->trial_id = db_col_i64(&q);
    ret_owner->experiment_id = db_col_i64(&q);
    ret_owner->job_id = db_col_i64(&q);
    return q.status;
}
