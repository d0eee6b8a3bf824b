/* SPDX-License-Identifier: Apache-2.0 */
/* Generic jobs from submission to end. */
#include <string.h>

#include "tests/api/script.h"

#define INFER                                                                          \
    "{'config': 'entrypoint_script: python3 infer.py\\ndata: {trial_id: 777}\\n"       \
    "name: infer\\nresources: {slots: 1}'"

static const char *submit(struct bed *bed, const char *body)
{
    struct step step = POST("job", "/api/v1/generic-tasks", body, 200, "taskId?");

    (void)bed_step(bed, &step);
    return bed_get(bed, "job.taskId");
}

static void await_job(struct bed *bed, const char *state)
{
    struct step step = {.name = "state",
                        .method = NET_GET,
                        .path = "/api/v1/tasks/${job.taskId}",
                        .status = 200,
                        .until = true};

    step.expect =
        arena_printf(&bed->mem, "task.taskState=GENERIC_TASK_STATE_%s", state);
    (void)bed_step(bed, &step);
}

TEST(a_job_runs_with_its_configuration_and_its_files)
{
    static const struct step steps[] = {
        GET("queue", "/api/v1/job-queues-v2", 200,
            "jobs#1; jobs.0.full.type=TYPE_GENERIC; jobs.0.full.name=infer; "
            "jobs.0.full.entityId=${job.taskId}; jobs.0.full.jobId=${job.taskId}; "
            "jobs.0.full.summary.state=STATE_SCHEDULED; "
            "jobs.0.full.isPreemptible=true"),
        GET("task", "/api/v1/tasks/${job.taskId}", 200,
            "task.taskType=TASK_TYPE_GENERIC; task.noPause=false; "
            "task.taskState=GENERIC_TASK_STATE_ACTIVE; task.endTime!; "
            "task.allocations#1; task.allocations.0.isReady=true; task.name=infer; "
            "task.config~\"trial_id\":777; task.username=determined"),
        GET("tasks", "/api/v1/tasks", 200, "allocationIdToSummary#1"),
        GET("config", "/api/v1/tasks/${job.taskId}/config", 200,
            "config~entrypoint: python3 infer.py; config~trial_id: 777"),
        GET("jobs", "/api/v1/generic-tasks", 200,
            "tasks#1; tasks.0.taskId=${job.taskId}; tasks.0.slots=1; tasks.0.config!"),
        GET("files", "/api/v1/tasks/${job.taskId}/context_directory", 200, "b64Tgz?",
            TASK),
        GET("mine", "/api/v1/me", 200, "user.username=determined", TASK),
        GET("fields", "/api/v1/tasks/${job.taskId}/logs/fields", 200, NULL),
        POST("no checkpoints", "/api/v1/checkpoints",
             "{'uuid': '11111111-2222-4333-8444-555555555555', 'taskId': "
             "'${share.task_id}', 'allocationId': '${share.allocation}', "
             "'metadata': {'steps_completed': 1}, 'resources': {}, "
             "'state': 'STATE_COMPLETED'}",
             400, "error.error~only trials have checkpoints", TASK),
        END_STEPS};
    static const struct step after[] = {
        GET("over", "/api/v1/tasks/${job.taskId}", 200,
            "task.endTime?; task.allocations.0.statusCode=0; "
            "task.allocations.0.exitReason=it finished"),
        GET("log", "/api/v1/tasks/${job.taskId}/logs?follow=true", 200, "lines?"),
        GET("alive", "/api/v1/generic-tasks", 200, "tasks#0"),
        GET("all", "/api/v1/generic-tasks?all=true", 200,
            "tasks#1; pagination.total=1; pagination.offset=0; pagination.endIndex=1"),
        GET("next page", "/api/v1/generic-tasks?all=true&limit=1&offset=1", 200,
            "tasks#0; pagination.total=1; pagination.limit=1; "
            "pagination.startIndex=1"),
        GET("queue", "/api/v1/job-queues-v2", 200, "jobs#0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 2);
    (void)submit(bed, INFER ", 'contextDirectory': [{'path': 'infer.py', 'type': 48,"
                            " 'content': 'cHJpbnQoMSk=', 'mtime': '1'}]}");
    share = agent_run(&agent);
    CHECK_STR(share_env(&share, "DET_TASK_TYPE"), "GENERIC");
    CHECK_STR(share_env(&share, "DET_TASK_ID"), bed_get(bed, "job.taskId"));
    CHECK_STR(share_env(&share, "DET_SLOT_IDS"), "[0]");
    CHECK_HAS(share_env(&share, "DET_TASK_CONFIG"), "\"data\":{\"trial_id\":777}");
    CHECK(share_env(&share, "C10D_PORT") != NULL);
    CHECK(share_env(&share, "DET_TRIAL_ID") == NULL);
    CHECK(share_env(&share, "DET_EXPERIMENT_CONFIG") == NULL);
    CHECK(json_is_null(json_at(share.spec, "info.trial")));
    CHECK_STR(json_str(json_at(share.spec, "entrypoint"), ""), "python3 infer.py");
    CHECK(json_bool(json_at(share.spec, "context"), false));
    share_speak(&share);
    bed_play(bed, steps);
    share_log(&share, "3 predictions\n");
    share_exit(&share, "CLEAN", 0);
    await_job(bed, "COMPLETED");
    bed_play(bed, after);
}

TEST(a_job_that_fails_is_an_error_with_its_code_and_runs_no_more)
{
    static const struct step steps[] = {
        GET("why", "/api/v1/tasks/${job.taskId}", 200,
            "task.taskState=GENERIC_TASK_STATE_ERROR; task.allocations#1; "
            "task.allocations.0.statusCode=3"),
        POST("pause", "/api/v1/tasks/${job.taskId}/pause", NULL, 400,
             "error.error~has ended: it is ERROR"),
        POST("unpause", "/api/v1/tasks/${job.taskId}/unpause", NULL, 400, NULL),
        POST("kill", "/api/v1/tasks/${job.taskId}/kill",
             "{'taskId': '${job.taskId}', 'killFromRoot': false}", 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)submit(bed, INFER "}");
    share = agent_run(&agent);
    share_exit(&share, "FAILED", 3);
    await_job(bed, "ERROR");
    bed_play(bed, steps);
    CHECK(agent_is_idle(&agent));
}

TEST(a_job_is_paused_and_begins_again_after_a_restart_of_the_master)
{
    BED(bed, NULL);
    static const struct step pause =
        POST("pause", "/api/v1/tasks/${job.taskId}/pause", NULL, 200, NULL);
    static const struct step unpause =
        POST("unpause", "/api/v1/tasks/${job.taskId}/unpause", NULL, 200, NULL);
    static const struct step kill = POST("kill", "/api/v1/tasks/${job.taskId}/kill",
                                         "{'killFromRoot': true}", 200, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)submit(bed, INFER "}");
    share = agent_run(&agent);
    bed_restart(bed);
    agent_hello(&agent, arena_printf(&bed->mem, "[\"%s/0\"]", share.allocation));
    await_job(bed, "ACTIVE");
    (void)bed_step(bed, &pause);
    await_job(bed, "STOPPING_PAUSED");
    CHECK(share_is_preempted(&share, 10));
    share_acknowledge(&share);
    share_exit(&share, "CLEAN", 0);
    await_job(bed, "PAUSED");
    bed_restart(bed);
    agent_hello(&agent, "[]");
    await_job(bed, "PAUSED");
    (void)bed_step(bed, &unpause);
    share = agent_run(&agent);
    CHECK_HAS(share.allocation, ".2");
    (void)bed_step(bed, &kill);
    await_job(bed, "STOPPING_CANCELED");
    share_await_kill(&share);
    share_exit(&share, "KILLED", 137);
    await_job(bed, "CANCELED");
}

TEST(a_job_moves_in_the_queue)
{
    static const struct step steps[] = {
        POST("both", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${job.taskId}', 'priority': 7}]}", 200, NULL),
        GET("queue", "/api/v1/job-queues-v2", 200,
            "jobs#2; jobs.0.full.type=TYPE_GENERIC; jobs.0.full.priority=7; "
            "jobs.0.full.summary.state=STATE_QUEUED; jobs.1.full.type=TYPE_EXPERIMENT"),
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools.0.stats.queuedCount=1"),
        POST("wait", "/api/v1/tasks/${job.taskId}/kill", NULL, 200, NULL),
        POST("over", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${job.taskId}', 'priority': 7}]}", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)agent_run(&agent);
    (void)submit(bed, INFER "}");
    bed_play(bed, steps);
}

TEST(a_fork_has_the_files_of_its_parent)
{
    static const struct step steps[] = {
        POST("fork", "/api/v1/generic-tasks",
             INFER ", 'contextDirectory': [], 'forkedFrom': '${job.taskId}', "
                   "'noPause': true}",
             200, "taskId?"),
        GET("task", "/api/v1/tasks/${fork.taskId}", 200,
            "task.forkedFrom=${job.taskId}; task.noPause=true"),
        GET("first", "/api/v1/tasks/${job.taskId}/context_directory", 200, "b64Tgz?"),
        GET("second", "/api/v1/tasks/${fork.taskId}/context_directory", 200,
            "b64Tgz=${first.b64Tgz}"),
        POST("no files", "/api/v1/generic-tasks",
             INFER ", 'contextDirectory': 'x', 'forkedFrom': '${job.taskId}'}", 400,
             "error.error~contextDirectory is a string"),
        POST("no pause", "/api/v1/tasks/${fork.taskId}/pause", NULL, 400,
             "error.error~cannot be paused"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)submit(bed, INFER ", 'contextDirectory': [{'path': 'a', 'type': 48,"
                            " 'content': 'YQ==', 'mtime': '1'}]}");
    bed_play(bed, steps);
}

TEST(a_job_reads_checkpoints_and_changes_none)
{
    static const struct step steps[] = {
        GET("read", "/api/v1/checkpoints/11111111-2222-4333-8444-555555555555", 200,
            "checkpoint.resources#2", TASK),
        PATCH("change", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '11111111-2222-4333-8444-555555555555', "
              "'resources': {'resources': {'a': '1'}}}]}",
              403, "error.error~only its own task", TASK),
        GET("all is there", "/api/v1/checkpoints/11111111-2222-4333-8444-555555555555",
            200, "checkpoint.resources#2"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, "11111111-2222-4333-8444-555555555555", 1);
    share_exit(&share, "CLEAN", 0);
    (void)submit(bed, INFER "}");
    share = agent_run(&agent);
    share_speak(&share);
    bed_play(bed, steps);
}

#define CONFIG(text) "{'config': '" text "'}"

TEST(what_is_wrong_with_a_job_is_said)
{
    static const struct step steps[] = {
        POST("nothing", "/api/v1/generic-tasks", "{}", 400, "error.error~config"),
        POST("no entrypoint", "/api/v1/generic-tasks", CONFIG("name: x"), 400,
             "error.error~entrypoint"),
        POST("unknown", "/api/v1/generic-tasks", CONFIG("entrypoint: a\\nslots: 1"),
             400, "error.error~slots"),
        POST("trials", "/api/v1/generic-tasks",
             CONFIG("entrypoint: a\\nresources: {slots_per_trial: 2}"), 400,
             "error.error~resources.slots_per_trial"),
        POST("too many", "/api/v1/generic-tasks",
             CONFIG("entrypoint: a\\nresources: {slots: 9}"), 400,
             "error.error~exceeds cluster capacity: 9 are wanted"),
        POST("no pool", "/api/v1/generic-tasks",
             CONFIG("entrypoint: a\\nresources: {resource_pool: x}"), 400,
             "error.error~resource pool x does not exist"),
        POST("no yaml", "/api/v1/generic-tasks", CONFIG("a: ["), 400, NULL),
        POST("a list", "/api/v1/generic-tasks", CONFIG("[]"), 400, NULL),
        POST("files", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: a', 'contextDirectory': 'x'}", 400,
             "error.error~contextDirectory is a string"),
        POST("escape", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: a', 'contextDirectory': [{'path': '../a'}]}", 400,
             "error.error~leads out of the folder"),
        POST("a project", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: a', 'projectId': 9}", 404, NULL),
        POST("a parent", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: a', 'parentId': 'x'}", 501,
             "error.error~not built yet"),
        POST("no parent", "/api/v1/generic-tasks",
             "{'config': 'entrypoint: a', 'forkedFrom': 'x'}", 404,
             "error.error~forkedFrom"),
        POST("kill nobody", "/api/v1/tasks/x/kill", NULL, 404, "error.error~'x'"),
        POST("pause nobody", "/api/v1/tasks/x/pause", NULL, 404, NULL),
        POST("unpause nobody", "/api/v1/tasks/x/unpause", NULL, 404, NULL),
        GET("nobody's config", "/api/v1/tasks/x/config", 404, NULL),
        GET("nobody", "/api/v1/tasks/x", 404, NULL),
        POST("a trial's", "/api/v1/tasks/${share.task_id}/kill", NULL, 400,
             "error.error~is not a job: it is trial 1 of experiment 1"),
        POST("not a task's", "/api/v1/generic-tasks", CONFIG("entrypoint: a"), 403,
             NULL, TASK),
        POST("not nobody's", "/api/v1/generic-tasks", CONFIG("entrypoint: a"), 401,
             NULL, NOBODY),
        GET("none", "/api/v1/generic-tasks?all=true", 200, "tasks#0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_speak(&share);
    bed_play(bed, steps);
}
