/* SPDX-License-Identifier: Apache-2.0 */
/* ship.c - two streams, each a window onto its spool:
 *
 *   pending  bytes read from the spool and not yet acknowledged, starting at `offset`
 *   marks    when they arrived; the first byte always has a mark
 *   sent     how many of them are in a batch without an answer: it is sent again
 *            unchanged
 *
 * The streams take turns with one batch each, so neither starves.  The next round
 * (master_sender.h) comes at once while there is more, after 50 ms when something new
 * arrives, after SILENCE_US for a line without an end, and after a growing pause when
 * the master is away.
 *
 * A line that is being rewritten (lines.h) stays pending until it ends.  Every batch says
 * what it shows now (`live`); the master shows that, and forgets it when a batch comes
 * without.  A batch that has no lines, but only a new state, is sent at most every
 * LIVE_US, whatever the program prints. */
#include "agent/task/output/ship.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "agent/master_link.h"
#include "agent/task/master_sender.h"
#include "agent/task/output/lines.h"
#include "agent/task/output/spool.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "data/json/json.h"
#include "data/url.h"
#include "wire/bodies.h"

enum {
    SILENCE_US = 5 * 1000 * 1000,
    LIVE_US = 1000 * 1000,
    LIVE_BYTES = 4 << 10, /* of a line that is being rewritten */
    REPLY_MEM = 1 << 20,
};

static_assert(SHIP_BATCH + LINE_LIMIT + 2 <= SHARE_LOGS_BYTES,
              "the master takes every batch");

const char *const ship_streams[SHIP_STREAMS] = {"stdout", "stderr"};

/* What may be done with pending bytes that have no end. */
enum tail {
    TAIL_OPEN,   /* wait: more will come */
    TAIL_SILENT, /* a line, unless it is being rewritten */
    TAIL_ENDED,  /* a line: nothing will follow */
};

/* Where the bytes that arrived at one time begin. */
struct mark {
    uint64_t offset;
    int64_t time_us;
};

struct stream {
    const char *name;
    struct spool *spool;
    struct buf pending; /* read from the spool, not acknowledged */
    uint64_t offset;    /* of its first byte */
    uint64_t lost;      /* bytes that the master had and lost: its offsets are lower */
    VEC(struct mark) marks;
    size_t sent;      /* bytes of a batch whose answer did not come; 0: none */
    enum tail tail;   /* of that batch */
    int64_t added_us; /* when the last byte was read, monotonic */
    bool is_damaged;  /* the rest of the spool cannot be read */
    uint64_t shown;   /* the master was told what a line shows after this many bytes */
    int64_t live_us;  /* when it may be told the next time, monotonic */
    bool is_late;     /* it has not been told yet */
};

struct ship {
    struct master_sender sender;
    struct ship_config config;
    char *path;
    struct stream stream[SHIP_STREAMS];
};

/* ---- one stream ------------------------------------------------------------------ */

/* Reads one record.  DET_NOT_FOUND: there is none now. */
static det_status fill_once(struct stream *stream, struct spool_record *ret_record,
                            struct err *err)
{
    det_status status;

    /* Make room first, so bytes never come without their mark. */
    if (!vec_push(&stream->marks, (struct mark){0}))
        return err_default(err, DET_NOMEM);
    status = spool_read(stream->spool, &stream->pending, ret_record, err);
    if (status) {
        stream->marks.count--;
        stream->pending.status = DET_OK; /* memory may be there the next time */
        return status;
    }
    if (stream->pending.len == ret_record->len) {
        stream->offset = ret_record->offset;
        stream->marks.count = 1; /* older ones belong to sent bytes */
    }
    stream->marks.at[stream->marks.count - 1] =
        (struct mark){ret_record->offset, ret_record->time_us};
    return DET_OK;
}

static det_status fill_pending(struct stream *stream, int64_t now_us, struct err *err)
{
    while (stream->pending.len < SHIP_BATCH && !stream->is_damaged) {
        struct spool_record record;
        det_status status = fill_once(stream, &record, err);

        if (status == DET_NOT_FOUND)
            break;
        if (status == DET_CORRUPT || status == DET_IO) {
            log_error("%s: %s, its rest is lost", stream->name, err->text);
            stream->is_damaged = true;
            break;
        }
        if (status)
            return status;
        stream->added_us = now_us;
    }
    return DET_OK;
}

/* Drops the bytes before `until`. */
static void forget_bytes(struct stream *stream, uint64_t until)
{
    size_t gone = 0;
    uint64_t end = stream->offset + stream->pending.len;

    buf_drop(&stream->pending, (size_t)(MIN(until, end) - stream->offset));
    stream->offset = MIN(until, end);
    while (gone + 1 < stream->marks.count &&
           stream->marks.at[gone + 1].offset <= stream->offset)
        gone++;
    for (size_t i = gone; gone && i < stream->marks.count; i++)
        stream->marks.at[i - gone] = stream->marks.at[i];
    stream->marks.count -= gone;
    spool_sent(stream->spool, until);
}

static bool is_at_end(const struct stream *stream)
{
    return stream->is_damaged ||
           (spool_is_ended(stream->spool) &&
            stream->offset + stream->pending.len >= spool_end_offset(stream->spool));
}

static bool is_done(const struct stream *stream)
{
    return is_at_end(stream) && !stream->pending.len;
}

/* The time of a pending byte.  *mark: where to begin to look. */
static int64_t time_of(const struct stream *stream, const char *byte, size_t *mark)
{
    uint64_t offset = stream->offset + (size_t)(byte - stream->pending.data);

    while (*mark + 1 < stream->marks.count &&
           stream->marks.at[*mark + 1].offset <= offset)
        (*mark)++;
    return stream->marks.at[*mark].time_us;
}

/* What a batch holds. */
struct content {
    size_t taken; /* bytes that the master need not get again */
    bool has_lines;
    bool has_live; /* a line that is being rewritten */
};

static bool cut_line(const struct stream *stream, size_t at, enum tail tail,
                     struct line *ret_line)
{
    const char *bytes = stream->pending.data + at;
    size_t len = stream->pending.len - at;

    if (line_cut(bytes, len, tail == TAIL_ENDED, ret_line))
        return true;
    return tail == TAIL_SILENT && !memchr(bytes, '\r', len) &&
           line_cut(bytes, len, true, ret_line);
}

/* Writes the pending lines and what the line after them shows now. */
static void write_lines(const struct stream *stream, enum tail tail,
                        struct json_writer *w, struct content *ret_content)
{
    CLEANUP(buf_done) struct buf clean = BUF_INIT;
    struct content content = {0};
    size_t at = 0;
    size_t mark = 0;
    struct line line;

    jw_array(w, "lines");
    while (at < SHIP_BATCH && cut_line(stream, at, tail, &line)) {
        at += line.taken;
        if (line.is_hidden)
            continue;
        line_write(w, NULL, &line, time_of(stream, line.text, &mark), &clean);
        content.has_lines = true;
    }
    jw_end_array(w);
    content.has_live =
        line_live(stream->pending.data + at, stream->pending.len - at, &line);
    if (content.has_live) {
        line.len = MIN(line.len, (size_t)LIVE_BYTES);
        line_write(w, "live", &line, time_of(stream, line.text, &mark), &clean);
    }
    content.taken = at;
    *ret_content = content;
}

/* ---- batches --------------------------------------------------------------------- */

/* The master acknowledged all bytes before ours and has them no more: it was restored from a
 * backup, or the log was removed.  It would take no batch that leaves a gap. */
static void note_loss(struct stream *stream, uint64_t offset)
{
    uint64_t gone = stream->offset - offset;

    stream->lost += gone;
    log_warn("the master has lost %" PRIu64 " bytes of %s; going on without them", gone,
             stream->name);
}

static det_status accept_batch(struct stream *stream, uint64_t end,
                               const struct json *reply, struct err *err)
{
    int64_t answer = json_i64(json_get(reply, "offset"), (int64_t)(end - stream->lost));
    uint64_t offset = (uint64_t)MAX(answer, INT64_C(0)) + stream->lost;
    struct spool_record record;

    if (offset < stream->offset) {
        note_loss(stream, offset);
        offset = stream->offset;
    }
    if (offset < end)
        return err_set(err, DET_BUSY,
                       "the master has %s up to %" PRIu64 " only, not up to %" PRIu64,
                       stream->name, offset, end);
    forget_bytes(stream, offset);
    /* The master has more than we have read: an earlier supervisor sent it. */
    while (stream->offset < offset && !stream->pending.len) {
        if (fill_once(stream, &record, err))
            break;
        forget_bytes(stream, offset);
    }
    return DET_OK;
}

/* Whether there is nothing to send yet.  A batch without lines tells only how a line
 * was rewritten, and that at a bounded rate. */
static bool is_early(struct stream *stream, const struct content *content,
                     enum tail tail, int64_t now_us)
{
    uint64_t end = stream->offset + stream->pending.len;
    bool is_new = (content->has_live || content->taken) && stream->shown != end;

    stream->is_late = false;
    if (content->has_lines || !stream->pending.len || tail == TAIL_ENDED)
        return false; /* at the end all bytes must go, also those that show nothing */
    if (is_new && stream->pending.len >= SHIP_BATCH)
        return false;
    stream->is_late = is_new && now_us < stream->live_us;
    return stream->is_late || !is_new;
}

/* Sends what is pending, as lines; if nothing is, only asks for the master's offset. */
static det_status post_batch(struct ship *ship, struct stream *stream, enum tail tail,
                             int64_t now_us, bool *ret_sent, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(REPLY_MEM);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    const struct master_link_request request = {NET_POST, ship->path, &body, 0, 0};
    uint64_t end = stream->offset + stream->pending.len;
    struct content content;
    struct json *reply;
    det_status status;

    jw_object(&w, NULL);
    jw_i64(&w, "rank", ship->config.rank);
    jw_str(&w, "stream", stream->name);
    jw_i64(&w, "offset", (int64_t)(stream->offset - stream->lost));
    write_lines(stream, tail, &w, &content);
    jw_i64(&w, "endOffset", (int64_t)(stream->offset - stream->lost + content.taken));
    jw_end_object(&w);
    if (!stream->sent && is_early(stream, &content, tail, now_us))
        return DET_OK;
    stream->sent = content.taken;
    stream->tail = tail;
    status = master_link_call(ship->config.link, &request, &mem, &reply, err);
    if (!status)
        status = accept_batch(stream, stream->offset + content.taken, reply, err);
    if (!status) {
        stream->sent = 0;
        stream->shown = end;
        stream->live_us = now_us + LIVE_US;
        *ret_sent = true;
    }
    return status;
}

static enum tail tail_of(struct stream *stream, int64_t now_us)
{
    if (is_at_end(stream))
        return TAIL_ENDED;
    return now_us - stream->added_us >= SILENCE_US ? TAIL_SILENT : TAIL_OPEN;
}

/* Sends the next batch of a stream, if there is one.  A batch without an answer is
 * sent again unchanged, because the master knows batches by where they begin and
 * end: nothing is read meanwhile. */
static det_status send_batch(struct ship *ship, struct stream *stream, int64_t now_us,
                             bool *ret_sent, struct err *err)
{
    bool is_again = stream->sent > 0;
    det_status status = is_again ? DET_OK : fill_pending(stream, now_us, err);

    if (status || !stream->pending.len)
        return status;
    return post_batch(ship, stream, is_again ? stream->tail : tail_of(stream, now_us),
                      now_us, ret_sent, err);
}

static det_status send_all(struct ship *ship, int64_t now_us, bool *ret_sent,
                           struct err *err)
{
    det_status status = DET_OK;

    for (size_t i = 0; !status && i < SHIP_STREAMS; i++)
        status = send_batch(ship, &ship->stream[i], now_us, ret_sent, err);
    return status;
}

/* When to look again, if nothing new comes: a line without an end is sent after some
 * silence, but not one that is being rewritten, whose state may be late. */
static int64_t wait_us(const struct ship *ship, int64_t now_us)
{
    int64_t wait = SENDER_UNTIL_WOKEN;

    for (size_t i = 0; i < SHIP_STREAMS; i++) {
        const struct stream *stream = &ship->stream[i];
        const struct buf *pending = &stream->pending;
        int64_t own = SENDER_UNTIL_WOKEN;

        if (stream->is_late)
            own = MAX(stream->live_us - now_us, INT64_C(1));
        else if (pending->len && !memchr(pending->data, '\r', pending->len))
            own = SILENCE_US;
        if (own > 0 && (wait < 0 || own < wait))
            wait = own;
    }
    return wait;
}

static bool all_done(const struct ship *ship)
{
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        if (!is_done(&ship->stream[i]))
            return false;
    return true;
}

/* ---- the lane's task ------------------------------------------------------------- */

static det_status send_round(struct master_sender *sender, struct sender_next *ret_next,
                             struct err *err)
{
    struct ship *ship = CONTAINER_OF(sender, struct ship, sender);
    int64_t now_us = sender_now_us(sender);
    bool has_sent = false;
    det_status status = send_all(ship, now_us, &has_sent, err);

    if (status)
        return status;
    ret_next->is_done = all_done(ship);
    ret_next->wait_us = has_sent ? 0 : wait_us(ship, now_us);
    return DET_OK;
}

void ship_wake(struct ship *ship)
{
    sender_wake(&ship->sender);
}

void ship_hurry(struct ship *ship)
{
    sender_hurry(&ship->sender);
}

void ship_end(struct ship *ship)
{
    sender_end(&ship->sender);
}

bool ship_is_over(const struct ship *ship)
{
    return sender_is_over(&ship->sender);
}

det_status ship_outcome(const struct ship *ship, struct err *err)
{
    return sender_outcome(&ship->sender, err);
}

det_status ship_rest(struct ship *ship, struct err *err)
{
    det_status status = DET_OK;
    bool has_sent = false;

    /* Empty batches ask for the master's offset: otherwise lines that it has in part
     * could not be told from missing ones. */
    for (size_t i = 0; !status && i < SHIP_STREAMS; i++)
        status = post_batch(ship, &ship->stream[i], TAIL_OPEN, 0, &has_sent, err);
    while (!status && !all_done(ship))
        status = send_all(ship, 0, &has_sent, err);
    return status;
}

/* ---- life ------------------------------------------------------------------------ */

det_status ship_new(const struct ship_config *config, struct ship **ret_ship,
                    struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct ship *ship = mem_new(struct ship);

    buf_puts(&path, "/api/v1/det/allocations/");
    url_encode(&path, config->allocation);
    buf_puts(&path, "/logs");
    if (ship)
        ship->path = buf_take(&path);
    if (!ship || !ship->path) {
        mem_free(ship);
        return err_default(err, DET_NOMEM);
    }
    sender_init(&ship->sender, &(struct sender_config){.exec = config->exec,
                                                       .lane = config->lane,
                                                       .what = "the output",
                                                       .send_round = send_round,
                                                       .on_over = config->on_over,
                                                       .arg = config->arg});
    ship->config = *config;
    ship->config.allocation = NULL;
    for (size_t i = 0; i < SHIP_STREAMS; i++)
        ship->stream[i] = (struct stream){
            .name = ship_streams[i],
            .spool = config->spool[i],
            .pending = BUF_INIT,
            .offset = spool_next_offset(config->spool[i]),
        };
    *ret_ship = ship;
    return DET_OK;
}

void ship_free(struct ship *ship)
{
    if (!ship)
        return;
    for (size_t i = 0; i < SHIP_STREAMS; i++) {
        buf_done(&ship->stream[i].pending);
        vec_done(&ship->stream[i].marks);
    }
    mem_free(ship->path);
    mem_free(ship);
}
