/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - generic jobs: what users do to them, and how they end.
 *
 *   state               with a run that is not over       without one
 *   ACTIVE              goes on                           asks for a run
 *   STOPPING_PAUSED     asked to stop                     becomes PAUSED
 *   PAUSED              (has none)                        rests
 *   STOPPING_CANCELED   killed                            becomes CANCELED
 *
 * A job has no checkpoints: each run begins at the start.  So a job that may be paused,
 * or preempted by the scheduler, must tolerate a restart; its `is_pausable` says whether
 * it does.  When a run ended, these rules apply in this order (job_run_over()):
 *
 *   1. the job was being killed: CANCELED, whatever the exit code;
 *   2. its program failed: ERROR.  There are no restarts, because a second run could not
 *      resume;
 *   3. exit 0 without being asked to stop: COMPLETED, also if it was to be paused.  But
 *      not after a kill: many programs exit with 0 when they get a signal;
 *   4. it stopped as asked, was killed for the scheduler, or its machine was lost or
 *      lacked resources: PAUSED if a user asked for that, else it runs again, after a
 *      wait if the run ended too soon (retry.c). */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/core_impl.h"

/* ---- making ---------------------------------------------------------------------- */

struct live_job *job_new(struct core *core, const struct job *row)
{
    size_t size = strlen(row->task_id) + 1;
    struct live_job *it = mem_alloc(sizeof(*it) + size);

    if (!it)
        return NULL;
    it->live.kind = LIVE_JOB;
    it->row = *row;
    it->row.task_id = memcpy(it + 1, row->task_id, size);
    it->task.kind = LIVE_JOB;
    it->task.id = it->row.task_id;
    if (!map_put(&core->jobs, row->id, it)) {
        live_free(&it->live);
        return NULL;
    }
    return it;
}

det_status job_submitted(struct core *core, const struct core_event *event,
                         struct err *err)
{
    struct job row = *event->job_submitted.row;
    const struct pool_wish wish = {
        .pool = row.resource_pool,
        .priority = row.priority,
        .slots = row.slots,
        .is_single_node = row.is_single_node,
    };
    struct pool_entry *pool = NULL;
    struct live_job *it;
    det_status st = pool_choice_find(core, &wish, &pool, err);

    if (st)
        return st;
    row.id = core->counters.next_job;
    row.state = JOB_ACTIVE;
    row.resource_pool = pool->name;
    row.priority = row.priority ? row.priority : pool->default_priority;
    row.submitted_us = row.start_us = core->now_us;
    row.end_us = row.run_id = 0;
    it = job_new(core, &row);
    if (!it)
        return err_default(err, DET_NOMEM);
    it->live.is_new = true;
    core->counters.next_job++;
    core->has_counted = true;
    core->out->id = row.id;
    core_touch(core, &it->live);
    allocation_request(core, &it->task);
    return DET_OK;
}

/* ---- ending ---------------------------------------------------------------------- */

static void move_job(struct core *core, struct live_job *job, enum job_state to)
{
    assert(fsm_may(&job_fsm, job->row.state, to));
    job->row.state = to;
    core_touch(core, &job->live);
}

static void end_job(struct core *core, struct live_job *job, enum job_state state)
{
    assert(job_is_terminal(state) && !job->task.allocation);
    move_job(core, job, state);
    job->row.end_us = core->now_us;
    map_remove(&core->jobs, job->row.id);
    core_bury(core, &job->live);
}

static void request_next_run(struct core *core, struct live_job *job,
                             const struct live_allocation *run)
{
    if (run->row.exit == EXIT_TRANSIENT)
        core_log(core, &job->task, NULL,
                 "%s begins again from its start: its run was lost",
                 task_title(core, &job->task));
    allocation_retry(core, &job->task, run);
}

void job_run_over(struct core *core, struct live_job *job,
                  const struct live_allocation *run)
{
    if (job->row.state == JOB_STOPPING_CANCELED)
        end_job(core, job, JOB_CANCELED);
    else if (run->row.exit == EXIT_FAILED)
        end_job(core, job, JOB_ERROR);
    else if (run->row.exit == EXIT_CLEAN && !run->row.is_acknowledged &&
             !run->row.is_killed)
        end_job(core, job, JOB_COMPLETED);
    else if (job->row.state == JOB_STOPPING_PAUSED)
        move_job(core, job, JOB_PAUSED);
    else
        request_next_run(core, job, run);
}

/* ---- actions --------------------------------------------------------------------- */

static det_status find_live(const struct core *core, int64_t id,
                            struct live_job **ret_job, struct err *err)
{
    struct live_job *it = map_get(&core->jobs, id);

    if (!it && id > 0 && id < core->counters.next_job)
        return err_set(err, DET_STATE, "job %" PRId64 " has ended", id);
    if (!it)
        return err_set(err, DET_NOT_FOUND, "no job %" PRId64, id);
    *ret_job = it;
    return DET_OK;
}

static det_status pause_job(struct core *core, struct live_job *job, struct err *err)
{
    if (job->row.state == JOB_STOPPING_CANCELED)
        return err_set(err, DET_STATE, "task %s is being killed", job->task.id);
    if (!job->row.is_pausable)
        return err_set(err, DET_STATE, "task %s cannot be paused; kill it instead",
                       job->task.id);
    if (job->row.state != JOB_ACTIVE) /* it is paused, or will be */
        return DET_OK;
    move_job(core, job, JOB_STOPPING_PAUSED);
    allocation_preempt(core, job->task.allocation, "the job was paused");
    return DET_OK;
}

/* A run that was already asked to stop still stops; then the next one begins. */
static det_status unpause_job(struct core *core, struct live_job *job, struct err *err)
{
    if (job->row.state == JOB_STOPPING_CANCELED)
        return err_set(err, DET_STATE, "task %s is being killed", job->task.id);
    if (job->row.state == JOB_ACTIVE)
        return DET_OK;
    move_job(core, job, JOB_ACTIVE);
    if (!job->task.allocation)
        allocation_request(core, &job->task);
    return DET_OK;
}

static det_status kill_job(struct core *core, struct live_job *job)
{
    if (!job->task.allocation) {
        end_job(core, job, JOB_CANCELED);
        return DET_OK;
    }
    move_job(core, job, JOB_STOPPING_CANCELED);
    allocation_kill(core, job->task.allocation, "the job was killed");
    return DET_OK;
}

det_status job_acted(struct core *core, const struct core_event *event, struct err *err)
{
    struct live_job *it = NULL;
    det_status st = find_live(core, event->job_action.job_id, &it, err);

    if (st)
        return st;
    switch (event->job_action.action) {
    case ACTION_PAUSE:
        return pause_job(core, it, err);
    case ACTION_ACTIVATE:
        return unpause_job(core, it, err);
    case ACTION_KILL:
        return kill_job(core, it);
    case ACTION_CANCEL:
        break;
    }
    return err_set(err, DET_INVALID, "no action %d for a job",
                   (int)event->job_action.action);
}

/* To change pools, a run ends and begins again in the other pool. */
static det_status check_may_move(const struct live_job *job,
                                 const struct pool_entry *pool, struct err *err)
{
    const struct live_allocation *run = job->task.allocation;

    if (!pool || job->row.is_pausable || !run || run->pool == pool ||
        run->row.state == ALLOCATION_PENDING)
        return DET_OK;
    return err_set(err, DET_STATE,
                   "task %s cannot be paused, so it keeps its resource pool "
                   "while it runs",
                   job->task.id);
}

det_status job_resources(struct core *core, const struct core_event *event,
                         struct err *err)
{
    struct live_job *it = NULL;
    struct pool_entry *pool = NULL;
    det_status st = find_live(core, event->resources.job_id, &it, err);

    if (!st)
        st = pool_choice_check_change(core, event, (uint32_t)it->row.slots,
                                      it->row.is_single_node, &pool, err);
    if (!st)
        st = check_may_move(it, pool, err);
    if (st)
        return st;
    if (event->resources.priority)
        it->row.priority = event->resources.priority;
    if (event->resources.weight > 0)
        it->row.weight = event->resources.weight;
    if (pool)
        it->row.resource_pool = pool->name;
    core_touch(core, &it->live);
    allocation_replace(core, it->task.allocation);
    return DET_OK;
}
