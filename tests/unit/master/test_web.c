/* SPDX-License-Identifier: Apache-2.0 */
/* test_web.c - the WebUI's files: what is packed, what is found, what a browser is
 * told.
 */
#include "master/web.h"

#include <string.h>

#include "base/compiler.h"
#include "tests/support/test.h"

static const struct web_file few[] = {
    {"a.js", "text/javascript", {"a", 1}, {"", 0}},
    {"index.html", "text/html", {"i", 1}, {"", 0}},
    {"pages/x.js", "text/javascript", {"x", 1}, {"", 0}},
};
static const struct web_files files = {"0123456789ab", "W/\"0123456789ab\"", few,
                                       ARRAY_LEN(few)};

TEST(a_file_is_found_by_its_whole_path_only)
{
    static const char *const none[] = {"",      "a",       "a.jsx",        "/a.js",
                                       "pages", "pages/",  "pages//x.js",  "z",
                                       ".",     "../a.js", "pages/../a.js"};

    for (size_t i = 0; i < ARRAY_LEN(few); i++)
        CHECK(web_find(&files, few[i].path) == &few[i]);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        CHECK_NULL(web_find(&files, none[i]));
    CHECK_NULL(web_find(&(struct web_files){"", "", NULL, 0}, "a.js"));
}

TEST(what_is_packed_can_be_found_and_has_its_type)
{
    CHECK_EQ(strlen(web_files.hash), 12);
    CHECK_HAS(web_files.etag, web_files.hash);
    for (uint32_t i = 0; i < web_files.count; i++) {
        const struct web_file *file = &web_files.file[i];

        CHECK(web_find(&web_files, file->path) == file);
        CHECK(file->type && strchr(file->type, '/'));
        CHECK(file->gzip.len < file->plain.len || !file->gzip.len);
        if (file->gzip.len)
            CHECK(!memcmp(file->gzip.at, "\x1f\x8b", 2));
        CHECK_EQ(file->plain.at[file->plain.len], 0); /* nothing was cut */
    }
}

TEST(the_page_names_its_files_with_the_hash)
{
    const struct web_file *page = web_find(&web_files, "index.html");
    char address[64];

    CHECK(page != NULL);
    snprintf(address, sizeof(address), "src=\"/det/web/%s/app.js\"", web_files.hash);
    CHECK_HAS(page->plain.at, address);
    snprintf(address, sizeof(address), "href=\"/det/web/%s/style.css\"",
             web_files.hash);
    CHECK_HAS(page->plain.at, address);
    CHECK_NULL(strstr(page->plain.at, "<style"));
    CHECK_NULL(strstr(page->plain.at, "style="));
    CHECK_NULL(strstr(page->plain.at, "<script>"));
}

TEST(a_page_is_found_by_the_parts_of_its_address)
{
    static const struct web_route route[] = {
        {"", "home"}, {"a", "a"}, {"a/:id/tab", "tab"}, {"a/:id/:tab", "any"}};
    static const struct web_files pages = {.route = route, .routes = ARRAY_LEN(route)};
    static const struct {
        const char *path;
        const char *link; /* NULL: there is none */
    } cases[] = {
        {"", "home"},       {"/", "home"},    {"a", "a"},          {"a/", "a"},
        {"a/1/tab", "tab"}, {"a/1/x", "any"}, {"a//%2e/x", "any"}, {"a/1/tabs/", "any"},
        {"b", NULL},        {"ab", NULL},     {"a/1", NULL},       {"a/1/tab/2", NULL},
        {"x/a", NULL},      {"%", NULL},      {".", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct web_route *found = web_route(&pages, cases[i].path);

        if (cases[i].link)
            CHECK_STR(found ? found->link : NULL, cases[i].link);
        else
            CHECK_NULL(found);
    }
}

/* What tools/embed-webui reads out of app.js. */
TEST(pages_name_the_modules_that_they_need_and_all_of_them_are_packed)
{
    static const char *const known[] = {"",
                                        "experiments",
                                        "experiments/1",
                                        "experiments/1/notes",
                                        "experiments/1/trials/2/logs",
                                        "trials/2",
                                        "tasks",
                                        "tasks/x/logs",
                                        "login",
                                        "settings"};
    const struct web_route *charts = web_route(&web_files, "experiments/1/metrics");

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        CHECK(web_route(&web_files, known[i]) != NULL);
    CHECK_NULL(web_route(&web_files, "nothing"));
    CHECK(charts != NULL);
    CHECK_HAS(charts->link, "/pages/trial_metrics.js>; rel=modulepreload");
    CHECK_HAS(charts->link, "/vendor/uplot.js>; rel=modulepreload");
    CHECK_NULL(strstr(charts->link, "/dom.js")); /* the page itself names it */
    for (uint32_t i = 0; i < web_files.routes; i++)
        for (const char *at = web_files.route[i].link; (at = strchr(at, '<')); at++) {
            const char *name = at + strlen("</det/web/") + strlen(web_files.hash) + 1;
            char path[64];

            snprintf(path, sizeof(path), "%.*s", (int)strcspn(name, ">"), name);
            if (!web_find(&web_files, path))
                fail_msg("%s of %s is not packed", path, web_files.route[i].pattern);
        }
}

TEST(gzip_is_sent_to_whoever_takes_it)
{
    static const char *const yes[] = {
        "gzip",      "GZIP",         "deflate, gzip;q=1.0, *;q=0.5",
        "br , gzip", "gzip;q=0.001", "x-gzip",
        "gzip ; q=1"};
    static const char *const no[] = {NULL,          "",         "identity",
                                     "br, deflate", "gzip;q=0", "gzip;q=0.0",
                                     "gzipped",     ",, ,",     "gzip; q=0.000, br"};

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        CHECK(web_takes_gzip(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!web_takes_gzip(no[i]));
}

TEST(a_browser_that_has_the_bytes_is_recognized)
{
    static const char *const yes[] = {"W/\"x\"", "\"x\"", "\"a\", W/\"x\"", "*",
                                      "  \"x\"  "};
    static const char *const no[] = {NULL,     "",   "\"\"", "x",
                                     "\"xy\"", "W/", ",",    "\"a\",\"b\""};

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        CHECK(web_has_tag(yes[i], "W/\"x\""));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!web_has_tag(no[i], "W/\"x\""));
}
