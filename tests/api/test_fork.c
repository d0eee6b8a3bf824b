/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments that start from another one, and experiments that continue after their
 * end. */
#include "base/compiler.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";
static const char uuid_b[] = "22222222-2222-4222-8222-222222222222";

#define CONTINUE(name, body, status, expect)                                           \
    POST(name, "/api/v1/experiments/continue", body, status, expect)

static void play_one(struct bed *bed, struct step step)
{
    (void)bed_step(bed, &step);
}

/* One that saved after 10 and 20 steps and ended as it is told. */
static struct share run_out(struct agent *agent, const char *exit, int code)
{
    struct share share = agent_run(agent);

    share_checkpoint(&share, uuid_a, 10);
    share_checkpoint(&share, uuid_b, 20);
    share_exit(&share, exit, code);
    return share;
}

TEST(an_experiment_that_completed_goes_on_with_what_changed)
{
    static const struct step steps[] = {
        CONTINUE("goes on",
                 "{'id': 1, 'overrideConfig': "
                 "'name: longer\\nhyperparameters: {steps: 40}\\nmax_restarts: 5'}",
                 200,
                 "experiment.id=1; experiment.name=longer; experiment.endTime!; "
                 "experiment.numTrials=1; config.max_restarts=5; "
                 "config.hyperparameters.steps.val=40; config.searcher.metric=loss; "
                 "warnings#0"),
        GET("its text", "/api/v1/experiments/1", 200,
            "experiment.originalConfig~steps: 40; "
            "experiment.originalConfig~entrypoint"),
        GET("trial", "/api/v1/trials/1", 200,
            "trial.restarts=0; trial.endTime!; trial.hparams.steps=40"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)run_out(&agent, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, steps);

    share = agent_run(&agent);
    CHECK_EQ(share.trial, 1);
    CHECK_EQ(share.run, 2);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_b);
    CHECK_STR(share_env(&share, "DET_STEPS_COMPLETED"), "20");
    CHECK_HAS(share_env(&share, "DET_HPARAMS"), "40");
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
}

TEST(a_continued_experiment_survives_a_restart_of_the_master)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)run_out(&agent, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    play_one(bed, (struct step)CONTINUE("goes on", "{'id': 1}", 200, NULL));
    bed_restart(bed);
    agent_hello(&agent, "[]");
    share = agent_run(&agent);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_b);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
}

TEST(what_cannot_go_on_says_why)
{
    static const struct step steps[] = {
        CONTINUE("nobody", "{'id': 9}", 404, "error.error=experiment '9' not found"),
        CONTINUE("no id", "{}", 400, NULL),
        CONTINUE("not over", "{'id': 2}", 400, "error.error~it is PAUSED"),
        CONTINUE("no map", "{'id': 1, 'overrideConfig': '[1]'}", 400,
                 "error.error~expected keys and values"),
        CONTINUE("no yaml", "{'id': 1, 'overrideConfig': '[1'}", 400, NULL),
        CONTINUE("no such key", "{'id': 1, 'overrideConfig': 'max_restart: 1'}", 400,
                 "error.error~max_restart"),
        CONTINUE("project", "{'id': 1, 'overrideConfig': 'project: p'}", 400,
                 "error.error~project cannot change"),
        CONTINUE("workspace", "{'id': 1, 'overrideConfig': 'workspace: w'}", 400,
                 "error.error~workspace cannot change"),
        CONTINUE("source",
                 "{'id': 1, 'overrideConfig': 'searcher: {source_trial_id: 1}'}", 400,
                 "error.error~source_trial_id cannot change"),
        CONTINUE(
            "search",
            "{'id': 1, 'overrideConfig': 'searcher: {name: random, max_trials: 2}'}",
            400, "error.error~searcher.name cannot change"),
        CONTINUE("metric", "{'id': 1, 'overrideConfig': 'searcher: {metric: other}'}",
                 400, "error.error~searcher.metric"),
        CONTINUE("pool",
                 "{'id': 1, 'overrideConfig': 'resources: {resource_pool: nowhere}'}",
                 400, "error.error~nowhere"),
        GET("it rests", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_COMPLETED; config.max_restarts=2"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)run_out(&agent, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    play_one(bed, (struct step)POST("paused", "/api/v1/experiments",
                                    "{'config': $[single]}", 200, NULL));
    bed_play(bed, steps);
}

TEST(forks_begin_from_checkpoints_and_are_told_of)
{
    static const struct step steps[] = {
        POST("fork", "/api/v1/experiments",
             "{'config': $[from], 'parentId': 1, 'activate': true}", 200,
             "experiment.forkedFrom=1; experiment.id=2"),
        GET("parent", "/api/v1/experiments/1", 200,
            "experiment.forks#1; experiment.forks.0=2; experiment.forkedFrom!"),
        GET("trial", "/api/v1/trials/2", 200,
            "trial.warmStartCheckpointUuid=22222222-2222-4222-8222-222222222222"),
        END_STEPS};
    static const struct step refusals[] = {
        POST("no trial", "/api/v1/experiments", "{'config': $[trial9]}", 404,
             "error.error~searcher.source_trial_id: trial '9' not found"),
        POST("no checkpoint", "/api/v1/experiments", "{'config': $[none]}", 404,
             "error.error~searcher.source_checkpoint_uuid"),
        POST("also when it is only checked", "/api/v1/experiments",
             "{'config': $[none], 'validateOnly': true}", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    bed_let(
        bed, "from",
        "entrypoint: x\nsearcher: {name: single, metric: loss, source_trial_id: 1}\n");
    bed_let(
        bed, "trial9",
        "entrypoint: x\nsearcher: {name: single, metric: loss, source_trial_id: 9}\n");
    bed_let(bed, "none",
            "entrypoint: x\nsearcher: {name: single, metric: loss, "
            "source_checkpoint_uuid: 99999999-2222-4222-8222-222222222222}\n");
    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)run_out(&agent, "CLEAN", 0);
    await_experiment(bed, 1, "COMPLETED");
    bed_play(bed, refusals);
    bed_play(bed, steps);
    share = agent_run(&agent);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_b);
    CHECK_STR(share_env(&share, "DET_STEPS_COMPLETED"), "0");
}
