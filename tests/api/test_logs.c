/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: stored once each, filtered, followed; and the actions of log policies. */
#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/api/script.h"

static struct share one_running(struct bed *bed, struct agent *agent)
{
    agent_join(agent, bed, "a1", 1);
    (void)create(bed, config_single);
    return agent_run(agent);
}

/* The records of a stream, however many. */
static struct json *lines_of(struct bed *bed, const char *query)
{
    struct reply reply = bed_call(
        bed, USER, NET_GET,
        bed_fill(bed,
                 arena_printf(&bed->mem, "/api/v1/trials/${share.trial}/logs%s", query),
                 false),
        NULL);
    struct json *lines = json_new(&bed->mem, JSON_ARRAY);

    if (reply.status != 200 || (*reply.text && !reply.json))
        fail_msg("%s: %d %s", query, reply.status, reply.text);
    if (!*reply.text)
        return lines;
    if (json_get(reply.json, "lines"))
        return json_get(reply.json, "lines");
    json_push(lines, json_copy(&bed->mem, reply.json));
    return lines;
}

/* Only what the task itself printed. */
static int count_of(struct bed *bed, const char *query)
{
    return (int)lines_of(bed, arena_printf(&bed->mem, "?sources=task%s", query))
        ->list.count;
}

static const char *text_of(struct bed *bed, const char *query, int at, const char *key)
{
    struct json *lines =
        lines_of(bed, arena_printf(&bed->mem, "?sources=task%s", query));
    const struct json *value =
        json_at(lines, arena_printf(&bed->mem, "%d.result.%s", at, key));

    return value ? json_str(value, json_text(&bed->mem, value)) : "(absent)";
}

TEST(lines_come_back_in_order_with_rank_and_level)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_log(&share, "plain");
    share_log(&share, "[rank=3] ERROR: out of cheese");
    share_log(&share, "WARNING: careful");
    share_log(&share, "[rank=x] not a rank");
    share_log(&share, "");
    share_log(&share, "\xc3\xa9t\xc3\xa9 \"quoted\" \\ \t");

    CHECK_EQ(count_of(bed, ""), 6);
    CHECK_STR(text_of(bed, "", 0, "log"), "plain\n");
    CHECK_STR(text_of(bed, "", 0, "rankId"), "null");
    CHECK_STR(text_of(bed, "", 0, "agentId"), "a1");
    CHECK_STR(text_of(bed, "", 0, "containerId"), share.container);
    CHECK_STR(text_of(bed, "", 0, "allocationId"), share.allocation);
    CHECK_STR(text_of(bed, "", 0, "stdtype"), "stdout");
    CHECK_STR(text_of(bed, "", 0, "trialId"), "1");
    CHECK_STR(text_of(bed, "", 1, "log"), "out of cheese\n");
    CHECK_STR(text_of(bed, "", 1, "rankId"), "3");
    CHECK_STR(text_of(bed, "", 1, "level"), "LOG_LEVEL_ERROR");
    CHECK_HAS(text_of(bed, "", 1, "message"), "[rank=3] || ERROR: out of cheese\n");
    CHECK_HAS(text_of(bed, "", 1, "message"),
              arena_strndup(&bed->mem, share.container, 8));
    CHECK_STR(text_of(bed, "", 2, "level"), "LOG_LEVEL_WARNING");
    CHECK_STR(text_of(bed, "", 3, "log"), "[rank=x] not a rank\n");
    CHECK_STR(text_of(bed, "", 4, "log"), "\n");
    CHECK_STR(text_of(bed, "", 5, "log"), "\xc3\xa9t\xc3\xa9 \"quoted\" \\ \t\n");
}

TEST(lines_are_filtered_cut_and_turned_round)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    for (int i = 0; i < 10; i++)
        share_log(&share, arena_printf(&bed->mem, "[rank=%d] %s: line %d", i % 2,
                                       i % 5 ? "INFO" : "ERROR", i));

    CHECK_EQ(count_of(bed, "&rankIds=1"), 5);
    CHECK_EQ(count_of(bed, "&rankIds=0&rankIds=1"), 10);
    CHECK_EQ(count_of(bed, "&rankIds=-1"), 0);
    CHECK_EQ(count_of(bed, "&levels=LOG_LEVEL_ERROR"), 2);
    CHECK_EQ(count_of(bed, "&levels=LOG_LEVEL_ERROR&levels=LOG_LEVEL_INFO"), 10);
    CHECK_EQ(count_of(bed, "&searchText=line%207"), 1);
    CHECK_EQ(count_of(bed, "&searchText=line.%5B34%5D&enableRegex=true"), 2);
    CHECK_EQ(count_of(bed, "&agentIds=a1"), 10);
    CHECK_EQ(count_of(bed, "&agentIds=b2"), 0);
    CHECK_EQ(count_of(bed, "&stdtypes=stderr"), 0);
    CHECK_EQ(
        count_of(bed, arena_printf(&bed->mem, "&containerIds=%s", share.container)),
        10);
    CHECK_EQ(count_of(bed, "&limit=3"), 3);
    CHECK_STR(text_of(bed, "&limit=3&orderBy=ORDER_BY_DESC", 0, "log"), "line 9\n");
    CHECK_STR(text_of(bed, "&limit=3&orderBy=ORDER_BY_DESC", 2, "log"), "line 7\n");
    CHECK_EQ(count_of(bed, "&timestampAfter=2100-01-01T00:00:00Z"), 0);
    CHECK_EQ(count_of(bed, "&timestampBefore=2100-01-01T00:00:00Z"), 10);
}

TEST(odd_questions_about_lines_are_refused)
{
    static const struct step steps[] = {
        GET("limit and follow",
            "/api/v1/trials/${share.trial}/logs?limit=3&follow=true", 400,
            "error.error=Limit cannot be specified when following"),
        GET("negative limit", "/api/v1/trials/${share.trial}/logs?limit=-3", 400, NULL),
        GET("no time", "/api/v1/trials/${share.trial}/logs?timestampAfter=yesterday",
            400, NULL),
        GET("no trial", "/api/v1/trials/99/logs", 404, NULL),
        GET("no task", "/api/v1/tasks/9.x/logs", 404, NULL),
        GET("no task's fields", "/api/v1/tasks/9.x/logs/fields", 404, NULL),
        GET("no trial's fields", "/api/v1/trials/99/logs/fields", 404, NULL),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(a_line_sent_twice_is_stored_once)
{
    static const struct step steps[] = {
        POST("first", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 4,"
             " 'lines': [[1, 'a'], [2, 'b']]}",
             200, "offset=4", TASK),
        POST("again", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 4,"
             " 'lines': [[1, 'a'], [2, 'b']]}",
             200, "offset=4", TASK),
        POST("of the other stream", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stderr', 'offset': 0, 'endOffset': 2,"
             " 'lines': [[3, 'c']]}",
             200, "offset=2", TASK),
        POST(
            "backwards", "/api/v1/det/allocations/${share.allocation}/logs",
            "{'rank': 0, 'stream': 'stdout', 'offset': 9, 'endOffset': 4, 'lines': []}",
            400, NULL, TASK),
        POST("no lines", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 4, 'endOffset': 6,"
             " 'lines': ['d']}",
             400, NULL, TASK),
        POST("a text", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 4, 'endOffset': 6, 'lines': "
             "'d'}",
             400, NULL, TASK),
        POST("of none", "/api/v1/det/allocations/9.x.1/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 2,"
             " 'lines': [[3, 'c']]}",
             403, NULL),
        GET("of the task", "/api/v1/tasks/${share.task_id}/logs?sources=task", 200,
            "lines#3; lines.0.result.taskId=${share.task_id}; lines.2.result.log~c"),
        GET("fields", "/api/v1/tasks/${share.task_id}/logs/fields", 200,
            "result.agentIds.0=a1; result.stdtypes#2"),
        GET("fields of the trial", "/api/v1/trials/${share.trial}/logs/fields", 200,
            "result.agentIds.0=a1"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(lines_of_the_official_shape_are_taken_too)
{
    static const struct step steps[] = {
        POST("post", "/api/v1/task/logs",
             "{'logs': [{'taskId': '${share.task_id}', 'log': 'hello\\n',"
             " 'level': 'LOG_LEVEL_INFO', 'timestamp': '2024-01-02T03:04:05Z',"
             " 'rankId': 2, 'stdtype': 'stderr', 'source': 'task', 'agentId': 'a1'}]}",
             200, NULL, TASK),
        POST("as a list", "/api/v1/task/logs",
             "[{'task_id': '${share.task_id}', 'log': 'more', 'source': 'task'}]", 200,
             NULL, TASK),
        POST("empty", "/api/v1/task/logs", "{'logs': []}", 400, NULL, TASK),
        POST("nothing", "/api/v1/task/logs", NULL, 400, NULL, TASK),
        POST("no log", "/api/v1/task/logs",
             "{'logs': [{'taskId': '${share.task_id}'}]}", 400, NULL, TASK),
        POST("with an id", "/api/v1/task/logs",
             "{'logs': [{'taskId': '${share.task_id}', 'log': 'x', 'id': 7}]}", 400,
             NULL, TASK),
        POST("of two tasks", "/api/v1/task/logs",
             "{'logs': [{'taskId': '${share.task_id}', 'log': 'x'},"
             " {'taskId': '9.x', 'log': 'y'}]}",
             400, NULL),
        POST("of none", "/api/v1/task/logs",
             "{'logs': [{'taskId': '9.x', 'log': 'y'}]}", 404, NULL),
        GET("back", "/api/v1/trials/${share.trial}/logs?sources=task", 200,
            "lines#2; lines.0.result.log=hello\n; lines.0.result.rankId=2; "
            "lines.0.result.timestamp~2024-01-02T03:04:05; "
            "lines.0.result.stdtype=stderr; "
            "lines.1.result.log=more\n"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    (void)one_running(bed, &agent);
    bed_play(bed, steps);
}

TEST(who_follows_sees_every_line_and_the_end)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct pending *follower;
    struct reply reply;

    share_log(&share, "before");
    follower = bed_begin(bed, USER, NET_GET,
                         "/api/v1/trials/1/logs?follow=true&sources=task", NULL);
    share_log(&share, "during");
    share_exit(&share, "FAILED", 1);
    share = agent_run(&agent); /* a restart does not end it */
    share_log(&share, "after");
    share_exit(&share, "CLEAN", 0);
    reply = bed_end(bed, follower);

    CHECK_EQ(reply.status, 200);
    CHECK_EQ(json_get(reply.json, "lines")->list.count, 3);
    CHECK_STR(json_str(json_at(reply.json, "lines.2.result.log"), ""), "after\n");
}

/* A batch without lines that says what a line shows now. */
static void show_state(struct bed *bed, const struct share *share, const char *text)
{
    struct reply reply = bed_call(
        bed, SUPERVISOR, NET_POST,
        arena_printf(&bed->mem, "/api/v1/det/allocations/%s/logs", share->allocation),
        arena_printf(&bed->mem,
                     "{\"rank\":0,\"stream\":\"stderr\",\"offset\":0,"
                     "\"endOffset\":0,\"lines\":[],\"live\":[1700000000000000,\"%s\"]}",
                     text));

    if (reply.status != 200)
        fail_msg("%d %s", reply.status, reply.text);
}

TEST(who_asks_for_it_sees_lines_being_rewritten)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_log(&share, "a line");
    show_state(bed, &share, "10%");
    show_state(bed, &share, "[rank=3] WARNING: 20%");

    CHECK_EQ(count_of(bed, ""), 1);
    CHECK_EQ(count_of(bed, "&live=true"), 2);
    CHECK_STR(text_of(bed, "&live=true", 1, "log"), "20%\n");
    CHECK_STR(text_of(bed, "&live=true", 1, "rankId"), "3");
    CHECK_STR(text_of(bed, "&live=true", 1, "level"), "LOG_LEVEL_WARNING");
    CHECK_STR(text_of(bed, "&live=true", 1, "isLive"), "true");
    CHECK_STR(text_of(bed, "&live=true", 0, "isLive"), "(absent)");
    CHECK_EQ(count_of(bed, "&live=true&stdtypes=stdout"), 1);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    CHECK_EQ(count_of(bed, ""), 2); /* its sender sends no more: it is a line now */
    CHECK_STR(text_of(bed, "", 1, "log"), "20%\n");
}

TEST(a_follower_hears_nothing_after_its_logout)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct pending *follower;
    struct reply reply;

    bed->other = bed_login(bed, "determined", "", 200);
    share_log(&share, "before");
    follower = bed_begin(bed, OTHER, NET_GET,
                         "/api/v1/trials/1/logs?follow=true&sources=task", NULL);
    bed_await_bytes(follower);
    CHECK_EQ(bed_call(bed, OTHER, NET_POST, "/api/v1/auth/logout", NULL).status, 200);
    share_log(&share, "after"); /* wakes it */
    reply = bed_end(bed, follower);
    CHECK_EQ(reply.status, 200);
    CHECK_HAS(reply.text, "before");
    CHECK(!strstr(reply.text, "after"));
    share_exit(&share, "CLEAN", 0);
}

TEST(a_follower_hears_nothing_after_its_user_is_deactivated)
{
    static const struct step steps[] = {
        POST("ann", "/api/v1/users",
             "{'user': {'username': 'ann'}, 'password': 'Word-Of-Ann'}", 200,
             "user.id=3", ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);
    struct pending *follower;
    struct reply reply;

    bed_play(bed, steps);
    bed->other = bed_login(bed, "ann", "Word-Of-Ann", 200);
    share_log(&share, "before");
    follower = bed_begin(bed, OTHER, NET_GET,
                         "/api/v1/trials/1/logs?follow=true&sources=task", NULL);
    bed_await_bytes(follower);
    CHECK_EQ(
        bed_call(bed, ADMIN, NET_PATCH, "/api/v1/users/3", "{\"active\":false}").status,
        200);
    share_log(&share, "after"); /* wakes it */
    reply = bed_end(bed, follower);
    CHECK_EQ(reply.status, 200);
    CHECK_HAS(reply.text, "before");
    CHECK(!strstr(reply.text, "after"));
    share_exit(&share, "CLEAN", 0);
}

TEST(who_follows_something_that_is_over_gets_all_of_it_at_once)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_log(&share, "one");
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    CHECK_EQ(count_of(bed, "&follow=true"), 1);
}

TEST(many_lines_come_in_many_pieces_and_none_is_lost)
{
    enum { BATCHES = 12, LINES = 500 };
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    for (int b = 0; b < BATCHES; b++) {
        CLEANUP(buf_done) struct buf body = BUF_INIT;
        struct reply reply;

        buf_printf(&body,
                   "{\"rank\":0,\"stream\":\"stdout\",\"offset\":%d,\"endOffset\":%d,"
                   "\"lines\":[",
                   b * 1000, b * 1000 + 1000);
        for (int i = 0; i < LINES; i++)
            buf_printf(&body, "%s[%d,\"line %d\"]", i ? "," : "", 1 + b, b * LINES + i);
        buf_puts(&body, "]}");
        reply = bed_call(bed, TASK, NET_POST,
                         arena_printf(&bed->mem, "/api/v1/det/allocations/%s/logs",
                                      share.allocation),
                         body.data);
        CHECK_EQ(reply.status, 200);
    }
    {
        struct json *lines = lines_of(bed, "?sources=task");
        int at = 0;

        CHECK_EQ(lines->list.count, BATCHES * LINES);
        json_each(line, lines) {
            char text[32];

            snprintf(text, sizeof(text), "line %d\n", at++);
            CHECK_STR(json_str(json_path(line, "result.log"), ""), text);
        }
    }
}

/* ---- policies -------------------------------------------------------------------- */

TEST(a_line_can_forbid_further_tries)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    int64_t id;

    agent_join(&agent, bed, "a1", 1);
    id = create(
        bed, "entrypoint: x\n"
             "searcher: {name: single, metric: loss}\n"
             "max_restarts: 5\n"
             "log_policies:\n"
             "  - {name: broken, pattern: '.*hopeless.*', action: cancel_retries}\n");
    share = agent_run(&agent);
    share_log(&share, "this is hopeless, really");
    share_exit(&share, "FAILED", 1);
    await_experiment(bed, id, "ERROR");
    await_trial(bed, share.trial, "ERROR");
    CHECK_EQ(bed_i64(bed, "awaited.trial.restarts"), 0);
    CHECK_STR(bed_get(bed, "awaited.trial.logPolicyMatched"), "broken");
}

TEST(a_line_can_keep_a_trial_off_a_node)
{
    BED(bed, NULL);
    struct agent first = {0}, second = {0};
    struct share share;

    agent_join(&first, bed, "a1", 1);
    (void)create(bed, "entrypoint: x\n"
                      "searcher: {name: single, metric: loss}\n"
                      "max_restarts: 5\n"
                      "log_policies:\n"
                      "  - {pattern: 'ECC [0-9]+', action: exclude_node}\n");
    share = agent_run(&first);
    agent_join(&second, bed, "a2", 1);
    share_log(&share, "ECC 17 on device 0");
    share_exit(&share, "FAILED", 1);
    share = agent_run(&second);
    CHECK_EQ(share.run, 2);
    CHECK(agent_is_idle(&first));
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
}

/* ---- retention ------------------------------------------------------------------- */

TEST(old_lines_are_thrown_away_as_configured)
{
    static const struct step steps[] = {
        PUT("keep", "/api/v1/experiments/${share.experiment}/retain_logs",
            "{'numDays': 2}", 200, NULL),
        END_STEPS};
    static const struct step gone[] = {GET("gone", "/api/v1/trials/${share.trial}/logs",
                                           200, "lines#0", .until = true),
                                       END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share = one_running(bed, &agent);

    share_log(&share, "old");
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    bed_play(bed, steps);
    bed->wall_offset_us = 3 * 86400LL * 1000000;
    bed_restart(bed); /* it looks soon after a start */
    bed_play(bed, gone);
}
