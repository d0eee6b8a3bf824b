/* SPDX-License-Identifier: Apache-2.0 */
/* The queue in numbers, changes that are done whole or not at all, and pages. */
#include "base/compiler.h"
#include "tests/api/script.h"

TEST(a_patch_with_a_wrong_part_changes_nothing)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        GET("before", "/api/v1/experiments/1", 200, NULL),
        PATCH("priority", "/api/v1/experiments/1",
              "{'name': 'half', 'resources': {'priority': 100}}", 400,
              "error.error~1 to 99"),
        PATCH("weight", "/api/v1/experiments/1",
              "{'name': 'half', 'resources': {'weight': -1}}", 400, NULL),
        PATCH("slots", "/api/v1/experiments/1",
              "{'name': 'half', 'resources': {'maxSlots': -2}}", 400, NULL),
        GET("after", "/api/v1/experiments/1", 200,
            "experiment.name=${before.experiment.name}"),
        PATCH("no cap", "/api/v1/experiments/1", "{'resources': {'maxSlots': -1}}", 200,
              NULL),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        PATCH("over", "/api/v1/experiments/1",
              "{'name': 'half', 'resources': {'priority': 3}}", 404, NULL),
        GET("still", "/api/v1/experiments/1", 200,
            "experiment.name=${before.experiment.name}"),
        PATCH("a name alone", "/api/v1/experiments/1", "{'name': 'whole'}", 200,
              "experiment.name=whole"),
        PATCH("nobody", "/api/v1/experiments/9", "{'resources': {'priority': 3}}", 404,
              NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

TEST(a_list_of_updates_with_a_wrong_one_changes_nothing)
{
    static const struct step steps[] = {
        POST("first", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("second", "/api/v1/experiments", "{'config': $[single]}", 200, NULL),
        POST("odd priority", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 7},"
             " {'jobId': '${second.experiment.jobId}', 'priority': 100}]}",
             400, NULL),
        POST("no job", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 7},"
             " {'jobId': 'x', 'priority': 5}]}",
             404, NULL),
        POST("no pool", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 7},"
             " {'jobId': '${second.experiment.jobId}', 'resourcePool': 'x'}]}",
             400, "error.error~'x'"),
        GET("as before", "/api/v1/experiments/1", 200, "experiment.priority=42"),
        POST("both", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 7},"
             " {'jobId': '${second.experiment.jobId}', 'priority': 8}]}",
             200, NULL),
        GET("one", "/api/v1/experiments/1", 200, "experiment.priority=7"),
        GET("two", "/api/v1/experiments/2", 200, "experiment.priority=8"),
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        POST("over", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${first.experiment.jobId}', 'priority': 9}]}",
             404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

TEST(pools_and_experiments_show_the_queue_in_numbers)
{
    static const struct step steps[] = {
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools.0.stats.queuedCount=2; "
            "resourcePools.0.stats.scheduledCount=1; "
            "resourcePools.0.schedulerType=SCHEDULER_TYPE_PRIORITY; "
            "resourcePools.0.slotsUsed=1"),
        GET("runs", "/api/v1/experiments/1", 200,
            "jobSummary.state=STATE_SCHEDULED; jobSummary.jobsAhead=0; beginTime?"),
        GET("next", "/api/v1/experiments/2", 200,
            "jobSummary.state=STATE_QUEUED; jobSummary.jobsAhead=0; beginTime!"),
        GET("then", "/api/v1/experiments/3", 200,
            "jobSummary.state=STATE_QUEUED; jobSummary.jobsAhead=1"),
        GET("paused", "/api/v1/experiments/4", 200, "jobSummary!; beginTime!"),
        GET("tasks", "/api/v1/tasks", 200, "allocationIdToSummary#3"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    (void)create(bed, config_single);
    (void)create(bed, config_single);
    CHECK_EQ(bed_call(bed, USER, NET_POST, "/api/v1/experiments",
                      bed_fill(bed, "{'config': $[single]}", true))
                 .status,
             200);
    bed_play(bed, steps);
    CHECK(share.trial == 1);
}

TEST(a_pool_shows_its_description_and_whether_it_is_a_default)
{
    static const struct step with[] = {
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools.0.description=two old machines; "
            "resourcePools.0.defaultAuxPool=true"),
        END_STEPS};
    static const struct step without[] = {
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools.0.description=; resourcePools.0.defaultAuxPool=false; "
            "resourcePools.0.defaultComputePool=false"),
        END_STEPS};
    BED(bed, "resource_pools: [{pool_name: default, description: two old machines}]\n");
    BED(other, "resource_pools: [{pool_name: small}]\n"
               "resource_manager: {no_default_resource_pools: true}\n");

    bed_play(bed, with);
    bed_play(other, without);
}

/* Jobs of another pool are not ahead of anybody. */
TEST(only_jobs_of_the_same_pool_are_ahead)
{
    static const char yaml[] = "launch_error: false\n"
                               "resource_pools:\n"
                               "  - pool_name: one\n"
                               "  - pool_name: two\n"
                               "resource_manager:\n"
                               "  type: agent\n"
                               "  default_compute_resource_pool: one\n"
                               "  default_aux_resource_pool: one\n";
    static const struct step steps[] = {
        GET("one", "/api/v1/experiments/1", 200, "jobSummary.jobsAhead=0"),
        POST("move", "/api/v1/job-queues",
             "{'updates': [{'jobId': '${one.experiment.jobId}', 'resourcePool':"
             " 'two'}]}",
             200, NULL),
        GET("two", "/api/v1/experiments/2", 200, "jobSummary.jobsAhead=0"),
        GET("three", "/api/v1/experiments/3", 200, "jobSummary.jobsAhead=1"),
        GET("its queue", "/api/v1/job-queues-v2?resourcePool=two", 200,
            "jobs#1; jobs.0.full.resourcePool=two"),
        GET("pools", "/api/v1/resource-pools", 200,
            "resourcePools.0.stats.queuedCount=2; resourcePools.1.stats.queuedCount=1"),
        END_STEPS};
    BED(bed, yaml);

    for (int i = 0; i < 3; i++)
        (void)create(bed, config_single);
    bed_play(bed, steps);
}

TEST(agents_show_who_holds_their_slots)
{
    static const struct step steps[] = {
        POST("off", "/api/v1/agents/a1/slots/1/disable", NULL, 200, NULL, ADMIN),
        GET("agent", "/api/v1/agents/a1", 200,
            "agent.containers#1; agent.slots#2; "
            "agent.slotStats.typeStats.TYPE_CPU.disabled=1"),
        GET("slots", "/api/v1/agents/a1/slots", 200,
            "slots#2; slots.0.container.id=${share.container}; slots.0.enabled=true; "
            "slots.1.container!; slots.1.enabled=false"),
        GET("another", "/api/v1/agents/a2/slots", 200,
            "slots#1; slots.0.container!; slots.0.enabled=true"),
        GET("tasks", "/api/v1/tasks", 200, "allocationIdToSummary#1"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0}, idle = {0};
    struct share share;
    struct reply reply;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    agent_join(&idle, bed, "a2", 1);
    share_speak(&share);
    bed_play(bed, steps);
    reply = bed_call(bed, USER, NET_GET, "/api/v1/tasks", NULL);
    CHECK_HAS(reply.text, share.container);
    CHECK_HAS(reply.text, "\"priority\":42");
}

TEST(checkpoints_come_in_pages_like_everything_else)
{
    static const struct step steps[] = {
        GET("last", "/api/v1/trials/1/checkpoints?offset=-1", 200,
            "checkpoints#1; pagination.startIndex=1; pagination.total=2"),
        GET("before the first", "/api/v1/trials/1/checkpoints?offset=-3", 400,
            "error.error~out of bounds"),
        GET("of the experiment", "/api/v1/experiments/1/checkpoints?offset=-2&limit=1",
            200, "checkpoints#1; pagination.startIndex=0; pagination.endIndex=1"),
        GET("unspecified",
            "/api/v1/trials/1/checkpoints?sortByAttr=SORT_BY_UNSPECIFIED", 200,
            "checkpoints#2"),
        GET("by steps",
            "/api/v1/trials/1/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER&orderBy="
            "ORDER_BY_DESC",
            200, "checkpoints.0.metadata.steps_completed=2"),
        GET("by what", "/api/v1/trials/1/checkpoints?sortByAttr=SORT_BY_COLOUR", 400,
            "error.error~SORT_BY_COLOUR"),
        GET("by the searcher's", "/api/v1/trials/1/checkpoints?sortByMetric=loss", 200,
            "checkpoints#2"),
        GET("by another", "/api/v1/experiments/1/checkpoints?sortByMetric=accuracy",
            400, "error.error~accuracy"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_speak(&share);
    share_checkpoint(&share, "11111111-1111-4111-8111-111111111111", 1);
    share_checkpoint(&share, "22222222-2222-4222-8222-222222222222", 2);
    bed_play(bed, steps);
}

TEST(the_best_checkpoint_is_the_one_the_searcher_would_take)
{
    static const char config[] =
        "name: up\nentrypoint: x\n"
        "searcher: {name: single, metric: acc, smaller_is_better: false}\n";
    static const struct step steps[] = {
        GET("list", "/api/v1/experiments/1/trials", 200,
            "trials.0.bestCheckpoint.uuid=22222222-2222-4222-8222-222222222222; "
            "trials.0.checkpointCount=3"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config);
    share = agent_run(&agent);
    share_checkpoint(&share, "11111111-1111-4111-8111-111111111111", 1);
    share_report(&share, "validation", 1, "{\"acc\": 0.1}", 200);
    share_checkpoint(&share, "22222222-2222-4222-8222-222222222222", 2);
    share_report(&share, "validation", 2, "{\"acc\": 0.9}", 200);
    share_checkpoint(&share, "33333333-3333-4333-8333-333333333333", 3);
    bed_play(bed, steps);
}
