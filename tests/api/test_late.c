/* SPDX-License-Identifier: Apache-2.0 */
/* A run that was given up, because its agent was cut off, delivers what it had accepted. */
#include "tests/api/batch.h"

/* Run 1 was cut off and superseded by run 2; it comes back with what it had accepted. */
TEST(what_a_superseded_run_had_accepted_is_archived_and_changes_nothing)
{
    static const struct step during[] = {
        GET("the trial is as it was", "/api/v1/trials/${share.trial}", 200,
            "trial.state=STATE_RUNNING; trial.totalBatchesProcessed=5; "
            "trial.bestValidation.metrics.avgMetrics.loss=3; "
            "trial.latestValidation.metrics.avgMetrics.loss=3; "
            "trial.checkpointCount=1; trial.bestCheckpoint!"),
        GET("what counts",
            "/api/v1/trials/metrics/trial_metrics?trialIds=${share.trial}", 200,
            "result.metrics#3; result.metrics.0.trialRunId=1; "
            "result.metrics.1.trialRunId=2; result.metrics.2.trialRunId=2"),
        GET("all",
            "/api/v1/trials/metrics/trial_metrics?trialIds=${share.trial}"
            "&withArchived=true",
            200,
            "result.metrics#6; "
            "result.metrics.0.trialRunId=1; result.metrics.0.archived=true; "
            "result.metrics.0.group=mine; "
            "result.metrics.1.trialRunId=1; result.metrics.1.archived=true; "
            "result.metrics.1.totalBatches=2; result.metrics.1.group=training; "
            "result.metrics.2.trialRunId=1; result.metrics.2.archived=true; "
            "result.metrics.2.group=validation; "
            "result.metrics.2.metrics.validation_metrics.loss=0.125; "
            "result.metrics.3.archived=false; result.metrics.3.trialRunId=1; "
            "result.metrics.4.archived=false; result.metrics.5.archived=false"),
        GET("the curves",
            "/api/v1/det/series?format=json&trials=${share.trial}"
            "&metrics=validation.loss&archived=true",
            200,
            "charts.0.lines#2; charts.0.lines.0.run=2; charts.0.lines.0.reports=1; "
            "charts.0.lines.1.run=1; charts.0.lines.1.archived=true; "
            "charts.0.lines.1.y.0=0.125"),
        GET("its checkpoint",
            "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111", 200,
            "checkpoint.state=STATE_COMPLETED; checkpoint.archived=true; "
            "checkpoint.metadata.steps_completed=50"),
        GET("its alert is a line", "/api/v1/tasks/${share.task_id}/logs?sources=task",
            200, "result.log~late alert"),
        END_STEPS};
    static const struct step nothing_else[] = {
        POST("a state", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'RUNNING'}", 400, "error.code=9", SUPERVISOR),
        POST("a sign of life", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 0}", 400, "error.code=9", SUPERVISOR),
        POST("metrics by REST", "/api/v1/trials/${share.trial}/metrics",
             "{'group': 'training', 'metrics': {'trialId': ${share.trial}, "
             "'trialRunId': 1, 'stepsCompleted': 9, "
             "'metrics': {'avgMetrics': {'loss': 1}}}}",
             401, NULL, TASK),
        POST("progress", "/api/v1/trials/${share.trial}/progress", "{'progress': 0.6}",
             401, NULL, TASK),
        POST("a checkpoint", "/api/v1/checkpoints",
             "{'uuid': '22222222-2222-4222-8222-222222222222', "
             "'metadata': {'steps_completed': 7}}",
             401, NULL, TASK),
        END_STEPS};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct share next;

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    CHECK_EQ(send(&batch, 0), 1);
    CHECK_STR(bed_get(bed, "sent.mustEnd"), "false");
    agent_hello(&agent, "[]"); /* it comes back without the task */
    next = agent_run(&agent);
    CHECK_EQ(next.run, 2);
    share_speak(&next);
    batch_begin(&batch, &next, 1);
    add_loss(&batch, "training", 3, 5);
    add_loss(&batch, "validation", 5, 3);
    CHECK_EQ(send(&batch, 0), 2);

    share_speak(&share);
    batch_begin(&batch, &share, 2);
    add_loss(&batch, "training", 2, 9);
    add_loss(&batch, "validation", 2, 0.125); /* it would be the best */
    add_loss(&batch, "mine", -1, 7);
    add_json(&batch, REPORT_CHECKPOINT,
             "{'uuid': '11111111-1111-4111-8111-111111111111', "
             "'metadata': {'steps_completed': 50}, 'resources': {'a': '3'}}");
    add_json(&batch, REPORT_PROGRESS, "{'progress': 0.9}");
    add_json(&batch, REPORT_STATUS, "{'state': 'odd'}");
    add_json(&batch, REPORT_EARLY_EXIT, "{'reason': 'EXITED_REASON_INVALID_HP'}");
    add_json(&batch, REPORT_ALERT, "{'title': 'late alert'}");
    for (int i = 0; i < 2; i++) { /* the first answer was lost, say */
        CHECK_EQ(send(&batch, 0), 9);
        CHECK_STR(bed_get(bed, "sent.mustEnd"), "true");
    }
    bed_play(bed, nothing_else);
    share_speak(&next); /* it is not disturbed */
    batch_begin(&batch, &next, 3);
    add_json(&batch, REPORT_PROGRESS, "{'progress': 0.25}");
    CHECK_EQ(send(&batch, 0), 3);
    bed_play(bed, during);
    bed_restart(bed);
    bed_play(bed, during);

    share_speak(&share);
    batch_begin(&batch, &share, 10);
    add_loss(&batch, "training", 4, 1);
    CHECK_EQ(send(&batch, 0), 10);
    share_exit(&share, "KILLED", 137);
    add_loss(&batch, "training", 5, 1);
    send_refused(&batch, 403, "credential has ended");
    share_speak(&next);
    share_exit(&next, "CLEAN", 0);
    await_trial(bed, next.trial, "COMPLETED");
}

/* Nothing waits for a run that never delivers: its experiment ends and is deleted. */
TEST(a_superseded_run_that_never_comes_back_leaves_nothing)
{
    static const struct step steps[] = {
        DELETE("delete", "/api/v1/experiments/${share.experiment}", 200, NULL),
        {"gone", NET_GET, "/api/v1/experiments/${share.experiment}", NULL, 404, NULL,
         .until = true},
        END_STEPS};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct share next;

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    agent_hello(&agent, "[]");
    next = agent_run(&agent);
    share_speak(&share);
    CHECK_EQ(send(&batch, 0), 1); /* a part of it came */
    share_speak(&next);
    share_exit(&next, "CLEAN", 0);
    await_experiment(bed, next.experiment, "COMPLETED");
    bed_play(bed, steps);
    share_speak(&share);
    CHECK_EQ(send_as(&batch, TASK, share.allocation).status, 401);
    CHECK_EQ(send_as(&batch, AGENT, share.allocation).status, 404);
}
