/* SPDX-License-Identifier: Apache-2.0 */
/* test_route_page.c - the page at /docs/calls says what the table says. */
#include <string.h>

#include "base/memory/buf.h"
#include "tests/support/test.h"
#include "wire/route.h"
#include "wire/route_page.h"

TEST(every_call_is_on_the_page_once)
{
    CLEANUP(buf_done) struct buf page = BUF_INIT;
    size_t calls = 0;

    route_page_write(&page);
    CHECK_OK(page.status);
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        char line[256];

        snprintf(line, sizeof(line), ">%s</b><code>%s</code>",
                 route_method_names[routes[i].method], routes[i].path);
        CHECK_HAS(page.data, line);
    }
    for (const char *at = strstr(page.data, "<details>"); at;
         at = strstr(at + 1, "<details>"))
        calls++;
    CHECK_EQ(calls, ROUTE_COUNT);
}

TEST(the_page_is_light_or_dark_and_runs_nothing)
{
    CLEANUP(buf_done) struct buf page = BUF_INIT;

    route_page_write(&page);
    CHECK_HAS(page.data, "prefers-color-scheme:dark");
    CHECK_HAS(page.data, "content='light dark'");
    CHECK_NULL(strstr(page.data, "<script"));
    CHECK_NULL(strstr(page.data, "(null)"));
}
