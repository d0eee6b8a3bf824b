/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the heart: every rule of the platform as one deterministic state machine.
 *
 *   core_apply(core, event, now) -> effects
 *
 * An *event* is something that happened (core/event.h); an *effect* is something to be
 * done (core/effect.h).  The heart has no clock, no threads, no files and no sockets;
 * the same events at the same times give the same effects on every machine.
 *
 * The shell around it (master/heart.c) gathers events, applies them one by one, commits
 * the rows of all their effects in one transaction, and only then carries out the rest.
 * If that commit fails, the heart is thrown away and built again from the rows by
 * core_restore().  What is not a row can be derived from rows: core_restore() gives
 * those effects again, and carrying one out twice does no harm (they are keyed by
 * allocation).
 *
 * What is alive is in memory, what is over is not: a trial that reached its end and an
 * experiment that did leave the heart as soon as their rows say so.
 *
 * Invariants, checked by core_check():
 *   1. a slot is held by at most one allocation; a gang holds all its slots or none;
 *   2. a live trial, or job, has at most one allocation that is not over, and it is the
 * run whose number it carries;
 *   3. an active trial of an active experiment, or an active job, has such an
 * allocation; a paused or ended one has none, or one that is on its way out;
 *   4. a terminal state is left only when somebody continues the experiment; an
 * experiment ends only after all its trials;
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

struct buf;
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
    int64_t preemption_timeout_us; /* 3600 s */
    bool refuses_unfittable;       /* launch_error: more slots than the pool has is an
                                      error, not a warning */
    uint64_t entropy;              /* of this cluster; container ids derive from it */
    uint32_t snapshot_every;       /* inputs between two searcher snapshots; 256 */
};

/* Copies what `config` points to. */
det_status core_new(const struct core_config *config, struct core **ret_core,
                    struct err *err);
void core_free(struct core *core);

/* Applies one event as of `now_us` (wall clock; may jump).  Effects are appended to
 * `out`; they borrow from the heart and from the events until the next core_apply()
 * that is given an empty `out`: a batch gathers in one `out`, whose `count` is then set
 * back.
 *
 * A refusal (DET_NOT_FOUND, DET_STATE, DET_INVALID, DET_UNSUPPORTED) changes nothing
 * and adds no effects.  Messages of tasks and agents about what is over already are no
 * refusals: they are DET_OK and change nothing.  A journal event is never refused; one
 * that was applied before is ignored.
 *
 * DET_NOMEM may leave the heart half changed: throw it away and restore.  So do for
 * DET_CORRUPT: an entry of the journal is missing, or the heart found itself broken. */
det_status core_apply(struct core *core, const struct core_event *event, int64_t now_us,
                      struct core_out *out, struct err *err);

/* The rows of everything that is alive, as the store has them: non-terminal
 * experiments, trials and jobs, allocations that are not over with their shares,
 * agents, searcher snapshots and the inputs since, counters.  Order: as listed, each by
 * id. */
struct core_rows {
    const struct experiment *experiment;
    uint32_t experiments;
    const struct trial *trial;
    uint32_t trials;
    const struct job *job;
    uint32_t jobs;
    const struct allocation *allocation;
    uint32_t allocations;
    const struct share *share;
    uint32_t shares;
    const struct agent *agent;
    uint32_t agents;
    const struct search_snapshot *snapshot;
    uint32_t snapshots;
    const struct search_input *input;
    uint32_t inputs;
    struct core_counters counters;
};

/* A heart that equals the one whose rows these are (core_dump() gives the same text),
 * and the effects that are not rows, to be carried out again: START, KILL and PREEMPT
 * of what is alive.  (What was over has nobody left who waits for it; EXPERIMENT_OVER
 * is for the shell to look up: ended experiments whose checkpoints were not collected
 * yet.)  Copies what it needs.  DET_INVALID for rows of a pool that is not configured
 * any more, DET_CORRUPT for rows that do not fit together. */
det_status core_restore(const struct core_config *config, const struct core_rows *rows,
                        int64_t now_us, struct core **ret_core, struct core_out *out,
                        struct err *err);

/* When the next thing happens by itself (a preemption's deadline, an agent's grace, an
 * invalid trial's last seconds): send EVENT_TICK then.  INT64_MAX: never.  There is no
 * other timer. */
int64_t core_next_deadline_us(const struct core *core);

/* The last journal entry that was applied. */
int64_t core_journal_seq(const struct core *core);

/* ---- looking in, for the shell and for tests ------------------------------------- */

/* Borrowed until the next core_apply(); NULL when it is not alive.  The heart does not
 * keep an experiment's two configurations, and agents blocked or slots disabled are not
 * kept as text: those fields are NULL here. */
const struct experiment *core_experiment(const struct core *core, int64_t id);
const struct trial *core_trial(const struct core *core, int64_t id);
const struct job *core_job(const struct core *core, int64_t id);
const struct allocation *core_allocation(const struct core *core, int64_t id);
const struct allocation *core_allocation_named(const struct core *core,
                                               const char *name);
const struct agent *core_agent(const struct core *core, const char *name);

/* Everything the heart knows, as text, in a fixed order: equal hearts, equal text. */
void core_dump(const struct core *core, struct buf *out);
/* DET_OK, or DET_CORRUPT with the invariant that is broken.  O(everything). */
det_status core_check(const struct core *core, struct err *err);

#endif
