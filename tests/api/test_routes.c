/* SPDX-License-Identifier: Apache-2.0 */
/* Last: whether the scenarios before have called everything there is. */
#include "tests/api/harness.h"
#include "wire/route.h"

TEST(every_route_was_called)
{
    int missing = 0;

    for (int i = 0; i < ROUTE_COUNT; i++)
        if (!bed_was_called(i)) {
            print_error("no scenario calls %s %s\n",
                        route_method_names[routes[i].method], routes[i].path);
            missing++;
        }
    CHECK_EQ(missing, 0);
}
