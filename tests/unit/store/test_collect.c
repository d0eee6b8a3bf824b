/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting checkpoints: one trial at a time must agree with the rule applied to
 * all. */
#include "model/checkpoint_keep.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/collect.h"
#include "store/checkpoint/removal.h"
#include "store/engine/db.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_continue.h"
#include "store/experiment/experiment_delete.h"
#include "store/experiment/experiment_edit.h"
#include "store/experiment/trial.h"
#include "store/metric/validation.h"
#include "store/sql_tables.h"
#include "store/task/allocation.h"
#include "tests/support/checkpoint_top.h"
#include "tests/unit/store/world.h"

#define CONFIG(policy, smaller)                                                        \
    "{\"name\":\"x\",\"hyperparameters\":{},\"searcher\":{\"name\":\"random\","        \
    "\"metric\":\"loss\",\"smaller_is_better\":" smaller "},\"checkpoint_storage\":{"  \
    "\"type\":\"shared_fs\",\"host_path\":\"/ck\"," policy "}}"
#define POLICY(e, b, l)                                                                \
    "\"save_experiment_best\":" #e ",\"save_trial_best\":" #b                          \
    ",\"save_trial_latest\":" #l

static const struct collect_place place = {.now_us = 1000};

static void save(struct world *w, const char *uuid, int64_t trial, int64_t steps)
{
    struct checkpoint row = {.uuid = uuid,
                             .task_id = "t",
                             .allocation_id = "t.1",
                             .trial_id = trial,
                             .experiment_id = 1,
                             .state = CHECKPOINT_COMPLETED,
                             .steps_completed = steps,
                             .metadata = "{}",
                             .resources = "{\"a\":\"10\"}",
                             .size_bytes = 10,
                             .report_us = steps};
    struct trial trial_row = a_trial(trial, 1);
    bool is_new;

    CHECK_OK(store_checkpoint_add(w->db, &row, &is_new, &test_err));
    trial_row.latest_checkpoint = uuid;
    trial_row.latest_steps = steps;
    CHECK_OK(store_trial_put(w->db, &trial_row, &test_err));
}

static void validate(struct world *w, int64_t trial, int64_t steps, double loss)
{
    struct json *metrics =
        parse(&w->mem, arena_printf(&w->mem, "{\"loss\":%.4f}", loss));

    CHECK_OK(
        store_validation_add(w->db, trial, steps, steps, metrics, &w->mem, &test_err));
}

static void end_trial(struct world *w, int64_t trial)
{
    struct trial row = a_trial(trial, 1);

    row.state = TRIAL_COMPLETED;
    CHECK_OK(store_trial_put(w->db, &row, &test_err));
}

static void collect(struct world *w)
{
    int64_t experiment = 1;
    bool is_due;

    while (experiment)
        CHECK_OK(store_collect_step(w->db, &place, &experiment, &test_err));
    CHECK_OK(store_collect_is_due(w->db, &is_due, &test_err));
    CHECK(!is_due);
}

static enum checkpoint_state state_of(struct world *w, const char *uuid)
{
    struct checkpoint row;

    CHECK_OK(store_checkpoint_get(w->db, uuid, &w->mem, &row, &test_err));
    return row.state;
}

static void open_with(struct world *w, const char *config, int64_t trials)
{
    world_init(w, true);
    add_experiment(w, 1, config);
    for (int64_t i = 1; i <= trials; i++)
        add_trial(w, i, 1);
}

TEST(what_is_no_longer_best_nor_last_goes_while_the_trial_runs)
{
    struct world w;

    open_with(&w, CONFIG(POLICY(0, 1, 1), "true"), 1);
    save(&w, "a", 1, 10);
    validate(&w, 1, 10, 0.5);
    save(&w, "b", 1, 20);
    collect(&w);
    CHECK_EQ(state_of(&w, "a"), CHECKPOINT_COMPLETED);
    validate(&w, 1, 20, 0.4);
    collect(&w);
    CHECK_EQ(state_of(&w, "a"), CHECKPOINT_DELETING);
    CHECK_EQ(state_of(&w, "b"), CHECKPOINT_COMPLETED);
    world_done(&w);
}

TEST(whoever_is_pushed_out_of_the_experiments_best_goes)
{
    struct world w;

    open_with(&w, CONFIG(POLICY(1, 0, 0), "false"), 3);
    for (int64_t t = 1; t <= 3; t++) {
        const char *uuid = arena_printf(&w.mem, "u%d", (int)t);

        save(&w, uuid, t, 10);
        validate(&w, t, 10, 0.1 * (double)t); /* larger is better: each is a new best */
        end_trial(&w, t);
        collect(&w);
        CHECK_EQ(state_of(&w, uuid), CHECKPOINT_COMPLETED);
    }
    CHECK_EQ(state_of(&w, "u1"), CHECKPOINT_DELETING);
    CHECK_EQ(state_of(&w, "u2"), CHECKPOINT_DELETING);
    CHECK_EQ(count_of(w.db, "checkpoints WHERE is_top"), 1);
    world_done(&w);
}

TEST(held_ones_stay_and_those_that_go_can_not_be_held)
{
    struct world w;

    open_with(&w, CONFIG(POLICY(0, 0, 0), "true"), 1);
    save(&w, "a", 1, 10);
    save(&w, "b", 1, 20);
    CHECK_OK(store_checkpoint_hold(w.db, "a", &test_err));
    end_trial(&w, 1);
    collect(&w);
    CHECK_EQ(state_of(&w, "a"), CHECKPOINT_COMPLETED);
    CHECK_EQ(state_of(&w, "b"), CHECKPOINT_DELETING);
    CHECK_EQ(store_checkpoint_hold(w.db, "b", &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "it is DELETING");
    CHECK_EQ(store_checkpoint_hold(w.db, "c", &test_err), DET_NOT_FOUND);
    CHECK_OK(db_exec(w.db, "UPDATE experiments SET state = 'DELETING'", &test_err));
    CHECK_EQ(store_checkpoint_hold(w.db, "a", &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "it is deleted with its experiment");
    world_done(&w);
}

TEST(a_patched_policy_is_applied_to_all_trials_and_can_be_previewed)
{
    struct experiment_patch patch = {.has_gc = true,
                                     .save_experiment_best = 0,
                                     .save_trial_best = 1,
                                     .save_trial_latest = 0};
    struct collect_preview preview = {0, 1, 0};
    struct field_strs names = {0};
    struct world w;

    open_with(&w, CONFIG(POLICY(0, 9, 9), "true"), 600);
    for (int64_t t = 1; t <= 600; t += 7)
        for (int64_t s = 1; s <= 2; s++) {
            save(&w, arena_printf(&w.mem, "u%d-%d", (int)t, (int)s), t, s);
            validate(&w, t, s, 1.0 / (double)s);
            if (s == 2)
                end_trial(&w, t);
        }
    collect(&w);
    CHECK_EQ(count_of(w.db, "removals"), 0);
    CHECK_OK(store_collect_preview(w.db, 1, &preview, &w.mem, &names, &test_err));
    CHECK_EQ(names.count, 86);
    CHECK_OK(store_experiment_patch(w.db, 1, &patch, &w.mem, &test_err));
    collect(&w);
    CHECK_EQ(count_of(w.db, "removals"), 86);
    CHECK_EQ(count_of(w.db, "checkpoints WHERE state = 'DELETING'"), 86);
    CHECK_EQ(state_of(&w, "u1-1"), CHECKPOINT_DELETING);
    CHECK_EQ(state_of(&w, "u1-2"), CHECKPOINT_COMPLETED);
    world_done(&w);
}

TEST(a_removal_is_done_once_and_a_failed_one_waits_longer_each_time)
{
    struct removal_group *groups;
    struct experiment_view view;
    struct removal row = {0};
    struct removal *rows;
    struct world w;
    uint32_t count;
    bool is_news, found;

    open_with(&w, CONFIG(POLICY(0, 0, 0), "true"), 1);
    save(&w, "a", 1, 10);
    end_trial(&w, 1);
    collect(&w);
    CHECK_OK(store_removal_groups(w.db, 1000, &w.mem, &groups, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK(groups[0].is_shared);
    CHECK_STR(groups[0].resource_pool, "default");
    CHECK_OK(store_removals_of(w.db, groups, 1000, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].uuid, "a");
    CHECK_OK(store_removal_failed(w.db, "a", "no way", 1000, &is_news, &test_err));
    CHECK(is_news);
    CHECK_OK(store_removal_groups(w.db, 1000, &w.mem, &groups, &count, &test_err));
    CHECK_EQ(count, 0);
    CHECK_OK(store_removal_failed(w.db, "a", "no way", 1000, &is_news, &test_err));
    CHECK(!is_news);
    CHECK_OK(store_removal_get(w.db, "a", &w.mem, &row, &found, &test_err));
    CHECK(found);
    CHECK_EQ(row.next_us, 1000 + 20 * 1000000);
    CHECK_STR(row.error, "no way");
    CHECK_OK(store_removal_done(w.db, "a", &test_err));
    CHECK_OK(store_removal_done(w.db, "a", &test_err));
    CHECK_OK(store_removal_failed(w.db, "a", "no way", 1000, &is_news, &test_err));
    CHECK(!is_news);
    CHECK_EQ(state_of(&w, "a"), CHECKPOINT_DELETED);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_EQ(view.checkpoint_count, 0);
    CHECK_EQ(view.checkpoint_size, 0);
    world_done(&w);
}

TEST(by_hand_anything_goes_but_what_a_live_trial_resumes_from)
{
    struct removal_state left = {0};
    struct world w;
    bool did;

    open_with(&w, CONFIG(POLICY(0, 1, 1), "true"), 1);
    save(&w, "a", 1, 10);
    save(&w, "b", 1, 20);
    CHECK_OK(store_checkpoint_remove(w.db, "a", &place, &test_err));
    CHECK_OK(store_checkpoint_remove(w.db, "a", &place, &test_err));
    CHECK_EQ(store_checkpoint_remove(w.db, "b", &place, &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "trial 1 is not over");
    CHECK_EQ(store_checkpoint_may_remove(w.db, "c", &test_err), DET_NOT_FOUND);
    CHECK_OK(store_removal_state(w.db, 1, &w.mem, &left, &test_err));
    CHECK_EQ(left.unmarked, 1);
    CHECK_EQ(left.left, 1);
    CHECK_OK(store_experiment_remove_step(w.db, 1, &place, &did, &test_err));
    CHECK(did);
    CHECK_OK(store_experiment_remove_step(w.db, 1, &place, &did, &test_err));
    CHECK(!did);
    CHECK_OK(store_removal_state(w.db, 1, &w.mem, &left, &test_err));
    CHECK_EQ(left.unmarked, 0);
    CHECK_EQ(left.left, 1);
    world_done(&w);
}

static void add_plan(struct world *w, const struct sql *sql, struct buf *out)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query_text(
        w->db, arena_printf(&w->mem, "EXPLAIN QUERY PLAN %s", sql->text), &test_err);

    while (db_next(&q)) {
        for (int i = 0; i < 3; i++)
            (void)db_col_i64(&q);
        buf_printf(out, "%s\n", db_col_str(&q, &w->mem));
    }
    CHECK_OK(q.status);
}

/* The cost must not depend on the number of other removals and trials. */
TEST(removing_and_deleting_read_no_more_than_they_touch)
{
    extern const struct sql_table removal_sql_table, experiment_delete_sql_table;
    CLEANUP(buf_done) struct buf removing = BUF_INIT;
    CLEANUP(buf_done) struct buf deleting = BUF_INIT;
    struct world w;

    world_init(&w, true);
    for (size_t i = 0; i < removal_sql_table.count; i++)
        add_plan(&w, &removal_sql_table.sql[i], &removing);
    for (size_t i = 0; i < experiment_delete_sql_table.count; i++)
        add_plan(&w, &experiment_delete_sql_table.sql[i], &deleting);
    CHECK(!strstr(removing.data, "ORDER BY"));
    CHECK(!strstr(removing.data, "checkpoints_by_experiment"));
    CHECK(!strstr(deleting.data, "allocations_by_experiment"));
    CHECK(!strstr(deleting.data, "SCAN allocations"));
    world_done(&w);
}

TEST(storage_on_the_masters_own_disk_is_nobody_elses)
{
    struct collect_place here = {.local_directory = "/ck"};
    struct removal row = {0};
    struct world w;
    bool found;

    open_with(&w, CONFIG(POLICY(0, 1, 1), "true"), 1);
    save(&w, "a", 1, 10);
    save(&w, "b", 1, 20);
    CHECK_OK(store_checkpoint_remove(w.db, "a", &here, &test_err));
    CHECK_OK(store_removal_get(w.db, "a", &w.mem, &row, &found, &test_err));
    CHECK(found && !row.is_shared);
    world_done(&w);
}

TEST(a_run_that_ended_badly_is_swept_after)
{
    struct allocation run = {.id = 1,
                             .trial_id = 1,
                             .experiment_id = 1,
                             .task_id = "t",
                             .name = "t.1",
                             .run_id = 3,
                             .state = ALLOCATION_RUNNING};
    struct share share = {.allocation_id = 1, .agent_id = 1, .agent = "a1"};
    struct sweep *rows;
    uint32_t count;
    struct world w;

    open_with(&w, CONFIG(POLICY(0, 1, 1), "true"), 1);
    CHECK_OK(store_allocation_put(w.db, &run, &test_err));
    CHECK_OK(store_share_put(w.db, &share, &test_err));
    run.state = ALLOCATION_TERMINATED;
    run.exit = EXIT_CLEAN;
    CHECK_OK(store_allocation_put(w.db, &run, &test_err));
    CHECK_EQ(count_of(w.db, "sweeps"), 0);
    run.exit = EXIT_KILLED;
    CHECK_OK(store_allocation_put(w.db, &run, &test_err));
    CHECK_OK(store_sweeps_of(w.db, "a1", 1000, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_EQ(rows[0].trial_id, 1);
    CHECK_EQ(rows[0].run_id, 3);
    rows[0].next_us = 2000;
    CHECK_OK(store_sweep_done(w.db, &rows[0], &test_err));
    CHECK_OK(store_sweeps_of(w.db, NULL, 1000, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 0);
    CHECK_OK(store_sweeps_of(w.db, NULL, 2000, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    rows[0].next_us = 0;
    CHECK_OK(store_sweep_done(w.db, &rows[0], &test_err));
    CHECK_EQ(count_of(w.db, "sweeps"), 0);
    world_done(&w);
}

/* ---- random histories ------------------------------------------------------------ */

enum { TRIALS = 5, SAVES = 40 };

struct model {
    struct checkpoint_keep_item item[SAVES];
    size_t count;
    int64_t steps[TRIALS + 1];
    struct checkpoint_keep_policy policy;
};

static void end_as_the_rule_says(struct world *w, struct model *m, uint32_t seed)
{
    checkpoint_mark_top(&m->policy, m->item, m->count);
    for (int64_t t = 1; t <= TRIALS; t++) {
        struct checkpoint_keep_item mine[SAVES];
        struct checkpoint_keep_trial over = {0};
        size_t count = 0;

        for (size_t i = 0; i < m->count; i++)
            if (m->item[i].trial_id == t)
                mine[count++] = m->item[i];
        checkpoint_keep_judge(&m->policy, &over, mine, count);
        for (size_t i = 0; i < count; i++) {
            bool is_going = state_of(w, mine[i].uuid) == CHECKPOINT_DELETING;

            if (is_going != mine[i].may_go)
                fail_msg("seed %u: %s of trial %d %s", seed, mine[i].uuid, (int)t,
                         is_going ? "was lost" : "is left over");
        }
    }
}

TEST(collecting_by_and_by_ends_like_collecting_at_the_end)
{
    for (uint32_t seed = 1; seed <= 25; seed++) {
        struct rng rng;
        struct world w;
        struct model m = {0};

        rng_seed(&rng, seed);
        m.policy = (struct checkpoint_keep_policy){
            rng_u32(&rng) % 4, rng_u32(&rng) % 3, rng_u32(&rng) % 3, rng_u32(&rng) % 2};
        world_init(&w, true);
        add_experiment(
            &w, 1,
            arena_printf(&w.mem,
                         CONFIG("\"save_experiment_best\":%u,\"save_trial_best\":%u,"
                                "\"save_trial_latest\":%u",
                                "%s"),
                         m.policy.smaller_is_better ? "true" : "false",
                         m.policy.experiment_best, m.policy.trial_best,
                         m.policy.trial_latest));
        for (int64_t t = 1; t <= TRIALS; t++)
            add_trial(&w, t, 1);
        while (m.count < SAVES) {
            struct checkpoint_keep_item *item = &m.item[m.count];
            int64_t t = 1 + rng_u32(&rng) % TRIALS;

            *item = (struct checkpoint_keep_item){
                .uuid = arena_printf(&w.mem, "u%u-%zu", rng_u32(&rng), m.count),
                .trial_id = t,
                .steps = ++m.steps[t],
                .report_us = m.steps[t]};
            save(&w, item->uuid, t, item->steps);
            if (rng_u32(&rng) % 4) {
                item->has_metric = true;
                item->metric = (rng_u32(&rng) % 8) / 8.0;
                validate(&w, t, item->steps, item->metric);
            }
            m.count++;
            if (rng_u32(&rng) % 3 == 0)
                collect(&w);
        }
        for (int64_t t = 1; t <= TRIALS; t++)
            end_trial(&w, t);
        collect(&w);
        end_as_the_rule_says(&w, &m, seed);
        world_done(&w);
    }
}

TEST(running_out_of_memory_leaves_the_decision_for_later)
{
    struct world w;

    open_with(&w, CONFIG(POLICY(1, 1, 1), "true"), 2);
    for (int64_t s = 1; s <= 4; s++) {
        save(&w, arena_printf(&w.mem, "u%d", (int)s), 1, s);
        validate(&w, 1, s, 0.1 * (double)s);
    }
    end_trial(&w, 1);
    EACH_ALLOCATION_FAILS() {
        struct err err = {0};
        int64_t experiment;

        CHECK_OK(db_begin(w.db, &test_err));
        if (!store_collect_step(w.db, &place, &experiment, &err))
            CHECK_EQ(experiment, 1);
        db_rollback(w.db);
    }
    collect(&w);
    CHECK_EQ(count_of(w.db, "removals"), 2);
    world_done(&w);
}

/* ---- going on -------------------------------------------------------------------- */

TEST_ON_BOTH(what_goes_on_is_what_had_ended_and_nothing_else)
{
    struct experiment_texts texts = {.name = "longer"};
    struct experiment_view view;
    struct experiment row;
    struct world w;

    world_init(&w, is_memory);
    add_experiment(&w, 1, CONFIG(POLICY(0, 1, 1), "true"));
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    row = view.row;
    row.config = CONFIG(POLICY(0, 0, 0), "true");
    row.original_config = "name: y\n";
    CHECK_EQ(store_experiment_continue(w.db, &row, 0, &texts, &test_err), DET_STATE);

    row.state = EXPERIMENT_CANCELED;
    row.end_us = 70;
    CHECK_OK(store_experiment_put(w.db, &row, &test_err));
    row.state = EXPERIMENT_ACTIVE;
    row.end_us = 0;
    CHECK_EQ(store_experiment_continue(w.db, &row, 60, &texts, &test_err), DET_STATE);
    CHECK_HAS(test_err.text, "continued meanwhile");
    CHECK_OK(store_experiment_continue(w.db, &row, 70, &texts, &test_err));
    CHECK_EQ(store_experiment_continue(w.db, &row, 70, &texts, &test_err), DET_STATE);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.state, EXPERIMENT_ACTIVE);
    CHECK_EQ(view.row.end_us, 0);
    CHECK_STR(view.row.config, row.config);
    CHECK_STR(view.row.original_config, "name: y\n");
    CHECK_STR(view.name, "longer");
    CHECK_STR(view.labels, "[\"a\",\"b\"]");

    row.state = EXPERIMENT_COMPLETED;
    row.end_us = 90;
    CHECK_OK(store_experiment_put(w.db, &row, &test_err));
    CHECK_OK(store_experiment_set_deleting(w.db, 1, &test_err));
    row.state = EXPERIMENT_ACTIVE;
    CHECK_EQ(store_experiment_continue(w.db, &row, 90, &texts, &test_err), DET_STATE);
    world_done(&w);
}

TEST(a_trial_goes_on_from_the_last_that_is_still_there)
{
    const char *uuid = "";
    struct trial *past;
    uint32_t count;
    struct world w;

    world_init(&w, true);
    add_experiment(&w, 1, CONFIG(POLICY(0, 1, 0), "true"));
    add_trial(&w, 1, 1);
    add_trial(&w, 2, 1);
    save(&w, "u1", 1, 10);
    validate(&w, 1, 10, 0.1);
    save(&w, "u2", 1, 20);
    validate(&w, 1, 20, 0.9);
    end_trial(&w, 1);
    collect(&w);
    CHECK_EQ(state_of(&w, "u2"), CHECKPOINT_DELETING);

    CHECK_OK(store_experiment_past(w.db, 1, &w.mem, &past, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_STR(past[0].latest_checkpoint, "u1");
    CHECK_EQ(past[0].latest_steps, 10);
    CHECK(past[1].latest_checkpoint == NULL);
    CHECK_EQ(past[1].latest_steps, 0);
    CHECK_OK(store_trial_still_there(w.db, 1, &w.mem, &uuid, &test_err));
    CHECK_STR(uuid, "u1");
    CHECK_OK(store_trial_still_there(w.db, 2, &w.mem, &uuid, &test_err));
    CHECK(uuid == NULL);
    CHECK_EQ(store_trial_still_there(w.db, 9, &w.mem, &uuid, &test_err), DET_NOT_FOUND);
    world_done(&w);
}
