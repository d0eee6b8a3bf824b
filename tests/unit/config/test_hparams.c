/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config/fixture.h"

#define GRID "searcher: {name: grid}\n"

TEST(plain_values_are_constants)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "hyperparameters: {b: 1, a: x, c: [1, 2], d: ~, e: yes}\n");

    CHECK_STR(at(&f, "hyperparameters"), "{\"a\":{\"type\":\"const\",\"val\":\"x\"},"
                                         "\"b\":{\"type\":\"const\",\"val\":1},"
                                         "\"c\":{\"type\":\"const\",\"val\":[1,2]},"
                                         "\"d\":{\"type\":\"const\",\"val\":null},"
                                         "\"e\":{\"type\":\"const\",\"val\":true}}");
}

TEST(every_kind_is_stored_with_its_keys_in_order)
{
    FIXTURE(f);

    CHECK_LOADS(&f, SINGLE "hyperparameters:\n"
                           "  i: {type: int, minval: 1, maxval: 5, count: 2}\n"
                           "  d: {type: double, minval: 0.5, maxval: 1}\n"
                           "  l: {type: log, minval: -4, maxval: -1, base: 10}\n"
                           "  c: {type: categorical, vals: [16, x, {b: 1, a: 2}]}\n"
                           "  k: {type: const, val: null}\n"
                           "  m: {q: {r: 1}}\n");

    CHECK_STR(at(&f, "hyperparameters"),
              "{\"c\":{\"type\":\"categorical\",\"vals\":[16,\"x\",{\"a\":2,\"b\":1}]},"
              "\"d\":{\"maxval\":1,\"minval\":0.5,\"type\":\"double\"},"
              "\"i\":{\"count\":2,\"maxval\":5,\"minval\":1,\"type\":\"int\"},"
              "\"k\":{\"type\":\"const\",\"val\":null},"
              "\"l\":{\"base\":10,\"maxval\":-1,\"minval\":-4,\"type\":\"log\"},"
              "\"m\":{\"q\":{\"r\":{\"type\":\"const\",\"val\":1}}}}");
}

TEST(type_is_a_reserved_name_inside)
{
    FIXTURE(f);

    CHECK_REFUSES(
        &f, SINGLE "hyperparameters: {model: {type: resnet, depth: 3}}\n", DET_INVALID,
        "c.yaml:2:33: hyperparameters.model: 'type' is a reserved name: found "
        "'resnet'; expected one of const, int, double, log, categorical");
    CHECK_EQ(load(&f, SINGLE "hyperparameters: {m: {type: {a: 1}, b: 2}}\n"),
             DET_INVALID);
    CHECK_EQ(f.report.errors, 1);
    CHECK_LOADS(&f, SINGLE "hyperparameters: {type: resnet}\n");
}

TEST(ranges_are_not_empty)
{
    FIXTURE(f);

    CHECK_REFUSES(&f,
                  SINGLE "hyperparameters:\n  a: {type: int, minval: 3, maxval: 3}\n",
                  DET_INVALID,
                  "c.yaml:3:37: hyperparameters.a: found maxval 3 with minval 3; "
                  "expected minval < maxval");
}

TEST(each_kind_has_its_own_keys)
{
    static const struct {
        const char *hparam;
        const char *sentence;
    } rows[] = {
        {"{type: int, minval: 1}", "a.maxval: missing; expected a whole number"},
        {"{type: int, minval: 1.5, maxval: 3}",
         "a.minval: found 1.5; expected a whole"},
        {"{type: log, minval: 1, maxval: 3}", "a.base: missing; expected a number > 0"},
        {"{type: log, minval: 1, maxval: 3, base: 0}", "a.base: found 0; expected"},
        {"{type: int, minval: 1, maxval: 3, base: 2}", "a.base: does not belong to"},
        {"{type: int, minval: 1, maxval: 3, count: 0}", "a.count: found 0; expected"},
        {"{type: categorical, vals: []}", "a.vals: found an empty list; expected"},
        {"{type: categorical}", "a.vals: missing"},
        {"{type: const}", "'val' is missing"},
        {"{type: double, minval: 1, maxvall: 3, maxval: 4}", "did you mean 'maxval'?"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FIXTURE(f);
        char *yaml =
            arena_printf(&f.mem, SINGLE "hyperparameters: {a: %s}\n", rows[i].hparam);

        CHECK_EQ(load(&f, yaml), DET_INVALID);
        CHECK_EQ(f.report.errors, 1);
        CHECK_HAS(f.err.text, rows[i].sentence);
    }
}

TEST(a_grid_that_never_ends_is_refused)
{
    FIXTURE(f);

    CHECK_REFUSES(
        &f,
        GRID "hyperparameters:\n"
             "  a: {type: double, minval: 0, maxval: 1, count: 1000}\n"
             "  b: {c: {type: log, base: 10, minval: -3, maxval: 1, count: 1000}}\n"
             "  d: {type: categorical, vals: [1, 2]}\n",
        DET_INVALID,
        "c.yaml:2:1: hyperparameters: this grid has 2000000 points; expected at "
        "most 1000000: lower a count, or search with random");
    CHECK_LOADS(&f, GRID "hyperparameters:\n"
                         "  a: {type: int, minval: 1, maxval: 3, count: 1000000000}\n"
                         "  b: {type: double, minval: 0, maxval: 1, count: 300000}\n");
    CHECK_LOADS(&f,
                SINGLE "hyperparameters:\n"
                       "  a: {type: double, minval: 0, maxval: 1, count: 2000000}\n");
}

TEST(a_grid_needs_a_count_for_every_range)
{
    FIXTURE(f);

    CHECK_REFUSES(&f,
                  GRID "hyperparameters:\n"
                       "  a: {type: int, minval: 1, maxval: 3}\n"
                       "  b: {c: {type: log, base: 10, minval: 1, maxval: 3}}\n"
                       "  d: {type: categorical, vals: [1]}\n"
                       "  e: {type: double, minval: 1, maxval: 3, count: 2}\n",
                  DET_INVALID,
                  "c.yaml:3:6: hyperparameters.a: grid search is in use but count was "
                  "not provided\n"
                  "c.yaml:4:10: hyperparameters.b.c: grid search is in use but count "
                  "was not provided");
}
