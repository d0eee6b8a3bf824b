/* SPDX-License-Identifier: Apache-2.0 */
/* core_impl.h - the parts of the core; for the files of this room only.
 *
 *   core.c           new, free, apply, time; which handler takes which event
 *   effect_output.c  the output of an event: effects, rows, lines of logs; ended objects
 *   experiment.c     submission, actions, place in the queue
 *   continue.c       an ended experiment goes on
 *   unmanaged.c      experiments that the master only records: they only get a number
 *   search.c         a searcher's inputs and operations; the end of an experiment
 *   trial.c          what a trial does next: ask, stop, restart, end; its reports
 *   job.c            generic jobs: submitted, paused, killed, over
 *   task.c           the part that trials and jobs share (task.h)
 *   retry.c          how long a task waits before it runs again
 *   pool_choice.c    the pool in which a task waits
 *   allocation.c     one run on its shares: assigned, ready, preempted, killed, over
 *   agent.c          agents: joined, silent, lost, disabled
 *   plan.c           asks the pools and carries their plans out; ports; container ids
 *   core_restore.c   a core from its rows
 *   core_check.c     the invariants
 *   live_objects.h   the objects that all of them work on
 *
 * An event is handled in three steps, without recursion between these files:
 *
 *   1. the handler refuses the event, or changes states; a trial that ends queues an
 *      input for its searcher;
 *   2. settle: feed the queued inputs one by one (an operation of a searcher may queue
 *      more), end experiments without trials, ask changed pools for a plan, until
 *      nothing is left to do;
 *   3. flush: write every touched row once.
 *
 * After a handler has accepted, only failures that end this core are possible (out of
 * memory, or a bug).  `status` keeps the first; the rest of the step does no harm. */
#ifndef CORE_CORE_IMPL_H
#define CORE_CORE_IMPL_H

#include "core/core.h"
#include "core/live_objects.h"
#include "core/task.h"

struct experiment_config;
struct json;

/* ---- core.c ---------------------------------------------------------------------- */

/* Records a failure that ends this core; the first one is kept. */
void core_fail(struct core *core, det_status status, const struct err *err);
void core_fail_memory(struct core *core);
struct pool_entry *core_find_pool(const struct core *core, const char *name);
void timer_set(struct core *core, struct timer *timer, int64_t at_us); /* 0: off */

/* ---- effect_output.c ------------------------------------------------------------- */

/* The row of `live` is written at the end of this event. */
void core_touch(struct core *core, struct live *live);
/* The object is over and out of every map; it is freed when no effect borrows from it. */
void core_bury(struct core *core, struct live *live);
void core_free_dead(struct core *core);
void live_free(struct live *live);
/* NULL: out of memory. */
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
/* Whether a new one fits; see experiment.c. */
det_status experiment_check_room(const struct core *core,
                                 const struct live_experiment *experiment,
                                 struct err *err);
int experiment_compare_trials(const struct tree_node *a, const struct tree_node *b);
/* The live trial of that number, or NULL. */
struct live_trial *experiment_trial(const struct live_experiment *experiment,
                                    uint32_t number);

/* As pool_choice_find(), for an experiment of `config` in the pool `name`. */
det_status experiment_find_pool(const struct core *core, const char *name,
                                const struct experiment_config *config,
                                struct pool_entry **ret_pool, struct err *err);

/* ---- pool_choice.c --------------------------------------------------------------- */

/* What a task asks for. */
struct pool_wish {
    const char *pool; /* NULL or "": the default */
    int64_t priority; /* 0: the pool's default */
    int64_t slots;
    bool is_single_node;
};
/* DET_INVALID if no pool takes such a task, or this one does not. */
det_status pool_choice_find(const struct core *core, const struct pool_wish *wish,
                            struct pool_entry **ret_pool, struct err *err);
/* Whether a task of that shape may have what EVENT_..._RESOURCES asks for.  *ret_pool
 * is unchanged if the event names no pool. */
det_status pool_choice_check_change(const struct core *core,
                                    const struct core_event *event, uint32_t slots,
                                    bool is_single_node, struct pool_entry **ret_pool,
                                    struct err *err);

/* ---- retry.c --------------------------------------------------------------------- */

/* What the end of a run means for the next one. */
struct retry {
    int64_t quick_ends; /* runs in a row that ended too soon */
    int64_t wait_us;    /* the next one waits so long; 0: not at all */
    const char
        *reason; /* why, a sentence in scratch memory; NULL if it does not wait */
    int64_t avoided_agent;
};
struct retry retry_after(struct core *core, const struct live_allocation *run);

/* ---- job.c ----------------------------------------------------------------------- */

/* Adds a job of `row` to the map; copies.  NULL: out of memory. */
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
/* True: the trial that the searcher asks for existed before and was handled. */
bool trial_continue(struct core *core, struct live_experiment *experiment,
                    const struct search_op *op);
/* Called when all inputs are fed.  True: it queued more for a continued experiment. */
bool continuing_queue_more(struct core *core);

/* ---- unmanaged.c ----------------------------------------------------------------- */

det_status unmanaged_experiment(struct core *core, const struct core_event *event,
                                struct err *err);
det_status unmanaged_trial(struct core *core, const struct core_event *event,
                           struct err *err);

/* ---- search.c -------------------------------------------------------------------- */

/* The experiment may be over: it is checked when the inputs are fed. */
void experiment_unsettle(struct core *core, struct live_experiment *experiment);
void search_queue(struct core *core, struct live_experiment *experiment,
                  const struct search_input *input);
/* Feeds all queued inputs and carries out the searchers' operations. */
void search_settle(struct core *core);
/* At restore: the same input again, without carrying anything out. */
det_status search_replay(struct core *core, struct live_experiment *experiment,
                         const struct search_input *input, struct err *err);
/* Moves the experiment and its trials; does nothing if the move is not allowed. */
void experiment_move(struct core *core, struct live_experiment *experiment,
                     enum experiment_state to);
/* Whether enough inputs came since the last snapshot.  The limit grows with the number
 * of trials, because the size of a snapshot does. */
bool search_wants_snapshot(const struct core *core,
                           const struct live_experiment *experiment);

/* ---- trial.c --------------------------------------------------------------------- */

/* Adds a trial of `row` to its experiment and to the map; copies.  NULL: out of memory.
 */
struct live_trial *trial_new(struct core *core, struct live_experiment *experiment,
                             const struct trial *row);
void trial_create(struct core *core, struct live_experiment *experiment,
                  const struct search_op *op);
/* Moves the trial if the state machine allows it, and acts on the new state. */
void trial_move(struct core *core, struct live_trial *trial, enum trial_state to);
/* Its allocation is over; called by task_run_over(). */
void trial_run_over(struct core *core, struct live_trial *trial,
                    const struct live_allocation *run);
/* How it ended, as its searcher is told. */
enum search_exit trial_search_exit(const struct trial *row);
det_status trial_kill(struct core *core, const struct core_event *event,
                      struct err *err);
/* Says in its log if its first validation lacks the searcher's metric.  NULL: it ended. */
void trial_check_metric(struct core *core, struct live_trial *trial,
                        const struct json *metrics);
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

/* Adds it to the maps, not to the pool; copies.  NULL: out of memory. */
struct live_allocation *allocation_new(struct core *core, struct live_task *task,
                                       const struct allocation *row);
/* The task's next run waits in its pool. */
void allocation_request(struct core *core, struct live_task *task);
/* The same after `run`, which is over; it may wait outside its pool first (retry.c). */
void allocation_retry(struct core *core, struct live_task *task,
                      const struct live_allocation *run);
/* The program does what it should: an end that comes soon is not one that came too
 * soon. */
void allocation_progressed(struct core *core, struct live_allocation *allocation);
/* The task's priority or pool changed; `allocation` may be NULL. */
void allocation_replace(struct core *core, struct live_allocation *allocation);
/* Queues it in its pool with the present needs of its task. */
void allocation_wait(struct core *core, struct live_allocation *allocation);
void allocation_fill_request(const struct live_allocation *allocation,
                             struct pool_request *ret_request);
/* Asks it to stop, and kills it at its deadline.  One that is not ready is killed at
 * once; one that waits is over at once. */
void allocation_preempt(struct core *core, struct live_allocation *allocation,
                        const char *reason);
void allocation_kill(struct core *core, struct live_allocation *allocation,
                     const char *reason);
/* It is killed at `at_us` at the latest. */
void allocation_set_deadline(struct core *core, struct live_allocation *allocation,
                             int64_t at_us);
/* The clock was set: the deadline keeps its distance. */
void allocation_move_deadline(struct core *core, struct live_allocation *allocation,
                              int64_t by_us);
/* Moves a deadline that is later than one given now would be. */
void allocation_cap_deadline(struct core *core, struct live_allocation *allocation);
void allocation_deadline_came(struct core *core, struct live_allocation *allocation);
void share_exited(struct core *core, struct live_share *share, enum exit_kind kind,
                  int64_t code, const char *reason);
/* The share's agent and slots are gone; the allocation keeps its other shares. */
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

/* Adds it to the maps and to its pool, all slots open; copies.  NULL: core->status says
 * why. */
struct live_agent *agent_add(struct core *core, const struct agent *row,
                             struct pool_entry *pool);
/* Opens and closes its slots in the pool according to its flags. */
void agent_sync_slots(struct core *core, struct live_agent *agent);
void agent_set_timer(struct core *core, struct live_agent *agent);
/* Ends its tasks as transient failures and removes it. */
void agent_is_lost(struct core *core, struct live_agent *agent);
det_status agent_joined(struct core *core, const struct core_event *event,
                        struct err *err);
det_status agent_heard(struct core *core, const struct core_event *event,
                       struct err *err); /* SILENT, HEARD */
det_status agent_tasks_heard(struct core *core, const struct core_event *event,
                             struct err *err);
/* For a silent agent: its silence begins now, or `by_us` later than before. */
void agent_renew_silence(struct core *core, struct live_agent *agent);
void agent_move_silence(struct core *core, struct live_agent *agent, int64_t by_us);
det_status agent_enabled(struct core *core, const struct core_event *event,
                         struct err *err);
det_status agent_slot_enabled(struct core *core, const struct core_event *event,
                              struct err *err);

/* ---- plan.c ---------------------------------------------------------------------- */

/* True when a plan was carried out. */
bool plan_dirty_pools(struct core *core);
/* Makes the shares of an allocation; copies.  `row` NULL: makes the rows, too.  False:
 * out of memory. */
bool allocation_set_shares(struct core *core, struct live_allocation *allocation,
                           const struct share *row, const struct pool_share *share,
                           uint32_t count);
void ports_take(struct core *core, int64_t ports[4]);
void port_mark(struct core *core, int64_t port);
void port_reserve(struct core *core, int64_t port);
void ports_free(struct core *core, const int64_t ports[4]);

#endif
