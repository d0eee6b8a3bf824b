/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints are removed by policy, on demand, or with their experiment; which agent
 * removes them, and what happens while that agent is away. */
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";
static const char uuid_b[] = "22222222-2222-4222-8222-222222222222";
static const char uuid_c[] = "33333333-3333-4333-8333-333333333333";

#define A "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111"
#define B "/api/v1/checkpoints/22222222-2222-4222-8222-222222222222"
#define C "/api/v1/checkpoints/33333333-3333-4333-8333-333333333333"

static void await(struct bed *bed, const char *path, const char *expect)
{
    struct step step = {.name = "awaited",
                        .path = path,
                        .status = 200,
                        .expect = expect,
                        .until = true};

    (void)bed_step(bed, &step);
}

static size_t removals(struct agent *agent)
{
    struct json *work = agent_removals(agent);

    return json_get(work, "removals")->list.count;
}

TEST(by_default_the_best_and_the_last_stay_while_the_trial_runs)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    share_report(&share, "validation", 10, "{'loss': 0.9}", 200);
    share_checkpoint(&share, uuid_b, 20);
    share_report(&share, "validation", 20, "{'loss': 0.1}", 200);
    share_checkpoint(&share, uuid_c, 30);
    share_report(&share, "validation", 30, "{'loss': 0.5}", 200);

    await(bed, A,
          "checkpoint.state=STATE_PARTIALLY_DELETED; checkpoint.deletion.since?");
    agent_clean(&agent, NULL);
    await(bed, A,
          "checkpoint.state=STATE_DELETED; checkpoint.resources#0; "
          "checkpoint.deletion!");
    await(bed, B, "checkpoint.state=STATE_COMPLETED");
    await(bed, C, "checkpoint.state=STATE_COMPLETED");
    await(bed, "/api/v1/experiments/1", "experiment.checkpointCount=2");
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    await(bed, B, "checkpoint.state=STATE_COMPLETED");
}

TEST(a_failed_removal_is_shown_and_what_is_decided_survives_a_restart)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    share_report(&share, "validation", 10, "{'loss': 0.9}", 200);
    share_checkpoint(&share, uuid_b, 20);
    share_report(&share, "validation", 20, "{'loss': 0.1}", 200);
    agent_clean(&agent, "cannot remove it: Permission denied");
    await(bed, A,
          "checkpoint.state=STATE_PARTIALLY_DELETED; checkpoint.deletion.tries=1; "
          "checkpoint.deletion.error~a1: cannot remove it: Permission denied; "
          "checkpoint.deletion.nextTry?; checkpoint.resources#2");
    bed->wall_offset_us += 3600ll * 1000000;
    bed_restart(bed);
    agent_hello(&agent, "[]");
    agent_clean(&agent, NULL);
    await(bed, A, "checkpoint.state=STATE_DELETED");
}

/* More than are done at once: one many times, and behind it another. */
static void delete_many(struct bed *bed, const char *often, const char *last)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct step step = {"many", NET_DELETE, "/api/v1/checkpoints", NULL, 200, NULL};

    buf_puts(&body, "{'checkpointUuids': [");
    for (int i = 0; i < 250; i++)
        buf_printf(&body, "'%s', ", often);
    buf_printf(&body, "'%s']}", last);
    step.body = body.data;
    (void)bed_step(bed, &step);
}

TEST(checkpoints_are_deleted_on_demand_but_not_those_that_are_needed)
{
    static const struct step steps[] = {
        {"needed", NET_DELETE, "/api/v1/checkpoints",
         "{'checkpointUuids': ['22222222-2222-4222-8222-222222222222']}", 400,
         "error.error~is not over and would resume from it"},
        {"unknown", NET_DELETE, "/api/v1/checkpoints",
         "{'checkpointUuids': ['99999999-9999-4999-8999-999999999999']}", 400,
         "error.error~not found"},
        {"no uuid", NET_DELETE, "/api/v1/checkpoints", "{'checkpointUuids': ['../x']}",
         400, "error.error~is not a checkpoint's uuid"},
        {"no list", NET_DELETE, "/api/v1/checkpoints", "{}", 400, NULL},
        {"all or none", NET_DELETE, "/api/v1/checkpoints",
         "{'checkpointUuids': ['11111111-1111-4111-8111-111111111111',"
         " '22222222-2222-4222-8222-222222222222']}",
         400, NULL},
        GET("a stays", A, 200, "checkpoint.state=STATE_COMPLETED"),
        {"one", NET_DELETE, "/api/v1/checkpoints",
         "{'checkpointUuids': ['11111111-1111-4111-8111-111111111111']}", 200, NULL},
        {"twice", NET_DELETE, "/api/v1/checkpoints",
         "{'checkpointUuids': ['11111111-1111-4111-8111-111111111111']}", 200, NULL},
        GET("listed", "/api/v1/trials/1/checkpoints?states=STATE_PARTIALLY_DELETED",
            200, "checkpoints#1"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_c, 5);
    share_checkpoint(&share, uuid_a, 10);
    share_checkpoint(&share, uuid_b, 20);
    await(bed, "/api/v1/trials/1", "trial.checkpointCount=3");
    bed_play(bed, steps);
    delete_many(bed, uuid_a, uuid_c);
    await(bed, C, "checkpoint.state=STATE_PARTIALLY_DELETED");
    agent_clean(&agent, NULL);
    await(bed, A, "checkpoint.state=STATE_DELETED");
}

/* Of the newer one the heart hears through the journal, a little later than its maker
 * hears that it is stored. */
TEST(a_trial_may_delete_what_it_has_just_replaced)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    char uuid[64], body[128];
    struct step step = {"replaced", NET_DELETE, "/api/v1/checkpoints", body, 200, NULL};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    for (int i = 1; i <= 100; i++) {
        snprintf(uuid, sizeof(uuid), "00000000-0000-4000-8000-%012d", i);
        share_checkpoint(&share, uuid, i);
        snprintf(body, sizeof(body),
                 "{'checkpointUuids': ['00000000-0000-4000-8000-%012d']}", i - 1);
        if (i > 1)
            (void)bed_step(bed, &step);
    }
}

TEST(a_policy_can_be_previewed_and_patched)
{
    static const struct step steps[] = {
        GET("as it is", "/experiments/1/preview_gc", 200,
            "checkpoints#0; metric_name=loss"),
        GET("only the last",
            "/experiments/1/preview_gc?save_experiment_best=0&save_trial_best=0"
            "&save_trial_latest=1",
            200,
            "checkpoints#1; "
            "checkpoints.0.UUID=11111111-1111-4111-8111-111111111111; "
            "checkpoints.0.TrialID=1; checkpoints.0.StepsCompleted=10; "
            "checkpoints.0.ValidationMetrics.validation_metrics.loss=0.1"),
        GET("nothing was done", A, 200, "checkpoint.state=STATE_COMPLETED"),
        PATCH("do it", "/api/v1/experiments/1",
              "{'checkpointStorage': {'saveTrialBest': 0}}", 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    share_report(&share, "validation", 10, "{'loss': 0.1}", 200);
    share_checkpoint(&share, uuid_b, 20);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    bed_play(bed, steps);
    agent_clean(&agent, NULL);
    await(bed, A, "checkpoint.state=STATE_DELETED");
    await(bed, B, "checkpoint.state=STATE_COMPLETED");
}

TEST(local_storage_waits_for_the_agent_that_wrote_it)
{
    BED(bed, NULL);
    struct agent writer = {0};
    struct agent other = {0};
    struct share share;

    agent_join(&writer, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&writer);
    agent_join(&other, bed, "a2", 0);
    share_checkpoint(&share, uuid_a, 10);
    share_checkpoint(&share, uuid_b, 20);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    await(bed, A, "checkpoint.deletion.agent=a1; checkpoint.deletion.shared=false");
    CHECK(agent_is_idle(&other));
    CHECK(!other.is_cleaning);
    other.is_cleaning = true; /* and if it asked, there would be nothing for it */
    CHECK_EQ(removals(&other), 0);
    CHECK_EQ(removals(&writer), 1);
}

TEST(what_warm_starts_another_trial_stays)
{
    static const char config[] =
        "name: warm\nentrypoint: x\nmax_restarts: 0\nsearcher:\n  name: single\n"
        "  metric: loss\n  max_length: {batches: 10}\n"
        "  source_checkpoint_uuid: 11111111-1111-4111-8111-111111111111\n";
    static const struct step steps[] = {
        PATCH("nothing is kept", "/api/v1/experiments/1",
              "{'checkpointStorage': {'saveTrialBest': 0, 'saveTrialLatest': 0}}", 200,
              NULL),
        GET("held", A, 200, "checkpoint.held=true"),
        {"begun from", NET_DELETE, "/api/v1/checkpoints",
         "{'checkpointUuids': ['11111111-1111-4111-8111-111111111111']}", 400,
         "error.error~trial 2 is not over and would resume from it"},
        DELETE("in use", "/api/v1/experiments/1", 400,
               "error.error~began from its checkpoint"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    (void)create(bed, config); /* before the policy of the first takes it away */
    share_checkpoint(&share, uuid_b, 20);
    share_report(&share, "validation", 20, "{'loss': 0.1}", 200);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, steps);
    agent_clean(&agent, NULL);
    await(bed, B, "checkpoint.state=STATE_DELETED");
    await(bed, A, "checkpoint.state=STATE_COMPLETED");
}

TEST(a_deletion_that_fails_for_good_is_said_and_can_be_asked_for_again)
{
    static const struct step begin[] = {
        DELETE("delete", "/api/v1/experiments/1", 200, NULL), END_STEPS};
    static const struct step gone[] = {
        GET("gone", "/api/v1/experiments/1", 404, NULL, .until = true), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, begin);
    for (int i = 0; i < 3; i++) {
        agent_clean(&agent, "no");
        bed_pass(bed, 3600);
        if (i < 2)
            agent_hello(&agent, "[]"); /* who comes is asked at once */
    }
    await_experiment(bed, 1, "DELETE_FAILED");
    bed_play(bed, begin);
    agent_clean(&agent, NULL);
    bed_play(bed, gone);
}

TEST(what_a_killed_run_left_unfinished_is_named_to_its_agent)
{
    static const char results[] = "{'results': [], 'swept': [{'trial': 1, 'run': 1}]}";
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    struct json *work;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_exit(&share, "FAILED", 1);
    share = agent_run(&agent);
    work = agent_removals(&agent);
    CHECK_EQ(json_get(work, "sweeps")->list.count, 1);
    CHECK_EQ(json_i64(json_at(work, "sweeps.0.trial"), 0), 1);
    CHECK_EQ(json_i64(json_at(work, "sweeps.0.run"), 0), 1);
    CHECK_HAS(json_str(json_at(work, "sweeps.0.directory"), ""), "/checkpoints");
    CHECK(*json_str(json_get(work, "cluster"), "") != '\0');
    CHECK_EQ(bed_call(bed, AGENT, NET_POST, "/api/v1/det/agents/a1/removals",
                      bed_fill(bed, results, true))
                 .status,
             200);
    agent.is_cleaning = true;
    work = agent_removals(&agent);
    CHECK_EQ(json_get(work, "sweeps")->list.count, 0);
}
