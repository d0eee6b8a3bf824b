/* SPDX-License-Identifier: Apache-2.0 */
/* Series for charts: the request, and both formats of the reply. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/api/script.h"

#define SERIES "/api/v1/det/series?format=json&"

static struct share some_reports(struct bed *bed, struct agent *agent)
{
    struct share share;

    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(agent);
    share_report(&share, "training", 10, "{'loss': 9}", 200);
    share_report(&share, "training", 20, "{'loss': 8}", 200);
    share_report(&share, "training", 30, "{'loss': 'NaN', 'note': 'x'}", 200);
    share_report(&share, "validation", 20, "{'acc.top': 0.5}", 200);
    share_exit(&share, "FAILED", 1);
    share = agent_run(agent);
    share_report(&share, "training", 20, "{'loss': 7}", 200);
    return share;
}

TEST(a_chart_has_the_surviving_line_and_on_request_what_was_lost)
{
    static const struct step steps[] = {
        GET("main", SERIES "trials=1&metrics=training.loss", 200,
            "charts#1; charts.0.group=training; charts.0.name=loss; "
            "charts.0.isExact=true;"
            " charts.0.x#2; charts.0.x.0=10; charts.0.x.1=20; charts.0.lines#1;"
            " charts.0.lines.0.trial=1; charts.0.lines.0.run=2;"
            " charts.0.lines.0.archived=false; charts.0.lines.0.reports=2;"
            " charts.0.lines.0.y.0=9; charts.0.lines.0.y.1=7;"
            " charts.0.lines.0.first.1=9; charts.0.lines.0.last.0=20;"
            " head.1.run=2; head.1.reports=4; head.1.lastSteps=20; head.1.lastTime?"),
        GET("all", SERIES "trials=1,99&archived=true", 200,
            "charts#2; charts.0.lines#2; charts.0.lines.1.archived=true;"
            " charts.0.lines.1.run=1; charts.0.lines.1.notNumbers#1;"
            " charts.0.lines.1.notNumbers.0.0=30; charts.0.lines.1.notNumbers.0.1=NaN;"
            " charts.0.lines.1.y.0=NaN; charts.0.lines.1.y.1=8;"
            " charts.0.lines.1.y.2=NaN; charts.1.name=acc.top; head.99.reports=0"),
        GET("zoom", SERIES "trials=1&metrics=training.loss&from=15&to=25", 200,
            "charts.0.x#1; charts.0.lines.0.reports=1"),
        GET("time", SERIES "trials=1&metrics=training.loss&x=time&points=5", 200,
            "charts.0.x#2; charts.0.lines.0.y#2"),
        GET("nothing", SERIES "trials=1&metrics=mine.x", 200,
            "charts#1; charts.0.lines#0; charts.0.x#0"),
        GET("names", "/api/v1/det/trials/1/metric-names", 200,
            "metricNames#2; metricNames.0.group=training; metricNames.0.name=loss;"
            " metricNames.0.count=2; metricNames.0.min=7; metricNames.0.last=7"),
        GET("names of none", "/api/v1/det/trials/7/metric-names", 404, NULL),
        GET("no trial", SERIES "metrics=training.loss", 400, "error.error~0 trials"),
        GET("no number", SERIES "trials=1,b", 400, "error.error~'1,b'"),
        GET("no group", SERIES "trials=1&metrics=loss", 400, "error.error~group.name"),
        GET("no axis", SERIES "trials=1&x=epochs", 400, "error.error~steps or time"),
        GET("no bound", SERIES "trials=1&from=now", 400, "error.error~'now'"),
        GET("no user", SERIES "trials=1", 401, NULL, NOBODY),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)some_reports(bed, &agent);
    bed_play(bed, steps);
}

static double number_at(const char *numbers, int64_t at)
{
    double number;

    memcpy(&number, numbers + at * (int64_t)sizeof(number), sizeof(number));
    return number;
}

TEST(a_browser_gets_its_charts_as_bytes)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct reply reply;
    const unsigned char *bytes;
    const char *numbers;
    struct json *header;
    uint32_t len;
    int64_t x, y;

    (void)some_reports(bed, &agent);
    reply = bed_call(bed, USER, NET_GET,
                     "/api/v1/det/series?trials=1&metrics=training.loss", NULL);
    CHECK_EQ(reply.status, 200);
    bytes = (const unsigned char *)reply.text;
    CHECK(!memcmp(bytes, "DETS", 4));
    CHECK_EQ(get_u32(bytes + 4), 1);
    len = get_u32(bytes + 8);
    CHECK_EQ((len + 12) % 8, 0);
    CHECK_OK(json_parse(reply.text + 12, len, &bed->mem, &header, &test_err));
    numbers = reply.text + 12 + len;
    CHECK_EQ(json_i64(json_at(header, "charts.0.x.count"), 0), 2);
    x = json_i64(json_at(header, "charts.0.x.at"), -1);
    y = json_i64(json_at(header, "charts.0.lines.0.at"), -1);
    CHECK_EQ(json_i64(json_at(header, "charts.0.lines.0.count"), 0), 2);
    CHECK(number_at(numbers, x) == 10 && number_at(numbers, x + 1) == 20);
    CHECK(number_at(numbers, y) == 9 && number_at(numbers, y + 1) == 7);
}
