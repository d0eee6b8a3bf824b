/* SPDX-License-Identifier: Apache-2.0 */
/* master_log.c - streams the last lines of the master's log (watch/log_tail.h). */
#include <string.h>

#include "base/memory/arena.h"
#include "master/api/api.h"
#include "master/request/request_stream.h"
#include "master/request/waits.h"
#include "master/watch/log_tail.h"
#include "wire/queries.h"

enum { PIECE = 500 };

struct tail_state {
    int64_t from; /* the next line */
    int64_t left; /* -1: all */
    bool follows;
};

static void render_entry(struct json_writer *w, const struct log_tail_entry *entry)
{
    static const char *const levels[] = {
        [LOG_ERROR] = "LOG_LEVEL_ERROR", [LOG_WARN] = "LOG_LEVEL_WARNING",
        [LOG_INFO] = "LOG_LEVEL_INFO",   [LOG_DEBUG] = "LOG_LEVEL_DEBUG",
        [LOG_TRACE] = "LOG_LEVEL_TRACE",
    };

    jw_object(w, NULL);
    jw_object(w, "result");
    jw_object(w, "logEntry");
    jw_i64(w, "id", entry->id);
    jw_str(w, "message", entry->text);
    jw_time(w, "timestamp", entry->time_us);
    jw_str(w, "level", levels[entry->level]);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
    buf_putc(w->out, '\n');
    w->needs_comma = false;
}

static det_status next_entries(struct request *req, struct buf *out,
                               enum net_more *ret_more)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(2 * LOG_TAIL_BYTES);
    struct tail_state *state = req->state;
    struct json_writer w = JSON_WRITER(out);
    uint64_t mark = waits_mark(req->master->waits, WAITS_KEY_MASTER_LOG);
    uint32_t most =
        state->left < 0 ? PIECE : (uint32_t)MIN(state->left, (int64_t)PIECE);
    struct log_tail_entry *entries;
    uint32_t count = 0;
    det_status st = log_tail_read(req->master->log, state->from, most, &mem, &entries,
                                  &count, req->err);

    for (uint32_t i = 0; !st && i < count; i++)
        render_entry(&w, &entries[i]);
    if (!st && count)
        state->from = entries[count - 1].id + 1;
    if (state->left > 0)
        state->left -= count;
    if (!count && state->follows)
        *ret_more = request_stream_wait(req, WAITS_KEY_MASTER_LOG, mark);
    else
        *ret_more = count && state->left ? NET_MORE : NET_END;
    return st ? st : out->status;
}

det_status api_master_logs(struct request *req)
{
    const struct master_logs_query *query = req->query;
    struct tail_state *state = arena_new(&req->mem, struct tail_state);

    if (!state)
        return DET_NOMEM;
    if (query->limit < 0)
        return err_set(req->err, DET_INVALID, "limit must not be negative");
    if (query->limit && query->follow)
        return err_set(req->err, DET_INVALID,
                       "limit and follow exclude each other: leave out one of them");
    if (!req->master->log)
        return err_set(req->err, DET_UNSUPPORTED,
                       "this master keeps no lines of its log in memory");
    state->from = query->offset < 0 ? log_tail_next(req->master->log) + query->offset
                                    : query->offset;
    state->left = query->limit ? query->limit : -1;
    state->follows = query->follow;
    req->state = state;
    return request_stream(req, next_entries);
}
