/* SPDX-License-Identifier: Apache-2.0 */
/* log_seek.c - finds the line at a time.
 *
 * Lines are stored in the order of arrival.  With several senders their times are not
 * sorted, not even those of whole chunks, so a plain binary search fails.  Therefore a
 * chunk's to_us is the latest time of all lines up to its last, the running maximum.
 * It never falls, and the first chunk with to_us >= T is exactly the first one with a
 * line at or after T.  The search goes by line number; each probe is one lookup in the
 * chunks' tree.  This needs no second index and no extra write per batch.  Lines
 * usually come at an even rate, so the first guess is mostly right and its neighbour
 * proves it. If not, every third probe halves the rest. */
#include "store/log/log_seek.h"

#include "base/compiler.h"
#include "store/engine/db.h"
#include "store/log/log_chunk.h"
#include "store/log/log_read.h"
#include "store/sql_tables.h"

enum { SEEK_FIRST, SEEK_LAST, SEEK_PROBE, SEEK_OWNER };

static const struct sql log_seek_sql[] = {
    SQL(SEEK_FIRST, "SELECT c.id FROM log_tasks t JOIN log_chunks c"
                    "  ON c.id >= t.id << 38 AND c.id < (t.id + 1) << 38"
                    " WHERE t.task_id = $1 ORDER BY c.id LIMIT 1"),
    SQL(SEEK_LAST, "SELECT last_line, to_us FROM log_chunks WHERE id >= $1 AND id < $2"
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
                            int64_t *ret_us, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_seek_sql[SEEK_LAST], err);

    *ret_last = *ret_us = 0;
    db_bind_i64(&q, log_chunk_id(task, 0));
    db_bind_i64(&q, log_chunk_id(task + 1, 0));
    if (db_next(&q)) {
        *ret_last = db_col_i64(&q);
        *ret_us = db_col_i64(&q);
    }
    return q.status;
}

/* The wanted line is in [first, last].  The times only serve to guess. */
struct seek {
    struct db *db;
    int64_t task;
    int64_t after_us;
    int64_t first;
    int64_t last;
    int64_t first_us;
    int64_t last_us;
    bool was_behind; /* the last probe was too early */
};

/* Checks the chunk that holds `line`, or the last one before it. */
static det_status probe_line(struct seek *s, int64_t line, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(s->db, &log_seek_sql[SEEK_PROBE], err);
    int64_t first;
    int64_t last;
    int64_t to_us;

    db_bind_i64(&q, log_chunk_id(s->task, 0));
    db_bind_i64(&q, log_chunk_id(s->task, line));
    s->was_behind = true;
    if (!db_next(&q)) { /* the first lines have expired */
        s->first = line + 1;
        return q.status;
    }
    first = log_chunk_line(db_col_i64(&q));
    last = db_col_i64(&q);
    to_us = db_col_i64(&q);
    if (to_us > s->after_us) {
        s->last = first;
        s->last_us = to_us;
        s->was_behind = false;
    } else {
        s->first = MAX(last, line) + 1;
        s->first_us = to_us;
    }
    return q.status;
}

static int64_t guess_line(const struct seek *s)
{
    double all = (double)s->last_us - (double)s->first_us;
    double part = ((double)s->after_us - (double)s->first_us) / MAX(all, 1.0);

    part = MIN(MAX(part, 0.0), 1.0);
    return MIN(s->first + (int64_t)(part * (double)(s->last - s->first)), s->last - 1);
}

det_status log_seek(struct db *db, int64_t task, int64_t after_us, int64_t *ret_line,
                    struct err *err)
{
    struct seek s = {.db = db, .task = task, .after_us = after_us, .first = 1};
    det_status st = last_line(db, task, &s.last, &s.last_us, err);

    s.last++;
    if (!st && s.last > 1)
        st = probe_line(&s, 1, err); /* also gives the time of the first line */
    for (int turn = 0; !st && s.first < s.last; turn++) {
        int64_t line = s.first + (s.last - s.first) / 2;

        if (turn % 3 == 0)
            line = guess_line(&s);
        else if (turn % 3 == 1)
            line = s.was_behind ? s.first : s.last - 1;
        st = probe_line(&s, line, err);
    }
    *ret_line = s.last;
    return st;
}

det_status store_log_span(struct db *db, const char *task_id, struct log_span *ret_span,
                          struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &log_seek_sql[SEEK_FIRST], err);
    int64_t last_us;
    int64_t id;

    *ret_span = (struct log_span){.first = 1};
    db_bind_str(&q, task_id);
    if (!db_next(&q))
        return q.status;
    id = db_col_i64(&q);
    ret_span->first = log_chunk_line(id);
    return last_line(db, id >> LOG_LINE_BITS, &ret_span->last, &last_us, err);
}

/* log_seek() finds the chunk; reading finds the line in it. */
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
