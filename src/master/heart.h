/* SPDX-License-Identifier: Apache-2.0 */
/* heart.h - the core on its lane: events in batches, a commit each, then the deeds.
 *
 *   queue --take all--> core_apply ... core_apply --one job--> store: COMMIT
 *     ^                                                            |
 *     +---- the next batch <---- deeds, answers <---- committed ---+
 *
 * One batch is in flight; what arrives meanwhile forms the next.  When the commit
 * fails, the core is thrown away and restored from the rows, and the batch's callers
 * get DET_BUSY.  Reports of tasks that are events come through the journal: whoever
 * committed one calls heart_journal(), and the next batch reads on from the last entry
 * applied.
 *
 * Threading: heart_submit() and heart_journal() from any thread; the rest on the lane.
 */
#ifndef MASTER_HEART_H
#define MASTER_HEART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"

struct heart;
struct heart_item;
struct store;

typedef void heart_done_fn(struct heart_item *item);

/* One event and who waits for it; its owner keeps it until done() was called (on the
 * heart lane, after the commit). */
struct heart_item {
    struct core_event event;
    void *event_owner;   /* the waiter's own */
    heart_done_fn *done; /* NULL: nobody waits; then `item` is freed with mem_free() */
    struct heart_item *next;
    det_status status;
    int64_t id;         /* what the event made */
    bool exceeds_slots; /* see struct core_out */
    struct err err;
};

/* What the heart asks of the world; called on the heart lane, after the commit.  Each
 * may be called twice for the same thing.  False: no memory for it; it is derived again
 * from the rows a little later. */
struct heart_deeds {
    bool (*start)(void *arg, const struct share *share);
    bool (*kill)(void *arg, const struct share *share);
    /* `task` is "<allocation>/<rank>", as the agent named it */
    bool (*kill_stray)(void *arg, const char *agent, const char *task);
    void (*agent_lost)(void *arg, const char *agent);
    void (*preempt)(void *arg, int64_t allocation_id);
    void (*over)(void *arg, int64_t allocation_id);
    void (*experiment_over)(void *arg, int64_t experiment_id);
    /* a task's log or state moved: whoever follows it looks again */
    void (*task_moved)(void *arg, const char *task_id);
    /* these rows were committed: whoever shows them looks again */
    void (*told)(void *arg, const struct core_effect *effects, uint32_t count);
    void (*fatal)(void *arg, const char *sentence);
    void *arg;
};

struct heart_config {
    struct exec *exec;
    struct store *store;
    struct core_config core; /* borrowed */
    struct heart_deeds deeds;
};

/* Restores the core from the store, carries out what follows from it and reads the
 * journal. */
det_status heart_new(const struct heart_config *config, struct heart **ret_heart,
                     struct err *err);
/* After the lanes stopped. */
void heart_free(struct heart *heart);

void heart_submit(struct heart *heart, struct heart_item *item);
void heart_journal(struct heart *heart);

#endif
