/* SPDX-License-Identifier: Apache-2.0 */
/* Unmanaged experiments: created, reported, ended, and abandoned. */
#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"
#include "wire/batch.h"
#include "wire/report.h"

#define CONFIG "'searcher: {name: single, metric: loss}\\nname: far'"
#define NEW_EXPERIMENT                                                                 \
    "{'createExperimentRequest': {'config': " CONFIG ", 'unmanaged': true}}"
#define NEW_TRIAL                                                                      \
    "{'externalTrialId': 'run-1', 'createTrialRequest': {'experimentId': 1, "          \
    "'hparams': {'lr': 0.5}, 'unmanaged': true}}"
#define OUTPUT(offset, end, lines)                                                     \
    "{'rank': 0, 'stream': 'stdout', 'offset': " offset ", 'endOffset': " end          \
    ", 'lines': " lines "}"

static const struct step begin[] = {
    PUT("make", "/api/v1/experiments/by-external-id/far-1", NEW_EXPERIMENT, 200,
        "experiment.id=1; experiment.unmanaged=true; experiment.name=far; "
        "experiment.externalExperimentId=far-1; experiment.state=STATE_RUNNING; "
        "config.searcher.metric=loss"),
    PUT("trial", "/api/v1/trials", NEW_TRIAL, 200,
        "trial.id=1; trial.experimentId=1; trial.hparams.lr=0.5; "
        "trial.state=STATE_RUNNING"),
    GET("its task", "/api/v1/tasks/${trial.trial.taskId}", 200,
        "task.taskType=TASK_TYPE_TRIAL; task.allocations#0"),
    GET("no task", "/api/v1/tasks/1.nobody", 404, NULL), END_STEPS};

/* A batch of one validation for each of `runs`. */
static struct reply send_validations(struct bed *bed, uint64_t first,
                                     const uint32_t *runs, uint32_t count)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct batch_head head = {
        .count = count, .first = first, .last = first + count - 1};

    (void)buf_room(&body, BATCH_HEAD);
    buf_took(&body, BATCH_HEAD);
    for (uint32_t i = 0; i < count; i++) {
        const struct report_value value = {.name = "loss",
                                           .name_len = 4,
                                           .type = REPORT_NUMBER,
                                           .number = 1.0 / (double)(first + i)};
        const struct report_metrics metrics = {.steps = (int64_t)(10 * (first + i)),
                                               .group = "validation",
                                               .group_len = 10,
                                               .count = 1,
                                               .value = &value};
        size_t len = report_metrics_size(&metrics);
        char *room = buf_room(&body, report_size(len));
        const struct report report = {.kind = REPORT_METRICS,
                                      .run = runs[i],
                                      .number = first + i,
                                      .time_us = INT64_C(1700000000000000),
                                      .payload = room + REPORT_HEADER,
                                      .len = (uint32_t)len};

        CHECK(room != NULL);
        report_metrics_encode(&metrics, room + REPORT_HEADER);
        report_encode(&report, room);
        buf_took(&body, report_size(len));
    }
    batch_head_encode(&head, body.data);
    return bed_call_bytes(bed, USER, NET_POST, "/api/v1/det/trials/1/reports",
                          body.data, body.len);
}

static int64_t stored(const struct reply *reply)
{
    CHECK_EQ(reply->status, 200);
    return json_i64(json_get(reply->json, "stored"), -1);
}

TEST(an_unmanaged_experiment_is_told_of_and_ends_when_it_is_said)
{
    static const uint32_t runs[] = {1, 1, 2};
    static const struct step steps[] = {
        POST("output", "/api/v1/det/trials/1/output",
             OUTPUT("0", "9", "[[1700000000000000, 'ERROR: no']]"), 200, "offset=9"),
        POST("again", "/api/v1/det/trials/1/output",
             OUTPUT("0", "9", "[[1700000000000000, 'ERROR: no']]"), 200, "offset=9"),
        POST("notes", "/api/v1/runs/1/metadata", "{'metadata': {'who': 'me'}}", 200,
             "metadata.who=me"),
        PATCH("end", "/api/v1/trials/1",
              "{'state': 'STATE_COMPLETED', 'startTime': '2026-11-15T10:00:00Z', "
              "'endTime': '2026-11-15T11:00:00Z', 'trialRunId': 2}",
              200, "trial.state=STATE_COMPLETED; trial.wallClockTime=3600"),
        GET("ended", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_COMPLETED; experiment.duration=3600; "
            "experiment.bestTrialId=1; experiment.numTrials=1; jobSummary!; "
            "beginTime?"),
        GET("trial", "/api/v1/trials/1", 200,
            "trial.totalBatchesProcessed=30; trial.metadata.who=me; "
            "trial.latestValidation.totalBatches=30"),
        GET("line", "/api/v1/trials/1/logs", 200,
            "result.log~no; result.level=LOG_LEVEL_ERROR; result.stdtype=stdout"),
        END_STEPS};
    BED(bed, NULL);
    struct reply reply;

    bed_play(bed, begin);
    reply = send_validations(bed, 1, runs, 3);
    CHECK_EQ(stored(&reply), 3);
    bed_play(bed, steps);
}

TEST(what_was_stored_is_not_stored_again)
{
    static const uint32_t runs[] = {1, 1, 1};
    BED(bed, NULL);
    struct reply reply;

    bed_play(bed, begin);
    bed_play(bed, begin); /* finds what it made */
    reply = send_validations(bed, 1, runs, 2);
    CHECK_EQ(stored(&reply), 2);
    reply = send_validations(bed, 2, runs, 2);
    CHECK_EQ(stored(&reply), 3);
    reply = send_validations(bed, 9, runs, 1); /* a gap */
    CHECK_EQ(stored(&reply), 3);
    bed_restart(bed);
    reply = send_validations(bed, 1, runs, 3);
    CHECK_EQ(stored(&reply), 3);
}

TEST(nothing_schedules_an_unmanaged_experiment_also_after_a_restart)
{
    static const struct step steps[] = {
        GET("queue", "/api/v1/job-queues-v2", 200, "jobs#0"),
        GET("still there", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_RUNNING; experiment.unmanaged=true"),
        POST("pause", "/api/v1/experiments/1/pause", NULL, 400,
             "error.error~unmanaged"),
        POST("kill trial", "/api/v1/trials/1/kill", NULL, 400, "error.error~unmanaged"),
        PATCH("end", "/api/v1/trials/1", "{'state': 'STATE_ERROR'}", 200,
              "trial.state=STATE_ERROR"),
        POST("continue", "/api/v1/experiments/continue", "{'id': 1}", 400,
             "error.error~was not run here"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, begin);
    bed_restart(bed);
    agent_hello(&agent, "[]");
    bed_play(bed, steps);
    /* numbers go on behind it */
    (void)create(bed, config_single);
    share = agent_run(&agent);
    CHECK_EQ(share.trial, 2);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, 2, "COMPLETED");
}

TEST(what_makes_no_sense_is_refused)
{
    static const struct step steps[] = {
        POST("plain", "/api/v1/experiments",
             "{'config': " CONFIG ", 'unmanaged': true}", 200,
             "experiment.id=1; experiment.unmanaged=true"),
        POST("trial", "/api/v1/trials", "{'experimentId': 1}", 200, "trial.id=1"),
        POST("no experiment", "/api/v1/trials", "{'experimentId': 9}", 404, NULL),
        POST("hparams", "/api/v1/trials", "{'experimentId': 1, 'hparams': [1]}", 400,
             "error.error~hparams is"),
        PUT("no id", "/api/v1/trials", "{'externalTrialId': ''}", 400, NULL),
        PUT("nothing to make", "/api/v1/experiments/by-external-id/x", "{}", 400, NULL),
        PATCH("state", "/api/v1/trials/1", "{'state': 'STATE_PAUSED'}", 400,
              "error.error~STATE_RUNNING"),
        PATCH("alive", "/api/v1/trials/1", "{}", 200, "trial.state=STATE_RUNNING"),
        POST("stream", "/api/v1/det/trials/1/output",
             "{'rank': 0, 'stream': 'x', 'offset': 0, 'endOffset': 0, 'lines': []}",
             400, "error.error~stdout or stderr"),
        POST("not a batch", "/api/v1/det/trials/1/reports", "{}", 400, NULL),
        END_STEPS};
    static const struct step managed[] = {
        POST("trial", "/api/v1/trials", "{'experimentId': 2}", 400,
             "error.error~run by this cluster"),
        PATCH("state", "/api/v1/trials/2", "{'state': 'STATE_ERROR'}", 400,
              "error.error~run by this cluster"),
        POST("output", "/api/v1/det/trials/2/output", OUTPUT("0", "0", "[]"), 400,
             "error.error~run by this cluster"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    bed_play(bed, steps);
    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    bed_play(bed, managed);
}

TEST(two_who_bring_the_same_at_once_make_one)
{
    enum { MANY = 8 };
    BED(bed, NULL);
    struct pending *pending[MANY];

    for (int i = 0; i < MANY; i++)
        pending[i] =
            bed_begin(bed, USER, NET_PUT, "/api/v1/experiments/by-external-id/far-1",
                      bed_fill(bed, NEW_EXPERIMENT, true));
    for (int i = 0; i < MANY; i++) {
        struct reply reply = bed_end(bed, pending[i]);

        CHECK_EQ(reply.status, 200);
        CHECK_EQ(json_i64(json_path(reply.json, "experiment.id"), 0), 1);
    }
    for (int i = 0; i < MANY; i++)
        pending[i] = bed_begin(bed, USER, NET_PUT, "/api/v1/trials",
                               bed_fill(bed, NEW_TRIAL, true));
    for (int i = 0; i < MANY; i++) {
        struct reply reply = bed_end(bed, pending[i]);

        CHECK_EQ(reply.status, 200);
        CHECK_EQ(json_i64(json_path(reply.json, "trial.id"), 0), 1);
    }
}

TEST(progress_of_an_unmanaged_trial_is_kept_however_it_is_told)
{
    static const struct step steps[] = {
        POST("told", "/api/v1/trials/1/progress", "{'progress': 0.5}", 200, NULL),
        GET("kept", "/api/v1/experiments/1", 200, "experiment.progress=0.5"),
        POST("of none", "/api/v1/trials/7/progress", "{'progress': 0.5}", 404, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, begin);
    bed_play(bed, steps);
}

TEST(a_new_trial_makes_an_unmanaged_experiment_go_on)
{
    static const struct step steps[] = {
        PATCH("end", "/api/v1/trials/1", "{'state': 'STATE_COMPLETED'}", 200, NULL),
        GET("ended", "/api/v1/experiments/1", 200, "experiment.state=STATE_COMPLETED"),
        POST("another", "/api/v1/trials", "{'experimentId': 1}", 200, "trial.id=2"),
        GET("goes on", "/api/v1/experiments/1", 200,
            "experiment.state=STATE_RUNNING; experiment.numTrials=2"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, begin);
    bed_play(bed, steps);
}

TEST(checking_an_unmanaged_configuration_makes_nothing)
{
    static const struct step steps[] = {
        POST("check", "/api/v1/experiments",
             "{'config': " CONFIG ", 'unmanaged': true, 'validateOnly': true}", 200,
             "config.searcher.metric=loss"),
        GET("nothing", "/api/v1/experiments", 200, "experiments#0"), END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* A task's token and the agents' token may not write to unmanaged experiments. */
TEST(only_people_tell_of_what_somebody_else_runs)
{
    static const struct {
        enum net_method method;
        const char *path;
        const char *body;
    } calls[] = {
        {NET_PUT, "/api/v1/experiments/by-external-id/far-1", NEW_EXPERIMENT},
        {NET_PUT, "/api/v1/trials", NEW_TRIAL},
        {NET_POST, "/api/v1/trials", "{'experimentId': 1}"},
        {NET_PATCH, "/api/v1/trials/1", "{'state': 'STATE_ERROR'}"},
        {NET_POST, "/api/v1/det/trials/1/reports", "{}"},
        {NET_POST, "/api/v1/det/trials/1/output", OUTPUT("0", "0", "[]")},
        {NET_GET, "/api/v1/det/trials/1/environment", NULL},
        {NET_POST, "/api/v1/allocations/${share.allocation}/kill", NULL},
    };
    static const struct step others[] = {
        POST("progress", "/api/v1/trials/1/progress", "{'progress': 0.5}", 403, NULL,
             TASK),
        POST("by an agent", "/api/v1/trials/1/progress", "{'progress': 0.5}", 403, NULL,
             AGENT),
        POST("record", "/api/v1/det/allocations/1.x.1/environment",
             "{'rank': 0, 'record': {}}", 403, NULL, TASK),
        POST("record by an agent",
             "/api/v1/det/allocations/${share.allocation}/environment",
             "{'rank': 0, 'record': {}}", 403, NULL, AGENT),
        GET("untouched", "/api/v1/trials/1", 200, "trial.state=STATE_RUNNING"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    bed_play(bed, begin);
    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        const char *path = bed_fill(bed, calls[i].path, false);
        const char *body = calls[i].body ? bed_fill(bed, calls[i].body, true) : NULL;

        CHECK_EQ(bed_call(bed, TASK, calls[i].method, path, body).status, 403);
        CHECK_EQ(bed_call(bed, AGENT, calls[i].method, path, body).status, 403);
        CHECK_EQ(bed_call(bed, NOBODY, calls[i].method, path, body).status, 401);
    }
    bed_play(bed, others);
    share_exit(&share, "CLEAN", 0);
}

TEST(what_nobody_tells_of_any_more_can_be_given_up_and_deleted)
{
    static const struct step steps[] = {
        POST("kill", "/api/v1/experiments/1/kill", NULL, 200, NULL),
        GET("over", "/api/v1/experiments/1", 200, "experiment.state=STATE_CANCELED"),
        GET("its trial", "/api/v1/trials/1", 200, "trial.state=STATE_CANCELED"),
        PATCH("it goes on", "/api/v1/trials/1", "{'state': 'STATE_RUNNING'}", 200,
              "trial.state=STATE_RUNNING"),
        POST("cancel", "/api/v1/experiments/1/cancel", NULL, 200, NULL),
        {"delete", NET_DELETE, "/api/v1/experiments/1", NULL, 200, NULL, USER, true,
         NULL},
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, begin);
    bed_play(bed, steps);
}
