/* SPDX-License-Identifier: Apache-2.0 */
/* allocation.c - one run of a task, on the agents assigned to it.
 *
 *   PENDING ---> ASSIGNED ---> PULLING ---> STARTING ---> RUNNING (all shares: ready)
 *      |            |             |            |             |
 *      |            +-------------+--- kill ---+--- kill, or preempt (gracefully)
 *      |                          v
 *      |                     TERMINATING -- all shares exited --+
 *      +---------- over at once -----------------------------> TERMINATED
 *
 * A run whose predecessors ended too soon first waits outside its pool (row.retry_us;
 * see retry.c).  An order to stop has a deadline (row.preempt_deadline_us).  At the deadline a
 * preempted allocation is killed, a kill is repeated, and an allocation whose trial
 * refused its hyperparameters is killed.
 *
 * The first cause decides how an allocation ended.  A share that fails or is lost, while
 * no kill was ordered, ends the other shares and decides the exit of the allocation.
 * After a kill the allocation counts as killed, whatever the shares report, unless all
 * of them finished. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/core_impl.h"
#include "data/time.h"

static void set_state(struct live_allocation *allocation, enum allocation_state to)
{
    assert(fsm_may(&allocation_fsm, allocation->row.state, to));
    allocation->row.state = to;
}

/* ---- making ---------------------------------------------------------------------- */

struct live_allocation *allocation_new(struct core *core, struct live_task *task,
                                       const struct allocation *row)
{
    size_t name_size = strlen(row->name) + 1;
    struct live_allocation *it = mem_alloc(sizeof(*it) + name_size);

    assert(!task->allocation);
    if (!it)
        return NULL;
    it->live.kind = LIVE_ALLOCATION;
    it->task = task;
    it->row = *row;
    it->row.task_id = task->id;
    it->row.name = memcpy(it + 1, row->name, name_size);
    it->exit_reason = mem_strdup(row->exit_reason);
    it->row.exit_reason = it->exit_reason;
    it->wait_reason = mem_strdup(row->wait_reason);
    it->row.wait_reason = it->wait_reason;
    it->pool = core_find_pool(core, row->resource_pool);
    it->row.resource_pool = it->pool->name;
    it->timer.kind = LIVE_ALLOCATION;
    it->timer.id = row->id;
    if ((row->exit_reason && !it->exit_reason) ||
        (row->wait_reason && !it->wait_reason) ||
        !map_put(&core->allocations, row->id, it)) {
        live_free(&it->live);
        return NULL;
    }
    if (!smap_put(&core->allocation_names, it->row.name, it)) {
        map_remove(&core->allocations, row->id);
        live_free(&it->live);
        return NULL;
    }
    task->allocation = it;
    return it;
}

void allocation_fill_request(const struct live_allocation *allocation,
                             struct pool_request *ret_request)
{
    const struct live_task *task = allocation->task;
    struct task_need need = task_need(task);

    *ret_request = (struct pool_request){
        .allocation = allocation->row.id,
        .slots = (uint32_t)allocation->row.slots,
        .priority = need.priority,
        .position = need.position,
        .is_preemptible = need.is_preemptible,
        .is_single_node = need.is_single_node,
        .prefers_single_node = need.prefers_single_node,
        .blocked = task->blocked.at,
        .blocked_count = (uint32_t)task->blocked.count,
        .avoided = allocation->row.avoided_agent,
        .group = need.group,
    };
}

void allocation_wait(struct core *core, struct live_allocation *allocation)
{
    struct pool_request request;
    struct err err = {0};

    timer_set(core, &allocation->timer, allocation->row.retry_us);
    if (allocation->row.retry_us)
        return;
    pool_remove(allocation->pool->pool, allocation->row.id);
    allocation_fill_request(allocation, &request);
    core_fail(core, pool_add(allocation->pool->pool, &request, &err), &err);
    allocation->pool->is_dirty = true;
}

/* A run in a pool that is not the task's any more ends; the next one waits in the right
 * pool. */
void allocation_replace(struct core *core, struct live_allocation *allocation)
{
    struct task_need need;
    struct err err = {0};
    det_status st = DET_OK;

    if (!allocation)
        return;
    need = task_need(allocation->task);
    if (!allocation->row.retry_us)
        st = pool_set_priority(allocation->pool->pool, allocation->row.id,
                               need.priority, &err);
    if (!st && !allocation->row.retry_us)
        st = pool_set_group(allocation->pool->pool, allocation->row.id, &need.group,
                            &err);
    core_fail(core, st, &err);
    allocation->pool->is_dirty = true;
    if (strcmp(allocation->pool->name, need.pool))
        allocation_preempt(core, allocation, "its resource pool changed");
}

static uint32_t enabled_slots(const struct live_agent *agent)
{
    uint32_t count = 0;

    for (int64_t i = 0; agent->row.is_enabled && i < agent->row.slots; i++)
        count += !agent->is_slot_off[i];
    return count;
}

/* Whether the enabled slots of the pool would be enough if nothing else ran.  Silent
 * agents count: they come back by themselves. */
static bool has_enabled_room(const struct core *core,
                             const struct live_allocation *allocation,
                             const struct task_need *need)
{
    const struct live_agent *agent;
    uint64_t slots = 0;

    for (size_t i = 0; (agent = map_next(&core->agents, &i));) {
        uint32_t own = agent->pool == allocation->pool ? enabled_slots(agent) : 0;

        if (agent->pool != allocation->pool || !agent->row.is_enabled)
            continue;
        slots = need->is_single_node ? MAX(slots, own) : slots + own;
        if (slots >= need->slots)
            return true;
    }
    return false;
}

/* Tells the owner why the task waits, if no slot can take it now. */
static void log_if_stuck(struct core *core, struct live_allocation *allocation)
{
    const struct task_need need = task_need(allocation->task);

    if (has_enabled_room(core, allocation, &need)) {
        if (pool_waits_for_one_agent(allocation->pool->pool, allocation->row.id))
            core_log(core, allocation->task, allocation,
                     "%s waits until one agent of pool '%s' has %" PRIu32
                     " free slots; with resources.is_single_node: false it would also "
                     "use slots of several agents",
                     task_title(core, allocation->task), allocation->pool->name,
                     need.slots);
        return;
    }
    if (need.slots > 1)
        core_log(core, allocation->task, allocation,
                 "%s waits: pool '%s' has fewer than %" PRIu32 " enabled slots%s",
                 task_title(core, allocation->task), allocation->pool->name, need.slots,
                 need.is_single_node ? " on one agent" : "");
    else
        core_log(core, allocation->task, allocation,
                 "%s waits: there is no enabled %s in pool '%s'",
                 task_title(core, allocation->task), need.slots ? "slot" : "agent",
                 allocation->pool->name);
}

/* Tells the owner why the task waits before it even asks for slots. */
static void log_retry(struct core *core, struct live_allocation *allocation,
                      const struct retry *retry)
{
    char until[TIME_TEXT];

    time_format(allocation->row.retry_us, until);
    core_log(core, allocation->task, allocation, "%s runs again in %.3g s, at %s: %s",
             task_title(core, allocation->task), (double)retry->wait_us / 1e6, until,
             retry->reason ? retry->reason : "");
}

static void request_run(struct core *core, struct live_task *task,
                        const struct retry *retry)
{
    const struct task_need need = task_need(task);
    int64_t run_id = MAX(task_run_id(task) + 1, core->counters.first_run);
    struct allocation row = {
        .id = core->counters.next_allocation,
        .name = arena_printf(&core->scratch, "%s.%" PRId64, task->id, run_id),
        .run_id = run_id,
        .state = ALLOCATION_PENDING,
        .resource_pool = need.pool,
        .slots = need.slots,
        .request_us = core->now_us,
        .quick_ends = retry->quick_ends,
        .retry_us = retry->wait_us ? core->now_us + retry->wait_us : 0,
        .wait_reason = retry->reason,
        .avoided_agent = retry->avoided_agent,
    };
    struct live_allocation *it;

    task_begin_run(core, task, run_id, &row);
    it = row.name ? allocation_new(core, task, &row) : NULL;
    if (!it) {
        core_fail_memory(core);
        return;
    }
    core->counters.next_allocation++;
    core->has_counted = true;
    core_touch(core, &it->live);
    allocation_wait(core, it);
    core_log(core, task, it, "Scheduling %s (id: %s)", task_title(core, task),
             it->row.name);
    if (it->row.retry_us)
        log_retry(core, it, retry);
    else
        log_if_stuck(core, it);
}

void allocation_request(struct core *core, struct live_task *task)
{
    request_run(core, task, &(struct retry){0});
}

void allocation_retry(struct core *core, struct live_task *task,
                      const struct live_allocation *run)
{
    const struct retry retry = retry_after(core, run);

    request_run(core, task, &retry);
}

void allocation_progressed(struct core *core, struct live_allocation *allocation)
{
    if (!allocation || allocation->row.state == ALLOCATION_PENDING ||
        allocation->row.has_progressed)
        return;
    allocation->row.has_progressed = true;
    core_touch(core, &allocation->live);
}

/* ---- slots ----------------------------------------------------------------------- */

int share_compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct share *x = &CONTAINER_OF(a, struct live_share, node)->row;
    const struct share *y = &CONTAINER_OF(b, struct live_share, node)->row;

    if (x->allocation_id != y->allocation_id)
        return x->allocation_id < y->allocation_id ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

det_status allocation_hold(struct core *core, struct live_allocation *allocation,
                           struct err *err)
{
    struct pool *pool = allocation->pool->pool;
    struct pool_share *held =
        arena_array(&core->scratch, struct pool_share, (size_t)allocation->row.shares);
    struct pool_request request;
    uint32_t count = 0;
    uint32_t slots = 0;
    det_status st;

    if (!held)
        return err_default(err, DET_NOMEM);
    for (int64_t i = 0; i < allocation->row.shares; i++) {
        const struct live_share *share = &allocation->share[i];

        if (!share->agent)
            continue;
        held[count++] =
            (struct pool_share){share->agent->row.id, share->slot_count, share->slots};
        slots += share->slot_count;
    }
    allocation_fill_request(allocation, &request);
    request.slots = slots;
    st = pool_add_running(pool, &request, held, count, err);
    if (!st && (allocation->row.is_preempted || allocation->row.is_killed))
        pool_mark_leaving(pool, allocation->row.id);
    return st;
}

void share_detach(struct core *core, struct live_share *share)
{
    struct live_allocation *allocation = share->allocation;
    struct err err = {0};

    tree_remove(&share->agent->shares, &share->node);
    share->agent = NULL;
    pool_remove(allocation->pool->pool, allocation->row.id);
    core_fail(core, allocation_hold(core, allocation, &err), &err);
    allocation->pool->is_dirty = true;
}

/* ---- ending ---------------------------------------------------------------------- */

static void set_reason(struct core *core, struct live_allocation *allocation,
                       const char *reason)
{
    char *copy = mem_strdup(reason);

    if (!copy && reason)
        core_fail_memory(core);
    mem_free(allocation->exit_reason);
    allocation->exit_reason = copy;
    allocation->row.exit_reason = copy;
}

static void end_allocation(struct core *core, struct live_allocation *allocation)
{
    struct live_task *task = allocation->task;
    struct core_effect *effect;

    set_state(allocation, ALLOCATION_TERMINATED);
    allocation->row.end_us = core->now_us;
    allocation->row.preempt_deadline_us = 0;
    allocation->row.retry_us = 0;
    timer_set(core, &allocation->timer, 0);
    core_touch(core, &allocation->live);
    core_log(core, task, allocation, "%s was terminated: %s", task_title(core, task),
             allocation->exit_reason ? allocation->exit_reason : "");
    effect = core_emit(core, EFFECT_OVER);
    if (effect)
        effect->allocation_id = allocation->row.id;

    for (int64_t i = 0; allocation->share && i < allocation->row.shares; i++)
        if (allocation->share[i].agent)
            tree_remove(&allocation->share[i].agent->shares,
                        &allocation->share[i].node);
    pool_remove(allocation->pool->pool, allocation->row.id);
    allocation->pool->is_dirty = true;
    ports_free(core, allocation->row.ports);
    map_remove(&core->allocations, allocation->row.id);
    smap_remove(&core->allocation_names, allocation->row.name);
    core_bury(core, &allocation->live);
    task_run_over(core, task, allocation);
}

/* All shares have exited: decides how the allocation ended. */
static void conclude_exit(struct core *core, struct live_allocation *allocation)
{
    struct allocation *row = &allocation->row;
    int64_t clean = 0;

    assert(!allocation->shares_left);
    for (int64_t i = 0; i < row->shares; i++) {
        clean += allocation->share[i].row.exit == EXIT_CLEAN;
        if (!row->exit_code)
            row->exit_code = allocation->share[i].row.exit_code;
    }
    if (row->is_acknowledged && row->exit != EXIT_NONE) {
        row->exit = EXIT_CLEAN; /* it stopped as it was asked to */
        set_reason(core, allocation, "it was preempted");
    } else if (row->exit == EXIT_NONE && row->is_killed && clean < row->shares) {
        row->exit = EXIT_KILLED;
    } else if (row->exit == EXIT_NONE) {
        row->exit = EXIT_CLEAN;
        set_reason(core, allocation,
                   row->is_acknowledged ? "it was preempted" : "it finished");
    }
    end_allocation(core, allocation);
}

/* Orders every share that has not exited to be killed; repeated until all have. */
static void order_kill(struct core *core, struct live_allocation *allocation)
{
    struct allocation *row = &allocation->row;

    row->is_killed = true;
    set_state(allocation, ALLOCATION_TERMINATING);
    row->preempt_deadline_us = core->now_us + KILL_AGAIN_US;
    timer_set(core, &allocation->timer, row->preempt_deadline_us);
    core_touch(core, &allocation->live);
    pool_mark_leaving(allocation->pool->pool, row->id);
    for (int64_t i = 0; i < row->shares; i++)
        if (!allocation->share[i].row.has_exited)
            core_emit_share(core, EFFECT_KILL, &allocation->share[i]);
}

/* Ends an allocation that waits; false: it does not wait. */
static bool end_waiting(struct core *core, struct live_allocation *allocation,
                        const char *reason)
{
    if (allocation->row.state != ALLOCATION_PENDING)
        return false;
    allocation->row.exit = EXIT_KILLED;
    set_reason(core, allocation, reason);
    end_allocation(core, allocation);
    return true;
}

void allocation_kill(struct core *core, struct live_allocation *allocation,
                     const char *reason)
{
    if (allocation->row.is_killed || end_waiting(core, allocation, reason))
        return;
    set_reason(core, allocation, reason);
    core_log(core, allocation->task, allocation, "Killing %s: %s",
             task_title(core, allocation->task), reason);
    order_kill(core, allocation);
}

void allocation_set_deadline(struct core *core, struct live_allocation *allocation,
                             int64_t at_us)
{
    int64_t *deadline = &allocation->row.preempt_deadline_us;

    at_us = MAX(at_us, 1); /* 0 means no deadline */
    if (*deadline && *deadline <= at_us)
        return;
    *deadline = at_us;
    timer_set(core, &allocation->timer, at_us);
    core_touch(core, &allocation->live);
}

/* The one that its timer is set to: the end of its wait, or that of its grace. */
static int64_t *deadline_of(struct live_allocation *allocation)
{
    struct allocation *row = &allocation->row;

    return row->retry_us ? &row->retry_us : &row->preempt_deadline_us;
}

static void put_deadline(struct core *core, struct live_allocation *allocation,
                         int64_t at_us)
{
    int64_t *deadline = deadline_of(allocation);

    *deadline = MAX(at_us, 1);
    timer_set(core, &allocation->timer, *deadline);
    core_touch(core, &allocation->live);
}

void allocation_move_deadline(struct core *core, struct live_allocation *allocation,
                              int64_t by_us)
{
    int64_t at_us = *deadline_of(allocation);

    if (at_us)
        put_deadline(core, allocation, at_us + by_us);
}

void allocation_cap_deadline(struct core *core, struct live_allocation *allocation)
{
    int64_t most_us = allocation->row.retry_us ? RETRY_MOST_US
                      : allocation->row.is_killed
                          ? KILL_AGAIN_US
                          : task_need(allocation->task).preemption_timeout_us;

    if (*deadline_of(allocation) > core->now_us + most_us)
        put_deadline(core, allocation, core->now_us + most_us);
}

void allocation_preempt(struct core *core, struct live_allocation *allocation,
                        const char *reason)
{
    struct allocation *row = &allocation->row;
    struct core_effect *effect;

    if (row->is_preempted || row->is_killed || end_waiting(core, allocation, reason))
        return;
    if (!row->is_ready) {
        allocation_kill(core, allocation, reason);
        return;
    }
    row->is_preempted = true;
    set_state(allocation, ALLOCATION_TERMINATING);
    pool_mark_leaving(allocation->pool->pool, row->id);
    core_touch(core, &allocation->live);
    allocation_set_deadline(core, allocation,
                            core->now_us +
                                task_need(allocation->task).preemption_timeout_us);
    core_log(core, allocation->task, allocation, "Asking %s to stop: %s",
             task_title(core, allocation->task), reason);
    effect = core_emit(core, EFFECT_PREEMPT);
    if (effect)
        effect->allocation_id = row->id;
}

/* Its wait is over: now it asks for slots. */
static void end_wait(struct core *core, struct live_allocation *allocation)
{
    allocation->row.retry_us = 0;
    core_touch(core, &allocation->live);
    allocation_wait(core, allocation);
    log_if_stuck(core, allocation);
}

void allocation_deadline_came(struct core *core, struct live_allocation *allocation)
{
    if (allocation->row.retry_us)
        end_wait(core, allocation);
    else if (allocation->row.is_killed)
        order_kill(core, allocation);
    else
        allocation_kill(core, allocation, task_late_reason(allocation->task));
}

/* ---- its shares ------------------------------------------------------------------ */

void share_exited(struct core *core, struct live_share *share, enum exit_kind kind,
                  int64_t code, const char *reason)
{
    struct live_allocation *allocation = share->allocation;
    struct allocation *row = &allocation->row;

    if (share->row.has_exited)
        return;
    /* Not killed by us: the program is not to blame. */
    if (kind == EXIT_KILLED && !row->is_killed)
        kind = EXIT_TRANSIENT;
    share->row.has_exited = true;
    share->row.exit = kind;
    share->row.exit_code = code;
    core_touch(core, &allocation->live);
    core_touch(core, &share->live);
    assert(allocation->shares_left > 0);
    allocation->shares_left--;
    if (kind != EXIT_CLEAN && kind != EXIT_KILLED && !row->is_killed) {
        row->exit = kind;
        row->exit_code = code;
        set_reason(core, allocation, reason);
        if (allocation->shares_left)
            order_kill(core, allocation);
    }
    if (!allocation->shares_left)
        conclude_exit(core, allocation);
}

/* NULL if the allocation is over, or if it never existed: then *ret_status is an error.
 */
static struct live_allocation *find_live(const struct core *core, int64_t id,
                                         det_status *ret_status, struct err *err)
{
    struct live_allocation *it = map_get(&core->allocations, id);

    *ret_status = DET_OK;
    if (!it && (id < 1 || id >= core->counters.next_allocation))
        *ret_status = err_set(err, DET_NOT_FOUND, "no allocation %" PRId64, id);
    return it;
}

static struct live_share *find_share(const struct live_allocation *allocation,
                                     int64_t rank)
{
    if (!allocation || !allocation->share || rank < 0 || rank >= allocation->row.shares)
        return NULL;
    return &allocation->share[rank];
}

static void mark_ready(struct core *core, struct live_allocation *allocation)
{
    struct allocation *row = &allocation->row;

    set_state(allocation, ALLOCATION_RUNNING);
    row->is_ready = true;
    core_log(core, allocation->task, allocation, "Resources for %s have started",
             task_title(core, allocation->task));
    core_log(core, allocation->task, allocation, "Service of %s is available",
             task_title(core, allocation->task));
}

det_status allocation_share_state(struct core *core, const struct core_event *event,
                                  struct err *err)
{
    enum allocation_state state = event->share_state.state;
    det_status st;
    struct live_allocation *it =
        find_live(core, event->share_state.allocation_id, &st, err);
    struct live_share *share = find_share(it, event->share_state.rank);
    int64_t running = 0;

    if (!st && (state < ALLOCATION_PULLING || state > ALLOCATION_RUNNING))
        return err_set(err, DET_INVALID, "a task does not report state %d", (int)state);
    if (st || !share || share->row.has_exited || it->row.state >= ALLOCATION_RUNNING)
        return st;
    if (state < ALLOCATION_RUNNING) {
        if (state > it->row.state) {
            set_state(it, state);
            core_touch(core, &it->live);
        }
        return DET_OK;
    }
    if (share->row.is_running)
        return DET_OK;
    share->row.is_running = true;
    core_touch(core, &it->live);
    core_touch(core, &share->live);
    for (int64_t i = 0; i < it->row.shares; i++)
        running += it->share[i].row.is_running;
    if (running == it->row.shares)
        mark_ready(core, it);
    return DET_OK;
}

det_status allocation_share_exited(struct core *core, const struct core_event *event,
                                   struct err *err)
{
    const char *reason = event->share_exited.reason;
    int64_t code = event->share_exited.code;
    det_status st;
    struct live_allocation *it =
        find_live(core, event->share_exited.allocation_id, &st, err);
    struct live_share *share = find_share(it, event->share_exited.rank);
    enum exit_kind kind = event->share_exited.exit;

    if (!share)
        return event->journal_seq ? DET_OK : st;
    if (kind <= EXIT_NONE || kind >= EXIT_KINDS)
        kind = EXIT_FAILED;
    if (!reason)
        reason = arena_printf(&core->scratch, "it exited with code %" PRId64, code);
    if (!reason)
        core_fail_memory(core);
    if (event->share_exited.is_final && kind == EXIT_FAILED && !it->row.is_killed &&
        !task_can_work(it)) {
        it->is_final = true;
        task_fails_for_good(core, it->task);
    }
    share_exited(core, share, kind, code, reason);
    return DET_OK;
}

/* A run that will be killed is asked to stop, too, and may acknowledge that.  Without
 * this flag its exit code 0 would mean that it finished its work. */
det_status allocation_acknowledged(struct core *core, const struct core_event *event,
                                   struct err *err)
{
    det_status st;
    struct live_allocation *it =
        find_live(core, event->preempt.allocation_id, &st, err);

    if (st || !it || !(it->row.is_preempted || it->row.is_killed) ||
        it->row.is_acknowledged)
        return st;
    it->row.is_acknowledged = true;
    core_touch(core, &it->live);
    return DET_OK;
}

det_status allocation_preempt_requested(struct core *core,
                                        const struct core_event *event, struct err *err)
{
    det_status st;
    struct live_allocation *it =
        find_live(core, event->preempt.allocation_id, &st, err);

    if (!st && it && it->row.state != ALLOCATION_PENDING)
        allocation_preempt(core, it, "its node asked for it");
    return st;
}

/* For its trial or job this is as if the machine had died: it runs again, and no restart
 * is counted. */
det_status allocation_run_kill(struct core *core, const struct core_event *event,
                               struct err *err)
{
    int64_t id = event->run_kill.allocation_id;
    det_status st;
    struct live_allocation *it = find_live(core, id, &st, err);

    if (st)
        return st;
    if (!it)
        return err_set(err, DET_STATE, "allocation %" PRId64 " is over", id);
    if (it->row.state == ALLOCATION_PENDING)
        return err_set(err, DET_STATE, "allocation %s has not begun", it->row.name);
    allocation_kill(core, it, "somebody killed this run");
    return DET_OK;
}
