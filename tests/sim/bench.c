/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - the core under load: a thousand agents of eight slots, and live trials in
 * random searches of a hundred at a time.  Tasks start, report, checkpoint and end; each
 * end makes a new trial.  Only the core runs: effects are read for started tasks and then
 * dropped. */
#include "tests/sim/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "core/core.h"
#include "tests/support/core_view.h"

enum { AGENTS = 1000, SLOTS = 8, AT_ONCE = 100, WARM_UP = 50000, EVENTS = 400000 };

struct running {
    int64_t allocation;
    int64_t trial;
    int64_t run;
    uint32_t step;
};

struct bench {
    struct core *core;
    struct rng64 rng;
    struct arena mem;
    struct core_out out;
    int64_t now_us;
    int64_t journal_seq;
    uint64_t effects;
    VEC(struct running) running;
};

static void apply(struct bench *b, const struct core_event *event)
{
    struct err err = {0};

    arena_clear(&b->mem);
    b->out = (struct core_out){.mem = &b->mem};
    b->now_us += 1000;
    if (core_apply(b->core, event, b->now_us, &b->out, &err)) {
        printf("# %s\n", err.text);
        abort();
    }
    b->effects += b->out.count;
    for (uint32_t i = 0; i < b->out.count; i++) {
        const struct core_effect *effect = &b->out.effect[i];
        struct running it = {0};

        if (effect->kind != EFFECT_START || effect->share.rank)
            continue;
        it.allocation = effect->share.allocation_id;
        it.trial = core_allocation(b->core, it.allocation)->trial_id;
        it.run = core_allocation(b->core, it.allocation)->run_id;
        if (!vec_push(&b->running, it))
            abort();
    }
}

static void join(struct bench *b, uint32_t i)
{
    char name[32];
    struct core_event event = {.kind = EVENT_AGENT_JOINED};

    snprintf(name, sizeof(name), "agent-%u", i);
    event.agent_joined.name = name;
    event.agent_joined.resource_pool = "default";
    event.agent_joined.devices = "[]";
    event.agent_joined.addresses = "[]";
    event.agent_joined.slots = SLOTS;
    event.agent_joined.boot_id = "boot";
    event.agent_joined.version = "0.1.0";
    apply(b, &event);
}

static void submit(struct bench *b, uint32_t i)
{
    static const int slots[] = {1, 1, 1, 2, 4, 8};
    char text[1024];
    struct core_event event = {.kind = EVENT_EXPERIMENT_SUBMITTED};

    snprintf(
        text, sizeof(text),
        "{\"name\":\"bench\",\"searcher\":{\"name\":\"random\",\"metric\":\"loss\","
        "\"max_trials\":100000000,\"max_concurrent_trials\":%d},"
        "\"hyperparameters\":{\"lr\":{\"type\":\"log\",\"base\":10,\"minval\":-5,"
        "\"maxval\":-1},\"units\":{\"type\":\"int\",\"minval\":1,\"maxval\":512}},"
        "\"checkpoint_storage\":{\"type\":\"shared_fs\"},\"max_restarts\":5,"
        "\"resources\":{\"slots_per_trial\":%d,\"priority\":%d},"
        "\"reproducibility\":{\"experiment_seed\":%u}}",
        AT_ONCE, slots[i % ARRAY_LEN(slots)], 40 + (int)(i % 3), i);
    event.submitted.job_id = "job";
    event.submitted.config = text;
    event.submitted.original_config = "";
    event.submitted.activate = true;
    apply(b, &event);
}

/* The next event of some running task; the last is its end. */
static void step(struct bench *b)
{
    size_t at = (size_t)rng64_below(&b->rng, b->running.count);
    struct running *it = &b->running.at[at];
    struct core_event event = {0};

    switch (it->step++) {
    case 0:
    case 1:
        event.kind = EVENT_SHARE_STATE;
        event.share_state.allocation_id = it->allocation;
        event.share_state.state =
            it->step == 1 ? ALLOCATION_PULLING : ALLOCATION_RUNNING;
        break;
    case 2:
    case 4:
        event.kind = EVENT_PROGRESS;
        event.progress.trial_id = it->trial;
        event.progress.progress = it->step / 8.0;
        break;
    case 3:
    case 5:
        event.kind = EVENT_VALIDATED;
        event.journal_seq = ++b->journal_seq;
        event.validated.trial_id = it->trial;
        event.validated.run_id = it->run;
        event.validated.metrics = "{\"loss\":0.125,\"accuracy\":0.75}";
        break;
    case 6:
        event.kind = EVENT_CHECKPOINTED;
        event.journal_seq = ++b->journal_seq;
        event.checkpointed.trial_id = it->trial;
        event.checkpointed.run_id = it->run;
        event.checkpointed.uuid = "6b4c3c3e-3c6d-4a69-9d0e-0c4a8f3d7d11";
        event.checkpointed.steps = 100;
        break;
    default:
        event.kind = EVENT_SHARE_EXITED;
        event.journal_seq = ++b->journal_seq;
        event.share_exited.allocation_id = it->allocation;
        event.share_exited.exit = rng64_below(&b->rng, 10) ? EXIT_CLEAN : EXIT_FAILED;
        vec_swap_out(&b->running, at);
        break;
    }
    apply(b, &event);
}

static double measure(uint32_t trials)
{
    struct core_pool pool = {.name = "default",
                             .config = {.policy = "priority", .max_aux_per_agent = 100},
                             .default_priority = 42,
                             .agent_reconnect_wait_us = 25000000};
    struct core_config config = {.pool = &pool,
                                 .pool_count = 1,
                                 .default_compute_pool = "default",
                                 .default_aux_pool = "default",
                                 .preemption_timeout_us = 3600000000,
                                 .snapshot_every = 256};
    struct bench b = {.mem = ARENA_INIT(1 << 28), .now_us = 1700000000000000};
    int64_t from_us;
    double seconds;

    if (core_new(&config, &b.core, NULL))
        abort();
    for (uint32_t i = 0; i < AGENTS; i++)
        join(&b, i);
    for (uint32_t i = 0; i < trials / AT_ONCE; i++)
        submit(&b, i);
    for (uint32_t i = 0; i < WARM_UP; i++)
        step(&b);
    b.effects = 0;
    from_us = clock_system.mono_us(&clock_system);
    for (uint32_t i = 0; i < EVENTS; i++)
        step(&b);
    seconds = (double)(clock_system.mono_us(&clock_system) - from_us) / 1e6;
    printf("%7u trials, %d agents x %d slots: %9.0f events/s (%.1f effects an event)\n",
           trials, AGENTS, SLOTS, EVENTS / seconds, (double)b.effects / EVENTS);
    fflush(stdout);
    core_free(b.core);
    vec_done(&b.running);
    arena_done(&b.mem);
    return seconds;
}

int bench_run(void)
{
    double few = measure(1000);
    double many = measure(100000);

    printf("an event with 100000 trials costs %.2f times one with 1000\n", many / few);
    return 0;
}
