/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of tasks: metrics, checkpoints, progress, notes. */
#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";
static const char uuid_b[] = "22222222-2222-4222-8222-222222222222";

/* A master, an agent with one slot and a trial that runs on it. */
static struct share one_running(struct bed *bed, struct agent *agent)
{
    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    return agent_run(agent);
}

/* ---- metrics --------------------------------------------------------------------- */

TEST(reports_of_one_step_are_merged_and_contradictions_refused)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_report(&share, "training", 10, "{'loss': 2.5}", 200);
    share_report(&share, "training", 10, "{'loss': 2.5}", 200); /* the same again */
    share_report(&share, "training", 10, "{'loss': 2.5, 'accuracy': 0.5}", 200);
    share_report(&share, "training", 10, "{'loss': 2.6}", 409);
    share_report(&share, "training", 10, "{'accuracy': 'high'}", 409);
    share_report(&share, "validation", 10, "{'loss': 1}", 200);
    share_report(&share, "validation", 10, "{'loss': 1}", 200);
    share_report(&share, "validation", 10, "{'loss': 2}", 409);
    share_report(&share, "my own", 10, "{'x': [1, 2], 'y': null, 'z': 'NaN'}", 200);
    share_report(&share, "training", 20, "{}", 200);
    await_trial(bed, share.trial, "RUNNING");
    CHECK_STR(bed_get(bed, "awaited.trial.bestValidation.metrics.avgMetrics.loss"),
              "1");
}

TEST(a_report_that_is_none_is_refused)
{
    static const struct step steps[] = {
        POST("no metrics", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': ${share.run}, 'stepsCompleted': 1}}", 400,
             NULL, TASK),
        POST("a list", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': ${share.run}, 'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': [1]}}}",
             400, NULL, TASK),
        POST("a dot", "/api/v1/trials/${share.trial}/metrics",
             "{'group': 'a.b', 'metrics': {'trialRunId': ${share.run}, "
             "'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': {'a': 1}}}}",
             400, "error.error~'a.b'", TASK),
        POST(
            "no group", "/api/v1/trials/${share.trial}/metrics",
            "{'group': '', 'metrics': {'trialRunId': ${share.run}, 'stepsCompleted': 1,"
            " 'metrics': {'avgMetrics': {'a': 1}}}}",
            400, NULL, TASK),
        POST("backwards", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': ${share.run}, 'stepsCompleted': -1,"
             " 'metrics': {'avgMetrics': {'a': 1}}}}",
             400, NULL, TASK),
        POST("another run", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': 7, 'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': {'a': 1}}}}",
             400, NULL, TASK),
        POST("no trial", "/api/v1/trials/99/metrics",
             "{'metrics': {'trialRunId': 1, 'stepsCompleted': 1,"
             " 'metrics': {'avgMetrics': {'a': 1}}}}",
             404, NULL),
        GET("nothing is there", "/api/v1/trials/${share.trial}", 200,
            "trial.totalBatchesProcessed=0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(a_run_that_is_over_reports_no_more)
{
    static const struct step stale[] = {
        POST("stale", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': 1, 'stepsCompleted': 30,"
             " 'metrics': {'avgMetrics': {'loss': 1}}}}",
             400, "error.error~run"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_report(&share, "training", 10, "{'loss': 1}", 200);
    share_exit(&share, "FAILED", 1);
    share = agent_run(&agent);
    CHECK_EQ(share.run, 2);
    bed_play(bed, stale);
}

TEST(a_new_run_rolls_back_what_lies_behind_its_checkpoint)
{
    static const struct step steps[] = {
        GET("what counts",
            "/api/v1/trials/metrics/training_metrics?trialIds=${share.trial}", 200,
            "result.metrics#2; result.metrics.0.trialRunId=1; "
            "result.metrics.0.totalBatches=10; result.metrics.1.trialRunId=2; "
            "result.metrics.1.totalBatches=20"),
        GET("trial", "/api/v1/trials/${share.trial}", 200,
            "trial.totalBatchesProcessed=20; "
            "trial.summaryMetrics.avg_metrics.loss.last=7; "
            "trial.summaryMetrics.avg_metrics.loss.count=2"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_report(&share, "training", 10, "{'loss': 9}", 200);
    share_checkpoint(&share, uuid_a, 10);
    share_report(&share, "training", 20, "{'loss': 8}", 200);
    share_report(&share, "training", 30, "{'loss': 8}", 200);
    share_exit(&share, "FAILED", 1);
    share = agent_run(&agent);
    share_report(&share, "training", 20, "{'loss': 7}", 200);
    bed_play(bed, steps);
}

TEST(what_a_killed_run_did_behind_its_checkpoint_is_marked_when_it_resumes)
{
    static const struct step killed[] = {
        POST("kill", "/api/v1/allocations/${share.allocation}/kill", NULL, 200, NULL),
        POST("unknown", "/api/v1/allocations/1.x.9/kill", NULL, 404, NULL), END_STEPS};
    static const struct step over[] = {
        POST("over", "/api/v1/allocations/${share.allocation}/kill", NULL, 400,
             "error.error~is over"),
        END_STEPS};
    static const struct step resumed[] = {
        GET("what counts", "/api/v1/trials/metrics/trial_metrics?trialIds=1", 200,
            "result.metrics#2; result.metrics.0.totalBatches=10"),
        GET("everything",
            "/api/v1/trials/metrics/trial_metrics?trialIds=1&withArchived=true", 200,
            "result.metrics#4; result.metrics.1.archived=false; "
            "result.metrics.2.totalBatches=15; result.metrics.2.archived=true; "
            "result.metrics.3.archived=true"),
        GET("trial", "/api/v1/trials/1", 200,
            "trial.restarts=0; trial.totalBatchesProcessed=10; "
            "trial.bestValidation.totalBatches=10; "
            "trial.summaryMetrics.avg_metrics.loss.count=1"),
        GET("series",
            "/api/v1/trials/time-series?trialIds=1&metricNames=loss&group=training",
            200, "trials.0.metrics.0.data#1"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_report(&share, "training", 10, "{'loss': 9}", 200);
    share_report(&share, "validation", 10, "{'loss': 9}", 200);
    share_checkpoint(&share, uuid_a, 10);
    share_report(&share, "training", 15, "{'loss': 8}", 200);
    share_report(&share, "validation", 20, "{'loss': 1}", 200);
    bed_play(bed, killed);
    share_await_kill(&share);
    share_exit(&share, "KILLED", 137);
    bed_play(bed, over);
    (void)agent_run(&agent);
    bed_play(bed, resumed);
}

TEST(metrics_are_read_back_in_streams_and_series)
{
    static const struct step steps[] = {
        GET("training", "/api/v1/trials/metrics/training_metrics?trialIds=1", 200,
            "result.metrics#2; result.metrics.0.totalBatches=10; "
            "result.metrics.0.trialRunId=1; result.metrics.0.archived=false; "
            "result.metrics.0.metrics.avg_metrics.loss=2.5; result.metrics.0.endTime?"),
        GET("validation", "/api/v1/trials/metrics/validation_metrics?trialIds=1", 200,
            "result.metrics#1; result.metrics.0.metrics.validation_metrics.loss=0.5"),
        GET("any", "/api/v1/trials/metrics/trial_metrics?trialIds=1", 200,
            "result.metrics#4"),
        GET("group", "/api/v1/trials/metrics/trial_metrics?trialIds=1&group=mine", 200,
            "result.metrics#1; result.metrics.0.group=mine; "
            "result.metrics.0.metrics.avg_metrics.x=Infinity"),
        GET("of none", "/api/v1/trials/metrics/trial_metrics?trialIds=9", 404, NULL),
        GET("series",
            "/api/v1/trials/time-series?trialIds=1&metricNames=loss&metricType="
            "METRIC_TYPE_TRAINING",
            200,
            "trials.0.metrics.0.data#2; trials.0.metrics.0.data.1.values.loss=1.5; "
            "trials.0.metrics.0.data.1.batches=20; trials.0.trial.id=1"),
        GET("part of it",
            "/api/v1/trials/"
            "time-series?trialIds=1&metricIds=training.loss&startBatches=15",
            200, "trials.0.metrics.0.data#1"),
        GET("no group", "/api/v1/trials/time-series?trialIds=1&metricIds=loss", 400,
            NULL),
        GET("no trial", "/api/v1/trials/time-series?trialIds=9&metricNames=loss", 404,
            NULL),
        GET("workloads", "/api/v1/trials/1/workloads", 200,
            "workloads#4; workloads.0.training.totalBatches=10; pagination.total=4"),
        GET("validations", "/api/v1/trials/1/workloads?filter=FILTER_OPTION_VALIDATION",
            200, "workloads#1; workloads.0.validation.metrics.avgMetrics.loss=0.5"),
        GET("checkpoints", "/api/v1/trials/1/workloads?filter=FILTER_OPTION_CHECKPOINT",
            200, "workloads#1; workloads.0.checkpoint.totalBatches=20"),
        GET("a page", "/api/v1/trials/1/workloads?limit=1&offset=1", 200,
            "workloads#1"),
        GET("workloads of none", "/api/v1/trials/9/workloads", 404, NULL),
        GET("names", "/api/v1/det/experiments/1/metric-names", 200,
            "metricNames#4; metricNames.0.name=note; metricNames.0.type=string; "
            "metricNames.1.name=x; metricNames.1.type=number"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_report(&share, "training", 10, "{'loss': 2.5}", 200);
    share_report(&share, "training", 20, "{'loss': 1.5}", 200);
    share_report(&share, "validation", 20, "{'loss': 0.5}", 200);
    share_report(&share, "mine", 20, "{'x': 'Infinity', 'note': 'text'}", 200);
    share_checkpoint(&share, uuid_a, 20);
    bed_play(bed, steps);
}

TEST(the_best_validation_is_the_smallest_or_the_largest_as_configured)
{
    static const char larger[] =
        "entrypoint: x\n"
        "searcher: {name: single, metric: accuracy, smaller_is_better: false}\n";
    static const struct step steps[] = {GET("trial", "/api/v1/trials/${share.trial}",
                                            200,
                                            "trial.bestValidation.totalBatches=20; "
                                            "trial.latestValidation.totalBatches=30; "
                                            "trial.searcherMetricValue=0.9",
                                            .until = true),
                                        GET("best",
                                            "/api/v1/experiments/${share.experiment}/"
                                            "searcher/best_searcher_validation_metric",
                                            200, "metric=0.9", TASK),
                                        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, larger);
    share = agent_run(&agent);
    share_report(&share, "validation", 10, "{'accuracy': 0.5}", 200);
    share_report(&share, "validation", 20, "{'accuracy': 0.9}", 200);
    share_report(&share, "validation", 30, "{'accuracy': 'NaN'}", 200);
    share_report(&share, "validation", 30, "{'accuracy': 'NaN'}", 200);
    bed_play(bed, steps);
}

/* ---- words of a trial ------------------------------------------------------------ */

TEST(a_trial_tells_how_far_it_is_and_what_it_does)
{
    static const struct step steps[] = {
        POST("run", "/api/v1/runs/start", "{}", 200, "storageId=1", TASK),
        POST("progress", "/api/v1/trials/${share.trial}/progress",
             "{'progress': 0.25, 'is_raw': true}", 200, NULL, TASK),
        GET("shown", "/api/v1/experiments/${share.experiment}", 200,
            "experiment.progress=0.25"),
        POST("odd progress", "/api/v1/trials/${share.trial}/progress",
             "{'progress': 'NaN'}", 400, NULL, TASK),
        POST("no progress", "/api/v1/trials/${share.trial}/progress", "{}", 400, NULL,
             TASK),
        POST("progress of none", "/api/v1/trials/99/progress", "{'progress': 1}", 404,
             NULL),
        POST("state", "/api/v1/trials/${share.trial}/runner/metadata",
             "{'state': 'training'}", 200, NULL, TASK),
        GET("its state", "/api/v1/trials/${share.trial}", 200,
            "trial.runnerState=training"),
        POST("state of none", "/api/v1/trials/99/runner/metadata", "{'state': 'x'}",
             404, NULL),
        POST("notes", "/api/v1/runs/${share.trial}/metadata",
             "{'runId': 1, 'metadata': {'a': 1, 'b': {'c': 2}}}", 200, "metadata.b.c=2",
             TASK),
        POST("more notes", "/api/v1/runs/${share.trial}/metadata",
             "{'metadata': {'b': {'d': 3}, 'a': 4}}", 200,
             "metadata.a=4; metadata.b.c=2; metadata.b.d=3", TASK),
        GET("all notes", "/api/v1/runs/${share.trial}/metadata", 200, "metadata.b.d=3",
            TASK),
        POST("no notes", "/api/v1/runs/${share.trial}/metadata", "{'metadata': [1]}",
             400, NULL, TASK),
        GET("notes of none", "/api/v1/runs/99/metadata", 404, NULL),
        POST("for none", "/api/v1/runs/99/metadata", "{'metadata': {'a': 1}}", 404,
             NULL),
        POST("exit of none", "/api/v1/trials/99/early_exit",
             "{'reason': 'EXITED_REASON_INVALID_HP'}", 404, NULL),
        GET("files", "/api/v1/tasks/${share.task_id}/context_directory", 200,
            "b64Tgz=", TASK),
        GET("files of none", "/api/v1/tasks/9.x/context_directory", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

/* ---- checkpoints ----------------------------------------------------------------- */

TEST(checkpoints_are_reported_once_and_shown)
{
    static const struct step steps[] = {
        GET("one", "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111", 200,
            "checkpoint.state=STATE_COMPLETED; checkpoint.resources.model.bin!; "
            "checkpoint.metadata.steps_completed=10; checkpoint.training.trialId=1; "
            "checkpoint.training.experimentConfig.searcher.metric=loss; "
            "checkpoint.training.validationMetrics.avgMetrics.loss=0.5; "
            "checkpoint.training.searcherMetric=0.5; "
            "checkpoint.allocationId=${share.allocation}"),
        GET("of the experiment", "/api/v1/experiments/1/checkpoints", 200,
            "checkpoints#2; pagination.total=2"),
        GET("best first",
            "/api/v1/experiments/1/checkpoints?sortByAttr=SORT_BY_SEARCHER_METRIC", 200,
            "checkpoints.0.uuid=11111111-1111-4111-8111-111111111111"),
        GET("last first",
            "/api/v1/trials/1/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER&orderBy="
            "ORDER_BY_DESC&limit=1",
            200,
            "checkpoints#1; checkpoints.0.uuid=22222222-2222-4222-8222-222222222222"),
        GET("by state", "/api/v1/trials/1/checkpoints?states=STATE_DELETED", 200,
            "checkpoints#0"),
        GET("beyond", "/api/v1/trials/1/checkpoints?offset=5", 400, NULL),
        GET("of no trial", "/api/v1/trials/9/checkpoints", 404, NULL),
        GET("of no experiment", "/api/v1/experiments/9/checkpoints", 404, NULL),
        GET("no uuid", "/api/v1/checkpoints/x", 400, NULL),
        GET("unknown", "/api/v1/checkpoints/33333333-3333-4333-8333-333333333333", 404,
            NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_report(&share, "validation", 10, "{'loss': 0.5}", 200);
    share_checkpoint(&share, uuid_a, 10);
    share_checkpoint(&share, uuid_a, 10); /* the reply was lost, say */
    share_checkpoint(&share, uuid_b, 20);
    bed_play(bed, steps);
}

TEST(checkpoints_can_be_changed)
{
    static const struct step steps[] = {
        POST("metadata",
             "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111/metadata",
             "{'checkpoint': {'metadata': {'steps_completed': 10, 'note': 'x'}}}", 200,
             "checkpoint.metadata.note=x"),
        POST("no metadata",
             "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111/metadata", "{}",
             400, NULL),
        POST("metadata of none",
             "/api/v1/checkpoints/33333333-3333-4333-8333-333333333333/metadata",
             "{'checkpoint': {'metadata': {}}}", 404, NULL),
        PATCH("partly gone", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '22222222-2222-4222-8222-222222222222',"
              " 'resources': {'resources': {'sub/': 0}}}]}",
              200, NULL, TASK),
        GET("less", "/api/v1/checkpoints/22222222-2222-4222-8222-222222222222", 200,
            "checkpoint.state=STATE_PARTIALLY_DELETED; checkpoint.resources#1", TASK),
        PATCH("all gone", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '22222222-2222-4222-8222-222222222222',"
              " 'resources': {'resources': {}}}]}",
              200, NULL, TASK),
        GET("nothing", "/api/v1/checkpoints/22222222-2222-4222-8222-222222222222", 200,
            "checkpoint.state=STATE_DELETED"),
        PATCH("gone of none", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '33333333-3333-4333-8333-333333333333',"
              " 'resources': {'resources': {}}}]}",
              404, NULL),
        PATCH("no list", "/api/v1/checkpoints", "{}", 400, NULL),
        GET("still two", "/api/v1/experiments/1/checkpoints", 200, "checkpoints#2"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_checkpoint(&share, uuid_a, 10);
    share_checkpoint(&share, uuid_b, 20);
    bed_play(bed, steps);
}

TEST(reports_of_checkpoints_that_make_no_sense_are_refused)
{
    static const struct step steps[] = {
        POST("no steps", "/api/v1/checkpoints",
             "{'uuid': '33333333-3333-4333-8333-333333333333', 'metadata': {}}", 400,
             NULL, TASK),
        POST("bad uuid", "/api/v1/checkpoints",
             "{'uuid': '../../etc', 'metadata': {'steps_completed': 1}}", 400, NULL,
             TASK),
        POST(
            "bad state", "/api/v1/checkpoints",
            "{'uuid': '33333333-3333-4333-8333-333333333333', 'state': 'STATE_DELETED',"
            " 'metadata': {'steps_completed': 1}}",
            400, NULL, TASK),
        POST("no maker", "/api/v1/checkpoints",
             "{'uuid': '33333333-3333-4333-8333-333333333333',"
             " 'metadata': {'steps_completed': 1}}",
             400, NULL),
        POST("unknown maker", "/api/v1/checkpoints",
             "{'uuid': '33333333-3333-4333-8333-333333333333', 'taskId': '9.x',"
             " 'metadata': {'steps_completed': 1}}",
             404, NULL),
        GET("none", "/api/v1/experiments/1/checkpoints", 200, "checkpoints#0"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(a_task_cannot_take_over_the_checkpoint_of_another)
{
    static const struct step steps[] = {
        PATCH("touch", "/api/v1/checkpoints",
              "{'checkpoints': [{'uuid': '11111111-1111-4111-8111-111111111111',"
              " 'resources': {'resources': {}}}]}",
              403, NULL, TASK),
        POST("claim", "/api/v1/checkpoints",
             "{'uuid': '11111111-1111-4111-8111-111111111111',"
             " 'metadata': {'steps_completed': 99}}",
             409, NULL, TASK),
        GET("as it was", "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111",
            200,
            "checkpoint.metadata.steps_completed=10; checkpoint.training.trialId=1"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share first, second;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    first = agent_run(&agent);
    share_checkpoint(&first, uuid_a, 10);
    (void)create(bed, config_single);
    second = agent_run(&agent);
    CHECK_EQ(first.trial, 1);
    share_speak(&second);
    bed_play(bed, steps);
}

/* More than a page of them; the reports of a profiler have no steps. */
TEST(a_trials_profile_is_added_up_and_names_the_cause_of_time_lost)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    static const struct step steps[] = {
        GET("profile", "/api/v1/det/trials/${share.trial}/profile", 200,
            "agents#1; agents.0.agent=a1; agents.0.seconds=5100; "
            "agents.0.cause.kind=data; agents.0.cause.isTrouble=true; "
            "agents.0.cause.text~60 % of the time went into waiting for data; "
            "agents.0.lines#3; agents.0.lines.0.name=data; "
            "agents.0.lines.0.count=1530; "
            "agents.0.lines.0.reports=510; agents.0.lines.1.name=step; "
            "agents.0.lines.2.name=cpu_util_simple; agents.0.lines.2.mean=50"),
        GET("unknown", "/api/v1/det/trials/77/profile", 404, NULL),
        GET("no number", "/api/v1/det/trials/x/profile", 400, NULL), END_STEPS};
    static const struct step none[] = {GET("nothing yet",
                                           "/api/v1/det/trials/${share.trial}/profile",
                                           200, "agents#0"),
                                       END_STEPS};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_speak(&share);
    bed_play(bed, none);
    for (int i = 0; i < 510; i++) {
        const char *body =
            arena_printf(&bed->mem,
                         "{\"metrics\":{\"trialId\":%d,\"trialRunId\":%d,\"metrics\":{"
                         "\"avgMetrics\":"
                         "{\"a1\":{\"seconds\":10,\"data\":{\"seconds\":6,\"count\":3},"
                         "\"step\":{\"seconds\":4}}}}},\"group\":\"timing\"}",
                         (int)share.trial, (int)share.run);

        CHECK_EQ(bed_call(bed, TASK, NET_POST,
                          bed_fill(bed, "/api/v1/trials/${share.trial}/metrics", false),
                          body)
                     .status,
                 200);
    }
    CHECK_EQ(bed_call(bed, TASK, NET_POST,
                      bed_fill(bed, "/api/v1/trials/${share.trial}/metrics", false),
                      arena_printf(&bed->mem,
                                   "{\"metrics\":{\"trialId\":%d,\"trialRunId\":%d,"
                                   "\"metrics\":{\"avgMetrics\":{\"a1\":"
                                   "{\"cpu_util_simple\":50}}}},\"group\":\"cpu\"}",
                                   (int)share.trial, (int)share.run))
                 .status,
             200);
    bed_play(bed, steps);
    share_exit(&share, "CLEAN", 0);
}
