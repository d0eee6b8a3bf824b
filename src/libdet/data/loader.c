/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - the order of the items, and the workers that fetch them.
 *
 * The order.  With E batches per epoch, batch n is batch n % E of epoch n / E.  Its
 * items are a range of the epoch's permutation (base/permute.h), and a shard's part is
 * a range of those.  Everything follows from n, so there is nothing to replay and
 * nothing to store but n.
 *
 * The workers.  Batch n is made in slot n % S.  S is one more than the number of
 * batches prepared ahead, because the caller holds one.  Each slot has a work item
 * (base/thread/executor.h) on a lane that is as wide as there are workers; the lane is
 * the bounded queue.  Asking for the next batch returns the slot of the last one to the
 * lane.  If the workers keep up, the next batch is found ready with one read from
 * memory.
 *
 *   FILLING   queued or at work         the worker owns the slot
 *   AWAITED   the same, and the caller sleeps until it is ready
 *   READY     the caller owns it
 *
 * Workers may be processes instead (libdet/data/worker_processes.h): the slots are the
 * same, their columns lie in shared memory, and the worker's copy of a slot says where.
 * Threads are the rule: a function that only one thread may call gets one worker.
 * Processes are worth it only if one worker is not enough, or if the function may
 * crash.
 *
 * Seeking waits for batches that are at work, and drops the rest. */
#include "libdet/data/loader.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory/mem.h"
#include "base/permute.h"
#include "base/thread/executor.h"
#include "base/thread/shared_lock.h"
#include "det/profiler.h"
#include "libdet/data/batch_room.h"
#include "libdet/data/dataset.h"
#include "libdet/data/worker_processes.h"

enum { WORKERS_MOST = 1024, PREFETCH_MOST = 65536 };

enum slot_state { SLOT_READY, SLOT_FILLING, SLOT_AWAITED };

/* Never changes once the loader is made. */
struct plan {
    int64_t items;
    int64_t batch_size;
    int64_t epoch_batches;
    int64_t end; /* the position after the last batch */
    int64_t shard;
    int64_t shard_count;
    uint64_t seed;
    bool is_shuffled;
};

struct slot {
    struct work task;
    det_loader *loader;
    _Atomic uint32_t state;
    int64_t position;
    struct permute order; /* of `order_epoch`; -1: none yet */
    int64_t order_epoch;
    struct batch_room room;
    det_status status;
    struct err err;
};

struct det_loader {
    const det_dataset *dataset;
    det_context *context; /* its profiler counts the waits; may be NULL */
    struct plan plan;
    struct fork_mark mark;
    struct slot *slots;
    int64_t slot_count;
    int64_t slots_made;
    int64_t position;      /* the next batch to return */
    int64_t posted;        /* the first batch not yet posted to the workers */
    bool has_failed;       /* the batch at `position`: it must be made again */
    struct executor *exec; /* NULL: no workers */
    struct lane *lane;
    bool owns_exec;
    struct worker_processes *processes; /* NULL: workers are threads */
    unsigned char *columns;             /* of all slots, shared with the processes */
    size_t columns_len;
    struct err err;
};

/* ---- the order ------------------------------------------------------------------- */

/* Where the part of `shard` starts in a batch of `count`; parts differ by at most one
 * item.  Computes count * shard / shard_count without overflow. */
static int64_t part_begin(const struct plan *plan, int64_t count, int64_t shard)
{
    return count / plan->shard_count * shard +
           count % plan->shard_count * shard / plan->shard_count;
}

static void order_items(struct slot *slot, const struct plan *plan, int64_t first)
{
    int64_t *indices = slot->room.indices;
    int64_t count = slot->room.batch.count;

    if (!plan->is_shuffled) {
        for (int64_t i = 0; i < count; i++)
            indices[i] = first + i;
        return;
    }
    if (slot->order_epoch != slot->room.batch.epoch) {
        slot->order_epoch = slot->room.batch.epoch;
        permute_init(&slot->order, plan->seed, (uint64_t)slot->order_epoch,
                     (uint64_t)plan->items);
    }
    /* Signed and unsigned variants of a type may alias, and all item numbers fit into
     * both. */
    permute_run(&slot->order, (uint64_t)first, (size_t)count, (uint64_t *)indices);
    /* Without workers the same thread makes the next batch, too: prefetch its first
     * items. */
    slot->room.hints = 0;
    if (slot->loader->slot_count == 1 && plan->items - first > plan->batch_size) {
        int64_t next = first + plan->batch_size;

        slot->room.hints = (size_t)MIN(plan->items - next, (int64_t)ROOM_HINTS);
        permute_run(&slot->order, (uint64_t)next, slot->room.hints,
                    (uint64_t *)indices + count);
    }
}

/* Fills in everything about the batch except its data. */
static void lay_out(struct slot *slot)
{
    const struct plan *plan = &slot->loader->plan;
    det_batch *batch = &slot->room.batch;
    int64_t first, begin;

    batch->position = slot->position;
    batch->epoch = slot->position / plan->epoch_batches;
    batch->epoch_position = slot->position % plan->epoch_batches;
    batch->is_epoch_end = batch->epoch_position == plan->epoch_batches - 1;
    first = batch->epoch_position * plan->batch_size;
    batch->global_count = MIN(plan->batch_size, plan->items - first);
    begin = part_begin(plan, batch->global_count, plan->shard);
    batch->count = part_begin(plan, batch->global_count, plan->shard + 1) - begin;
    order_items(slot, plan, first + begin);
}

static void fill_slot(struct slot *slot)
{
    const det_dataset *dataset = slot->loader->dataset;

    lay_out(slot);
    slot->err.status = DET_OK;
    slot->err.text[0] = '\0';
    slot->status = DET_OK;
    if (!slot->room.batch.count)
        return;
    slot->status = dataset->ops->fill(dataset, &slot->room, &slot->err);
}

/* ---- workers --------------------------------------------------------------------- */

static void run_slot(struct work *task)
{
    struct slot *slot = CONTAINER_OF(task, struct slot, task);

    fill_slot(slot);
    if (atomic_exchange_explicit(&slot->state, SLOT_READY, memory_order_acq_rel) ==
        SLOT_AWAITED)
        shared_wake(&slot->state);
}

static struct slot *slot_at(det_loader *loader, int64_t position)
{
    return &loader->slots[position % loader->slot_count];
}

static void post_position(det_loader *loader, int64_t position)
{
    struct slot *slot = slot_at(loader, position);

    slot->position = position;
    if (loader->processes) {
        worker_processes_post(loader->processes, (uint32_t)(slot - loader->slots),
                              position);
        return;
    }
    atomic_store_explicit(&slot->state, SLOT_FILLING, memory_order_relaxed);
    lane_post(loader->lane, &slot->task);
}

static void post_ahead(det_loader *loader)
{
    if (loader->has_failed)
        post_position(loader, loader->position);
    loader->has_failed = false;
    while (loader->posted < loader->plan.end &&
           loader->posted - loader->position < loader->slot_count)
        post_position(loader, loader->posted++);
}

static bool is_ready(struct slot *slot)
{
    return atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_READY;
}

static void wait_for(det_loader *loader, struct slot *slot)
{
    uint32_t seen = SLOT_FILLING;

    if (is_ready(slot))
        return;
    if (executor_is_single(loader->exec)) {
        while (!is_ready(slot) && executor_pump(loader->exec))
            ;
        return;
    }
    atomic_compare_exchange_strong_explicit(&slot->state, &seen, SLOT_AWAITED,
                                            memory_order_acq_rel, memory_order_acquire);
    while (!is_ready(slot))
        shared_wait(&slot->state, SLOT_AWAITED, -1);
}

/* Takes all slots back: from here on the workers do nothing. */
static void call_back(det_loader *loader)
{
    for (int64_t at = loader->position; at < loader->posted; at++) {
        struct slot *slot = slot_at(loader, at);

        if (loader->processes)
            worker_processes_recall(loader->processes,
                                    (uint32_t)(slot - loader->slots));
        if (is_ready(slot)) /* those of processes always are */
            continue;
        if (lane_cancel(loader->lane, &slot->task))
            atomic_store_explicit(&slot->state, SLOT_READY, memory_order_relaxed);
        else
            wait_for(loader, slot);
    }
    loader->posted = loader->position;
    loader->has_failed = false;
}

/* ---- worker processes ------------------------------------------------------------ */

/* Runs in a worker, with its own copy of the slots. */
static det_status make_in_worker(void *arg, uint32_t number, int64_t position,
                                 struct err *err)
{
    det_loader *loader = arg;
    struct slot *slot = &loader->slots[number];

    slot->position = position;
    fill_slot(slot);
    return slot->status ? err_set(err, slot->status, "%s", slot->err.text) : DET_OK;
}

/* The worker has filled the columns.  The rest of the batch is computed again, which is
 * cheaper than sending it. */
static void take_from_process(det_loader *loader, struct slot *slot)
{
    unsigned char *unused;

    slot->err.status = DET_OK;
    slot->err.text[0] = '\0';
    slot->status = worker_processes_wait(loader->processes,
                                         (uint32_t)(slot - loader->slots), &slot->err);
    lay_out(slot);
    for (size_t c = 0; !slot->status && c < slot->room.batch.column_count; c++)
        slot->status = batch_room_take(&slot->room, c, 0, &unused, &slot->err);
}

static det_status share_columns(det_loader *loader, struct err *err)
{
    size_t bytes;

    if (!batch_room_bytes(&loader->slots[0].room, &bytes) ||
        __builtin_mul_overflow(bytes, (size_t)loader->slot_count, &loader->columns_len))
        return err_default(err, DET_NOMEM);
    if (!bytes)
        return DET_OK;
    loader->columns = shared_memory_new(loader->columns_len);
    if (!loader->columns)
        return err_default(err, DET_NOMEM);
    for (int64_t i = 0; i < loader->slot_count; i++) {
        loader->slots[i].room.is_run = false;
        batch_room_lend(&loader->slots[i].room, loader->columns + (size_t)i * bytes);
    }
    return DET_OK;
}

static det_status start_crew(det_loader *loader, uint32_t workers, struct err *err)
{
    struct worker_plan plan = {workers, (uint32_t)loader->slot_count, make_in_worker,
                               loader};
    det_status st;

    for (size_t c = 0; c < loader->dataset->column_count; c++)
        if (!loader->dataset->columns[c].item_bytes)
            return err_set(err, DET_INVALID,
                           "worker processes cannot make items of different lengths: "
                           "use threads, or a sequence");
    st = share_columns(loader, err);
    return st ? st : worker_processes_new(&plan, &loader->processes, err);
}

/* ---- worker threads -------------------------------------------------------------- */

static det_status start_workers(det_loader *loader, uint32_t workers,
                                struct executor *exec, struct err *err)
{
    det_status st = DET_OK;

    loader->exec = exec;
    if (!exec) {
        st = executor_threads_new(&clock_system, &loader->exec, err);
        loader->owns_exec = !st;
    }
    return st ? st : lane_new(loader->exec, "det-data", workers, &loader->lane, err);
}

/* ---- opening and freeing --------------------------------------------------------- */

static det_status check_options(const det_loader_options *options, struct err *err)
{
    int shards = MAX(options->shard_count, 1);

    if (options->batch_size <= 0)
        return err_set(err, DET_INVALID,
                       "nothing says how large a batch is: give batch_size");
    if (options->shard_count < 0 || options->shard < 0 || options->shard >= shards)
        return err_set(err, DET_INVALID, "there is no shard %d of %d", options->shard,
                       options->shard_count);
    if (options->batch_size < shards)
        return err_set(err, DET_INVALID,
                       "a batch of %" PRId64 " cannot be shared by %d shards",
                       options->batch_size, shards);
    if (options->epochs < 0)
        return err_set(err, DET_INVALID, "epochs is %" PRId64 ", which is below 0",
                       options->epochs);
    if (options->workers < 0 || options->workers > WORKERS_MOST)
        return err_set(err, DET_INVALID, "workers is %d, not 0 to %d", options->workers,
                       WORKERS_MOST);
    if (options->processes && !options->workers)
        return err_set(err, DET_INVALID,
                       "nothing says how many worker processes: give workers");
    if (options->prefetch < 0 || options->prefetch > PREFETCH_MOST)
        return err_set(err, DET_INVALID, "prefetch is %d, not 0 to %d",
                       options->prefetch, PREFETCH_MOST);
    return DET_OK;
}

static det_status make_plan(struct plan *plan, int64_t items,
                            const det_loader_options *options, struct err *err)
{
    int64_t batch_size = options->batch_size;
    bool has_short = items % batch_size != 0 && !options->drop_last;

    *plan = (struct plan){
        .items = items,
        .batch_size = batch_size,
        .epoch_batches = items / batch_size + has_short,
        .end = INT64_MAX,
        .shard = options->shard,
        .shard_count = MAX(options->shard_count, 1),
        .seed = options->seed,
        .is_shuffled = options->shuffle != 0,
    };
    if (!items)
        return err_set(err, DET_INVALID, "the data set is empty");
    if (!plan->epoch_batches)
        return err_set(err, DET_INVALID,
                       "the data set has %" PRId64 " items, too few for a batch of "
                       "%" PRId64 ", and short batches are dropped",
                       items, batch_size);
    if (options->epochs &&
        __builtin_mul_overflow(options->epochs, plan->epoch_batches, &plan->end))
        return err_set(err, DET_INVALID,
                       "%" PRId64 " epochs are too many: use 0 for no limit",
                       options->epochs);
    return DET_OK;
}

/* The largest number of items of a batch that one shard gets. */
static size_t largest_part(const struct plan *plan)
{
    int64_t whole = MIN(plan->batch_size, plan->items);

    return (size_t)(whole / plan->shard_count + (whole % plan->shard_count != 0));
}

static det_status make_slots(det_loader *loader, int64_t count, struct err *err)
{
    loader->slots = mem_array((size_t)count, sizeof(*loader->slots));
    if (!loader->slots)
        return err_default(err, DET_NOMEM);
    loader->slot_count = count;
    while (loader->slots_made < count) {
        struct slot *slot = &loader->slots[loader->slots_made++];
        det_status st;

        slot->task = (struct work)WORK_INIT(run_slot);
        slot->loader = loader;
        slot->order_epoch = -1;
        slot->room.is_run = !loader->plan.is_shuffled;
        st = batch_room_init(&slot->room, loader->dataset, largest_part(&loader->plan),
                             err);
        if (st)
            return st;
    }
    return DET_OK;
}

static det_status make_loader(det_loader *loader, const det_loader_options *options,
                              struct executor *exec, struct err *err)
{
    int64_t ahead = options->prefetch ? options->prefetch : 2 * options->workers;
    det_status st = make_plan(&loader->plan, loader->dataset->items, options, err);

    if (!st)
        st = fork_mark_init(&loader->mark, err);
    if (!st)
        st = make_slots(loader, options->workers ? ahead + 1 : 1, err);
    if (!st && options->workers && options->processes)
        st = start_crew(loader, (uint32_t)options->workers, err);
    else if (!st && options->workers)
        st = start_workers(loader, (uint32_t)options->workers, exec, err);
    return st;
}

det_status loader_open(det_dataset *dataset, const det_loader_options *options,
                       struct executor *exec, det_loader **ret_loader, struct err *err)
{
    det_loader_options copy = {0};
    det_loader *loader;
    det_status st;

    memcpy(&copy, options, MIN(options->size, sizeof(copy)));
    st = check_options(&copy, err);
    if (st)
        return st;
    loader = mem_new(det_loader);
    if (!loader)
        return err_default(err, DET_NOMEM);
    loader->dataset = dataset;
    loader->context = copy.context;
    st = make_loader(loader, &copy, exec, err);
    if (st) {
        det_loader_free(loader);
        return st;
    }
    *ret_loader = loader;
    return DET_OK;
}

det_status det_loader_new(det_dataset *dataset, const det_loader_options *options,
                          det_loader **ret_loader, char *error, size_t error_size)
{
    struct err err = {0};
    det_status st = loader_open(dataset, options, NULL, ret_loader, &err);

    return st ? data_fail(&err, error, error_size) : DET_OK;
}

static bool is_child(const det_loader *loader)
{
    return loader->mark.is_ours && !fork_mark_is_ours(&loader->mark);
}

/* A forked child has no workers.  Slots that were at work during the fork stay until
 * the child ends. */
void det_loader_free(det_loader *loader)
{
    if (!loader)
        return;
    if (!is_child(loader) || (!loader->exec && !loader->processes)) {
        if (loader->lane || loader->processes)
            call_back(loader);
        worker_processes_free(loader->processes);
        shared_memory_free(loader->columns, loader->columns_len);
        if (loader->owns_exec)
            executor_free(loader->exec);
        for (int64_t i = 0; i < loader->slots_made; i++)
            batch_room_done(&loader->slots[i].room);
        mem_free(loader->slots);
    }
    fork_mark_done(&loader->mark);
    mem_free(loader);
}

/* ---- public functions ------------------------------------------------------------ */

static det_status check_ours(det_loader *loader)
{
    if (!is_child(loader))
        return DET_OK;
    return err_set(
        &loader->err, DET_STATE,
        "this process was forked: the loader belongs to its parent; make one "
        "of your own with det_loader_new()");
}

/* Waits until the batch at `position` is made, by this thread or a worker. */
static void have_made(det_loader *loader, struct slot *slot)
{
    det_timing timing;

    det_timing_begin(loader->context, &timing);
    if (loader->exec || loader->processes)
        post_ahead(loader);
    if (loader->processes) {
        take_from_process(loader, slot);
    } else if (loader->exec) {
        wait_for(loader, slot);
    } else {
        slot->position = loader->position;
        fill_slot(slot);
    }
    det_timing_end(loader->context, &timing, DET_TIMING_DATA);
}

det_status det_loader_next(det_loader *loader, const det_batch **ret_batch)
{
    struct slot *slot;
    det_status st = check_ours(loader);

    if (st)
        return st;
    if (loader->position == loader->plan.end) {
        *ret_batch = NULL;
        return DET_OK;
    }
    slot = slot_at(loader, loader->position);
    have_made(loader, slot);
    if (slot->status) {
        loader->has_failed = true;
        loader->err = slot->err;
        return slot->status;
    }
    loader->position++;
    *ret_batch = &slot->room.batch;
    return DET_OK;
}

det_status det_loader_seek(det_loader *loader, int64_t position)
{
    det_status st = check_ours(loader);

    if (st)
        return st;
    if (position < 0 || position > loader->plan.end)
        return err_set(&loader->err, DET_INVALID,
                       "there is no batch %" PRId64 ": the last epoch ends at %" PRId64,
                       position, loader->plan.end);
    if (position == loader->position)
        return DET_OK;
    if (loader->exec || loader->processes)
        call_back(loader);
    loader->position = position;
    loader->posted = position;
    loader->has_failed = false;
    return DET_OK;
}

int64_t det_loader_position(const det_loader *loader)
{
    return loader->position;
}

int64_t det_loader_epoch_batches(const det_loader *loader)
{
    return loader->plan.epoch_batches;
}

const char *det_loader_error(const det_loader *loader)
{
    return loader->err.text;
}
