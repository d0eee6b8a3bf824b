/* SPDX-License-Identifier: Apache-2.0 */
/* test_importance.c - against results computed by hand, and cases with a strong or no
 * influence. */
#include "search/importance.h"

#include <math.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/rng.h"
#include "tests/support/test.h"

enum { MANY = 400 };

#define CHECK_NEAR(a, b)                                                               \
    do {                                                                               \
        double near_a = (a), near_b = (b);                                             \
        if (!(fabs(near_a - near_b) < 1e-9))                                           \
            fail_msg("%s is %g, not %g", #a, near_a, near_b);                          \
    } while (0)

static struct importance judge(const struct importance_value *value,
                               const double *metric, uint32_t count)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const struct importance_ranks *ranks;
    struct importance found;

    CHECK_OK(importance_rank(metric, count, &mem, &ranks, &test_err));
    CHECK_OK(importance_of(value, ranks, &mem, &found, &test_err));
    return found;
}

static struct importance_value number(double x)
{
    return (struct importance_value){.kind = IMPORTANCE_NUMBER, .number = x};
}

static struct importance_value category(uint32_t n)
{
    return (struct importance_value){.kind = IMPORTANCE_CATEGORY, .category = n};
}

TEST(two_groups_of_two_give_the_share_that_is_worked_out_by_hand)
{
    /* Ranks 0 1 2 3 about 1.5: total 5, between 4, within 1 with 2 degrees of freedom:
     * (4 - 1 * 1 / 2) / 5. */
    const struct importance_value value[] = {category(7), category(7), category(2),
                                             category(2)};
    const double metric[] = {0.1, 0.2, 5, 9};
    struct importance found = judge(value, metric, 4);

    CHECK_NEAR(found.share, 0.7);
    CHECK(isnan(found.correlation));
    CHECK_EQ(found.trials, 4);
    CHECK_EQ(found.groups, 2);
}

TEST(what_decides_everything_has_nearly_the_whole_share_and_its_sign)
{
    struct importance_value value[MANY];
    double metric[MANY];
    struct importance found;

    for (int i = 0; i < MANY; i++) {
        value[i] = number(pow(10, -5.0 * i / MANY));
        metric[i] = i * i;
    }
    found = judge(value, metric, MANY);
    CHECK(found.share > 0.97);
    CHECK_NEAR(found.correlation, -1);
    CHECK_EQ(found.groups, IMPORTANCE_GROUPS);
}

TEST(a_valley_matters_without_a_direction)
{
    struct importance_value value[MANY];
    double metric[MANY];
    struct importance found;

    for (int i = 0; i < MANY; i++) {
        value[i] = number(i - MANY / 2);
        metric[i] = fabs(i - MANY / 2 + 0.25);
    }
    found = judge(value, metric, MANY);
    CHECK(found.share > 0.9);
    CHECK(fabs(found.correlation) < 0.02);
}

TEST(what_does_nothing_has_no_share_even_with_few_trials)
{
    struct rng rng;
    double sum = 0;

    rng_seed(&rng, 7);
    for (int round = 0; round < 200; round++) {
        struct importance_value value[30];
        double metric[30];

        for (int i = 0; i < 30; i++) {
            value[i] = number(rng_uniform(&rng, 0, 1));
            metric[i] = rng_uniform(&rng, 0, 1);
        }
        sum += judge(value, metric, 30).share;
    }
    CHECK(sum / 200 < 0.1); /* without the correction it would be 0.17 */
}

TEST(one_trial_that_went_astray_does_not_decide)
{
    struct importance_value value[40];
    double metric[40];
    struct importance before, after;

    for (int i = 0; i < 40; i++) {
        value[i] = category(i % 2);
        metric[i] = i % 2 ? 10 + i : i;
    }
    before = judge(value, metric, 40);
    metric[39] = INFINITY; /* the largest it was already */
    after = judge(value, metric, 40);
    CHECK_NEAR(before.share, after.share);
}

TEST(equal_values_are_never_parted)
{
    struct importance_value value[100];
    double metric[100];
    struct importance found;

    for (int i = 0; i < 100; i++) {
        value[i] = number(i < 90 ? 0 : i); /* 11 distinct, most of them one */
        metric[i] = i;
    }
    found = judge(value, metric, 100);
    CHECK_EQ(found.groups, 2);
    CHECK(found.share > 0 && found.share < 1);
}

TEST(where_nothing_can_be_said_nothing_is)
{
    const struct importance_value same[] = {number(1), number(1), number(1)};
    const struct importance_value differ[] = {number(1), number(1), number(2)};
    const struct importance_value each[] = {category(0), category(1), category(2)};
    const struct importance_value holes[] = {number(1), {0}, number(2)};
    const double metric[] = {1, 2, 3};
    const double flat[] = {4, 4, 4};
    const double none[] = {NAN, NAN, 1};

    CHECK(isnan(judge(same, metric, 3).share));
    CHECK(isnan(judge(same, metric, 3).correlation));
    CHECK_EQ(judge(same, metric, 3).groups, 1);
    CHECK(isnan(judge(differ, flat, 3).share));
    CHECK(isnan(judge(each, metric, 3).share));
    CHECK_EQ(judge(holes, metric, 3).trials, 2);
    CHECK(isnan(judge(holes, metric, 3).share));
    CHECK_EQ(judge(differ, none, 3).trials, 1);
    CHECK(isnan(judge(differ, none, 3).share));
    CHECK_EQ(judge(NULL, NULL, 0).trials, 0);
    CHECK_EQ(judge(NULL, NULL, 0).groups, 0);
}

TEST(trials_without_a_value_do_not_count)
{
    /* Without the two that have none the ranks are 0 1 3 4 about 2: total 10, between
     * 9, within 1 with 2 degrees of freedom: (9 - 1 / 2) / 10. */
    const struct importance_value value[] = {category(0), category(0), {0},
                                             category(1), category(1), {0}};
    const double metric[] = {1, 2, 3, 4, 5, NAN};
    struct importance found = judge(value, metric, 6);

    CHECK_EQ(found.trials, 4);
    CHECK_NEAR(found.share, 0.85);
}

TEST(importance_without_memory_is_an_ordinary_error)
{
    const struct importance_value value[] = {number(1), number(2)};
    const double metric[] = {1, 2};

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        const struct importance_ranks *ranks;
        struct importance found;
        det_status st = importance_rank(metric, 2, &mem, &ranks, NULL);

        if (!st)
            st = importance_of(value, ranks, &mem, &found, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
