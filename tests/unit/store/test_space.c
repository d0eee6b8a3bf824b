/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces and projects in the database, and their end. */
#include "model/field.h"
#include "store/experiment/experiment_delete.h"
#include "store/space/project.h"
#include "store/space/space_delete.h"
#include "store/space/workspace.h"
#include "store/task/job.h"
#include "tests/unit/store/world.h"

static int64_t add_workspace(struct world *w, const char *name)
{
    struct workspace row = {.name = name,
                            .owner_id = 7,
                            .created_us = 5,
                            .state = "",
                            .error = "",
                            .compute_pool = "",
                            .aux_pool = ""};
    int64_t id = 0;

    CHECK_OK(store_workspace_add(w->db, &row, &id, &test_err));
    return id;
}

static int64_t add_project(struct world *w, int64_t workspace, const char *name)
{
    struct project row = {.workspace_id = workspace,
                          .name = name,
                          .description = "",
                          .owner_id = 7,
                          .state = "",
                          .error = "",
                          .notes = "[]"};
    int64_t id = 0;

    CHECK_OK(store_project_add(w->db, &row, &id, &test_err));
    return id;
}

static void end_experiment(struct world *w, int64_t id)
{
    struct experiment_view view;

    CHECK_OK(store_experiment_get(w->db, id, &w->mem, &view, &test_err));
    view.row.state = EXPERIMENT_COMPLETED;
    CHECK_OK(store_experiment_put(w->db, &view.row, &test_err));
}

TEST_ON_BOTH(a_workspace_comes_back_as_it_was_stored)
{
    struct world w;
    struct workspace_view view;
    struct workspace_view *all;
    uint32_t count = 0;
    int64_t id;

    world_init(&w, is_memory);
    id = add_workspace(&w, "vision");
    CHECK_EQ(id, 2);
    CHECK_EQ(count_of(w.db, "role_assignments WHERE role_id = 2 AND user_id = 7 AND "
                            "workspace_id = 2"),
             1);
    CHECK_OK(store_workspace_get(w.db, id, 7, &w.mem, &view, &test_err));
    CHECK_STR(view.row.name, "vision");
    CHECK(!view.row.storage && !view.row.task_user.has_uid && !view.row.task_user.user);
    CHECK_EQ(view.pinned_us, 0);
    view.row.storage = "{}";
    view.row.task_user = (struct task_user){.has_gid = true, .gid = 0, .group = "g"};
    CHECK_OK(store_workspace_put(w.db, &view.row, &test_err));
    CHECK_OK(store_workspace_pin(w.db, id, 7, 9, &test_err));
    CHECK_OK(store_workspace_pin(w.db, id, 7, 10, &test_err)); /* stays pinned at 9 */
    CHECK_OK(store_workspace_get(w.db, id, 7, &w.mem, &view, &test_err));
    CHECK_STR(view.row.storage, "{}");
    CHECK(view.row.task_user.has_gid && !view.row.task_user.has_uid);
    CHECK_EQ(view.row.task_user.gid, 0);
    CHECK_STR(view.row.task_user.group, "g");
    CHECK_EQ(view.pinned_us, 9);
    CHECK_OK(store_workspace_list(w.db, 8, &w.mem, &all, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_STR(all[0].row.name, "Uncategorized");
    CHECK(all[0].row.is_immutable);
    CHECK_EQ(all[0].num_projects, 1);
    CHECK_EQ(all[1].pinned_us, 0);
    CHECK_OK(store_workspace_named(w.db, "vision", &w.mem, &view, &test_err));
    CHECK_EQ(view.row.id, id);
    CHECK_EQ(store_workspace_named(w.db, "Vision", &w.mem, &view, &test_err),
             DET_NOT_FOUND);
    CHECK_EQ(store_workspace_get(w.db, 9, 0, &w.mem, &view, &test_err), DET_NOT_FOUND);
    CHECK_STR(test_err.text, "workspace '9' not found");
    world_done(&w);
}

TEST(names_and_keys_are_unique)
{
    struct world w;
    struct workspace_view workspace;
    struct project_view view;
    struct project row;
    int64_t id;

    world_init(&w, true);
    (void)add_workspace(&w, "a");
    id = add_workspace(&w, "b");
    CHECK_OK(store_workspace_get(w.db, id, 0, &w.mem, &workspace, &test_err));
    workspace.row.name = "a";
    CHECK_EQ(store_workspace_put(w.db, &workspace.row, &test_err), DET_EXISTS);
    (void)add_project(&w, 2, "one");
    (void)add_project(&w, 3, "one"); /* the same name elsewhere */
    CHECK_OK(store_project_get(w.db, 2, &w.mem, &view, &test_err));
    CHECK_EQ(strlen(view.row.project_key), 5);
    CHECK_EQ(strncmp(view.row.project_key, "ONE", 3), 0);
    row = view.row;
    row.id = 3;
    row.workspace_id = 3;
    CHECK_EQ(store_project_put(w.db, &row, &test_err), DET_EXISTS); /* the key */
    CHECK_EQ(store_project_add(w.db, &row, &id, &test_err), DET_EXISTS);
    row.project_key = NULL;
    row.workspace_id = 2;
    CHECK_EQ(store_project_add(w.db, &row, &id, &test_err), DET_EXISTS); /* the name */
    CHECK_OK(
        store_project_by_key(w.db, view.row.project_key, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.id, 2);
    CHECK_OK(store_project_named(w.db, 3, "one", &w.mem, &view, &test_err));
    CHECK_EQ(view.row.id, 3);
    CHECK_EQ(store_project_named(w.db, 1, "one", &w.mem, &view, &test_err),
             DET_NOT_FOUND);
    world_done(&w);
}

TEST(keys_are_read_in_any_case)
{
    char key[PROJECT_KEY_MOST + 1];

    CHECK_OK(project_read_key("aB1", key, &test_err));
    CHECK_STR(key, "AB1");
    CHECK_EQ(project_read_key("", key, &test_err), DET_INVALID);
    CHECK_EQ(project_read_key("ABCDEF", key, &test_err), DET_INVALID);
    CHECK_EQ(project_read_key("A-B", key, &test_err), DET_INVALID);
    CHECK_EQ(project_read_key("\xc3\xa4", key, &test_err), DET_INVALID);
}

TEST(a_task_user_is_merged_part_by_part)
{
    const struct task_user own = {.has_uid = true,
                                  .uid = 5,
                                  .has_gid = true,
                                  .gid = 6,
                                  .user = "u",
                                  .group = "g"};
    const struct task_user over = {.has_gid = true, .gid = 0, .group = "team"};
    struct task_user merged = task_user_merge(&own, &over);

    CHECK_EQ(merged.uid, 5);
    CHECK_EQ(merged.gid, 0);
    CHECK_STR(merged.user, "u");
    CHECK_STR(merged.group, "team");
    CHECK(!task_user_merge(&(struct task_user){0}, &over).has_uid);
}

TEST(experiments_are_counted_and_moved)
{
    struct world w;
    struct project_view view;
    struct experiment_view experiment;
    int64_t project;

    world_init(&w, true);
    (void)add_workspace(&w, "w");
    project = add_project(&w, 2, "p");
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_experiment(&w, 2, SIMPLE_CONFIG);
    CHECK_OK(store_project_take(w.db, project, 2, &test_err));
    CHECK_OK(store_experiment_get(w.db, 2, &w.mem, &experiment, &test_err));
    CHECK_STR(experiment.project_name, "p");
    CHECK_STR(experiment.workspace_name, "w");
    CHECK_EQ(experiment.workspace_id, 2);
    experiment.row.project_id = 1; /* what the heart remembers */
    CHECK_OK(store_experiment_put(w.db, &experiment.row, &test_err));
    CHECK_OK(store_project_get(w.db, project, &w.mem, &view, &test_err));
    CHECK_EQ(view.num_experiments, 1);
    CHECK_EQ(view.num_active, 1);
    CHECK_EQ(view.last_start_us, 102);
    CHECK_EQ(store_project_take(w.db, 9, 2, &test_err), DET_NOT_FOUND);
    CHECK_EQ(store_project_take(w.db, project, 9, &test_err), DET_NOT_FOUND);
    view.row.is_archived = true;
    CHECK_OK(store_project_put(w.db, &view.row, &test_err));
    CHECK_EQ(store_project_take(w.db, project, 1, &test_err), DET_STATE);
    CHECK_EQ(store_project_take(w.db, 1, 2, &test_err), DET_STATE);
    world_done(&w);
}

/* The project was deleted between the check of a submission and its commit. */
TEST(an_experiment_of_a_project_that_is_gone_begins_in_the_first)
{
    struct world w;
    struct experiment row = {.id = 5,
                             .state = EXPERIMENT_ACTIVE,
                             .job_id = "j",
                             .project_id = 99,
                             .config = SIMPLE_CONFIG,
                             .original_config = "",
                             .resource_pool = "default"};
    struct experiment_view view;

    world_init(&w, true);
    CHECK_OK(
        store_experiment_add(w.db, &row, &(struct experiment_texts){0}, &test_err));
    CHECK_OK(store_experiment_get(w.db, 5, &w.mem, &view, &test_err));
    CHECK_EQ(view.row.project_id, 1);
    world_done(&w);
}

TEST(a_workspace_goes_step_by_step)
{
    struct world w;
    struct workspace_view workspace;
    struct project_view view;
    int64_t project;
    bool is_gone = true;
    bool did = true;
    bool is_done = false;

    world_init(&w, true);
    (void)add_workspace(&w, "w");
    project = add_project(&w, 2, "p");
    (void)add_project(&w, 2, "empty");
    CHECK_OK(store_project_visit(w.db, project, 7, 1, &test_err));
    add_experiment(&w, 1, SIMPLE_CONFIG);
    CHECK_OK(store_project_take(w.db, project, 1, &test_err));

    CHECK_EQ(store_workspace_set_deleting(w.db, 2, &is_gone, &test_err), DET_STATE);
    CHECK(strstr(test_err.text, "experiment 1") != NULL);
    CHECK_EQ(store_workspace_set_deleting(w.db, 1, &is_gone, &test_err), DET_STATE);
    end_experiment(&w, 1);
    CHECK_OK(store_workspace_set_deleting(w.db, 2, &is_gone, &test_err));
    CHECK(!is_gone);
    CHECK_OK(store_workspace_get(w.db, 2, 0, &w.mem, &workspace, &test_err));
    CHECK_STR(workspace.row.state, "DELETING");
    CHECK_EQ(workspace.num_projects, 1);
    CHECK_EQ(workspace_check_open(&workspace.row, "x", &test_err), DET_STATE);
    CHECK_OK(store_project_get(w.db, project, &w.mem, &view, &test_err));
    CHECK_EQ(project_check_open(&view, &test_err), DET_STATE);

    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK(!did); /* the experiment goes first */
    while (!is_done)
        CHECK_OK(store_experiment_delete_step(w.db, 1, &is_done, &test_err));
    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK(did);
    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK_EQ(store_workspace_get(w.db, 2, 0, &w.mem, &workspace, &test_err),
             DET_NOT_FOUND);
    CHECK_EQ(count_of(w.db, "projects"), 1);
    CHECK_EQ(count_of(w.db, "project_visits"), 0);
    CHECK_EQ(count_of(w.db, "workspace_pins"), 0);
    CHECK_EQ(count_of(w.db, "role_assignments WHERE workspace_id = 2"), 0);
    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK(!did);
    world_done(&w);
}

TEST(a_failed_deletion_is_told_upwards_and_can_be_tried_again)
{
    struct world w;
    struct workspace_view workspace;
    int64_t project;
    bool is_gone = true;
    bool did = false;

    world_init(&w, true);
    (void)add_workspace(&w, "w");
    project = add_project(&w, 2, "p");
    add_experiment(&w, 1, SIMPLE_CONFIG);
    CHECK_OK(store_project_take(w.db, project, 1, &test_err));
    end_experiment(&w, 1);
    CHECK_OK(store_workspace_set_deleting(w.db, 2, &is_gone, &test_err));
    CHECK_OK(store_experiment_delete_failed(w.db, 1, &test_err));
    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK(did);
    CHECK_OK(store_workspace_get(w.db, 2, 0, &w.mem, &workspace, &test_err));
    CHECK_STR(workspace.row.state, "DELETE_FAILED");
    CHECK_STR(workspace.row.error, "project 2 could not be deleted");
    CHECK_OK(store_workspace_set_deleting(w.db, 2, &is_gone, &test_err));
    CHECK_OK(store_workspace_get(w.db, 2, 0, &w.mem, &workspace, &test_err));
    CHECK_STR(workspace.row.state, "DELETING");
    CHECK_STR(workspace.row.error, "");
    world_done(&w);
}

TEST(a_workspace_waits_for_its_jobs)
{
    struct world w;
    struct workspace_view workspace;
    struct job row = {
        .id = 1, .state = JOB_ACTIVE, .task_id = "t", .resource_pool = ""};
    struct field_i64s jobs = {0};
    bool is_gone = true;
    bool did = false;

    world_init(&w, true);
    (void)add_workspace(&w, "w");
    CHECK_OK(
        store_job_add(w.db, &row, &(struct job_texts){.workspace_id = 2}, &test_err));
    CHECK_OK(store_workspace_set_deleting(w.db, 2, &is_gone, &test_err));
    CHECK(!is_gone);
    CHECK_OK(store_workspace_jobs(w.db, 2, &w.mem, &jobs, &test_err));
    CHECK_EQ(jobs.count, 1);
    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK(!did);
    row.state = JOB_CANCELED;
    CHECK_OK(store_job_put(w.db, &row, &test_err));
    CHECK_OK(store_space_delete_step(w.db, &did, &test_err));
    CHECK_EQ(store_workspace_get(w.db, 2, 0, &w.mem, &workspace, &test_err),
             DET_NOT_FOUND);
    world_done(&w);
}

TEST(visits_come_with_the_latest_first)
{
    struct world w;
    struct project_view *views;
    struct project_place *places;
    uint32_t count = 0;

    world_init(&w, true);
    (void)add_workspace(&w, "w");
    (void)add_project(&w, 2, "p");
    CHECK_OK(store_project_visit(w.db, 2, 7, 10, &test_err));
    CHECK_OK(store_project_visit(w.db, 1, 7, 11, &test_err));
    CHECK_OK(store_project_visit(w.db, 2, 7, 12, &test_err));
    CHECK_OK(store_project_visit(w.db, 1, 8, 13, &test_err));
    CHECK_OK(store_project_visited(w.db, 7, 9, &w.mem, &views, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_EQ(views[0].row.id, 2);
    CHECK_EQ(views[1].row.id, 1);
    CHECK_OK(store_project_places(w.db, &w.mem, &places, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_EQ(places[1].workspace_id, 2);
    CHECK(!places[1].is_archived);
    world_done(&w);
}
