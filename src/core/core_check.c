/* SPDX-License-Identifier: Apache-2.0 */
/* core_check.c - recounts the invariants of core.h.  It visits every object, so only
 * debug builds and tests call it after every event. */
#include "core/core_check.h"

#include <inttypes.h>
#include <string.h>

#include "core/core_impl.h"
#include "sched/pool_check.h"

struct check {
    const struct core *core;
    struct err *err;
    det_status status;
    size_t trials; /* reached through experiments */
    size_t jobs;
    size_t allocations; /* reached through trials and jobs */
    size_t shares;      /* held by agents */
    size_t timers;
    size_t delayed; /* allocations that wait outside their pools */
    uint32_t ports;
};

static void broken(struct check *check, const char *what, int64_t id)
{
    if (!check->status)
        check->status = err_set(check->err, DET_CORRUPT, "%s (%" PRId64 ")", what, id);
}

#define REQUIRE(check, x, what, id)                                                    \
    do {                                                                               \
        if (!(x))                                                                      \
            broken((check), (what), (id));                                             \
    } while (0)

static void check_timer(struct check *check, const struct timer *timer, int64_t at_us)
{
    REQUIRE(check, timer->at_us == at_us, "a timer is not set as its row says",
            timer->id);
    check->timers += at_us != 0;
}

static void check_shares(struct check *check, const struct live_allocation *it)
{
    uint32_t left = 0;
    int64_t slots = 0;
    int64_t running = 0;

    for (int64_t i = 0; i < it->row.shares; i++) {
        const struct live_share *share = &it->share[i];

        REQUIRE(check, share->row.rank == i && share->allocation == it,
                "a share is not where its rank says", it->row.id);
        REQUIRE(check, share->agent || share->row.has_exited,
                "a share runs on no agent", it->row.id);
        REQUIRE(check,
                !share->agent ||
                    map_get(&check->core->agents, share->row.agent_id) == share->agent,
                "a share is on an agent that is not there", it->row.id);
        left += !share->row.has_exited;
        slots += share->slot_count;
        running += share->row.is_running;
        check->shares += share->agent != NULL;
    }
    REQUIRE(check, left == it->shares_left && left > 0,
            "an allocation miscounts its shares", it->row.id);
    REQUIRE(check, slots == it->row.slots, "a gang holds some of its slots",
            it->row.id);
    REQUIRE(check, it->row.is_ready == (running == it->row.shares),
            "ready means that all shares run", it->row.id);
}

static void check_ports(struct check *check, const struct live_allocation *it)
{
    const struct core *core = check->core;

    for (size_t i = 0; i < ARRAY_LEN(it->row.ports); i++) {
        int64_t port = it->row.ports[i];

        if (!port)
            continue;
        check->ports++;
        REQUIRE(check, core->port_used[port / 64] >> (port % 64) & 1,
                "a port in use is not marked", it->row.id);
    }
}

static void check_allocation(struct check *check, const struct live_allocation *it)
{
    const struct core *core = check->core;
    const struct allocation *row = &it->row;

    check->allocations++;
    REQUIRE(check, map_get(&core->allocations, row->id) == it,
            "an allocation is not kept", row->id);
    REQUIRE(check, smap_get(&core->allocation_names, row->name) == it,
            "an allocation is not known by its name", row->id);
    REQUIRE(check, row->run_id == task_run_id(it->task),
            "an allocation is not its task's latest run", row->id);
    REQUIRE(check, it->task->allocation == it && !row->trial_id != !row->job_id,
            "an allocation is not its task's own", row->id);
    REQUIRE(check, row->state != ALLOCATION_TERMINATED,
            "an allocation outlives its end", row->id);
    REQUIRE(check, (row->state == ALLOCATION_PENDING) == !it->share,
            "an allocation holds slots before it is assigned", row->id);
    REQUIRE(check,
            (row->state == ALLOCATION_TERMINATING) ==
                (row->is_preempted || row->is_killed),
            "an allocation ends without an order", row->id);
    REQUIRE(check, !row->is_killed || row->preempt_deadline_us,
            "a kill is not repeated", row->id);
    REQUIRE(check, !row->is_preempted || row->preempt_deadline_us,
            "a preemption has no deadline", row->id);
    REQUIRE(check, !row->retry_us || row->state == ALLOCATION_PENDING,
            "an allocation began before its time", row->id);
    REQUIRE(check, !row->retry_us || (row->quick_ends > 0 && row->wait_reason),
            "an allocation waits without a reason", row->id);
    REQUIRE(check, !row->retry_us || !row->preempt_deadline_us,
            "an allocation that waits was ordered to stop", row->id);
    check->delayed += row->retry_us != 0;
    check_timer(check, &it->timer,
                row->retry_us ? row->retry_us : row->preempt_deadline_us);
    if (it->share)
        check_shares(check, it);
    check_ports(check, it);
}

static void check_trial(struct check *check, const struct live_trial *it)
{
    const struct live_experiment *experiment = it->experiment;
    const struct live_allocation *run = it->task.allocation;
    const struct trial *row = &it->row;
    bool is_leaving = run && (run->row.is_preempted || run->row.is_killed);

    check->trials++;
    REQUIRE(check, map_get(&check->core->trials, row->id) == it, "a trial is not kept",
            row->id);
    REQUIRE(check, !trial_is_terminal(row->state), "a trial outlives its end", row->id);
    REQUIRE(check, row->restarts <= experiment->max_restarts,
            "a trial restarted too often", row->id);
    REQUIRE(check, row->number < experiment->row.trials, "a trial was not counted",
            row->id);
    REQUIRE(check, row->state != TRIAL_ACTIVE || run, "an active trial has no run",
            row->id);
    REQUIRE(check, row->state != TRIAL_PAUSED || !run || is_leaving,
            "a paused trial goes on", row->id);
    REQUIRE(check, !trial_is_stopping(row->state) || is_leaving,
            "a stopping trial goes on", row->id);
    REQUIRE(check,
            row->state != TRIAL_ACTIVE || experiment->row.state == EXPERIMENT_ACTIVE,
            "a trial is more active than its experiment", row->id);
    REQUIRE(check,
            row->state != TRIAL_PAUSED || experiment->row.state == EXPERIMENT_PAUSED,
            "a trial is paused, its experiment is not", row->id);
    if (run)
        check_allocation(check, run);
}

static void check_experiments(struct check *check)
{
    const struct live_experiment *it;

    for (size_t i = 0; (it = map_next(&check->core->experiments, &i));) {
        REQUIRE(check, !experiment_is_terminal(it->row.state),
                "an experiment outlives its end", it->row.id);
        REQUIRE(check, it->trials.count > 0, "an experiment without trials goes on",
                it->row.id);
        for (struct tree_node *at = tree_first(&it->trials); at; at = tree_next(at))
            check_trial(check, CONTAINER_OF(at, struct live_trial, node));
    }
}

static void check_jobs(struct check *check)
{
    const struct live_job *it;

    for (size_t i = 0; (it = map_next(&check->core->jobs, &i));) {
        const struct live_allocation *run = it->task.allocation;
        bool is_leaving = run && (run->row.is_preempted || run->row.is_killed);
        int64_t id = it->row.id;

        check->jobs++;
        REQUIRE(check, !job_is_terminal(it->row.state), "a job outlives its end", id);
        REQUIRE(check, it->row.state != JOB_ACTIVE || run, "an active job has no run",
                id);
        REQUIRE(check, it->row.state != JOB_PAUSED || !run, "a paused job has a run",
                id);
        REQUIRE(check,
                (it->row.state != JOB_STOPPING_PAUSED &&
                 it->row.state != JOB_STOPPING_CANCELED) ||
                    is_leaving,
                "a stopping job goes on", id);
        REQUIRE(check, id < check->core->counters.next_job, "a job was not counted",
                id);
        if (run)
            check_allocation(check, run);
    }
}

/* No slot of the agent is in two shares. */
static void check_slots(struct check *check, const struct live_agent *it)
{
    bool is_held[SLOTS_MOST] = {0};

    for (struct tree_node *at = tree_first(&it->shares); at; at = tree_next(at)) {
        const struct live_share *share = CONTAINER_OF(at, struct live_share, node);

        check->shares--;
        REQUIRE(check, share->agent == it, "a share is on another agent", it->row.id);
        for (uint32_t i = 0; i < share->slot_count; i++) {
            uint32_t slot = share->slots[i];

            REQUIRE(check, slot < it->row.slots && !is_held[slot],
                    "a slot is held twice", it->row.id);
            is_held[slot % SLOTS_MOST] = true;
        }
    }
}

static void check_agents(struct check *check)
{
    const struct core *core = check->core;
    const struct live_agent *it;

    for (size_t i = 0; (it = map_next(&core->agents, &i));) {
        bool is_open = it->row.is_enabled && it->row.is_connected;

        REQUIRE(check, smap_get(&core->agent_names, it->name) == it,
                "an agent is not known by its name", it->row.id);
        REQUIRE(check, it->row.is_connected == !it->row.silent_us,
                "an agent is silent and heard", it->row.id);
        REQUIRE(check, it->is_open == is_open, "an agent is not as its pool thinks",
                it->row.id);
        for (int64_t k = 0; k < it->row.slots; k++)
            REQUIRE(check, it->is_slot_open[k] == (is_open && !it->is_slot_off[k]),
                    "a slot is not as its agent says", it->row.id);
        check_timer(check, &it->timer,
                    it->row.silent_us
                        ? it->row.silent_us + it->pool->agent_reconnect_wait_us
                        : 0);
        check_slots(check, it);
    }
}

static void check_counts(struct check *check)
{
    const struct core *core = check->core;

    REQUIRE(check, check->trials == core->trials.count, "trials are miscounted", 0);
    REQUIRE(check, check->jobs == core->jobs.count, "jobs are miscounted", 0);
    REQUIRE(check, check->allocations == core->allocations.count,
            "allocations are miscounted", 0);
    REQUIRE(check, core->allocations.count == core->allocation_names.count,
            "names of allocations are miscounted", 0);
    REQUIRE(check, core->agents.count == core->agent_names.count,
            "names of agents are miscounted", 0);
    REQUIRE(check, check->shares == 0, "an agent does not know what it runs", 0);
    REQUIRE(check, check->timers == core->timers.count, "timers are miscounted", 0);
    REQUIRE(check, check->ports == core->ports_used, "ports are miscounted", 0);
    REQUIRE(check, !core->inputs.count && !core->unsettled && !core->touched,
            "an event was not finished", 0);
}

static void check_pools(struct check *check)
{
    const struct core *core = check->core;
    size_t waiting = 0;
    size_t running = 0;
    size_t agents = 0;

    for (uint32_t i = 0; i < core->config.pool_count && !check->status; i++) {
        struct pool_stats stats;

        check->status = pool_check(core->pool[i].pool, check->err);
        pool_get_stats(core->pool[i].pool, &stats);
        waiting += stats.waiting;
        running += stats.running;
        agents += stats.agents;
    }
    REQUIRE(check, waiting + running + check->delayed == core->allocations.count,
            "pools and allocations disagree", 0);
    REQUIRE(check, agents == core->agents.count, "pools and agents disagree", 0);
}

det_status core_check(const struct core *core, struct err *err)
{
    struct check check = {.core = core, .err = err};

    check_experiments(&check);
    check_jobs(&check);
    check_agents(&check);
    check_counts(&check);
    check_pools(&check);
    return check.status;
}
