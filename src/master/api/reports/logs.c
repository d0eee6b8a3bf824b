/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - stores log lines of supervisors and of official clients, and streams them. */
#include "master/api/reports/logs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/map.h"
#include "data/time.h"
#include "master/api/api.h"
#include "master/api/experiments/unmanaged.h"
#include "master/api/listing.h"
#include "master/background/log_policies.h"
#include "master/changes/changes.h"
#include "master/heart/heart.h"
#include "master/request/access.h"
#include "master/request/request_stream.h"
#include "master/request/waits.h"
#include "master/watch/meters.h"
#include "store/experiment/trial.h"
#include "store/experiment/trial_view.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"
#include "store/log/log_seek.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "store/task/job.h"
#include "wire/bodies.h"
#include "wire/queries.h"

enum { LIVE_LINE_MOST = 64 << 10 };

/* ---- prefixes of a line ----------------------------------------------- */

static bool read_rank(struct log_line *line)
{
    static const char mark[] = "[rank=";
    const char *at = line->text + sizeof(mark) - 1;
    int64_t rank = 0;

    if (strncmp(line->text, mark, sizeof(mark) - 1) || *at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9' && rank < 1000000; at++)
        rank = rank * 10 + (*at - '0');
    if (*at != ']')
        return false;
    at += at[1] == ' ' ? 2 : 1;
    line->rank = rank;
    line->len -= (uint32_t)(at - line->text);
    line->text = at;
    return true;
}

static void read_severity(struct log_line *line)
{
    for (int i = LOG_SEVERITY_TRACE; log_severity_names[i]; i++) {
        size_t len = strlen(log_severity_names[i]);

        if (strncmp(line->text, log_severity_names[i], len) || line->text[len] != ':')
            continue;
        len += line->text[len + 1] == ' ' ? 2 : 1;
        line->severity = (enum log_severity)i;
        line->text += len;
        line->len -= (uint32_t)len;
        return;
    }
}

/* "[rank=3] ERROR: out of cheese" */
static void read_prefixes(struct log_line *line)
{
    (void)read_rank(line);
    read_severity(line);
}

enum log_severity logs_severity(const char *name)
{
    if (!strncmp(name, "LOG_LEVEL_", 10))
        name += 10;
    for (int i = 0; log_severity_names[i]; i++)
        if (!strcmp(log_severity_names[i], name))
            return (enum log_severity)i;
    return LOG_SEVERITY_UNSPECIFIED;
}

static enum log_stream stream_of(const char *name)
{
    if (name && !strcmp(name, "stdout"))
        return LOG_STREAM_STDOUT;
    return name && !strcmp(name, "stderr") ? LOG_STREAM_STDERR : LOG_STREAM_NONE;
}

/* ---- storing --------------------------------------------------------------------- */

struct log_state {
    struct log_batch batch;
    struct log_line *lines;
    int64_t trial_id; /* whose log policies apply; 0: none */
    int64_t experiment_id;
    int64_t supervised; /* the allocation, if its supervisor sends; else 0 */
    int64_t rank;
    const char *agent;
    struct policy_match match;
    int64_t offset;  /* where the sender continues */
    uint32_t stored; /* lines */
    bool answers_offset;
};

static det_status write_lines(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct log_state *state = req->state;
    det_status st = DET_OK;

    if (state->supervised)
        st = store_share_check_open(db, state->supervised, state->rank, err);
    if (!st)
        st = store_log_add(db, &state->batch, &req->mem, &state->stored, err);
    if (!st && state->batch.sender)
        st = store_log_offset(db, state->batch.sender, &state->offset, err);
    if (!st && state->match.name[0])
        st = store_trial_set_log_policy(db, state->trial_id, state->match.name, err);
    return st;
}

static det_status reply_stored(struct request *req)
{
    struct log_state *state = req->state;

    if (!state->answers_offset)
        return DET_OK;
    jw_object(&req->w, NULL);
    jw_i64(&req->w, "offset", state->offset);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status lines_written(struct request *req)
{
    struct log_state *state = req->state;
    struct core_event event = {.kind = EVENT_LOG_POLICY};
    const char *key = waits_key_task(&req->mem, state->batch.task_id);

    meters_add(req->master->meters, METER_LINES_STORED, state->stored);
    if (key)
        waits_wake(req->master->waits, key);
    changes_note_text(req->master->changes, CHANGE_LOGS, state->batch.task_id);
    if (!state->match.cancels_retries && !state->match.excludes_node)
        return reply_stored(req);
    event.log_policy.trial_id = state->trial_id;
    event.log_policy.cancels_retries = state->match.cancels_retries;
    event.log_policy.exclude_agent = state->match.excludes_node ? state->agent : NULL;
    return request_event(req, &event, reply_stored);
}

static det_status store_lines(struct request *req, struct log_state *state)
{
    const struct policy_lines lines = {state->experiment_id, state->lines,
                                       state->batch.count};
    det_status st = DET_OK;

    meters_add(req->master->meters, METER_LINES_RECEIVED, state->batch.count);
    if (state->trial_id) /* a job has no policies */
        st = log_policies_match(req->master->log_policies, req->db, &lines,
                                &state->match, req->err);
    if (st)
        return st;
    state->batch.line = state->lines;
    req->state = state;
    return request_write(req, write_lines, lines_written);
}

/* The agent and container of a process of an allocation. */
static det_status find_origin(struct request *req, const struct allocation *allocation,
                              int64_t rank, struct log_line *origin)
{
    struct share *shares;
    uint32_t count = 0;
    det_status st =
        store_shares_of(req->db, allocation->id, &req->mem, &shares, &count, req->err);

    for (uint32_t i = 0; !st && i < count; i++)
        if (shares[i].rank == rank) {
            origin->agent = shares[i].agent;
            origin->container = shares[i].container_id;
            return DET_OK;
        }
    return st ? st
              : err_set(req->err, DET_INVALID, "allocation %s has no rank %" PRId64,
                        allocation->name, rank);
}

/* [time, text] */
static det_status read_share_line(struct request *req, const struct json *item,
                                  const struct log_line *origin, struct log_line *line)
{
    const struct json *time = item->kind == JSON_ARRAY ? item->list.first : NULL;
    const struct json *text = time ? time->next : NULL;

    if (!text || text->kind != JSON_STRING)
        return err_set(req->err, DET_INVALID, "a line must be [microseconds, text]");
    *line = *origin;
    line->time_us = json_i64(time, 0);
    line->text = text->string.text;
    line->len = (uint32_t)text->string.len;
    read_prefixes(line);
    return DET_OK;
}

/* What a supervisor's next line shows while it is being rewritten. */
static det_status read_live_line(struct request *req, const struct json *item,
                                 const struct log_line *origin, struct log_state *state)
{
    struct log_line *line;
    det_status st;

    if (!item || json_is_null(item))
        return DET_OK;
    line = arena_new(&req->mem, struct log_line);
    if (!line)
        return DET_NOMEM;
    st = read_share_line(req, item, origin, line);
    if (!st && line->len > LIVE_LINE_MOST)
        return err_set(req->err, DET_INVALID, "live has %u bytes; the most are %d",
                       (unsigned)line->len, LIVE_LINE_MOST);
    state->batch.live = line;
    return st;
}

/* [[time, text], ...] of a supervisor. */
static det_status read_share_lines(struct request *req, const struct json *list,
                                   const struct log_line *origin,
                                   struct log_state *state)
{
    det_status st = DET_OK;

    if (list->kind != JSON_ARRAY)
        return err_set(req->err, DET_INVALID, "lines is %s; expected a list",
                       json_kind_name(list->kind));
    state->lines = arena_array(&req->mem, struct log_line, list->list.count + 1);
    if (!state->lines)
        return DET_NOMEM;
    json_each(item, list) {
        st = read_share_line(req, item, origin, &state->lines[state->batch.count++]);
        if (st)
            return st;
    }
    return DET_OK;
}

/* The store keeps one offset per stream, and only these streams exist. */
static det_status check_offsets(struct request *req, const struct share_logs_body *body)
{
    if (stream_of(body->stream) == LOG_STREAM_NONE)
        return err_set(req->err, DET_INVALID,
                       "the stream is '%s'; expected stdout or stderr", body->stream);
    if (body->end_offset < body->offset || body->offset < 0)
        return err_set(req->err, DET_INVALID, "endOffset lies before offset");
    if (body->end_offset - body->offset > SHARE_LOGS_BYTES)
        return err_set(req->err, DET_INVALID,
                       "endOffset claims %" PRId64
                       " bytes of output; a batch has at most %d",
                       body->end_offset - body->offset, SHARE_LOGS_BYTES);
    return DET_OK;
}

det_status api_share_logs(struct request *req)
{
    const struct share_logs_body *body = req->body;
    struct log_state *state = arena_new(&req->mem, struct log_state);
    struct log_line origin = {.rank = -1, .source = "task"};
    struct allocation allocation;
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, &allocation, req->err);

    if (!st && !state)
        st = DET_NOMEM;
    if (!st)
        st = find_origin(req, &allocation, body->rank, &origin);
    if (st)
        return st;
    st = check_offsets(req, body);
    if (st)
        return st;
    origin.allocation = allocation.name;
    origin.stream = stream_of(body->stream);
    st = read_share_lines(req, body->lines, &origin, state);
    if (!st)
        st = read_live_line(req, body->live, &origin, state);
    if (st)
        return st;
    state->batch.task_id = allocation.task_id;
    state->batch.sender = arena_printf(&req->mem, "%s/%" PRId64 "/%s", allocation.name,
                                       body->rank, body->stream);
    state->batch.offset = body->offset;
    state->batch.end_offset = body->end_offset;
    /* Lines of a run that was given up say nothing about the trial's present one. */
    if (allocation.state != ALLOCATION_TERMINATED)
        state->trial_id = allocation.trial_id;
    state->experiment_id = allocation.experiment_id;
    state->rank = body->rank;
    if (req->caller.kind == CALLER_SUPERVISOR)
        state->supervised = allocation.id;
    state->agent = origin.agent;
    state->answers_offset = true;
    return state->batch.sender ? store_lines(req, state) : DET_NOMEM;
}

/* Output of a run without a master; it has no allocation. */
det_status api_trial_output(struct request *req)
{
    const struct share_logs_body *body = req->body;
    struct log_state *state = arena_new(&req->mem, struct log_state);
    struct log_line origin = {.rank = -1, .source = "task"};
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st && !state)
        st = DET_NOMEM;
    if (!st)
        st = unmanaged_trial_get(req, id, &trial);
    if (!st)
        st = check_offsets(req, body);
    if (st)
        return st;
    origin.stream = stream_of(body->stream);
    st = read_share_lines(req, body->lines, &origin, state);
    if (!st)
        st = read_live_line(req, body->live, &origin, state);
    if (st)
        return st;
    state->batch.task_id = trial.row.task_id;
    state->batch.sender =
        arena_printf(&req->mem, "trial %" PRId64 "/%s", id, body->stream);
    state->batch.offset = body->offset;
    state->batch.end_offset = body->end_offset;
    state->trial_id = id;
    state->experiment_id = trial.row.experiment_id;
    state->answers_offset = true;
    return state->batch.sender ? store_lines(req, state) : DET_NOMEM;
}

/* One line of the official shape. */
static det_status read_official(struct request *req, const struct json *item,
                                struct log_state *state)
{
    struct log_line *line = &state->lines[state->batch.count++];
    const char *task = json_str(json_find(item, "task_id"), NULL);
    const struct json *text = json_find(item, "log");
    const char *time = json_str(json_find(item, "timestamp"), NULL);

    if (!task || !text || text->kind != JSON_STRING)
        return err_set(req->err, DET_INVALID, "a line needs taskId and log");
    if (json_find(item, "id") && !json_is_null(json_find(item, "id")))
        return err_set(req->err, DET_INVALID, "a line must not have an id");
    if (state->batch.task_id && strcmp(task, state->batch.task_id))
        return err_set(req->err, DET_INVALID, "all lines must be of one task");
    state->batch.task_id = task;
    *line = (struct log_line){
        .rank = json_i64(json_find(item, "rank_id"), -1),
        .severity = logs_severity(json_str(json_find(item, "level"), "")),
        .stream = stream_of(json_str(json_find(item, "stdtype"), NULL)),
        .text = text->string.text,
        .len = (uint32_t)text->string.len,
        .allocation = json_str(json_find(item, "allocation_id"), NULL),
        .agent = json_str(json_find(item, "agent_id"), NULL),
        .container = json_str(json_find(item, "container_id"), NULL),
        .source = json_str(json_find(item, "source"), NULL),
    };
    if (!time || !time_parse(time, &line->time_us))
        line->time_us = master_now_us(req->master);
    if (line->len && line->text[line->len - 1] == '\n')
        line->len--;
    if (line->agent)
        state->agent = line->agent;
    return DET_OK;
}

/* The trial of a task, for its log policies; 0 for a job. */
static det_status find_trial(struct request *req, struct log_state *state)
{
    struct allocation *rows;
    uint32_t count = 0;
    det_status st = store_allocations_of_task(req->db, state->batch.task_id, &req->mem,
                                              &rows, &count, req->err);

    if (st)
        return st;
    if (!count)
        return err_set(req->err, DET_NOT_FOUND, "task '%s' not found",
                       state->batch.task_id);
    state->trial_id = rows[0].trial_id;
    state->experiment_id = rows[0].experiment_id;
    return DET_OK;
}

det_status api_post_task_logs(struct request *req)
{
    const struct json *list =
        req->tree->kind == JSON_ARRAY ? req->tree : json_find(req->tree, "logs");
    struct log_state *state = arena_new(&req->mem, struct log_state);
    det_status st = DET_OK;

    if (!list || list->kind != JSON_ARRAY || !list->list.count)
        return err_set(req->err, DET_INVALID,
                       "the body needs at least one line in logs");
    if (!state)
        return DET_NOMEM;
    state->lines = arena_array(&req->mem, struct log_line, list->list.count);
    if (!state->lines)
        return DET_NOMEM;
    json_each(item, list) {
        st = read_official(req, item, state);
        if (st)
            return st;
    }
    st = access_check(req, ROUTE_OBJECT_task, state->batch.task_id);
    if (!st)
        st = find_trial(req, state);
    return st ? st : store_lines(req, state);
}

/* ---- reading --------------------------------------------------------------------- */

struct follow_state {
    struct log_query query;
    int64_t trial_id; /* > 0: lines name the trial, not the task */
    bool follows;
    int64_t left; /* lines still wanted; -1: all */
    const char *key;
    bool shows_live;    /* also lines that are being rewritten */
    uint64_t live_hash; /* of what was sent of them; 0: nothing */
};

void logs_print_line(struct buf *text, const struct log_line *line)
{
    char time[TIME_TEXT];

    time_format(line->time_us, time);
    buf_printf(text, "[%s] %-8.8s", time, line->container ? line->container : "");
    if (line->rank >= 0)
        buf_printf(text, " [rank=%" PRId64 "]", line->rank);
    buf_puts(text, " || ");
    if (line->severity)
        buf_printf(text, "%s: ", log_severity_names[line->severity]);
    buf_add(text, line->text, line->len);
    buf_putc(text, '\n');
}

/* A line may hold any bytes, so its length counts.  `text` is scratch memory. */
static void render_message(struct json_writer *w, const struct log_line *line,
                           struct buf *text)
{
    buf_clear(text);
    logs_print_line(text, line);
    jw_strn(w, "message", text->data, text->len);
}

static void render_log(struct json_writer *w, const struct log_line *line,
                       struct buf *text)
{
    buf_clear(text);
    buf_add(text, line->text, line->len);
    buf_putc(text, '\n');
    jw_strn(w, "log", text->data, text->len);
}

static void render_optional(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        jw_str(w, key, text);
    else
        jw_null(w, key);
}

static det_status render_line(struct json_writer *w, const struct log_line *line,
                              const struct follow_state *state, struct buf *text)
{
    static const char *const streams[] = {NULL, "stdout", "stderr"};
    char time[TIME_TEXT];
    char level[32];
    char id[24];

    time_format(line->time_us, time);
    snprintf(level, sizeof(level), "LOG_LEVEL_%s", log_severity_names[line->severity]);
    snprintf(id, sizeof(id), "%" PRId64, line->id);
    jw_object(w, NULL);
    jw_object(w, "result");
    jw_str(w, "id", id);
    if (!line->id)
        jw_bool(w, "isLive", true);
    if (state->trial_id)
        jw_i64(w, "trialId", state->trial_id);
    else
        jw_str(w, "taskId", state->query.task_id);
    jw_str(w, "timestamp", time);
    render_message(w, line, text);
    jw_str(w, "level", level);
    if (!text->status)
        render_log(w, line, text);
    render_optional(w, "allocationId", line->allocation);
    render_optional(w, "agentId", line->agent);
    render_optional(w, "containerId", line->container);
    if (line->rank >= 0)
        jw_i64(w, "rankId", line->rank);
    else
        jw_null(w, "rankId");
    render_optional(w, "source", line->source);
    render_optional(w, "stdtype", streams[line->stream]);
    jw_end_object(w);
    jw_end_object(w);
    buf_putc(w->out, '\n');
    w->needs_comma = false;
    return text->status;
}

static det_status render_lines(struct json_writer *w, const struct log_page *page,
                               const struct follow_state *state)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    det_status st = DET_OK;

    for (uint32_t i = 0; !st && i < page->count; i++)
        st = render_line(w, &page->line[i], state, &text);
    return st;
}

static uint64_t hash_lines(const struct log_page *page)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < page->count; i++)
        hash = hash_number(hash ^ (uint64_t)page->line[i].time_us) ^
               hash_bytes(page->line[i].text, page->line[i].len);
    return hash;
}

/* After the last line: what the lines that are being rewritten show, if it has changed, or
 * if other lines came (a terminal has printed those over it). */
static det_status render_live(struct request *req, struct follow_state *state,
                              bool has_lines, struct json_writer *w)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct log_page page;
    uint64_t hash;
    det_status st;

    if (!state->shows_live)
        return DET_OK;
    st = store_log_live(req->db, &state->query, &mem, &page, req->err);
    if (st)
        return st;
    hash = hash_lines(&page);
    if (hash != state->live_hash || has_lines)
        st = render_lines(w, &page, state);
    state->live_hash = hash;
    return st;
}

/* The supervisor reports the exit after the last line, so the log is complete once its
 * trial or job has ended. */
static det_status task_is_over(struct request *req, const char *task_id,
                               bool *ret_is_over)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    struct allocation *rows;
    struct trial_view trial;
    uint32_t count;
    det_status st =
        store_allocations_of_task(req->db, task_id, &mem, &rows, &count, req->err);

    *ret_is_over = true;
    if (st || !count)
        return st;
    if (rows[0].job_id)
        return store_job_is_over(req->db, rows[0].job_id, ret_is_over, req->err);
    st = store_trial_get(req->db, rows[0].trial_id, &mem, &trial, req->err);
    if (!st)
        *ret_is_over = trial_is_terminal(trial.row.state);
    return st;
}

/* No more lines for now: ends the stream, or waits for more. */
static det_status end_or_wait(struct request *req, struct follow_state *state,
                              uint64_t mark, bool was_over, enum net_more *ret_more)
{
    *ret_more = state->follows && !was_over ? request_stream_wait(req, state->key, mark)
                                            : NET_END;
    return DET_OK;
}

static det_status next_lines(struct request *req, struct buf *out,
                             enum net_more *ret_more)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct follow_state *state = req->state;
    struct json_writer w = JSON_WRITER(out);
    uint64_t mark = waits_mark(req->master->waits, state->key);
    struct log_page page;
    bool was_over = true;
    det_status st = DET_OK;

    /* checked before reading, so lines before the end are not missed */
    if (state->follows)
        st = task_is_over(req, state->query.task_id, &was_over);
    if (st)
        return st;
    state->query.limit = state->left > 0 ? (uint32_t)MIN(state->left, 2000) : 0;
    st = store_log_read(req->db, &state->query, &mem, &page, req->err);
    if (!st)
        st = render_lines(&w, &page, state);
    if (st)
        return st;
    if (state->query.is_descending)
        state->query.before_id = page.next;
    else
        state->query.after_id = page.next;
    if (state->left > 0)
        state->left -= page.count;
    *ret_more = NET_MORE;
    if (state->left == 0)
        *ret_more = NET_END;
    else if (page.is_end) {
        st = render_live(req, state, page.count > 0, &w);
        if (!st)
            st = end_or_wait(req, state, mark, was_over, ret_more);
    }
    return st ? st : out->status;
}

static det_status fill_filters(struct request *req, const struct logs_query *in,
                               struct log_query *query)
{
    for (size_t i = 0; i < in->levels.count; i++)
        query->severities |= TO(logs_severity(in->levels.at[i]));
    query->allocations = in->allocation_ids;
    query->agents = in->agent_ids;
    query->containers = in->container_ids;
    query->ranks = in->rank_ids;
    query->sources = in->sources;
    query->streams = in->stdtypes;
    query->from_us = in->timestamp_after;
    query->to_us = in->timestamp_before;
    query->search = in->search_text && *in->search_text ? in->search_text : NULL;
    query->is_regex = in->enable_regex;
    query->is_descending = listing_is_descending(in->order_by);
    if (in->limit < 0)
        return err_set(req->err, DET_INVALID, "limit must not be negative");
    if (in->limit && in->follow)
        return err_set(req->err, DET_INVALID,
                       "Limit cannot be specified when following");
    /* checked now: once the stream has begun, it is too late for an error */
    return store_log_check(query, req->err);
}

static det_status stream_logs(struct request *req, const char *task_id,
                              int64_t trial_id)
{
    const struct logs_query *in = req->query;
    struct follow_state *state = arena_new(&req->mem, struct follow_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = fill_filters(req, in, &state->query);
    if (st)
        return st;
    state->query.task_id = task_id;
    state->trial_id = trial_id;
    state->follows = in->follow;
    state->left = in->limit ? in->limit : -1;
    state->shows_live = in->live;
    state->key = waits_key_task(&req->mem, task_id);
    req->state = state;
    return state->key ? request_stream(req, next_lines) : DET_NOMEM;
}

static det_status find_trial_in_path(struct request *req, struct trial_view *ret_trial)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : store_trial_get(req->db, id, &req->mem, ret_trial, req->err);
}

static det_status check_task(struct request *req)
{
    struct log_owner owner;

    return store_log_owner(req->db, req->arg[0], &owner, req->err);
}

det_status api_trial_logs(struct request *req)
{
    struct trial_view trial;
    det_status st = find_trial_in_path(req, &trial);

    return st ? st : stream_logs(req, trial.row.task_id, trial.row.id);
}

det_status api_task_logs(struct request *req)
{
    det_status st = check_task(req);

    return st ? st : stream_logs(req, req->arg[0], 0);
}

static det_status next_fields(struct request *req, struct buf *out,
                              enum net_more *ret_more)
{
    CLEANUP(buf_done) struct buf fields = BUF_INIT;
    det_status st = store_log_fields(req->db, req->state, &fields, req->err);

    if (st)
        return st;
    buf_printf(out, "{\"result\":%s}\n", fields.data);
    *ret_more = NET_END;
    return DET_OK;
}

det_status api_trial_logs_fields(struct request *req)
{
    struct trial_view trial;
    det_status st = find_trial_in_path(req, &trial);

    if (st)
        return st;
    req->state = (void *)(uintptr_t)trial.row.task_id;
    return request_stream(req, next_fields);
}

det_status api_task_logs_fields(struct request *req)
{
    det_status st = check_task(req);

    if (st)
        return st;
    req->state = (void *)(uintptr_t)req->arg[0];
    return request_stream(req, next_fields);
}
