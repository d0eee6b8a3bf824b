/* SPDX-License-Identifier: Apache-2.0 */
/* pacer.c - see pacer.h.
 *
 * One work item with a due time.  wake_listeners() first posts it again, far in the future,
 * then collects the notes (changes_beat()), then wakes all listeners.  A note before
 * changes_beat() is seen by these listeners, even if our post replaced its own.  A later
 * note posts again with an earlier due time. */
#include "master/changes/pacer.h"

#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "master/changes/changes.h"
#include "master/master_impl.h"
#include "master/request/waits.h"

enum {
    SOON_US = 150000,
    EACH_US = 100, /* more per listener */
    THINGS_MOST = 65536,
    ALONE_US = 60 * 1000000, /* without listeners; a reconnect takes less */
};

struct pacer {
    struct master *master;
    struct work task;
    struct lock lock; /* guards the two below; taken before that of `struct changes` */
    bool is_running;
    int64_t heard_us; /* when there was a listener last */
};

static void noted(void *arg)
{
    struct pacer *pacer = arg;
    struct master *master = pacer->master;
    int64_t wait_us = SOON_US + (int64_t)EACH_US * changes_listeners(master->changes);

    lane_post_at(master->workers, &pacer->task, master_mono_us(master) + wait_us);
}

/* Stops if nobody has listened for ALONE_US. */
static bool stop_if_alone(struct pacer *pacer, int64_t now_us)
{
    bool rests;

    lock_take(&pacer->lock);
    if (changes_listeners(pacer->master->changes))
        pacer->heard_us = now_us;
    rests =
        now_us - pacer->heard_us >= ALONE_US && changes_rest(pacer->master->changes);
    if (rests)
        pacer->is_running = false;
    lock_give(&pacer->lock);
    return rests;
}

static void wake_listeners(struct work *work)
{
    struct pacer *pacer = CONTAINER_OF(work, struct pacer, task);
    struct master *master = pacer->master;
    int64_t now_us = master_mono_us(master);

    if (stop_if_alone(pacer, now_us))
        return;
    lane_post_at(master->workers, work, now_us + PACER_IDLE_US);
    (void)changes_beat(master->changes, now_us);
    waits_wake(master->waits, PACER_KEY);
}

bool pacer_join(struct pacer *pacer, uint64_t since, uint64_t *ret_cursor)
{
    struct master *master = pacer->master;
    int64_t now_us = master_mono_us(master);
    bool is_whole;

    lock_take(&pacer->lock);
    pacer->heard_us = now_us;
    if (!pacer->is_running)
        lane_post_at(master->workers, &pacer->task, now_us + PACER_IDLE_US);
    pacer->is_running = true;
    is_whole = changes_join(master->changes, since, ret_cursor);
    lock_give(&pacer->lock);
    return is_whole;
}

void pacer_leave(struct pacer *pacer)
{
    changes_leave(pacer->master->changes);
}

det_status pacer_new(struct master *master, struct pacer **ret_pacer, struct err *err)
{
    struct pacer *pacer = mem_new(struct pacer);
    struct changes_config config = {.most = THINGS_MOST, .noted = noted, .arg = pacer};
    det_status st;

    if (!pacer)
        return err_default(err, DET_NOMEM);
    pacer->master = master;
    pacer->task = (struct work)WORK_INIT(wake_listeners);
    st = lock_init(&pacer->lock, err);
    if (st) {
        mem_free(pacer);
        return st;
    }
    st = changes_new(&config, &master->changes, err);
    if (st) {
        pacer_free(pacer);
        return st;
    }
    *ret_pacer = pacer;
    return DET_OK;
}

void pacer_free(struct pacer *pacer)
{
    if (!pacer)
        return;
    changes_free(pacer->master->changes);
    pacer->master->changes = NULL;
    lock_done(&pacer->lock);
    mem_free(pacer);
}
