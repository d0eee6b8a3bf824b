/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - makes and frees a core, applies events, keeps the timers. */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/core_check.h"
#include "core/core_impl.h"

/* Scratch memory of one event: metrics, plans, a searcher's operations. */
enum { SCRATCH_BYTES = 1 << 30 };

static det_status tick(struct core *core, const struct core_event *event,
                       struct err *err);
static det_status started(struct core *core, const struct core_event *event,
                          struct err *err);
static det_status clock_jumped(struct core *core, const struct core_event *event,
                               struct err *err);

typedef det_status handler_fn(struct core *core, const struct core_event *event,
                              struct err *err);

#define HANDLES(kind_, fn) [EVENT_##kind_] = (fn)

/* The handler of each event.  A handler refuses before it changes anything. */
static handler_fn *const handlers[] = {
    HANDLES(EXPERIMENT_SUBMITTED, experiment_submitted),
    HANDLES(EXPERIMENT_ACTION, experiment_acted),
    HANDLES(EXPERIMENT_RESOURCES, experiment_resources),
    HANDLES(TRIAL_KILL, trial_kill),
    HANDLES(VALIDATED, trial_validated),
    HANDLES(PROGRESS, trial_progress),
    HANDLES(CHECKPOINTED, trial_checkpointed),
    HANDLES(EARLY_EXIT, trial_early_exit),
    HANDLES(LOG_POLICY, trial_log_policy),
    HANDLES(SHARE_STATE, allocation_share_state),
    HANDLES(SHARE_EXITED, allocation_share_exited),
    HANDLES(PREEMPT_ACKNOWLEDGED, allocation_acknowledged),
    HANDLES(PREEMPT_REQUESTED, allocation_preempt_requested),
    HANDLES(RUN_KILL, allocation_run_kill),
    HANDLES(AGENT_JOINED, agent_joined),
    HANDLES(AGENT_SILENT, agent_heard),
    HANDLES(AGENT_HEARD, agent_heard),
    HANDLES(AGENT_TASKS_HEARD, agent_tasks_heard),
    HANDLES(AGENT_ENABLE, agent_enabled),
    HANDLES(SLOT_ENABLE, agent_slot_enabled),
    HANDLES(TICK, tick),
    HANDLES(STARTED, started),
    HANDLES(CLOCK_JUMPED, clock_jumped),
    HANDLES(EXPERIMENT_CONTINUED, experiment_continued),
    HANDLES(UNMANAGED_EXPERIMENT, unmanaged_experiment),
    HANDLES(UNMANAGED_TRIAL, unmanaged_trial),
    HANDLES(JOB_SUBMITTED, job_submitted),
    HANDLES(JOB_ACTION, job_acted),
    HANDLES(JOB_RESOURCES, job_resources),
};
static_assert(ARRAY_LEN(handlers) == EVENT_KINDS, "every event has a handler");

void core_fail(struct core *core, det_status status, const struct err *err)
{
    if (!status || core->status)
        return;
    core->status = status;
    if (err)
        core->err = *err;
    else
        (void)err_default(&core->err, status);
}

void core_fail_memory(struct core *core)
{
    core_fail(core, DET_NOMEM, NULL);
}

/* ---- timers ---------------------------------------------------------------------- */

static int timer_compare(const struct tree_node *a, const struct tree_node *b)
{
    const struct timer *x = CONTAINER_OF(a, struct timer, node);
    const struct timer *y = CONTAINER_OF(b, struct timer, node);

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void timer_set(struct core *core, struct timer *timer, int64_t at_us)
{
    if (timer->at_us == at_us)
        return;
    if (timer->at_us)
        tree_remove(&core->timers, &timer->node);
    timer->at_us = at_us;
    if (at_us)
        tree_add(&core->timers, &timer->node);
}

int64_t core_next_deadline_us(const struct core *core)
{
    const struct tree_node *first = tree_first(&core->timers);

    return first ? CONTAINER_OF(first, struct timer, node)->at_us : INT64_MAX;
}

/* Each object that is due sets its timer later or off, so this ends. */
static det_status tick(struct core *core, const struct core_event *event,
                       struct err *err)
{
    (void)event;
    (void)err;
    while (core_next_deadline_us(core) <= core->now_us && !core->status) {
        struct timer *timer =
            CONTAINER_OF(tree_first(&core->timers), struct timer, node);

        assert(timer->kind == LIVE_AGENT || timer->kind == LIVE_ALLOCATION);
        if (timer->kind == LIVE_AGENT)
            agent_is_lost(core, CONTAINER_OF(timer, struct live_agent, timer));
        else
            allocation_deadline_came(
                core, CONTAINER_OF(timer, struct live_allocation, timer));
    }
    return DET_OK;
}

/* While the master was away it heard nobody, so silence begins anew.  If the clock was
 * set back meanwhile, deadlines must not be years away. */
static det_status started(struct core *core, const struct core_event *event,
                          struct err *err)
{
    struct live_agent *agent;
    struct live_allocation *allocation;

    (void)event;
    (void)err;
    core->started_us = core->now_us;
    for (size_t i = 0; (agent = map_next(&core->agents, &i));)
        agent_renew_silence(core, agent);
    for (size_t i = 0; (allocation = map_next(&core->allocations, &i));)
        allocation_cap_deadline(core, allocation);
    return DET_OK;
}

/* Deadlines are rows, so they are wall clock times.  When the clock is set, they keep
 * their distance.  Apart from this and EVENT_STARTED, nothing in the core knows that
 * clocks can be wrong. */
static det_status clock_jumped(struct core *core, const struct core_event *event,
                               struct err *err)
{
    int64_t by_us = event->clock_jumped.by_us;
    struct live_agent *agent;
    struct live_allocation *allocation;

    (void)err;
    core->started_us += core->started_us ? by_us : 0;
    for (size_t i = 0; (agent = map_next(&core->agents, &i));)
        agent_move_silence(core, agent, by_us);
    for (size_t i = 0; (allocation = map_next(&core->allocations, &i));)
        allocation_move_deadline(core, allocation, by_us);
    return DET_OK;
}

/* ---- making ---------------------------------------------------------------------- */

static det_status copy_pool(const struct core_pool *from, struct pool_entry *to,
                            struct err *err)
{
    to->name = mem_strdup(from->name);
    if (!to->name)
        return err_default(err, DET_NOMEM);
    to->default_priority = from->default_priority;
    to->agent_reconnect_wait_us = from->agent_reconnect_wait_us;
    return pool_new(&from->config, &to->pool, err);
}

static det_status copy_config(struct core *core, const struct core_config *config,
                              struct err *err)
{
    det_status st = DET_OK;

    core->config = *config;
    core->config.pool = NULL;
    core->config.reserved_ports = NULL;
    core->config.reserved_port_count = 0;
    for (size_t i = 0; i < config->reserved_port_count; i++)
        port_reserve(core, config->reserved_ports[i]);
    core->config.default_compute_pool = mem_strdup(config->default_compute_pool);
    core->config.default_aux_pool = mem_strdup(config->default_aux_pool);
    core->pool = mem_array(config->pool_count, sizeof(*core->pool));
    if (!core->config.default_compute_pool || !core->config.default_aux_pool ||
        !core->pool)
        return err_default(err, DET_NOMEM);

    for (uint32_t i = 0; i < config->pool_count && !st; i++)
        st = copy_pool(&config->pool[i], &core->pool[i], err);
    return st;
}

det_status core_new(const struct core_config *config, struct core **ret_core,
                    struct err *err)
{
    struct core *core = mem_new(struct core);
    det_status st;

    if (!core)
        return err_default(err, DET_NOMEM);
    core->timers = (struct tree)TREE_INIT(timer_compare);
    core->touched_tail = &core->touched;
    core->scratch = (struct arena)ARENA_INIT(SCRATCH_BYTES);
    core->counters = (struct core_counters){1, 1, 1, 1, 0, 1, 1};
    st = copy_config(core, config, err);
    if (!st && (!core_find_pool(core, config->default_compute_pool) ||
                !core_find_pool(core, config->default_aux_pool)))
        st = err_set(err, DET_INVALID, "a default resource pool is not configured");
    if (st) {
        core_free(core);
        return st;
    }
    *ret_core = core;
    return DET_OK;
}

static void free_all(struct map *map)
{
    struct live *live;

    for (size_t i = 0; (live = map_next(map, &i));)
        live_free(live);
    map_done(map);
}

void core_free(struct core *core)
{
    if (!core)
        return;
    core_free_dead(core);
    map_done(&core->allocation_names);
    map_done(&core->agent_names);
    free_all(&core->allocations);
    free_all(&core->trials);
    free_all(&core->jobs);
    free_all(&core->experiments);
    free_all(&core->agents);
    for (uint32_t i = 0; core->pool && i < core->config.pool_count; i++) {
        pool_free(core->pool[i].pool);
        mem_free(core->pool[i].name);
    }
    mem_free(core->pool);
    mem_free((char *)core->config.default_compute_pool);
    mem_free((char *)core->config.default_aux_pool);
    vec_done(&core->inputs);
    arena_done(&core->scratch);
    mem_free(core);
}

/* ---- applying -------------------------------------------------------------------- */

static void settle_event(struct core *core)
{
    do
        search_settle(core);
    while (!core->status && plan_dirty_pools(core));
}

/* A journal entry is applied once.  After a crash the heart sends again the entries that
 * came after the last committed one. */
static det_status check_journal_seq(const struct core *core,
                                    const struct core_event *event, bool *ret_is_old,
                                    struct err *err)
{
    int64_t last = core->counters.journal_seq;

    *ret_is_old = event->journal_seq > 0 && event->journal_seq <= last;
    if (event->journal_seq > last + 1)
        return err_set(err, DET_CORRUPT,
                       "entry %" PRId64 " of the journal came after entry %" PRId64,
                       event->journal_seq, last);
    return DET_OK;
}

static void check_invariants(struct core *core)
{
    struct err err = {0};

    if (!core->status && core_check(core, &err))
        core_fail(core, DET_CORRUPT, &err);
}

static det_status finish_event(struct core *core, struct err *err)
{
    assert(core->status || (!core->touched && !core->unsettled));
    core->event = NULL;
    core->out = NULL;
    core->continuing = (struct continuing){0};
    arena_clear(&core->scratch);
    if (core->status && err)
        *err = core->err;
    return core->status;
}

det_status core_apply(struct core *core, const struct core_event *event, int64_t now_us,
                      struct core_out *out, struct err *err)
{
    bool is_old;
    det_status st = check_journal_seq(core, event, &is_old, err);

    if (core->status) /* an earlier event failed */
        return finish_event(core, err);
    if (!out->count)
        core_free_dead(core);
    if (st || is_old)
        return st;
    if ((size_t)event->kind >= ARRAY_LEN(handlers))
        return err_set(err, DET_INVALID, "no event of kind %d", (int)event->kind);

    core->now_us = now_us;
    core->event = event;
    core->out = out;
    st = handlers[event->kind](core, event, err);
    if (st) {
        core_fail(core, st == DET_NOMEM ? st : DET_OK, NULL);
        (void)finish_event(core, NULL);
        return st;
    }

    if (event->journal_seq) {
        core->counters.journal_seq = event->journal_seq;
        core->has_counted = true;
    }
    settle_event(core);
    core_flush(core);
    if (core->config.checks_invariants)
        check_invariants(core);
    return finish_event(core, err);
}

/* ---- lookups --------------------------------------------------------------------- */

struct pool_entry *core_find_pool(const struct core *core, const char *name)
{
    for (uint32_t i = 0; i < core->config.pool_count; i++)
        if (!strcmp(core->pool[i].name, name))
            return &core->pool[i];
    return NULL;
}

int64_t core_journal_seq(const struct core *core)
{
    return core->counters.journal_seq;
}
