/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of ring records: each record is stored once, in order, for its own run. */
#include "tests/api/batch.h"

static const char uuid_a[] = "11111111-1111-4111-8111-111111111111";

static size_t count_of(struct bed *bed, const char *kind)
{
    struct step step = GET("counted",
                           arena_printf(&bed->mem,
                                        "/api/v1/trials/metrics/%s?trialIds="
                                        "${share.trial}",
                                        kind),
                           200, NULL);
    struct reply reply = bed_step(bed, &step);

    return json_at(reply.json, "result.metrics")
               ? json_at(reply.json, "result.metrics")->list.count
               : 0;
}

/* How often a text is in the answer, all lines of it. */
static size_t times_in(struct bed *bed, const char *path, const char *part)
{
    struct step step = GET("counted", path, 200, NULL);
    const char *at = bed_step(bed, &step).text;
    size_t count = 0;

    while ((at = strstr(at, part)) != NULL) {
        at += strlen(part);
        count++;
    }
    return count;
}

/* ---- once each ------------------------------------------------------------------- */

TEST(a_batch_is_stored_and_answered_with_its_last_number)
{
    static const struct report_value values[] = {
        {.name = "zeta", .name_len = 4, .number = 0.25},
        {.name = "alpha", .name_len = 5, .number = -1e300},
        {.name = "text",
         .name_len = 4,
         .type = REPORT_JSON,
         .json = "\"x\"",
         .json_len = 3},
        {.name = "list",
         .name_len = 4,
         .type = REPORT_JSON,
         .json = "[1, 2]",
         .json_len = 6},
        {.name = "whole",
         .name_len = 5,
         .type = REPORT_JSON,
         .json = "7",
         .json_len = 1},
    };
    static const struct step steps[] = {
        GET("rows", "/api/v1/trials/metrics/trial_metrics?trialIds=${share.trial}", 200,
            "result.metrics#4; result.metrics.0.metrics.avg_metrics.loss=3; "
            "result.metrics.0.totalBatches=0; "
            "result.metrics.2.metrics.avg_metrics.loss=1.5; "
            "result.metrics.1.metrics.avg_metrics.zeta=0.25; "
            "result.metrics.1.metrics.avg_metrics.text=x; "
            "result.metrics.1.metrics.avg_metrics.list#2; "
            "result.metrics.1.metrics.avg_metrics.whole=7; "
            "result.metrics.1.group=mine; "
            "result.metrics.3.metrics.validation_metrics.loss=2"),
        GET("trial", "/api/v1/trials/${share.trial}", 200,
            "trial.totalBatchesProcessed=20; "
            "trial.bestValidation.metrics.avgMetrics.loss=2"),
        END_STEPS};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 10, 1.5);
    add_loss(&batch, "validation", 20, 2);
    add_values(&batch, "mine", 10, values, ARRAY_LEN(values));
    add_loss(&batch, "training", -1, 3); /* without steps: first of all */
    CHECK_EQ(send(&batch, 0), 4);
    bed_play(bed, steps);
}

TEST(new_names_beyond_the_limit_are_dropped_and_named_and_the_rest_is_kept)
{
    static const struct report_value more[] = {
        {.name = "loss", .name_len = 4, .number = 0.5},
        {.name = "second", .name_len = 6, .number = 2},
        {.name = "third", .name_len = 5, .number = 3},
    };
    static const struct step steps[] = {
        GET("rows", "/api/v1/trials/metrics/trial_metrics?trialIds=${share.trial}", 200,
            "result.metrics#2; result.metrics.1.metrics.avg_metrics.loss=0.5; "
            "result.metrics.1.metrics.avg_metrics.second=2; "
            "result.metrics.1.metrics.avg_metrics#2"),
        POST("by REST", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': ${share.run}, 'stepsCompleted': 3,"
             " 'metrics': {'avgMetrics': {'loss': 1, 'fourth': 1}}}}",
             400, "error.error~'fourth' is new", TASK),
        POST("known names", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialRunId': ${share.run}, 'stepsCompleted': 3,"
             " 'metrics': {'avgMetrics': {'loss': 1}}}}",
             200, NULL, TASK),
        END_STEPS};
    BED(bed, "max_metric_names: 2\n");
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1.5);
    add_values(&batch, "training", 2, more, ARRAY_LEN(more));
    CHECK_EQ(send(&batch, 1), 2);
    CHECK_STR(bed_get(bed, "sent.refused.0.number"), "2");
    CHECK_HAS(bed_get(bed, "sent.refused.0.error"),
              "'third' is new; 1 of its metrics is not stored");
    bed_play(bed, steps);
}

TEST(a_batch_that_comes_again_is_stored_once)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", -1, 1); /* nothing but its number tells it apart */
    add_loss(&batch, "training", -1, 1);
    add_loss(&batch, "validation", 5, 1);
    CHECK_EQ(send(&batch, 0), 3);
    CHECK_EQ(send(&batch, 0), 3);
    bed_restart(bed);
    CHECK_EQ(send(&batch, 0), 3);
    /* the same and one more: only that one is new */
    add_loss(&batch, "training", -1, 1);
    CHECK_EQ(send(&batch, 0), 4);
    batch_begin(&batch, &share, 2); /* an old part of it */
    add_loss(&batch, "training", -1, 1);
    CHECK_EQ(send(&batch, 0), 4);
    CHECK_EQ(count_of(bed, "training_metrics"), 3);
    CHECK_EQ(count_of(bed, "validation_metrics"), 1);
}

TEST(a_gap_stores_nothing_and_says_where_the_master_is)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    CHECK_EQ(send(&batch, 0), 1);
    batch_begin(&batch, &share, 3);
    add_loss(&batch, "training", 3, 1);
    CHECK_EQ(send(&batch, 0), 1); /* the second has to come first */
    CHECK_EQ(count_of(bed, "training_metrics"), 1);
    batch_begin(&batch, &share, 2);
    add_loss(&batch, "training", 2, 1);
    CHECK_EQ(send(&batch, 0), 2);
    batch_begin(&batch, &share, 3);
    add_loss(&batch, "training", 3, 1);
    CHECK_EQ(send(&batch, 0), 3);
    CHECK_EQ(count_of(bed, "training_metrics"), 3);
}

TEST(what_was_damaged_on_the_way_leaves_a_hole_and_no_gap)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    batch.head.last = 1; /* the first is lost, */
    add_loss(&batch, "training", 2, 1);
    batch.head.last = 4; /* so is the fourth, */
    batch.head.last++;   /* and the last */
    CHECK_EQ(send(&batch, 0), 5);
    batch_begin(&batch, &share, 6); /* nothing is left of this one */
    batch.head.last = 9;
    CHECK_EQ(send(&batch, 0), 9);
    batch_begin(&batch, &share, 10);
    add_loss(&batch, "training", 10, 1);
    CHECK_EQ(send(&batch, 0), 10);
    CHECK_EQ(count_of(bed, "training_metrics"), 2);
}

TEST(a_batch_claims_a_bounded_number_of_reports)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    batch.head.last = UINT64_C(1) << 40;
    send_refused(&batch, 400, "claims the reports 1 to 1099511627776");
    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    CHECK_EQ(send(&batch, 0), 1);
}

TEST(the_event_of_a_validation_happens_once)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "validation", 10, 1);
    add_loss(&batch, "validation", 10, 1); /* merged: no event of its own */
    CHECK_EQ(send(&batch, 0), 2);
    CHECK_EQ(send(&batch, 0), 2);
    share_report(&share, "validation", 10, "{'loss': 1}", 200);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    CHECK_EQ(count_of(bed, "validation_metrics"), 1);
}

/* ---- every kind ------------------------------------------------------------------ */

TEST(checkpoints_progress_state_and_alerts_travel_the_same_way)
{
    static const struct step steps[] = {
        GET("checkpoint", "/api/v1/checkpoints/11111111-1111-4111-8111-111111111111",
            200,
            "checkpoint.metadata.steps_completed=10; checkpoint.state=STATE_COMPLETED; "
            "checkpoint.training.trialId=${share.trial}"),
        GET("trial", "/api/v1/trials/${share.trial}", 200,
            "trial.runnerState=TRAINING; trial.checkpointCount=1"),
        GET("log", "/api/v1/trials/${share.trial}/logs?searchText=alert", 200,
            "result.log~[alert] hot: 95 degrees; result.level=LOG_LEVEL_WARNING"),
        END_STEPS};
    static const struct step progress = {
        "progress",   NET_GET, "/api/v1/experiments/${share.experiment}",
        NULL,         200,     "experiment.progress=0.5",
        .until = true};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    bed_let(bed, "uuid", uuid_a);
    batch_begin(&batch, &share, 1);
    add_json(&batch, REPORT_CHECKPOINT,
             "{'uuid': '${uuid}', 'metadata': {'steps_completed': 10},"
             " 'resources': {'model': '3'}, 'allocationId': 'somebody else',"
             " 'taskId': 'nobody'}");
    add_json(&batch, REPORT_PROGRESS, "{'progress': 0.5}");
    add_json(&batch, REPORT_STATUS, "{'state': 'TRAINING'}");
    add_json(&batch, REPORT_ALERT,
             "{'title': 'hot', 'description': '95 degrees', 'level': 'warn'}");
    CHECK_EQ(send(&batch, 0), 4);
    CHECK_EQ(send(&batch, 0), 4);
    bed_play(bed, steps);
    (void)bed_step(bed, &progress);
    share_exit(&share, "FAILED", 1);
    share = agent_run(&agent); /* the checkpoint's event came: it begins there */
    CHECK_STR(share_env(&share, "DET_LATEST_CHECKPOINT"), uuid_a);
}

TEST(an_early_exit_in_a_batch_ends_the_trial_without_restarts)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_json(&batch, REPORT_EARLY_EXIT, "{'reason': 'EXITED_REASON_INVALID_HP'}");
    CHECK_EQ(send(&batch, 0), 1);
    share_exit(&share, "FAILED", 1);
    await_trial(bed, share.trial, "COMPLETED");
    CHECK_STR(bed_get(bed, "awaited.trial.restarts"), "0");
}

/* ---- refused alone --------------------------------------------------------------- */

TEST(a_record_that_is_wrong_is_refused_alone)
{
    static const struct report_value same[] = {
        {.name = "a", .name_len = 1, .number = 1},
        {.name = "a", .name_len = 1, .number = 2},
    };
    static const struct report_value both[] = {
        {.name = "a", .name_len = 1, .number = 1},
        {.name = "a",
         .name_len = 1,
         .type = REPORT_JSON,
         .json = "null",
         .json_len = 4},
    };
    static const struct report_value nul[] = {
        {.name = "a\0b", .name_len = 3, .number = 1}};
    static const struct report_value bad[] = {
        {.name = "\xff", .name_len = 1, .number = 1}};
    static const struct report_value text[] = {
        {.name = "a", .name_len = 1, .type = REPORT_JSON, .json = "{", .json_len = 1}};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    add_loss(&batch, "training", 1, 2); /* 2: another value */
    add_loss(&batch, "", 2, 1);         /* 3 */
    add_loss(&batch, "a.b", 2, 1);      /* 4 */
    add_loss(&batch, "training", -5, 1);
    add_values(&batch, "training", 2, same, 2); /* 6 */
    add_values(&batch, "training", 2, both, 2);
    add_values(&batch, "training", 2, nul, 1); /* 8 */
    add_values(&batch, "training", 2, bad, 1);
    add_values(&batch, "training", 2, text, 1); /* 10 */
    add(&batch, REPORT_METRICS, "short", 5);
    add_json(&batch, REPORT_PROGRESS, "{'progress': 'NaN'}"); /* 12 */
    add_json(&batch, REPORT_CHECKPOINT, "{'uuid': 'none'}");
    add_json(&batch, REPORT_EARLY_EXIT, "{'reason': 'bored'}"); /* 14 */
    add_json(&batch, REPORT_STATUS, "[]");
    add_json(&batch, (enum report_kind)77, "{}"); /* 16 */
    batch.run = 7;
    add_loss(&batch, "training", 2, 1); /* 17: of another run */
    batch.run = (uint32_t)share.run;
    add_loss(&batch, "training", 3, 1); /* 18 */
    CHECK_EQ(send(&batch, 16), 18);
    CHECK_STR(bed_get(bed, "sent.refused.0.number"), "2");
    CHECK_STR(bed_get(bed, "sent.refused.0.status"), "EXISTS");
    CHECK_HAS(bed_get(bed, "sent.refused.0.error"), "loss");
    CHECK_HAS(bed_get(bed, "sent.refused.4.error"), "twice");
    CHECK_HAS(bed_get(bed, "sent.refused.6.error"), "control character");
    CHECK_HAS(bed_get(bed, "sent.refused.7.error"), "not UTF-8 text");
    CHECK_HAS(bed_get(bed, "sent.refused.14.error"), "kind 77");
    CHECK_STR(bed_get(bed, "sent.refused.15.status"), "FORBIDDEN");
    CHECK_EQ(count_of(bed, "training_metrics"), 2);
}

/* Its name begins like that of the record before, and does not end there. */
TEST(a_group_that_goes_on_behind_a_nul_is_refused)
{
    static const char name[64] = "training";
    struct report_metrics metrics = {.steps = 2, .group = name};
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    for (metrics.group_len = 9; metrics.group_len <= sizeof(name);
         metrics.group_len++) {
        add_loss(&batch, "training", 1, 1);
        add_metrics(&batch, &metrics);
    }
    CHECK_EQ(send(&batch, 56), 112);
    CHECK_HAS(bed_get(bed, "sent.refused.0.error"), "another control character");
    CHECK_EQ(count_of(bed, "training_metrics"), 1);
}

/* A refused record must not leave half of its changes: here the new group, and the mark
 * on the reports of an older run. */
TEST(a_refused_record_leaves_nothing_behind)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    for (int i = 0; i < 3; i++)
        add_loss(&batch, "training", 10 * i, 1);
    CHECK_EQ(send(&batch, 0), 3);
    batch_begin(&batch, &share, 4);
    add_loss(&batch, "training", 30, 5);
    add_loss(&batch, "validation", 30, 5);
    add_loss(&batch, "training", 30, 6);
    add_loss(&batch, "validation", 30, 7);
    add_loss(&batch, "training", 40, 5);
    CHECK_EQ(send(&batch, 2), 8);
    CHECK_EQ(count_of(bed, "training_metrics"), 5);
    CHECK_EQ(count_of(bed, "validation_metrics"), 1);
}

/* ---- refused as a whole ---------------------------------------------------------- */

TEST(bytes_that_are_no_batch_are_refused)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct reply reply;
    const char *path =
        arena_printf(&bed->mem, "/api/v1/allocations/%s/reports", share.allocation);

    reply = bed_call(bed, TASK, NET_POST, path, "{}");
    CHECK_EQ(reply.status, 400);
    reply = bed_call_bytes(bed, TASK, NET_POST, path, NULL, 0);
    CHECK_EQ(reply.status, 400);

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    add_loss(&batch, "training", 2, 1);
    for (size_t i = BATCH_HEAD; i < batch.body.len; i += 7) {
        batch.body.data[i] ^= 0x10; /* every record is checked */
        reply = send_as(&batch, TASK, share.allocation);
        CHECK_EQ(reply.status, 400);
        batch.body.data[i] ^= 0x10;
    }
    batch.body.len--; /* cut off */
    send_refused(&batch, 400, "damaged");
    batch.body.len++;
    buf_puts(&batch.body, "12345678");
    send_refused(&batch, 400, "follow");
    buf_cut(&batch.body, batch.body.len - 8);
    batch.head.count = 3;
    send_refused(&batch, 400, "cannot have 3");
    batch.head.count = UINT32_MAX;
    send_refused(&batch, 413, "at most");
    batch.head.count = 2;
    batch.head.first = 0;
    send_refused(&batch, 400, "cannot have");
    batch.head.first = 2; /* the records say 1 and 2 */
    batch.head.last = 3;
    send_refused(&batch, 400, "out of order");
    batch.head.first = 1;
    batch.head.last = UINT64_MAX;
    send_refused(&batch, 400, "cannot have");
    batch.head.last = 2;
    batch.head.source = 1;
    send_refused(&batch, 400, "no rank 1");
    batch.head.source = 0;
    CHECK_EQ(send(&batch, 0), 2);
    CHECK_EQ(count_of(bed, "training_metrics"), 2);
}

TEST(a_batch_may_not_be_endless)
{
    enum { SIZE = 17 << 20 };
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    batch_begin(&batch, &share, 1);
    memset(buf_room(&batch.body, SIZE), 'x', SIZE);
    buf_took(&batch.body, SIZE);
    send_refused(&batch, 413, "");
}

TEST(only_the_allocation_itself_reports_in_batches)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share one, two;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    (void)create(bed, config_single);
    one = agent_run(&agent);
    two = agent_run(&agent);
    share_speak(&two);
    batch_begin(&batch, &two, 1);
    add_loss(&batch, "training", 1, 1);
    CHECK_EQ(send_as(&batch, TASK, one.allocation).status, 403);
    CHECK_EQ(send_as(&batch, USER, two.allocation).status, 403);
    CHECK_EQ(send_as(&batch, ADMIN, two.allocation).status, 403);
    CHECK_EQ(send_as(&batch, OWNER, two.allocation).status, 403);
    CHECK_EQ(send_as(&batch, NOBODY, two.allocation).status, 401);
    CHECK_EQ(count_of(bed, "training_metrics"), 0);
    CHECK_EQ(send(&batch, 0), 1);
}

TEST(an_agent_reports_in_a_tasks_stead)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct reply reply;

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    reply = send_as(&batch, AGENT, share.allocation);
    CHECK_EQ(reply.status, 200);
    CHECK_EQ(json_i64(json_get(reply.json, "stored"), -1), 1);
    CHECK_EQ(count_of(bed, "training_metrics"), 1);
    CHECK_EQ(send_as(&batch, AGENT, "9.nobody.1").status, 404);
    share_exit(&share, "CLEAN", 0);
    add_loss(&batch, "training", 2, 1);
    reply = send_as(&batch, AGENT, share.allocation);
    CHECK_EQ(reply.status, 400); /* what is over is over for it, too */
    CHECK_HAS(reply.text, "\"code\":9");
}

TEST(a_run_whose_end_was_reported_reports_no_more)
{
    BED(bed, NULL);
    BATCH(batch);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct share next;
    const char *first;

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "training", 1, 1);
    CHECK_EQ(send(&batch, 0), 1);
    add_loss(&batch, "training", 2, 1);
    first = bed->supervisor;
    share_exit(&share, "FAILED", 1);
    send_refused(&batch, 403, "credential has ended");
    next = agent_run(&agent); /* a later run is there */
    CHECK_EQ(next.run, 2);
    bed->supervisor = first;
    send_refused(&batch, 403, "credential has ended");
    share_speak(&next);
    CHECK_EQ(count_of(bed, "training_metrics"), 1);
    batch_begin(&batch, &next, 1); /* its ring counts anew */
    add_loss(&batch, "training", 2, 1);
    CHECK_EQ(send(&batch, 0), 1);
}

TEST(a_deleted_experiment_takes_its_marks_with_it)
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

    batch_begin(&batch, &share, 1);
    add_loss(&batch, "validation", 1, 1);
    CHECK_EQ(send(&batch, 0), 1);
    share_exit(&share, "CLEAN", 0);
    await_experiment(bed, share.experiment, "COMPLETED");
    bed_play(bed, steps);
    CHECK_EQ(send_as(&batch, TASK, share.allocation).status, 401);
}

/* ---- what the machine did -------------------------------------------------------- */

TEST(reports_without_steps_are_all_read_back_however_many_there_are)
{
    enum { MANY = 1203 }; /* more than a stream sends at a time */
    static const struct report_value value = {
        .name = "a1",
        .name_len = 2,
        .type = REPORT_JSON,
        .json = "{\"cpu_util_simple\": 12.5, \"/\": {\"disk_util\": 3}}",
        .json_len =
            sizeof("{\"cpu_util_simple\": 12.5, \"/\": {\"disk_util\": 3}}") - 1};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    BATCH(b);
    const char *all = "/api/v1/trials/metrics/trial_metrics?trialIds=${share.trial}";
    const char *one =
        "/api/v1/trials/metrics/trial_metrics?group=cpu&trialIds=${share.trial}";

    batch_begin(&b, &share, 1);
    add_loss(&b, "training", 1, 0.5);
    for (int i = 0; i < MANY; i++) {
        add_values(&b, "cpu", -1, &value, 1);
        if (i % 2)
            add_values(&b, "network", -1, &value, 1);
    }
    (void)send(&b, 0);
    CHECK_EQ(times_in(bed, one, "\"cpu_util_simple\":12.5"), MANY);
    CHECK_EQ(times_in(bed, all, "\"cpu_util_simple\":12.5"), MANY + MANY / 2);
    CHECK_EQ(times_in(bed, all, "\"loss\":0.5"), 1);
    CHECK_EQ(
        times_in(bed, "/api/v1/trials/${share.trial}", "\"totalBatchesProcessed\":1"),
        1);
}
