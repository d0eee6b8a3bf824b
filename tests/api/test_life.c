/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments from submission to their end, with an agent played by the test. */
#include "base/compiler.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";
static const char uuid_b[] = "22222222-2222-4222-8222-222222222222";

TEST(a_single_trial_trains_validates_and_completes)
{
    static const struct step after[] = {
        GET("experiment", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.progress=1; experiment.bestTrialId=${share.trial}; "
            "experiment.bestTrialSearcherMetric=0.5; experiment.numTrials=1; "
            "experiment.endTime?; experiment.trialIds#1; jobSummary!"),
        GET("trial", "/api/v1/trials/${share.trial}", 200,
            "trial.totalBatchesProcessed=20; trial.searcherMetricValue=0.5; "
            "trial.bestValidation.metrics.avgMetrics.loss=0.5; "
            "trial.bestValidation.totalBatches=20; "
            "trial.latestValidation.totalBatches=20; "
            "trial.bestCheckpoint.uuid=11111111-1111-4111-8111-111111111111; "
            "trial.summaryMetrics.avg_metrics.loss.count=2; "
            "trial.summaryMetrics.validation_metrics.loss.min=0.5; trial.restarts=0"),
        GET("best",
            "/api/v1/experiments/${share.experiment}/searcher/"
            "best_searcher_validation_metric",
            200, "metric=0.5"),
        GET("names", "/api/v1/det/experiments/${share.experiment}/metric-names", 200,
            NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    CHECK_EQ(share.experiment, id);
    CHECK_EQ(share.run, 1);
    CHECK_NULL(share_env(&share, "DET_LATEST_CHECKPOINT"));
    CHECK_STR(share_env(&share, "DET_STEPS_COMPLETED"), "0");
    await_experiment(bed, id, "RUNNING");
    share_report(&share, "training", 10, "{'loss': 2.5}", 200);
    share_report(&share, "training", 20, "{'loss': 1.5}", 200);
    share_report(&share, "validation", 20, "{'loss': 0.5, 'accuracy': 0.9}", 200);
    share_checkpoint(&share, uuid_a, 20);
    share_exit(&share, "CLEAN", 0);

    await_experiment(bed, id, "COMPLETED");
    bed_play(bed, after);
}

TEST(a_failed_trial_starts_again_from_its_latest_checkpoint_until_it_may_no_more)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 10);
    share_checkpoint(&share, uuid_b, 20);
    share_exit(&share, "FAILED", 1);

    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_b);
    CHECK_STR(share_env(&share, "DET_STEPS_COMPLETED"), "20");
    share_exit(&share, "FAILED", 1);
    share = agent_run(&agent);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_b);
    share_exit(&share, "FAILED", 9);

    await_experiment(bed, id, "ERROR");
    await_trial(bed, share.trial, "ERROR");
    CHECK_EQ(bed_i64(bed, "awaited.trial.restarts"), 2);
    CHECK_STR(json_str(json_path(bed->vars, "awaited.trial.exitReason"), NULL),
              "so it ended");
}

TEST(a_grid_tries_every_combination_once)
{
    BED(bed, NULL);
    struct agent agent = {0};
    bool seen[4] = {0};
    int64_t id;

    agent_join(&agent, bed, "a1", 2); /* two at a time, then the third */
    id = create(bed, config_grid);
    for (int i = 0; i < 3; i++) {
        struct share share = agent_run(&agent);
        int64_t layers = json_i64(json_at(share.spec, "info.trial.hparams.layers"), 0);

        CHECK(layers >= 1 && layers <= 3 && !seen[layers]);
        seen[layers] = true;
        share_report(&share, "validation", 1, "{'loss': 1}", 200);
        share_exit(&share, "CLEAN", 0);
    }
    await_experiment(bed, id, "COMPLETED");
    CHECK_EQ(bed_i64(bed, "awaited.experiment.numTrials"), 3);
}

TEST(a_grid_goes_on_without_the_trial_that_was_killed)
{
    static const struct step steps[] = {
        POST("kill", "/api/v1/trials/${share.trial}/kill", NULL, 200, NULL),
        POST("unknown", "/api/v1/trials/999/kill", NULL, 404, NULL), END_STEPS};
    static const struct step after[] = {
        POST("again", "/api/v1/trials/${share.trial}/kill", NULL, 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id, killed;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_grid);
    share = agent_run(&agent);
    killed = share.trial;
    bed_play(bed, steps);
    share_await_kill(&share);
    share_exit(&share, "KILLED", 137);
    await_trial(bed, killed, "CANCELED");
    bed_play(bed, after);
    for (int i = 0; i < 2; i++) {
        share = agent_run(&agent);
        share_exit(&share, "CLEAN", 0);
    }
    await_experiment(bed, id, "COMPLETED");
}

TEST(a_random_search_replaces_a_trial_whose_hyperparameters_are_invalid)
{
    static const struct step refuse[] = {
        POST("odd reason", "/api/v1/trials/${share.trial}/early_exit",
             "{'reason': 'EXITED_REASON_USER_REQUESTED_STOP'}", 400, NULL, TASK),
        POST("no reason", "/api/v1/trials/${share.trial}/early_exit", "{}", 400, NULL,
             TASK),
        POST("refuse", "/api/v1/trials/${share.trial}/early_exit",
             "{'reason': 'EXITED_REASON_INVALID_HP'}", 200, NULL, TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_random);
    share = agent_run(&agent);
    bed_play(bed, refuse);
    share_exit(&share, "CLEAN", 0);
    for (int i = 0; i < 2; i++) {
        share = agent_run(&agent);
        share_report(&share, "validation", 5, "{'loss': 0.25}", 200);
        share_exit(&share, "CLEAN", 0);
    }
    await_experiment(bed, id, "COMPLETED");
    CHECK_EQ(bed_i64(bed, "awaited.experiment.numTrials"), 3);
    CHECK(agent_is_idle(&agent));
}

TEST(a_trial_that_refuses_its_hyperparameters_and_stays_is_killed)
{
    static const struct step refuse[] = {
        POST("refuse", "/api/v1/trials/${share.trial}/early_exit",
             "{'reason': 'EXITED_REASON_INIT_INVALID_HP'}", 200, NULL, TASK),
        END_STEPS};
    static const struct step later[] = {
        /* the heart looks at the clock when something happens */
        POST("progress", "/api/v1/trials/${share.trial}/progress", "{'progress': 0.5}",
             200, NULL, TASK),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, refuse);
    CHECK(agent_is_idle(&agent));
    bed_pass(bed, 11); /* it had ten seconds */
    bed_play(bed, later);
    share_await_kill(&share);
    share_exit(&share, "KILLED", 137);
    await_trial(bed, share.trial, "COMPLETED");
}

/* ---- steering -------------------------------------------------------------------- */

TEST(a_paused_experiment_goes_on_where_it_stopped)
{
    static const struct step pause[] = {
        POST("pause", "/api/v1/experiments/${share.experiment}/pause", NULL, 200, NULL),
        END_STEPS};
    static const struct step paused[] = {
        GET("paused", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.state=STATE_PAUSED"),
        POST("activate", "/api/v1/experiments/${share.experiment}/activate", NULL, 200,
             NULL),
        POST("twice", "/api/v1/experiments/${share.experiment}/activate", NULL, 200,
             NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    CHECK(!share_is_preempted(&share, 0));
    bed_play(bed, pause);
    CHECK(share_is_preempted(&share, 60));
    share_acknowledge(&share);
    share_checkpoint(&share, uuid_a, 7);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "PAUSED");
    CHECK(agent_is_idle(&agent));
    bed_play(bed, paused);
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_a);
    CHECK_STR(share_env(&share, "DET_STEPS_COMPLETED"), "7");
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, id, "COMPLETED");
    CHECK_EQ(bed_i64(bed, "awaited.experiment.trialIds.0"), share.trial);
}

/* Its program had begun though nobody had said so; it hears that it must stop, says
 * that it does, and is gone before the kill comes. */
TEST(a_run_that_is_to_be_killed_and_stops_by_itself_is_not_the_end_of_its_trial)
{
    static const struct step pause[] = {
        POST("pause", "/api/v1/experiments/${share.experiment}/pause", NULL, 200, NULL),
        END_STEPS};
    static const struct step activate[] = {
        POST("activate", "/api/v1/experiments/${share.experiment}/activate", NULL, 200,
             NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_start(&agent);
    bed_play(bed, pause);
    share_await_kill(&share);
    CHECK(share_is_preempted(&share, 0));
    share_acknowledge(&share);
    share_exit(&share, "CLEAN", 0);
    bed_play(bed, activate);
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, id, "COMPLETED");
}

static double clocked(struct bed *bed, const char *path)
{
    double seconds = 0;

    CHECK(json_number(json_path(bed->vars, path), &seconds));
    return seconds;
}

TEST(only_time_on_slots_counts)
{
    static const struct step pause[] = {
        POST("pause", "/api/v1/experiments/${share.experiment}/pause", NULL, 200, NULL),
        END_STEPS};
    static const struct step paused[] = {
        {"paused", NET_GET, "/api/v1/trials/${share.trial}", NULL, 200,
         "trial.exitReason=it was preempted", ADMIN, true, NULL},
        END_STEPS};
    static const struct step later[] = {
        GET("later", "/api/v1/trials/${share.trial}", 200,
            "trial.wallClockTime=${paused.trial.wallClockTime}"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    bed_pass(bed, 10);
    await_trial(bed, share.trial, "RUNNING");
    CHECK(clocked(bed, "awaited.trial.wallClockTime") >= 10);
    bed_play(bed, pause);
    CHECK(share_is_preempted(&share, 60));
    share_acknowledge(&share);
    share_exit(&share, "CLEAN", 0);
    bed_play(bed, paused);
    CHECK(clocked(bed, "paused.trial.wallClockTime") >= 10);
    bed_pass(bed, 1000);
    bed_play(bed, later);
}

static const struct step on_the_ended[] = {
    GET("show", "/api/v1/experiments/${share.experiment}", 200,
        "experiment.state=STATE_CANCELED; experiment.progress=null"),
    GET("list", "/api/v1/experiments", 200, "experiments.0.progress=null"),
    POST("cancel", "/api/v1/experiments/${share.experiment}/cancel", NULL, 200, NULL),
    POST("kill", "/api/v1/experiments/${share.experiment}/kill", NULL, 200, NULL),
    POST("pause", "/api/v1/experiments/${share.experiment}/pause", NULL, 400,
         "error.error~is CANCELED already: there is nothing to pause"),
    POST("activate", "/api/v1/experiments/${share.experiment}/activate", NULL, 404,
         "error.error~is CANCELED already: continue it, or fork it"),
    POST("cancel unknown", "/api/v1/experiments/99/cancel", NULL, 404, NULL),
    POST("kill unknown", "/api/v1/experiments/99/kill", NULL, 404, NULL),
    POST("pause unknown", "/api/v1/experiments/99/pause", NULL, 404, NULL),
    POST("activate unknown", "/api/v1/experiments/99/activate", NULL, 404,
         "error.error=experiment '99' not found"),
    END_STEPS};

TEST(a_canceled_experiment_ends_gracefully)
{
    static const struct step cancel[] = {
        POST("cancel", "/api/v1/experiments/${share.experiment}/cancel", NULL, 200,
             NULL),
        POST("twice", "/api/v1/experiments/${share.experiment}/cancel", NULL, 200,
             NULL),
        GET("stopping", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.state=STATE_STOPPING_CANCELED"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, cancel);
    CHECK(share_is_preempted(&share, 60));
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, id, "CANCELED");
    bed_play(bed, on_the_ended);
}

TEST(a_killed_experiment_ends_at_once)
{
    static const struct step kill[] = {
        POST("kill", "/api/v1/experiments/${share.experiment}/kill", NULL, 200, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    bed_play(bed, kill);
    share_await_kill(&share);
    CHECK(share_is_preempted(&share, 0)); /* it must stop, whoever it asks */
    share_exit(&share, "KILLED", 137);
    await_experiment(bed, id, "CANCELED");
    bed_play(bed, on_the_ended);
}

TEST(what_waits_for_an_agent_can_be_killed_too)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments", "{'config': $[single], 'activate': true}",
             200, "experiment.state=STATE_QUEUED"),
        GET("queued", "/api/v1/experiments/${create.experiment.id}", 200,
            "jobSummary.state=STATE_QUEUED; experiment.state=STATE_QUEUED"),
        GET("found as queued", "/api/v1/experiments?states=STATE_QUEUED", 200,
            "experiments#1"),
        GET("as active", "/api/v1/experiments?states=STATE_ACTIVE", 200,
            "experiments#1"),
        GET("not as running", "/api/v1/experiments?states=STATE_RUNNING", 200,
            "experiments#0; pagination.total=0"),
        GET("as one of two", "/api/v1/experiments?states=PAUSED&states=QUEUED", 200,
            "experiments#1"),
        GET("its trial too",
            "/api/v1/experiments/${create.experiment.id}/trials?states=STATE_QUEUED",
            200, "trials#1"),
        GET("and only so",
            "/api/v1/experiments/${create.experiment.id}/trials?states=STATE_RUNNING",
            200, "trials#0; pagination.total=0"),
        GET("task", "/api/v1/tasks", 200, "allocationIdToSummary#1"),
        POST("kill", "/api/v1/experiments/${create.experiment.id}/kill", NULL, 200,
             NULL),
        GET("over", "/api/v1/experiments/${create.experiment.id}", 200,
            "experiment.state=STATE_CANCELED", .until = true),
        GET("no task", "/api/v1/tasks", 200, "allocationIdToSummary#0"),
        END_STEPS};
    BED(bed, "launch_error: false\n");

    bed_play(bed, steps);
}

/* ---- failures -------------------------------------------------------------------- */

TEST(a_validation_without_the_searcher_s_metric_is_taken_all_the_same)
{
    static const struct step after[] = {
        GET("none", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.bestTrialSearcherMetric!"),
        GET("trial", "/api/v1/trials/${share.trial}", 200,
            "trial.latestValidation!; "
            "trial.summaryMetrics.validation_metrics.accuracy?"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(bed, config_single);
    share = agent_run(&agent);
    share_report(&share, "validation", 10, "{'accuracy': 1}", 200);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, id, "COMPLETED");
    bed_play(bed, after);
}

TEST(a_new_experiment_can_begin_from_a_checkpoint_of_another)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    struct step bad =
        POST("bad", "/api/v1/experiments", "{'config': $[wanted]}", 404, NULL);

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_checkpoint(&share, uuid_a, 30);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    (void)create(bed, "entrypoint: x\n"
                      "searcher: {name: single, metric: loss, source_trial_id: 1}\n");
    share = agent_run(&agent);
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_a);
    CHECK_STR(share_env(&share, "DET_STEPS_COMPLETED"), "0");
    bed_let(
        bed, "wanted",
        "entrypoint: x\nsearcher: {name: single, metric: loss, source_trial_id: 9}\n");
    (void)bed_step(bed, &bad);
}

TEST(an_experiment_that_can_never_fit_is_refused)
{
    static const char big[] = "entrypoint: x\nsearcher: {name: single, metric: loss}\n"
                              "resources: {slots_per_trial: 8}\n";
    static const struct step steps[] = {
        POST("too big", "/api/v1/experiments",
             "{'config': $[wanted], 'activate': true}", 400, "error.error~slots"),
        GET("nothing was made", "/api/v1/experiments", 200, "experiments#0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 2);
    bed_let(bed, "wanted", big);
    bed_play(bed, steps);
}

TEST(with_launch_error_off_it_waits_with_a_warning)
{
    static const char big[] = "entrypoint: x\nsearcher: {name: single, metric: loss}\n"
                              "resources: {slots_per_trial: 8}\n";
    static const struct step steps[] = {
        POST("big", "/api/v1/experiments", "{'config': $[wanted], 'activate': true}",
             200,
             "warnings.0=LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED; "
             "experiment.state=STATE_QUEUED"),
        END_STEPS};
    BED(bed, "launch_error: false\n");
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 2);
    bed_let(bed, "wanted", big);
    bed_play(bed, steps);
}
