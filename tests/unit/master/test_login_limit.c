/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/login_limit.h"

#include <stdio.h>

#include "base/compiler.h"
#include "tests/support/test.h"

#define S INT64_C(1000000)

static struct login_limit *limit_new(void)
{
    struct login_limit *limit;

    CHECK_OK(login_limit_new(&limit, &test_err));
    return limit;
}

static struct login_decision try_login(struct login_limit *limit, const char *address,
                                       const char *name, enum login_result result,
                                       int64_t now_us)
{
    struct login_decision decision = login_limit_begin(limit, address, name, now_us);

    if (decision.verdict != LOGIN_REFUSED)
        login_limit_end(limit, address, name, &decision, result, now_us);
    return decision;
}

static void fail_often(struct login_limit *limit, const char *address, const char *name,
                       int count, int64_t now_us)
{
    for (int i = 0; i < count; i++)
        (void)try_login(limit, address, name, LOGIN_WRONG, now_us);
}

TEST(after_some_failures_a_name_waits_longer_each_time)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;
    int64_t before_us = 0;

    for (int i = 0; i < LOGIN_FREE; i++)
        CHECK(try_login(limit, "1.2.3.4", "ann", LOGIN_WRONG, now_us).verdict !=
              LOGIN_REFUSED);
    for (int i = 0; i < 12; i++) {
        struct login_decision decision =
            login_limit_begin(limit, "1.2.3.4", "ann", now_us);

        CHECK_EQ(decision.verdict, LOGIN_REFUSED);
        CHECK(decision.wait_us >= before_us);
        CHECK(decision.wait_us <= LOGIN_WAIT_MOST_S * S);
        before_us = decision.wait_us;
        now_us += decision.wait_us;
        CHECK(try_login(limit, "1.2.3.4", "ann", LOGIN_WRONG, now_us).verdict !=
              LOGIN_REFUSED);
    }
    CHECK_EQ(before_us, LOGIN_WAIT_MOST_S * S);
    login_limit_free(limit);
}

TEST(a_right_login_and_a_quiet_time_forget_the_failures)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;

    fail_often(limit, "1.2.3.4", "ann", LOGIN_FREE - 1, now_us);
    (void)try_login(limit, "1.2.3.4", "ann", LOGIN_RIGHT, now_us);
    fail_often(limit, "1.2.3.4", "ann", LOGIN_FREE - 1, now_us);
    CHECK_EQ(try_login(limit, "1.2.3.4", "ann", LOGIN_WRONG, now_us).verdict,
             LOGIN_QUICK);
    CHECK_EQ(login_limit_begin(limit, "1.2.3.4", "ann", now_us).verdict, LOGIN_REFUSED);
    now_us += LOGIN_QUIET_US + S;
    fail_often(limit, "1.2.3.4", "ann", LOGIN_FREE - 1, now_us);
    CHECK(login_limit_begin(limit, "1.2.3.4", "ann", now_us).verdict != LOGIN_REFUSED);
    login_limit_free(limit);
}

TEST(failures_of_one_user_lock_out_nobody_else)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;

    (void)try_login(limit, "1.2.3.4", "bob", LOGIN_RIGHT, now_us);
    fail_often(limit, "1.2.3.4", "ann", 1000, now_us);
    /* the same address: one who was there before, and one who was not */
    CHECK_EQ(try_login(limit, "1.2.3.4", "bob", LOGIN_RIGHT, now_us).verdict,
             LOGIN_QUICK);
    CHECK(try_login(limit, "1.2.3.4", "cat", LOGIN_RIGHT, now_us).verdict !=
          LOGIN_REFUSED);
    /* the same name elsewhere */
    CHECK_EQ(try_login(limit, "5.6.7.8", "ann", LOGIN_RIGHT, now_us).verdict,
             LOGIN_QUICK);
    login_limit_free(limit);
}

TEST(guesses_with_many_names_are_slow_and_do_not_disturb_others)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;
    char name[32];

    (void)try_login(limit, "1.2.3.4", "bob", LOGIN_RIGHT, now_us);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "user%d", i);
        CHECK_EQ(try_login(limit, "1.2.3.4", name, LOGIN_WRONG, now_us).verdict,
                 i < LOGIN_DOUBTFUL ? LOGIN_QUICK : LOGIN_SLOW);
    }
    CHECK_EQ(login_limit_begin(limit, "5.6.7.8", "ann", now_us).verdict, LOGIN_QUICK);
    /* a minute later the address is trusted again */
    now_us += 61 * S;
    CHECK_EQ(login_limit_begin(limit, "1.2.3.4", "new", now_us).verdict, LOGIN_QUICK);
    login_limit_free(limit);
}

TEST(a_flood_of_names_does_not_wash_out_a_count)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;
    char name[32];

    fail_often(limit, "1.2.3.4", "ann", LOGIN_FREE, now_us);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof(name), "user%d", i);
        (void)try_login(limit, "1.2.3.4", name, LOGIN_WRONG, now_us);
    }
    CHECK_EQ(login_limit_begin(limit, "1.2.3.4", "ann", now_us).verdict, LOGIN_REFUSED);
    login_limit_free(limit);
}

TEST(guesses_at_once_are_no_more_than_guesses_in_turn)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;
    int allowed = 0;

    fail_often(limit, "1.2.3.4", "ann", 1, now_us);
    for (int i = 0; i < 100; i++)
        allowed +=
            login_limit_begin(limit, "1.2.3.4", "ann", now_us).verdict != LOGIN_REFUSED;
    CHECK(allowed <= LOGIN_FREE);
    allowed = 0;
    for (int i = 0; i < 100; i++)
        allowed +=
            login_limit_begin(limit, "1.2.3.4", "bob", now_us).verdict != LOGIN_REFUSED;
    CHECK_EQ(allowed, LOGIN_PENDING);
    login_limit_free(limit);
}

TEST(the_lane_of_doubtful_addresses_has_a_limit)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;
    struct login_decision last = {0};
    char name[32];

    for (int i = 0; i < LOGIN_DOUBTFUL + LOGIN_SLOW_MOST; i++) {
        snprintf(name, sizeof(name), "user%d", i);
        if (i < LOGIN_DOUBTFUL)
            (void)try_login(limit, "1.2.3.4", name, LOGIN_WRONG, now_us);
        else
            last = login_limit_begin(limit, "1.2.3.4", name, now_us);
    }
    CHECK_EQ(last.verdict, LOGIN_SLOW);
    CHECK_EQ(login_limit_begin(limit, "1.2.3.4", "one more", now_us).verdict,
             LOGIN_REFUSED);
    login_limit_end(limit, "1.2.3.4", name, &last, LOGIN_UNKNOWN, now_us);
    CHECK_EQ(login_limit_begin(limit, "1.2.3.4", "one more", now_us).verdict,
             LOGIN_SLOW);
    login_limit_free(limit);
}

TEST(addresses_of_one_customer_count_as_one)
{
    struct login_limit *limit = limit_new();
    int64_t now_us = 1000 * S;

    fail_often(limit, "2001:db8:1:2::1", "ann", LOGIN_FREE, now_us);
    CHECK_EQ(login_limit_begin(limit, "2001:db8:1:2::ffff", "ann", now_us).verdict,
             LOGIN_REFUSED);
    CHECK_EQ(login_limit_begin(limit, "2001:db8:1:3::1", "ann", now_us).verdict,
             LOGIN_QUICK);
    login_limit_free(limit);
}
