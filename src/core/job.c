/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - programs that train nothing: what people do to them, and how they end.
 *
 *   state               with a run that is not over       without one
 *   ACTIVE              goes on                           asks for a run
 *   STOPPING_PAUSED     asked to stop                     becomes PAUSED
 *   PAUSED              (has none)                        rests
 *   STOPPING_CANCELED   killed                            becomes CANCELED
 *
 * A job has no checkpoints: each run begins at its start.  So whoever may be paused, or
 * preempted by the scheduler, must bear to be begun anew; who does not says so
 * (`is_pausable`).  How a run ended decides, in this order (job_run_over()):
 *
 *   1. it was being killed: CANCELED, whatever its program said;
 *   2. its program failed: ERROR.  There are no restarts: nothing was kept that a
 *      second attempt could go on from;
 *   3. exit 0 that nobody asked for: COMPLETED, also while it was to pause.  But not
 *      after a kill: many programs end with 0 when they are told to;
 *   4. it left as it was asked to, was killed for the scheduler's sake, or its machine
 *      was lost: PAUSED when that is wanted, else again. */
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
    const struct place_wish wish = {
        .pool = row.resource_pool,
        .priority = row.priority,
        .slots = row.slots,
        .is_single_node = row.is_single_node,
    };
    struct pool_entry *pool = NULL;
    struct live_job *it;
    det_status st = place_find(core, &wish, &pool, err);

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

static void end(struct core *core, struct live_job *job, enum job_state state)
{
    job->row.state = state;
    job->row.end_us = core->now_us;
    core_touch(core, &job->live);
    map_remove(&core->jobs, job->row.id);
    core_bury(core, &job->live);
}

static void rest(struct core *core, struct live_job *job)
{
    job->row.state = JOB_PAUSED;
    core_touch(core, &job->live);
}

static void again(struct core *core, struct live_job *job,
                  const struct live_allocation *run)
{
    if (run->row.exit == EXIT_TRANSIENT)
        core_log(core, &job->task, NULL,
                 "%s begins again from its start: its run was lost",
                 task_title(core, &job->task));
    allocation_request(core, &job->task);
}

void job_run_over(struct core *core, struct live_job *job,
                  const struct live_allocation *run)
{
    if (job->row.state == JOB_STOPPING_CANCELED)
        end(core, job, JOB_CANCELED);
    else if (run->row.exit == EXIT_FAILED)
        end(core, job, JOB_ERROR);
    else if (run->row.exit == EXIT_CLEAN && !run->row.is_acknowledged &&
             !run->row.is_killed)
        end(core, job, JOB_COMPLETED);
    else if (job->row.state == JOB_STOPPING_PAUSED)
        rest(core, job);
    else
        again(core, job, run);
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
        return err_set(err, DET_STATE,
                       "task %s was made not to be paused; it can be killed",
                       job->task.id);
    if (job->row.state != JOB_ACTIVE) /* it is, or will be */
        return DET_OK;
    job->row.state = JOB_STOPPING_PAUSED;
    core_touch(core, &job->live);
    allocation_preempt(core, job->task.allocation, "the job was paused");
    return DET_OK;
}

/* A run that was asked to stop already does so; then the next one begins. */
static det_status unpause_job(struct core *core, struct live_job *job, struct err *err)
{
    if (job->row.state == JOB_STOPPING_CANCELED)
        return err_set(err, DET_STATE, "task %s is being killed", job->task.id);
    if (job->row.state == JOB_ACTIVE)
        return DET_OK;
    job->row.state = JOB_ACTIVE;
    core_touch(core, &job->live);
    if (!job->task.allocation)
        allocation_request(core, &job->task);
    return DET_OK;
}

static det_status kill_job(struct core *core, struct live_job *job)
{
    if (!job->task.allocation) {
        end(core, job, JOB_CANCELED);
        return DET_OK;
    }
    job->row.state = JOB_STOPPING_CANCELED;
    core_touch(core, &job->live);
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

/* Whoever changes pools ends, and begins again. */
static det_status check_may_move(const struct live_job *job,
                                 const struct pool_entry *pool, struct err *err)
{
    const struct live_allocation *run = job->task.allocation;

    if (!pool || job->row.is_pausable || !run || run->pool == pool ||
        run->row.state == ALLOCATION_PENDING)
        return DET_OK;
    return err_set(err, DET_STATE,
                   "task %s was made not to be paused; it keeps its resource pool "
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
        st = place_check_change(core, event, (uint32_t)it->row.slots,
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
