/* SPDX-License-Identifier: Apache-2.0 */
/* The history of the cluster, the log of the master, and the load of a trial's machines. */
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "data/json/json.h"
#include "data/time.h"
#include "tests/api/script.h"

#define RAW        "/api/v1/resources/allocation/raw"
#define AGGREGATED "/api/v1/resources/allocation/aggregated"
#define PERIOD     "period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_"
#define LOAD       "/api/v1/det/allocations/${share.allocation}/load"

/* ---- the use of slots ------------------------------------------------------------ */

static const char labelled[] = "name: one\n"
                               "entrypoint: python3 train.py\n"
                               "labels: [nlp, 'a,b']\n"
                               "searcher: {name: single, metric: loss}\n"
                               "max_restarts: 0\n";

/* The date of the bed's clock, plus some days, as "2026-11-15". */
static const char *date_of(struct bed *bed, int days)
{
    char text[TIME_TEXT];

    time_format(clock_wall_us(&bed->clock) + days * INT64_C(86400000000), text);
    text[10] = '\0';
    return arena_strdup(&bed->mem, text);
}

static double seconds_at(struct bed *bed, const char *path)
{
    double seconds = -1;

    (void)json_number(json_at(bed->vars, path), &seconds);
    return seconds;
}

static void let_dates(struct bed *bed)
{
    bed_let(bed, "first", date_of(bed, 0));
    bed_let(bed, "middle", date_of(bed, 2));
    bed_let(bed, "last", date_of(bed, 3));
    bed_let(bed, "later", date_of(bed, 7));
}

/* A trial holds one slot for four days; it has the whole of ${middle}, whatever the time of
 * day is now. */
static void use_slots(struct bed *bed, struct agent *agent)
{
    struct share share;

    let_dates(bed);
    agent_join(agent, bed, "a1", 1);
    (void)create(bed, labelled);
    share = agent_run(agent);
    bed_pass(bed, 4 * 86400);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
}

TEST(slot_seconds_are_summed_per_day)
{
    static const struct step steps[] = {
        GET("days",
            AGGREGATED "?startDate=${first}&endDate=${later}&experiments=true&" PERIOD
                       "DAILY",
            200,
            "resourceEntries#8; resourceEntries.0.periodStart=${first}; "
            "resourceEntries.2.seconds=86400; "
            "resourceEntries.2.byUsername.determined=86400; "
            "resourceEntries.2.byResourcePool.default=86400; "
            "resourceEntries.2.byExperimentLabel.nlp=86400; "
            "resourceEntries.2.byExperiment.1=86400; resourceEntries.7.seconds=0",
            ADMIN),
        GET("rows",
            RAW "?timestampAfter=${middle}T00:00:00Z&timestampBefore=${last}T00:00:00Z",
            200,
            "resourceEntries#1; resourceEntries.0.seconds=86400; "
            "resourceEntries.0.slots=1; resourceEntries.0.username=determined; "
            "resourceEntries.0.experimentId=1; resourceEntries.0.kind=training; "
            "resourceEntries.0.labels.1=a,b",
            ADMIN),
        GET("before",
            RAW "?timestampAfter=2020-01-01T00:00:00Z&timestampBefore="
                "2020-01-02T00:00:00Z",
            200, "resourceEntries#0", ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    double all = 0;

    use_slots(bed, &agent);
    bed_play(bed, steps);
    for (int i = 0; i < 8; i++)
        all += seconds_at(
            bed, arena_printf(&bed->mem, "days.resourceEntries.%d.seconds", i));
    CHECK(all >= 4 * 86400 && all < 4 * 86400 + 3600);
}

TEST(slot_use_outlives_its_experiment)
{
    static const struct step steps[] = {
        DELETE("delete", "/api/v1/experiments/1", 200, NULL),
        {"gone", NET_GET, "/api/v1/experiments/1", NULL, 404, NULL, USER, true},
        GET("rows",
            RAW "?timestampAfter=${middle}T00:00:00Z&timestampBefore=${last}T00:00:00Z",
            200, "resourceEntries#1; resourceEntries.0.seconds=86400", ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    use_slots(bed, &agent);
    bed_play(bed, steps);
}

static const char *csv_of(struct bed *bed, const char *path)
{
    struct reply reply =
        bed_call(bed, ADMIN, NET_GET, bed_fill(bed, path, false), NULL);

    CHECK_EQ(reply.status, 200);
    CHECK_HAS(bed_header(bed, &reply, "Content-Type"), "text/csv");
    return reply.text;
}

TEST(slot_use_is_written_as_csv)
{
    BED(bed, NULL);
    struct agent agent = {0};
    const char *text;

    use_slots(bed, &agent);
    text = csv_of(bed, "/resources/allocation/raw?timestamp_after=${middle}T00:00:00Z"
                       "&timestamp_before=${last}T00:00:00Z");
    CHECK_HAS(text,
              "experiment_id,kind,username,labels,slots,start_time,end_time,seconds\n"
              "1,training,determined,\"[\"\"nlp\"\",\"\"a,b\"\"]\",1,");
    CHECK_HAS(text, ",86400.000000\n");
    text = csv_of(bed, "/resources/allocation/allocations-csv?timestamp_after=${middle}"
                       "T00:00:00Z&timestamp_before=${last}T00:00:00Z");
    CHECK_HAS(text, ",TRIAL,determined,Uncategorized,1,1,");
    CHECK_HAS(text, ",0.0,24.000000,default\n");
    text = csv_of(bed, "/resources/allocation/aggregated?start_date=${middle}"
                       "&end_date=${middle}&" PERIOD "DAILY");
    CHECK_HAS(text, "aggregation_type,aggregation_key,date,seconds\n");
    CHECK_HAS(text, bed_fill(bed, "experiment_label,\"a,b\",${middle},86400.000000\n",
                             false));
    CHECK_HAS(text, bed_fill(bed, "total,total,${middle},86400.000000\n", false));
}

TEST(odd_questions_about_slot_use_are_refused)
{
    static const struct step steps[] = {
        GET("no start", RAW "?timestampBefore=2026-01-01T00:00:00Z", 400,
            "error.error~no start time provided", ADMIN),
        GET("no end", RAW "?timestampAfter=2026-01-01T00:00:00Z", 400,
            "error.error~no end time provided", ADMIN),
        GET("no time", RAW "?timestampAfter=x&timestampBefore=2026-01-01T00:00:00Z",
            400, "error.error~invalid start time", ADMIN),
        GET("backwards",
            RAW "?timestampAfter=2026-01-02T00:00:00Z"
                "&timestampBefore=2026-01-01T00:00:00Z",
            400, "error.error=start time cannot be after end time", ADMIN),
        GET("no period", AGGREGATED "?startDate=2026-01-01&endDate=2026-01-02", 400,
            "error.error~no aggregation period specified", ADMIN),
        GET("dates backwards",
            AGGREGATED "?startDate=2026-01-02&endDate=2026-01-01&" PERIOD "DAILY", 400,
            "error.error=start date cannot be after end date", ADMIN),
        GET("a day as month",
            AGGREGATED "?startDate=2026-01-02&endDate=2026-02&" PERIOD "MONTHLY", 400,
            "error.error~expected one like 2026-11", ADMIN),
        GET("too long",
            AGGREGATED "?startDate=1990-01-02&endDate=2026-02-01&" PERIOD "DAILY", 400,
            "error.error~choose a shorter time", ADMIN),
        GET("months", AGGREGATED "?startDate=2025-11&endDate=2026-02&" PERIOD "MONTHLY",
            200,
            "resourceEntries#4; resourceEntries.2.periodStart=2026-01; "
            "resourceEntries.3.periodStart=2026-02",
            ADMIN),
        GET("a user", AGGREGATED "?startDate=2025-11&endDate=2026-02&" PERIOD "MONTHLY",
            403, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- the log of the master ------------------------------------------------------- */

/* `bed` keeps the level of errors: the lines of a master would be in between. */
TEST(the_last_lines_of_the_log_are_shown_to_administrators)
{
    static const struct step steps[] = {
        GET("last", "/api/v1/master/logs?offset=-1", 200,
            "result.logEntry.message=third trial=7; "
            "result.logEntry.level=LOG_LEVEL_ERROR; result.logEntry.timestamp?",
            ADMIN),
        GET("two", "/api/v1/master/logs?offset=-3&limit=2", 200,
            "lines#2; lines.0.result.logEntry.message=first; "
            "lines.1.result.logEntry.message=second",
            ADMIN),
        GET("beyond", "/api/v1/master/logs?offset=1000000", 200, NULL, ADMIN),
        GET("negative", "/api/v1/master/logs?limit=-1", 400, NULL, ADMIN),
        GET("both", "/api/v1/master/logs?limit=1&follow=true", 400, NULL, ADMIN),
        GET("a user", "/api/v1/master/logs", 403, NULL),
        GET("nobody", "/api/v1/master/logs", 401, NULL, NOBODY),
        END_STEPS};
    BED(bed, NULL);

    log_error("first");
    log_error("second");
    {
        LOG_SCOPE("trial", 7);
        log_error("third");
    }
    bed_play(bed, steps);
}

TEST(who_follows_the_log_sees_new_lines_until_the_master_stops)
{
    BED(bed, NULL);
    struct pending *follower;

    log_error("before");
    follower = bed_begin(bed, ADMIN, NET_GET, "/api/v1/master/logs?follow=true", NULL);
    bed_await_text(follower, "before");
    log_error("afterwards");
    bed_await_text(follower, "afterwards");
    bed_stop_master(bed);
    (void)bed_end(bed, follower);
}

/* Passwords, tokens and what people write into configurations stay out of the log. */
TEST(the_log_has_no_secrets)
{
    static const struct step steps[] = {
        POST("user", "/api/v1/users",
             "{'user': {'username': 'eve', 'active': true}, 'password': "
             "'Secret-Word-7'}",
             200, NULL, ADMIN),
        POST("wrong", "/api/v1/auth/login",
             "{'username': 'eve', 'password': 'Secret-Guess-7'}", 401, NULL, NOBODY),
        POST("login", "/api/v1/auth/login",
             "{'username': 'eve', 'password': 'Secret-Word-7'}", 200, NULL, NOBODY),
        POST("password", "/api/v1/users/${user.user.id}/password", "'Secret-Word-8'",
             200, NULL, ADMIN),
        POST("token", "/api/v1/tokens", "{'userId': 2}", 200, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct reply reply;

    log_setup(LOG_TRACE, -1);
    bed_play(bed, steps);
    use_slots(bed, &agent);
    log_error("the end");
    reply = bed_call(bed, ADMIN, NET_GET, "/api/v1/master/logs", NULL);
    CHECK_HAS(reply.text, "the end");
    CHECK_NULL(strstr(reply.text, "Secret-"));
    CHECK_NULL(strstr(reply.text, bed_get(bed, "login.token")));
    CHECK_NULL(strstr(reply.text, bed_get(bed, "token.token")));
    CHECK_NULL(strstr(reply.text, bed->admin));
    CHECK_NULL(strstr(reply.text, bed->agent_token));
    CHECK_NULL(strstr(reply.text, bed->supervisor));
}

/* ---- the load of a trial's machines ---------------------------------------------- */

#define LOADS   "/api/v1/det/trials/${share.trial}/load"
#define PROFILE "/api/v1/det/trials/${share.trial}/profile"

TEST(the_load_of_a_trial_is_shown_and_is_not_a_metric)
{
    static const struct step steps[] = {
        GET("none yet", LOADS, 200, "loads#0"),
        POST("first", "/api/v1/det/allocations/${share.allocation}/load",
             "{'rank': 0, 'timeUs': 1000000, 'load': {'cpu': {'cpu_util_simple': 20}, "
             "'disk': {'disk_iops': 3, '/': {'disk_util': 70}}}}",
             200, NULL, TASK),
        POST("second", LOAD,
             "{'rank': 0, 'timeUs': 3000000, 'load': {'cpu': {'cpu_util_simple': 40}}}",
             200, NULL, TASK),
        GET("shown", LOADS, 200,
            "loads#2; loads.0.agent=a1; loads.0.load.cpu.cpu_util_simple=20"),
        GET("profile", PROFILE, 200,
            "agents#1; agents.0.agent=a1; agents.0.lines#3; "
            "agents.0.lines.0.group=cpu; agents.0.lines.0.mean=30; "
            "agents.0.lines.0.times.1=3; agents.0.lines.1.name=/.disk_util"),
        GET("no metric", "/api/v1/det/trials/${share.trial}/metric-names", 200,
            "metricNames#0"),
        POST("a list", LOAD, "{'rank': 0, 'load': []}", 400, NULL, TASK),
        POST("no load", LOAD, "{'rank': 0}", 400, NULL, TASK),
        POST("no such rank", LOAD, "{'rank': 5, 'load': {}}", 400, NULL, TASK),
        GET("no such trial", "/api/v1/det/trials/99/load", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    CHECK(json_bool(json_get(share.spec, "measuresLoad"), false));
    bed_play(bed, steps);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
}

/* The profiler of the program measures more finely. */
TEST(the_programs_own_profile_wins_over_the_load)
{
    static const struct step steps[] = {
        POST("load", LOAD,
             "{'rank': 0, 'timeUs': 1000000, 'load': {'cpu': {'cpu_util_simple': 20}}}",
             200, NULL, TASK),
        POST("report", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialId': ${share.trial}, 'trialRunId': 1, 'metrics': "
             "{'avgMetrics': {'a1': {'cpu_util_simple': 90}}}}, 'group': 'cpu'}",
             200, NULL, TASK),
        GET("profile", PROFILE, 200,
            "agents#1; agents.0.lines#1; agents.0.lines.0.mean=90"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)agent_run(&agent);
    bed_play(bed, steps);
}

TEST(an_explicit_no_turns_the_load_off)
{
    static const char *const off[] = {"profiling: {enabled: false}\n",
                                      "profiling:\n  enabled: no\n"};
    static const char *const on[] = {"profiling: {enabled: true}\n",
                                     "profiling: {begin_on_batch: 3}\n", ""};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 8);
    for (size_t i = 0; i < ARRAY_LEN(off); i++) {
        struct share share;

        (void)create(bed, arena_printf(&bed->mem, "%s%s", config_single, off[i]));
        share = agent_run(&agent);
        CHECK(!json_bool(json_get(share.spec, "measuresLoad"), true));
    }
    for (size_t i = 0; i < ARRAY_LEN(on); i++) {
        struct share share;

        (void)create(bed, arena_printf(&bed->mem, "%s%s", config_single, on[i]));
        share = agent_run(&agent);
        CHECK(json_bool(json_get(share.spec, "measuresLoad"), false));
    }
}
