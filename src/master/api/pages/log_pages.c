/* SPDX-License-Identifier: Apache-2.0 */
/* log_pages.c - a task's log for people: pages by line number or time, and a search that
 * streams its hits.
 *
 * There are many lines, so each is a short list: [number, time, level, rank, stream, text].
 * If the text was cut, the number of bytes cut after it follows, and for hits also the number
 * cut before it.  Lines that are being rewritten (progress bars) have the number 0 and
 * stand apart (`live`).  Each call, and each piece of a search, reads a bounded part of the log
 * (store_log_read()).  So a search through gigabytes does not block other requests, and it
 * ends when its client leaves. */

#include <inttypes.h>
#include <string.h>

#include "base/fsm.h"
#include "data/text.h"
#include "data/time.h"
#include "master/api/api.h"
#include "master/api/reports/logs.h"
#include "master/request/request_stream.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "store/log/log_seek.h"
#include "wire/queries.h"

enum {
    LINES_DEFAULT = 500,
    LINES_MOST = 10000,
    LINE_CUT = 4096, /* bytes of a line on a page, */
    HIT_CUT = 1024,  /* and in a list of hits */
};

/* ---- the query ----------------------------------------------------------- */

struct line_filters {
    const struct field_strs *levels;
    const struct field_strs *ranks;
    const struct field_strs *streams;
};

/* "a,b" and "c" become a, b, c. */
static det_status split_lists(struct request *req, const struct field_strs *in,
                              struct field_strs *ret_parts)
{
    size_t most = in->count;
    const char **parts;

    for (size_t i = 0; i < in->count; i++)
        for (const char *at = in->at[i]; *at; at++)
            most += *at == ',';
    parts = arena_array(&req->mem, const char *, most + 1);
    if (!parts)
        return DET_NOMEM;
    *ret_parts = (struct field_strs){parts, 0};
    for (size_t i = 0; i < in->count; i++) {
        const char *at = in->at[i];

        for (;;) {
            size_t len = strcspn(at, ",");

            if (len)
                parts[ret_parts->count++] = arena_strndup(&req->mem, at, len);
            if (!at[len])
                break;
            at += len + 1;
        }
    }
    return req->mem.has_failed ? DET_NOMEM : DET_OK;
}

static det_status read_levels(struct request *req, const struct field_strs *levels,
                              struct log_query *query)
{
    struct field_strs names = {0};
    det_status st = split_lists(req, levels, &names);

    for (size_t i = 0; !st && i < names.count; i++) {
        enum log_severity level = logs_severity(names.at[i]);

        if (!level && strcmp(names.at[i], "UNSPECIFIED") != 0)
            st = err_set(req->err, DET_INVALID,
                         "there is no level '%.40s'; levels are TRACE, DEBUG, INFO, "
                         "WARNING, ERROR, CRITICAL and UNSPECIFIED",
                         names.at[i]);
        query->severities |= TO(level);
    }
    return st;
}

static det_status read_ranks(struct request *req, const struct field_strs *ranks,
                             struct log_query *query)
{
    struct field_strs names = {0};
    det_status st = split_lists(req, ranks, &names);
    int64_t *list;

    if (st)
        return st;
    list = arena_array(&req->mem, int64_t, names.count + 1);
    if (!list)
        return DET_NOMEM;
    for (size_t i = 0; i < names.count; i++) {
        if (!strcmp(names.at[i], "none"))
            list[i] = -1;
        else if (!parse_i64(names.at[i], &list[i]))
            return err_set(req->err, DET_INVALID,
                           "'%.40s' is not a rank; ranks are numbers, or 'none'",
                           names.at[i]);
    }
    query->ranks = (struct field_i64s){list, names.count};
    return DET_OK;
}

static det_status read_streams(struct request *req, const struct field_strs *streams,
                               struct log_query *query)
{
    det_status st = split_lists(req, streams, &query->streams);

    for (size_t i = 0; !st && i < query->streams.count; i++)
        if (strcmp(query->streams.at[i], "stdout") != 0 &&
            strcmp(query->streams.at[i], "stderr") != 0)
            st = err_set(req->err, DET_INVALID,
                         "the stream is '%.40s'; expected stdout or stderr",
                         query->streams.at[i]);
    return st;
}

static det_status read_filters(struct request *req, const struct line_filters *in,
                               struct log_owner *ret_owner, struct log_query *query)
{
    det_status st = store_log_owner(req->db, req->arg[0], ret_owner, req->err);

    query->task_id = req->arg[0];
    if (!st)
        st = read_levels(req, in->levels, query);
    if (!st)
        st = read_ranks(req, in->ranks, query);
    return st ? st : read_streams(req, in->streams, query);
}

/* The line number of `from`; negative values count from the end. */
static int64_t line_of(const struct log_span *span, int64_t from)
{
    return from < 0 ? MAX(span->last + 1 + from, span->first) : MAX(from, 1);
}

static void set_place(struct log_query *query, int64_t line, bool is_before)
{
    query->is_descending = is_before;
    if (is_before)
        query->before_id = line;
    else
        query->after_id = line - 1;
}

/* ---- lines --------------------------------------------------------------- */

/* The length without a partial character at the cut. */
static size_t whole_characters(const struct log_line *line)
{
    size_t len = line->len;

    if (!line->cut)
        return len;
    while (len && line->len - len < 3 && (line->text[len - 1] & 0xc0) == 0x80)
        len--;
    return len && (line->text[len - 1] & 0xc0) == 0xc0 ? len - 1 : line->len;
}

static void render_line(struct json_writer *w, const struct log_line *line)
{
    static const char *const streams[] = {NULL, "stdout", "stderr", NULL};
    char time[TIME_TEXT];

    time_format(line->time_us, time);
    jw_array(w, NULL);
    jw_i64(w, NULL, line->id);
    jw_str(w, NULL, time);
    jw_str(w, NULL, line->severity ? log_severity_names[line->severity] : NULL);
    if (line->rank >= 0)
        jw_i64(w, NULL, line->rank);
    else
        jw_null(w, NULL);
    jw_str(w, NULL, streams[line->stream]);
    jw_strn(w, NULL, line->text, whole_characters(line));
    if (line->cut || line->skipped)
        jw_i64(w, NULL,
               (int64_t)line->cut + line->len - (int64_t)whole_characters(line));
    if (line->skipped)
        jw_i64(w, NULL, line->skipped);
    jw_end_array(w);
}

/* `is_turned`: they were read backwards. */
static void render_lines(struct json_writer *w, const char *key,
                         const struct log_page *page, bool is_turned)
{
    jw_array(w, key);
    for (uint32_t i = 0; i < page->count; i++)
        render_line(w, &page->line[is_turned ? page->count - 1 - i : i]);
    jw_end_array(w);
}

/* ---- pages ----------------------------------------------------------------------- */

static det_status find_place(struct request *req, const struct lines_query *in,
                             const struct log_span *span, int64_t *ret_line)
{
    if (in->time)
        return store_log_at(req->db, req->arg[0], in->time, &req->mem, ret_line,
                            req->err);
    if (in->has_from)
        *ret_line = line_of(span, in->from);
    else
        *ret_line = in->before ? span->last + 1 : span->first;
    return DET_OK;
}

static det_status check_lines_query(struct request *req, const struct lines_query *in)
{
    if (in->count < 0 || in->count > LINES_MOST)
        return err_set(req->err, DET_INVALID, "count is %" PRId64 "; it is at most %d",
                       in->count, LINES_MOST);
    if (in->has_cut && (in->cut < 0 || in->cut > UINT32_MAX))
        return err_set(req->err, DET_INVALID, "cut must not be negative");
    return DET_OK;
}

static void render_owner(struct json_writer *w, const struct log_owner *owner)
{
    if (!owner->trial_id)
        return;
    jw_i64(w, "trialId", owner->trial_id);
    jw_i64(w, "experimentId", owner->experiment_id);
}

det_status api_task_lines(struct request *req)
{
    const struct lines_query *in = req->query;
    const struct line_filters filters = {&in->levels, &in->ranks, &in->streams};
    struct log_query query = {.limit = in->count ? (uint32_t)in->count : LINES_DEFAULT,
                              .cut_bytes = in->has_cut ? (uint32_t)in->cut : LINE_CUT};
    struct log_owner owner;
    struct log_span span;
    struct log_page page;
    int64_t line = 0;
    det_status st = check_lines_query(req, in);

    if (!st)
        st = read_filters(req, &filters, &owner, &query);
    if (!st)
        st = store_log_span(req->db, req->arg[0], &span, req->err);
    if (!st)
        st = find_place(req, in, &span, &line);
    if (st)
        return st;
    set_place(&query, line, in->before);
    st = store_log_read(req->db, &query, &req->mem, &page, req->err);
    if (st)
        return st;
    for (uint32_t i = 0; i < page.count; i++) /* lines may have been added meanwhile */
        span.last = MAX(span.last, page.line[i].id);
    jw_object(&req->w, NULL);
    render_owner(&req->w, &owner);
    jw_i64(&req->w, "first", span.first);
    jw_i64(&req->w, "last", span.last);
    jw_i64(&req->w, "at", line);
    render_lines(&req->w, "lines", &page, in->before);
    jw_i64(&req->w, "next", in->before ? page.next : page.next + 1);
    jw_bool(&req->w, "isEnd", page.is_end);
    st = store_log_live(req->db, &query, &req->mem, &page, req->err);
    if (st)
        return st;
    render_lines(&req->w, "live", &page, false);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- search ---------------------------------------------------------------------- */

struct search_state {
    struct log_query query;
    int64_t limit; /* 0: none */
    int64_t hits;
};

static void end_search(struct json_writer *w, const struct search_state *state,
                       const struct log_page *page)
{
    jw_object(w, NULL);
    jw_bool(w, "end", true);
    jw_i64(w, "hits", state->hits);
    if (!page->is_end) /* where the next search continues */
        jw_i64(w, "next", state->query.is_descending ? page->next : page->next + 1);
    jw_end_object(w);
    buf_putc(w->out, '\n');
}

static det_status next_hits(struct request *req, struct buf *out,
                            enum net_more *ret_more)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct search_state *state = req->state;
    struct json_writer w = JSON_WRITER(out);
    struct log_span span;
    struct log_page page;
    det_status st = store_log_span(req->db, req->arg[0], &span, req->err);

    if (state->limit)
        state->query.limit = (uint32_t)MIN(state->limit - state->hits, 1000);
    if (!st)
        st = store_log_read(req->db, &state->query, &mem, &page, req->err);
    if (st)
        return st;
    state->hits += page.count;
    jw_object(&w, NULL);
    render_lines(&w, "hits", &page, false);
    jw_i64(&w, "upTo", page.next);
    jw_i64(&w, "of", span.last);
    jw_end_object(&w);
    buf_putc(out, '\n');
    w.needs_comma = false;
    if (state->query.is_descending)
        state->query.before_id = page.next;
    else
        state->query.after_id = page.next;
    *ret_more = NET_MORE;
    if (page.is_end || (state->limit && state->hits >= state->limit)) {
        end_search(&w, state, &page);
        *ret_more = NET_END;
    }
    return out->status;
}

det_status api_task_search(struct request *req)
{
    const struct line_search_query *in = req->query;
    const struct line_filters filters = {&in->levels, &in->ranks, &in->streams};
    struct search_state *state = arena_new(&req->mem, struct search_state);
    struct log_owner owner;
    struct log_span span;
    int64_t line;
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = read_filters(req, &filters, &owner, &state->query);
    if (!st && (!in->text || !*in->text))
        st = err_set(req->err, DET_INVALID, "text is missing: the text to search for");
    if (!st && in->limit < 0)
        st = err_set(req->err, DET_INVALID, "limit must not be negative");
    state->query.search = in->text;
    state->query.is_regex = in->regex;
    state->query.folds = !in->case_counts;
    state->query.cut_bytes = HIT_CUT;
    if (!st) /* now: once the stream has begun, it is too late for an error */
        st = store_log_check(&state->query, req->err);
    if (!st)
        st = store_log_span(req->db, req->arg[0], &span, req->err);
    if (st)
        return st;
    line = in->before ? span.last + 1 : span.first;
    set_place(&state->query, in->has_from ? line_of(&span, in->from) : line,
              in->before);
    state->limit = in->limit;
    req->state = state;
    return request_stream(req, next_hits);
}

/* ---- the whole log ------------------------------------------------------------- */

static det_status next_text(struct request *req, struct buf *out,
                            enum net_more *ret_more)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct log_query *query = req->state;
    struct log_page page;
    det_status st = store_log_read(req->db, query, &mem, &page, req->err);

    if (st)
        return st;
    for (uint32_t i = 0; i < page.count; i++)
        logs_print_line(out, &page.line[i]);
    query->after_id = page.next;
    *ret_more = page.is_end ? NET_END : NET_MORE;
    return out->status;
}

det_status api_task_text(struct request *req)
{
    const struct lines_query *in = req->query;
    const struct line_filters filters = {&in->levels, &in->ranks, &in->streams};
    struct log_query *query = arena_new(&req->mem, struct log_query);
    struct log_owner owner;
    det_status st;

    if (!query)
        return DET_NOMEM;
    st = read_filters(req, &filters, &owner, query);
    req->state = query;
    req->content_type = "text/plain; charset=utf-8";
    return st ? st : request_stream(req, next_text);
}
