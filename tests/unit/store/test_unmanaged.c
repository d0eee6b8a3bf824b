/* SPDX-License-Identifier: Apache-2.0 */
/* Unmanaged experiments: one per external id, also if two clients write it. */
#include "store/engine/db.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/experiment/unmanaged.h"
#include "tests/unit/store/world.h"

static det_status add_far(struct world *w, int64_t id)
{
    struct experiment row = {.id = id,
                             .state = EXPERIMENT_ACTIVE,
                             .job_id = "job",
                             .owner_id = 1,
                             .project_id = 1,
                             .config = SIMPLE_CONFIG,
                             .original_config = "name: x\n",
                             .resource_pool = "",
                             .max_slots = -1};
    struct experiment_texts texts = {
        .name = "far", .labels = "[]", .is_unmanaged = true, .external_id = "far-1"};

    return store_experiment_add(w->db, &row, &texts, &test_err);
}

static det_status add_far_trial(struct world *w, int64_t id, const char *task)
{
    struct trial row = {.id = id,
                        .experiment_id = 1,
                        .request_id = task + 2,
                        .task_id = task,
                        .hparams = "{}",
                        .start_us = 5};

    return store_unmanaged_add_trial(w->db, &row, &test_err);
}

static void set_state(struct world *w, const char *state)
{
    const char *text = arena_printf(
        &w->mem, "UPDATE experiments SET state = '%s' WHERE id = 1", state);

    CHECK_OK(db_exec(w->db, text, &test_err));
}

TEST_ON_BOTH(a_name_is_of_one_experiment_until_that_is_deleted)
{
    struct world w;
    int64_t id = 0;

    world_init(&w, is_memory);
    CHECK_OK(add_far(&w, 1));
    CHECK_OK(add_far(&w, 2)); /* the row exists already */
    CHECK_EQ(count_of(w.db, "experiments"), 1);
    CHECK_EQ(count_of(w.db, "experiment_configs"), 1);
    CHECK_OK(store_unmanaged_find(w.db, "far-1", &id, &test_err));
    CHECK_EQ(id, 1);

    set_state(&w, "DELETING");
    CHECK_OK(add_far(&w, 3));
    CHECK_OK(store_unmanaged_find(w.db, "far-1", &id, &test_err));
    CHECK_EQ(id, 3);
    world_done(&w);
}

TEST(a_trial_is_added_once_and_numbered_as_it_comes)
{
    struct world w;
    struct trial_view view;
    int64_t id = 0;

    world_init(&w, true);
    CHECK_OK(add_far(&w, 1));
    CHECK_OK(add_far_trial(&w, 1, "1.a"));
    CHECK_OK(add_far_trial(&w, 2, "1.a"));
    CHECK_OK(add_far_trial(&w, 3, "1.b"));
    CHECK_EQ(count_of(w.db, "trials"), 2);
    CHECK_OK(store_unmanaged_find_trial(w.db, 1, "1.a", &id, &test_err));
    CHECK_EQ(id, 1);
    CHECK_OK(store_trial_get(w.db, 3, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.number, 1);
    CHECK_EQ(view.row.state, TRIAL_ACTIVE);
    CHECK_STR(view.row.request_id, "b");
    CHECK(view.is_unmanaged);
    world_done(&w);
}

TEST(what_is_being_deleted_takes_no_trials_and_does_not_come_back)
{
    struct world w;
    struct experiment_view view;
    struct unmanaged_state ended = {
        .trial_id = 1, .state = TRIAL_COMPLETED, .end_us = 9};

    world_init(&w, true);
    CHECK_OK(add_far(&w, 1));
    CHECK_OK(add_far_trial(&w, 1, "1.a"));
    set_state(&w, "DELETING");
    CHECK_OK(add_far_trial(&w, 2, "1.b"));
    CHECK_EQ(count_of(w.db, "trials"), 1);
    CHECK_OK(store_unmanaged_put(w.db, &ended, &test_err));
    CHECK_OK(store_unmanaged_progress(w.db, 1, 0.5, &test_err));
    CHECK_OK(store_experiment_get(w.db, 1, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.state, EXPERIMENT_DELETING);
    world_done(&w);
}
