/* SPDX-License-Identifier: Apache-2.0 */
/* The WebUI's page and files, and its session cookie. */
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "master/request/webui_files.h"
#include "tests/api/harness.h"

static struct reply get(struct bed *bed, const char *path, const char *header)
{
    const char *headers[] = {header, NULL};

    return bed_call_with(bed, headers, NET_GET, path, NULL);
}

static const char *file_path(struct bed *bed, const char *hash, const char *name)
{
    return arena_printf(&bed->mem, "/det/web/%s/%s", hash, name);
}

/* ROUTE_ID_get_webui */
TEST(the_address_of_the_master_leads_to_the_page)
{
    BED(bed, NULL);
    struct reply reply = get(bed, "/", NULL);

    CHECK_EQ(reply.status, 302);
    CHECK_STR(bed_header(bed, &reply, "Location"), "/det/");
    reply = get(bed, "/det/", NULL);
    CHECK_EQ(reply.status, 200);
    CHECK_HAS(reply.text, "<!doctype html>");
    CHECK_HAS(reply.text, file_path(bed, webui_files.hash, "app.js"));
    CHECK_EQ(get(bed, "/det", NULL).status, 200);
}

TEST(each_address_of_a_view_is_the_same_page_and_an_unknown_one_says_so)
{
    static const char *const known[] = {"/det/experiments?search=x",
                                        "/det/experiments/3/trials",
                                        "/det/login",
                                        "/det/trials/1/logs",
                                        "/det/trials/1/overview",
                                        "/det/tasks/x/overview"};
    static const char *const unknown[] = {
        "/det/nothing",          "/det/web",
        "/det/..%2Fx",           "/det/experiments/3/nothing",
        "/det/trials/1/nothing", "/det/tasks/x/nothing"};
    BED(bed, NULL);
    const char *page = get(bed, "/det/", NULL).text;
    struct reply reply;

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        reply = get(bed, known[i], NULL);
        CHECK_EQ(reply.status, 200);
        CHECK_STR(reply.text, page);
    }
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        reply = get(bed, unknown[i], NULL);
        CHECK_EQ(reply.status, 404);
        CHECK_STR(reply.text, page);
    }
}

/* People leave "/det" out; programs are told. */
TEST(what_nothing_has_is_a_page_for_browsers)
{
    const char *browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
    BED(bed, NULL);
    struct reply reply = get(bed, "/experiments/3?tab=x", browser);

    CHECK_EQ(reply.status, 302);
    CHECK_STR(bed_header(bed, &reply, "Location"), "/det/experiments/3?tab=x");
    reply = get(bed, "//elsewhere.example/x", browser);
    CHECK_EQ(reply.status, 302);
    CHECK_STR(bed_header(bed, &reply, "Location"), "/det//elsewhere.example/x");
    reply = get(bed, "/experiments/3", NULL);
    CHECK_EQ(reply.status, 404);
    CHECK_HAS(reply.text, "there is nothing at '/experiments/3'");
    CHECK_EQ(get(bed, "/api/v1/nothing", browser).status, 404);
}

TEST(the_page_may_do_only_what_it_has_to)
{
    BED(bed, NULL);
    struct reply reply = get(bed, "/det/", NULL);
    const char *policy = bed_header(bed, &reply, "Content-Security-Policy");

    CHECK(policy != NULL);
    CHECK_HAS(policy, "default-src 'none'");
    CHECK_HAS(policy, "script-src 'self';");
    CHECK_HAS(policy, "style-src 'self';");
    CHECK_HAS(policy, "frame-ancestors 'none'");
    CHECK_NULL(strstr(policy, "unsafe"));
    CHECK_STR(bed_header(bed, &reply, "X-Content-Type-Options"), "nosniff");
    CHECK_STR(bed_header(bed, &reply, "X-Frame-Options"), "DENY");
    CHECK_STR(bed_header(bed, &reply, "Referrer-Policy"), "same-origin");
    CHECK_STR(bed_header(bed, &reply, "Cache-Control"), "no-cache");
    CHECK_STR(bed_header(bed, &reply, "Content-Type"), "text/html; charset=utf-8");
}

/* ROUTE_ID_get_webui_file */
TEST(every_file_arrives_as_it_was_packed_and_may_be_kept)
{
    BED(bed, NULL);

    for (uint32_t i = 0; i < webui_files.count; i++) {
        const struct webui_file *file = &webui_files.file[i];
        const char *path = file_path(bed, webui_files.hash, file->path);
        struct reply reply = get(bed, path, NULL);

        CHECK_EQ(reply.status, 200);
        CHECK_EQ(reply.len, file->plain.len);
        CHECK(!memcmp(reply.text, file->plain.at, file->plain.len));
        CHECK_STR(bed_header(bed, &reply, "Content-Type"), file->type);
        CHECK_STR(bed_header(bed, &reply, "Cache-Control"),
                  "public, max-age=31536000, immutable");
        CHECK_STR(bed_header(bed, &reply, "Vary"), "Accept-Encoding");
        CHECK_NULL(bed_header(bed, &reply, "Content-Encoding"));
    }
}

TEST(whoever_takes_gzip_gets_what_was_compressed_when_it_was_built)
{
    const struct webui_file *file = webui_files_find(&webui_files, "app.js");
    BED(bed, NULL);
    const char *path = file_path(bed, webui_files.hash, "app.js");
    struct reply reply = get(bed, path, "Accept-Encoding: gzip, deflate, br");

    CHECK(file && file->gzip.len > 0);
    CHECK_EQ(reply.status, 200);
    CHECK_STR(bed_header(bed, &reply, "Content-Encoding"), "gzip");
    CHECK_EQ(reply.len, file->gzip.len);
    CHECK(!memcmp(reply.text, file->gzip.at, reply.len));
    reply = get(bed, path, "Accept-Encoding: gzip;q=0");
    CHECK_NULL(bed_header(bed, &reply, "Content-Encoding"));
    CHECK_EQ(reply.len, file->plain.len);
}

TEST(a_browser_that_has_the_page_is_told_so_without_it)
{
    BED(bed, NULL);
    struct reply reply = get(bed, "/det/", NULL);
    const char *tag = bed_header(bed, &reply, "ETag");
    const char *condition = arena_printf(&bed->mem, "If-None-Match: %s", tag);

    CHECK(tag != NULL);
    reply = get(bed, "/det/", condition);
    CHECK_EQ(reply.status, 304);
    CHECK_EQ(reply.len, 0);
    CHECK_STR(bed_header(bed, &reply, "ETag"), tag);
    CHECK_EQ(get(bed, "/det/", "If-None-Match: \"old\"").status, 200);
}

TEST(head_tells_the_same_without_the_bytes)
{
    BED(bed, NULL);
    const char *path = file_path(bed, webui_files.hash, "app.js");
    struct reply full = get(bed, path, NULL);
    struct reply head = bed_call_with(bed, NULL, NET_HEAD, path, NULL);

    CHECK_EQ(head.status, 200);
    CHECK_EQ(head.len, 0);
    CHECK_STR(bed_header(bed, &head, "Content-Length"),
              bed_header(bed, &full, "Content-Length"));
    CHECK_STR(bed_header(bed, &head, "Content-Type"),
              bed_header(bed, &full, "Content-Type"));
    CHECK_EQ(bed_call_with(bed, NULL, NET_HEAD, "/det/", NULL).status, 200);
    CHECK_EQ(bed_call_with(bed, NULL, NET_POST, "/det/", NULL).status, 501);
}

TEST(a_file_of_another_program_is_not_kept_as_missing)
{
    static const char *const names[] = {"app.js", "pages/../app.js", "..%2Fapp.js",
                                        "",       "nothing.js",      "pages"};
    BED(bed, NULL);

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *hash = i ? webui_files.hash : "000000000000";
        struct reply reply = get(bed, file_path(bed, hash, names[i]), NULL);

        CHECK_EQ(reply.status, 404);
        CHECK_STR(bed_header(bed, &reply, "Cache-Control"), "no-store");
        CHECK_HAS(reply.text, "load the page again");
    }
}

/* ---- the session of a browser ---------------------------------------------------- */

static struct reply login(struct bed *bed, const char *password, const char *header)
{
    const char *headers[] = {header, NULL};
    const char *body = arena_printf(
        &bed->mem, "{\"username\":\"determined\",\"password\":\"%s\"}", password);

    return bed_call_with(bed, headers, NET_POST, "/api/v1/auth/login", body);
}

/* "Cookie: auth=TOKEN", as a browser sends back what it was given. */
static const char *cookie_of(struct bed *bed, const struct reply *reply)
{
    const char *set = bed_header(bed, reply, "Set-Cookie");

    CHECK(set != NULL);
    return arena_printf(&bed->mem, "Cookie: %.*s", (int)strcspn(set, ";"), set);
}

TEST(signing_in_sets_a_cookie_that_scripts_cannot_read_and_signing_out_clears_it)
{
    BED(bed, NULL);
    struct reply reply = login(bed, "", NULL);
    const char *set = bed_header(bed, &reply, "Set-Cookie");
    const char *cookie = cookie_of(bed, &reply);
    const char *headers[] = {cookie, NULL};

    CHECK_EQ(reply.status, 200);
    CHECK_HAS(set, json_str(json_get(reply.json, "token"), "?"));
    CHECK_HAS(set, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800");
    CHECK_EQ(get(bed, "/api/v1/me", cookie).status, 200);

    reply = bed_call_with(bed, headers, NET_POST, "/api/v1/auth/logout", "{}");
    CHECK_EQ(reply.status, 200);
    CHECK_STR(reply.text, "{}");
    CHECK_HAS(bed_header(bed, &reply, "Set-Cookie"), "=; Path=/;");
    CHECK_HAS(bed_header(bed, &reply, "Set-Cookie"), "Max-Age=0");
    CHECK_EQ(get(bed, "/api/v1/me", cookie).status, 401);
}

/* Cookies know no ports: a browser that is signed in at two masters of one host sends
 * both to each. */
TEST(masters_of_one_host_do_not_sign_people_out_of_each_other)
{
    BED(one, NULL);
    BED(two, NULL);
    struct reply first = login(one, "", NULL);
    struct reply second = login(two, "", NULL);
    const char *cookies =
        arena_printf(&one->mem, "%s; %s; auth=nonsense", cookie_of(one, &first),
                     cookie_of(two, &second) + strlen("Cookie: "));

    CHECK_HAS(cookie_of(one, &first), "Cookie: auth_");
    CHECK(strncmp(cookie_of(one, &first), cookie_of(two, &second), 21) != 0);
    CHECK_EQ(get(one, "/api/v1/me", cookies).status, 200);
    CHECK_EQ(get(two, "/api/v1/me", cookies).status, 200);
}

TEST(a_wrong_password_sets_no_cookie)
{
    BED(bed, NULL);
    struct reply reply = login(bed, "wrong", NULL);

    CHECK_EQ(reply.status, 401);
    CHECK_NULL(bed_header(bed, &reply, "Set-Cookie"));
}

TEST(a_page_of_another_site_can_do_nothing_with_the_cookie)
{
    BED(bed, NULL);
    struct reply reply = login(bed, "", NULL);
    const char *cookie = cookie_of(bed, &reply);
    static const char *const origins[] = {"http://evil.example", "null",
                                          "http://127.0.0.1:1", "http://localhost",
                                          "https://127.0.0.1"};

    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        const char *origin = arena_printf(&bed->mem, "Origin: %s", origins[i]);
        const char *headers[] = {cookie, origin, NULL};

        CHECK_EQ(bed_call_with(bed, headers, NET_GET, "/api/v1/me", NULL).status, 403);
        CHECK_EQ(bed_call_with(bed, headers, NET_POST, "/api/v1/experiments",
                               "{\"config\": \"\"}")
                     .status,
                 403);
        CHECK_EQ(login(bed, "", origin).status, 403);
    }
}

/* enable_cors: such a page may call the API, with a token of its own. */
TEST(a_page_of_another_site_may_call_with_its_own_token_where_that_is_enabled)
{
    static const char origin[] = "Origin: http://lab.example";
    BED(bed, "enable_cors: true\n");
    const char *token = arena_printf(&bed->mem, "Authorization: Bearer %s", bed->admin);
    const char *with_token[] = {token, origin, NULL};
    const char *question[] = {origin, "Access-Control-Request-Method: PATCH", NULL};
    struct reply reply = login(bed, "", NULL);
    const char *with_cookie[] = {cookie_of(bed, &reply), origin, NULL};

    reply = bed_call_with(bed, question, NET_OPTIONS, "/api/v1/experiments/1", NULL);
    CHECK_EQ(reply.status, 204);
    CHECK_STR(bed_header(bed, &reply, "Access-Control-Allow-Origin"), "*");
    CHECK_HAS(bed_header(bed, &reply, "Access-Control-Allow-Methods"), "PATCH");
    CHECK_HAS(bed_header(bed, &reply, "Access-Control-Allow-Headers"), "Authorization");
    reply = bed_call_with(bed, with_token, NET_GET, "/api/v1/me", NULL);
    CHECK_EQ(reply.status, 200);
    CHECK_STR(bed_header(bed, &reply, "Access-Control-Allow-Origin"), "*");

    CHECK_EQ(bed_call_with(bed, with_cookie, NET_GET, "/api/v1/me", NULL).status, 401);
    CHECK_EQ(bed_call_with(bed, with_token, NET_GET, "/proxy/x/", NULL).status, 403);
}

TEST(other_pages_are_not_asked_in_unless_that_is_enabled)
{
    BED(bed, NULL);
    const char *question[] = {"Origin: http://lab.example",
                              "Access-Control-Request-Method: PATCH", NULL};
    struct reply reply =
        bed_call_with(bed, question, NET_OPTIONS, "/api/v1/experiments/1", NULL);

    CHECK_EQ(reply.status, 403);
    CHECK_NULL(bed_header(bed, &reply, "Access-Control-Allow-Origin"));
}

/* Requests without an Origin: images, scripts, frames that another port of this machine
 * has in its pages. */
TEST(a_browser_that_calls_for_somebody_elses_page_is_nobody)
{
    static const struct {
        const char *site, *mode;
        int status;
    } cases[] = {
        {"same-origin", "cors", 200},     {"none", "navigate", 200},
        {"same-site", "no-cors", 401},    {"cross-site", "no-cors", 401},
        {"cross-site", "websocket", 401}, {"same-site", "cors", 401},
        {"cross-site", "navigate", 200}, /* a link; SameSite leaves its cookie out */
    };
    BED(bed, NULL);
    struct reply reply = login(bed, "", NULL);
    const char *cookie = cookie_of(bed, &reply);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *headers[] = {
            cookie, arena_printf(&bed->mem, "Sec-Fetch-Site: %s", cases[i].site),
            arena_printf(&bed->mem, "Sec-Fetch-Mode: %s", cases[i].mode), NULL};

        CHECK_EQ(bed_call_with(bed, headers, NET_GET, "/api/v1/me", NULL).status,
                 cases[i].status);
    }
}

TEST(a_token_in_a_header_counts_before_the_cookie)
{
    BED(bed, NULL);
    struct reply reply = login(bed, "", NULL);
    const char *headers[] = {
        cookie_of(bed, &reply),
        arena_printf(&bed->mem, "Authorization: Bearer %s", bed->admin), NULL};

    reply = bed_call_with(bed, headers, NET_GET, "/api/v1/me", NULL);
    CHECK_STR(json_str(json_at(reply.json, "user.username"), ""), "admin");
}
