/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a log: pages by number and time, filters, search, the whole of it. */
#include <inttypes.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

static struct share one_running(struct bed *bed, struct agent *agent)
{
    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    return agent_run(agent);
}

/* `count` lines, a second apart, of two ranks; every tenth is an error. */
static void post_lines(struct bed *bed, int from, int count)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;

    for (int i = from; i < from + count; i++)
        buf_printf(&body,
                   "%s{\"taskId\":\"%s\",\"log\":\"line %d of it\","
                   "\"level\":\"LOG_LEVEL_%s\",\"stdtype\":\"%s\",\"rankId\":%d,"
                   "\"timestamp\":\"2034-01-01T%02d:%02d:%02dZ\"}",
                   i == from ? "{\"logs\":[" : ",", bed_get(bed, "share.task_id"), i,
                   i % 10 ? "INFO" : "ERROR", i % 3 ? "stdout" : "stderr", i % 2,
                   i / 3600, i / 60 % 60, i % 60);
    buf_puts(&body, "]}");
    CHECK_EQ(bed_call(bed, TASK, NET_POST, "/api/v1/task/logs", body.data).status, 200);
}

static void post_thousand(struct bed *bed)
{
    post_lines(bed, 0, 1000);
}

static void post_more(struct bed *bed)
{
    post_lines(bed, 1000, 7);
}

/* The line before the first of ours, for ${base}; the numbers of ours follow it. */
static void find_base(struct bed *bed)
{
    struct reply reply = bed_call(
        bed, USER, NET_GET,
        bed_fill(bed, "/api/v1/det/tasks/${share.task_id}/lines?count=1", false), NULL);

    CHECK_EQ(reply.status, 200);
    bed_let_json(bed, "before", reply.json);
    for (int i = 1; i <= 1010; i++)
        bed_let(bed, arena_printf(&bed->mem, "n%d", i),
                arena_printf(&bed->mem, "%" PRId64, bed_i64(bed, "before.last") + i));
}

#define LINES "/api/v1/det/tasks/${share.task_id}/lines"

TEST(lines_are_had_by_number_from_either_end)
{
    static const struct step steps[] = {
        GET("none yet", LINES, 200, "at=1; isEnd=true; trialId=1; experimentId=1"),
        DO(find_base),
        DO(post_thousand),
        GET("from the first of ours", LINES "?from=${n1}&count=3", 200,
            "lines#3; lines.0.0=${n1}; lines.0.1=2034-01-01T00:00:00.000000Z;"
            " lines.0.2=ERROR; lines.0.3=0; lines.0.4=stderr;"
            " lines.0.5=line 0 of it; lines.1.4=stdout; last=${n1000}; next=${n4};"
            " at=${n1}; isEnd=false"),
        GET("the next", LINES "?from=${n4}&count=2", 200,
            "lines#2; lines.0.5=line 3 of it"),
        GET("from the end", LINES "?from=-2", 200,
            "lines#2; lines.0.5=line 998 of it; isEnd=true; at=${n999}"),
        GET("the last ones", LINES "?before=true&count=2", 200,
            "lines#2; lines.0.5=line 998 of it; lines.1.5=line 999 of it;"
            " next=${n999}"),
        GET("before them", LINES "?before=true&count=2&from=${n999}", 200,
            "lines#2; lines.1.5=line 997 of it"),
        GET("before the first", LINES "?before=true&from=1", 200,
            "lines#0; isEnd=true"),
        GET("behind the end", LINES "?from=99999", 200, "lines#0; isEnd=true"),
        GET("far before it", LINES "?from=-99999&count=1", 200, "lines.0.0=1"),
        DO(post_more),
        GET("what came", LINES "?from=${n1001}", 200,
            "lines#7; last=${n1007}; next=${n1008}; isEnd=true"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(a_time_leads_to_its_line)
{
    static const struct step steps[] = {
        DO(find_base),
        DO(post_thousand),
        GET("exactly", LINES "?time=2034-01-01T00:05:00Z&count=1", 200,
            "at=${n301}; lines.0.5=line 300 of it"),
        GET("between", LINES "?time=2034-01-01T00:05:00.5Z&count=1", 200,
            "at=${n302}; lines.0.5=line 301 of it"),
        GET("in front of it", LINES "?time=2034-01-01T00:05:00Z&count=1&before=true",
            200, "lines.0.5=line 299 of it"),
        GET("with a filter", LINES "?time=2034-01-01T00:05:01Z&count=1&levels=ERROR",
            200, "at=${n302}; lines.0.5=line 310 of it"),
        GET("later than all", LINES "?time=2134-01-01T00:00:00Z", 200,
            "lines#0; isEnd=true; at=${n1001}"),
        GET("no time", LINES "?time=noon", 400, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(lines_are_filtered_by_level_rank_and_stream)
{
    static const struct step steps[] = {
        DO(find_base),
        DO(post_thousand),
        GET("errors", LINES "?levels=ERROR&count=1000&from=${n1}", 200,
            "lines#100; lines.1.5=line 10 of it; isEnd=true"),
        GET("of rank 1", LINES "?levels=ERROR,CRITICAL&ranks=1&from=${n1}", 200,
            "lines#0"),
        GET("of both",
            LINES "?levels=LOG_LEVEL_ERROR&ranks=0,1&streams=stderr"
                  "&from=${n1}",
            200, "lines#34"),
        GET("without a rank", LINES "?ranks=none&from=${n1}", 200, "lines#0"),
        GET("the last two", LINES "?levels=ERROR&before=true&count=2", 200,
            "lines#2; lines.0.5=line 980 of it; isEnd=false"),
        GET("no level", LINES "?levels=LOUD", 400, "error.error~no level 'LOUD'"),
        GET("no rank", LINES "?ranks=first", 400, "error.error~'first' is not a rank"),
        GET("no stream", LINES "?streams=stdin", 400, "error.error~stdin"),
        GET("too many", LINES "?count=1000000", 400, "error.error~at most 10000"),
        GET("fewer than none", LINES "?count=-1", 400, NULL),
        GET("cut to less", LINES "?cut=-1", 400, NULL),
        GET("no task", "/api/v1/det/tasks/9.x/lines", 404, NULL),
        GET("nobody", LINES, 401, NULL, NOBODY),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

static void log_long(struct bed *bed)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;

    buf_printf(&body, "{\"logs\":[{\"taskId\":\"%s\",\"log\":\"x",
               bed_get(bed, "share.task_id"));
    for (int i = 0; i < 5000; i++)
        buf_puts(&body, "\xc3\xa4");
    buf_puts(&body, "<b>\"}]}");
    CHECK_EQ(bed_call(bed, TASK, NET_POST, "/api/v1/task/logs", body.data).status, 200);
}

static void check_long(struct bed *bed)
{
    const char *text = bed_get(bed, "cut.lines.0.5");

    CHECK_EQ(strlen(text), 4095); /* a whole number of characters */
    CHECK_EQ(bed_i64(bed, "cut.lines.0.6"), 10004 - 4095);
    CHECK_EQ(strlen(bed_get(bed, "whole.lines.0.5")), 10004);
}

TEST(long_lines_come_cut_unless_asked_for)
{
    static const struct step steps[] = {
        DO(log_long), GET("cut", LINES "?from=-1", 200, "lines#1"),
        GET("whole", LINES "?from=-1&cut=0", 200, "lines.0.6!"), DO(check_long),
        /* a hit that its beginning would not show: bytes behind it, and before */
        GET("hit", "/api/v1/det/tasks/${share.task_id}/search?text=%3Cb%3E", 200,
            "lines.0.hits.0.5~<b>; lines.0.hits.0.6=0; lines.0.hits.0.7=9937"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

#define SEARCH "/api/v1/det/tasks/${share.task_id}/search"

TEST(a_search_streams_its_hits_and_says_how_far_it_is)
{
    static const struct step steps[] = {
        DO(find_base),
        DO(post_thousand),
        GET("plain", SEARCH "?text=LINE%20123", 200,
            "lines#2; lines.0.hits#1; lines.0.hits.0.0=${n124};"
            " lines.0.hits.0.5=line 123 of it; lines.0.of=${n1000};"
            " lines.0.upTo=${n1000}; lines.1.end=true; lines.1.hits=1; lines.1.next!"),
        GET("with its case", SEARCH "?text=LINE%20123&case=true", 200,
            "lines.0.hits#0; lines.1.hits=0"),
        GET("an expression", SEARCH "?text=line%20(12|13)3&regex=true", 200,
            "lines.0.hits#2; lines.0.hits.1.0=${n134}"),
        GET("of a level", SEARCH "?text=line&levels=ERROR&ranks=0", 200,
            "lines.1.hits=100"),
        GET("the first three", SEARCH "?text=line&limit=3", 200,
            "lines.0.hits#3; lines.1.hits=3; lines.1.next=${n4}"),
        GET("the next", SEARCH "?text=line&limit=1&from=${n4}", 200,
            "lines.0.hits.0.0=${n4}"),
        GET("the one before", SEARCH "?text=line%201&limit=1&before=true&from=${n100}",
            200, "lines.0.hits.0.0=${n20}; lines.1.next=${n20}"),
        GET("nothing", SEARCH, 400, "error.error~text is missing"),
        GET("no expression", SEARCH "?text=(&regex=true", 400, "error.error~'('"),
        GET("no limit", SEARCH "?text=x&limit=-1", 400, NULL),
        GET("no level", SEARCH "?text=x&levels=LOUD", 400, NULL),
        GET("no task", "/api/v1/det/tasks/9.x/search?text=x", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(a_task_that_never_ran_has_an_empty_log)
{
    static const struct step steps[] = {
        POST("create", "/api/v1/experiments",
             "{'config': $[single], 'unmanaged': true}", 200, NULL),
        POST("trial", "/api/v1/trials",
             "{'experimentId': ${create.experiment.id}, 'unmanaged': true}", 200, NULL),
        GET("lines", "/api/v1/det/tasks/${trial.trial.taskId}/lines", 200,
            "first=1; last=0; lines#0; isEnd=true; trialId=${trial.trial.id}"),
        GET("the last", "/api/v1/det/tasks/${trial.trial.taskId}/lines?before=true",
            200, "at=1; lines#0; isEnd=true"),
        GET("of a time",
            "/api/v1/det/tasks/${trial.trial.taskId}/lines?time=2024-01-01T00:00:00Z",
            200, "at=1; lines#0; isEnd=true"),
        GET("search", "/api/v1/det/tasks/${trial.trial.taskId}/search?text=x", 200,
            "lines.1.hits=0"),
        GET("fields", "/api/v1/tasks/${trial.trial.taskId}/logs/fields", 200,
            "result.rankIds#0"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(the_whole_log_is_a_text_file)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct reply reply;
    int lines = 0;

    (void)one_running(bed, &agent);
    find_base(bed);
    for (int i = 0; i < 5; i++)
        post_lines(bed, 1000 * i, 1000);
    reply = bed_call(
        bed, USER, NET_GET,
        bed_fill(bed, "/api/v1/det/tasks/${share.task_id}/log.txt?streams=stderr",
                 false),
        NULL);
    CHECK_EQ(reply.status, 200);
    CHECK_HAS(reply.text, "[2034-01-01T00:00:00.000000Z]");
    CHECK_HAS(reply.text, "[rank=0] || ERROR: line 0 of it\n");
    CHECK_HAS(reply.text, "line 4998 of it\n");
    for (const char *at = reply.text; *at; at++)
        lines += *at == '\n';
    CHECK_EQ(lines, 1667);
    CHECK_EQ(bed_call(bed, USER, NET_GET, "/api/v1/det/tasks/9.x/log.txt", NULL).status,
             404);
}
