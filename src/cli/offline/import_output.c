/* SPDX-License-Identifier: Apache-2.0 */
/* import_output.c - sends the output of a run from its spools to a master.
 *
 * Like agent/task/output/ship.c, but once and from the beginning.  The master returns its
 * high-water mark, and lines after it are sent, in the order of their times across both
 * streams.  A last line without a line break is sent when the run has ended. */
#include "cli/offline/import_output.h"

#include <assert.h>
#include <inttypes.h>

#include "agent/task/output/lines.h"
#include "agent/task/output/ship.h"
#include "agent/task/output/spool.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "cli/frame/call.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/offline/import_run_impl.h"
#include "cli/offline/offline_run.h"
#include "data/json/json.h"
#include "libdet/offline/offline.h"
#include "libdet/offline/output_recorder.h"

/* The exact order of lines costs one call per change between the streams.  After
 * EXACT_CALLS calls, lines within TOGETHER_US may change their order.  A supervisor does
 * not keep the order more exactly. */
enum { EXACT_CALLS = 2000, TOGETHER_US = 50 * 1000 };

/* The time of the bytes from `offset` on. */
struct mark {
    uint64_t offset;
    int64_t time_us;
};

struct stream {
    struct import_state *import;
    const char *name;
    struct spool *spool;
    struct buf pending; /* read and not sent; begins at `offset` */
    uint64_t offset;
    uint64_t until; /* the high-water mark of the master */
    VEC(struct mark) marks;
    bool is_over;  /* everything is read */
    bool is_stuck; /* the rest is not a whole line yet */
};

/* ---- lines ----------------------------------------------------------------------- */

/* Writes lines up to `limit_us`, at most a batch.  Returns their size in bytes. */
static size_t write_lines(struct stream *s, bool is_last, int64_t limit_us,
                          struct json_writer *w)
{
    CLEANUP(buf_done) struct buf clean = BUF_INIT;
    size_t at = 0, mark = 0;
    struct line line;

    jw_array(w, "lines");
    while (at < SHIP_BATCH && at < s->pending.len &&
           line_cut(s->pending.data + at, s->pending.len - at, is_last, &line)) {
        while (mark + 1 < s->marks.count &&
               s->marks.at[mark + 1].offset <= s->offset + at)
            mark++;
        if (s->marks.at[mark].time_us > limit_us)
            break;
        at += line.taken;
        if (!line.is_hidden)
            line_write(w, NULL, &line, s->marks.at[mark].time_us, &clean);
    }
    jw_end_array(w);
    return at;
}

static void drop_pending(struct stream *s, size_t len)
{
    size_t gone = 0;

    buf_drop(&s->pending, len);
    s->offset += len;
    while (gone + 1 < s->marks.count && s->marks.at[gone + 1].offset <= s->offset)
        gone++;
    for (size_t i = gone; gone && i < s->marks.count; i++)
        s->marks.at[i - gone] = s->marks.at[i];
    s->marks.count -= gone;
}

/* One call.  *ret_sent: bytes that were sent; *ret_offset: the high-water mark. */
static det_status post_lines(struct stream *s, bool is_last, int64_t limit_us,
                             size_t *ret_sent, int64_t *ret_offset)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct cli *cli = s->import->cli;
    struct json *reply;
    det_status st;

    jw_object(&w, NULL);
    jw_i64(&w, "rank", 0);
    jw_str(&w, "stream", s->name);
    jw_i64(&w, "offset", (int64_t)s->offset);
    *ret_sent = write_lines(s, is_last, limit_us, &w);
    jw_i64(&w, "endOffset", (int64_t)(s->offset + *ret_sent));
    jw_end_object(&w);
    if (body.status)
        return cli_nomem(cli);
    if (s->pending.len && !*ret_sent)
        return DET_OK; /* no whole line yet */
    st = cli_send(cli, "POST", body.data, &reply,
                  "/api/v1/det/trials/%" PRId64 "/output", s->import->to.trial_id);
    if (!st)
        *ret_offset = json_i64(json_get(reply, "offset"), 0);
    return st;
}

/* ---- a stream -------------------------------------------------------------------- */

/* Reads one record; DET_NOT_FOUND: the end. */
static det_status read_record(struct stream *s, struct err *err)
{
    struct spool_record record;
    det_status st;

    if (!vec_push(&s->marks, (struct mark){0}))
        return err_default(err, DET_NOMEM);
    st = spool_read(s->spool, &s->pending, &record, err);
    if (st) {
        s->marks.count--;
        return st;
    }
    if (s->pending.len == record.len) {
        s->offset = record.offset;
        s->marks.count = 1;
    }
    s->marks.at[s->marks.count - 1] = (struct mark){record.offset, record.time_us};
    return DET_OK;
}

/* Reads a batch, or the rest.  Skips what the master has. */
static det_status fill_pending(struct stream *s)
{
    struct cli *cli = s->import->cli;

    while (!s->is_over && s->pending.len < SHIP_BATCH) {
        struct err why = {0};
        det_status st = read_record(s, &why);

        s->is_over = st == DET_NOT_FOUND || st == DET_CORRUPT || st == DET_IO;
        if (st == DET_CORRUPT || st == DET_IO)
            cli_note(cli, "%s: %s; the rest is lost", s->name, why.text);
        if (st && !s->is_over) {
            *cli->err = why;
            return st;
        }
        if (s->offset < s->until)
            drop_pending(s,
                         (size_t)MIN(s->until - s->offset, (uint64_t)s->pending.len));
    }
    return DET_OK;
}

static bool has_lines(const struct stream *s)
{
    return s->pending.len && !s->is_stuck;
}

static int64_t first_us(const struct stream *s)
{
    assert(s->marks.count); /* pending bytes have a time */
    return s->marks.at[0].time_us;
}

static det_status open_stream(struct stream *s, const char *folder)
{
    struct spool_config config = {.io = io_system(),
                                  .dir = folder,
                                  .name = s->name,
                                  .only_looks = true,
                                  .from = s->until};
    int64_t until = 0;
    size_t none;
    det_status st = spool_open(&config, &s->spool, s->import->cli->err);

    if (st || s->import->knows_output || !spool_end_offset(s->spool))
        return st;
    st = post_lines(s, false, 0, &none, &until); /* asks for the high-water mark */
    s->until = (uint64_t)until;
    return st;
}

/* ---- both ------------------------------------------------------------------------ */

/* The stream with the older next line; NULL: neither has lines.  Its lines up to
 * *ret_limit_us come before those of the other. */
static struct stream *older_stream(struct stream s[SHIP_STREAMS], int64_t slack_us,
                                   int64_t *ret_limit_us)
{
    struct stream *first = NULL;

    *ret_limit_us = INT64_MAX;
    for (int i = 0; i < SHIP_STREAMS; i++) {
        if (!has_lines(&s[i]))
            continue;
        if (!first) {
            first = &s[i];
            continue;
        }
        *ret_limit_us = MAX(first_us(first), first_us(&s[i])) + slack_us;
        if (first_us(&s[i]) < first_us(first))
            first = &s[i];
    }
    return first;
}

static det_status send_streams(struct import_state *b, struct stream s[SHIP_STREAMS])
{
    bool is_ended = b->run->state != OFFLINE_RUNNING;
    det_status st = DET_OK;

    for (int calls = 0;; calls++) {
        struct stream *next;
        int64_t limit_us, offset;
        size_t sent = 0;

        for (int i = 0; i < SHIP_STREAMS && !st; i++)
            st = fill_pending(&s[i]);
        next = older_stream(s, calls < EXACT_CALLS ? 0 : TOGETHER_US, &limit_us);
        if (!st && next)
            st = post_lines(next, next->is_over && is_ended, limit_us, &sent, &offset);
        if (st || !next)
            return st;
        next->is_stuck = !sent; /* a line without its line break yet */
        drop_pending(next, sent);
        next->until = MAX(next->until, next->offset);
        b->to.output_bytes += sent;
    }
}

det_status import_output(struct import_state *b)
{
    struct stream s[SHIP_STREAMS];
    const char *folder = arena_printf(&b->cli->mem, "%s/" OFFLINE_LOGS, b->run->path);
    struct io_stat stat;
    det_status st = DET_OK;

    if (!folder)
        return cli_nomem(b->cli);
    if (io_stat(io_system(), folder, &stat, NULL))
        return DET_OK; /* the output was not recorded */
    for (int i = 0; i < SHIP_STREAMS; i++)
        s[i] = (struct stream){.import = b,
                               .name = ship_streams[i],
                               .pending = BUF_INIT,
                               .until = b->output[i]};
    for (int i = 0; i < SHIP_STREAMS && !st; i++)
        st = open_stream(&s[i], folder);
    if (!st)
        st = send_streams(b, s);
    b->knows_output = !st;
    for (int i = 0; i < SHIP_STREAMS; i++) {
        b->output[i] = st ? 0 : s[i].until;
        spool_close(s[i].spool);
        buf_done(&s[i].pending);
        vec_done(&s[i].marks);
    }
    return st;
}

det_status import_more_output(struct cli *cli, const struct offline_run *run,
                              int64_t trial_id, uint64_t *ret_bytes)
{
    struct import_state b = {.cli = cli, .run = run, .to.trial_id = trial_id};
    det_status st = import_output(&b);

    *ret_bytes = b.to.output_bytes;
    return st;
}
