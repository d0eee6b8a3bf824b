/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, passwords, accounts and permissions. */
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "data/json/json.h"
#include "tests/api/script.h"

enum { STRANGER = 65534 }; /* a user of the machine who does not run the master */

static const int64_t DAY_US = 86400LL * 1000000;

/* ---- sessions -------------------------------------------------------------------- */

TEST(people_log_in_and_out)
{
    static const struct step steps[] = {
        GET("me", "/api/v1/me", 200,
            "user.username=determined; user.id=2; user.admin=false; user.active=true"),
        GET("admin", "/api/v1/me", 200, "user.username=admin; user.admin=true", ADMIN),
        POST("unknown user", "/api/v1/auth/login",
             "{'username': 'eve', 'password': ''}", 401,
             "error.error=invalid credentials", NOBODY),
        POST("no name", "/api/v1/auth/login", "{'password': ''}", 400, NULL, NOBODY),
        POST("wrong password", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'x'}", 401,
             "error.error=invalid credentials", NOBODY),
        GET("no token", "/api/v1/me", 401, "error.error=token missing", NOBODY),
        POST("logout", "/api/v1/auth/logout", NULL, 200, NULL),
        GET("closed", "/api/v1/me", 401, "error.error~closed"),
        GET("the other lives on", "/api/v1/me", 200, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_token_is_whole_or_worthless)
{
    static const char *const patterns[] = {
        "",       "x",    ".",     "s",
        "s1",     "s1.",  "s1.00", "s99999999999999999999999999.00",
        "s-1.00", "a.b.c"};
    BED(bed, NULL);
    char token[200];

    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        bed->other = patterns[i];
        CHECK_EQ(bed_call(bed, OTHER, NET_GET, "/api/v1/me", NULL).status, 401);
    }
    bed->other = token;
    for (size_t at = 0; at < strlen(bed->user); at += 7) { /* a flipped sign anywhere */
        snprintf(token, sizeof(token), "%s", bed->user);
        token[at] = token[at] == '0' ? '1' : '0';
        CHECK_EQ(bed_call(bed, OTHER, NET_GET, "/api/v1/me", NULL).status, 401);
    }
    snprintf(token, sizeof(token), "%s", bed->user);
    token[strlen(token) - 1] = '\0';
    CHECK_EQ(bed_call(bed, OTHER, NET_GET, "/api/v1/me", NULL).status, 401);
    /* a session's number under another kind of token */
    snprintf(token, sizeof(token), "%s", bed->user);
    token[0] = 'u';
    CHECK_EQ(bed_call(bed, OTHER, NET_GET, "/api/v1/me", NULL).status, 401);
}

TEST(a_session_lasts_seven_days)
{
    BED(bed, NULL);

    bed->wall_offset_us = 7 * DAY_US - 60 * 1000000LL;
    CHECK_EQ(bed_call(bed, USER, NET_GET, "/api/v1/me", NULL).status, 200);
    bed->wall_offset_us = 7 * DAY_US + 60 * 1000000LL;
    CHECK_EQ(bed_call(bed, USER, NET_GET, "/api/v1/me", NULL).status, 401);
}

TEST(sessions_survive_a_restart_of_the_master)
{
    BED(bed, NULL);

    bed_restart(bed);
    CHECK_EQ(bed_call(bed, USER, NET_GET, "/api/v1/me", NULL).status, 200);
}

TEST(a_cookie_serves_when_there_is_no_header)
{
    BED(bed, NULL);
    const char *request = arena_printf(
        &bed->mem,
        "GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; auth=%s\r\n"
        "Connection: close\r\n\r\n",
        bed->user);

    CHECK_EQ(bed_raw(bed, request, 0).status, 200);
}

/* ---- accounts -------------------------------------------------------------------- */

TEST(administrators_add_and_change_people)
{
    static const struct step steps[] = {
        POST("add", "/api/v1/users",
             "{'user': {'username': 'ann', 'admin': false, 'displayName': 'Ann'},"
             " 'password': 'Secret-Word-1'}",
             200,
             "user.username=ann; user.id=3; user.active=true; user.displayName=Ann",
             ADMIN),
        POST("twice", "/api/v1/users", "{'user': {'username': 'ann'}}", 409,
             "error.code=6", ADMIN),
        POST("bad name", "/api/v1/users", "{'user': {'username': 'a/b'}}", 400, NULL,
             ADMIN),
        POST("no name", "/api/v1/users", "{'user': {}}", 400, NULL, ADMIN),
        POST("no user", "/api/v1/users", "{}", 400, "error.error~user", ADMIN),
        GET("list", "/api/v1/users", 200, "users#3; pagination.total=3"),
        GET("page", "/api/v1/users?offset=1&limit=1", 200,
            "users#1; users.0.username=determined; pagination.endIndex=2"),
        GET("backwards", "/api/v1/users?orderBy=ORDER_BY_DESC&limit=1", 200,
            "users.0.username=ann"),
        GET("from the end", "/api/v1/users?offset=-1", 200, "users#1"),
        GET("beyond", "/api/v1/users?offset=9", 400, "error.error~out of bounds"),
        GET("by part", "/api/v1/users?name=DETER", 200, "users#1"),
        GET("admins", "/api/v1/users?admin=true", 200,
            "users#1; users.0.username=admin"),
        GET("one", "/api/v1/users/3", 200, "user.username=ann"),
        GET("by name", "/api/v1/users/ann/by-username", 200, "user.id=3"),
        GET("unknown", "/api/v1/users/99", 404, NULL),
        GET("unknown name", "/api/v1/users/eve/by-username", 404, NULL),
        PATCH("rename", "/api/v1/users/3", "{'username': 'anna', 'displayName': 'A'}",
              200, "user.username=anna; user.displayName=A", ADMIN),
        PATCH("reserved", "/api/v1/users/3", "{'username': 'admin'}", 400, NULL, ADMIN),
        PATCH("nobody", "/api/v1/users/99", "{'displayName': 'A'}", 404, NULL, ADMIN),
        PATCH("off", "/api/v1/users/3", "{'active': false}", 200, "user.active=false",
              ADMIN),
        GET("inactive", "/api/v1/users?active=false", 200, "users#1; users.0.id=3"),
        POST("inactive login", "/api/v1/auth/login",
             "{'username': 'anna', 'password': 'Secret-Word-1'}", 403,
             "error.error=user is not active", NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_new_password_ends_the_sessions_of_the_old_one)
{
    static const struct step steps[] = {
        PATCH("change", "/api/v1/users/2", "{'password': 'New-Word-22'}", 200, NULL),
        GET("closed", "/api/v1/me", 401, "error.error~closed"),
        POST("blank", "/api/v1/auth/login",
             "{'username': 'determined', 'password': ''}", 401, NULL, NOBODY),
        POST("new", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'New-Word-22'}", 200, "token?",
             NOBODY),
        POST("not a word", "/api/v1/users/2/password", "{}", 400, NULL, ADMIN),
        POST("by its own call", "/api/v1/users/2/password", "'Third-Word-3'", 200, NULL,
             ADMIN),
        POST("third", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'Third-Word-3'}", 200, "token?",
             NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_password_has_at_least_eight_characters)
{
    static const struct step steps[] = {
        POST("new user", "/api/v1/users",
             "{'user': {'username': 'ann'}, 'password': 'seven77'}", 400,
             "error.error=a password must have at least 8 characters", ADMIN),
        PATCH("change", "/api/v1/users/2", "{'password': '1'}", 400, NULL),
        POST("by its own call", "/api/v1/users/2/password", "'1'", 400, NULL, ADMIN),
        PATCH("umlauts", "/api/v1/users/2",
              "{'password': '\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4'}", 400, NULL),
        /* a hash hides the length, but must be one */
        PATCH("no hash", "/api/v1/users/2", "{'password': '1', 'isHashed': true}", 400,
              "error.error~SHA-512"),
        GET("nothing changed", "/api/v1/me", 200, NULL),
        PATCH(
            "a hash", "/api/v1/users/2",
            "{'password': '5362e4e4a383cf16daeceb4e16ee733d6214ce15ff23ceff9ff36c7bbcd9"
            "884dee47b4f0b4c83331c7d91af64ee8da09ab5135a12378d4d97ebf3e300d0ac3bb',"
            " 'isHashed': true}",
            200, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_user_is_linked_with_a_unix_identity)
{
    static const struct step linking[] = {
        PATCH(
            "part", "/api/v1/users/2", "{'agentUserGroup': {'agentUid': 7}}", 400,
            "error.error=agentUid, agentGid, agentUser and agentGroup cannot be empty",
            ADMIN),
        PATCH("no name", "/api/v1/users/2",
              "{'agentUserGroup': {'agentUid': 7, 'agentGid': 8, 'agentUser': '',"
              " 'agentGroup': 'g'}}",
              400, NULL, ADMIN),
        PATCH("a path", "/api/v1/users/2",
              "{'agentUserGroup': {'agentUid': 7, 'agentGid': 8, 'agentUser': '../x',"
              " 'agentGroup': 'g'}}",
              400, "error.error~without spaces", ADMIN),
        PATCH("below zero", "/api/v1/users/2",
              "{'agentUserGroup': {'agentUid': -1, 'agentGid': 8, 'agentUser': 'u',"
              " 'agentGroup': 'g'}}",
              400, "error.error~whole numbers", ADMIN),
        PATCH("a list", "/api/v1/users/2", "{'agentUserGroup': [1]}", 400, NULL, ADMIN),
        GET("unchanged", "/api/v1/users/2", 200, "user.agentUserGroup=null"),
        PATCH("linked", "/api/v1/users/2",
              "{'agentUserGroup': {'agentUid': 2000000000, 'agentGid': 8,"
              " 'agentUser': 'u', 'agentGroup': 'g'}}",
              200, "user.agentUserGroup.agentUid=2000000000", ADMIN),
        PATCH("null changes nothing", "/api/v1/users/2",
              "{'displayName': 'D', 'agentUserGroup': null}", 200,
              "user.agentUserGroup.agentGroup=g", ADMIN),
        GET("listed", "/api/v1/users?name=deter", 200,
            "users.0.agentUserGroup.agentGid=8; users.0.agentUserGroup.agentUser=u"),
        POST("e", "/api/v1/experiments", "{'config': $[single], 'activate': true}", 200,
             NULL),
        END_STEPS};
    static const struct step removing[] = {
        PATCH("removed", "/api/v1/users/2",
              "{'agentUserGroup': {'agentUid': null, 'agentGid': null,"
              " 'agentUser': null, 'agentGroup': null}}",
              200, "user.agentUserGroup=null", ADMIN),
        POST("at once", "/api/v1/users",
             "{'user': {'username': 'ann', 'agentUserGroup': {'agentUid': 1,"
             " 'agentGid': 2, 'agentUser': 'a', 'agentGroup': 'b'}}}",
             200, "user.agentUserGroup.agentUid=1", ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, linking);
    share = agent_run(&agent);
    CHECK_EQ(json_i64(json_path(share.spec, "user.uid"), 0), 2000000000);
    CHECK_EQ(json_i64(json_path(share.spec, "user.gid"), 0), 8);
    CHECK(json_bool(json_path(share.spec, "user.isLink"), false));
    bed_play(bed, removing);
}

TEST(a_reset_needs_a_file_in_the_data_directory_and_serves_once)
{
    static const char hash[] =
        "5362e4e4a383cf16daeceb4e16ee733d6214ce15ff23ceff9ff36c7bbcd9884d"
        "ee47b4f0b4c83331c7d91af64ee8da09ab5135a12378d4d97ebf3e300d0ac3bb";
    static const struct step steps[] = {
        PATCH("remote", "/api/v1/users/2", "{'remote': true}", 200, "user.remote=true",
              ADMIN),
        POST("no ticket", "/api/v1/det/reset-password", "{'ticket': '../x'}", 400, NULL,
             NOBODY),
        POST("unknown", "/api/v1/det/reset-password",
             "{'ticket': '00000000000000000000000000000000'}", 403,
             "error.error~no such ticket", NOBODY),
        POST("reset", "/api/v1/det/reset-password",
             "{'ticket': '0123456789abcdef0123456789abcdef'}", 200,
             "user.username=determined; user.remote=false", NOBODY),
        GET("sessions ended", "/api/v1/me", 401, NULL),
        POST("twice", "/api/v1/det/reset-password",
             "{'ticket': '0123456789abcdef0123456789abcdef'}", 403, NULL, NOBODY),
        END_STEPS};
    BED(bed, NULL);
    const char *path = arena_printf(
        &bed->mem, "%s/reset-0123456789abcdef0123456789abcdef", bed->data_dir);
    const char *text = arena_printf(
        &bed->mem, "{\"username\":\"determined\",\"password\":\"%s\"}", hash);

    CHECK_OK(io_replace(io_system(), path, text, strlen(text), true, &test_err));
    bed_play(bed, steps);
}

#define WRONG                                                                          \
    POST("wrong", "/api/v1/auth/login",                                                \
         "{'username': 'determined', 'password': 'Wrong-Word-1'}", 401, NULL, NOBODY)

TEST(guessing_is_slowed_down_and_nobody_else)
{
    static const struct step steps[] = {
        PATCH("password", "/api/v1/users/2", "{'password': 'Right-Word-1'}", 200, NULL),
        PATCH("another", "/api/v1/users/1", "{'password': 'Right-Word-2'}", 200, NULL,
              ADMIN),
        WRONG,
        WRONG,
        WRONG,
        WRONG,
        WRONG,
        POST("later", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'Right-Word-1'}", 429,
             "error.error~try again in 1 s", NOBODY),
        POST("blank", "/api/v1/auth/login",
             "{'username': 'determined', 'password': ''}", 401, NULL, NOBODY),
        POST("another user", "/api/v1/auth/login",
             "{'username': 'admin', 'password': 'Right-Word-2'}", 200, "token?",
             NOBODY),
        END_STEPS};
    static const struct step after[] = {
        POST("right", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'Right-Word-1'}", 200, "token?",
             NOBODY),
        END_STEPS};
    BED(bed, NULL);
    struct reply reply;

    bed_play(bed, steps);
    reply = bed_call(bed, NOBODY, NET_POST, "/api/v1/auth/login",
                     "{\"username\":\"determined\",\"password\":\"Wrong-Word-1\"}");
    CHECK_EQ(reply.status, 429);
    CHECK_HAS(reply.headers, "Retry-After: 1\n");
    bed_pass(bed, 2);
    bed_play(bed, after);
}

TEST(an_inactive_user_is_out_at_once)
{
    static const struct step steps[] = {
        PATCH("off", "/api/v1/users/2", "{'active': false}", 200, NULL, ADMIN),
        GET("out", "/api/v1/me", 401, NULL), END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- other people of the machine ------------------------------------------------- */

static struct reply as_stranger(struct bed *bed, const char *method, const char *path,
                                const char *token, const char *body)
{
    return bed_raw(bed,
                   arena_printf(&bed->mem,
                                "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s%s"
                                "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                                method, path, token ? "Authorization: Bearer " : "",
                                token ? token : "", token ? "\r\n" : "", strlen(body),
                                body),
                   STRANGER);
}

TEST(a_blank_password_is_only_for_whoever_runs_the_master)
{
    BED(bed, NULL);
    struct reply reply;

    UNLESS(geteuid() == 0, "needs root");
    reply = as_stranger(bed, "POST", "/api/v1/auth/login", NULL,
                        "{\"username\":\"admin\",\"password\":\"\"}");
    CHECK_EQ(reply.status, 403);
    CHECK_HAS(reply.text, "has no password yet");
}

TEST(what_is_for_administrators_is_not_for_others)
{
    static const struct {
        const char *method;
        const char *path;
        const char *body;
    } calls[] = {
        {"GET", "/api/v1/master/config", ""},
        {"POST", "/api/v1/users", "{\"user\":{\"username\":\"eve\",\"admin\":true}}"},
        {"PATCH", "/api/v1/users/2", "{\"admin\":true}"},
        {"PATCH", "/api/v1/users/2",
         "{\"agentUserGroup\":{\"agentUid\":0,\"agentGid\":0,\"agentUser\":\"r\","
         "\"agentGroup\":\"r\"}}"},
        {"PATCH", "/api/v1/users/1", "{\"password\":\"mine\"}"},
        {"POST", "/api/v1/users/1/password", "\"mine\""},
        {"POST", "/api/v1/agents/a1/disable", ""},
        {"POST", "/api/v1/agents/a1/enable", ""},
        {"POST", "/api/v1/agents/a1/slots/0/disable", ""},
        {"POST", "/api/v1/agents/a1/slots/0/enable", ""},
    };
    BED(bed, NULL);
    struct agent agent = {0};

    UNLESS(geteuid() == 0, "needs root");
    agent_join(&agent, bed, "a1", 1);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct reply reply =
            as_stranger(bed, calls[i].method, calls[i].path, bed->user, calls[i].body);

        if (reply.status != 403)
            fail_msg("%s %s: %d %s", calls[i].method, calls[i].path, reply.status,
                     reply.text);
    }
    /* their own name and password are theirs */
    CHECK_EQ(as_stranger(bed, "PATCH", "/api/v1/users/2", bed->user,
                         "{\"displayName\":\"me\"}")
                 .status,
             200);
    CHECK_EQ(as_stranger(bed, "GET", "/api/v1/master/config", bed->admin, "").status,
             200);
}

/* ---- web pages ------------------------------------------------------------------- */

static int status_with(struct bed *bed, const char *host, const char *origin)
{
    const char *request = arena_printf(
        &bed->mem, "GET /info HTTP/1.1\r\n%s%s\r\n%s%s%sConnection: close\r\n\r\n",
        host ? "Host: " : "X-None: ", host ? host : "1", origin ? "Origin: " : "",
        origin ? origin : "", origin ? "\r\n" : "");

    return bed_raw(bed, request, 0).status;
}

TEST(no_web_page_may_talk_to_a_local_master)
{
    BED(bed, NULL);

    CHECK_EQ(status_with(bed, "127.0.0.1:8080", NULL), 200);
    CHECK_EQ(status_with(bed, "localhost", NULL), 200);
    CHECK_EQ(status_with(bed, "[::1]:8080", NULL), 200);
    CHECK_EQ(status_with(bed, "evil.example", NULL), 403);
    CHECK_EQ(status_with(bed, "localhost.evil.example:8080", NULL), 403);
    CHECK_EQ(status_with(bed, "127.0.0.1.evil.example", NULL), 403);
    CHECK_EQ(status_with(bed, "localhost:8080", "http://localhost:8080"), 200);
    CHECK_EQ(status_with(bed, "localhost:8080", "http://evil.example"), 403);
    CHECK_EQ(status_with(bed, "localhost:8080", "http://localhost:9999"), 403);
    CHECK_EQ(status_with(bed, "localhost:8080", "null"), 403);
}

/* ---- tasks ----------------------------------------------------------------------- */

TEST(a_task_s_token_opens_its_own_task_and_no_more)
{
    static const struct step steps[] = {
        GET("me", "/api/v1/me", 200, "user.username=determined", TASK),
        GET("its trial", "/api/v1/trials/${share.trial}", 200, NULL, TASK),
        GET("its files", "/api/v1/tasks/${share.task_id}/context_directory", 200, NULL,
            TASK),
        GET("another trial", "/api/v1/trials/1", 403, "error.error~own task", TASK),
        POST("its metrics", "/api/v1/trials/1/metrics", "{}", 403, NULL, TASK),
        GET("its notes", "/api/v1/runs/1/metadata", 403, NULL, TASK),
        GET("another's files", "/api/v1/tasks/x/context_directory", 403, NULL, TASK),
        GET("another's signals", "/api/v1/allocations/1.x.1/signals/preemption", 403,
            NULL, TASK),
        POST("another's exit", "/api/v1/det/allocations/1.x.1/exit",
             "{'exit': 'CLEAN'}", 403, NULL, TASK),
        GET("another experiment",
            "/api/v1/experiments/1/searcher/best_searcher_validation_metric", 403, NULL,
            TASK),
        POST("another's lines", "/api/v1/task/logs",
             "{'logs': [{'taskId': '1.x', 'log': 'hi'}]}", 403, NULL, TASK),
        GET("a user's call", "/api/v1/experiments", 403, "error.error~task's token",
            TASK),
        GET("an administrator's call", "/api/v1/master/config", 403, NULL, TASK),
        POST("an agent's call", "/api/v1/det/agents/a1/hello", "{'devices': []}", 403,
             "error.error~task's token", TASK),
        GET("the owner's token acts as the owner", "/api/v1/experiments", 200,
            "experiments#2", OWNER),
        POST("a user is no agent", "/api/v1/det/agents/a1/hello", "{'devices': []}",
             403, "error.error~only an agent", ADMIN),
        POST("nobody is no agent", "/api/v1/det/agents/a1/hello", "{'devices': []}",
             401, "error.error~wrong agent token", NOBODY),
        GET("an agent is no user", "/api/v1/me", 403, "error.error~agents' token",
            AGENT),
        END_STEPS};
    static const struct step after[] = {
        /* rows are visible a moment before cached tokens are dropped */
        {"over", NET_GET, "/api/v1/me", NULL, 401, "error.error~over", TASK, true,
         NULL},
        GET("over for the owner too", "/api/v1/me", 401, "error.error~over", OWNER),
        POST("its supervisor reported the end and has said everything",
             "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 5,"
             " 'lines': [[1, 'last']]}",
             403, "error.error~has ended", SUPERVISOR),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share first, second;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    first = agent_run(&agent);
    (void)create(bed, config_single);
    second = agent_run(&agent);
    CHECK(second.trial != first.trial);
    CHECK_EQ(first.trial, 1);
    bed_play(bed, steps);
    share_exit(&second, "CLEAN", 0);
    await_trial(bed, second.trial, "COMPLETED");
    bed_play(bed, after);
}
