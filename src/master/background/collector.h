/* SPDX-License-Identifier: Apache-2.0 */
/* collector.h - removal of checkpoints: decided in the background, done by agents.
 *
 *   woken, or every CHECK_US --> decide, a few trials per write --> which agent? --> CLEAN
 *                                                                                     |
 *   the agent asks for its removals, does them and reports <--------------------------+
 *   (api/reports/checkpoint_removals.c)
 *
 * The rows hold the whole state (store/checkpoint/collect.h).  A CLEAN command is only a
 * hint: it may be lost, and is repeated while there is work for that agent.  The master
 * never removes files itself, because the same path may exist on another machine.
 *
 * The agent that wrote a checkpoint removes it.  If that agent is away and the storage is
 * shared, any agent of the experiment's pool does; otherwise the removal waits.
 *
 * Threading: collector_wake(), collector_wake_soon() and collector_may() from any
 * thread; the rest on the janitor's lane. */
#ifndef MASTER_BACKGROUND_COLLECTOR_H
#define MASTER_BACKGROUND_COLLECTOR_H

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
/* There may be work.  NULL does nothing. */
void collector_wake(struct collector *collector);
/* The same within a second, for frequent events: one check serves many of them, and by
 * then the heart knows which checkpoint the trial resumes from. */
void collector_wake_soon(struct collector *collector);

/* The arguments that the store's functions need. */
struct collect_place collector_place(const struct master *master);
/* Whether this agent of this pool may remove this group. */
bool collector_may(const struct master *master, const char *agent,
                   const char *resource_pool, const struct removal_group *group);

#endif
