/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics, request ids, and what the master counts. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "tests/api/script.h"

/* The value of a sample, as it is written; -1: not there. */
static double sample(struct bed *bed, const char *name)
{
    struct reply reply = bed_call(bed, USER, NET_GET, "/metrics", NULL);
    const char *line = arena_printf(&bed->mem, "\n%s ", name);
    const char *at;

    CHECK_EQ(reply.status, 200);
    at = strstr(reply.text, line);
    return at ? strtod(at + strlen(line), NULL) : -1;
}

TEST(every_user_may_read_the_metrics_and_nobody_else)
{
    BED(bed, NULL);

    CHECK_EQ(bed_call(bed, NOBODY, NET_GET, "/metrics", NULL).status, 401);
    CHECK_EQ(bed_call(bed, AGENT, NET_GET, "/metrics", NULL).status, 403);
    CHECK(sample(bed, "det_read_only") == 0);
    CHECK(sample(bed, "process_resident_memory_bytes") > 100000);
    CHECK(sample(bed, "process_open_fds") > 3);
    CHECK(sample(bed, "det_disk_free_bytes") > 0);
    CHECK(sample(bed, "det_database_bytes") > 0);
    CHECK(sample(bed, "det_connections") >= 1);
    CHECK(sample(bed, "det_lane_width{lane=\"worker\"}") == 3);
    CHECK(sample(bed, "det_certificate_expires_timestamp_seconds") == -1);
}

TEST(an_agent_that_tells_its_time_is_compared_with_the_master)
{
    static const char name[] = "det_agent_clock_ahead_seconds{agent=\"a1\"}";
    BED(bed, NULL);
    struct agent agent = {0};
    const char *path;

    agent_join(&agent, bed, "a1", 1);
    CHECK(sample(bed, name) == -1); /* it has not told */
    path = arena_printf(&bed->mem,
                        "/api/v1/det/agents/a1/commands?epoch=%s&timeoutSeconds=0"
                        "&clock=1000000",
                        agent.epoch);
    CHECK_EQ(bed_call(bed, AGENT, NET_GET, path, NULL).status, 200);
    CHECK(sample(bed, name) < -1e9); /* in 1970 */
}

TEST(metrics_can_be_switched_off)
{
    BED(bed, "observability: {enable_prometheus: false}\n");
    struct reply reply = bed_call(bed, USER, NET_GET, "/metrics", NULL);

    CHECK_EQ(reply.status, 404);
    CHECK(strstr(reply.text, "observability.enable_prometheus"));
}

TEST(calls_are_counted_by_route_and_class)
{
    BED(bed, NULL);

    for (int i = 0; i < 3; i++)
        (void)bed_call(bed, USER, NET_GET, "/api/v1/me", NULL);
    (void)bed_call(bed, USER, NET_GET, "/api/v1/experiments/77", NULL);
    (void)bed_call(bed, USER, NET_GET, "/api/v1/nothing", NULL);

    CHECK(sample(bed, "det_request_seconds_count{route=\"get_me\",class=\"2xx\"}") ==
          3);
    CHECK(sample(bed,
                 "det_request_seconds_count{route=\"get_experiment\",class=\"4xx\"}") ==
          1);
    CHECK(sample(bed, "det_request_seconds_count{route=\"unknown\",class=\"4xx\"}") ==
          1);
    CHECK(sample(bed, "det_errors_total{status=\"404\",reason=\"NOT_FOUND\"}") == 2);
    CHECK(sample(bed, "det_commit_seconds_count") >= 1);
    CHECK(sample(bed, "det_commit_jobs_count") ==
          sample(bed, "det_commit_seconds_count"));
    CHECK(sample(bed, "det_lane_wait_seconds_count{lane=\"worker\"}") >= 5);
}

TEST(the_cluster_is_counted_by_pool_and_state)
{
    static const struct step steps[] = {POST("create", "/api/v1/experiments",
                                             "{'config': $[single], 'activate': true}",
                                             200, NULL),
                                        END_STEPS};
    static const struct step report[] = {
        POST("report", "/api/v1/trials/${share.trial}/metrics",
             "{'metrics': {'trialId': ${share.trial}, 'trialRunId': ${share.run}, "
             "'stepsCompleted': 1, 'metrics': {'avgMetrics': {'loss': 1}}}}",
             200, NULL, TASK),
        END_STEPS};
    struct agent agent = {0};
    struct share share;
    BED(bed, NULL);

    CHECK(sample(bed, "det_agents{pool=\"default\",state=\"ready\"}") == 0);
    agent_join(&agent, bed, "a1", 4);
    CHECK(sample(bed, "det_agents{pool=\"default\",state=\"ready\"}") == 1);
    CHECK(sample(bed, "det_slots{pool=\"default\",state=\"free\"}") == 4);
    CHECK(sample(bed, "det_agent_connected{agent=\"a1\"}") == 1);

    bed_play(bed, steps);
    share = agent_run(&agent);
    CHECK(sample(bed, "det_slots{pool=\"default\",state=\"used\"}") == 1);
    CHECK(sample(bed, "det_slots{pool=\"default\",state=\"free\"}") == 3);
    CHECK(sample(bed, "det_agent_tasks{agent=\"a1\"}") == 1);
    CHECK(sample(bed, "det_experiments{state=\"ACTIVE\"}") == 1);
    CHECK(sample(bed, "det_trials{state=\"ACTIVE\"}") == 1);
    CHECK(sample(bed, "det_allocations{pool=\"default\",state=\"RUNNING\"}") == 1);

    share_speak(&share);
    bed_play(bed, report);
    CHECK(sample(bed, "det_reports_received_total") == 1);
    CHECK(sample(bed, "det_reports_stored_total") == 1);
    bed_play(bed, report); /* again, for the answer was lost */
    CHECK(sample(bed, "det_reports_received_total") == 2);
    CHECK(sample(bed, "det_reports_stored_total") == 1);
}

TEST(slow_calls_are_counted)
{
    BED(bed, "log: {slow_request_ms: 1}\n");
    double before = sample(bed, "det_slow_requests_total");

    /* a password is expensive on purpose */
    (void)bed_login(bed, "admin", "wrong password", 401);

    CHECK(before >= 0);
    CHECK(sample(bed, "det_slow_requests_total") > before);
}

TEST(an_error_names_the_request_and_a_success_does_not)
{
    BED(bed, NULL);
    struct reply wrong = bed_call(bed, USER, NET_GET, "/api/v1/experiments/77", NULL);
    struct reply right = bed_call(bed, USER, NET_GET, "/api/v1/me", NULL);
    struct reply other = bed_call(bed, USER, NET_GET, "/api/v1/experiments/78", NULL);
    const char *id = bed_header(bed, &wrong, "X-Request-Id");

    CHECK(id && strlen(id) >= 10 && id[8] == '-');
    CHECK_NULL(bed_header(bed, &right, "X-Request-Id"));
    CHECK(strcmp(id, bed_header(bed, &other, "X-Request-Id")) != 0);
}
