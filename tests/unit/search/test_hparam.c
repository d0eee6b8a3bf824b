/* SPDX-License-Identifier: Apache-2.0 */
/* test_hparam.c - samples, and the grid against a naive product. */
#include "search/hparam.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "data/json/json.h"
#include "tests/support/test.h"

struct space {
    struct arena mem;
    const struct hparam *root;
    struct buf text;
    det_status status;
    struct err err;
};

static struct space space_of(const char *text, bool is_grid)
{
    struct space space = {.mem = ARENA_INIT(16 << 20), .text = BUF_INIT};
    struct json *json = NULL;

    space.status = json_parse(text, strlen(text), &space.mem, &json, &space.err);
    if (!space.status)
        space.status =
            hparam_space_new(json, is_grid, &space.mem, &space.root, &space.err);
    return space;
}

static void space_done(struct space *space)
{
    arena_done(&space->mem);
    buf_done(&space->text);
}

static const char *point(struct space *space, uint64_t number)
{
    struct json_writer w = JSON_WRITER(&space->text);

    buf_clear(&space->text);
    hparam_point(space->root, number, &w);
    return space->text.data;
}

static const char *sample(struct space *space, struct rng *rng)
{
    struct json_writer w = JSON_WRITER(&space->text);

    buf_clear(&space->text);
    hparam_sample(space->root, rng, &w);
    return space->text.data;
}

static struct json *parsed_sample(struct space *space, struct rng *rng)
{
    struct json *json = NULL;
    const char *text = sample(space, rng);

    CHECK_OK(json_parse(text, strlen(text), &space->mem, &json, &test_err));
    return json;
}

static void check_refused(const char *text, bool is_grid, const char *part)
{
    CLEANUP(space_done) struct space space = space_of(text, is_grid);

    CHECK_EQ(space.status, DET_INVALID);
    CHECK_HAS(space.err.text, part);
}

TEST(an_empty_space_is_an_empty_object_and_has_no_points)
{
    CLEANUP(space_done) struct space space = space_of("{}", true);
    struct rng rng;

    rng_seed(&rng, 1);

    CHECK_OK(space.status);
    CHECK_EQ(hparam_points(space.root), 0);
    CHECK_STR(sample(&space, &rng), "{}");
}

TEST(an_absent_space_is_an_empty_one)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(4096);
    const struct hparam *root = NULL;

    CHECK_OK(hparam_space_new(NULL, true, &mem, &root, &test_err));

    CHECK_EQ(hparam_points(root), 0);
}

TEST(keys_are_sorted_by_their_bytes_at_every_level)
{
    CLEANUP(space_done)
    struct space space =
        space_of("{\"b\":1,\"a\":{\"z\":2,\"B\":{\"y\":1,\"x\":[3]},\"b\":null},"
                 "\"_\":\"s\",\"Z\":false}",
                 false);
    struct rng rng;

    rng_seed(&rng, 1);

    CHECK_OK(space.status);
    CHECK_STR(sample(&space, &rng),
              "{\"Z\":false,\"_\":\"s\",\"a\":{\"B\":{\"x\":[3],\"y\":1},\"b\":null,"
              "\"z\":2},\"b\":1}");
}

TEST(constants_and_single_choices_draw_nothing)
{
    CLEANUP(space_done)
    struct space space = space_of(
        "{\"a\":{\"type\":\"const\",\"val\":{\"type\":\"int\",\"k\":[1,{}]}},"
        "\"b\":\"plain\",\"c\":{\"type\":\"categorical\",\"vals\":[{\"deep\":[null]}]},"
        "\"d\":{\"type\":\"int\",\"minval\":5,\"maxval\":5}}",
        false);
    struct rng rng;
    struct rng before;

    rng_seed(&rng, 7);
    before = rng;

    CHECK_OK(space.status);
    CHECK_STR(sample(&space, &rng), "{\"a\":{\"type\":\"int\",\"k\":[1,{}]},"
                                    "\"b\":\"plain\",\"c\":{\"deep\":[null]},\"d\":5}");
    CHECK(!memcmp(&rng, &before, sizeof(rng)));
}

TEST(samples_lie_in_their_ranges_and_reach_both_ends_of_whole_ones)
{
    CLEANUP(space_done)
    struct space space =
        space_of("{\"i\":{\"type\":\"int\",\"minval\":-2,\"maxval\":2},"
                 "\"n\":{\"d\":{\"type\":\"double\",\"minval\":-0.5,\"maxval\":1e-3}},"
                 "\"l\":{\"type\":\"log\",\"base\":2,\"minval\":-3,\"maxval\":4}}",
                 false);
    unsigned seen = 0;
    struct rng rng;

    CHECK_OK(space.status);
    rng_seed(&rng, 11);
    for (int i = 0; i < 500; i++) {
        struct json *s = parsed_sample(&space, &rng);
        int64_t whole = json_i64(json_get(s, "i"), 99);
        double real = NAN;
        double log = NAN;

        CHECK(json_number(json_path(s, "n.d"), &real));
        CHECK(json_number(json_get(s, "l"), &log));
        CHECK(whole >= -2 && whole <= 2);
        seen |= 1u << (whole + 2);
        CHECK(real >= -0.5 && real < 1e-3);
        CHECK(log >= 0.125 && log < 16);
    }
    CHECK_EQ(seen, 0x1f);
}

TEST(a_sampled_number_reads_back_as_the_same_double)
{
    CLEANUP(space_done)
    struct space space = space_of(
        "{\"d\":{\"type\":\"double\",\"minval\":-1e-7,\"maxval\":3e11}}", false);
    struct rng rng;
    struct rng twin;

    CHECK_OK(space.status);
    rng_seed(&rng, 5);
    rng_seed(&twin, 5);
    for (int i = 0; i < 300; i++) {
        double expected = rng_uniform(&twin, -1e-7, 3e11);
        double got = NAN;

        CHECK(json_number(json_get(parsed_sample(&space, &rng), "d"), &got));
        CHECK(got == expected);
    }
}

TEST(the_whole_range_of_64_bits_can_be_sampled_and_gridded)
{
    CLEANUP(space_done)
    struct space space =
        space_of("{\"i\":{\"type\":\"int\",\"minval\":-9223372036854775808,"
                 "\"maxval\":9223372036854775807,\"count\":3}}",
                 true);
    struct rng rng;

    CHECK_OK(space.status);
    rng_seed(&rng, 3);
    CHECK_EQ(json_get(parsed_sample(&space, &rng), "i")->kind, JSON_INT);
    CHECK_STR(point(&space, 0), "{\"i\":-9223372036854775808}");
    CHECK_STR(point(&space, 1), "{\"i\":-1}"); /* -0.5, half away from zero */
    CHECK_STR(point(&space, 2), "{\"i\":9223372036854775807}");
}

TEST(whole_axes_round_half_away_from_zero)
{
    CLEANUP(space_done)
    struct space up = space_of(
        "{\"i\":{\"type\":\"int\",\"minval\":1,\"maxval\":10,\"count\":3}}", true);
    CLEANUP(space_done)
    struct space down = space_of(
        "{\"i\":{\"type\":\"int\",\"minval\":-10,\"maxval\":-1,\"count\":3}}", true);
    CLEANUP(space_done)
    struct space one = space_of(
        "{\"i\":{\"type\":\"int\",\"minval\":1,\"maxval\":10,\"count\":1}}", true);

    CHECK_STR(point(&up, 1), "{\"i\":6}");
    CHECK_STR(point(&down, 0), "{\"i\":-10}");
    CHECK_STR(point(&down, 1), "{\"i\":-6}");
    CHECK_STR(point(&down, 2), "{\"i\":-1}");
    CHECK_STR(point(&one, 0), "{\"i\":6}");
}

TEST(a_whole_axis_has_no_more_points_than_numbers)
{
    CLEANUP(space_done)
    struct space space = space_of(
        "{\"i\":{\"type\":\"int\",\"minval\":3,\"maxval\":5,\"count\":100}}", true);

    CHECK_EQ(hparam_points(space.root), 3);
    CHECK_STR(point(&space, 1), "{\"i\":4}");
}

TEST(real_axes_are_even_and_log_axes_even_in_the_exponent)
{
    CLEANUP(space_done)
    struct space space = space_of(
        "{\"d\":{\"type\":\"double\",\"minval\":0,\"maxval\":1,\"count\":3},"
        "\"l\":{\"type\":\"log\",\"base\":10,\"minval\":-4,\"maxval\":-2,\"count\":2},"
        "\"m\":{\"type\":\"double\",\"minval\":1,\"maxval\":2,\"count\":1},"
        "\"n\":{\"type\":\"log\",\"base\":2,\"minval\":1,\"maxval\":3,\"count\":1}}",
        true);

    CHECK_EQ(hparam_points(space.root), 6);
    CHECK_STR(point(&space, 2), "{\"d\":0.5,\"l\":0.0001,\"m\":1.5,\"n\":4}");
    CHECK_STR(point(&space, 5), "{\"d\":1,\"l\":0.01,\"m\":1.5,\"n\":4}");
}

TEST(an_empty_group_is_one_value)
{
    CLEANUP(space_done) struct space space = space_of("{\"a\":{}}", true);

    CHECK_EQ(hparam_points(space.root), 1);
    CHECK_STR(point(&space, 0), "{\"a\":{}}");
}

/* The oracle: all axes, enumerated by nested loops. */
TEST(the_grid_is_the_product_of_its_axes_with_the_first_slowest)
{
    struct rng64 dice = {.state = 2024};

    for (int round = 0; round < 200; round++) {
        unsigned n[4];
        char text[512];
        uint64_t number = 0;

        for (size_t i = 0; i < ARRAY_LEN(n); i++)
            n[i] = 1 + (unsigned)rng64_below(&dice, 4);
        /* Written out of order on purpose. */
        snprintf(
            text, sizeof(text),
            "{\"z\":{\"type\":\"int\",\"minval\":0,\"maxval\":%u,\"count\":9},"
            "\"m\":{\"q\":{\"type\":\"int\",\"minval\":0,\"maxval\":%u,\"count\":9},"
            "\"k\":7,"
            "\"p\":{\"r\":{\"type\":\"int\",\"minval\":0,\"maxval\":%u,"
            "\"count\":9}}},"
            "\"a\":{\"type\":\"int\",\"minval\":0,\"maxval\":%u,\"count\":9}}",
            n[3] - 1, n[2] - 1, n[1] - 1, n[0] - 1);
        CLEANUP(space_done) struct space space = space_of(text, true);

        CHECK_OK(space.status);
        CHECK_EQ(hparam_points(space.root), n[0] * n[1] * n[2] * n[3]);
        for (unsigned i = 0; i < n[0] * n[1] * n[2] * n[3]; i++, number++) {
            unsigned rest = i;
            unsigned z = rest % n[3];
            unsigned q = (rest /= n[3]) % n[2];
            unsigned r = (rest /= n[2]) % n[1];
            unsigned a = rest / n[1];

            snprintf(text, sizeof(text),
                     "{\"a\":%u,\"m\":{\"k\":7,\"p\":{\"r\":%u},\"q\":%u},\"z\":%u}", a,
                     r, q, z);
            CHECK_STR(point(&space, number), text);
        }
    }
}

TEST(what_cannot_be_searched_is_refused_by_name)
{
    check_refused("[]", false, "must be an object");
    check_refused("{\"a\":{\"type\":\"float\"}}", false, "hyperparameter 'a'");
    check_refused("{\"a\":{\"type\":3}}", false, "`type` must be one of");
    check_refused("{\"a\":{\"b\":{\"type\":\"const\"}}}", false, "hyperparameter 'b'");
    check_refused("{\"a\":{\"type\":\"categorical\",\"vals\":[]}}", false, "`vals`");
    check_refused("{\"a\":{\"type\":\"categorical\",\"vals\":{\"x\":1}}}", false,
                  "`vals`");
    check_refused("{\"a\":{\"type\":\"int\",\"minval\":\"x\",\"maxval\":2}}", false,
                  "whole numbers");
    check_refused("{\"a\":{\"type\":\"int\",\"minval\":3,\"maxval\":2}}", false,
                  "below");
    check_refused("{\"a\":{\"type\":\"double\",\"minval\":0}}", false, "be numbers");
    check_refused("{\"a\":{\"type\":\"double\",\"minval\":1,\"maxval\":0}}", false,
                  "below");
    check_refused("{\"a\":{\"type\":\"double\",\"minval\":-1e308,\"maxval\":1e308}}",
                  false, "too far apart");
    check_refused("{\"a\":{\"type\":\"double\",\"minval\":\"NaN\",\"maxval\":1}}",
                  false, "too far apart");
    check_refused("{\"a\":{\"type\":\"log\",\"minval\":0,\"maxval\":1,\"base\":0}}",
                  false, "`base`");
    check_refused("{\"a\":{\"type\":\"log\",\"minval\":0,\"maxval\":400,\"base\":10}}",
                  false, "too large");
    check_refused(
        "{\"a\":{\"type\":\"log\",\"minval\":-400,\"maxval\":0,\"base\":0.1}}", false,
        "too large");
}

TEST(a_grid_needs_counts_and_an_end)
{
    check_refused("{\"a\":{\"type\":\"int\",\"minval\":1,\"maxval\":2}}", true,
                  "grid search is in use but count was not provided");
    check_refused("{\"a\":{\"type\":\"int\",\"minval\":1,\"maxval\":2,\"count\":null}}",
                  true, "grid search is in use but count was not provided");
    check_refused("{\"a\":{\"type\":\"int\",\"minval\":1,\"maxval\":2,\"count\":0}}",
                  true, "`count`");
    check_refused(
        "{\"a\":{\"type\":\"double\",\"minval\":1,\"maxval\":2,\"count\":100000},"
        "\"b\":{\"type\":\"double\",\"minval\":1,\"maxval\":2,\"count\":100000}}",
        true, "the grid has more than");
    check_refused(
        "{\"a\":{\"type\":\"double\",\"minval\":1,\"maxval\":2,\"count\":4294967296},"
        "\"b\":{\"type\":\"double\",\"minval\":1,\"maxval\":2,\"count\":4294967296}}",
        true, "the grid has more than");
}

TEST(a_count_is_not_looked_at_without_a_grid)
{
    CLEANUP(space_done)
    struct space space = space_of(
        "{\"a\":{\"type\":\"int\",\"minval\":1,\"maxval\":2,\"count\":null}}", false);

    CHECK_OK(space.status);
}

TEST(running_out_of_memory_while_building_is_told)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(space_done)
        struct space space = space_of("{\"a\":{\"c\":{\"type\":\"categorical\","
                                      "\"vals\":[1,2]},\"b\":{}},\"d\":1}",
                                      true);

        CHECK_EQ(space.status, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
