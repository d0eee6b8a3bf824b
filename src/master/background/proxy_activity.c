/* SPDX-License-Identifier: Apache-2.0 */
#include "master/background/proxy_activity.h"

#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

/* A program that is idle for a day has ended, or soon will. */
#define FORGET_US INT64_C(86400000000)

struct proxy_use {
    int64_t allocation_id;
    int64_t last_us; /* monotonic */
    int64_t open;
};

struct proxy_activity {
    struct lock lock; /* guards what follows */
    struct map uses;  /* by allocation */
};

det_status proxy_activity_new(struct proxy_activity **ret_activity, struct err *err)
{
    struct proxy_activity *activity = mem_new(struct proxy_activity);
    det_status st = activity ? lock_init(&activity->lock, err) : DET_NOMEM;

    if (st) {
        mem_free(activity);
        return err_default(err, st);
    }
    *ret_activity = activity;
    return DET_OK;
}

void proxy_activity_free(struct proxy_activity *activity)
{
    struct proxy_use *use;

    if (!activity)
        return;
    for (size_t i = 0; (use = map_next(&activity->uses, &i));)
        mem_free(use);
    map_done(&activity->uses);
    lock_done(&activity->lock);
    mem_free(activity);
}

/* With the lock held: removes one entry that was idle for FORGET_US. */
static void forget_one(struct proxy_activity *activity, int64_t now_us)
{
    struct proxy_use *use;

    for (size_t i = 0; (use = map_next(&activity->uses, &i));) {
        if (use->open || now_us - use->last_us < FORGET_US)
            continue;
        map_remove(&activity->uses, use->allocation_id);
        mem_free(use);
        return;
    }
}

/* With the lock held; NULL: no memory. */
static struct proxy_use *use_of(struct proxy_activity *activity, int64_t allocation_id,
                                int64_t now_us)
{
    struct proxy_use *use = map_get(&activity->uses, allocation_id);

    if (use)
        return use;
    forget_one(activity, now_us);
    use = mem_new(struct proxy_use);
    if (!use)
        return NULL;
    *use = (struct proxy_use){.allocation_id = allocation_id, .last_us = now_us};
    if (map_put(&activity->uses, allocation_id, use))
        return use;
    mem_free(use);
    return NULL;
}

void proxy_activity_begin(struct proxy_activity *activity, int64_t allocation_id,
                          int64_t now_us)
{
    struct proxy_use *use;

    lock_take(&activity->lock);
    use = use_of(activity, allocation_id, now_us);
    if (use)
        use->open++;
    lock_give(&activity->lock);
}

void proxy_activity_end(struct proxy_activity *activity, int64_t allocation_id,
                        int64_t now_us)
{
    struct proxy_use *use;

    lock_take(&activity->lock);
    use = map_get(&activity->uses, allocation_id);
    if (use && use->open) {
        use->open--;
        use->last_us = now_us;
    }
    lock_give(&activity->lock);
}

int64_t proxy_activity_idle_us(struct proxy_activity *activity, int64_t allocation_id,
                               int64_t now_us)
{
    const struct proxy_use *use;
    int64_t idle_us = 0;

    lock_take(&activity->lock);
    use = use_of(activity, allocation_id, now_us);
    if (use && !use->open)
        idle_us = now_us - use->last_us;
    lock_give(&activity->lock);
    return idle_us;
}
