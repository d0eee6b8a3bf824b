/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/allowance.h"

#include "tests/support/test.h"

TEST(a_group_leaves_room_for_others)
{
    struct allowance a = {.most = 100, .group_most = 70};

    CHECK(allowance_take(&a, 1, 70));
    CHECK(!allowance_take(&a, 1, 1));
    CHECK(!allowance_take(&a, 1 + ALLOWANCE_GROUPS, 1)); /* the same group */
    CHECK(allowance_take(&a, 2, 30));
    CHECK(!allowance_take(&a, 3, 1));
    allowance_give(&a, 1, 70);
    CHECK(allowance_take(&a, 3, 70));
    CHECK(!allowance_take(&a, 1, 1)); /* what failed has taken nothing: */
    allowance_give(&a, 2, 30);
    CHECK(allowance_take(&a, 1, 30));
}

TEST(more_than_all_is_never_given_and_without_a_bound_everything_is)
{
    struct allowance a = {.most = 100, .group_most = 70};
    struct allowance none = {0};

    CHECK(!allowance_take(&a, 1, SIZE_MAX));
    CHECK(!allowance_take(&a, 1, 71));
    CHECK(allowance_take(&none, 1, SIZE_MAX));
    allowance_give(&none, 1, SIZE_MAX);
}
