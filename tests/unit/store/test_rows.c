/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c - experiments, trials, allocations, people, the journal: what is written
 * can be read. */
#include "store/checkpoint/checkpoint.h"
#include "store/experiment/experiment.h"
#include "store/experiment/experiment_delete.h"
#include "store/experiment/experiment_edit.h"
#include "store/experiment/search.h"
#include "store/experiment/trial.h"
#include "store/experiment/trial_load.h"
#include "store/experiment/trial_view.h"
#include "store/heart/alive.h"
#include "store/heart/journal.h"
#include "store/heart/mark.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/metric/validation.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "store/setting.h"
#include "store/task/agent.h"
#include "store/task/allocation.h"
#include "store/task/run_record.h"
#include "tests/unit/store/world.h"

TEST_ON_BOTH(an_experiment_comes_back_with_its_texts)
{
    struct world w;
    struct experiment_view view;
    struct buf files = BUF_INIT;

    world_init(&w, is_memory);
    add_experiment(&w, 3, SIMPLE_CONFIG);
    CHECK_OK(store_experiment_get(w.db, 3, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.id, 3);
    CHECK_EQ(view.row.state, EXPERIMENT_ACTIVE);
    CHECK_STR(view.row.config, SIMPLE_CONFIG);
    CHECK_STR(view.row.original_config, "name: x\n");
    CHECK_EQ(view.row.max_slots, -1);
    CHECK_STR(view.name, "an experiment");
    CHECK_STR(view.labels, "[\"a\",\"b\"]");
    CHECK_STR(view.searcher_type, "single");
    CHECK_STR(view.searcher_metric, "loss");
    CHECK(view.smaller_is_better);
    CHECK_EQ(view.log_retention_days, -2);
    CHECK_EQ(view.files_size, 3);
    CHECK_EQ(view.live_state, LIVE_QUEUED);
    CHECK_STR(view.username, "");
    CHECK_OK(store_experiment_files(w.db, 3, &files, &test_err));
    CHECK_STR(files.data, "tgz");
    CHECK_EQ(store_experiment_get(w.db, 4, &w.mem, &view, &test_err), DET_NOT_FOUND);
    CHECK_STR(test_err.text, "experiment '4' not found");
    buf_done(&files);
    world_done(&w);
}

TEST(the_heart_changes_its_columns_and_nothing_else)
{
    struct world w;
    struct experiment_view view;
    struct experiment row;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    row = view.row;
    row.state = EXPERIMENT_PAUSED;
    row.progress = 0.5;
    row.config = "{}";
    CHECK_OK(store_experiment_put(w.db, &row, &test_err));
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.state, EXPERIMENT_PAUSED);
    CHECK(view.row.progress == 0.5);
    CHECK_STR(view.row.config, SIMPLE_CONFIG);
    CHECK_STR(view.name, "an experiment");
    CHECK_EQ(view.live_state, LIVE_NONE);
    row.id = 9;
    CHECK_EQ(store_experiment_put(w.db, &row, &test_err), DET_NOT_FOUND);
    world_done(&w);
}

static void end_experiment(struct world *w, int64_t id, enum experiment_state state)
{
    struct experiment_view view;

    CHECK_OK(store_experiment_get(w->db, id, &w->mem, &view, &test_err));
    view.row.state = state;
    CHECK_OK(store_experiment_put(w->db, &view.row, &test_err));
}

TEST(people_edit_experiments)
{
    struct world w;
    struct experiment_view view;
    struct experiment_patch patch = {.name = "new",
                                     .labels = "[ \"x\" ]",
                                     .has_gc = true,
                                     .save_experiment_best = 3,
                                     .save_trial_best = -1,
                                     .save_trial_latest = 0,
                                     .has_log_retention = true,
                                     .log_retention_days = 7};

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    CHECK_OK(store_experiment_patch(w.db, 1, &patch, &w.mem, &test_err));
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_STR(view.name, "new");
    CHECK_STR(view.description, "tests");
    CHECK_STR(view.labels, "[\"x\"]");
    CHECK_EQ(view.log_retention_days, 7);
    CHECK_HAS(
        view.row.config,
        "\"checkpoint_storage\":{\"save_experiment_best\":3,\"save_trial_latest\":0}");
    patch.labels = "[";
    CHECK_EQ(store_experiment_patch(w.db, 1, &patch, &w.mem, &test_err), DET_INVALID);
    CHECK_EQ(store_experiment_patch(w.db, 2, &patch, &w.mem, &test_err), DET_NOT_FOUND);
    world_done(&w);
}

TEST(archiving_follows_the_states)
{
    struct world w;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    CHECK_EQ(store_experiment_archive(w.db, 1, true, &test_err), DET_STATE);
    CHECK_STR(test_err.text, "Experiment is not in terminal state: it is ACTIVE; wait "
                             "for its end, or stop it first");
    end_experiment(&w, 1, EXPERIMENT_COMPLETED);
    CHECK_EQ(store_experiment_archive(w.db, 1, false, &test_err), DET_STATE);
    CHECK_STR(test_err.text, "Experiment is not archived.");
    CHECK_OK(store_experiment_archive(w.db, 1, true, &test_err));
    CHECK_EQ(store_experiment_archive(w.db, 1, true, &test_err), DET_STATE);
    CHECK_STR(test_err.text, "Experiment is already archived.");
    CHECK_OK(store_experiment_archive(w.db, 1, false, &test_err));
    CHECK_EQ(store_experiment_archive(w.db, 2, true, &test_err), DET_NOT_FOUND);
    world_done(&w);
}

/* ---- lists
 * ---------------------------------------------------------------------------- */

static void list(struct world *w, struct experiment_query query, const char *want)
{
    struct experiment_view *rows;
    struct buf text = BUF_INIT;
    uint32_t count;

    query.scope.is_all = true;
    CHECK_OK(store_experiment_list(w->db, &query, &w->mem, &rows, &count, &test_err));
    for (uint32_t i = 0; i < count; i++)
        buf_printf(&text, "%s%d", i ? " " : "", (int)rows[i].row.id);
    buf_printf(&text, " %d-%d/%d", (int)query.page.start, (int)query.page.end,
               (int)query.page.total);
    CHECK_STR(text.data, want);
    buf_done(&text);
}

static void patch_text(struct world *w, int64_t id, const char *name,
                       const char *labels)
{
    struct experiment_patch patch = {.name = name, .labels = labels};

    CHECK_OK(store_experiment_patch(w->db, id, &patch, &w->mem, &test_err));
}

TEST_ON_BOTH(lists_filter_sort_and_page)
{
    struct world w;
    struct user user = {.username = "ann", .is_active = true};
    const char *ann[] = {"ann", "bob"};
    const char *label[] = {"x\"y"};
    const char *part[] = {"y"};
    int64_t ids[] = {2, 4, 9};
    int64_t user_id;

    world_init(&w, is_memory);
    CHECK_OK(store_user_add(w.db, &user, &user_id, &test_err));
    CHECK_EQ(user_id, 1);
    for (int i = 1; i <= 5; i++)
        add_experiment(&w, i, SIMPLE_CONFIG);
    patch_text(&w, 2, "Mnist 100%", "[\"x\\\"y\"]");
    patch_text(&w, 4, "a mnist_run", "[\"z\",\"x\\\"y\"]");
    end_experiment(&w, 5, EXPERIMENT_ERROR);
    CHECK_OK(store_experiment_archive(w.db, 5, true, &test_err));

    list(&w, (struct experiment_query){0}, "1 2 3 4 5 0-5/5");
    list(&w, (struct experiment_query){.is_descending = true, .page.limit = 2},
         "5 4 0-2/5");
    list(&w, (struct experiment_query){.page = {.offset = 3, .limit = 2}}, "4 5 3-5/5");
    list(&w, (struct experiment_query){.page = {.offset = 99, .limit = 2}}, " 5-5/5");
    list(&w, (struct experiment_query){.page = {.offset = -2, .limit = -1}},
         "4 5 3-5/5");
    list(&w, (struct experiment_query){.page = {.limit = -2}}, " 0-0/5");
    list(&w, (struct experiment_query){.name = "MNIST"}, "2 4 0-2/2");
    list(&w, (struct experiment_query){.name = "100%"}, "2 0-1/1");
    list(&w, (struct experiment_query){.name = "_run"}, "4 0-1/1");
    list(&w, (struct experiment_query){.name = "t", .sort = "SORT_BY_NAME"},
         "2 4 1 3 5 0-5/5");
    list(&w, (struct experiment_query){.labels = {label, 1}}, "2 4 0-2/2");
    list(&w, (struct experiment_query){.labels = {part, 1}}, " 0-0/0");
    list(&w, (struct experiment_query){.states = 1u << EXPERIMENT_ERROR}, "5 0-1/1");
    list(&w, (struct experiment_query){.has_archived = true}, "1 2 3 4 0-4/4");
    list(&w, (struct experiment_query){.has_archived = true, .archived = true},
         "5 0-1/1");
    list(&w, (struct experiment_query){.users = {ann, 2}}, "1 2 3 4 5 0-5/5");
    list(&w, (struct experiment_query){.users = {ann + 1, 1}}, " 0-0/0");
    list(&w, (struct experiment_query){.ids = {ids, 3}}, "2 4 0-2/2");
    list(&w, (struct experiment_query){.not_ids = {ids, 3}}, "1 3 5 0-3/3");
    list(&w, (struct experiment_query){.id_gt = 1, .id_lte = 3}, "2 3 0-2/2");
    list(&w, (struct experiment_query){.user_ids = {ids, 1}}, " 0-0/0");
    list(&w, (struct experiment_query){.project_id = 2}, " 0-0/0");
    {
        struct experiment_query query = {.sort = "SORT_BY_NOTHING"};
        struct experiment_view *rows;
        uint32_t count;

        CHECK_EQ(store_experiment_list(w.db, &query, &w.mem, &rows, &count, &test_err),
                 DET_INVALID);
    }
    world_done(&w);
}

TEST(every_sort_of_the_api_works)
{
    static const char *const experiments[] = {"UNSPECIFIED",
                                              "ID",
                                              "DESCRIPTION",
                                              "START_TIME",
                                              "END_TIME",
                                              "STATE",
                                              "NUM_TRIALS",
                                              "PROGRESS",
                                              "USER",
                                              "NAME",
                                              "FORKED_FROM",
                                              "RESOURCE_POOL",
                                              "PROJECT_ID",
                                              "CHECKPOINT_SIZE",
                                              "CHECKPOINT_COUNT",
                                              "SEARCHER_METRIC_VAL"};
    static const char *const trials[] = {"UNSPECIFIED",
                                         "ID",
                                         "START_TIME",
                                         "END_TIME",
                                         "STATE",
                                         "BEST_VALIDATION_METRIC",
                                         "LATEST_VALIDATION_METRIC",
                                         "BATCHES_PROCESSED",
                                         "DURATION",
                                         "RESTARTS",
                                         "CHECKPOINT_SIZE",
                                         "LOG_RETENTION_DAYS"};
    struct world w;
    char name[64];
    uint32_t count;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    for (size_t i = 0; i < ARRAY_LEN(experiments); i++) {
        struct experiment_query query = {
            .sort = name, .is_descending = i % 2, .scope.is_all = true};
        struct experiment_view *rows;

        (void)snprintf(name, sizeof(name), "SORT_BY_%s", experiments[i]);
        CHECK_OK(store_experiment_list(w.db, &query, &w.mem, &rows, &count, &test_err));
        CHECK_EQ(count, 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(trials); i++) {
        struct trial_query query = {.experiment_id = 1, .sort = name, .now_us = 5000};
        struct trial_view *rows;

        (void)snprintf(name, sizeof(name), "SORT_BY_%s", trials[i]);
        CHECK_OK(store_trial_list(w.db, &query, &w.mem, &rows, &count, &test_err));
        CHECK_EQ(count, 1);
    }
    world_done(&w);
}

/* ---- trials
 * ----------------------------------------------------------------------------- */

static void validate(struct world *w, int64_t trial, int64_t steps, const char *metrics)
{
    CHECK_OK(store_validation_add(w->db, trial, steps, steps, parse(&w->mem, metrics),
                                  &w->mem, &test_err));
}

TEST(best_and_latest_follow_the_searchers_metric)
{
    struct world w;
    struct trial_view trial;
    struct experiment_view experiment;
    double metric;

    world_init(&w, true);
    add_experiment(&w, 1,
                   "{\"searcher\":{\"metric\":\"acc\",\"smaller_is_better\":false}}");
    add_trial(&w, 1, 1);
    add_trial(&w, 2, 1);
    CHECK_EQ(store_experiment_best_metric(w.db, 1, &metric, &test_err), DET_NOT_FOUND);
    validate(&w, 1, 10, "{\"acc\":0.5,\"loss\":9}");
    validate(&w, 1, 20, "{\"acc\":0.9,\"loss\":8}");
    validate(&w, 1, 30, "{\"acc\":\"NaN\"}");
    validate(&w, 1, 40, "{\"acc\":0.9}");
    validate(&w, 1, 50, "{\"loss\":1}"); /* without the metric: nothing changes */
    validate(&w, 2, 10, "{\"acc\":0.7}");
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK(trial.has_best && trial.best_metric == 0.9);
    CHECK_EQ(trial.best_steps, 20);
    CHECK_STR(trial.best_validation, "{\"acc\":0.9,\"loss\":8}");
    CHECK_EQ(trial.latest_validation_steps, 40);
    CHECK(trial.has_latest && trial.latest_metric == 0.9);
    CHECK_OK(store_experiment_best_metric(w.db, 1, &metric, &test_err));
    CHECK(metric == 0.9);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &experiment, &test_err));
    CHECK_EQ(experiment.best_trial_id, 1);
    CHECK(experiment.has_best_metric && experiment.best_metric == 0.9);
    world_done(&w);
}

TEST(without_a_searchers_metric_the_only_number_or_the_loss_decides)
{
    struct world w;
    struct trial_view trial;

    world_init(&w, true);
    add_experiment(&w, 1, "{\"searcher\":{\"name\":\"single\"}}");
    add_trial(&w, 1, 1);
    validate(&w, 1, 10, "{\"only\":3,\"text\":\"x\"}");
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK(trial.has_best && trial.best_metric == 3);
    validate(&w, 1, 20, "{\"a\":1,\"loss\":2}");
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK(trial.best_metric == 2);
    validate(&w, 1, 30, "{\"a\":1,\"b\":2}");
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.latest_validation_steps, 30);
    CHECK(!trial.has_latest);
    CHECK_EQ(trial.best_steps, 20);
    world_done(&w);
}

TEST(trials_are_listed_by_what_they_reached)
{
    struct world w;
    struct trial_query query = {.experiment_id = 1,
                                .sort = "SORT_BY_BEST_VALIDATION_METRIC"};
    struct trial_view *rows;
    uint32_t count;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    for (int i = 1; i <= 3; i++)
        add_trial(&w, i, 1);
    validate(&w, 1, 1, "{\"loss\":5}");
    validate(&w, 3, 1, "{\"loss\":2}");
    CHECK_OK(store_trial_list(w.db, &query, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 3);
    CHECK_EQ(rows[0].row.id, 3);
    CHECK_EQ(rows[1].row.id, 1);
    CHECK_EQ(rows[2].row.id, 2);
    query.states = 1u << TRIAL_COMPLETED;
    CHECK_OK(store_trial_list(w.db, &query, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 0);
    CHECK_EQ(query.page.total, 0);
    world_done(&w);
}

TEST(a_trials_metadata_is_merged_member_by_member)
{
    struct world w;
    const char *text;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    CHECK_OK(store_trial_merge_metadata(
        w.db, 1, parse(&w.mem, "{\"a\":{\"x\":1},\"b\":2}"), &w.mem, &text, &test_err));
    CHECK_OK(store_trial_merge_metadata(w.db, 1,
                                        parse(&w.mem, "{\"a\":{\"y\":3},\"b\":[]}"),
                                        &w.mem, &text, &test_err));
    CHECK_STR(text, "{\"a\":{\"x\":1,\"y\":3},\"b\":[]}");
    CHECK_EQ(store_trial_merge_metadata(w.db, 1, parse(&w.mem, "[1]"), &w.mem, &text,
                                        &test_err),
             DET_INVALID);
    CHECK_OK(store_trial_set_runner_state(w.db, 1, "training", &test_err));
    CHECK_OK(store_trial_set_log_policy(w.db, 1, "oom", &test_err));
    CHECK_EQ(store_trial_set_runner_state(w.db, 5, "x", &test_err), DET_NOT_FOUND);
    world_done(&w);
}

/* ---- allocations and what is alive
 * ------------------------------------------------------ */

static void put_allocation(struct world *w, int64_t id, enum allocation_state state,
                           int64_t end_us)
{
    struct allocation row = {.id = id,
                             .trial_id = 1,
                             .experiment_id = 1,
                             .task_id = "1.r",
                             .run_id = id,
                             .state = state,
                             .slots = 2,
                             .end_us = end_us,
                             .exit = EXIT_FAILED,
                             .exit_reason = "it fell",
                             .ports = {1, 2, 3, 4}};
    char name[16];
    struct share share = {.allocation_id = id, .agent = "a", .slots = "[0,1]"};

    (void)snprintf(name, sizeof(name), "1.r.%d", (int)id);
    row.name = name;
    CHECK_OK(store_allocation_put(w->db, &row, &test_err));
    CHECK_OK(store_share_put(w->db, &share, &test_err));
    share.rank = 1;
    share.is_running = true;
    CHECK_OK(store_share_put(w->db, &share, &test_err));
}

TEST(allocations_come_back_unfinished_first)
{
    struct world w;
    struct allocation *rows;
    struct allocation row;
    struct share *shares;
    struct experiment_view view;
    uint32_t count;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    put_allocation(&w, 1, ALLOCATION_TERMINATED, 100);
    put_allocation(&w, 2, ALLOCATION_TERMINATED, 300);
    put_allocation(&w, 3, ALLOCATION_PENDING, 0);
    CHECK_OK(store_allocations_of_task(w.db, "1.r", &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 3);
    CHECK_EQ(rows[0].id, 3);
    CHECK_EQ(rows[1].id, 2);
    CHECK_OK(store_allocations_live(w.db, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_EQ(view.live_state, LIVE_QUEUED);
    put_allocation(&w, 3, ALLOCATION_RUNNING, 0);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_EQ(view.live_state, LIVE_RUNNING);
    CHECK_OK(store_allocation_get(w.db, "1.r.3", &w.mem, &row, &test_err));
    CHECK_EQ(row.id, 3);
    CHECK_EQ(row.exit, EXIT_FAILED);
    CHECK_STR(row.exit_reason, "it fell");
    CHECK_EQ(row.ports[3], 4);
    CHECK_OK(store_allocation_by_id(w.db, 2, &w.mem, &row, &test_err));
    CHECK_EQ(store_allocation_get(w.db, "none", &w.mem, &row, &test_err),
             DET_NOT_FOUND);
    CHECK_OK(store_shares_of(w.db, 3, &w.mem, &shares, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK(shares[1].is_running);
    world_done(&w);
}

TEST(what_is_alive_is_loaded_and_what_is_over_is_not)
{
    struct world w;
    struct store_alive alive;
    struct trial over = a_trial(2, 1);
    struct agent agent = {.id = 4, .name = "a", .slots = 8, .is_connected = true};
    struct search_input input = {
        .experiment_id = 1, .kind = SEARCH_INPUT_EXITED, .why = 2, .metrics = "{}"};
    struct search_snapshot snapshot = {.experiment_id = 1, .seq = 2, .state = "{}"};

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_experiment(&w, 2, SIMPLE_CONFIG);
    end_experiment(&w, 2, EXPERIMENT_CANCELED);
    add_trial(&w, 1, 1);
    over.state = TRIAL_COMPLETED;
    CHECK_OK(store_trial_add(w.db, &over, &test_err));
    put_allocation(&w, 1, ALLOCATION_TERMINATED, 5);
    put_allocation(&w, 2, ALLOCATION_RUNNING, 0);
    CHECK_OK(store_agent_put(w.db, &agent, &test_err));
    for (input.seq = 1; input.seq <= 4; input.seq++)
        CHECK_OK(store_search_input_add(w.db, &input, &test_err));
    CHECK_OK(store_search_snapshot_put(w.db, &snapshot, &test_err));
    CHECK_OK(store_load_alive(w.db, &w.mem, &alive, &test_err));
    CHECK_EQ(alive.experiments, 1);
    CHECK_STR(alive.experiment[0].config, SIMPLE_CONFIG);
    CHECK_EQ(alive.trials, 1);
    CHECK_STR(alive.trial[0].hparams, "{\"lr\":0.1}");
    CHECK_EQ(alive.allocations, 1);
    CHECK_EQ(alive.allocation[0].id, 2);
    CHECK_EQ(alive.shares, 2);
    CHECK_EQ(alive.agents, 1);
    CHECK_EQ(alive.agent[0].slots, 8);
    CHECK_EQ(alive.snapshots, 1);
    CHECK_EQ(alive.inputs, 2);
    CHECK_EQ(alive.input[0].seq, 3);
    CHECK_EQ(alive.input[0].kind, SEARCH_INPUT_EXITED);
    CHECK_EQ(alive.input[0].why, 2);
    CHECK_OK(store_agent_drop(w.db, 4, &test_err));
    CHECK_OK(store_search_drop(w.db, 1, &test_err));
    CHECK_OK(store_load_alive(w.db, &w.mem, &alive, &test_err));
    CHECK_EQ(alive.agents + alive.snapshots + alive.inputs, 0);
    world_done(&w);
}

/* ---- settings, journal, people
 * ---------------------------------------------------------- */

TEST(settings_journal_and_marks)
{
    struct world w;
    struct journal_entry *entries;
    const char *text = "x";
    int64_t number;
    int64_t seq;
    uint32_t count;
    bool is_new;

    world_init(&w, true);
    CHECK_OK(store_number_get(w.db, "n", 7, &number, &test_err));
    CHECK_EQ(number, 7);
    CHECK_OK(store_number_put(w.db, "n", 8, &test_err));
    CHECK_OK(store_number_put(w.db, "n", 9, &test_err));
    CHECK_OK(store_number_get(w.db, "n", 7, &number, &test_err));
    CHECK_EQ(number, 9);
    CHECK_OK(store_text_get(w.db, "t", &w.mem, &text, &test_err));
    CHECK_NULL(text);
    CHECK_OK(store_text_put(w.db, "t", "value", &test_err));
    CHECK_OK(store_text_get(w.db, "t", &w.mem, &text, &test_err));
    CHECK_STR(text, "value");

    for (uint32_t i = 1; i <= 5; i++) {
        CHECK_OK(store_journal_add(w.db, i, "{}", &seq, &test_err));
        CHECK_EQ(seq, i);
    }
    CHECK_OK(store_journal_read(w.db, 2, 2, &w.mem, &entries, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_EQ(entries[0].seq, 3);
    CHECK_EQ(entries[1].kind, 4);
    CHECK_OK(store_journal_drop(w.db, 5, &test_err));
    CHECK_OK(store_journal_add(w.db, 1, NULL, &seq, &test_err));
    CHECK_EQ(seq, 6); /* numbers are never used again */

    CHECK_OK(store_mark_advance(w.db, "agent", 5, &is_new, &test_err));
    CHECK(is_new);
    CHECK_OK(store_mark_advance(w.db, "agent", 5, &is_new, &test_err));
    CHECK(!is_new);
    CHECK_OK(store_mark_advance(w.db, "agent", 4, &is_new, &test_err));
    CHECK(!is_new);
    CHECK_OK(store_mark_advance(w.db, "agent", 6, &is_new, &test_err));
    CHECK(is_new);
    world_done(&w);
}

TEST(people_and_sessions)
{
    struct world w;
    struct user ann = {.username = "ann", .password = "hash", .is_active = true};
    struct user row;
    struct user *rows;
    struct session session = {.user_id = 1, .expires_us = 50};
    const char *nonce;
    int64_t id;
    int64_t second;
    uint32_t count;

    world_init(&w, true);
    CHECK_OK(store_user_add(w.db, &ann, &id, &test_err));
    CHECK_EQ(store_user_add(w.db, &ann, &second, &test_err), DET_EXISTS);
    CHECK_HAS(test_err.text, "'ann'");
    ann.username = "bob";
    ann.password = NULL;
    CHECK_OK(store_user_add(w.db, &ann, &second, &test_err));
    CHECK_OK(store_user_named(w.db, "ann", &w.mem, &row, &test_err));
    CHECK_STR(row.password, "hash");
    row.is_admin = true;
    row.username = "bob";
    CHECK_EQ(store_user_put(w.db, &row, &test_err), DET_EXISTS);
    row.username = "anna";
    CHECK_OK(store_user_put(w.db, &row, &test_err));
    CHECK_OK(store_user_get(w.db, id, &w.mem, &row, &test_err));
    CHECK_STR(row.username, "anna");
    CHECK(row.is_admin);
    CHECK_EQ(store_user_get(w.db, 99, &w.mem, &row, &test_err), DET_NOT_FOUND);
    CHECK_OK(store_user_list(w.db, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_NULL(rows[1].password);

    CHECK_OK(store_session_add(w.db, &session, &w.mem, &id, &nonce, &test_err));
    CHECK_EQ(count_of(w.db, "sessions"), 1);
    CHECK_OK(store_session_drop(w.db, id, &test_err));
    CHECK_EQ(count_of(w.db, "sessions"), 0);
    CHECK_OK(store_session_add(w.db, &session, &w.mem, &second, &nonce, &test_err));
    CHECK(second != id); /* an old token must not open a new session */
    CHECK_OK(store_sessions_expire(w.db, 50, &test_err));
    CHECK_EQ(count_of(w.db, "sessions"), 1); /* the last valid moment */
    CHECK_OK(store_sessions_expire(w.db, 51, &test_err));
    CHECK_EQ(count_of(w.db, "sessions"), 0);
    CHECK_OK(store_session_add(w.db, &session, &w.mem, &second, &nonce, &test_err));
    CHECK_OK(store_sessions_drop_of(w.db, 1, &test_err));
    CHECK_EQ(count_of(w.db, "sessions"), 0);
    world_done(&w);
}

/* ---- checkpoints
 * ------------------------------------------------------------------------ */

static struct checkpoint a_checkpoint(const char *uuid, int64_t steps)
{
    return (struct checkpoint){.uuid = uuid,
                               .task_id = "1.r",
                               .trial_id = 1,
                               .experiment_id = 1,
                               .state = CHECKPOINT_COMPLETED,
                               .steps_completed = steps,
                               .metadata = "{\"steps_completed\":1}",
                               .resources = "{\"a\":\"10\",\"b\":\"5\"}",
                               .size_bytes = 15,
                               .report_us = steps};
}

TEST(checkpoints_are_counted_and_learn_their_metric)
{
    struct world w;
    struct checkpoint row = a_checkpoint("u1", 10);
    struct checkpoint got;
    struct trial_view trial;
    struct experiment_view experiment;
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "validation",
                                   .has_steps = true,
                                   .steps = 20};
    bool is_new;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    CHECK_OK(store_checkpoint_add(w.db, &row, &is_new, &test_err));
    CHECK(is_new);
    CHECK_OK(store_checkpoint_add(w.db, &row, &is_new, &test_err));
    CHECK(!is_new);
    row.steps_completed = 11;
    CHECK_EQ(store_checkpoint_add(w.db, &row, &is_new, &test_err), DET_EXISTS);
    validate(&w, 1, 10, "{\"loss\":0.5}"); /* after the checkpoint */
    CHECK_OK(store_checkpoint_get(w.db, "u1", &w.mem, &got, &test_err));
    CHECK(got.has_searcher_metric && got.searcher_metric == 0.5);
    report.avg = parse(&w.mem, "{\"loss\":0.25}"); /* before the checkpoint */
    CHECK_OK(store_metric_add(w.db, &report, &w.mem, &is_new, &test_err));
    row = a_checkpoint("u2", 20);
    CHECK_OK(store_checkpoint_add(w.db, &row, &is_new, &test_err));
    CHECK_OK(store_checkpoint_get(w.db, "u2", &w.mem, &got, &test_err));
    CHECK(got.has_searcher_metric && got.searcher_metric == 0.25);
    CHECK_OK(store_trial_get(w.db, 1, &w.mem, &trial, &test_err));
    CHECK_EQ(trial.checkpoint_count, 2);
    CHECK_EQ(trial.checkpoint_size, 30);
    CHECK_OK(store_checkpoint_set_resources(w.db, "u1", parse(&w.mem, "{\"a\":10}"),
                                            &w.mem, &test_err));
    CHECK_OK(store_checkpoint_get(w.db, "u1", &w.mem, &got, &test_err));
    CHECK_EQ(got.state, CHECKPOINT_PARTIALLY_DELETED);
    CHECK_EQ(got.size_bytes, 10);
    CHECK_OK(store_checkpoint_set_resources(w.db, "u1", parse(&w.mem, "{}"), &w.mem,
                                            &test_err));
    CHECK_OK(store_checkpoint_get(w.db, "u1", &w.mem, &got, &test_err));
    CHECK_EQ(got.state, CHECKPOINT_DELETED);
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &experiment, &test_err));
    CHECK_EQ(experiment.checkpoint_count, 1);
    CHECK_EQ(experiment.checkpoint_size, 15);
    CHECK_OK(store_checkpoint_set_metadata(w.db, "u1", "{\"k\":1}", &test_err));
    CHECK_EQ(store_checkpoint_set_metadata(w.db, "none", "{}", &test_err),
             DET_NOT_FOUND);
    world_done(&w);
}

TEST(checkpoints_are_listed)
{
    struct world w;
    struct checkpoint_query query = {.experiment_id = 1};
    struct checkpoint *rows;
    uint32_t count;
    int64_t total;
    bool is_new;

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    for (int i = 0; i < 5; i++) {
        char uuid[8];
        struct checkpoint row;

        (void)snprintf(uuid, sizeof(uuid), "u%d", i);
        row = a_checkpoint(uuid, 100 - i);
        row.has_searcher_metric = i == 3;
        CHECK_OK(store_checkpoint_add(w.db, &row, &is_new, &test_err));
    }
    CHECK_OK(
        store_checkpoint_list(w.db, &query, &w.mem, &rows, &count, &total, &test_err));
    CHECK_EQ(count, 5);
    CHECK_STR(rows[0].uuid, "u4");
    query.sort = CHECKPOINT_BY_METRIC;
    query.limit = 2;
    CHECK_OK(
        store_checkpoint_list(w.db, &query, &w.mem, &rows, &count, &total, &test_err));
    CHECK_EQ(count, 2);
    CHECK_EQ(total, 5);
    CHECK_STR(rows[0].uuid, "u3");
    query.offset = 6;
    CHECK_EQ(
        store_checkpoint_list(w.db, &query, &w.mem, &rows, &count, &total, &test_err),
        DET_INVALID);
    CHECK_STR(test_err.text, "offset out of bounds");
    query = (struct checkpoint_query){.trial_id = 2};
    CHECK_OK(
        store_checkpoint_list(w.db, &query, &w.mem, &rows, &count, &total, &test_err));
    CHECK_EQ(total, 0);
    world_done(&w);
}

/* ---- deleting
 * --------------------------------------------------------------------------- */

TEST_ON_BOTH(deleting_an_experiment_leaves_nothing)
{
    static const char *const tables[] = {
        "experiment_configs", "experiment_files", "trials",
        "allocations",        "shares",           "search_inputs",
        "metric_shapes",      "metric_runs",      "metric_tail",
        "metric_blocks",      "log_tasks",        "log_chunks",
        "log_senders",        "log_values",       "log_live",
        "checkpoints",        "run_records",      "records",
        "trial_loads"};
    struct world w;
    struct field_i64s ids;
    struct log_line line = {.text = "x", .len = 1, .rank = 3, .agent = "a"};
    struct log_batch batch = {.task_id = "1.r",
                              .line = &line,
                              .count = 1,
                              .sender = "s",
                              .end_offset = 2,
                              .live = &line};
    struct checkpoint checkpoint = a_checkpoint("u", 1);
    uint32_t stored;
    bool flag = false;

    world_init(&w, is_memory);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    put_allocation(&w, 1, ALLOCATION_TERMINATED, 5);
    CHECK_OK(store_log_add(w.db, &batch, &w.mem, &stored, &test_err));
    CHECK_OK(store_checkpoint_add(w.db, &checkpoint, &flag, &test_err));
    CHECK_OK(store_run_record_put(w.db, 1, 0, "{}", &test_err));
    CHECK_OK(store_trial_load_add(
        w.db, 1, &(struct trial_load){.agent = "a", .time_us = 1, .load = "{}"},
        &test_err));
    for (int i = 0; i < 300; i++) {
        struct metric_report report = {.trial_id = 1,
                                       .run_id = 1,
                                       .group = "g",
                                       .has_steps = true,
                                       .steps = i,
                                       .avg = parse(&w.mem, "{\"a\":1}")};

        CHECK_OK(store_metric_add(w.db, &report, &w.mem, &flag, &test_err));
        if (i == 150)
            CHECK_OK(store_metric_compact(w.db, true, &flag, &test_err));
    }
    CHECK_EQ(store_experiment_delete_step(w.db, 1, &flag, &test_err), DET_STATE);
    CHECK_EQ(store_experiment_set_deleting(w.db, 1, &test_err), DET_STATE);
    CHECK_STR(test_err.text, "cannot delete experiment in STATE_ACTIVE state");
    end_experiment(&w, 1, EXPERIMENT_COMPLETED);
    CHECK_OK(store_experiment_set_deleting(w.db, 1, &test_err));
    CHECK_OK(store_experiment_delete_failed(w.db, 1, &test_err));
    CHECK_OK(store_experiment_set_deleting(w.db, 1, &test_err));
    CHECK_OK(store_experiments_deleting(w.db, &w.mem, &ids, &test_err));
    CHECK_EQ(ids.count, 1);
    flag = false;
    for (int i = 0; i < 100 && !flag; i++)
        CHECK_OK(store_experiment_delete_step(w.db, 1, &flag, &test_err));
    CHECK(flag);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        if (count_of(w.db, tables[i]) != 0)
            fail_msg("rows are left in %s", tables[i]);
    }
    CHECK_EQ(count_of(w.db, "experiments"), 0);
    world_done(&w);
}
