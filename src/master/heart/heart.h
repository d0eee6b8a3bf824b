/* SPDX-License-Identifier: Apache-2.0 */
/* heart.h - runs the core: events in batches, one commit per batch, then the actions.
 *
 *   heart_submit() --> queue --+            the heart's lane                writer lane
 *                              v
 *   journal ------------> run_batch(): core_apply() per event
 *                              |  effects
 *                              +------------------------------> effects_write(), COMMIT
 *                                                                       |
 *                         batch_committed() <---------------------------+
 *                              |  change_notes_effects()  notes for open pages
 *                              |  effects_carry_out()     commands to agents, wake-ups
 *                              |  item->done()            the callers are answered
 *                              v
 *                         the next batch
 *
 * One batch is in flight; events that arrive meanwhile form the next one.  If a commit
 * fails, the heart discards the core, restores it from the rows, and answers the batch's
 * callers with DET_BUSY.  If memory is out for one event, only that one is refused: the
 * batch is split (split_batch()).  Reports that are also events come through the journal: the code
 * that commits one calls heart_journal(), and the next batch reads on from the last entry
 * that the core has applied.
 *
 * Facts without a caller (an agent fell silent, a deadline passed) survive a failed commit:
 * they go first into the next batch.  After a commit every caller gets its answer.
 * Actions for which memory was short are derived again from the rows.
 *
 * The core itself (src/core) decides; effects.c holds all that follows from a decision.
 *
 * Threading: heart_submit(), heart_journal() and heart_waiting() from any thread;
 * everything else runs on the lane. */
#ifndef MASTER_HEART_HEART_H
#define MASTER_HEART_HEART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"

struct heart;
struct heart_item;
struct master;

typedef void heart_done_fn(struct heart_item *item);

/* One event and its caller.  The caller keeps the item until done() was called, which
 * happens on the heart lane after the commit. */
struct heart_item {
    struct core_event event;
    void *event_owner;   /* for done() */
    heart_done_fn *done; /* NULL: the heart frees the item with mem_free() */
    struct heart_item *next;
    det_status status;
    int64_t id;         /* of the record that the event created */
    bool exceeds_slots; /* see struct core_out */
    struct err err;
};

/* Restores the core from the master's store, carries out the actions that follow, and reads
 * the journal.  Borrows `master`, whose other parts must exist. */
det_status heart_new(struct master *master, struct heart **ret_heart, struct err *err);
/* Only after the executor has stopped. */
void heart_free(struct heart *heart);

void heart_submit(struct heart *heart, struct heart_item *item);
void heart_journal(struct heart *heart);
/* Events in its queue. */
uint32_t heart_waiting(struct heart *heart);

#endif
