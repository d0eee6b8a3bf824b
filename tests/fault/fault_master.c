/* SPDX-License-Identifier: Apache-2.0 */
/* fault_master.c - the life of an experiment, while each write, sync, call and
 * allocation of the master fails in turn. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "tests/fault/master_bed.h"

enum { STEPS = 4, UUID_LEN = 37, SECOND = 1000000 };

static const char config[] =
    "{\"config\":\"name: t\\nentrypoint: x\\nmax_restarts: 0\\n"
    "searcher: {name: single, metric: loss}\\n\",\"activate\":true,"
    "\"modelDefinition\":[{\"path\":\"a\",\"type\":48,\"content\":\"aGk=\"}]}";
static const char uuid[] = "6f0a2a5e-4d0b-4c8e-9d5f-3a4f0e6f9b11";

struct life {
    struct bed bed;
    int64_t experiment;
    int64_t trial;
    const char *allocation;
    const char *token;
};

static int64_t count_experiments(struct bed *bed)
{
    struct json *reply = bed_look(bed, "/api/v1/experiments?limit=-2");

    return json_i64(json_path(reply, "pagination.total"), -1);
}

/* A create that was not heard may have happened: people look before they try again.
 * One that was refused by a master that lives has not. */
static void create(struct life *life)
{
    struct bed *bed = &life->bed;

    for (int i = 0; i < 20; i++) {
        bool is_refused;
        int64_t count;

        bed_call(bed, AS_USER, bed->user, NET_POST, "/api/v1/experiments", config);
        if (bed->status == 200) {
            life->experiment = json_i64(json_path(bed->reply, "experiment.id"), -1);
            CHECK(count_experiments(bed) == 1 || bed->sweep->how == FAULT_TWICE);
            return;
        }
        is_refused = bed->status && !bed->is_dead;
        count = count_experiments(bed);
        if (is_refused)
            CHECK_EQ(count, 0);
        if (count) {
            CHECK_EQ(count, 1);
            life->experiment = 1;
            return;
        }
    }
    fail_msg("no experiment can be made");
}

/* The START of the only trial. */
static void fetch(struct life *life)
{
    struct bed *bed = &life->bed;

    for (int i = 0; i < 40 && !life->token; i++) {
        const struct json *env;
        const struct json *command;

        bed_hello(bed);
        bed_call(bed, AS_AGENT, bed->agent, NET_GET,
                 bed_printf(bed,
                            "/api/v1/det/agents/a1/commands?after=0&epoch=%s"
                            "&timeoutSeconds=1",
                            bed->epoch),
                 NULL);
        if (bed->status == 200 &&
            strcmp(json_str(json_get(bed->reply, "epoch"), ""), bed->epoch))
            bed->epoch = NULL;
        command =
            bed->status == 200 ? json_first(json_get(bed->reply, "commands")) : NULL;
        env = json_path(command, "spec.environment");
        if (!env)
            continue;
        CHECK_STR(json_str(json_get(command, "kind"), ""), "START");
        life->allocation = json_str(json_get(command, "allocation"), NULL);
        life->token = json_str(json_path(command, "spec.supervisorToken"), NULL);
        life->trial = json_i64(json_get(env, "DET_TRIAL_ID"), -1);
        life->experiment = json_i64(json_get(env, "DET_EXPERIMENT_ID"), -1);
    }
    if (!life->token)
        fail_msg("the trial is never started");
    bed->running = bed_printf(bed, "[\"%s/0\"]", life->allocation);
}

static void tell(struct life *life, const char *path, const char *body)
{
    bed_hello(&life->bed);
    bed_tell(&life->bed, AS_TASK, life->token, path, body);
}

static const char *allocation_path(struct life *life, const char *what)
{
    return bed_printf(&life->bed, "/api/v1/det/allocations/%s/%s", life->allocation,
                      what);
}

static void report(struct life *life, const char *group, int64_t steps)
{
    tell(life,
         bed_printf(&life->bed, "/api/v1/trials/%" PRId64 "/metrics", life->trial),
         bed_printf(&life->bed,
                    "{\"group\":\"%s\",\"metrics\":{\"trialId\":%" PRId64
                    ",\"trialRunId\":1,\"stepsCompleted\":%" PRId64
                    ",\"metrics\":{\"avgMetrics\":{\"loss\":%" PRId64 "}}}}",
                    group, life->trial, steps, 100 + steps));
}

static void print(struct life *life, int64_t line)
{
    tell(life, allocation_path(life, "logs"),
         bed_printf(&life->bed,
                    "{\"rank\":0,\"stream\":\"stdout\",\"offset\":%" PRId64
                    ",\"endOffset\":%" PRId64 ",\"lines\":[[%" PRId64 ",\"line %" PRId64
                    "\"]]}",
                    line * 10, line * 10 + 10, line + 1, line));
    CHECK_EQ(json_i64(json_get(life->bed.reply, "offset"), -1), line * 10 + 10);
}

static void run(struct life *life)
{
    tell(life, allocation_path(life, "state"), "{\"rank\":0,\"state\":\"RUNNING\"}");
    for (int64_t i = 1; i <= STEPS; i++) {
        report(life, "training", i);
        print(life, i - 1);
    }
    report(life, "validation", STEPS);
    tell(life, "/api/v1/checkpoints",
         bed_printf(&life->bed,
                    "{\"uuid\":\"%s\",\"metadata\":{\"steps_completed\":%d},"
                    "\"resources\":{\"model\":\"1\"}}",
                    uuid, STEPS));
    tell(life, allocation_path(life, "exit"),
         "{\"rank\":0,\"exit\":\"CLEAN\",\"code\":0}");
    life->bed.running = "[]";
}

static void await_end(struct life *life)
{
    struct bed *bed = &life->bed;
    const char *path =
        bed_printf(bed, "/api/v1/experiments/%" PRId64, life->experiment);
    const char *state = "";

    for (int i = 0; i < 60; i++) {
        struct json *reply = bed_look(bed, path);

        state = json_str(json_path(reply, "experiment.state"), "");
        if (!strcmp(state, "STATE_COMPLETED"))
            return;
        bed_pass(bed, SECOND);
    }
    fail_msg("the experiment never ends: %s", state);
}

/* ---- what must be there ------------------------------------------------------------
 */

/* Each report once, with its value. */
static void check_metrics(struct life *life)
{
    struct bed *bed = &life->bed;
    struct json *reply = bed_look(
        bed, bed_printf(bed, "/api/v1/trials/metrics/trial_metrics?trialIds=%" PRId64,
                        life->trial));
    const struct json *lines = json_get(reply, "lines");
    int64_t count = 0;
    int64_t sum = 0;

    if (!lines) {
        lines = json_new(&bed->mem, JSON_ARRAY);
        json_push((struct json *)lines, reply);
    }
    json_each(line, lines)
        json_each(row, json_path(line, "result.metrics")) {
            const char *group = json_str(json_get(row, "group"), "");
            bool is_validation = !strcmp(group, "validation");

            count++;
            sum += json_i64(json_path(row, is_validation
                                               ? "metrics.validation_metrics.loss"
                                               : "metrics.avg_metrics.loss"),
                            -1);
        }
    CHECK_EQ(count, STEPS + 1);
    CHECK_EQ(sum, 100 * (STEPS + 1) + STEPS * (STEPS + 1) / 2 + STEPS);
}

static void check_lines(struct life *life)
{
    struct bed *bed = &life->bed;
    struct json *reply =
        bed_look(bed, bed_printf(bed, "/api/v1/trials/%" PRId64 "/logs", life->trial));
    int64_t next = 0;

    json_each(record, json_get(reply, "lines")) {
        const char *text = json_str(json_path(record, "result.log"), "");
        int64_t number;

        if (sscanf(text, "line %" SCNd64, &number) != 1)
            continue;
        CHECK_EQ(number, next);
        next++;
    }
    CHECK_EQ(next, STEPS);
}

static void check_all(struct life *life)
{
    struct bed *bed = &life->bed;
    struct json *reply;

    await_end(life);
    reply = bed_look(bed, bed_printf(bed, "/api/v1/trials/%" PRId64, life->trial));
    CHECK_STR(json_str(json_path(reply, "trial.state"), ""), "STATE_COMPLETED");
    CHECK_EQ(json_i64(json_path(reply, "trial.restarts"), -1), 0);
    reply = bed_look(bed, bed_printf(bed, "/api/v1/checkpoints/%s", uuid));
    CHECK_EQ(json_i64(json_path(reply, "checkpoint.metadata.steps_completed"), -1),
             STEPS);
    check_metrics(life);
    check_lines(life);
}

static void tell_of_an_experiment(struct sweep *sweep)
{
    struct life life = {0};

    bed_open(&life.bed, sweep);
    sweep_begin(sweep);
    bed_log_in(&life.bed);
    bed_hello(&life.bed);
    create(&life);
    fetch(&life);
    run(&life);
    await_end(&life);
    sweep_end(sweep);
    check_all(&life);
    io_crash(life.bed.io); /* and all of it is durable */
    bed_restart(&life.bed);
    check_all(&life);
    bed_close(&life.bed);
}

/* Only the login: its token opens, or there is none. */
static void tell_of_a_login(struct sweep *sweep)
{
    struct life life = {0};

    bed_open(&life.bed, sweep);
    CHECK(bed_revive(&life.bed));
    sweep_begin(sweep);
    bed_log_in(&life.bed);
    sweep_end(sweep);
    CHECK(life.bed.user != NULL);
    CHECK_EQ(count_experiments(&life.bed), 0);
    bed_close(&life.bed);
}

/* A caller with a session gets its account or a failed lookup; the master never calls
 * it anonymous. */
static void tell_of_a_look(struct sweep *sweep)
{
    struct life life = {0};

    bed_open(&life.bed, sweep);
    bed_log_in(&life.bed);
    sweep_begin(sweep);
    for (int i = 0; i < 2; i++) { /* the first look asks the store */
        struct json *reply = bed_look(&life.bed, "/api/v1/master");

        CHECK_STR(json_str(json_path(reply, "user.username"), "nobody"), "admin");
    }
    sweep_end(sweep);
    bed_close(&life.bed);
}

/* From its creation to the command that starts its trial. */
static void tell_of_a_start(struct sweep *sweep)
{
    struct life life = {0};

    bed_open(&life.bed, sweep);
    bed_log_in(&life.bed);
    bed_hello(&life.bed);
    sweep_begin(sweep);
    create(&life);
    fetch(&life);
    sweep_end(sweep);
    CHECK_EQ(count_experiments(&life.bed), 1);
    bed_close(&life.bed);
}

TEST(a_login_gives_a_token_or_none_whatever_fails)
{
    sweep_run("login", tell_of_a_login, SWEEP_MEMORY, INT64_MAX);
}

TEST(a_session_is_not_nobody_s_whatever_fails)
{
    sweep_run("look", tell_of_a_look, SWEEP_MEMORY, 200);
}

TEST(a_trial_is_started_whatever_allocation_fails)
{
    sweep_run("start", tell_of_a_start, SWEEP_MEMORY, 80);
}

TEST(nothing_acknowledged_is_lost_whatever_write_fails)
{
    sweep_run("experiment", tell_of_an_experiment, SWEEP_FILES, 25);
}

TEST(nothing_acknowledged_is_lost_whatever_call_fails)
{
    sweep_run("experiment", tell_of_an_experiment, SWEEP_NET, 18);
}

TEST(nothing_acknowledged_is_lost_whatever_allocation_fails)
{
    sweep_run("experiment", tell_of_an_experiment, SWEEP_MEMORY, 120);
}
