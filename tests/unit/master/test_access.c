/* SPDX-License-Identifier: Apache-2.0 */
/* test_access.c - a call whose handler forgot to check its objects is refused. */
#include "master/request/access.h"

#include "master/request/request.h"
#include "tests/support/test.h"

TEST(a_call_that_nobody_checked_is_refused)
{
    struct err err = {0};
    struct request req = {.route = &routes[ROUTE_ID_delete_checkpoints],
                          .caller = {.kind = CALLER_USER, .user_id = 7},
                          .err = &err};

    /* The row names objects in its body: being let in is not yet a permission. */
    CHECK_OK(access_check_call(&req));
    CHECK_EQ(access_assert_checked(&req), DET_FORBIDDEN);
    CHECK_HAS(err.text, "not checked for permissions");
    access_names_nothing(&req);
    CHECK_OK(access_assert_checked(&req));
}

TEST(a_list_that_was_not_limited_is_refused)
{
    struct err err = {0};
    struct scope scope;
    struct request req = {.route = &routes[ROUTE_ID_list_experiments],
                          .caller = {.kind = CALLER_USER, .user_id = 7},
                          .err = &err};

    CHECK_OK(access_check_call(&req));
    CHECK_EQ(access_assert_checked(&req), DET_FORBIDDEN);
    CHECK_OK(access_scope(&req, &scope));
    CHECK_OK(access_assert_checked(&req));
}
