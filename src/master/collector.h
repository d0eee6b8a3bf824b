/* SPDX-License-Identifier: Apache-2.0 */
/* collector.h - checkpoints that may go: decided in the background, removed by agents.
 *
 *   woken, or every LOOK --> decide, a few trials a write --> whose work is it? -->
 * CLEAN
 *                                                                                    |
 *   the agent asks what to remove, removes it and reports (api/removals.c) <---------+
 *
 * The rows say everything (store/collect.h): a CLEAN command is only a nudge, may be
 * lost and is repeated as long as there is something for that agent.  The master
 * removes no file itself: what it would find at that path may be another machine's.
 *
 * Whose work it is: the agent that wrote the checkpoint.  When that one is not there,
 * and the storage is shared, any agent of the experiment's pool; else it waits.
 *
 * Threading: collector_wake(), _wake_soon() and _may() from any thread; the rest on the
 * janitor's lane. */
#ifndef MASTER_COLLECTOR_H
#define MASTER_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct collect_place;
struct collector;
struct master;
struct removal_group;

det_status collector_new(struct master *master, struct collector **ret_collector,
                         struct err *err);
void collector_free(struct collector *collector);
/* There may be something to decide or to remove.  NULL does nothing. */
void collector_wake(struct collector *collector);
/* The same within a second, for what comes in numbers: one look serves many, and by
 * then the heart knows which checkpoint the trial resumes from. */
void collector_wake_soon(struct collector *collector);

/* What the store wants to know. */
struct collect_place collector_place(const struct master *master);
/* Whether that agent, of that pool, removes these. */
bool collector_may(const struct master *master, const char *agent,
                   const char *resource_pool, const struct removal_group *group);

#endif
