/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - the writers' side of a ring (ring_head.h has the layout).
 *
 * A put, under the mutex of the head: find room in the current segment or start another
 * one, write the record after the last one, commit the state.  A writer that is killed
 * on the way leaves bytes after the end, and the next writer overwrites them.
 *
 * Each process maps a segment when it first needs it.  The mutex of the head also
 * guards `map` and `index` of a handle.  Slow work happens without the mutex: when a
 * segment is three quarters full, the writer whose put crossed that line makes the next
 * file after releasing the mutex.  It also wakes the reader then, and only if the
 * reader sleeps.
 *
 * On a full disk a completely stored segment is renamed and becomes the next one.  So a
 * ring that was drained works even there. */
#include "libdet/ring/ring.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/mem.h"
#include "libdet/ring/ring_head.h"
#include "libdet/ring/ring_segment.h"

enum { LOCK_MS = 1000, OWN = 64 };
#define LIMIT_DEFAULT   (UINT64_C(256) << 20)
#define SEGMENT_DEFAULT (UINT64_C(1) << 20)

struct ring {
    struct io *io;
    char *dir;
    uint64_t limit_bytes;
    uint64_t segment_bytes;
    struct fork_mark mark;
    struct ring_head_file head;
    struct io_map map; /* of segment `index`; 0: none */
    uint64_t index;
    _Atomic uint64_t first_own; /* the first record that this handle put; 0: none */
    _Atomic uint64_t own[OWN];  /* the last of them, each at its number modulo OWN */
};

det_status ring_open(const struct ring_config *config, struct ring **ret_ring,
                     struct err *err)
{
    uint64_t segment = config->segment_bytes ? config->segment_bytes : SEGMENT_DEFAULT;
    struct ring *ring = mem_new(struct ring);
    det_status status = DET_OK;

    if (!ring)
        return err_default(err, DET_NOMEM);
    ring->io = config->io;
    ring->limit_bytes = config->limit_bytes ? config->limit_bytes : LIMIT_DEFAULT;
    ring->segment_bytes = MIN(segment, SEGMENT_MOST) / 8 * 8;
    ring->dir = mem_strdup(config->dir);
    if (!ring->dir)
        status = err_default(err, DET_NOMEM);
    if (!status)
        status = fork_mark_init(&ring->mark, err);
    if (!status)
        status = ring_head_open(ring->io, ring->dir, config->makes, &ring->head, err);
    if (status) {
        ring_close(ring);
        return status;
    }
    *ret_ring = ring;
    return DET_OK;
}

/* In a forked child another thread of the parent may have been changing the map: it is
 * left alone, and so are the files, whose locks are shared with the parent. */
void ring_close(struct ring *ring)
{
    if (!ring)
        return;
    if (ring->mark.is_ours && fork_mark_is_ours(&ring->mark))
        io_unmap(&ring->map);
    ring_head_close(&ring->head);
    fork_mark_done(&ring->mark);
    mem_free(ring->dir);
    mem_free(ring);
}

bool ring_is_inherited(const struct ring *ring)
{
    return !fork_mark_is_ours(&ring->mark);
}

/* ---- room ------------------------------------------------------------------------ */

static bool is_all_stored(const struct ring *ring, const struct ring_state *state)
{
    return ring_word_value(&ring->head.head->stored) >= state->number;
}

static det_status check_limit(const struct ring *ring, const struct ring_state *state,
                              size_t size, struct err *err)
{
    uint64_t end = state->base + state->offset;
    uint64_t freed = ring_word_value(&ring->head.head->freed);
    uint64_t waiting = freed < end ? end - freed : 0;

    if (size > ring->limit_bytes)
        return err_set(err, DET_TOO_LARGE,
                       "a report of %zu bytes does not fit into the ring of reports in "
                       "'%s', which holds %" PRIu64,
                       size, ring->dir, ring->limit_bytes);
    if (waiting + size <= ring->limit_bytes || is_all_stored(ring, state))
        return DET_OK;
    return err_set(err, DET_BUSY,
                   "the ring of reports in '%s' is full: %" PRIu64 " bytes wait to be "
                   "sent to the master, its limit is %" PRIu64,
                   ring->dir, waiting, ring->limit_bytes);
}

static struct ring_segment_head *mapped_head(const struct ring *ring)
{
    return (struct ring_segment_head *)(void *)ring->map.data;
}

/* Maps the file of a segment; reserves the space of a new one first. */
static det_status map_segment(const struct ring *ring, uint64_t index,
                              uint64_t capacity, bool is_new, struct io_map *ret_map,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    CLEANUP(io_closep) struct io_file *file = NULL;
    unsigned flags = IO_WRITE | IO_PLAIN | (is_new ? IO_CREATE | IO_PRIVATE : 0);
    det_status status;

    ring_segment_path(&path, ring->dir, index);
    if (path.status)
        return err_default(err, path.status);
    status = io_open(ring->io, path.data, flags, &file, err);
    if (!status && is_new)
        status = io_reserve(file, capacity, err);
    /* Half a segment would keep the disk full for nothing.  Only with the mutex:
     * another writer may have completed the same file. */
    if (status == DET_FULL && ret_map)
        (void)io_remove(ring->io, path.data, NULL);
    if (!status && ret_map)
        status = io_map(file, (size_t)capacity, ret_map, err);
    return status;
}

/* Whether the current segment is mapped here; maps it if needed.  False: it is gone or
 * damaged, and another must be started. */
static bool has_segment(struct ring *ring, const struct ring_state *state)
{
    if (ring->index != state->segment || !ring->map.data ||
        mapped_head(ring)->index != state->segment) {
        io_unmap(&ring->map);
        ring->index = 0;
        if (state->segment == 0 || state->capacity < SEGMENT_HEADER ||
            map_segment(ring, state->segment, state->capacity, false, &ring->map, NULL))
            return false;
        ring->index = state->segment;
    }
    return mapped_head(ring)->index == state->segment &&
           ring_word_value(&ring->head.head->lost) != state->segment &&
           state->offset >= SEGMENT_HEADER && ring->map.len >= state->capacity;
}

/* Renames the file of the segment before, which needs no space.  Writes its head first,
 * so others who have it mapped see that it is another segment. */
static det_status reuse_segment(struct ring *ring, const struct ring_state *state,
                                struct ring_state *next, struct err *err)
{
    CLEANUP(buf_done) struct buf from = BUF_INIT;
    CLEANUP(buf_done) struct buf to = BUF_INIT;
    det_status status;

    ring_segment_path(&from, ring->dir, state->segment);
    ring_segment_path(&to, ring->dir, next->segment);
    if (from.status || to.status)
        return err_default(err, DET_NOMEM);
    next->capacity = state->capacity;
    ring_segment_head_fill(mapped_head(ring), next->segment, next->base,
                           next->number + 1);
    status = io_rename(ring->io, from.data, to.data, err);
    if (!status)
        ring->index = next->segment;
    return status;
}

static det_status say_full(const struct ring *ring, struct err *err)
{
    return err_set(err, DET_BUSY,
                   "the disk under the ring of reports in '%s' is full: free some "
                   "space, or wait until the master has stored the reports",
                   ring->dir);
}

/* Starts another segment with room for the record.  Commits nothing yet. */
static det_status next_segment(struct ring *ring, struct ring_state *state, size_t size,
                               bool has_old, struct err *err)
{
    struct ring_state next = {
        .segment = state->segment + 1,
        .base = state->base + state->capacity,
        .offset = SEGMENT_HEADER,
        .capacity = MAX(ring->segment_bytes, (uint64_t)SEGMENT_HEADER + size),
        .number = state->number,
    };
    struct io_map map = {0};
    det_status status = map_segment(ring, next.segment, next.capacity, true, &map, err);

    if (status == DET_FULL && has_old && is_all_stored(ring, state) &&
        state->capacity >= SEGMENT_HEADER + size)
        status = reuse_segment(ring, state, &next, err);
    if (status == DET_FULL)
        return say_full(ring, err);
    if (status == DET_NOT_FOUND)
        return ring_head_is_gone(ring->dir, err);
    if (status)
        return status;
    if (map.data) {
        io_unmap(&ring->map);
        ring->map = map;
        ring->index = next.segment;
        ring_segment_head_fill(mapped_head(ring), next.segment, next.base,
                               next.number + 1);
    }
    *state = next;
    return DET_OK;
}

/* Needs the mutex.  Finds the place for the record. */
static det_status find_room(struct ring *ring, size_t size,
                            struct ring_state *ret_state, struct err *err)
{
    struct ring_head *head = ring->head.head;
    det_status status = DET_OK;
    bool has_old;

    if (!ring_head_load(head, ret_state))
        status = ring_head_find_state(ring->io, ring->dir, &ring->head, ret_state, err);
    if (!status)
        status = check_limit(ring, ret_state, size, err);
    if (status)
        return status;
    has_old = has_segment(ring, ret_state);
    if (has_old && ret_state->capacity - ret_state->offset >= size)
        return DET_OK;
    return next_segment(ring, ret_state, size, has_old, err);
}

/* ---- puts ------------------------------------------------------------------------ */

/* Takes the mutex; put_end() releases it. */
static det_status put_begin(struct ring *ring, size_t size,
                            struct ring_state *ret_state, struct err *err)
{
    det_status status;

    if (!size)
        return err_set(err, DET_TOO_LARGE, "a report has more than %d bytes",
                       REPORT_BYTES_MOST);
    if (ring_is_inherited(ring))
        return err_set(err, DET_STATE,
                       "the ring of reports in '%s' was opened before this process was "
                       "forked: open it again",
                       ring->dir);
    if (!shared_lock_take(&ring->head.head->lock, LOCK_MS))
        return err_set(err, DET_BUSY,
                       "another process holds the lock of the ring of reports in '%s': "
                       "is it stopped?",
                       ring->dir);
    status = find_room(ring, size, ret_state, err);
    if (status == DET_BUSY)
        atomic_fetch_add(&ring->head.head->turned_away, 1);
    if (status)
        shared_lock_give(&ring->head.head->lock);
    return status;
}

/* Ahead of need, while others write.  A failure shows when the segment is needed. */
static void prepare_next(const struct ring *ring, uint64_t index)
{
    (void)map_segment(ring, index, ring->segment_bytes, true, NULL, NULL);
}

/* Needs the mutex. */
static void remember_own(struct ring *ring, uint64_t number)
{
    if (!atomic_load_explicit(&ring->first_own, memory_order_relaxed))
        atomic_store_explicit(&ring->first_own, number, memory_order_relaxed);
    atomic_store_explicit(&ring->own[number % OWN], number, memory_order_relaxed);
}

static void put_end(struct ring *ring, struct ring_state *state, size_t size)
{
    struct ring_head *head = ring->head.head;
    uint64_t next = state->segment + 1;
    bool is_mine = false;

    state->offset += size;
    state->number++;
    remember_own(ring, state->number);
    ring_head_commit(head, state);
    if (state->offset > state->capacity / 4 * 3 &&
        atomic_load_explicit(&head->prepared, memory_order_relaxed) != next) {
        atomic_store_explicit(&head->prepared, next, memory_order_relaxed);
        is_mine = true;
    }
    shared_lock_give(&head->lock);
    if (atomic_load(&head->sleeps) && atomic_exchange(&head->sleeps, 0))
        shared_wake(&head->sleeps);
    if (is_mine)
        prepare_next(ring, next);
}

det_status ring_put(struct ring *ring, const struct report *report, struct err *err)
{
    size_t size = report_size(report->len);
    struct report numbered = *report;
    struct ring_state state;
    det_status status = put_begin(ring, size, &state, err);

    if (status)
        return status;
    numbered.number = state.number + 1;
    report_encode(&numbered, ring->map.data + state.offset);
    put_end(ring, &state, size);
    return DET_OK;
}

det_status ring_put_metrics(struct ring *ring, uint32_t run, int64_t time_us,
                            const struct report_metrics *metrics, struct err *err)
{
    size_t len = report_metrics_size(metrics);
    size_t size = report_size(len);
    struct ring_state state;
    unsigned char *record;
    det_status status = put_begin(ring, size, &state, err);

    if (status)
        return status;
    record = ring->map.data + state.offset;
    report_metrics_encode(metrics, record + REPORT_HEADER);
    report_encode(&(struct report){.kind = REPORT_METRICS,
                                   .run = run,
                                   .number = state.number + 1,
                                   .time_us = time_us,
                                   .payload = record + REPORT_HEADER,
                                   .len = (uint32_t)len},
                  record);
    put_end(ring, &state, size);
    return DET_OK;
}

void ring_numbers(struct ring *ring, uint64_t *ret_accepted, uint64_t *ret_stored)
{
    struct ring_state state = {0};

    *ret_stored = ring_word_value(&ring->head.head->stored);
    *ret_accepted =
        ring_head_load(ring->head.head, &state) ? state.number : *ret_stored;
}

/* ---- refusals -------------------------------------------------------------------- */

static bool is_own(struct ring *ring, uint64_t number)
{
    uint64_t first = atomic_load_explicit(&ring->first_own, memory_order_relaxed);
    uint64_t there =
        atomic_load_explicit(&ring->own[number % OWN], memory_order_relaxed);

    /* A later number has taken its place, so the owner is unknown.  Better report it
     * than not. */
    return first && number >= first && there >= number;
}

bool ring_refused(struct ring *ring, uint64_t after, struct ring_refusal *ret_refusal,
                  uint64_t *ret_last)
{
    struct ring_refusal found;
    uint32_t count = 0;

    for (int i = 0; i < REFUSALS && ring_head_is_whole(&ring->head); i++) {
        if (!ring_head_refusal_load(&ring->head.head->refusal[i], &found) ||
            found.number <= after || !is_own(ring, found.number))
            continue;
        if (!count || found.number < ret_refusal->number)
            *ret_refusal = found;
        *ret_last = count ? MAX(*ret_last, found.number) : found.number;
        count++;
    }
    if (count)
        ret_refusal->others = count - 1;
    return count > 0;
}
