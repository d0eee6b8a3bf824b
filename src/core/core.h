/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the core: every rule of the platform as one deterministic state machine.
 *
 *   core_apply(core, event, now) -> effects
 *
 * An *event* is something that happened (core/event.h); an *effect* is something to be
 * done (core/effect.h).  The core has no clock, no threads, no files and no sockets.
 * The same events at the same times give the same effects on every machine.
 *
 * The heart (master/heart/heart.c) runs it: it gathers events, applies them one by one,
 * commits the rows of all their effects in one transaction, and only then carries out
 * the other effects, the actions.  If the commit fails, the heart frees the core and
 * builds it again from the rows with core_restore().  Actions can be derived from rows:
 * core_restore() gives them again, and carrying out an action twice does no harm
 * (actions are keyed by allocation).
 *
 * Only live objects are in memory: a trial or an experiment that ended leaves the core
 * as soon as its row says so.
 *
 * Invariants, checked by core_check() (core_check.h) after every event in debug builds
 * and tests:
 *   1. a slot is held by at most one allocation; an allocation holds all its slots or
 *      none;
 *   2. a live trial or job has at most one allocation that is not over; the trial's or
 *      job's run_id is the number of that run;
 *   3. an active trial of an active experiment, or an active job, has such an
 *      allocation; a paused or ended one has none, or one that is being stopped;
 *   4. a terminal state is left only when a user continues the experiment; an
 *      experiment ends only after all its trials;
 *   5. counts (live trials, restarts, ports in use) agree with a recount.
 *
 * Threading: none.  One caller at a time. */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/effect.h"
#include "core/event.h"
#include "model/records.h"
#include "sched/pool.h"

struct core;

struct core_pool {
    const char *name;
    struct pool_config config;
    uint32_t default_priority;       /* 42 */
    int64_t agent_reconnect_wait_us; /* 25 s */
};

struct core_config {
    const struct core_pool *pool; /* at least one */
    uint32_t pool_count;
    const char *default_compute_pool;
    const char *default_aux_pool;
    bool needs_pool_name;          /* a task must name its pool: there is no default */
    const int64_t *reserved_ports; /* which tasks do not get; read by core_new() */
    size_t reserved_port_count;
    int64_t preemption_timeout_us; /* 3600 s */
    bool refuses_unfittable;       /* launch_error: more slots than the pool has is an
                                      error, not a warning */
    uint64_t entropy;              /* of this cluster; container ids derive from it */
    uint32_t snapshot_every;       /* inputs between two searcher snapshots; 256 */
    bool checks_invariants; /* core_check() after every event: debug builds, tests */
};
/* NULL: there is no such pool. */
const struct core_pool *core_config_pool(const struct core_config *config,
                                         const char *name);

/* Copies what `config` points to. */
det_status core_new(const struct core_config *config, struct core **ret_core,
                    struct err *err);
void core_free(struct core *core);

/* Applies one event as of `now_us` (wall clock; may jump) and appends its effects to
 * `out`.  Effects borrow from the core and from the events until the next core_apply()
 * with an empty `out`.  So a batch of events gathers in one `out`; set its `count` to 0
 * when the effects are carried out.
 *
 * A refusal (DET_NOT_FOUND, DET_STATE, DET_INVALID, DET_UNSUPPORTED) changes nothing
 * and adds no effects.  A late message of a task or agent, about an object that is over,
 * is not refused: it returns DET_OK and changes nothing.  A journal event is never
 * refused; one that was applied before is ignored.
 *
 * DET_NOMEM may leave the core half changed, and DET_CORRUPT means that an entry of the
 * journal is missing or that an invariant is broken.  After both: free it and restore.
 */
det_status core_apply(struct core *core, const struct core_event *event, int64_t now_us,
                      struct core_out *out, struct err *err);

/* When to send EVENT_TICK: the earliest deadline of a preemption, a kill, a silent agent,
 * a run that waits (retry.c) or a trial with invalid hyperparameters.  INT64_MAX: never.  This is the only timer. */
int64_t core_next_deadline_us(const struct core *core);

/* The last journal entry that was applied. */
int64_t core_journal_seq(const struct core *core);

#endif
