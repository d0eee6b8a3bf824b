/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - a list of segments that both sides share, with one position for each side.
 *
 *     sent           read                     end
 *      v              v                        v
 *   [ segment ] [ segment ] [ segment ] [ segment ]
 *      |            head                    tail
 *      removed when `sent` has passed its end
 *
 * Invariants: sent <= read <= end, once the reader has passed what an earlier
 * supervisor had sent; offsets have no gaps from the first segment to the last, which
 * is never removed while a writer exists; a segment's `size` counts complete records
 * only, and grows after the write has succeeded, so the reader never sees a partial
 * record.
 *
 * Why not one file with a hole punched in front: not every file system supports it, and
 * a spool that was sent completely is removed in either case.  Why a checksum over all
 * bytes: after a loss of power a file may have its length but not its bytes. */
#include "agent/task/output/spool.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "base/thread/lock.h"
#include "data/text.h"

enum {
    MAGIC = 0x31505344, /* "DSP1" */
    HEADER = 32,
    NOTICE = 256,
    CHECKED = 24, /* the part of the header before its check */
};
#define LIMIT_DEFAULT   (UINT64_C(1) << 30)
#define SEGMENT_DEFAULT (UINT64_C(16) << 20)

/* A segment file and how much of it is complete. */
struct segment {
    uint64_t start; /* offset of its first byte */
    uint64_t end;   /* offset behind its last */
    uint64_t size;  /* bytes of the file that are records */
};

struct spool {
    struct lock lock; /* guards segments, sent, is_ended, last_* */
    VEC(struct segment) segments;
    uint64_t sent;
    bool is_ended;
    char last_words[NOTICE]; /* an unwritten notice, after the last segment */
    size_t last_len;
    int64_t last_us;

    struct io *io;
    char *dir;
    char *name;
    uint64_t limit;
    uint64_t segment_limit;
    bool only_looks;

    /* only the writer's */
    struct io_file *tail; /* the last segment, opened when it is first written to */
    uint64_t end;
    struct buf record;
    bool is_dropping;
    det_status why;   /* why it drops: the status of writing; DET_OK: the limit */
    bool is_mid_drop; /* the last byte dropped was not the end of a line */
    bool is_mid_line; /* the last byte kept was not the end of a line */
    uint64_t missing; /* lines dropped since the last one kept */

    /* only the reader's */
    struct io_file *head;
    uint64_t head_start; /* which segment `head` is */
    uint64_t head_at;    /* position in it */
    uint64_t read;       /* offset of the next record */
};

/* ---- records --------------------------------------------------------------------- */

static uint64_t check_of(const void *header, const void *bytes, size_t len)
{
    return hash_bytes(header, CHECKED) ^ hash_bytes(bytes, len);
}

static void encode(struct buf *out, const struct spool_record *record,
                   const void *bytes)
{
    buf_clear(out);
    buf_put_u32(out, MAGIC);
    buf_put_u32(out, (uint32_t)record->len);
    buf_put_u64(out, (uint64_t)record->time_us);
    buf_put_u64(out, record->offset);
    if (!out->status)
        buf_put_u64(out, check_of(out->data, bytes, record->len));
    buf_add(out, bytes, record->len);
}

/* Reads the record at `at` and adds its bytes to `out`.  DET_CORRUPT: there is none. */
static det_status decode(struct io_file *file, uint64_t at, struct buf *out,
                         struct spool_record *ret_record, struct err *err)
{
    unsigned char header[HEADER];
    struct spool_record record;
    size_t got;
    char *room;
    det_status status = io_read_at(file, at, header, HEADER, &got, err);

    if (status)
        return status;
    record = (struct spool_record){
        .len = (size_t)get_number(header + 4, 4),
        .time_us = (int64_t)get_number(header + 8, 8),
        .offset = get_number(header + 16, 8),
    };
    if (got < HEADER || get_number(header, 4) != MAGIC || !record.len ||
        record.len > SPOOL_RECORD)
        return err_set(err, DET_CORRUPT, "the spool is damaged at byte %" PRIu64, at);
    room = buf_room(out, record.len);
    if (!room)
        return err_default(err, out->status);
    status = io_read_at(file, at + HEADER, room, record.len, &got, err);
    if (status)
        return status;
    if (got < record.len ||
        get_number(header + CHECKED, 8) != check_of(header, room, got))
        return err_set(err, DET_CORRUPT, "the spool is damaged at byte %" PRIu64, at);
    buf_took(out, record.len);
    *ret_record = record;
    return DET_OK;
}

/* ---- segments -------------------------------------------------------------------- */

static char *segment_path(const struct spool *spool, uint64_t start)
{
    struct buf path = BUF_INIT;

    buf_printf(&path, "%s/%s.spool.%020" PRIu64, spool->dir, spool->name, start);
    return buf_take(&path);
}

static det_status segment_open(const struct spool *spool, uint64_t start,
                               unsigned flags, struct io_file **ret_file,
                               struct err *err)
{
    CLEANUP(mem_freep) char *path = segment_path(spool, start);

    if (!path)
        return err_default(err, DET_NOMEM);
    return io_open(spool->io, path, flags | IO_PLAIN, ret_file, err);
}

static void segment_remove(const struct spool *spool, uint64_t start)
{
    CLEANUP(mem_freep) char *path = segment_path(spool, start);

    /* A segment that cannot be removed now goes with the task directory. */
    if (path)
        (void)io_remove(spool->io, path, NULL);
}

/* Finds how much of a segment is complete, and its last byte. */
static det_status segment_scan(struct spool *spool, struct segment *segment,
                               struct err *err)
{
    CLEANUP(io_closep) struct io_file *file = NULL;
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct spool_record record;
    det_status status = segment_open(spool, segment->start, IO_READ, &file, err);

    while (!status) {
        buf_clear(&bytes);
        status = decode(file, segment->size, &bytes, &record, err);
        if (!status && record.offset != segment->end)
            status = DET_CORRUPT;
        if (status)
            break;
        segment->size += HEADER + record.len;
        segment->end += record.len;
        spool->is_mid_line = bytes.data[bytes.len - 1] != '\n';
    }
    return status == DET_CORRUPT ? DET_OK : status;
}

/* "stdout.spool.00000000000000000000" */
static bool segment_name(const struct spool *spool, const char *name,
                         uint64_t *ret_start)
{
    size_t len = strlen(spool->name);
    const char *digits = name + len + strlen(".spool.");
    int64_t start;

    if (strncmp(name, spool->name, len) != 0 ||
        strncmp(name + len, ".spool.", strlen(".spool.")) != 0)
        return false;
    digits += strspn(digits, "0");
    if (!parse_i64(*digits ? digits : "0", &start) || start < 0)
        return false;
    *ret_start = (uint64_t)start;
    return true;
}

static det_status adopt(struct spool *spool, uint64_t start, struct err *err)
{
    struct segment segment = {.start = start, .end = start};
    bool is_first = spool->segments.count == 0;
    det_status status;

    if (!is_first && start != spool->end) {
        if (!spool->only_looks)
            segment_remove(spool, start); /* behind a damaged record */
        return DET_OK;
    }
    status = segment_scan(spool, &segment, err);
    if (status)
        return status;
    if (!vec_push(&spool->segments, segment))
        return err_default(err, DET_NOMEM);
    spool->end = segment.end;
    return DET_OK;
}

/* Finds the segment with the byte `from`: the last one that begins there or before;
 * names are sorted. */
static uint64_t segment_with(const struct spool *spool, const char **names,
                             uint64_t from)
{
    uint64_t first = 0, start;

    for (; *names; names++)
        if (segment_name(spool, *names, &start) && start <= from)
            first = start;
    return first;
}

static det_status find_segments(struct spool *spool, uint64_t from, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    uint64_t start, first;
    det_status status = io_list(spool->io, spool->dir, &mem, &names, err);

    first = status ? 0 : segment_with(spool, names, from);
    for (; !status && *names; names++)
        if (segment_name(spool, *names, &start) && start >= first)
            status = adopt(spool, start, err);
    if (!status && spool->segments.count) {
        spool->sent = spool->segments.at[0].start;
        spool->read = spool->sent;
    }
    return status;
}

/* ---- life ------------------------------------------------------------------------ */

det_status spool_open(const struct spool_config *config, struct spool **ret_spool,
                      struct err *err)
{
    struct spool *spool = mem_new(struct spool);
    det_status status;

    if (!spool)
        return err_default(err, DET_NOMEM);
    spool->io = config->io;
    spool->record = (struct buf)BUF_INIT;
    spool->only_looks = config->only_looks;
    spool->limit = config->limit_bytes ? config->limit_bytes : LIMIT_DEFAULT;
    spool->segment_limit =
        config->segment_bytes ? config->segment_bytes : SEGMENT_DEFAULT;
    spool->dir = mem_strdup(config->dir);
    spool->name = mem_strdup(config->name);
    if (spool->dir && spool->name)
        status = lock_init(&spool->lock, err);
    else
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = find_segments(spool, config->only_looks ? config->from : 0, err);
    if (status) {
        spool_close(spool);
        return status;
    }
    *ret_spool = spool;
    return DET_OK;
}

void spool_close(struct spool *spool)
{
    if (!spool)
        return;
    io_close(spool->tail);
    io_close(spool->head);
    buf_done(&spool->record);
    vec_done(&spool->segments);
    lock_done(&spool->lock);
    mem_free(spool->dir);
    mem_free(spool->name);
    mem_free(spool);
}

/* Under the lock. */
static uint64_t kept_end(const struct spool *spool)
{
    size_t count = spool->segments.count;

    return count ? spool->segments.at[count - 1].end : 0;
}

uint64_t spool_end_offset(struct spool *spool)
{
    uint64_t end;

    lock_take(&spool->lock);
    end = kept_end(spool) + spool->last_len;
    lock_give(&spool->lock);
    return end;
}

bool spool_is_ended(struct spool *spool)
{
    bool is_ended;

    lock_take(&spool->lock);
    is_ended = spool->is_ended;
    lock_give(&spool->lock);
    return is_ended;
}

/* ---- the writer ------------------------------------------------------------------ */

/* The segment to write to: the last one, or a new one when that is full. */
static det_status roll(struct spool *spool, struct segment *ret_segment)
{
    struct segment last = {.start = spool->end, .end = spool->end};
    bool is_new;
    det_status status = DET_OK;

    lock_take(&spool->lock);
    is_new = spool->segments.count == 0 ||
             spool->segments.at[spool->segments.count - 1].size >= spool->segment_limit;
    if (!is_new)
        last = spool->segments.at[spool->segments.count - 1];
    lock_give(&spool->lock);

    if (is_new || !spool->tail) {
        io_close(spool->tail);
        spool->tail = NULL;
        status = segment_open(spool, last.start, IO_WRITE | IO_CREATE | IO_PRIVATE,
                              &spool->tail, NULL);
    }
    if (!status && is_new) {
        lock_take(&spool->lock);
        if (!vec_push(&spool->segments, last))
            status = DET_NOMEM;
        lock_give(&spool->lock);
    }
    if (status) {
        io_close(spool->tail);
        spool->tail = NULL;
    }
    *ret_segment = last;
    return status;
}

static det_status keep_record(struct spool *spool, int64_t time_us, const char *bytes,
                              size_t len)
{
    struct spool_record record = {.offset = spool->end, .time_us = time_us, .len = len};
    struct segment segment;
    struct segment *last;
    det_status status = roll(spool, &segment);

    if (status)
        return status;
    encode(&spool->record, &record, bytes);
    if (spool->record.status)
        return spool->record.status;
    /* A part that a failed write leaves behind is overwritten by the next. */
    status = io_write_at(spool->tail, segment.size, spool->record.data,
                         spool->record.len, NULL);
    if (status)
        return status;
    spool->end += len;
    spool->is_mid_line = bytes[len - 1] != '\n';
    lock_take(&spool->lock);
    last = &spool->segments.at[spool->segments.count - 1];
    last->size += spool->record.len;
    last->end = spool->end;
    lock_give(&spool->lock);
    return DET_OK;
}

static void drop_lines(struct spool *spool, const char *bytes, size_t len,
                       det_status why)
{
    uint64_t lines = 0;
    const char *end = bytes + len;

    if (!len)
        return;
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    if (!spool->is_dropping)
        spool->why = why;
    spool->is_dropping = true;
    spool->is_mid_drop = bytes[len - 1] != '\n';
    spool->missing += lines;
}

static const char *reason(const struct spool *spool)
{
    switch (spool->why) {
    case DET_OK:
        return " of output waited to be sent already";
    case DET_FULL:
        return "the disk was full";
    case DET_NOMEM:
        return "the supervisor was out of memory";
    default:
        return "the disk failed";
    }
}

/* Writes the line that replaces dropped lines. */
static size_t write_notice(const struct spool *spool, char text[NOTICE])
{
    char limit[16] = "";
    uint64_t missing = spool->missing + (spool->is_mid_drop ? 1 : 0);

    if (!spool->why)
        size_format(spool->limit, limit);
    return (size_t)snprintf(text, NOTICE, "%s[det] %" PRIu64 " %s dropped here: %s%s\n",
                            spool->is_mid_line ? "\n" : "", MAX(missing, UINT64_C(1)),
                            missing > 1 ? "lines were" : "line was", limit,
                            reason(spool));
}

static uint64_t unsent(struct spool *spool)
{
    uint64_t sent;

    lock_take(&spool->lock);
    sent = spool->sent;
    lock_give(&spool->lock);
    return spool->end > sent ? spool->end - sent : 0;
}

/* Where keeping may start again: after the rest of a line whose beginning was
 * dropped. */
static size_t skip_to_line(const struct spool *spool, const char *bytes, size_t len)
{
    const char *feed;

    if (!spool->is_mid_drop)
        return 0;
    feed = memchr(bytes, '\n', len);
    return feed ? (size_t)(feed - bytes) + 1 : len;
}

void spool_write(struct spool *spool, int64_t time_us, const void *bytes, size_t len)
{
    const char *at = bytes;
    uint64_t waiting = unsent(spool);
    det_status status = DET_OK;

    if (!len)
        return;
    if (spool->is_dropping) {
        char notice[NOTICE];
        size_t skip = skip_to_line(spool, at, len);

        /* Not at the first free byte: a notice after every other line helps no
         * reader. */
        if (waiting > spool->limit - spool->limit / 4) {
            drop_lines(spool, at, len, DET_OK);
            return;
        }
        drop_lines(spool, at, skip, spool->why);
        at += skip;
        len -= skip;
        if (!len)
            return;
        status = keep_record(spool, time_us, notice, write_notice(spool, notice));
        if (status) {
            drop_lines(spool, at, len, spool->why);
            return;
        }
        spool->is_dropping = false;
        spool->missing = 0;
    }
    if (waiting + len > spool->limit) {
        drop_lines(spool, at, len, DET_OK);
        return;
    }
    status = keep_record(spool, time_us, at, len);
    if (status)
        drop_lines(spool, at, len, status);
}

void spool_end(struct spool *spool, int64_t time_us)
{
    char notice[NOTICE];
    size_t len = spool->is_dropping ? write_notice(spool, notice) : 0;
    bool is_kept = !len || keep_record(spool, time_us, notice, len) == DET_OK;

    lock_take(&spool->lock);
    if (!is_kept) {
        memcpy(spool->last_words, notice, len);
        spool->last_len = len;
        spool->last_us = time_us;
    }
    spool->is_ended = true;
    lock_give(&spool->lock);
    spool->is_dropping = false;
}

/* ---- the reader ------------------------------------------------------------------ */

/* The segment that holds offset `read`; false when nothing is there yet. */
static bool find_readable(struct spool *spool, struct segment *ret_segment)
{
    bool is_found = false;

    lock_take(&spool->lock);
    for (size_t i = 0; !is_found && i < spool->segments.count; i++) {
        const struct segment *segment = &spool->segments.at[i];

        is_found = spool->read >= segment->start && spool->read < segment->end;
        if (is_found)
            *ret_segment = *segment;
    }
    lock_give(&spool->lock);
    return is_found;
}

/* Reads the notice that the disk had no room for, after everything before it. */
static det_status read_last_words(struct spool *spool, struct buf *out,
                                  struct spool_record *ret_record, struct err *err)
{
    det_status status = DET_OK;

    lock_take(&spool->lock);
    if (!spool->last_len || spool->read != kept_end(spool)) {
        status = err_set(err, DET_NOT_FOUND, "the spool is at its end");
    } else {
        buf_add(out, spool->last_words, spool->last_len);
        if (out->status)
            status = err_default(err, out->status);
    }
    if (!status) {
        *ret_record =
            (struct spool_record){spool->read, spool->last_us, spool->last_len};
        spool->read += spool->last_len;
    }
    lock_give(&spool->lock);
    return status;
}

det_status spool_read(struct spool *spool, struct buf *out,
                      struct spool_record *ret_record, struct err *err)
{
    struct segment segment;
    struct spool_record record;
    det_status status = DET_OK;

    if (!find_readable(spool, &segment))
        return read_last_words(spool, out, ret_record, err);
    if (!spool->head || spool->head_start != segment.start) {
        io_close(spool->head);
        spool->head = NULL;
        status = segment_open(spool, segment.start, IO_READ, &spool->head, err);
        if (status == DET_NOT_FOUND) /* which would mean: there is nothing to read */
            status = err_set(err, DET_CORRUPT, "a file of the output was removed");
        spool->head_start = segment.start;
        spool->head_at = 0;
    }
    if (!status)
        status = decode(spool->head, spool->head_at, out, &record, err);
    if (status)
        return status;
    spool->head_at += HEADER + record.len;
    spool->read = record.offset + record.len;
    *ret_record = record;
    return DET_OK;
}

uint64_t spool_next_offset(const struct spool *spool)
{
    return spool->read;
}

void spool_sent(struct spool *spool, uint64_t offset)
{
    VEC(uint64_t) gone = {0};

    lock_take(&spool->lock);
    spool->sent = MAX(spool->sent, offset);
    /* The last one stays: the writer has it. */
    while (spool->segments.count > 1 && spool->segments.at[0].end <= spool->sent &&
           spool->segments.at[0].end <= spool->read &&
           vec_push(&gone, spool->segments.at[0].start))
        vec_remove(&spool->segments, 0);
    lock_give(&spool->lock);
    for (size_t i = 0; i < gone.count; i++)
        segment_remove(spool, gone.at[i]);
    vec_done(&gone);
}

void spool_discard(struct spool *spool)
{
    lock_take(&spool->lock);
    for (size_t i = 0; i < spool->segments.count; i++)
        segment_remove(spool, spool->segments.at[i].start);
    vec_clear(&spool->segments);
    lock_give(&spool->lock);
}
