/* SPDX-License-Identifier: Apache-2.0 */
/* test_route.c - which row answers which path. */
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"
#include "wire/route.h"
#include "wire/route_openapi.h"

enum { MEMORY = 1 << 16 };

static struct route_match find(const char *path, struct arena *mem)
{
    struct route_match match;

    CHECK_OK(route_find(ROUTE_GET, path, mem, &match, &test_err));
    return match;
}

TEST(a_literal_part_wins_over_a_name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY);
    struct route_match match = find("/api/v1/trials/time-series", &mem);

    CHECK_EQ(match.route->id, ROUTE_ID_trial_series);
    match = find("/api/v1/trials/7", &mem);
    CHECK_EQ(match.route->id, ROUTE_ID_get_trial);
    CHECK_STR(match.arg[0], "7");
}

TEST(the_rest_of_a_path_is_one_argument_with_its_slashes)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY);
    static const char *const cases[][2] = {
        {"/det", ""},
        {"/det/", ""},
        {"/det/experiments", "experiments"},
        {"/det/experiments/1/trials/2", "experiments/1/trials/2"},
        {"/det/a%20b/c%2Fd/", "a b/c/d/"},
        {"/det//x", "/x"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct route_match match = find(cases[i][0], &mem);

        CHECK_EQ(match.route->id, ROUTE_ID_get_webui);
        CHECK_STR(match.arg[0], cases[i][1]);
    }
}

TEST(of_two_that_take_the_rest_the_longer_one_wins)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY);
    struct route_match match = find("/det/web/0123/pages/a.js", &mem);

    CHECK_EQ(match.route->id, ROUTE_ID_get_webui_file);
    CHECK_STR(match.arg[0], "0123");
    CHECK_STR(match.arg[1], "pages/a.js");
    match = find("/det/web/0123", &mem);
    CHECK_EQ(match.route->id, ROUTE_ID_get_webui_file);
    CHECK_STR(match.arg[1], "");
    CHECK_EQ(find("/det/web", &mem).route->id, ROUTE_ID_get_webui);
    CHECK_EQ(find("/det/website/1", &mem).route->id, ROUTE_ID_get_webui);
}

TEST(what_begins_alike_is_another_path)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(MEMORY);
    struct route_match match;
    struct err err;

    CHECK_EQ(route_find(ROUTE_GET, "/details", &mem, &match, &err), DET_NOT_FOUND);
    CHECK_EQ(route_find(ROUTE_GET, "/de", &mem, &match, &err), DET_NOT_FOUND);
    CHECK_EQ(route_find(ROUTE_POST, "/det/x", &mem, &match, &err), DET_UNSUPPORTED);
    CHECK_HAS(err.text, "does not take POST");
}

TEST(no_row_has_more_variable_parts_than_fit_and_only_the_last_takes_the_rest)
{
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        const char *rest = strstr(routes[i].path, "...");
        int names = 0;

        for (const char *at = routes[i].path; (at = strchr(at, '{')); at++)
            names++;
        CHECK(names <= ROUTE_ARGS);
        CHECK(!rest || !strcmp(rest, "...}"));
    }
}

TEST(openapi_has_plain_names_for_the_rest_of_a_path)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    route_openapi_write(&out);
    CHECK_OK(out.status);
    CHECK_HAS(out.data, "\"/det/web/{hash}/{path}\"");
    CHECK_NULL(strstr(out.data, "...}"));
}
