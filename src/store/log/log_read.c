/* SPDX-License-Identifier: Apache-2.0 */
/* log_read.c - pages of a task's log, with filters.
 *
 * The reader goes from line to line by number, not from chunk to chunk: chunks may be
 * merged between two calls, but the numbers stay.  A call reads at most SCAN_BYTES of
 * chunks, so a filter without matches does not hold its caller up: it returns an empty
 * page and the place to go on.  The search runs over whole chunks (log_scan.h); lines
 * are decoded only near a hit. */
#include "store/log/log_read.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"
#include "store/log/log_chunk.h"
#include "store/log/log_line.h"
#include "store/log/log_scan.h"
#include "store/log/log_seek.h"
#include "store/sql_tables.h"

enum { PAGE_BYTES = 64 << 10, MOST_BYTES = 4 << 20, SCAN_BYTES = 8 << 20 };
enum { BEFORE_HIT = 64 }; /* bytes of a cut line before the found text */

enum { READ_TASK, READ_UPTO, READ_FROM, READ_LIVE };

static const struct sql log_read_sql[] = {
    SQL(READ_TASK, "SELECT id FROM log_tasks WHERE task_id = $1"),
    SQL(READ_UPTO, "SELECT id, last_line, from_us, to_us, size, data FROM log_chunks"
                   " WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT 1"),
    SQL(READ_FROM, "SELECT id, last_line, from_us, to_us, size, data FROM log_chunks"
                   " WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1"),
    SQL(READ_LIVE, "SELECT data FROM log_live WHERE task = $1 ORDER BY sender"),
};
const struct sql_table log_read_sql_table = SQL_TABLE(log_read_sql);

struct page_reader {
    struct db *db;
    const struct log_query *query;
    struct arena *mem;
    int64_t task;
    struct log_scan scan;
    VEC(struct log_line) found;
    size_t found_bytes;
    size_t scanned_bytes;
    int64_t next; /* all lines up to this one were examined */
    bool is_end;
};

/* ---- filters --------------------------------------------------------------------- */

static bool in_names(const struct field_strs *names, const char *name)
{
    if (!names->count)
        return true;
    for (size_t i = 0; i < names->count; i++) {
        if (name && !strcmp(names->at[i], name))
            return true;
    }
    return false;
}

static bool in_ranks(const struct field_i64s *ranks, int64_t rank)
{
    if (!ranks->count)
        return true;
    for (size_t i = 0; i < ranks->count; i++) {
        if (ranks->at[i] == rank)
            return true;
    }
    return false;
}

static bool in_bounds(const struct log_query *query, const struct log_line *line)
{
    if (query->after_id && line->id <= query->after_id)
        return false;
    if (query->before_id && line->id >= query->before_id)
        return false;
    if (query->from_us && line->time_us <= query->from_us)
        return false;
    return !query->to_us || line->time_us <= query->to_us;
}

static bool in_origins(const struct log_query *query, const struct log_line *line)
{
    static const char *const streams[] = {NULL, "stdout", "stderr", NULL};

    return in_names(&query->allocations, line->allocation) &&
           in_names(&query->agents, line->agent) &&
           in_names(&query->containers, line->container) &&
           in_names(&query->sources, line->source) &&
           in_names(&query->streams, streams[line->stream]) &&
           in_ranks(&query->ranks, line->rank);
}

static bool line_matches(struct page_reader *r, const struct log_line *line)
{
    uint32_t severities = r->query->severities;

    if (!in_bounds(r->query, line) || !log_scan_may(&r->scan, line))
        return false;
    if (severities && !(severities >> line->severity & 1))
        return false;
    return in_origins(r->query, line) && log_scan_matches(&r->scan, line);
}

/* to_us is the latest time of all lines up to this chunk's last; see log_seek.c. */
static bool time_excludes(const struct log_query *query, int64_t from_us, int64_t to_us)
{
    return (query->from_us && to_us <= query->from_us) ||
           (query->to_us && from_us > query->to_us);
}

/* ---- pages ----------------------------------------------------------------------- */

static bool is_page_full(const struct page_reader *r)
{
    if (r->query->limit)
        return r->found.count >= r->query->limit || r->found_bytes >= MOST_BYTES;
    return r->found_bytes >= PAGE_BYTES;
}

static const char *keep_name(struct page_reader *r, const char *name,
                             const char *before)
{
    if (!name)
        return NULL;
    if (before && !strcmp(name, before))
        return before;
    return arena_strdup(r->mem, name);
}

/* Keeps the beginning of a long line.  If the found text would not be in it, keeps that
 * text with a little before it, from a whole character on.  The part before never
 * displaces the end of the found text. */
static void cut_line(struct page_reader *r, const struct log_line *line,
                     struct log_line *ret_cut)
{
    size_t most = r->query->cut_bytes;
    struct log_hit hit = log_scan_where(&r->scan, line);
    size_t len = MIN(hit.end - hit.begin, most);
    size_t first = 0;

    if (hit.end > most) {
        first = hit.begin -
                MIN(hit.begin, MIN(MIN(most / 4, (size_t)BEFORE_HIT), most - len));
        while (first < hit.begin && ((unsigned char)line->text[first] & 0xc0) == 0x80)
            first++;
    }
    ret_cut->text = line->text + first;
    ret_cut->len = (uint32_t)MIN(most, line->len - first);
    ret_cut->cut = line->len - (uint32_t)first - ret_cut->len;
    ret_cut->skipped = (uint32_t)first;
}

/* Copies a line that borrows from its chunk. */
static det_status keep_line(struct page_reader *r, const struct log_line *line,
                            struct err *err)
{
    static const struct log_line none;
    const struct log_line *before =
        r->found.count ? &r->found.at[r->found.count - 1] : &none;
    struct log_line copy = *line;

    if (r->query->cut_bytes && line->len > r->query->cut_bytes)
        cut_line(r, line, &copy);
    copy.text = arena_strndup(r->mem, copy.text, copy.len);
    copy.allocation = keep_name(r, line->allocation, before->allocation);
    copy.agent = keep_name(r, line->agent, before->agent);
    copy.container = keep_name(r, line->container, before->container);
    copy.source = keep_name(r, line->source, before->source);
    if (r->mem->has_failed || !vec_push(&r->found, copy))
        return err_default(err, DET_NOMEM);
    r->found_bytes += copy.len + 64;
    return DET_OK;
}

static det_status damaged_chunk(struct err *err)
{
    return err_set(err, DET_CORRUPT, "a chunk of a log is damaged");
}

static det_status look_forward(struct page_reader *r, struct log_reader *lines,
                               int64_t last, struct err *err)
{
    det_status st = DET_OK;

    while (!st && !is_page_full(r) && log_reader_next(lines)) {
        if (line_matches(r, &lines->line))
            st = keep_line(r, &lines->line, err);
        r->next = lines->line.id;
        if (r->scan.is_over) {
            r->next = last;
            break;
        }
    }
    return st || !lines->blob.is_bad ? st : damaged_chunk(err);
}

/* Backwards: collects the matching lines of the chunk, then takes them from the
 * last. */
static det_status look_backward(struct page_reader *r, struct log_reader *lines,
                                int64_t first, struct err *err)
{
    VEC(struct log_line) all = {0};
    det_status st = DET_OK;

    while (!st && !r->scan.is_over && log_reader_next(lines)) {
        if (line_matches(r, &lines->line) && !vec_push(&all, lines->line))
            st = err_default(err, DET_NOMEM);
    }
    if (!st && lines->blob.is_bad)
        st = damaged_chunk(err);
    r->next = first;
    for (size_t i = all.count; i-- > 0 && !st;) {
        if (is_page_full(r)) {
            r->next = all.at[i].id + 1;
            break;
        }
        st = keep_line(r, &all.at[i], err);
    }
    vec_done(&all);
    return st;
}

/* Examines the chunk in the current row and sets r->next to the last examined line. */
static det_status examine_chunk(struct page_reader *r, struct db_query *q)
{
    struct log_reader lines;
    int64_t first = log_chunk_line(db_col_i64(q));
    int64_t last = db_col_i64(q);
    int64_t from_us = db_col_i64(q);
    int64_t to_us = db_col_i64(q);
    size_t len;
    const void *bytes;
    det_status st;

    r->scanned_bytes += 256;
    if (time_excludes(r->query, from_us, to_us)) {
        r->next = r->query->is_descending ? first : last;
        r->is_end = r->query->is_descending && to_us <= r->query->from_us;
        return DET_OK;
    }
    r->scanned_bytes += (size_t)db_col_i64(q);
    bytes = db_col_blob(q, &len);
    if (!log_scan_begin(&r->scan, bytes, len)) {
        r->next = r->query->is_descending ? first : last;
        return DET_OK;
    }
    log_reader_init(&lines, bytes, len, first);
    st = r->query->is_descending ? look_backward(r, &lines, first, q->err)
                                 : look_forward(r, &lines, last, q->err);
    r->scanned_bytes += log_scan_cost(&r->scan);
    return st;
}

/* Forwards: the chunk that holds line r->next + 1, else the next one. */
static det_status step_forward(struct page_reader *r, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query upto = db_query(r->db, &log_read_sql[READ_UPTO], err);
    CLEANUP(db_query_done)
    struct db_query from = db_query(r->db, &log_read_sql[READ_FROM], err);
    int64_t wanted = r->next + 1;

    db_bind_i64(&upto, log_chunk_id(r->task, 0));
    db_bind_i64(&upto, log_chunk_id(r->task, wanted));
    if (db_next(&upto)) {
        upto.column = 1;
        if (db_col_i64(&upto) >= wanted) {
            upto.column = 0;
            return examine_chunk(r, &upto);
        }
    }
    if (upto.status)
        return upto.status;
    db_bind_i64(&from, log_chunk_id(r->task, wanted));
    db_bind_i64(&from, log_chunk_id(r->task + 1, 0));
    if (db_next(&from))
        return examine_chunk(r, &from);
    r->is_end = !from.status;
    return from.status;
}

static det_status step_backward(struct page_reader *r, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(r->db, &log_read_sql[READ_UPTO], err);

    db_bind_i64(&q, log_chunk_id(r->task, 0));
    db_bind_i64(&q, r->next ? log_chunk_id(r->task, r->next - 1)
                            : log_chunk_id(r->task + 1, 0) - 1);
    if (r->next != 1 && db_next(&q))
        return examine_chunk(r, &q);
    r->is_end = !q.status;
    return q.status;
}

static bool is_out_of_bounds(const struct page_reader *r)
{
    const struct log_query *query = r->query;

    if (query->is_descending)
        return query->after_id && r->next && r->next <= query->after_id + 1;
    return query->before_id && r->next + 1 >= query->before_id;
}

/* Skips all chunks before the first one with a line later than from_us. */
static det_status skip_earlier(struct page_reader *r, struct err *err)
{
    int64_t line;
    det_status st = log_seek(r->db, r->task, r->query->from_us, &line, err);

    if (!st)
        r->next = MAX(r->next, line - 1);
    return st;
}

static det_status read_page(struct page_reader *r, struct err *err)
{
    det_status st = DET_OK;

    r->next = r->query->is_descending ? r->query->before_id : r->query->after_id;
    r->next = MIN(r->next, LOG_LINE_MOST);
    if (r->query->from_us && !r->query->is_descending && !r->is_end)
        st = skip_earlier(r, err);
    while (!st && !r->is_end && !is_page_full(r) && r->scanned_bytes < SCAN_BYTES) {
        r->is_end = is_out_of_bounds(r);
        if (r->is_end)
            break;
        st = r->query->is_descending ? step_backward(r, err) : step_forward(r, err);
    }
    return st;
}

static det_status find_task(struct page_reader *r, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(r->db, &log_read_sql[READ_TASK], err);

    db_bind_str(&q, r->query->task_id);
    if (db_next(&q))
        r->task = db_col_i64(&q);
    return q.status;
}

static det_status take_lines(const struct page_reader *r, struct log_page *ret_page,
                             struct err *err)
{
    struct log_page page = {
        .count = (uint32_t)r->found.count, .next = r->next, .is_end = r->is_end};

    page.line = arena_array(r->mem, struct log_line, r->found.count + 1);
    if (!page.line)
        return err_default(err, DET_NOMEM);
    if (page.count)
        memcpy(page.line, r->found.at, page.count * sizeof(*page.line));
    *ret_page = page;
    return DET_OK;
}

det_status store_log_check(const struct log_query *query, struct err *err)
{
    struct log_scan scan;
    det_status st = log_scan_init(&scan, query, err);

    if (!st)
        log_scan_done(&scan);
    return st;
}

det_status store_log_read(struct db *db, const struct log_query *query,
                          struct arena *mem, struct log_page *ret_page, struct err *err)
{
    struct page_reader r = {.db = db, .query = query, .mem = mem};
    det_status st = log_scan_init(&r.scan, query, err);

    if (!st)
        st = find_task(&r, err);
    r.is_end = !r.task;
    if (!st)
        st = read_page(&r, err);
    if (!st)
        st = take_lines(&r, ret_page, err);
    log_scan_done(&r.scan);
    vec_done(&r.found);
    return st;
}

/* ---- lines that are being rewritten ---------------------------------------------- */

static det_status read_live(struct page_reader *r, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(r->db, &log_read_sql[READ_LIVE], err);
    det_status st = DET_OK;

    db_bind_i64(&q, r->task);
    while (!st && db_next(&q)) {
        struct log_reader lines;
        size_t len;
        const void *bytes = db_col_blob(&q, &len);

        if (!log_scan_begin(&r->scan, bytes, len))
            continue;
        log_reader_init(&lines, bytes, len, 0);
        if (!log_reader_next(&lines))
            st = damaged_chunk(err);
        else if (line_matches(r, &lines.line))
            st = keep_line(r, &lines.line, err);
    }
    return st ? st : q.status;
}

det_status store_log_live(struct db *db, const struct log_query *query,
                          struct arena *mem, struct log_page *ret_page, struct err *err)
{
    struct log_query filters = *query;
    struct page_reader r = {.db = db, .query = &filters, .mem = mem, .is_end = true};
    det_status st = log_scan_init(&r.scan, query, err);

    filters.after_id = filters.before_id = 0;
    if (!st)
        st = find_task(&r, err);
    if (!st && r.task)
        st = read_live(&r, err);
    if (!st)
        st = take_lines(&r, ret_page, err);
    log_scan_done(&r.scan);
    vec_done(&r.found);
    return st;
}
