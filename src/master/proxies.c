/* SPDX-License-Identifier: Apache-2.0 */
#include "master/proxies.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/task.h"

/* Who was quiet for so long has ended, or will. */
#define FORGET_US INT64_C(86400000000)

struct proxy_use {
    int64_t allocation_id;
    int64_t last_us; /* monotonic */
    int64_t open;
};

struct proxies {
    struct lock lock; /* guards what follows */
    struct map uses;  /* by allocation */
};

det_status proxies_new(struct proxies **ret_proxies, struct err *err)
{
    struct proxies *proxies = mem_new(struct proxies);
    det_status st = proxies ? lock_init(&proxies->lock, err) : DET_NOMEM;

    if (st) {
        mem_free(proxies);
        return err_default(err, st);
    }
    *ret_proxies = proxies;
    return DET_OK;
}

void proxies_free(struct proxies *proxies)
{
    struct proxy_use *use;

    if (!proxies)
        return;
    for (size_t i = 0; (use = map_next(&proxies->uses, &i));)
        mem_free(use);
    map_done(&proxies->uses);
    lock_done(&proxies->lock);
    mem_free(proxies);
}

/* With the lock held: one of those that have long ended goes. */
static void forget_one(struct proxies *proxies, int64_t now_us)
{
    struct proxy_use *use;

    for (size_t i = 0; (use = map_next(&proxies->uses, &i));) {
        if (use->open || now_us - use->last_us < FORGET_US)
            continue;
        map_remove(&proxies->uses, use->allocation_id);
        mem_free(use);
        return;
    }
}

/* With the lock held; NULL: no memory. */
static struct proxy_use *use_of(struct proxies *proxies, int64_t allocation_id,
                                int64_t now_us)
{
    struct proxy_use *use = map_get(&proxies->uses, allocation_id);

    if (use)
        return use;
    forget_one(proxies, now_us);
    use = mem_new(struct proxy_use);
    if (!use)
        return NULL;
    *use = (struct proxy_use){.allocation_id = allocation_id, .last_us = now_us};
    if (map_put(&proxies->uses, allocation_id, use))
        return use;
    mem_free(use);
    return NULL;
}

void proxies_begin(struct proxies *proxies, int64_t allocation_id, int64_t now_us)
{
    struct proxy_use *use;

    lock_take(&proxies->lock);
    use = use_of(proxies, allocation_id, now_us);
    if (use)
        use->open++;
    lock_give(&proxies->lock);
}

void proxies_end(struct proxies *proxies, int64_t allocation_id, int64_t now_us)
{
    struct proxy_use *use;

    lock_take(&proxies->lock);
    use = map_get(&proxies->uses, allocation_id);
    if (use && use->open) {
        use->open--;
        use->last_us = now_us;
    }
    lock_give(&proxies->lock);
}

int64_t proxies_idle_us(struct proxies *proxies, int64_t allocation_id, int64_t now_us)
{
    const struct proxy_use *use;
    int64_t idle_us = 0;

    lock_take(&proxies->lock);
    use = use_of(proxies, allocation_id, now_us);
    if (use && !use->open)
        idle_us = now_us - use->last_us;
    lock_give(&proxies->lock);
    return idle_us;
}
