/* SPDX-License-Identifier: Apache-2.0 */
/* Runs after the other programs of the suite: have they called every route? */
#include <stdlib.h>
#include <string.h>

#include "tests/api/coverage.h"
#include "tests/support/test.h"
#include "wire/route.h"

TEST(every_route_was_called)
{
    bool called[ROUTE_COUNT] = {false};
    const char *programs = getenv("API_PROGRAMS");
    char name[64], why[128];
    int missing = 0;

    UNLESS(programs && *programs, "run it by meson: API_PROGRAMS names the programs");
    for (const char *at = programs; *at; at += strcspn(at, " "), at += *at == ' ') {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " "), at);
        snprintf(why, sizeof(why), "api/%s has not run since it was built", name);
        UNLESS(coverage_read(name, called), why);
    }
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (!called[i]) {
            print_error("no scenario calls %s %s\n",
                        route_method_names[routes[i].method], routes[i].path);
            missing++;
        }
    CHECK_EQ(missing, 0);
}
