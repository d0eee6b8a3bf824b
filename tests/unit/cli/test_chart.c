/* SPDX-License-Identifier: Apache-2.0 */

#include <math.h>
#include <string.h>

#include "base/memory/buf.h"
#include "cli/output/chart.h"
#include "cli/output/term.h"
#include "tests/support/test.h"

static void check_chart(const struct chart *chart, const char *expected)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_OK(chart_draw(chart, &out, &test_err));
    CHECK_STR(out.data, expected);
}

static const struct chart_point falling[] = {{0, 1}, {10, 0.5}, {20, 0.25}, {30, 0}};

TEST(a_falling_curve_falls)
{
    struct chart_series series = {.label = "trial 1", .point = falling, .count = 4};
    struct chart chart = {.title = "loss (validation)",
                          .x_name = "batches",
                          .series = &series,
                          .count = 1,
                          .width = 30,
                          .height = 4};

    check_chart(&chart, "loss (validation)\n"
                        "     1 ┤⠑⠤⡀\n"
                        "       │  ⠈⠒⢄⡀\n"
                        "0.3333 ┤     ⠈⠑⠢⢄⣀\n"
                        "     0 ┤          ⠉⠒⠤⣀\n"
                        "       └──────────────\n"
                        "        0           30 batches\n"
                        "  ━━ trial 1\n");
}

TEST(a_single_point_is_a_dot_in_the_middle)
{
    struct chart_point point = {5, 2};
    struct chart_series series = {.label = "trial 1", .point = &point, .count = 1};
    struct chart chart = {.title = "x",
                          .x_name = "batches",
                          .series = &series,
                          .count = 1,
                          .width = 30,
                          .height = 3};

    check_chart(&chart, "x\n"
                        "  │\n"
                        "2 ┤         ⠐\n"
                        "  │\n"
                        "  └───────────────────\n"
                        "   5 batches\n"
                        "  ━━ trial 1\n");
}

TEST(what_is_no_number_leaves_a_gap)
{
    struct chart_point points[] = {{0, 0}, {1, NAN}, {2, INFINITY}, {3, 0}};
    struct chart_series series = {.label = "trial 1", .point = points, .count = 4};
    struct chart chart = {.title = "x",
                          .x_name = "b",
                          .series = &series,
                          .count = 1,
                          .width = 16,
                          .height = 1};

    check_chart(&chart, "x\n"
                        "0 ┤⠂         ⠐\n"
                        "  └───────────\n"
                        "   0         3 b\n"
                        "  ━━ trial 1\n");
}

TEST(without_points_the_chart_says_so)
{
    struct chart_point point = {1, NAN};
    struct chart_series series = {.label = "trial 1", .point = &point, .count = 1};
    struct chart chart = {
        .title = "x", .x_name = "b", .series = &series, .count = 1, .height = 3};

    check_chart(&chart, "x\n  no numbers to draw yet\n");
}

TEST(series_have_their_own_colours_on_a_terminal)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct chart_series series[] = {
        {.label = "trial 1", .point = falling, .count = 4, .color = COLOR_CYAN},
        {.label = "trial 2", .point = falling, .count = 2, .color = COLOR_RED}};
    struct chart chart = {.title = "x",
                          .x_name = "b",
                          .series = series,
                          .count = 2,
                          .width = 30,
                          .height = 3,
                          .has_color = true};

    CHECK_OK(chart_draw(&chart, &out, &test_err));

    CHECK_HAS(out.data, "\033[36m━━\033[0m trial 1\n");
    CHECK_HAS(out.data, "\033[31m━━\033[0m trial 2\n");
}

TEST(huge_spans_do_not_overflow)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct chart_point points[] = {{0, -1.7e308}, {1, 1.7e308}};
    struct chart_series series = {.label = "t", .point = points, .count = 2};
    struct chart chart = {.title = "x",
                          .x_name = "b",
                          .series = &series,
                          .count = 1,
                          .width = 40,
                          .height = 5};

    CHECK_OK(chart_draw(&chart, &out, &test_err));
}

/* The span of the smallest numbers is 0 when it is halved. */
TEST(the_smallest_numbers_have_a_place)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct chart_point points[] = {{1, 0}, {2, 5e-324}, {3, 0}, {4, -5e-324}};
    struct chart_series series = {.label = "t", .point = points, .count = 4};
    struct chart chart = {.title = "x",
                          .x_name = "batches",
                          .series = &series,
                          .count = 1,
                          .width = 30,
                          .height = 3};

    CHECK_OK(chart_draw(&chart, &out, &test_err));
    CHECK(strstr(out.data, "batches"));
}

TEST(numbers_are_short)
{
    char text[CHART_NUMBER];

    chart_number(0.1, text);
    CHECK_STR(text, "0.1");
    chart_number(123456789, text);
    CHECK_STR(text, "1.23457e+08");
    chart_number(NAN, text);
    CHECK_STR(text, "NaN");
}

TEST(without_memory_nothing_is_drawn)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct chart_series series = {.label = "t", .point = falling, .count = 4};
        struct chart chart = {.title = "x",
                              .x_name = "b",
                              .series = &series,
                              .count = 1,
                              .width = 30,
                              .height = 3};
        det_status st = chart_draw(&chart, &out, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}

TEST(a_curve_fits_into_a_line)
{
    static const double points[] = {0, 1, 50, 100, 1000, -5};
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    chart_spark(points, 6, 100, &out);
    CHECK_STR(out.data, "▁▁▅██▁");
    buf_clear(&out);
    chart_spark(points, 2, 0, &out);
    CHECK_STR(out.data, "▁▁");
}
