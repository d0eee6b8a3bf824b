/* SPDX-License-Identifier: Apache-2.0 */
/* test_restart.c - a sequence of many kinds of events, repeated: with each allocation
 * failing in turn, and with a restart after each event.  The restored core must equal the
 * committed one, and the sequence must end the same way. */
#include "base/memory/buf.h"
#include "core/core_check.h"
#include "tests/sim/store.h"
#include "tests/support/core_view.h"
#include "tests/unit/core/fixture.h"

static struct core_event joined(const char *name, int64_t slots)
{
    struct core_event event = {.kind = EVENT_AGENT_JOINED};

    event.agent_joined.name = name;
    event.agent_joined.resource_pool = "compute";
    event.agent_joined.devices = "[]";
    event.agent_joined.addresses = "[]";
    event.agent_joined.slots = slots;
    event.agent_joined.boot_id = "boot";
    event.agent_joined.version = "0.1.0";
    return event;
}

static struct core_event submitted(const char *config, bool activate)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_SUBMITTED};

    event.submitted.job_id = "job";
    event.submitted.config = config;
    event.submitted.original_config = "name: test\n";
    event.submitted.warm_start = "warm";
    event.submitted.activate = activate;
    return event;
}

static struct core_event exited(int64_t allocation, int64_t rank, enum exit_kind exit,
                                int64_t journal_seq)
{
    struct core_event event = {.kind = EVENT_SHARE_EXITED, .journal_seq = journal_seq};

    event.share_exited.allocation_id = allocation;
    event.share_exited.rank = rank;
    event.share_exited.exit = exit;
    event.share_exited.code = exit == EXIT_FAILED;
    return event;
}

static struct core_event state(int64_t allocation, int64_t rank)
{
    struct core_event event = {.kind = EVENT_SHARE_STATE};

    event.share_state.allocation_id = allocation;
    event.share_state.rank = rank;
    event.share_state.state = ALLOCATION_RUNNING;
    return event;
}

static struct core_event action(int64_t experiment, enum experiment_action what)
{
    struct core_event event = {.kind = EVENT_EXPERIMENT_ACTION};

    event.action.experiment_id = experiment;
    event.action.action = what;
    return event;
}

static struct core_event agent(enum core_event_kind kind, const char *name)
{
    struct core_event event = {.kind = kind};

    event.agent.name = name;
    return event;
}

#define CONFIG(searcher, slots)                                                        \
    "{\"name\":\"t\",\"searcher\":" searcher                                           \
    ",\"hyperparameters\":{\"x\":{\"type\":\"int\",\"minval\":1,\"maxval\":9,"         \
    "\"count\":2}},\"checkpoint_storage\":{\"type\":\"shared_fs\"},\"max_restarts\":"  \
    "1,"                                                                               \
    "\"resources\":{\"slots_per_trial\":" #slots "}}"

enum { STORY_MOST = 64 };

/* A trial on several agents and a search with two trials at a time; every kind of event
 * happens to them. */
static size_t tell(struct core_event story[STORY_MOST])
{
    static const char gang[] = CONFIG("{\"name\":\"single\"}", 8);
    static const char search[] = CONFIG(
        "{\"name\":\"grid\",\"max_concurrent_trials\":2,\"metric\":\"loss\"}", 1);
    int64_t journal = 0;
    size_t n = 0;

    story[n++] = joined("a", 4);
    story[n++] = joined("b", 4);
    story[n++] = submitted(gang, true);
    story[n++] = submitted(search, false);
    story[n++] = action(2, ACTION_ACTIVATE);
    story[n++] = state(1, 0);
    story[n++] = state(1, 1);
    story[n] = (struct core_event){.kind = EVENT_PROGRESS};
    story[n].progress.trial_id = 1;
    story[n++].progress.progress = 0.5;
    story[n] =
        (struct core_event){.kind = EVENT_CHECKPOINTED, .journal_seq = ++journal};
    story[n].checkpointed.trial_id = 1;
    story[n].checkpointed.run_id = 1;
    story[n].checkpointed.uuid = "checkpoint";
    story[n++].checkpointed.steps = 10;
    story[n] = (struct core_event){.kind = EVENT_LOG_POLICY};
    story[n].log_policy.trial_id = 2;
    story[n++].log_policy.exclude_agent = "a";
    story[n++] = agent(EVENT_AGENT_SILENT, "b");
    story[n++] = agent(EVENT_AGENT_TASKS_HEARD, "b");
    story[n++] = (struct core_event){.kind = EVENT_STARTED};
    story[n] = (struct core_event){.kind = EVENT_CLOCK_JUMPED};
    story[n++].clock_jumped.by_us = -3600 * (int64_t)1000000;
    story[n++] = exited(1, 0, EXIT_KILLED, ++journal);
    story[n++] = joined("b", 4);
    story[n] = (struct core_event){.kind = EVENT_SLOT_ENABLE};
    story[n].slot_enable.name = "b";
    story[n].slot_enable.slot = 2;
    story[n++].slot_enable.drains = true;
    story[n] = (struct core_event){.kind = EVENT_EXPERIMENT_RESOURCES};
    story[n].resources.experiment_id = 2;
    story[n].resources.priority = 10;
    story[n++].resources.max_slots = 3;
    story[n] = (struct core_event){.kind = EVENT_VALIDATED, .journal_seq = ++journal};
    story[n].validated.trial_id = 2;
    story[n].validated.run_id = 1;
    story[n++].validated.metrics = "{\"loss\":0.25}";
    for (int64_t i = 2; i <= 3; i++)
        story[n++] = exited(i, 0, EXIT_FAILED, ++journal);
    story[n++] = action(1, ACTION_PAUSE);
    story[n++] = action(2, ACTION_CANCEL);
    for (int64_t i = 2; i <= 8; i++)
        story[n++] = exited(i, 0, EXIT_KILLED, ++journal);
    story[n++] = action(1, ACTION_CANCEL);
    return n;
}

struct life {
    struct bed bed;
    struct sim_store store;
};

static void begin(struct life *life)
{
    bed_init(&life->bed);
    life->bed.config.snapshot_every = 3;
    sim_store_init(&life->store);
    bed_open(&life->bed);
}

static void end(struct life *life)
{
    sim_store_done(&life->store);
    bed_done(&life->bed);
}

/* Frees the core; its rows must give an equal one. */
static void restart(struct life *life, const char *committed)
{
    CLEANUP(buf_done) struct buf restored = BUF_INIT;
    struct bed *bed = &life->bed;

    core_free(bed->core);
    bed->core = NULL;
    arena_clear(&bed->mem);
    bed->out = (struct core_out){.mem = &bed->mem};
    CHECK_OK(sim_store_restore(&life->store, &bed->config, bed->now_us, &bed->core,
                               &bed->out, &test_err));
    CHECK_OK(core_check(bed->core, &test_err));
    core_dump(bed->core, &restored);
    CHECK_STR(restored.data, committed);
}

static det_status apply(struct life *life, const struct core_event *event)
{
    struct bed *bed = &life->bed;

    arena_clear(&bed->mem);
    bed->out = (struct core_out){.mem = &bed->mem};
    return core_apply(bed->core, event, bed->now_us, &bed->out, &test_err);
}

static void commit(struct life *life)
{
    sim_store_commit(&life->store, &life->bed.out);
    CHECK_STR(life->store.why, "");
    CHECK_OK(core_check(life->bed.core, &test_err));
    life->bed.now_us += SECOND_US;
}

TEST(after_every_event_the_rows_give_the_same_heart_again)
{
    struct core_event story[STORY_MOST];
    size_t count = tell(story);
    struct life life;

    begin(&life);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_done) struct buf committed = BUF_INIT;

        CHECK_OK(apply(&life, &story[i]));
        commit(&life);
        core_dump(life.bed.core, &committed);
        restart(&life, committed.data);
    }
    end(&life);
}

/* Whether a program can work at all is known from the rows: what an earlier run did counts
 * after a restart, too. */
TEST(a_restored_heart_knows_that_an_earlier_run_made_progress)
{
    static const char single[] =
        "{\"name\":\"t\",\"searcher\":{\"name\":\"single\",\"metric\":\"loss\"},"
        "\"hyperparameters\":{},\"checkpoint_storage\":{\"type\":\"shared_fs\"},"
        "\"max_restarts\":5,\"resources\":{\"slots_per_trial\":1}}";
    struct core_event story[] = {
        joined("a", 4),
        submitted(single, true),
        {.kind = EVENT_VALIDATED, .journal_seq = 1},
        exited(1, 0, EXIT_FAILED, 2),
        {.kind = EVENT_TICK}, /* the second run begins */
        exited(2, 0, EXIT_FAILED, 3),
    };
    struct life life;

    story[2].validated.trial_id = story[2].validated.run_id = 1;
    story[2].validated.metrics = "{\"loss\":0.25}";
    story[5].share_exited.code = 127; /* its command was not found, on this machine */
    story[5].share_exited.is_final = true;
    begin(&life);
    for (size_t i = 0; i < ARRAY_LEN(story); i++) {
        CLEANUP(buf_done) struct buf committed = BUF_INIT;

        CHECK_OK(apply(&life, &story[i]));
        commit(&life);
        core_dump(life.bed.core, &committed);
        restart(&life, committed.data);
    }
    CHECK(core_trial(life.bed.core, 1));
    CHECK_EQ(core_trial(life.bed.core, 1)->restarts, 2);
    end(&life);
}

/* Applies the event with each allocation failing in turn, until none does. */
static void apply_without_memory(struct life *life, const struct core_event *event)
{
    CLEANUP(buf_done) struct buf committed = BUF_INIT;
    det_status st = DET_NOMEM;

    core_dump(life->bed.core, &committed);
    for (int64_t nth = 1; st == DET_NOMEM; nth++) {
        fault_arm(FAULT_MEMORY, nth);
        st = apply(life, event);
        if (!fault_disarm(FAULT_MEMORY))
            CHECK_OK(st);
        else if (st)
            CHECK_EQ(st, DET_NOMEM);
        if (st)
            restart(life, committed.data);
    }
    commit(life);
}

TEST(without_memory_the_heart_is_thrown_away_and_nothing_is_lost)
{
    struct core_event story[STORY_MOST];
    size_t count = tell(story);
    CLEANUP(buf_done) struct buf plain = BUF_INIT;
    CLEANUP(buf_done) struct buf starved = BUF_INIT;
    struct life life;

    begin(&life);
    for (size_t i = 0; i < count; i++) {
        CHECK_OK(apply(&life, &story[i]));
        commit(&life);
    }
    core_dump(life.bed.core, &plain);
    end(&life);

    begin(&life);
    for (size_t i = 0; i < count; i++)
        apply_without_memory(&life, &story[i]);
    core_dump(life.bed.core, &starved);
    end(&life);

    CHECK_STR(starved.data, plain.data);
}

TEST(a_restore_that_runs_out_of_memory_leaves_nothing_behind)
{
    struct core_event story[STORY_MOST];
    struct life life;

    begin(&life);
    tell(story);
    for (size_t i = 0; i < 12; i++) {
        CHECK_OK(apply(&life, &story[i]));
        commit(&life);
    }
    for (int64_t nth = 1;; nth++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct core_out out = {.mem = &mem};
        struct core *core = NULL;
        det_status st;

        /* the lists of rows are made before the heart is */
        fault_arm(FAULT_MEMORY, nth + 40);
        st = sim_store_restore(&life.store, &life.bed.config, 0, &core, &out, NULL);
        if (!fault_disarm(FAULT_MEMORY)) {
            CHECK_OK(st);
            core_free(core);
            break;
        }
        if (!st) {
            core_free(core);
            continue;
        }
        CHECK_EQ(st, DET_NOMEM);
        CHECK_NULL(core);
    }
    end(&life);
}

TEST(orders_that_were_given_are_given_again)
{
    struct core_event story[STORY_MOST];
    CLEANUP(buf_done) struct buf committed = BUF_INIT;
    struct life life;

    begin(&life);
    tell(story);
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(apply(&life, &story[i]));
        commit(&life);
    }
    core_dump(life.bed.core, &committed);
    restart(&life, committed.data);
    CHECK_EQ(bed_count(&life.bed, EFFECT_START), 2);
    CHECK_EQ(life.bed.out.count, 2);
    for (size_t i = 3; i < 7; i++) {
        CHECK_OK(apply(&life, &story[i]));
        commit(&life);
    }
    buf_clear(&committed);
    core_dump(life.bed.core, &committed);
    restart(&life, committed.data);
    CHECK_EQ(life.bed.out.count, 0); /* it runs: nothing to do */
    for (int kills = 0; kills < 2; kills++) {
        struct core_event stop = action(1, kills ? ACTION_KILL : ACTION_PAUSE);

        CHECK_OK(apply(&life, &stop));
        commit(&life);
        buf_clear(&committed);
        core_dump(life.bed.core, &committed);
        restart(&life, committed.data);
        CHECK_EQ(bed_count(&life.bed, EFFECT_PREEMPT), !kills);
        CHECK_EQ(bed_count(&life.bed, EFFECT_KILL), kills ? 2 : 0);
    }
    end(&life);
}

TEST(rows_of_a_pool_that_is_gone_are_refused_in_a_sentence)
{
    struct core_event story[STORY_MOST];
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct core_out out = {.mem = &mem};
    struct core *core = NULL;
    struct core_config config;
    struct life life;

    begin(&life);
    tell(story);
    CHECK_OK(apply(&life, &story[0]));
    commit(&life);
    config = life.bed.config;
    config.pool = &life.bed.pool[1];
    config.pool_count = 1;
    config.default_compute_pool = "aux";

    CHECK_EQ(sim_store_restore(&life.store, &config, 0, &core, &out, &test_err),
             DET_INVALID);
    CHECK_HAS(test_err.text, "agent a is in resource pool compute");
    end(&life);
}
