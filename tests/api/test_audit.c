/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log: who did what to which object from where; and never a secret. */
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/api/script.h"

static const struct json *entries_of(struct bed *bed, const char *query)
{
    struct reply reply = bed_call(
        bed, ADMIN, NET_GET,
        arena_printf(&bed->mem, "/api/v1/det/audit?limit=1000%s", query), NULL);

    CHECK_EQ(reply.status, 200);
    return json_get(reply.json, "entries");
}

static size_t count_of(const struct json *entries)
{
    size_t count = 0;

    json_each(entry, entries)
        count++;
    return count;
}

static const char *text_of(const struct json *entry, const char *key)
{
    return json_str(json_get(entry, key), "");
}

static void add_many(struct buf *out, int c, size_t count)
{
    char *room = buf_room(out, count);

    CHECK(room != NULL);
    memset(room, c, count);
    buf_took(out, count);
}

TEST(a_change_is_noted_with_who_what_and_from_where)
{
    static const struct step steps[] = {
        POST("e", "/api/v1/experiments", "{'config': $[single], 'activate': false}",
             200, NULL),
        POST("kill", "/api/v1/experiments/${e.experiment.id}/kill", NULL, 200, NULL),
        PATCH("name", "/api/v1/users/2", "{'displayName': 'Secret Name'}", 200, NULL),
        POST("agent", "/api/v1/agents/a1/disable", NULL, 200, NULL, ADMIN), END_STEPS};
    BED(bed, NULL);
    struct agent agent = {0};
    const struct json *list;
    const struct json *entry;

    agent_join(&agent, bed, "a1", 1);
    bed_play(bed, steps);

    list = entries_of(bed, "&action=create_experiment");
    CHECK_EQ(count_of(list), 1);
    entry = json_first(list);
    CHECK_STR(text_of(entry, "username"), "determined");
    CHECK_EQ(json_i64(json_get(entry, "userId"), 0), 2);
    CHECK_STR(text_of(entry, "objectKind"), "experiment");
    CHECK_STR(text_of(entry, "objectId"), bed_get(bed, "e.experiment.id"));
    CHECK_STR(text_of(entry, "address"), "127.0.0.1");
    CHECK_EQ(json_i64(json_get(entry, "status"), 0), 200);
    CHECK_HAS(text_of(entry, "detail"), "config");

    entry = json_first(entries_of(bed, "&action=patch_user"));
    CHECK_STR(text_of(entry, "objectKind"), "user");
    CHECK_STR(text_of(entry, "objectId"), "2");
    CHECK_STR(text_of(entry, "detail"), "displayName"); /* not the value */
    entry = json_first(entries_of(bed, "&action=disable_agent"));
    CHECK_STR(text_of(entry, "objectKind"), "agent");
    CHECK_STR(text_of(entry, "objectId"), "a1");
    CHECK_STR(text_of(entry, "username"), "admin");
}

/* The strings of a large body stay in it, and the body is freed before the entry is made. */
TEST(a_large_body_is_freed_before_the_entry_and_its_ids_are_noted)
{
    BED(bed, NULL);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    const struct json *entry;
    struct reply reply;

    buf_puts(&body, "{\"config\": ");
    buf_puts(&body, bed_fill(bed, "$[single]", false));
    buf_puts(&body, ", \"projectId\": \"");
    add_many(&body, '0', 1100);
    buf_puts(&body, "1\", \"modelDefinition\": [{\"path\": \"a\", \"content\": \"");
    add_many(&body, 'A', 1200000);
    buf_puts(&body, "\"}]}");
    reply =
        bed_call_bytes(bed, USER, NET_POST, "/api/v1/experiments", body.data, body.len);
    CHECK_EQ(reply.status, 200);

    entry = json_first(entries_of(bed, "&action=create_experiment"));
    CHECK_HAS(text_of(entry, "detail"), "config, projectId=\"000000");
}

TEST(calls_that_change_nothing_leave_no_entry)
{
    static const struct step steps[] = {
        GET("list", "/api/v1/experiments", 200, NULL),
        POST("wrong", "/api/v1/experiments", "{'config': 'a: b: c'}", 400, NULL),
        PATCH("nobody", "/api/v1/users/99", "{'displayName': 'x'}", 404, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);
    size_t before = count_of(entries_of(bed, ""));

    bed_play(bed, steps);
    CHECK_EQ(count_of(entries_of(bed, "")), before);
}

TEST(reports_of_tasks_leave_no_entry)
{
    BED(bed, NULL);
    struct agent agent = {0};
    struct share share;
    size_t before;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    before = count_of(entries_of(bed, ""));
    share_report(&share, "training", 1, "{'loss': 1}", 200);
    share_log(&share, "a line");
    share_exit(&share, "CLEAN", 0);
    CHECK_EQ(count_of(entries_of(bed, "")), before);
}

TEST(logins_and_refusals_are_noted)
{
    static const struct step steps[] = {
        POST("wrong", "/api/v1/auth/login",
             "{'username': 'eve', 'password': 'Guess-Number-1'}", 401, NULL, NOBODY),
        PATCH("not allowed", "/api/v1/users/1", "{'admin': false}", 403, NULL),
        GET("not allowed", "/api/v1/det/audit", 403, NULL), END_STEPS};
    BED(bed, NULL);
    const struct json *entry;

    bed_play(bed, steps);
    entry = json_first(entries_of(bed, "&action=login&user=eve"));
    CHECK_EQ(json_i64(json_get(entry, "status"), 0), 401);
    CHECK_EQ(json_i64(json_get(entry, "userId"), -1), 0);
    CHECK(count_of(entries_of(bed, "&action=login&user=determined")) > 0);
    entry = json_first(entries_of(bed, "&action=patch_user"));
    CHECK_EQ(json_i64(json_get(entry, "status"), 0), 403);
    CHECK_STR(text_of(entry, "username"), "determined");
    CHECK_STR(text_of(entry, "objectId"), "1");
    CHECK_EQ(count_of(entries_of(bed, "&action=list_audit")), 1);
}

TEST(no_secret_is_ever_in_it)
{
    static const char hash[] =
        "5362e4e4a383cf16daeceb4e16ee733d6214ce15ff23ceff9ff36c7bbcd9884d"
        "ee47b4f0b4c83331c7d91af64ee8da09ab5135a12378d4d97ebf3e300d0ac3bb";
    static const struct step steps[] = {
        PATCH("change", "/api/v1/users/2", "{'password': 'New-Word-22'}", 200, NULL),
        POST("login", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'New-Word-22'}", 200, "token?",
             NOBODY),
        POST("wrong", "/api/v1/auth/login",
             "{'username': 'determined', 'password': 'Wrong-Word-3'}", 401, NULL,
             NOBODY),
        POST("by its own call", "/api/v1/users/2/password", "'Third-Word-4'", 200, NULL,
             ADMIN),
        POST("access", "/api/v1/tokens", "{'userId': 2}", 200, "token?", ADMIN),
        POST("user", "/api/v1/users",
             "{'user': {'username': 'ann', 'Fifth-Word-5': 1}, 'Sixth-Word-6': 1,"
             " 'password': 'Seventh-Word-7'}",
             200, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);
    struct reply reply;
    const char *token;

    bed_play(bed, steps);
    token = bed_get(bed, "login.token");
    (void)bed_call(
        bed, ADMIN, NET_PATCH, "/api/v1/users/2",
        arena_printf(&bed->mem, "{\"password\":\"%s\",\"isHashed\":true}", hash));
    reply = bed_call(bed, ADMIN, NET_GET, "/api/v1/det/audit?limit=1000", NULL);
    CHECK_HAS(reply.text, "set_password");
    CHECK_NULL(strstr(reply.text, "-Word-"));
    CHECK_NULL(strstr(reply.text, hash));
    CHECK_NULL(strstr(reply.text, token));
    CHECK_HAS(reply.text, "create_token");
    CHECK_NULL(strstr(reply.text, bed_get(bed, "access.token")));
    CHECK_NULL(strstr(reply.text, strchr(token, '.') + 1));
}

TEST(entries_are_filtered_and_come_in_pages)
{
    static const struct step steps[] = {
        PATCH("1", "/api/v1/users/2", "{'displayName': 'a'}", 200, NULL),
        PATCH("2", "/api/v1/users/2", "{'displayName': 'b'}", 200, NULL),
        PATCH("3", "/api/v1/users/1", "{'displayName': 'c'}", 200, NULL, ADMIN),
        GET("kind", "/api/v1/det/audit?action=patch_user&object=user", 200,
            "entries#3; next=null", ADMIN),
        GET("one", "/api/v1/det/audit?action=patch_user&object=user%202", 200,
            "entries#2", ADMIN),
        GET("who", "/api/v1/det/audit?action=patch_user&object=user&user=admin", 200,
            "entries#1; entries.0.objectId=1", ADMIN),
        GET("page", "/api/v1/det/audit?action=patch_user&object=user&limit=2", 200,
            "entries#2; next?", ADMIN),
        GET("rest",
            "/api/v1/det/"
            "audit?action=patch_user&object=user&limit=2&before=${page.next}",
            200, "entries#1; next=null", ADMIN),
        GET("later", "/api/v1/det/audit?since=2999-01-01T00:00:00Z", 200, "entries#0",
            ADMIN),
        GET("no time", "/api/v1/det/audit?since=x", 400, "error.error~a time like",
            ADMIN),
        GET("too many", "/api/v1/det/audit?limit=1001", 400, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(addresses_come_through_trusted_proxies_only)
{
    static const struct {
        const char *yaml;
        const char *address;
    } cases[] = {{NULL, "127.0.0.1"},
                 {"trusted_proxies: [127.0.0.0/8]", "1.2.3.4"},
                 {"trusted_proxies: [10.0.0.0/8]", "127.0.0.1"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        BED(bed, cases[i].yaml);
        const char *body = "{\"username\":\"eve\",\"password\":\"x\"}";
        struct reply reply = bed_raw(
            bed,
            arena_printf(&bed->mem,
                         "POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 1.2.3.4\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                         strlen(body), body),
            0);

        CHECK_EQ(reply.status, 401);
        CHECK_STR(text_of(json_first(entries_of(bed, "&user=eve")), "address"),
                  cases[i].address);
    }
}

/* ---- retention ------------------------------------------------------------------- */

/* Time passes, and the master is started again: it cleans soon after a start. */
static void pass_days(struct bed *bed, int days)
{
    bed->wall_offset_us += days * INT64_C(86400) * 1000000;
    bed_restart(bed);
    bed->user = bed_login(bed, "determined", "", 200); /* sessions end after a week */
    bed->admin = bed_login(bed, "admin", "", 200);
}

static void rename_user(struct bed *bed, const char *name)
{
    struct step step = PATCH("name", "/api/v1/users/2", NULL, 200, NULL, ADMIN);

    step.body = arena_printf(&bed->mem, "{'displayName': '%s'}", name);
    (void)bed_step(bed, &step);
}

#define RENAMES(count)                                                                 \
    GET("renames", "/api/v1/det/audit?action=patch_user", 200, "entries#" count,       \
        ADMIN, true)

TEST(old_entries_go_and_young_ones_stay)
{
    static const struct step three = RENAMES("3");
    static const struct step two = RENAMES("2");
    static const struct step one = RENAMES("1");
    BED(bed, "retention_policy: {audit_retention_days: 10}\n");

    rename_user(bed, "First");
    pass_days(bed, 6);
    rename_user(bed, "Second");
    pass_days(bed, 3); /* none is old yet */
    rename_user(bed, "Third");
    (void)bed_step(bed, &three);
    pass_days(bed, 2); /* the first is 11 days old, the second 5 */
    (void)bed_step(bed, &two);
    CHECK(count_of(entries_of(bed, "&action=login")) > 0);
    pass_days(bed, 6);
    (void)bed_step(bed, &one);
}

TEST(more_entries_than_one_step_removes_go_too)
{
    static const struct step many =
        POST("try", "/api/v1/users", "{'user': {'username': 'x'}}", 403, NULL);
    static const struct step gone = GET("gone", "/api/v1/det/audit?action=create_user",
                                        200, "entries#0", ADMIN, true);
    BED(bed, "retention_policy: {audit_retention_days: 1}\n");

    for (int i = 0; i < 1100; i++)
        (void)bed_step(bed, &many);
    pass_days(bed, 2);
    (void)bed_step(bed, &gone);
}

/* A log line goes in the same step, which shows that it was done. */
TEST(entries_are_kept_for_ever_if_the_configuration_says_so)
{
    static const struct step gone = GET("gone", "/api/v1/trials/${share.trial}/logs",
                                        200, "lines#0", .until = true);
    static const struct step one = RENAMES("1");
    BED(bed, "retention_policy: {audit_retention_days: -1, log_retention_days: 1}\n");
    struct agent agent = {0};
    struct share share;

    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_log(&share, "old");
    share_exit(&share, "CLEAN", 0);
    await_trial(bed, share.trial, "COMPLETED");
    rename_user(bed, "First");
    pass_days(bed, 4000);
    (void)bed_step(bed, &gone);
    (void)bed_step(bed, &one);
}

TEST(by_default_entries_are_kept_for_a_year)
{
    static const struct step one = RENAMES("1");
    BED(bed, NULL);

    rename_user(bed, "First");
    pass_days(bed, 2);
    rename_user(bed, "Second");
    pass_days(bed, 364); /* the first is 366 days old, the second 364 */
    (void)bed_step(bed, &one);
}

TEST(with_zero_days_the_next_cleaning_empties_it)
{
    static const struct step none = RENAMES("0");
    BED(bed, "retention_policy: {audit_retention_days: 0}\n");

    rename_user(bed, "First");
    pass_days(bed, 0);
    (void)bed_step(bed, &none);
}
