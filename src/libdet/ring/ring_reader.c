/* SPDX-License-Identifier: Apache-2.0 */
/* ring_reader.c - the reader's side of a ring (ring_head.h has the layout and says why
 * the reader trusts nothing).
 *
 * The position of a reader is a segment, a place in it, and the number of the next
 * record.  Records are numbered without gaps, so a missing number is a damaged record,
 * whether it was in the middle, at the end, or in a file that is gone.  The state in
 * the head says where the last record ends; if the head is damaged, the reader takes
 * every complete record.
 *
 * `passed` holds the segments that are still needed, oldest first.  The last one is
 * being read; the first one is removed when all of it is stored. */
#include "libdet/ring/ring_reader.h"

#include <assert.h>
#include <string.h>

#include "base/memory/mem.h"
#include "base/memory/vec.h"
#include "data/utf8.h"
#include "libdet/ring/ring_head.h"
#include "libdet/ring/ring_segment.h"

enum { GATHER_MS = 5 };

struct passed {
    uint64_t index;
    uint64_t base;
    uint64_t first; /* no record in it has a lower number */
};

struct position {
    uint64_t index; /* 0: no segment yet */
    uint64_t at;
    uint64_t next; /* the next number; 0: whatever comes first */
};

struct ring_reader {
    struct io *io;
    char *dir;
    struct ring_head_file head;
    struct position position;
    struct ring_segment segment; /* open, or none */
    VEC(struct passed) passed;
    uint64_t stored;
    uint64_t seen; /* head->commits when it was read last */
    bool has_more; /* there is more to read */
    _Atomic uint32_t is_woken;
    uint32_t refusals; /* told to the writers so far */
    bool only_looks;   /* the head is mapped for reading only */
};

det_status ring_reader_open(const struct ring_config *config,
                            struct ring_reader **ret_reader, struct err *err)
{
    struct ring_reader *reader = mem_new(struct ring_reader);
    det_status status;

    if (!reader)
        return err_default(err, DET_NOMEM);
    reader->io = config->io;
    reader->dir = mem_strdup(config->dir);
    reader->only_looks = config->only_looks;
    if (!reader->dir)
        status = err_default(err, DET_NOMEM);
    else if (reader->only_looks)
        status = ring_head_look(reader->io, reader->dir, &reader->head, err);
    else
        status =
            ring_head_open(reader->io, reader->dir, config->makes, &reader->head, err);
    if (status) {
        ring_reader_close(reader);
        return status;
    }
    if (ring_head_is_whole(&reader->head) &&
        ring_word_unseal(atomic_load(&reader->head.head->stored), &reader->stored))
        reader->position.next = reader->stored + 1;
    else
        reader->stored = 0;
    reader->has_more = true;
    *ret_reader = reader;
    return DET_OK;
}

void ring_reader_close(struct ring_reader *reader)
{
    if (!reader)
        return;
    ring_segment_close(&reader->segment);
    ring_head_close(&reader->head);
    vec_done(&reader->passed);
    mem_free(reader->dir);
    mem_free(reader);
}

/* ---- reading --------------------------------------------------------------------- */

/* One call of ring_read().  Becomes the reader's new state if it succeeds. */
struct reading {
    struct ring_reader *reader;
    struct position position;
    struct ring_state state;
    bool has_state;
    bool has_more;
    size_t max_bytes;
    struct buf *out;
    size_t out_from;
    uint64_t damaged;
};

static bool is_last(const struct reading *reading)
{
    return reading->has_state && reading->position.index >= reading->state.segment;
}

static det_status note_passed(struct ring_reader *reader, uint64_t next,
                              struct err *err)
{
    const struct ring_segment *segment = &reader->segment;
    size_t count = reader->passed.count;
    struct passed entry = {segment->index, segment->head.base, next};

    if (count && reader->passed.at[count - 1].index >= segment->index)
        return DET_OK;
    /* A segment without a valid head starts where the one before ended. */
    if (!segment->has_head)
        entry.base = count ? reader->passed.at[count - 1].base : 0;
    return vec_push(&reader->passed, entry) ? DET_OK : err_default(err, DET_NOMEM);
}

/* Opens the segment of the position.  DET_NOT_FOUND: it is gone. */
static det_status use_segment(struct reading *reading, struct err *err)
{
    struct ring_reader *reader = reading->reader;
    struct position *position = &reading->position;
    struct ring_segment *segment = &reader->segment;
    det_status status;

    if (segment->file && segment->index == position->index) {
        status = ring_segment_look(segment, err);
    } else {
        ring_segment_close(segment);
        status =
            ring_segment_open(reader->io, reader->dir, position->index, segment, err);
    }
    if (!status && !position->next && segment->has_head)
        position->next = segment->head.first;
    return status ? status : note_passed(reader, position->next, err);
}

/* Returns false if the batch is full. */
static bool take_record(struct reading *reading,
                        const struct ring_segment_record *record)
{
    size_t added = reading->out->len - reading->out_from;

    if (added && added + record->size > reading->max_bytes)
        return false;
    if (reading->position.next)
        reading->damaged += record->number - reading->position.next;
    buf_add(reading->out, record->bytes, record->size);
    reading->position.next = record->number + 1;
    return true;
}

/* Reads the rest of the current segment. *ret_is_done: the batch is full. */
static det_status read_segment(struct reading *reading, bool *ret_is_done,
                               struct err *err)
{
    struct ring_segment *segment = &reading->reader->segment;
    struct position *position = &reading->position;
    struct ring_segment_range range = {
        .at = position->at,
        .bound = is_last(reading) ? reading->state.offset : segment->size,
        .most = reading->has_state ? reading->state.number : RING_NUMBER_MOST,
    };
    struct ring_segment_record record;
    det_status status;

    for (;;) {
        range.least = MAX(position->next, UINT64_C(1));
        status = ring_segment_next(segment, &range, &record, err);
        if (status)
            return status == DET_NOT_FOUND ? DET_OK : status;
        if (!take_record(reading, &record)) {
            *ret_is_done = true;
            return DET_OK;
        }
        if (reading->out->status)
            return err_default(err, reading->out->status);
        position->at = range.at;
    }
}

/* Tells the writers not to use this segment: the reader would never see their records.
 */
static void say_lost(struct reading *reading)
{
    const struct ring_state *state = &reading->state;
    struct ring_head_file *head = &reading->reader->head;

    if (!reading->reader->only_looks && is_last(reading) &&
        state->number >= reading->position.next && ring_head_is_whole(head))
        atomic_store(&head->head->lost, ring_word_seal(state->segment));
}

/* Moves on to the next segment; *ret_is_done: there is none.  Lists the folder only if
 * the one that should follow may be missing. */
static det_status next_segment(struct reading *reading, bool is_missing,
                               bool *ret_is_done, struct err *err)
{
    struct ring_reader *reader = reading->reader;
    uint64_t index = reading->position.index + 1;

    *ret_is_done = is_last(reading);
    if (*ret_is_done)
        return DET_OK;
    if (is_missing || !reading->has_state) {
        det_status status = ring_segment_after(reader->io, reader->dir, index - 1,
                                               reader->head.is_own, &index, err);

        if (status)
            return status;
    }
    *ret_is_done = !index && !reading->has_state;
    if (*ret_is_done)
        return DET_OK;
    /* Files after the last segment were made ahead and are empty. */
    if (reading->has_state && (!index || index > reading->state.segment))
        index = reading->state.segment;
    reading->position.index = index;
    reading->position.at = SEGMENT_HEADER;
    return DET_OK;
}

/* All segments from the position on. */
static det_status read_segments(struct reading *reading, struct err *err)
{
    bool is_full = false;
    bool is_done = false;
    uint64_t barren = 0;

    while (!is_done) {
        uint64_t before = reading->position.next;
        bool is_missing = !reading->position.index;
        det_status status = is_missing ? DET_OK : use_segment(reading, err);

        if (status == DET_NOT_FOUND) {
            is_missing = true;
            say_lost(reading);
            status = DET_OK;
        }
        if (!status && !is_missing)
            status = read_segment(reading, &is_full, err);
        if (status || is_full) {
            reading->has_more = is_full;
            return status;
        }
        if (!is_missing)
            barren = reading->position.next == before
                         ? barren + reading->reader->segment.size
                         : 0;
        if (barren > SEGMENTS_BARREN)
            return ring_segments_barren(reading->reader->dir, err);
        status = next_segment(reading, is_missing, &is_done, err);
        if (status)
            return status;
    }
    return DET_OK;
}

static det_status read_all(struct reading *reading, struct err *err)
{
    det_status status = read_segments(reading, err);
    uint64_t last = reading->has_state ? reading->state.number : 0;

    /* Records that are missing at the end. */
    if (!status && !reading->has_more && reading->position.next &&
        reading->position.next <= last) {
        reading->damaged += last + 1 - reading->position.next;
        reading->position.next = last + 1;
    }
    return status;
}

/* No new record and nothing left to read: the common case of a reader that was woken
 * for another reason. */
static bool is_idle(struct ring_reader *reader, const struct reading *reading)
{
    return !reader->has_more && reading->has_state &&
           reading->state.number + 1 == reader->position.next;
}

static void set_batch(const struct position *before, const struct reading *reading,
                      struct ring_batch *ret_batch)
{
    uint64_t next = reading->position.next;
    struct report first;
    size_t used;

    *ret_batch = (struct ring_batch){
        .first = before->next,
        .last = next ? next - 1 : 0,
        .damaged = (uint32_t)MIN(reading->damaged, (uint64_t)UINT32_MAX),
    };
    if (before->next)
        return;
    /* The first batch of a ring whose number of stored records was unknown. */
    ret_batch->first = next ? next : 1;
    if (!report_decode(reading->out->data + reading->out_from,
                       reading->out->len - reading->out_from, &first, &used, NULL))
        ret_batch->first = first.number;
}

det_status ring_read(struct ring_reader *reader, size_t max_bytes, struct buf *out,
                     struct ring_batch *ret_batch, struct err *err)
{
    struct reading reading = {.reader = reader,
                              .position = reader->position,
                              .max_bytes = max_bytes,
                              .out = out,
                              .out_from = out->len};
    det_status status = DET_OK;
    uint64_t seen = 0;

    if (ring_head_is_whole(&reader->head)) {
        /* Before the state: a record put in between is then noticed again. */
        seen = atomic_load(&reader->head.head->commits);
        reading.has_state = ring_head_load(reader->head.head, &reading.state);
    }
    if (!is_idle(reader, &reading)) {
        status = read_all(&reading, err);
        ring_segment_forget(&reader->segment);
    }
    if (status) {
        buf_cut(out, reading.out_from);
        return status;
    }
    set_batch(&reader->position, &reading, ret_batch);
    reader->position = reading.position;
    reader->has_more = reading.has_more;
    reader->seen = seen;
    return DET_OK;
}

/* ---- what was stored ------------------------------------------------------------- */

static det_status remove_segment(struct ring_reader *reader, uint64_t index,
                                 struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status status;

    ring_segment_path(&path, reader->dir, index);
    if (path.status)
        return err_default(err, path.status);
    status = io_remove(reader->io, path.data, err);
    return status == DET_NOT_FOUND ? DET_OK : status;
}

/* Tells the writers how much space is free again. */
static void free_up_to_here(struct ring_reader *reader)
{
    const struct passed *oldest = reader->passed.at;
    uint64_t freed;

    if (!reader->passed.count)
        return;
    freed = oldest->base;
    /* Everything read was stored: count the bytes inside the segment, too. */
    if (reader->passed.count == 1 && oldest->index == reader->position.index &&
        reader->stored + 1 == reader->position.next)
        freed += reader->position.at;
    atomic_store(&reader->head.head->freed, ring_word_seal(freed));
}

det_status ring_stored(struct ring_reader *reader, uint64_t number, struct err *err)
{
    det_status status = DET_OK;

    assert(!reader->only_looks);
    if (!reader->position.next)
        return DET_OK;
    number = MIN(number, reader->position.next - 1);
    reader->stored = MAX(reader->stored, number);
    if (ring_head_is_whole(&reader->head))
        atomic_store(&reader->head.head->stored, ring_word_seal(reader->stored));
    while (!status && reader->passed.count >= 2 &&
           reader->passed.at[1].first <= reader->stored + 1) {
        status = remove_segment(reader, reader->passed.at[0].index, err);
        if (!status)
            vec_remove(&reader->passed, 0);
    }
    if (ring_head_is_whole(&reader->head))
        free_up_to_here(reader);
    return status;
}

void ring_refuse(struct ring_reader *reader, uint64_t number, det_status status,
                 const char *text)
{
    struct ring_refusal refusal = {.number = number, .status = status};
    size_t len = utf8_valid(text, strnlen(text, sizeof(refusal.text) - 1));

    assert(!reader->only_looks);
    if (!number || number > RING_NUMBER_MOST || !ring_head_is_whole(&reader->head))
        return;
    memcpy(refusal.text, text, len);
    ring_head_refuse(&reader->head.head->refusal[reader->refusals++ % REFUSALS],
                     &refusal);
}

void ring_rewind(struct ring_reader *reader)
{
    size_t at = 0;

    reader->has_more = true;
    if (!reader->passed.count || !reader->position.next)
        return;
    while (at + 1 < reader->passed.count &&
           reader->passed.at[at + 1].first <= reader->stored + 1)
        at++;
    reader->position =
        (struct position){reader->passed.at[at].index, SEGMENT_HEADER,
                          MAX(reader->stored + 1, reader->passed.at[0].first)};
}

bool ring_is_cut(const struct ring_reader *reader)
{
    return reader->head.head && !ring_head_is_whole(&reader->head);
}

uint32_t ring_turned_away(const struct ring_reader *reader)
{
    return ring_head_is_whole(&reader->head)
               ? atomic_load(&reader->head.head->turned_away)
               : 0;
}

/* ---- sleeping -------------------------------------------------------------------- */

/* Whether there is work at once.  New records can wait a moment. */
static bool is_urgent(struct ring_reader *reader)
{
    return reader->has_more || atomic_load(&reader->is_woken);
}

static void sleep_in_head(struct ring_reader *reader, int timeout_ms)
{
    struct ring_head *head = reader->head.head;

    atomic_store(&head->sleeps, 1);
    if (!is_urgent(reader) && atomic_load(&head->commits) == reader->seen)
        shared_wait(&head->sleeps, 1, timeout_ms);
    /* The file may have been truncated meanwhile. */
    if (!ring_head_is_whole(&reader->head))
        return;
    atomic_store(&head->sleeps, 0);
    /* Waits a moment, so a burst of puts does not wake the reader for each. */
    if (!is_urgent(reader) && atomic_load(&head->commits) != reader->seen)
        shared_wait(&reader->is_woken, 0, GATHER_MS);
}

void ring_wait(struct ring_reader *reader, int timeout_ms)
{
    assert(!reader->only_looks);
    if (io_is_memory(reader->io))
        return;
    if (ring_head_is_whole(&reader->head))
        sleep_in_head(reader, timeout_ms);
    else
        shared_wait(&reader->is_woken, 0, timeout_ms);
    atomic_store(&reader->is_woken, 0);
}

void ring_wake(struct ring_reader *reader)
{
    atomic_store(&reader->is_woken, 1);
    shared_wake(&reader->is_woken);
    if (reader->only_looks || !ring_head_is_whole(&reader->head))
        return;
    atomic_store(&reader->head.head->sleeps, 0);
    shared_wake(&reader->head.head->sleeps);
}
