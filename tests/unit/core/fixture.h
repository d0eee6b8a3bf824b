/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - a bed: a core with two pools, a clock that the test moves, and the last row
 * of every object, because ended objects leave the core.  core_check() runs after every
 * event. */
#ifndef TESTS_UNIT_CORE_FIXTURE_H
#define TESTS_UNIT_CORE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "core/core.h"
#include "core/core_check.h"
#include "tests/support/test.h"

enum { BED_IDS = 64, SECOND_US = 1000000 };

struct bed {
    struct core_pool pool[2];
    struct core_config config;
    struct core *core;
    struct arena mem;
    struct core_out out; /* of the last event */
    char text[2048];     /* a configuration its effects may borrow from */
    int64_t now_us;
    int64_t journal_seq;
    struct err err;
    struct experiment experiment[BED_IDS]; /* last rows, by id; strings are stale */
    struct trial trial[BED_IDS];
    struct job job[BED_IDS];
    struct allocation allocation[BED_IDS];
    int64_t run_of[BED_IDS];  /* by trial: its latest allocation */
    int64_t job_run[BED_IDS]; /* the same by job */
};

static inline void bed_init(struct bed *bed)
{
    *bed =
        (struct bed){.mem = ARENA_INIT(1 << 26), .now_us = 1000 * (int64_t)SECOND_US};
    for (int i = 0; i < 2; i++)
        bed->pool[i] = (struct core_pool){
            .name = i ? "aux" : "compute",
            .config = {.policy = "priority", .max_aux_per_agent = 2},
            .default_priority = 42,
            .agent_reconnect_wait_us = 25 * (int64_t)SECOND_US,
        };
    bed->config = (struct core_config){
        .pool = bed->pool,
        .pool_count = 2,
        .default_compute_pool = "compute",
        .default_aux_pool = "aux",
        .preemption_timeout_us = 3600 * (int64_t)SECOND_US,
        .refuses_unfittable = true,
        .entropy = 7,
        .snapshot_every = 256,
    };
}

static inline void bed_open(struct bed *bed)
{
    if (!bed->config.pool)
        bed_init(bed);
    CHECK_OK(core_new(&bed->config, &bed->core, &test_err));
}

static inline void bed_done(struct bed *bed)
{
    core_free(bed->core);
    arena_done(&bed->mem);
}

#define BED(name)                                                                      \
    CLEANUP(bed_done) struct bed name = {0};                                           \
    bed_open(&name)

static inline void bed_note(struct bed *bed, const struct core_effect *effect)
{
    if (effect->kind == EFFECT_ADD_EXPERIMENT ||
        effect->kind == EFFECT_PUT_EXPERIMENT ||
        effect->kind == EFFECT_CONTINUE_EXPERIMENT)
        bed->experiment[effect->experiment.row.id] = effect->experiment.row;
    if (effect->kind == EFFECT_ADD_TRIAL || effect->kind == EFFECT_PUT_TRIAL)
        bed->trial[effect->trial.id] = effect->trial;
    if (effect->kind == EFFECT_ADD_JOB || effect->kind == EFFECT_PUT_JOB)
        bed->job[effect->job.row.id] = effect->job.row;
    if (effect->kind != EFFECT_PUT_ALLOCATION)
        return;
    bed->allocation[effect->allocation.id] = effect->allocation;
    if (effect->allocation.job_id) {
        if (effect->allocation.id > bed->job_run[effect->allocation.job_id])
            bed->job_run[effect->allocation.job_id] = effect->allocation.id;
        return;
    }
    if (effect->allocation.id > bed->run_of[effect->allocation.trial_id])
        bed->run_of[effect->allocation.trial_id] = effect->allocation.id;
}

static inline det_status bed_try(struct bed *bed, const struct core_event *event)
{
    det_status st;

    arena_clear(&bed->mem);
    bed->out = (struct core_out){.mem = &bed->mem};
    bed->err = (struct err){0};
    st = core_apply(bed->core, event, bed->now_us, &bed->out, &bed->err);
    if (st)
        CHECK_EQ(bed->out.count, 0);
    for (uint32_t i = 0; i < bed->out.count; i++)
        bed_note(bed, &bed->out.effect[i]);
    CHECK_OK(core_check(bed->core, &test_err));
    return st;
}

static inline void bed_do(struct bed *bed, const struct core_event *event)
{
    det_status st = bed_try(bed, event);

    if (st)
        fail_msg("event %d: %s", (int)event->kind, bed->err.text);
}

/* ---- looking --------------------------------------------------------------------- */

static inline uint32_t bed_count(const struct bed *bed, enum core_effect_kind kind)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < bed->out.count; i++)
        count += bed->out.effect[i].kind == kind;
    return count;
}

static inline bool bed_logs(const struct bed *bed, const char *part)
{
    for (uint32_t i = 0; i < bed->out.count; i++)
        if (bed->out.effect[i].kind == EFFECT_TASK_LOG &&
            strstr(bed->out.effect[i].log.text, part))
            return true;
    return false;
}

/* The latest run of a trial, or 0. */
static inline int64_t bed_run(const struct bed *bed, int64_t trial)
{
    return bed->run_of[trial];
}

static inline enum allocation_state bed_run_state(const struct bed *bed, int64_t trial)
{
    return (enum allocation_state)bed->allocation[bed->run_of[trial]].state;
}

#endif
