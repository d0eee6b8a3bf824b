/* SPDX-License-Identifier: Apache-2.0 */
/* test_webui_files.c - the WebUI's files: packing, lookup and cache headers. */
#include "master/request/webui_files.h"

#include <string.h>

#include "base/compiler.h"
#include "tests/support/test.h"

static const struct webui_file few[] = {
    {"a.js", "text/javascript", {"a", 1}, {"", 0}},
    {"index.html", "text/html", {"i", 1}, {"", 0}},
    {"pages/x.js", "text/javascript", {"x", 1}, {"", 0}},
};
static const struct webui_files files = {"0123456789ab", "W/\"0123456789ab\"", few,
                                         ARRAY_LEN(few)};

TEST(a_file_is_found_only_by_its_whole_path)
{
    static const char *const none[] = {"",      "a",       "a.jsx",        "/a.js",
                                       "pages", "pages/",  "pages//x.js",  "z",
                                       ".",     "../a.js", "pages/../a.js"};

    for (size_t i = 0; i < ARRAY_LEN(few); i++)
        CHECK(webui_files_find(&files, few[i].path) == &few[i]);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        CHECK_NULL(webui_files_find(&files, none[i]));
    CHECK_NULL(webui_files_find(&(struct webui_files){"", "", NULL, 0}, "a.js"));
}

TEST(every_packed_file_is_found_and_has_a_type)
{
    CHECK_EQ(strlen(webui_files.hash), 12);
    CHECK_HAS(webui_files.etag, webui_files.hash);
    for (uint32_t i = 0; i < webui_files.count; i++) {
        const struct webui_file *file = &webui_files.file[i];

        CHECK(webui_files_find(&webui_files, file->path) == file);
        CHECK(file->type && strchr(file->type, '/'));
        CHECK(file->gzip.len < file->plain.len || !file->gzip.len);
        if (file->gzip.len)
            CHECK(!memcmp(file->gzip.at, "\x1f\x8b", 2));
        CHECK_EQ(file->plain.at[file->plain.len], 0); /* nothing was cut */
    }
}

TEST(the_page_names_its_files_with_the_hash)
{
    const struct webui_file *page = webui_files_find(&webui_files, "index.html");
    char address[64];

    CHECK(page != NULL);
    snprintf(address, sizeof(address), "src=\"/det/web/%s/app.js\"", webui_files.hash);
    CHECK_HAS(page->plain.at, address);
    snprintf(address, sizeof(address), "href=\"/det/web/%s/style.css\"",
             webui_files.hash);
    CHECK_HAS(page->plain.at, address);
    CHECK_NULL(strstr(page->plain.at, "<style"));
    CHECK_NULL(strstr(page->plain.at, "style="));
    CHECK_NULL(strstr(page->plain.at, "<script>"));
}

TEST(a_page_is_found_by_the_parts_of_its_address)
{
    static const struct webui_route route[] = {
        {"", "home"}, {"a", "a"}, {"a/:id/tab", "tab"}, {"a/:id/:tab", "any"}};
    static const struct webui_files pages = {.route = route,
                                             .routes = ARRAY_LEN(route)};
    static const struct {
        const char *path;
        const char *link; /* NULL: no page */
    } cases[] = {
        {"", "home"},       {"/", "home"},    {"a", "a"},          {"a/", "a"},
        {"a/1/tab", "tab"}, {"a/1/x", "any"}, {"a//%2e/x", "any"}, {"a/1/tabs/", "any"},
        {"b", NULL},        {"ab", NULL},     {"a/1", NULL},       {"a/1/tab/2", NULL},
        {"x/a", NULL},      {"%", NULL},      {".", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct webui_route *found = webui_files_route(&pages, cases[i].path);

        if (cases[i].link)
            CHECK_STR(found ? found->link : NULL, cases[i].link);
        else
            CHECK_NULL(found);
    }
}

/* The routes that tools/embed-webui reads from app.js. */
TEST(pages_name_their_modules_and_all_of_them_are_packed)
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
    const struct webui_route *charts =
        webui_files_route(&webui_files, "experiments/1/metrics");

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        CHECK(webui_files_route(&webui_files, known[i]) != NULL);
    CHECK_NULL(webui_files_route(&webui_files, "nothing"));
    CHECK(charts != NULL);
    CHECK_HAS(charts->link, "/pages/trial_metrics.js>; rel=modulepreload");
    CHECK_HAS(charts->link, "/vendor/uplot.js>; rel=modulepreload");
    CHECK_NULL(strstr(charts->link, "/dom.js")); /* the page itself names it */
    for (uint32_t i = 0; i < webui_files.routes; i++)
        for (const char *at = webui_files.route[i].link; (at = strchr(at, '<')); at++) {
            const char *name = at + strlen("</det/web/") + strlen(webui_files.hash) + 1;
            char path[64];

            snprintf(path, sizeof(path), "%.*s", (int)strcspn(name, ">"), name);
            if (!webui_files_find(&webui_files, path))
                fail_msg("%s of %s is not packed", path, webui_files.route[i].pattern);
        }
}

TEST(gzip_is_sent_only_to_clients_that_accept_it)
{
    static const char *const yes[] = {
        "gzip",      "GZIP",         "deflate, gzip;q=1.0, *;q=0.5",
        "br , gzip", "gzip;q=0.001", "x-gzip",
        "gzip ; q=1"};
    static const char *const no[] = {NULL,          "",         "identity",
                                     "br, deflate", "gzip;q=0", "gzip;q=0.0",
                                     "gzipped",     ",, ,",     "gzip; q=0.000, br"};

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        CHECK(webui_files_takes_gzip(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!webui_files_takes_gzip(no[i]));
}

TEST(a_browser_that_has_the_bytes_is_recognized)
{
    static const char *const yes[] = {"W/\"x\"", "\"x\"", "\"a\", W/\"x\"", "*",
                                      "  \"x\"  "};
    static const char *const no[] = {NULL,     "",   "\"\"", "x",
                                     "\"xy\"", "W/", ",",    "\"a\",\"b\""};

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        CHECK(webui_files_has_tag(yes[i], "W/\"x\""));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        CHECK(!webui_files_has_tag(no[i], "W/\"x\""));
}
