/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/waits.h"

#include <assert.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

enum { BUCKETS = 1024 };

struct waits {
    struct lock lock; /* guards everything below */
    struct waiter *bucket[BUCKETS];
    uint64_t
        wakes[BUCKETS]; /* counts all keys of a bucket; spurious checks are harmless */
    uint32_t parked;
    bool is_closed;
};

static size_t bucket_of(const char *key)
{
    return hash_bytes(key, strlen(key)) % BUCKETS;
}

det_status waits_new(struct waits **ret_waits, struct err *err)
{
    struct waits *waits = mem_new(struct waits);
    det_status st;

    if (!waits)
        return err_default(err, DET_NOMEM);
    st = lock_init(&waits->lock, err);
    if (st) {
        mem_free(waits);
        return st;
    }
    *ret_waits = waits;
    return DET_OK;
}

void waits_free(struct waits *waits)
{
    if (!waits)
        return;
    lock_done(&waits->lock);
    mem_free(waits);
}

uint64_t waits_mark(struct waits *waits, const char *key)
{
    uint64_t mark;

    lock_take(&waits->lock);
    mark = waits->wakes[bucket_of(key)];
    lock_give(&waits->lock);
    return mark;
}

bool waits_park(struct waits *waits, const char *key, struct waiter *waiter,
                uint64_t mark)
{
    size_t at = bucket_of(key);
    bool is_current;

    assert(!waiter->link);
    lock_take(&waits->lock);
    is_current = waits->wakes[at] == mark && !waits->is_closed;
    if (is_current) {
        waiter->key = key;
        waiter->link = &waits->bucket[at];
        waiter->next = waits->bucket[at];
        if (waiter->next)
            waiter->next->link = &waiter->next;
        waits->bucket[at] = waiter;
        waits->parked++;
        if (waiter->parked)
            waiter->parked(waiter);
    }
    lock_give(&waits->lock);
    return is_current;
}

static void unlink_waiter(struct waits *waits, struct waiter *waiter)
{
    waits->parked--;
    *waiter->link = waiter->next;
    if (waiter->next)
        waiter->next->link = waiter->link;
    waiter->link = NULL;
}

bool waits_leave(struct waits *waits, struct waiter *waiter)
{
    bool was_parked;

    lock_take(&waits->lock);
    was_parked = waiter->link != NULL;
    if (was_parked)
        unlink_waiter(waits, waiter);
    lock_give(&waits->lock);
    return was_parked;
}

/* With the lock held; `key` NULL: all keys. */
static void wake_bucket(struct waits *waits, size_t at, const char *key)
{
    waits->wakes[at]++;
    for (struct waiter *w = waits->bucket[at]; w;) {
        struct waiter *next = w->next;

        if (!key || !strcmp(w->key, key)) {
            unlink_waiter(waits, w);
            w->wake(w);
        }
        w = next;
    }
}

void waits_wake(struct waits *waits, const char *key)
{
    lock_take(&waits->lock);
    wake_bucket(waits, bucket_of(key), key);
    lock_give(&waits->lock);
}

void waits_close(struct waits *waits)
{
    lock_take(&waits->lock);
    waits->is_closed = true;
    for (size_t at = 0; at < BUCKETS; at++)
        wake_bucket(waits, at, NULL);
    lock_give(&waits->lock);
}

void waits_wake_one(struct waits *waits, struct waiter *waiter)
{
    lock_take(&waits->lock);
    if (waiter->link) {
        unlink_waiter(waits, waiter);
        waiter->wake(waiter);
    }
    lock_give(&waits->lock);
}

uint32_t waits_count(struct waits *waits)
{
    uint32_t parked;

    lock_take(&waits->lock);
    parked = waits->parked;
    lock_give(&waits->lock);
    return parked;
}

const char *waits_key_task(struct arena *mem, const char *task_id)
{
    return arena_printf(mem, "task %s", task_id);
}

const char *waits_key_allocation(struct arena *mem, const char *name)
{
    return arena_printf(mem, "allocation %s", name);
}
