/* SPDX-License-Identifier: Apache-2.0 */
/* Ways in that must stay shut: a task's token after its end, a proxy on this machine,
 * names that look like ours, blank passwords on an open master, and changes of an
 * account that meet each other. */
#include <unistd.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "tests/api/script.h"

static const char open_yaml[] = "security: {initial_user_password: Sesame-Open-1}\n";

/* Listening on all addresses, with a password for everybody. */
static void open_to_all(struct bed *bed)
{
    bed_stop(bed);
    bed->host = "0.0.0.0";
    CHECK_OK(bed_start(bed, &test_err));
    bed->user = bed_login(bed, "determined", "Sesame-Open-1", 200);
    bed->admin = bed_login(bed, "admin", "Sesame-Open-1", 200);
}

static int get_me(struct bed *bed, const char *headers)
{
    return bed_raw(bed,
                   arena_printf(&bed->mem,
                                "GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\n%s"
                                "Connection: close\r\n\r\n",
                                headers),
                   0)
        .status;
}

TEST(the_right_cookie_is_found_among_others)
{
    static const char *const fits[] = {"auth=%s", "oauth=x; auth=%s",
                                       "xauth=auth=1;auth=%s; z=1", "a=b;  auth=%s"};
    static const char *const none[] = {"oauth=%s", "a=auth=%s", "auth =%s", "=%s"};
    BED(bed, NULL);
    char cookie[300], line[400];

    for (size_t i = 0; i < ARRAY_LEN(fits); i++) {
        const char *at = strstr(fits[i], "%s");

        snprintf(cookie, sizeof(cookie), "%.*s%s%s", (int)(at - fits[i]), fits[i],
                 bed->user, at + 2);
        snprintf(line, sizeof(line), "Cookie: %s\r\n", cookie);
        CHECK_EQ(get_me(bed, line), 200);
    }
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        const char *at = strstr(none[i], "%s");

        snprintf(line, sizeof(line), "Cookie: %.*s%s\r\n", (int)(at - none[i]), none[i],
                 bed->user);
        CHECK_EQ(get_me(bed, line), 401);
    }
}

TEST(whoever_comes_through_a_proxy_is_not_the_owner)
{
    static const char *const signs[] = {"Forwarded: for=10.0.0.9",
                                        "X-Forwarded-For: 10.0.0.9", "Via: 1.1 proxy"};
    static const char body[] = "{\"username\":\"admin\",\"password\":\"\"}";
    BED(bed, NULL);

    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        const char *call =
            arena_printf(&bed->mem,
                         "POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                         signs[i], strlen(body), body);

        CHECK_EQ(bed_raw(bed, call, 0).status, 403);
        call = arena_printf(
            &bed->mem,
            "GET /api/v1/master/config HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
            "Authorization: Bearer %s\r\nConnection: close\r\n\r\n",
            signs[i], bed->user);
        CHECK_EQ(bed_raw(bed, call, 0).status, 403);
    }
}

/* The socket of these tests belongs to whoever runs the master, like that of a proxy or port
 * forwarder on the same machine. */
TEST(the_socket_gives_a_session_no_rights)
{
    static const struct step steps[] = {
        PATCH("make oneself", "/api/v1/users/2", "{'admin': true}", 403,
              "error.error~administrator"),
        POST("or another", "/api/v1/users",
             "{'user': {'username': 'eve', 'admin': true}}", 403, NULL),
        GET("see the configuration", "/api/v1/master/config", 403, NULL),
        POST("stop an agent", "/api/v1/agents/a1/disable", NULL, 403, NULL),
        GET("as before", "/api/v1/users/2", 200, "user.admin=false"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);
}

static int get_info(struct bed *bed, const char *host)
{
    return bed_raw(bed,
                   arena_printf(&bed->mem,
                                "GET /info HTTP/1.1\r\nHost: %s\r\n"
                                "Connection: close\r\n\r\n",
                                host),
                   0)
        .status;
}

TEST(a_longer_name_that_begins_with_ours_is_not_ours)
{
    BED(bed, open_yaml);
    char name[200] = "";

    open_to_all(bed);
    CHECK_EQ(gethostname(name, sizeof(name) - 1), 0);
    CHECK_EQ(get_info(bed, name), 200);
    CHECK_EQ(get_info(bed, arena_printf(&bed->mem, "%s.:8080", name)), 200);
    CHECK_EQ(get_info(bed, "localhost."), 200);
    CHECK_EQ(get_info(bed, arena_printf(&bed->mem, "%s.evil.example", name)), 403);
    CHECK_EQ(get_info(bed, arena_printf(&bed->mem, "%sx", name)), 403);
}

/* The decoder takes both spellings of a name, so the check of single fields must find what the
 * decoder finds. */
TEST(a_field_for_administrators_is_not_hidden_behind_its_other_spelling)
{
#define ROOT "{'agentUid': 0, 'agentGid': 0, 'agentUser': 'root', 'agentGroup': 'root'}"
    static const struct step steps[] = {
        PATCH("other spelling", "/api/v1/users/2", "{'agent_user_group': " ROOT "}",
              403, NULL),
        PATCH("both", "/api/v1/users/2",
              "{'agentUserGroup': null, 'agent_user_group': " ROOT "}", 403, NULL),
        PATCH("in the other order", "/api/v1/users/2",
              "{'agent_user_group': " ROOT ", 'agentUserGroup': null}", 403, NULL),
        GET("unchanged", "/api/v1/users/2", 200, "user.agentUserGroup=null"),
        POST("of a workspace", "/api/v1/workspaces",
             "{'name': 'w', 'agentUserGroup': null, 'agent_user_group': " ROOT "}", 403,
             NULL),
        POST("a workspace", "/api/v1/workspaces", "{'name': 'w'}", 200, NULL),
        PATCH("its user", "/api/v1/workspaces/2",
              "{'agentUserGroup': null, 'agent_user_group': " ROOT "}", 403, NULL),
        POST("of an administrator", "/api/v1/workspaces", "{'name': 'a'}", 200, NULL,
             ADMIN),
        PATCH("its storage", "/api/v1/workspaces/3",
              "{'checkpointStorageConfig': null, 'checkpoint_storage_config':"
              " {'type': 'shared_fs', 'host_path': '/tmp'}}",
              403, NULL),
        END_STEPS};
#undef ROOT
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(an_open_master_takes_no_blank_passwords)
{
    static const struct step steps[] = {
        POST("add", "/api/v1/users", "{'user': {'username': 'ann'}}", 400,
             "error.error~blank", ADMIN),
        POST("add too", "/api/v1/users",
             "{'user': {'username': 'ann'}, 'password': ''}", 400, NULL, ADMIN),
        POST("with one", "/api/v1/users",
             "{'user': {'username': 'ann'}, 'password': 'Secret-Word-1'}", 200,
             "user.id=3", ADMIN),
        PATCH("take it away", "/api/v1/users/3", "{'password': ''}", 400,
              "error.error~blank", ADMIN),
        POST("by its own call", "/api/v1/users/3/password", "''", 400, NULL, ADMIN),
        PATCH("the rest may change", "/api/v1/users/3", "{'displayName': 'A'}", 200,
              NULL, ADMIN),
        POST("still there", "/api/v1/auth/login",
             "{'username': 'ann', 'password': 'Secret-Word-1'}", 200, NULL, NOBODY),
        END_STEPS};
    BED(bed, open_yaml);

    open_to_all(bed);
    bed_play(bed, steps);
}

TEST(who_was_shut_out_without_a_password_stays_out_of_an_open_master)
{
    static const struct step before[] = {
        POST("add", "/api/v1/users", "{'user': {'username': 'ann', 'active': false}}",
             200, "user.id=3", ADMIN),
        END_STEPS};
    static const struct step after[] = {
        PATCH("on", "/api/v1/users/3", "{'active': true}", 400,
              "error.error~no password", ADMIN),
        PATCH("with one", "/api/v1/users/3",
              "{'active': true, 'password': 'Secret-Word-1'}", 200, "user.active=true",
              ADMIN),
        END_STEPS};
    BED(bed, open_yaml);

    bed->admin = bed_login(bed, "admin", "Sesame-Open-1", 200);
    bed_play(bed, before);
    open_to_all(bed);
    bed_play(bed, after);
}

/* ---- changes that meet ----------------------------------------------------------- */

/* In whatever order they come: the old password opens nothing afterwards. */
TEST(a_login_that_meets_a_new_password_does_not_bring_the_old_one_back)
{
    static const struct step first[] = {PATCH("old", "/api/v1/users/2",
                                              "{'password': 'Old-Word-11'}", 200, NULL,
                                              ADMIN),
                                        END_STEPS};
    BED(bed, NULL);
    struct pending *busy, *change, *login;
    struct reply reply;

    bed_play(bed, first);
    busy = bed_begin(bed, NOBODY, NET_POST, "/api/v1/auth/login",
                     "{\"username\":\"determined\",\"password\":\"x\"}");
    change = bed_begin(bed, ADMIN, NET_PATCH, "/api/v1/users/2",
                       "{\"password\":\"New-Word-22\"}");
    login = bed_begin(bed, NOBODY, NET_POST, "/api/v1/auth/login",
                      "{\"username\":\"determined\",\"password\":\"Old-Word-11\"}");
    CHECK_EQ(bed_end(bed, busy).status, 401);
    CHECK_EQ(bed_end(bed, change).status, 200);
    reply = bed_end(bed, login);
    CHECK(reply.status == 200 || reply.status == 401);
    if (reply.status == 200) {
        bed->other = json_str(json_get(reply.json, "token"), "");
        CHECK_EQ(bed_call(bed, OTHER, NET_GET, "/api/v1/me", NULL).status, 401);
    }
    (void)bed_login(bed, "determined", "Old-Word-11", 401);
    (void)bed_login(bed, "determined", "New-Word-22", 200);
}

TEST(a_login_that_meets_a_shut_out_does_not_undo_it)
{
    static const struct step first[] = {PATCH("old", "/api/v1/users/2",
                                              "{'password': 'Old-Word-11'}", 200, NULL,
                                              ADMIN),
                                        END_STEPS};
    BED(bed, NULL);
    struct pending *busy, *login, *off;

    bed_play(bed, first);
    busy = bed_begin(bed, NOBODY, NET_POST, "/api/v1/auth/login",
                     "{\"username\":\"determined\",\"password\":\"x\"}");
    off = bed_begin(bed, ADMIN, NET_PATCH, "/api/v1/users/2", "{\"active\":false}");
    login = bed_begin(bed, NOBODY, NET_POST, "/api/v1/auth/login",
                      "{\"username\":\"determined\",\"password\":\"Old-Word-11\"}");
    CHECK_EQ(bed_end(bed, busy).status, 401);
    CHECK_EQ(bed_end(bed, off).status, 200);
    (void)bed_end(bed, login);
    CHECK_STR(
        json_str(
            json_at(
                bed_call(bed, ADMIN, NET_GET, "/api/v1/users?active=false", NULL).json,
                "users.0.username"),
            ""),
        "determined");
    (void)bed_login(bed, "determined", "Old-Word-11", 403);
}

TEST(two_changes_of_one_account_that_meet_are_both_kept)
{
    BED(bed, NULL);
    struct pending *word, *name, *again;
    struct reply reply;

    word = bed_begin(bed, ADMIN, NET_PATCH, "/api/v1/users/2",
                     "{\"password\":\"New-Word-22\"}");
    name = bed_begin(bed, ADMIN, NET_PATCH, "/api/v1/users/2",
                     "{\"displayName\":\"Det\"}");
    again = bed_begin(bed, ADMIN, NET_PATCH, "/api/v1/users/2", "{\"admin\":true}");
    CHECK_EQ(bed_end(bed, word).status, 200);
    CHECK_EQ(bed_end(bed, name).status, 200);
    CHECK_EQ(bed_end(bed, again).status, 200);
    (void)bed_login(bed, "determined", "New-Word-22", 200);
    reply = bed_call(bed, ADMIN, NET_GET, "/api/v1/users/2", NULL);
    CHECK_STR(json_str(json_at(reply.json, "user.displayName"), ""), "Det");
    CHECK(json_at(reply.json, "user.admin")->kind == JSON_BOOL);
    CHECK_HAS(reply.text, "\"admin\":true");
}

/* ---- tasks ----------------------------------------------------------------------- */

TEST(the_owner_s_token_of_a_task_that_is_over_says_nothing_more)
{
    static const struct step steps[] = {
        POST("its own lines", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 5,"
             " 'lines': [[1, 'last']]}",
             401, "error.error~over", OWNER),
        POST("another's lines", "/api/v1/det/allocations/${other}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 5,"
             " 'lines': [[1, 'fake']]}",
             401, NULL, OWNER),
        POST("another's exit", "/api/v1/det/allocations/${other}/exit",
             "{'rank': 0, 'exit': 'CLEAN'}", 401, NULL, OWNER),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share first, second;

    agent_join(&agent, bed, "a1", 2);
    (void)create(bed, config_single);
    first = agent_run(&agent);
    (void)create(bed, config_single);
    second = agent_run(&agent);
    bed_let(bed, "other", second.allocation);
    share_exit(&first, "CLEAN", 0);
    await_trial(bed, first.trial, "COMPLETED");
    share_speak(&first);
    bed_play(bed, steps);
}

/* ---- the credential of a supervisor ------------------------------------------------- */

#define LINES_OF(rank, offset, end, text)                                              \
    "{'rank': " rank ", 'stream': 'stdout', 'offset': " offset ", 'endOffset': " end   \
    ", 'lines': [[1, '" text "']]}"

TEST(a_supervisor_that_has_delivered_everything_adds_nothing)
{
    static const struct step forged[] = {
        POST("a line", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "5", "10", "fake"), 403, "error.error~credential has ended",
             SUPERVISOR),
        POST("a state", "/api/v1/det/allocations/${share.allocation}/state",
             "{'rank': 0, 'state': 'RUNNING'}", 403, NULL, SUPERVISOR),
        POST("a sign of life", "/api/v1/det/allocations/${share.allocation}/alive",
             "{'rank': 0}", 403, NULL, SUPERVISOR),
        POST("an environment",
             "/api/v1/det/allocations/${share.allocation}/environment",
             "{'rank': 0, 'record': {}}", 403, NULL, SUPERVISOR),
        POST("reports", "/api/v1/allocations/${share.allocation}/reports", "x", 403,
             NULL, SUPERVISOR),
        POST("its exit again: the answer was lost",
             "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'FAILED', 'code': 9}", 200, NULL, SUPERVISOR),
        GET("the log is as it was", "/api/v1/tasks/${share.task_id}/logs?sources=task",
            200, "result.log~true"), /* one line is no list */
        GET("so is the trial", "/api/v1/trials/${share.trial}", 200,
            "trial.state=STATE_COMPLETED"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_log(&share, "true");
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    bed_play(bed, forged);
    bed_restart(bed);
    bed_play(bed, forged);
}

TEST(what_a_lost_run_has_not_delivered_is_still_taken)
{
    static const struct step late[] = {
        POST("late", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "0", "5", "late"), 200, "offset=5", SUPERVISOR),
        POST("later", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "5", "11", "later"), 200, "offset=11", SUPERVISOR),
        POST("later again", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "5", "11", "later"), 200, "offset=11", SUPERVISOR),
        POST("exit", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'CLEAN'}", 200, NULL, SUPERVISOR),
        POST("exit again", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'CLEAN'}", 200, NULL, SUPERVISOR),
        POST("too late", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "11", "16", "fake"), 403, NULL, SUPERVISOR),
        GET("both lines", "/api/v1/tasks/${share.task_id}/logs?sources=task", 200,
            "lines#2"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share, again;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    agent_hello(&agent, "[]"); /* the machine was restarted, say */
    again = agent_run(&agent);
    CHECK_EQ(again.run, 2);
    share_speak(&share);
    bed_play(bed, late);
}

TEST(a_rank_that_has_delivered_everything_is_closed_before_the_others)
{
    static const char config[] =
        "name: two\nentrypoint: python3 train.py\nresources: {slots_per_trial: 4}\n"
        "searcher: {name: single, metric: loss, max_length: {batches: 10}}\n";
    static const struct step steps[] = {
        POST("the first", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "0", "5", "fake"), 403, "error.error~rank 0", SUPERVISOR),
        POST("its environment",
             "/api/v1/det/allocations/${share.allocation}/environment",
             "{'rank': 0, 'record': {}}", 403, "error.error~rank 0", SUPERVISOR),
        POST("the second", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("1", "0", "5", "true"), 200, "offset=5", SUPERVISOR),
        END_STEPS};
    BED(bed, NULL);
    struct agent agents[2] = {0};
    struct share shares[2];

    agent_join(&agents[0], bed, "a1", 2);
    agent_join(&agents[1], bed, "a2", 2);
    (void)create(bed, config);
    for (int i = 0; i < 2; i++)
        shares[i] = agent_run(&agents[i]);
    share_exit(&shares[shares[0].rank == 0 ? 0 : 1], "CLEAN", 0);
    bed_play(bed, steps);
}

TEST(output_claims_no_more_than_a_batch_has)
{
    static const struct step steps[] = {
        POST("far too much", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "0", "1099511627776", "a"), 400,
             "error.error~endOffset claims 1099511627776 bytes", SUPERVISOR),
        POST("after a gap", "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "1099511627776", "1099511627778", "a"), 200, "offset=0",
             SUPERVISOR),
        POST("what is true is stored afterwards",
             "/api/v1/det/allocations/${share.allocation}/logs",
             LINES_OF("0", "0", "5", "true"), 200, "offset=5", SUPERVISOR),
        GET("alone", "/api/v1/tasks/${share.task_id}/logs?sources=task", 200,
            "result.log~true"),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    (void)agent_run(&agent);
    bed_play(bed, steps);
}

/* DET_SESSION_TOKEN is in the task's environment: the program could forge what its supervisor
 * says of it. */
TEST(a_task_s_own_token_does_nothing_in_the_name_of_its_supervisor)
{
    static const struct step during[] = {
        POST("its lines", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 5,"
             " 'lines': [[1, 'fake']]}",
             403, NULL, OTHER),
        POST("its end", "/api/v1/det/allocations/${share.allocation}/exit",
             "{'rank': 0, 'exit': 'CLEAN'}", 403, NULL, OTHER),
        POST("its reports", "/api/v1/allocations/${share.allocation}/reports", "{}",
             403, NULL, OTHER),
        POST("its own call", "/api/v1/task/logs",
             "{'logs': [{'taskId': '${share.task_id}', 'log': 'hi'}]}", 200, NULL,
             OTHER),
        END_STEPS};
    static const struct step after[] = {
        {"over", NET_GET, "/api/v1/me", NULL, 401, "error.error~over", OTHER, true,
         NULL},
        POST("forged lines", "/api/v1/det/allocations/${share.allocation}/logs",
             "{'rank': 0, 'stream': 'stdout', 'offset': 0, 'endOffset': 5,"
             " 'lines': [[1, 'fake']]}",
             401, "error.error~over", OTHER),
        POST("by the other way", "/api/v1/task/logs",
             "{'logs': [{'taskId': '${share.task_id}', 'log': 'fake'}]}", 401, NULL,
             OTHER),
        POST("metrics", "/api/v1/trials/${share.trial}/metrics", "{}", 401, NULL,
             OTHER),
        POST("a checkpoint", "/api/v1/checkpoints",
             "{'uuid': '11111111-1111-4111-8111-111111111111'}", 401, NULL, OTHER),
        END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_speak(&share);
    bed->other = share.task;
    bed_play(bed, during);
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    bed_play(bed, after);
}
