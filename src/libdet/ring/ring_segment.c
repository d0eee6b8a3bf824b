/* SPDX-License-Identifier: Apache-2.0 */
/* ring_segment.c - reads segments from one complete record to the next, past damage.
 *
 * Records start at multiples of 8.  If there is none, the next may start at the next
 * multiple.  A place is examined closely only if its number is still to come.  So
 * leftovers of an earlier use of the file are skipped quickly and never read again. */
#include "libdet/ring/ring_segment.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "wire/report.h"

/* FILES_MOST: far more than the ring of a task ever has; a reader may have to list them for each segment. */
enum { ALIGNMENT = 8, WINDOW_BYTES = 64 * 1024, FILES_MOST = 4096 };
#define SEGMENT_MAGIC UINT64_C(0x31676573746564) /* "detseg1" */
#define NAME_FRONT    "segment-"

void ring_segment_head_fill(struct ring_segment_head *to, uint64_t index, uint64_t base,
                            uint64_t first)
{
    *to = (struct ring_segment_head){SEGMENT_MAGIC, index, base, first, 0};
    to->check = crc32c(0, to, offsetof(struct ring_segment_head, check));
}

bool ring_segment_head_is_whole(const struct ring_segment_head *head)
{
    return head->magic == SEGMENT_MAGIC && head->base <= RING_NUMBER_MOST &&
           head->first <= RING_NUMBER_MOST &&
           head->check == crc32c(0, head, offsetof(struct ring_segment_head, check));
}

void ring_segment_path(struct buf *ret_path, const char *dir, uint64_t index)
{
    buf_clear(ret_path);
    buf_printf(ret_path, "%s/" NAME_FRONT "%012" PRIu64, dir, index);
}

/* Returns 0 if it is not the name of a segment. */
static uint64_t index_of(const char *name)
{
    uint64_t index = 0;

    if (strncmp(name, NAME_FRONT, strlen(NAME_FRONT)) != 0)
        return 0;
    for (name += strlen(NAME_FRONT); *name >= '0' && *name <= '9'; name++) {
        if (index > RING_NUMBER_MOST / 10)
            return 0;
        index = index * 10 + (uint64_t)(*name - '0');
    }
    return *name ? 0 : index;
}

det_status ring_segment_after(struct io *io, const char *dir, uint64_t index,
                              bool is_own, uint64_t *ret_index, struct err *err)
{
    CLEANUP(arena_done)
    struct arena mem = ARENA_INIT(is_own ? SIZE_MAX : (size_t)64 << 20);
    const char **names;
    uint64_t best = 0;
    det_status status = io_list(io, dir, &mem, &names, err);

    if (status && status != DET_NOT_FOUND)
        return status;
    for (size_t i = 0; !status && names[i]; i++) {
        uint64_t found = index_of(names[i]);

        if (i >= FILES_MOST && !is_own)
            return err_set(err, DET_CORRUPT, "'%s' has more than %d files", dir,
                           FILES_MOST);
        if (found > index && (!best || found < best))
            best = found;
    }
    *ret_index = best;
    return DET_OK;
}

det_status ring_segments_barren(const char *dir, struct err *err)
{
    return err_set(err, DET_CORRUPT,
                   "'%s' has segments of %" PRIu64 " bytes in a row without a report",
                   dir, SEGMENTS_BARREN);
}

det_status ring_segment_look(struct ring_segment *segment, struct err *err)
{
    size_t got;
    det_status status = io_size(segment->file, &segment->size, err);

    if (!status)
        status = io_read_at(segment->file, 0, &segment->head, sizeof(segment->head),
                            &got, err);
    if (status)
        return status;
    segment->size = MIN(segment->size, SEGMENT_MOST);
    segment->has_head =
        got == sizeof(segment->head) && ring_segment_head_is_whole(&segment->head);
    /* On a full disk a writer reuses the file (reuse_segment()). */
    if (segment->has_head && segment->head.index != segment->index)
        return err_set(err, DET_NOT_FOUND, "segment %" PRIu64 " is another by now",
                       segment->index);
    return DET_OK;
}

det_status ring_segment_open(struct io *io, const char *dir, uint64_t index,
                             struct ring_segment *ret_segment, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct ring_segment segment = {.index = index, .window = BUF_INIT};
    det_status status;

    ring_segment_path(&path, dir, index);
    if (path.status)
        return err_default(err, path.status);
    status = io_open(io, path.data, IO_READ | IO_PLAIN, &segment.file, err);
    if (!status)
        status = ring_segment_look(&segment, err);
    if (status) {
        io_close(segment.file);
        return status;
    }
    *ret_segment = segment;
    return DET_OK;
}

void ring_segment_close(struct ring_segment *segment)
{
    if (segment->file) {
        io_close(segment->file);
        buf_done(&segment->window);
    }
    *segment = (struct ring_segment){0};
}

void ring_segment_forget(struct ring_segment *segment)
{
    /* Frees the memory of a large record; keeps the usual size, since reads are
     * frequent. */
    if (segment->window.cap > 2 * WINDOW_BYTES)
        buf_done(&segment->window);
    else if (segment->file)
        buf_clear(&segment->window);
}

/* Reads `want` bytes from `at` on, fewer if the file or the range ends. */
static det_status read_window(struct ring_segment *segment,
                              const struct ring_segment_range *range, size_t want,
                              const char **ret_bytes, size_t *ret_len, struct err *err)
{
    struct buf *window = &segment->window;
    size_t skip = (size_t)(range->at - segment->window_at);
    uint64_t left = range->bound - range->at;
    size_t portion = (size_t)MIN(left, (uint64_t)MAX(want, (size_t)WINDOW_BYTES));
    size_t got;
    char *room;
    det_status status;

    want = (size_t)MIN(left, (uint64_t)want);
    if (range->at < segment->window_at || skip > window->len ||
        window->len - skip < want) {
        buf_clear(window);
        room = buf_room(window, portion);
        if (!room)
            return err_default(err, window->status);
        status = io_read_at(segment->file, range->at, room, portion, &got, err);
        if (status)
            return status;
        buf_took(window, got);
        segment->window_at = range->at;
        skip = 0;
    }
    *ret_bytes = window->data + skip;
    *ret_len = window->len - skip;
    return DET_OK;
}

/* Looks for a record at range->at, wanted or not; size 0: there is none. */
static det_status try_at(struct ring_segment *segment,
                         const struct ring_segment_range *range,
                         struct ring_segment_record *ret_record, struct err *err)
{
    struct ring_segment_record found = {0};
    struct report report;
    size_t used;
    size_t len;
    det_status status =
        read_window(segment, range, REPORT_HEADER, &found.bytes, &len, err);

    ret_record->size = 0;
    if (status || len < REPORT_HEADER)
        return status;
    if (!report_peek(found.bytes, &found.number, &found.size) || found.number == 0 ||
        found.number > range->most || found.size > range->bound - range->at)
        return DET_OK;
    status = read_window(segment, range, found.size, &found.bytes, &len, err);
    if (!status && !report_decode(found.bytes, len, &report, &used, NULL))
        *ret_record = found;
    return status;
}

/* How far it is to the next place that may hold a record.  Zeroes hold none, since no record has
 * the number 0: most of a file that was made ahead, or is made of nothing, is skipped here. */
static uint64_t step_from(const struct ring_segment *segment, uint64_t at)
{
    const struct buf *window = &segment->window;
    size_t from = (size_t)(at - segment->window_at);
    size_t end = from;
    uint64_t word = 0;

    while (end + sizeof(word) <= window->len && !word) {
        memcpy(&word, window->data + end, sizeof(word));
        end += word ? 0 : sizeof(word);
    }
    return end - from > REPORT_HEADER + ALIGNMENT
               ? (end - from - REPORT_HEADER) / ALIGNMENT * ALIGNMENT
               : ALIGNMENT;
}

det_status ring_segment_next(struct ring_segment *segment,
                             struct ring_segment_range *range,
                             struct ring_segment_record *ret_record, struct err *err)
{
    range->bound = MIN(range->bound, segment->size);
    while (range->at < range->bound && range->bound - range->at >= REPORT_HEADER) {
        struct ring_segment_record record;
        det_status status = try_at(segment, range, &record, err);

        if (status)
            return status;
        range->at += record.size ? record.size : step_from(segment, range->at);
        if (record.size && record.number >= range->least) {
            *ret_record = record;
            return DET_OK;
        }
    }
    return DET_NOT_FOUND;
}
