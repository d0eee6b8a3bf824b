/* SPDX-License-Identifier: Apache-2.0 */
/* change_stream.c - changes as server-sent events for open pages.
 *
 *   hello                    the master and the position of the stream
 *   changes  {"trials":[5]}  read these again
 *   reset                    read everything again
 *   alive                    a sign of life (scripts do not see comments)
 *
 * The id of an event is "<master's id>:<number>".  A page that reconnects sends the last id
 * it has received.  It then gets the changes since, or a reset if they are no longer known or
 * the id is another master's.  The stream ends with its session. */
#include "master/api/pages/change_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text.h"
#include "master/api/api.h"
#include "master/changes/changes.h"
#include "master/changes/pacer.h"
#include "master/request/access.h"
#include "master/request/auth.h"
#include "master/request/request_stream.h"
#include "master/request/waits.h"
#include "wire/queries.h"

enum {
    LIST_BYTES = 4 << 20,
    QUIET_US = PACER_IDLE_US - 1000000, /* then a sign of life is due */
    FILTER_MOST = 10000,                /* numbers in one filter */
    ID_BYTES = 64,
};

struct listening {
    struct changes_filter filter;
    uint64_t cursor;
    bool says_hello;
    bool says_reset;
    int64_t spoke_us;
};

/* ---- filters --------------------------------------------------------------------- */

typedef det_status part_fn(struct request *req, const char *part, void *arg);

/* Calls fn() for every part of "1,2", of each text in the list. */
static det_status each_part(struct request *req, const struct field_strs *list,
                            part_fn *fn, void *arg)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *at = list->at[i];

        while (*at) {
            size_t len = strcspn(at, ",");
            const char *part = arena_strndup(&req->mem, at, len);
            det_status st = part ? DET_OK : DET_NOMEM;

            if (!st && len)
                st = fn(req, part, arg);
            if (st)
                return st;
            at += len + (at[len] == ',');
        }
    }
    return DET_OK;
}

static det_status add_kind(struct request *req, const char *part, void *arg)
{
    uint32_t *kinds = arg;

    for (int i = 0; change_kind_names[i]; i++)
        if (!strcmp(change_kind_names[i], part)) {
            *kinds |= 1u << i;
            return DET_OK;
        }
    return err_set(req->err, DET_INVALID,
                   "the kind '%.100s' is unknown; expected experiments, "
                   "trials, metrics, checkpoints, media, logs, agents, jobs, queue or "
                   "deleted",
                   part);
}

static det_status count_part(struct request *req, const char *part, void *arg)
{
    size_t *count = arg;

    (void)part;
    if (++*count > FILTER_MOST)
        return err_set(req->err, DET_INVALID, "a filter has at most %d parts",
                       FILTER_MOST);
    return DET_OK;
}

static det_status add_number(struct request *req, const char *part, void *arg)
{
    struct field_i64s *list = arg;

    if (!parse_i64(part, &list->at[list->count]))
        return err_set(req->err, DET_INVALID, "'%.100s' is not a number", part);
    list->count++;
    return DET_OK;
}

static det_status add_text(struct request *req, const char *part, void *arg)
{
    struct field_strs *list = arg;

    (void)req;
    list->at[list->count++] = part;
    return DET_OK;
}

static int order_i64(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static det_status read_numbers(struct request *req, const struct field_strs *in,
                               struct field_i64s *ret_list)
{
    size_t count = 0;
    det_status st = each_part(req, in, count_part, &count);

    if (st)
        return st;
    ret_list->at = arena_array(&req->mem, int64_t, count + 1);
    if (!ret_list->at)
        return DET_NOMEM;
    st = each_part(req, in, add_number, ret_list);
    qsort(ret_list->at, ret_list->count, sizeof(int64_t), order_i64);
    return st;
}

static det_status read_texts(struct request *req, const struct field_strs *in,
                             struct field_strs *ret_list)
{
    size_t count = 0;
    det_status st = each_part(req, in, count_part, &count);

    if (st)
        return st;
    ret_list->at = arena_array(&req->mem, const char *, count + 1);
    return ret_list->at ? each_part(req, in, add_text, ret_list) : DET_NOMEM;
}

static det_status read_filter(struct request *req, struct changes_filter *ret_filter)
{
    const struct changes_query *in = req->query;
    det_status st = each_part(req, &in->kinds, add_kind, &ret_filter->kinds);

    if (!st && !ret_filter->kinds)
        ret_filter->kinds = ~0u;
    if (ret_filter->kinds & 1u << CHANGE_EXPERIMENT)
        ret_filter->kinds |= 1u << CHANGE_DELETED;
    if (!st)
        st = read_numbers(req, &in->experiment, &ret_filter->experiments);
    if (!st)
        st = read_numbers(req, &in->trial, &ret_filter->trials);
    return st ? st : read_texts(req, &in->task, &ret_filter->tasks);
}

/* ---- events ---------------------------------------------------------------------- */

static void event_begin(struct buf *out, const char *name)
{
    buf_printf(out, "event: %s\n", name);
}

#define EVENT_ID "%s:%" PRIu64 /* the master, the number */

/* The id comes last, so a client that got only a part does not know it. */
static void event_end(struct request *req, struct buf *out, uint64_t cursor)
{
    buf_printf(out, "\nid: " EVENT_ID "\n\n", req->master->id, cursor);
}

void change_stream_render_position(struct request *req)
{
    char id[ID_BYTES];

    snprintf(id, sizeof(id), EVENT_ID, req->master->id,
             changes_position(req->master->changes));
    jw_str(&req->w, "changesAt", id);
}

static void write_hello(struct request *req, const struct listening *l, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    buf_puts(out, "retry: 1000\n");
    event_begin(out, "hello");
    buf_puts(out, "data: ");
    jw_object(&w, NULL);
    jw_str(&w, "master", req->master->id);
    jw_str(&w, "cluster", req->master->cluster_id);
    jw_str(&w, "version", DET_VERSION);
    jw_end_object(&w);
    event_end(req, out, l->cursor);
}

static void write_reset(struct request *req, const struct listening *l, struct buf *out)
{
    event_begin(out, "reset");
    buf_puts(out, "data: {}");
    event_end(req, out, l->cursor);
}

static void write_kind(struct json_writer *w, const struct change_list *list,
                       enum change_kind kind)
{
    bool is_open = false;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct change *change = &list->at[i];

        if (change->kind != kind)
            continue;
        if (kind == CHANGE_QUEUE) {
            jw_bool(w, change_kind_names[kind], true);
            return;
        }
        if (!is_open)
            jw_array(w, change_kind_names[kind]);
        is_open = true;
        if (change->text)
            jw_str(w, NULL, change->text);
        else
            jw_i64(w, NULL, change->id);
    }
    if (is_open)
        jw_end_array(w);
}

static void write_changes(struct request *req, const struct listening *l,
                          const struct change_list *list, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);

    event_begin(out, "changes");
    buf_puts(out, "data: ");
    jw_object(&w, NULL);
    for (int kind = 0; kind < CHANGE_KINDS; kind++)
        write_kind(&w, list, (enum change_kind)kind);
    jw_end_object(&w);
    event_end(req, out, l->cursor);
}

static bool is_visible(struct request *req, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_EXPERIMENT:
        return access_shows_id(req, ROUTE_OBJECT_experiment, change->id);
    case CHANGE_TRIAL:
    case CHANGE_METRICS:
    case CHANGE_CHECKPOINT:
    case CHANGE_MEDIA:
        return access_shows_id(req, ROUTE_OBJECT_trial, change->id);
    case CHANGE_LOGS:
    case CHANGE_JOB:
        return access_shows(req, ROUTE_OBJECT_task, change->text);
    case CHANGE_AGENT:
    case CHANGE_QUEUE:
    case CHANGE_DELETED:
    case CHANGE_KINDS:
        break;
    }
    return true;
}

/* Drops what the listener may not see. */
static void keep_visible(struct request *req, struct change_list *list)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->count; i++)
        if (is_visible(req, &list->at[i]))
            list->at[kept++] = list->at[i];
    list->count = kept;
}

/* ---- the stream ------------------------------------------------------------------ */

/* Writes the events that are due; `out` stays empty if there are none. */
static det_status write_events(struct request *req, struct listening *l,
                               struct buf *out)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(LIST_BYTES);
    struct change_list list;
    det_status st;

    if (l->says_hello)
        write_hello(req, l, out);
    l->says_hello = false;
    st = changes_read(req->master->changes, &l->filter, &mem, &l->cursor, &list,
                      req->err);
    if (st)
        return st;
    keep_visible(req, &list);
    if (l->says_reset || list.is_reset)
        write_reset(req, l, out);
    else if (list.count)
        write_changes(req, l, &list, out);
    l->says_reset = false;
    return DET_OK;
}

static det_status next_event(struct request *req, struct buf *out,
                             enum net_more *ret_more)
{
    struct listening *l = req->state;
    uint64_t mark = waits_mark(req->master->waits, PACER_KEY);
    int64_t now_us = request_mono_us(req);
    det_status st;

    *ret_more = NET_END;
    st = write_events(req, l, out);
    if (st)
        return st;
    if (!out->len && now_us - l->spoke_us >= QUIET_US)
        buf_puts(out, "event: alive\ndata: {}\n\n");
    if (out->len)
        l->spoke_us = now_us;
    *ret_more = request_stream_wait(req, PACER_KEY, mark);
    return DET_OK;
}

/* The number in "<master>:<number>"; 0: another master's, or not an id. */
static uint64_t read_since(const struct request *req, const char *id)
{
    size_t len = strlen(req->master->id);
    int64_t number;

    if (strncmp(id, req->master->id, len) || id[len] != ':' ||
        !parse_i64(id + len + 1, &number) || number < 0)
        return 0;
    return (uint64_t)number;
}

static void stop_listening(struct request *req)
{
    pacer_leave(req->master->pacer);
}

det_status api_changes(struct request *req)
{
    const struct changes_query *in = req->query;
    const char *last = net_request_header(req->x, "Last-Event-ID");
    struct listening *l = arena_new(&req->mem, struct listening);
    uint64_t since;
    det_status st = l ? read_filter(req, &l->filter) : DET_NOMEM;

    access_names_nothing(req); /* keep_visible() */
    if (st)
        return st;
    if (!last || !*last)
        last = in->since;
    since = last ? read_since(req, last) : 0;
    l->says_hello = true;
    l->says_reset = !pacer_join(req->master->pacer, since, &l->cursor);
    if (last && !since)
        l->says_reset = true;
    l->spoke_us = request_mono_us(req);
    req->ended = stop_listening;
    req->state = l;
    req->content_type = "text/event-stream";
    request_header(req, "Cache-Control", "no-store");
    request_header(req, "X-Accel-Buffering", "no"); /* proxies must not buffer */
    return request_stream(req, next_event);
}
