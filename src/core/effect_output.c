/* SPDX-License-Identifier: Apache-2.0 */
/* effect_output.c - the output of an event: effects, rows, lines in task logs; and the
 * memory of objects that ended.
 *
 * A row is written once per event, as it is at the end: touching an object reserves a
 * place in `out`, the flush fills it in.  So rows are in the order in which objects were
 * made, and a row comes after those it refers to. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory/buf.h"
#include "core/core_impl.h"

/* ---- effects --------------------------------------------------------------------- */

struct core_effect *core_emit(struct core *core, enum core_effect_kind kind)
{
    struct core_out *out = core->out;
    struct core_effect *effect;

    assert(out); /* only while an event is handled */
    if (out->count == out->cap || !out->effect) {
        uint32_t cap = MAX(UINT32_C(16), out->count * 2);

        effect = arena_array(out->mem, struct core_effect, cap);
        if (!effect) {
            out->status = DET_NOMEM;
            core_fail_memory(core);
            return NULL;
        }
        if (out->count)
            memcpy(effect, out->effect, out->count * sizeof(*effect));
        out->effect = effect;
        out->cap = cap;
    }
    effect = &out->effect[out->count++];
    *effect = (struct core_effect){.kind = kind};
    return effect;
}

void core_emit_share(struct core *core, enum core_effect_kind kind,
                     const struct live_share *share)
{
    struct core_effect *effect = core_emit(core, kind);

    if (effect)
        effect->share = share->row;
}

/* Copies a string that may change before the effects are carried out. */
static const char *copy_text(struct core *core, const char *text)
{
    char *copy = arena_strdup(core->out->mem, text);

    if (text && !copy)
        core_fail_memory(core);
    return copy;
}

void core_log(struct core *core, const struct live_task *task,
              const struct live_allocation *allocation, const char *fmt, ...)
{
    struct core_effect *effect = core_emit(core, EFFECT_TASK_LOG);
    va_list args;

    if (!effect)
        return;
    effect->log.task_id = task->id;
    effect->log.allocation = allocation ? allocation->row.name : NULL;
    va_start(args, fmt);
    effect->log.text = arena_vprintf(core->out->mem, fmt, args);
    va_end(args);
    if (!effect->log.text)
        core_fail_memory(core);
}

/* ---- rows ------------------------------------------------------------------------ */

static enum core_effect_kind row_kind(struct live *live)
{
    switch (live->kind) {
    case LIVE_EXPERIMENT:
        if (CONTAINER_OF(live, struct live_experiment, live)->is_continued)
            return EFFECT_CONTINUE_EXPERIMENT;
        return live->is_new ? EFFECT_ADD_EXPERIMENT : EFFECT_PUT_EXPERIMENT;
    case LIVE_TRIAL:
        return live->is_new ? EFFECT_ADD_TRIAL : EFFECT_PUT_TRIAL;
    case LIVE_JOB:
        return live->is_new ? EFFECT_ADD_JOB : EFFECT_PUT_JOB;
    case LIVE_ALLOCATION:
        return EFFECT_PUT_ALLOCATION;
    case LIVE_SHARE:
        return EFFECT_PUT_SHARE;
    case LIVE_AGENT:
        break;
    }
    return EFFECT_PUT_AGENT;
}

void core_touch(struct core *core, struct live *live)
{
    if (live->is_touched || !core_emit(core, row_kind(live)))
        return;
    live->is_touched = true;
    live->effect = core->out->count - 1;
    live->next_touched = NULL;
    *core->touched_tail = live;
    core->touched_tail = &live->next_touched;
}

/* "[1,2]", in the arena of the effects. */
static const char *number_list(struct core *core, const int64_t *number, size_t count)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    buf_putc(&text, '[');
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%" PRId64, i ? "," : "", number[i]);
    buf_putc(&text, ']');
    if (text.status)
        core_fail_memory(core);
    return copy_text(core, text.data);
}

static const char *disabled_slots(struct core *core, const struct live_agent *agent)
{
    int64_t *number =
        arena_array(&core->scratch, int64_t, (size_t)agent->row.slots + 1);
    size_t count = 0;

    if (!number) {
        core_fail_memory(core);
        return NULL;
    }
    for (int64_t i = 0; i < agent->row.slots; i++)
        if (agent->is_slot_off[i])
            number[count++] = i;
    return number_list(core, number, count);
}

static void fill_experiment(struct core *core, struct core_effect *effect,
                            const struct live_experiment *experiment)
{
    effect->experiment.row = experiment->row;
    if (effect->kind == EFFECT_CONTINUE_EXPERIMENT) {
        assert(core->event->kind == EVENT_EXPERIMENT_CONTINUED);
        effect->experiment.row.config = core->event->continued.row->config;
        effect->experiment.row.original_config =
            core->event->continued.row->original_config;
        effect->experiment.was_end_us = core->event->continued.row->end_us;
        effect->experiment.name = core->event->continued.name;
        effect->experiment.description = core->event->continued.description;
        effect->experiment.labels = core->event->continued.labels;
        return;
    }
    if (effect->kind != EFFECT_ADD_EXPERIMENT)
        return;
    assert(core->event->kind == EVENT_EXPERIMENT_SUBMITTED);
    effect->experiment.row.config = core->event->submitted.config;
    effect->experiment.row.original_config = core->event->submitted.original_config;
    effect->experiment.name = core->event->submitted.name;
    effect->experiment.description = core->event->submitted.description;
    effect->experiment.labels = core->event->submitted.labels;
    effect->experiment.files = core->event->submitted.files;
    effect->experiment.files_len = core->event->submitted.files_len;
}

static void fill_trial(struct core *core, struct core_effect *effect,
                       const struct live_trial *trial)
{
    effect->trial = trial->row;
    effect->trial.latest_checkpoint = copy_text(core, trial->latest_checkpoint);
    if (trial->task.blocked.count)
        effect->trial.blocked_agents =
            number_list(core, trial->task.blocked.at, trial->task.blocked.count);
}

static void fill_job(struct core *core, struct core_effect *effect,
                     const struct live_job *job)
{
    effect->job.row = job->row;
    if (effect->kind != EFFECT_ADD_JOB)
        return;
    assert(core->event->kind == EVENT_JOB_SUBMITTED);
    effect->job.name = core->event->job_submitted.name;
    effect->job.config = core->event->job_submitted.config;
    effect->job.forked_from = core->event->job_submitted.forked_from;
    effect->job.type = core->event->job_submitted.type;
    effect->job.sources = core->event->job_submitted.sources;
    effect->job.workspace_id = core->event->job_submitted.workspace_id;
    effect->job.files = core->event->job_submitted.files;
    effect->job.files_len = core->event->job_submitted.files_len;
}

static void fill_agent(struct core *core, struct core_effect *effect,
                       const struct live_agent *agent)
{
    effect->agent = agent->row;
    effect->agent.name = copy_text(core, agent->name);
    effect->agent.devices = copy_text(core, agent->devices);
    effect->agent.addresses = copy_text(core, agent->addresses);
    effect->agent.boot_id = copy_text(core, agent->boot_id);
    effect->agent.version = copy_text(core, agent->version);
    effect->agent.instance = copy_text(core, agent->instance);
    effect->agent.disabled_slots = disabled_slots(core, agent);
}

static void fill_row(struct core *core, const struct live *live)
{
    struct core_effect *effect = &core->out->effect[live->effect];

    switch (live->kind) {
    case LIVE_EXPERIMENT:
        fill_experiment(core, effect, CONTAINER_OF(live, struct live_experiment, live));
        return;
    case LIVE_TRIAL:
        fill_trial(core, effect, CONTAINER_OF(live, struct live_trial, live));
        return;
    case LIVE_JOB:
        fill_job(core, effect, CONTAINER_OF(live, struct live_job, live));
        return;
    case LIVE_ALLOCATION:
        effect->allocation = CONTAINER_OF(live, struct live_allocation, live)->row;
        effect->allocation.exit_reason =
            copy_text(core, effect->allocation.exit_reason);
        effect->allocation.wait_reason =
            copy_text(core, effect->allocation.wait_reason);
        return;
    case LIVE_SHARE:
        effect->share = CONTAINER_OF(live, struct live_share, live)->row;
        return;
    case LIVE_AGENT:
        fill_agent(core, effect, CONTAINER_OF(live, struct live_agent, live));
        return;
    }
}

static void take_snapshot(struct core *core, struct live_experiment *experiment)
{
    CLEANUP(buf_done) struct buf state = BUF_INIT;
    struct core_effect *effect = core_emit(core, EFFECT_PUT_SNAPSHOT);

    searcher_save(experiment->searcher, &state);
    if (state.status)
        core_fail_memory(core);
    if (!effect || core->status)
        return;
    effect->snapshot.experiment_id = experiment->row.id;
    effect->snapshot.seq = experiment->row.search_seq;
    effect->snapshot.state = copy_text(core, state.data);
    experiment->row.snapshot_seq = experiment->row.search_seq;
}

/* Writes every row that was touched.  A snapshot comes first: it changes a row. */
void core_flush(struct core *core)
{
    struct core_effect *effect;

    for (struct live *it = core->touched; it && !core->status; it = it->next_touched) {
        struct live_experiment *experiment =
            CONTAINER_OF(it, struct live_experiment, live);

        if (it->kind == LIVE_EXPERIMENT && search_wants_snapshot(core, experiment))
            take_snapshot(core, experiment);
    }
    for (struct live *it = core->touched; it; it = it->next_touched) {
        if (!core->status)
            fill_row(core, it);
        it->is_touched = it->is_new = false;
        if (it->kind == LIVE_EXPERIMENT)
            CONTAINER_OF(it, struct live_experiment, live)->is_continued = false;
    }
    core->touched = NULL;
    core->touched_tail = &core->touched;

    effect = core->has_counted ? core_emit(core, EFFECT_PUT_COUNTERS) : NULL;
    if (effect)
        effect->counters = core->counters;
    core->has_counted = false;
}

/* ---- objects that ended ---------------------------------------------------------- */

void core_bury(struct core *core, struct live *live)
{
    assert(!live->next_dead && core->dead != live);
    live->next_dead = core->dead;
    core->dead = live;
}

void core_free_dead(struct core *core)
{
    while (core->dead) {
        struct live *live = core->dead;

        core->dead = live->next_dead;
        live_free(live);
    }
}

static void free_agent(struct live_agent *agent)
{
    mem_free(agent->name);
    mem_free(agent->devices);
    mem_free(agent->addresses);
    mem_free(agent->boot_id);
    mem_free(agent->version);
    mem_free(agent->instance);
    mem_free(agent->is_slot_off);
    mem_free(agent);
}

static void free_experiment(struct live_experiment *experiment)
{
    searcher_free(experiment->searcher);
    arena_done(&experiment->mem);
    mem_free(experiment);
}

static void free_trial(struct live_trial *trial)
{
    mem_free(trial->latest_checkpoint);
    vec_done(&trial->task.blocked);
    mem_free(trial);
}

static void free_allocation(struct live_allocation *allocation)
{
    mem_free(allocation->exit_reason);
    mem_free(allocation->wait_reason);
    mem_free(allocation->share);
    mem_free(allocation);
}

void live_free(struct live *live)
{
    switch (live->kind) {
    case LIVE_EXPERIMENT:
        free_experiment(CONTAINER_OF(live, struct live_experiment, live));
        return;
    case LIVE_TRIAL:
        free_trial(CONTAINER_OF(live, struct live_trial, live));
        return;
    case LIVE_JOB:
        mem_free(CONTAINER_OF(live, struct live_job, live));
        return;
    case LIVE_ALLOCATION:
        free_allocation(CONTAINER_OF(live, struct live_allocation, live));
        return;
    case LIVE_SHARE:
        return; /* freed with its allocation */
    case LIVE_AGENT:
        free_agent(CONTAINER_OF(live, struct live_agent, live));
        return;
    }
}
