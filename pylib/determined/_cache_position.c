/* SPDX-License-Identifier: Apache-2.0 */
#include "_cache_position.h"

#include "base/memory/mem.h"
#include "base/thread/lock.h"

struct position {
    struct lock lock; /* of: */
    struct position_state state;
};

det_status position_new(struct position **ret_position, struct err *err)
{
    struct position *position = mem_new(struct position);
    det_status st =
        position ? lock_init(&position->lock, err) : err_default(err, DET_NOMEM);

    if (st) {
        mem_free(position);
        return st;
    }
    *ret_position = position;
    return DET_OK;
}

void position_free(struct position *position)
{
    if (!position)
        return;
    lock_done(&position->lock);
    mem_free(position);
}

void position_set(struct position *position, int64_t epoch, int64_t first)
{
    lock_take(&position->lock);
    position->state.epoch = epoch;
    position->state.first = first;
    position->state.changes++;
    lock_give(&position->lock);
}

struct position_state position_get(struct position *position)
{
    struct position_state state;

    lock_take(&position->lock);
    state = position->state;
    lock_give(&position->lock);
    return state;
}

bool position_move_on(struct position *position, int64_t epoch, int64_t changes)
{
    bool counts;

    lock_take(&position->lock);
    counts = position->state.changes == changes;
    if (counts)
        position->state = (struct position_state){epoch + 1, 0, changes + 1};
    lock_give(&position->lock);
    return counts;
}

/* ---- for ctypes ------------------------------------------------------------------ */

/* Returns NULL without memory. */
DET_API struct position *det_cache_position_new(void);
DET_API void det_cache_position_set(struct position *position, int64_t epoch,
                                    int64_t first);
DET_API int64_t det_cache_position_epoch(struct position *position);

struct position *det_cache_position_new(void)
{
    struct position *position = NULL;

    return position_new(&position, NULL) ? NULL : position;
}

void det_cache_position_set(struct position *position, int64_t epoch, int64_t first)
{
    position_set(position, epoch, first);
}

int64_t det_cache_position_epoch(struct position *position)
{
    return position_get(position).epoch;
}
