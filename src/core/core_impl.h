/* SPDX-License-Identifier: Apache-2.0 */
/* core_impl.h - how the heart is divided; for the files of this room only.
 *
 *   core.c        the doors: new, free, apply, time; which handler takes which event
 *   out.c         what an event writes: effects, rows, lines in task logs; the dead
 *   experiment.c  submission, actions, place in the queue
 *   continue.c    an experiment that had ended goes on
 *   unmanaged.c   experiments that somebody else runs: numbers, and nothing more
 *   search.c      the searcher's inputs and what it wants; an experiment's end
 *   trial.c       what a trial does next: ask, stop, restart, end; its reports
 *   job.c         programs that train nothing: submitted, paused, killed, over
 *   task.c        what both are for their runs (task.h)
 *   place.c       which pool they wait in
 *   allocation.c  one run on its shares: assigned, ready, preempted, killed, over
 *   agent.c       who offers slots: joined, silent, lost, disabled
 *   plan.c        asks the pools and carries their plans out; ports; container ids
 *   restore.c     the same heart from its rows
 *   check.c dump.c   looking in
 *   live.h        what all of them work on
 *
 * An event is handled in three strokes, without recursion between rooms of the heart:
 *
 *   1. the handler refuses, or changes states; what ends queues an input for its
 *      searcher;
 *   2. settle: the queued inputs are fed one by one (what a searcher wants may queue
 *      more), then experiments without trials end, then pools that changed are asked
 *      for a plan, until nothing is left to do;
 *   3. flush: every row that was touched is written once.
 *
 * The only failures after a handler has accepted are those that end this heart (memory,
 * or a bug): `status` remembers the first, and the rest of the stroke does no harm. */
#ifndef CORE_CORE_IMPL_H
#define CORE_CORE_IMPL_H

#include "core/core.h"
#include "core/live.h"
#include "core/task.h"

struct experiment_config;

/* ---- core.c ---------------------------------------------------------------------- */

/* The first failure that ends this heart is kept. */
void core_fail(struct core *core, det_status status, const struct err *err);
void core_fail_memory(struct core *core);
struct pool_entry *core_find_pool(const struct core *core, const char *name);
void timer_set(struct core *core, struct timer *timer, int64_t at_us); /* 0: off */

/* ---- out.c ----------------------------------------------------------------------- */

/* The row of `live` is written at the end of this event. */
void core_touch(struct core *core, struct live *live);
/* It is over: out of every map, freed when nothing borrows from it any more. */
void core_bury(struct core *core, struct live *live);
void core_free_dead(struct core *core);
void live_free(struct live *live);
/* NULL when memory is out. */
struct core_effect *core_emit(struct core *core, enum core_effect_kind kind);
void core_emit_share(struct core *core, enum core_effect_kind kind,
                     const struct live_share *share);
/* A line in the task's log. */
void core_log(struct core *core, const struct live_task *task,
              const struct live_allocation *allocation, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void core_flush(struct core *core);

/* ---- experiment.c ---------------------------------------------------------------- */

det_status experiment_submitted(struct core *core, const struct core_event *event,
                                struct err *err);
det_status experiment_acted(struct core *core, const struct core_event *event,
                            struct err *err);
det_status experiment_resources(struct core *core, const struct core_event *event,
                                struct err *err);
/* An experiment with its searcher, in no map yet.  Copies, but for row->resource_pool,
 * which is a pool's own name. */
det_status experiment_new(struct core *core, const struct experiment *row,
                          const struct experiment_config *config,
                          struct live_experiment **ret_experiment, struct err *err);
int experiment_compare_trials(const struct tree_node *a, const struct tree_node *b);
/* The live trial of that number, or NULL. */
struct live_trial *experiment_trial(const struct live_experiment *experiment,
                                    uint32_t number);

/* As place_find(), for an experiment of `config` in the pool `name`. */
det_status experiment_find_pool(const struct core *core, const char *name,
                                const struct experiment_config *config,
                                struct pool_entry **ret_pool, struct err *err);

/* ---- place.c --------------------------------------------------------------------- */

/* Where a task would like to run. */
struct place_wish {
    const char *pool; /* NULL or "": the default */
    int64_t priority; /* 0: the pool's default */
    int64_t slots;
    bool is_single_node;
};
/* DET_INVALID: what no pool would take, or this one does not. */
det_status place_find(const struct core *core, const struct place_wish *wish,
                      struct pool_entry **ret_pool, struct err *err);
/* Whether a task of that shape may have what EVENT_..._RESOURCES says; *ret_pool stays
 * when it names none. */
det_status place_check_change(const struct core *core, const struct core_event *event,
                              uint32_t slots, bool is_single_node,
                              struct pool_entry **ret_pool, struct err *err);

/* ---- job.c ----------------------------------------------------------------------- */

/* A job of `row` in the map; copies.  NULL: out of memory. */
struct live_job *job_new(struct core *core, const struct job *row);
void job_run_over(struct core *core, struct live_job *job,
                  const struct live_allocation *run);
det_status job_submitted(struct core *core, const struct core_event *event,
                         struct err *err);
det_status job_acted(struct core *core, const struct core_event *event,
                     struct err *err);
det_status job_resources(struct core *core, const struct core_event *event,
                         struct err *err);

/* ---- continue.c ------------------------------------------------------------------ */

det_status experiment_continued(struct core *core, const struct core_event *event,
                                struct err *err);
/* True: the trial that the searcher asks for was there before, and was taken care of.
 */
bool trial_continue(struct core *core, struct live_experiment *experiment,
                    const struct search_op *op);
/* When all inputs are fed: true when the search of a continued experiment needs more.
 */
bool continuing_queue_more(struct core *core);

/* ---- unmanaged.c ----------------------------------------------------------------- */

det_status unmanaged_experiment(struct core *core, const struct core_event *event,
                                struct err *err);
det_status unmanaged_trial(struct core *core, const struct core_event *event,
                           struct err *err);

/* ---- search.c -------------------------------------------------------------------- */

/* Looked at when the inputs are fed: it may be over. */
void experiment_unsettle(struct core *core, struct live_experiment *experiment);
void search_queue(struct core *core, struct live_experiment *experiment,
                  const struct search_input *input);
/* Feeds all queued inputs and carries out what the searchers want. */
void search_settle(struct core *core);
/* At restore: the same input again, without carrying anything out. */
det_status search_replay(struct core *core, struct live_experiment *experiment,
                         const struct search_input *input, struct err *err);
/* Moves the experiment, and its trials with it; nothing if it may not. */
void experiment_move(struct core *core, struct live_experiment *experiment,
                     enum experiment_state to);
/* How far a search may get ahead of its snapshot: grows with the number of its trials,
 * since so does a snapshot. */
bool search_wants_snapshot(const struct core *core,
                           const struct live_experiment *experiment);

/* ---- trial.c --------------------------------------------------------------------- */

/* A trial of `row`; copies.  In its experiment and in the map.  NULL: out of memory. */
struct live_trial *trial_new(struct core *core, struct live_experiment *experiment,
                             const struct trial *row);
void trial_create(struct core *core, struct live_experiment *experiment,
                  const struct search_op *op);
/* A more severe state is taken, another ignored; then the trial does what it says. */
void trial_move(struct core *core, struct live_trial *trial, enum trial_state to);
/* Its allocation is over; by task_run_over(). */
void trial_run_over(struct core *core, struct live_trial *trial,
                    const struct live_allocation *run);
/* What its searcher hears of how it ended. */
enum search_exit trial_search_exit(const struct trial *row);
det_status trial_kill(struct core *core, const struct core_event *event,
                      struct err *err);
det_status trial_validated(struct core *core, const struct core_event *event,
                           struct err *err);
det_status trial_progress(struct core *core, const struct core_event *event,
                          struct err *err);
det_status trial_checkpointed(struct core *core, const struct core_event *event,
                              struct err *err);
det_status trial_early_exit(struct core *core, const struct core_event *event,
                            struct err *err);
det_status trial_log_policy(struct core *core, const struct core_event *event,
                            struct err *err);

/* ---- allocation.c ---------------------------------------------------------------- */

/* In the maps, not in the pool; copies.  NULL: out of memory. */
struct live_allocation *allocation_new(struct core *core, struct live_task *task,
                                       const struct allocation *row);
/* The task's next run waits in its pool. */
void allocation_request(struct core *core, struct live_task *task);
/* The task wants another place in the queue, or another pool; NULL: it has no run. */
void allocation_replace(struct core *core, struct live_allocation *allocation);
/* It waits in its pool, as its task is now. */
void allocation_wait(struct core *core, struct live_allocation *allocation);
void allocation_fill_request(const struct live_allocation *allocation,
                             struct pool_request *ret_request);
/* Gracefully: it is asked to stop, and killed at its deadline; at once when it is not
 * ready; it is simply over when it waits. */
void allocation_preempt(struct core *core, struct live_allocation *allocation,
                        const char *reason);
void allocation_kill(struct core *core, struct live_allocation *allocation,
                     const char *reason);
/* It is killed at `at_us` at the latest. */
void allocation_set_deadline(struct core *core, struct live_allocation *allocation,
                             int64_t at_us);
/* The same distance to a clock that was moved; no later than orders given now. */
void allocation_move_deadline(struct core *core, struct live_allocation *allocation,
                              int64_t by_us);
void allocation_cap_deadline(struct core *core, struct live_allocation *allocation);
void allocation_deadline_came(struct core *core, struct live_allocation *allocation);
void share_exited(struct core *core, struct live_share *share, enum exit_kind kind,
                  int64_t code, const char *reason);
/* Its agent is gone and the slots with it; the allocation keeps the others. */
void share_detach(struct core *core, struct live_share *share);
int share_compare(const struct tree_node *a, const struct tree_node *b);
/* Tells the pool which slots the allocation holds, at restore or after a detachment. */
det_status allocation_hold(struct core *core, struct live_allocation *allocation,
                           struct err *err);
det_status allocation_share_state(struct core *core, const struct core_event *event,
                                  struct err *err);
det_status allocation_share_exited(struct core *core, const struct core_event *event,
                                   struct err *err);
det_status allocation_acknowledged(struct core *core, const struct core_event *event,
                                   struct err *err);
det_status allocation_preempt_requested(struct core *core,
                                        const struct core_event *event,
                                        struct err *err);
det_status allocation_run_kill(struct core *core, const struct core_event *event,
                               struct err *err);

/* ---- agent.c --------------------------------------------------------------------- */

/* In the maps and in its pool, all slots open; copies.  NULL: core->status says why. */
struct live_agent *agent_add(struct core *core, const struct agent *row,
                             struct pool_entry *pool);
/* Opens and closes its slots in the pool, as its flags say. */
void agent_sync_slots(struct core *core, struct live_agent *agent);
void agent_set_timer(struct core *core, struct live_agent *agent);
/* Its tasks are transient failures; it leaves. */
void agent_is_lost(struct core *core, struct live_agent *agent);
det_status agent_joined(struct core *core, const struct core_event *event,
                        struct err *err);
det_status agent_heard(struct core *core, const struct core_event *event,
                       struct err *err); /* SILENT, HEARD */
det_status agent_tasks_heard(struct core *core, const struct core_event *event,
                             struct err *err);
/* Of one that is silent: it begins now, or `by_us` later than it did. */
void agent_renew_silence(struct core *core, struct live_agent *agent);
void agent_move_silence(struct core *core, struct live_agent *agent, int64_t by_us);
det_status agent_enabled(struct core *core, const struct core_event *event,
                         struct err *err);
det_status agent_slot_enabled(struct core *core, const struct core_event *event,
                              struct err *err);

/* ---- plan.c ---------------------------------------------------------------------- */

/* True when a plan was carried out. */
bool plan_dirty_pools(struct core *core);
/* Makes the shares of an allocation; copies.  NULL `slots` text of a row is made. */
bool allocation_set_shares(struct core *core, struct live_allocation *allocation,
                           const struct share *row, const struct pool_share *share,
                           uint32_t count);
void ports_take(struct core *core, int64_t ports[4]);
void port_mark(struct core *core, int64_t port);
void ports_free(struct core *core, const int64_t ports[4]);

/* ---- lists, in the order of ids, in an arena; for dump and check ----------------- */

/* NULL only when out of memory. */
void **core_sorted(const struct core *core, enum live_kind kind, struct arena *mem,
                   size_t *ret_count);

#endif
