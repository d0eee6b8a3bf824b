/* SPDX-License-Identifier: Apache-2.0 */
/* saver.c - see saver.h. */
#include "libdet/checkpoint/saver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/mem.h"
#include "base/memory/snapshot.h"
#include "base/thread/lock.h"
#include "libdet/checkpoint/checkpoint_seal.h"
#include "libdet/checkpoint/shard.h"
#include "libdet/parallel.h"

enum {
    COPIERS = 3,       /* beside the caller */
    STRIPE = 8 << 20,  /* of a copy */
    REPORT_TRIES = 30, /* while the ring is full */
    REPORT_PAUSE_US = 1000000,
};

enum saver_state { SAVER_FREE, SAVER_FILLING, SAVER_BUSY, SAVER_PARTED };

/* A copy under way.  Each thread takes the next stripe when it is free. */
struct copying {
    struct snapshot *to;
    const char *from;
    uint64_t offset;
    size_t len;
    atomic_size_t next;
};

struct copier {
    struct work task;
    struct copying *work;
    _Atomic uint32_t is_running;
};

struct saver {
    det_context *context;
    struct executor *exec; /* NULL: everything on the caller's thread */
    struct lane *lane;
    struct lane *copy_lane;
    struct copier copiers[COPIERS];
    uint32_t copier_count;
    struct work task;
    _Atomic uint32_t state;     /* waiting threads sleep on it */
    struct lock lock;           /* guards changes of `state`, and the rest */
    struct snapshot room;       /* belongs to the thread that `state` says */
    uint64_t wanted_bytes;      /* BUSY without a checkpoint: pages to prepare */
    det_checkpoint *checkpoint; /* BUSY, PARTED */
    bool is_part;               /* `checkpoint` is a rank's part ... */
    det_distributed *group;     /* ... of this group */
    struct err failed;          /* PARTED: this rank's failure */
    bool has_outcome;           /* FREE: an outcome that was not returned yet */
    struct err outcome;
    det_checkpoint_outcome numbers;
};

/* ---- start and end --------------------------------------------------------------- */

static void save_in_background(struct work *task);
static void copy_stripes_of(struct work *task);

static det_status start_threads(struct saver *saver, struct err *err)
{
    uint32_t helpers = MIN(executor_cores() - 1, (uint32_t)COPIERS);
    det_status st = executor_threads_new(&clock_system, &saver->exec, err);

    if (!st)
        st = lane_new(saver->exec, "det-save", 1, &saver->lane, err);
    if (!st && helpers)
        st = lane_new(saver->exec, "det-copy", helpers, &saver->copy_lane, err);
    saver->copier_count = helpers;
    return st;
}

static void saver_free(struct saver *saver, bool is_child)
{
    if (saver->exec && !is_child)
        executor_free(saver->exec);
    snapshot_done(&saver->room, is_child);
    lock_done(&saver->lock);
    mem_free(saver);
}

static det_status saver_new(det_context *context, struct saver **ret_saver,
                            struct err *err)
{
    struct saver *saver = mem_new(struct saver);
    det_status st = saver ? lock_init(&saver->lock, err) : err_default(err, DET_NOMEM);

    if (saver && st)
        mem_free(saver);
    if (st)
        return st;
    saver->context = context;
    saver->task = (struct work)WORK_INIT(save_in_background);
    for (size_t i = 0; i < COPIERS; i++)
        saver->copiers[i].task = (struct work)WORK_INIT(copy_stripes_of);
    if (!io_is_memory(context->world.io) && !context->world.exec)
        st = start_threads(saver, err);
    if (st)
        saver_free(saver, false);
    else
        *ret_saver = saver;
    return st;
}

static struct saver *saver_of(det_context *context)
{
    struct saver *saver;

    lock_take(&context->lock);
    saver = context->saver;
    lock_give(&context->lock);
    return saver;
}

static det_status saver_need(det_context *context, struct saver **ret_saver,
                             struct err *err)
{
    det_status st = DET_OK;

    lock_take(&context->lock);
    if (!context->saver)
        st = saver_new(context, &context->saver, err);
    *ret_saver = context->saver;
    lock_give(&context->lock);
    return st;
}

/* ---- the state ------------------------------------------------------------------- */

static enum saver_state state_of(struct saver *saver)
{
    return (enum saver_state)atomic_load_explicit(&saver->state, memory_order_acquire);
}

static void set_state(struct saver *saver, enum saver_state state)
{
    lock_take(&saver->lock);
    atomic_store_explicit(&saver->state, state, memory_order_release);
    lock_give(&saver->lock);
    shared_wake(&saver->state);
}

static bool wait_quiet(struct saver *saver, int64_t deadline_us)
{
    while (state_of(saver) == SAVER_BUSY) {
        int64_t left_ms = -1;

        if (deadline_us) {
            left_ms = (deadline_us - clock_mono_us(&clock_system) + 999) / 1000;
            if (left_ms <= 0)
                return false;
            left_ms = MIN(left_ms, (int64_t)3600000);
        }
        shared_wait(&saver->state, SAVER_BUSY, (int)left_ms);
    }
    return true;
}

bool saver_is_quiet(det_context *context, int64_t deadline_us)
{
    struct saver *saver = saver_of(context);

    return !saver || wait_quiet(saver, deadline_us);
}

/* With the lock held. */
static det_status tell_outcome(struct saver *saver, det_checkpoint_outcome *ret_outcome,
                               struct err *err)
{
    if (!saver->has_outcome)
        return DET_OK;
    saver->has_outcome = false;
    if (ret_outcome)
        *ret_outcome = saver->numbers;
    return saver->outcome.status
               ? err_set(err, saver->outcome.status, "%s", saver->outcome.text)
               : DET_OK;
}

det_status saver_collect(det_context *context, det_checkpoint_outcome *ret_outcome,
                         struct err *err)
{
    struct saver *saver = saver_of(context);
    det_status st;

    if (!saver)
        return DET_OK;
    lock_take(&saver->lock);
    st = tell_outcome(saver, ret_outcome, err);
    lock_give(&saver->lock);
    return st;
}

static det_status take_place(struct saver *saver, struct err *err)
{
    switch (state_of(saver)) {
    case SAVER_FREE:
        break;
    case SAVER_BUSY:
        return DET_BUSY; /* another thread was faster; wait again */
    case SAVER_FILLING:
        return err_set(
            err, DET_STATE,
            "another overlapped checkpoint has been begun: commit or abort it first");
    case SAVER_PARTED:
        return err_set(err, DET_STATE,
                       "the ranks have not finished the last checkpoint: all of them "
                       "must call det_checkpoint_wait() first");
    }
    if (saver->has_outcome && saver->outcome.status)
        return tell_outcome(saver, NULL, err);
    saver->has_outcome = false;
    atomic_store_explicit(&saver->state, SAVER_FILLING, memory_order_release);
    return DET_OK;
}

det_status saver_begin(det_context *context, struct err *err)
{
    struct saver *saver;
    bool is_waiting = true;
    det_status st = saver_need(context, &saver, err);

    while (!st && is_waiting) {
        (void)wait_quiet(saver, 0);
        lock_take(&saver->lock);
        is_waiting = state_of(saver) == SAVER_BUSY;
        if (!is_waiting)
            st = take_place(saver, err);
        lock_give(&saver->lock);
    }
    return st;
}

void saver_leave(det_context *context)
{
    struct saver *saver = saver_of(context);

    assert(state_of(saver) == SAVER_FILLING);
    snapshot_forget(&saver->room);
    set_state(saver, SAVER_FREE);
}

/* ---- copying --------------------------------------------------------------------- */

static void copy_in(const struct copying *work, size_t at, size_t len)
{
    while (len) {
        size_t piece;
        unsigned char *to = snapshot_at(work->to, work->offset + at, &piece);

        piece = MIN(piece, len);
        memcpy(to, work->from + at, piece);
        at += piece;
        len -= piece;
    }
}

static void copy_stripes(struct copying *work)
{
    size_t at;

    while ((at = atomic_fetch_add(&work->next, (size_t)STRIPE)) < work->len)
        copy_in(work, at, MIN((size_t)STRIPE, work->len - at));
}

static void copy_stripes_of(struct work *task)
{
    struct copier *copier = CONTAINER_OF(task, struct copier, task);

    copy_stripes(copier->work);
    atomic_store_explicit(&copier->is_running, 0, memory_order_release);
    shared_wake(&copier->is_running);
}

static void copy_together(struct saver *saver, struct copying *work)
{
    for (uint32_t i = 0; i < saver->copier_count; i++) {
        saver->copiers[i].work = work;
        atomic_store_explicit(&saver->copiers[i].is_running, 1, memory_order_relaxed);
        lane_post(saver->copy_lane, &saver->copiers[i].task);
    }
    copy_stripes(work);
    for (uint32_t i = 0; i < saver->copier_count; i++) {
        struct copier *copier = &saver->copiers[i];

        if (lane_cancel(saver->copy_lane, &copier->task))
            continue;
        while (atomic_load_explicit(&copier->is_running, memory_order_acquire))
            shared_wait(&copier->is_running, 1, -1);
    }
}

bool saver_copy(det_context *context, uint64_t limit_bytes, const void *bytes,
                size_t len, uint64_t *ret_offset)
{
    struct saver *saver = saver_of(context);
    struct copying work = {.to = &saver->room, .from = bytes, .len = len};

    assert(state_of(saver) == SAVER_FILLING);
    if (!snapshot_take(&saver->room, len, limit_bytes, &work.offset))
        return false;
    if (saver->copier_count && len >= 2 * (size_t)STRIPE)
        copy_together(saver, &work);
    else
        copy_stripes(&work);
    *ret_offset = work.offset;
    return true;
}

/* ---- writing --------------------------------------------------------------------- */

struct writing {
    det_checkpoint *checkpoint;
    struct saver *saver;
    struct manifest_file *files;
    struct checkpoint_copy **copies; /* each name once */
};

struct place {
    const struct snapshot *room;
    uint64_t offset;
};

static const void *copied_at(const void *self, uint64_t offset, size_t *ret_len)
{
    const struct place *place = self;

    return snapshot_at(place->room, place->offset + offset, ret_len);
}

static det_status write_one(void *arg, size_t i, struct err *err)
{
    struct writing *writing = arg;
    const struct checkpoint_copy *copy = writing->copies[i];
    struct place place = {&writing->saver->room, copy->offset};
    struct checkpoint_bytes bytes = {copied_at, &place, copy->len};

    return checkpoint_write(writing->checkpoint->context->world.io,
                            writing->checkpoint->draft, copy->path, &bytes,
                            &writing->files[i], err);
}

/* By name; equal names in the order of the puts, which is that of the offsets. */
static int by_name(const void *a, const void *b)
{
    const struct checkpoint_copy *one = *(struct checkpoint_copy *const *)a;
    const struct checkpoint_copy *other = *(struct checkpoint_copy *const *)b;
    int order = strcmp(one->path, other->path);

    return order ? order : (one > other) - (one < other);
}

/* If a name was put twice, the last one counts. */
static size_t choose_copies(det_checkpoint *checkpoint, struct checkpoint_copy **chosen)
{
    size_t all = checkpoint->copies.count;
    size_t count = 0;

    for (size_t i = 0; i < all; i++)
        chosen[i] = &checkpoint->copies.at[i];
    qsort(chosen, all, sizeof(struct checkpoint_copy *), by_name);
    for (size_t i = 0; i < all; i++)
        if (!chosen[i]->is_dropped &&
            (i + 1 == all || strcmp(chosen[i]->path, chosen[i + 1]->path) != 0))
            chosen[count++] = chosen[i];
    return count;
}

det_status saver_write(det_checkpoint *checkpoint, struct err *err)
{
    struct arena *mem = &checkpoint->mem;
    size_t all = checkpoint->copies.count;
    struct writing writing = {
        .checkpoint = checkpoint,
        .saver = saver_of(checkpoint->context),
        .files = arena_array(mem, struct manifest_file, all),
        .copies = arena_array(mem, struct checkpoint_copy *, all),
    };
    size_t count;
    det_status st;

    if (!all)
        return DET_OK;
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    count = choose_copies(checkpoint, writing.copies);
    st = parallel_run(count, !writing.saver->exec, write_one, &writing, err);
    for (size_t i = 0; i < count && !st; i++)
        if (!vec_push(&checkpoint->puts, writing.files[i]))
            st = err_default(err, DET_NOMEM);
    return st;
}

/* While the ring is full only the report is missing: retries for a while, then gives
 * up. */
static det_status seal_patiently(det_checkpoint *checkpoint, struct err *err)
{
    det_status st = checkpoint_seal(checkpoint, err);

    for (int i = 0; st == DET_BUSY && checkpoint->is_named && i < REPORT_TRIES; i++) {
        clock_pause(checkpoint->context->world.clock, REPORT_PAUSE_US);
        st = checkpoint_seal(checkpoint, err);
    }
    return st;
}

static void keep_err(struct err *to, det_status status, const struct err *err)
{
    to->status = status;
    snprintf(to->text, sizeof(to->text), "%s",
             err->text[0] ? err->text : det_status_text(status));
}

/* The message names the checkpoint, because the caller is busy with other things by
 * then. */
static void end_with(struct saver *saver, det_status status, const struct err *err)
{
    det_checkpoint *checkpoint = saver->checkpoint;

    saver->numbers = (det_checkpoint_outcome){
        .size = sizeof(saver->numbers),
        .copied_bytes = checkpoint->copied_bytes,
        .waited_bytes = checkpoint->waited_bytes,
    };
    memcpy(saver->numbers.uuid, checkpoint->uuid, UUID_TEXT);
    saver->outcome.status = status;
    if (status)
        (void)err_set(&saver->outcome, status, "checkpoint %s was not saved: %s",
                      checkpoint->uuid,
                      err->text[0] ? err->text : det_status_text(status));
    if (status)
        checkpoint_discard(checkpoint);
    else
        checkpoint_free(checkpoint);
    snapshot_forget(&saver->room);
    lock_take(&saver->lock);
    saver->checkpoint = NULL;
    saver->is_part = false;
    saver->has_outcome = true;
    lock_give(&saver->lock);
    set_state(saver, SAVER_FREE);
}

/* If a put failed the part is not written, whatever its rank did about the failure. */
static void write_part(struct saver *saver, det_checkpoint *checkpoint)
{
    CONTEXT_ERR(err);
    det_status st = shard_has_failed(checkpoint->shard, &err);

    if (!st)
        st = saver_write(checkpoint, &err);
    if (!st)
        st = checkpoint_list_part(checkpoint, &err);
    keep_err(&saver->failed, st, &err);
    snapshot_forget(&saver->room);
    set_state(saver, SAVER_PARTED);
}

static void save_in_background(struct work *task)
{
    struct saver *saver = CONTAINER_OF(task, struct saver, task);
    det_checkpoint *checkpoint = saver->checkpoint;
    CONTEXT_ERR(err);
    det_status st;

    if (!checkpoint) {
        snapshot_warm(&saver->room, saver->wanted_bytes, 0);
        set_state(saver, SAVER_FREE);
        return;
    }
    if (checkpoint->shard) {
        write_part(saver, checkpoint);
        return;
    }
    st = saver_write(checkpoint, &err);
    if (!st)
        st = seal_patiently(checkpoint, &err);
    end_with(saver, st, &err);
}

static void post_saving(struct saver *saver)
{
    set_state(saver, SAVER_BUSY);
    if (saver->exec)
        lane_post(saver->lane, &saver->task);
    else
        save_in_background(&saver->task);
}

static void take_checkpoint(struct saver *saver, det_checkpoint *checkpoint)
{
    lock_take(&saver->lock);
    saver->checkpoint = checkpoint;
    saver->is_part = checkpoint->shard != NULL;
    if (saver->is_part)
        saver->group = shard_group(checkpoint->shard);
    lock_give(&saver->lock);
}

void saver_commit(det_context *context, det_checkpoint *checkpoint)
{
    struct saver *saver = saver_of(context);

    assert(state_of(saver) == SAVER_FILLING);
    take_checkpoint(saver, checkpoint);
    post_saving(saver);
}

/* ---- of several ranks ------------------------------------------------------------ */

void saver_give_up(det_context *context, det_checkpoint *checkpoint,
                   const struct err *err)
{
    struct saver *saver = saver_of(context);

    assert(state_of(saver) == SAVER_FILLING);
    take_checkpoint(saver, checkpoint);
    keep_err(&saver->failed, err->status, err);
    snapshot_forget(&saver->room);
    set_state(saver, SAVER_PARTED);
}

bool saver_has_part(det_context *context)
{
    struct saver *saver = saver_of(context);
    bool has_part;

    if (!saver)
        return false;
    lock_take(&saver->lock);
    has_part = saver->is_part;
    lock_give(&saver->lock);
    return has_part;
}

det_distributed *saver_group(det_context *context)
{
    return saver_of(context)->group;
}

det_checkpoint *saver_part(det_context *context, const struct err **ret_failed)
{
    struct saver *saver = saver_of(context);

    *ret_failed = &saver->failed;
    return saver->checkpoint;
}

void saver_joined(det_context *context, det_status status, const struct err *err)
{
    struct saver *saver = saver_of(context);

    end_with(saver, status, err);
}

/* ---- public functions ------------------------------------------------------------ */

det_status det_checkpoint_wait(det_context *context, int64_t timeout_ms,
                               det_checkpoint_outcome *ret_outcome)
{
    det_checkpoint_outcome all = {.size = sizeof(all)};
    int64_t deadline_us = 0;
    CONTEXT_ERR(err);
    det_status st = context_check(context, &err);

    if (!st && ret_outcome && (!ret_outcome->size || ret_outcome->size > sizeof(all)))
        st = err_set(&err, DET_INVALID,
                     "the outcome of a checkpoint has a wrong size: set it to "
                     "sizeof(det_checkpoint_outcome)");
    if (st)
        return context_end(context, st, &err);
    if (timeout_ms >= 0)
        deadline_us =
            clock_mono_us(&clock_system) + MIN(timeout_ms, INT64_MAX / 2000) * 1000;
    if (saver_has_part(context))
        st = shard_wait(context, deadline_us, &err);
    else if (!saver_is_quiet(context, deadline_us))
        st = err_set(&err, DET_TIMEOUT, "the checkpoint is still being written");
    if (!st)
        st = saver_collect(context, &all, &err);
    if (ret_outcome) {
        all.size = ret_outcome->size;
        memcpy(ret_outcome, &all, ret_outcome->size);
    }
    return context_end(context, st, &err);
}

/* ---- closing and reserving ------------------------------------------------------- */

void saver_end(det_context *context, bool is_child)
{
    struct saver *saver = context->saver;

    if (!saver)
        return;
    if (!is_child) {
        (void)wait_quiet(saver, 0);
        if (state_of(saver) == SAVER_PARTED)
            checkpoint_discard(saver->checkpoint);
    }
    saver_free(saver, is_child);
    context->saver = NULL;
}

det_status det_checkpoint_reserve(det_context *context, uint64_t bytes)
{
    struct saver *saver;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);
    bool is_ours;

    if (!st)
        st = saver_need(context, &saver, &err);
    if (st)
        return context_end(context, st, &err);
    lock_take(&saver->lock);
    is_ours = saver->exec && state_of(saver) == SAVER_FREE;
    if (is_ours) {
        saver->wanted_bytes = bytes;
        saver->checkpoint = NULL;
        atomic_store_explicit(&saver->state, SAVER_BUSY, memory_order_release);
    }
    lock_give(&saver->lock);
    if (is_ours)
        lane_post(saver->lane, &saver->task);
    return DET_OK;
}
