/* SPDX-License-Identifier: Apache-2.0 */
/* ring_head.c - opens, repairs, reads and writes the head of a ring. */
#include "libdet/ring/ring_head.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/io/map_guard.h"
#include "libdet/ring/ring_segment.h"

enum { LOAD_TRIES = 100000, OPEN_TRIES = 2000, RING_FORMAT = 1 };
#define HEAD_MAGIC UINT64_C(0x31676e6972746564) /* "detring1" */

_Static_assert(sizeof(struct ring_head_slot) == 64 &&
                   sizeof(struct ring_head) <= HEAD_BYTES,
               "the head is as large as its file");
_Static_assert(sizeof(struct ring_state) == STATE_WORDS * sizeof(uint64_t),
               "a state is copied by words");

/* ---- words ----------------------------------------------------------------------- */

static uint64_t seal_of(uint64_t value)
{
    return crc32c(0, &value, sizeof(value)) & 0xffff;
}

uint64_t ring_word_seal(uint64_t value)
{
    return value << 16 | seal_of(value);
}

bool ring_word_unseal(uint64_t word, uint64_t *ret_value)
{
    *ret_value = word >> 16;
    return seal_of(word >> 16) == (word & 0xffff);
}

uint64_t ring_word_value(const _Atomic uint64_t *word)
{
    uint64_t value;

    return ring_word_unseal(atomic_load_explicit(word, memory_order_acquire), &value)
               ? value
               : 0;
}

/* ---- the state ------------------------------------------------------------------- */

static uint64_t check_of(const uint64_t *words, uint64_t commits)
{
    return crc32c(crc32c(0, words, STATE_WORDS * sizeof(*words)), &commits,
                  sizeof(commits));
}

static bool is_plausible(const struct ring_state *state)
{
    return state->segment <= RING_NUMBER_MOST && state->number <= RING_NUMBER_MOST &&
           state->base <= RING_NUMBER_MOST && state->capacity <= RING_NUMBER_MOST &&
           state->offset <= state->capacity && state->offset % 8 == 0;
}

/* The used slot is not written before `commits` has moved on twice.  So equal counts
 * before and after mean that one state was read.  For that, the words of a slot are
 * loaded and stored in order (acquire, release). */
bool ring_head_load(struct ring_head *head, struct ring_state *ret_state)
{
    for (int i = 0; i < LOAD_TRIES; i++) {
        uint64_t word = atomic_load(&head->commits);
        uint64_t commits;
        /* Sealed, because a count one lower would be valid too: the state before. */
        bool is_whole = ring_word_unseal(word, &commits);
        struct ring_head_slot *slot = &head->slot[commits & 1];
        uint64_t words[STATE_WORDS];
        uint64_t check;

        for (int w = 0; w < STATE_WORDS; w++)
            words[w] = atomic_load_explicit(&slot->word[w], memory_order_acquire);
        check = atomic_load_explicit(&slot->check, memory_order_acquire);
        if (atomic_load(&head->commits) != word)
            continue;
        memcpy(ret_state, words, sizeof(words));
        return is_whole && check == check_of(words, commits) && is_plausible(ret_state);
    }
    return false;
}

void ring_head_commit(struct ring_head *head, const struct ring_state *state)
{
    uint64_t commits =
        (atomic_load_explicit(&head->commits, memory_order_relaxed) >> 16) + 1;
    struct ring_head_slot *slot = &head->slot[commits & 1];
    uint64_t words[STATE_WORDS];

    commits &= RING_NUMBER_MOST;
    memcpy(words, state, sizeof(words));
    for (int w = 0; w < STATE_WORDS; w++)
        atomic_store_explicit(&slot->word[w], words[w], memory_order_release);
    atomic_store_explicit(&slot->check, check_of(words, commits), memory_order_release);
    /* Sequentially consistent with the reader's `sleeps`: either the reader sees the
     * record before it sleeps, or the writer sees that it sleeps. */
    atomic_store(&head->commits, ring_word_seal(commits));
}

/* ---- refusals -------------------------------------------------------------------- */

/* The slot is empty while it is written.  Words are stored and loaded in order, as
 * those of a state. */
void ring_head_refuse(struct ring_head_refusal *slot,
                      const struct ring_refusal *refusal)
{
    uint64_t words[REFUSAL_WORDS];

    memcpy(words, refusal->text, sizeof(words));
    atomic_store(&slot->number, 0);
    atomic_store(&slot->status, (uint64_t)refusal->status);
    for (int w = 0; w < REFUSAL_WORDS; w++)
        atomic_store_explicit(&slot->word[w], words[w], memory_order_release);
    atomic_store(&slot->number, ring_word_seal(refusal->number));
}

bool ring_head_refusal_load(const struct ring_head_refusal *slot,
                            struct ring_refusal *ret_refusal)
{
    uint64_t number = ring_word_value(&slot->number);
    uint64_t status = atomic_load(&slot->status);
    uint64_t words[REFUSAL_WORDS];

    for (int w = 0; w < REFUSAL_WORDS; w++)
        words[w] = atomic_load_explicit(&slot->word[w], memory_order_acquire);
    if (!number || ring_word_value(&slot->number) != number)
        return false;
    memcpy(ret_refusal->text, words, sizeof(words));
    ret_refusal->text[sizeof(ret_refusal->text) - 1] = '\0';
    ret_refusal->number = number;
    /* Any process of the task can write there; an unknown code reads as FAILED. */
    ret_refusal->status =
        status && status <= DET_FULL ? (det_status)status : DET_FAILED;
    return true;
}

/* ---- finding the state again ----------------------------------------------------- */

/* Continues after the last complete record.  Its put may not have returned:
 * the record counts, because no failure was returned either. */
static det_status add_segment(struct ring_segment *segment, struct ring_state *state,
                              struct err *err)
{
    struct ring_segment_range range = {SEGMENT_HEADER, segment->size, state->number + 1,
                                       RING_NUMBER_MOST};
    uint64_t end = SEGMENT_HEADER;
    struct ring_segment_record record;
    det_status status;

    while (!(status = ring_segment_next(segment, &range, &record, err))) {
        state->number = record.number;
        range.least = record.number + 1;
        end = range.at;
    }
    if (status != DET_NOT_FOUND)
        return status;
    /* Made ahead and unused so far. */
    if (!segment->has_head && end == SEGMENT_HEADER)
        return DET_OK;
    state->base =
        segment->has_head ? segment->head.base : state->base + state->capacity;
    if (segment->has_head && segment->head.first > state->number)
        state->number = segment->head.first - 1;
    state->segment = segment->index;
    state->offset = MIN(end, segment->size / 8 * 8);
    state->capacity = segment->size;
    return DET_OK;
}

det_status ring_head_find_state(struct io *io, const char *dir,
                                const struct ring_head_file *head,
                                struct ring_state *ret_state, struct err *err)
{
    struct ring_state state = {0};
    uint64_t index = 0;
    uint64_t barren = 0;

    for (;;) {
        struct ring_segment segment = {0};
        uint64_t before = state.number;
        uint64_t size;
        det_status status =
            ring_segment_after(io, dir, index, head->is_own, &index, err);

        if (status)
            return status;
        if (!index)
            break;
        status = ring_segment_open(io, dir, index, &segment, err);
        if (!status)
            status = add_segment(&segment, &state, err);
        size = segment.size;
        ring_segment_close(&segment);
        /* The reader may have removed it meanwhile. */
        if (status && status != DET_NOT_FOUND)
            return status;
        barren = state.number == before ? barren + size : 0;
        if (barren > SEGMENTS_BARREN)
            return ring_segments_barren(dir, err);
    }
    /* All segments may be gone, but no number may be given twice. */
    state.number = MAX(state.number, ring_word_value(&head->head->stored));
    *ret_state = state;
    return DET_OK;
}

/* ---- the file -------------------------------------------------------------------- */

bool ring_head_is_whole(const struct ring_head_file *head)
{
    uint64_t size;

    return head->head && !map_guard_is_broken(&head->map) &&
           !io_size(head->file, &size, NULL) && size >= HEAD_BYTES;
}

static void unmap_head(struct ring_head_file *head)
{
    map_guard_remove(&head->map);
    io_unmap(&head->map);
    head->head = NULL;
}

/* The library in a task and the supervisor may be of different versions.  Damage is not
 * taken for a newer format: the word is sealed. */
static det_status check_format(const struct ring_head *head, struct err *err)
{
    uint64_t format;

    if (!ring_word_unseal(head->format, &format) || format <= RING_FORMAT)
        return DET_OK;
    return err_set(
        err, DET_UNSUPPORTED,
        "the ring of this task has format %" PRIu64
        ", and this version of det reads %d: use the same version of libdet, "
        "the Python package and the agent",
        format, RING_FORMAT);
}

/* Any process of the task may truncate the file at any time (map_guard.h). */
static det_status guard_head(struct ring_head_file *head, det_status status,
                             struct err *err)
{
    if (!status && head->map.data)
        status = map_guard_add(&head->map, err);
    head->head = (struct ring_head *)(void *)head->map.data;
    if (!status && head->head)
        status = check_format(head->head, err);
    if (status)
        unmap_head(head);
    return status;
}

static det_status map_head(struct ring_head_file *head, struct err *err)
{
    return guard_head(head, io_map(head->file, HEAD_BYTES, &head->map, err), err);
}

/* The caller holds the file exclusively. */
static det_status mend(struct io *io, const char *dir,
                       const struct ring_head_file *file, struct err *err)
{
    struct ring_head *head = file->head;
    struct ring_state state;
    uint64_t unused;

    shared_lock_reset(&head->lock);
    atomic_store(&head->sleeps, 0);
    atomic_store(&head->prepared, 0);
    atomic_store(&head->lost, ring_word_seal(0));
    if (!ring_word_unseal(atomic_load(&head->freed), &unused))
        atomic_store(&head->freed, ring_word_seal(0));
    if (!ring_head_load(head, &state)) {
        det_status status = ring_head_find_state(io, dir, file, &state, err);

        if (status)
            return status;
        /* The ring was never written to, so nothing was stored. */
        if (state.segment == 0 && atomic_load(&head->stored) == 0)
            atomic_store(&head->stored, ring_word_seal(0));
        ring_head_commit(head, &state);
    }
    head->magic = HEAD_MAGIC;
    return DET_OK;
}

/* Takes the lock exclusively, repairs the head, and then shares the lock.  DET_BUSY:
 * try again. */
static det_status enter_alone(struct io *io, const char *dir,
                              struct ring_head_file *head, struct err *err)
{
    det_status status = io_reserve(head->file, HEAD_BYTES, err);

    if (!status)
        status = map_head(head, err);
    if (!status)
        status = mend(io, dir, head, err);
    if (!status)
        status = io_lock_shared(head->file, err);
    if (status)
        unmap_head(head);
    return status;
}

static det_status enter(struct io *io, const char *dir, struct ring_head_file *head,
                        struct err *err)
{
    det_status status = io_lock(head->file, err);

    if (!status)
        return enter_alone(io, dir, head, err);
    if (status == DET_BUSY)
        status = io_lock_shared(head->file, err);
    return status ? status : map_head(head, err);
}

det_status ring_head_is_gone(const char *dir, struct err *err)
{
    return err_set(
        err, DET_NOT_FOUND,
        "the ring of reports in '%s' is gone: the task's directory was removed "
        "while the task runs, and nothing can be reported any more",
        dir);
}

static det_status open_file(struct io *io, const char *dir, enum ring_makes makes,
                            struct ring_head_file *head, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    unsigned made = makes == RING_MAKES_NOTHING ? 0 : IO_CREATE | IO_PRIVATE;
    struct io_stat found;
    det_status status = makes == RING_MAKES_ALL ? io_mkdir(io, dir, true, err) : DET_OK;

    if (status)
        return status;
    buf_printf(&path, "%s/head", dir);
    if (path.status)
        return err_default(err, path.status);
    status = io_open(io, path.data, IO_WRITE | IO_PLAIN | made, &head->file, err);
    if (status != DET_NOT_FOUND)
        return status;
    return io_stat(io, dir, &found, NULL)
               ? ring_head_is_gone(dir, err)
               : err_set(err, DET_NOT_FOUND,
                         "the ring of reports in '%s' has no "
                         "head: it was removed, or its disk was "
                         "full when the task began",
                         dir);
}

det_status ring_head_open(struct io *io, const char *dir, enum ring_makes makes,
                          struct ring_head_file *ret_head, struct err *err)
{
    struct ring_head_file head = {.is_own = makes == RING_MAKES_ALL};
    _Atomic uint32_t nobody = 0;
    det_status status = open_file(io, dir, makes, &head, err);

    if (status)
        return status;
    status = enter(io, dir, &head, err);
    for (int i = 0; status == DET_BUSY && i < OPEN_TRIES; i++) {
        /* Another process holds the lock exclusively, for the moment of a repair. */
        shared_wait(&nobody, 0, 1);
        status = enter(io, dir, &head, err);
    }
    if (status) {
        ring_head_close(&head);
        return status;
    }
    *ret_head = head;
    return DET_OK;
}

det_status ring_head_look(struct io *io, const char *dir,
                          struct ring_head_file *ret_head, struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    struct ring_head_file head = {.is_own = true};
    uint64_t size = 0;
    det_status status;

    buf_printf(&path, "%s/head", dir);
    if (path.status)
        return err_default(err, path.status);
    status = io_open(io, path.data, IO_READ | IO_PLAIN, &head.file, err);
    if (!status)
        status = io_size(head.file, &size, err);
    if (!status && size >= HEAD_BYTES)
        status =
            guard_head(&head, io_map_read(head.file, HEAD_BYTES, &head.map, err), err);
    if (status && status != DET_NOT_FOUND) {
        ring_head_close(&head);
        return status;
    }
    *ret_head = head;
    return DET_OK;
}

void ring_head_close(struct ring_head_file *head)
{
    unmap_head(head);
    io_close(head->file);
    *head = (struct ring_head_file){0};
}
