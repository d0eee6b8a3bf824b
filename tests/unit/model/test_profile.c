/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile.h"

#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"
#include "tests/support/test.h"

static void add(struct profile *profile, const char *group, const char *text)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct json *report;

    CHECK_OK(json_parse(text, strlen(text), &mem, &report, &test_err));
    CHECK_OK(profile_add(profile, group, report, 0, &test_err));
}

static const struct profile_line *line(const struct profile *profile, size_t at,
                                       const char *name)
{
    CHECK(at < profile->lines.count);
    CHECK_STR(profile->lines.at[at]->name, name);
    return profile->lines.at[at];
}

TEST(a_load_adds_lines_of_the_machine)
{
    static const char text[] =
        "{\"cpu\":{\"cpu_util_simple\":10},\"timing\":{\"a\":1},"
        "\"gpu\":{\"GPU-1\":{\"gpu_util\":5}},\"odd\":{\"b\":1}}";
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);
    struct json *load;

    add(&profile, "timing", "{\"a\":{\"seconds\":1,\"step\":{\"seconds\":1}}}");
    CHECK(!profile_has_load(&profile, "a"));
    CHECK_OK(json_parse(text, strlen(text), &mem, &load, &test_err));
    CHECK_OK(profile_add_load(&profile, "a", load, 3, &test_err));
    CHECK(profile_has_load(&profile, "a"));
    CHECK(!profile_has_load(&profile, "b"));
    profile_sort(&profile);
    CHECK_EQ(profile.lines.count, 3);
    CHECK(line(&profile, 1, "cpu_util_simple")->curve.time_s[0] == 3);
    CHECK(line(&profile, 2, "GPU-1.gpu_util")->last == 5);
}

TEST(every_number_is_a_line_by_agent_group_and_name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);

    add(&profile, "disk", "{\"b\":{\"disk_iops\":1,\"/\":{\"disk_util\":27.5}}}");
    add(&profile, "cpu", "{\"a\":{\"cpu_util_simple\":10}}");
    add(&profile, "cpu", "{\"a\":{\"cpu_util_simple\":40}}");
    add(&profile, "cpu", "{\"a\":{\"cpu_util_simple\":25}}");
    profile_sort(&profile);
    CHECK_EQ(profile.lines.count, 3);
    CHECK_STR(line(&profile, 0, "cpu_util_simple")->agent, "a");
    CHECK(profile.lines.at[0]->last == 25 && profile.lines.at[0]->max == 40);
    CHECK(profile.lines.at[0]->sum == 75 && profile.lines.at[0]->count == 3);
    CHECK(line(&profile, 1, "/.disk_util")->last == 27.5);
    CHECK(line(&profile, 2, "disk_iops")->max == 1);
}

TEST(groups_of_an_agent_come_in_their_order)
{
    static const char *const groups[] = {"timing", "cpu",  "memory",
                                         "gpu",    "disk", "network"};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);

    for (size_t i = ARRAY_LEN(groups); i-- > 1;)
        add(&profile, groups[i], "{\"a\":{\"x\":1}}");
    add(&profile, "timing", "{\"a\":{\"seconds\":1,\"step\":{\"seconds\":1}}}");
    profile_sort(&profile);

    CHECK_EQ(profile.lines.count, ARRAY_LEN(groups));
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        CHECK_STR(profile.lines.at[i]->group, groups[i]);
}

TEST(timings_add_up_and_what_takes_longest_comes_first)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);

    add(&profile, "timing",
        "{\"a\":{\"seconds\":10,\"data\":{\"seconds\":2,\"count\":4},"
        "\"step\":{\"seconds\":7,\"count\":4}}}");
    add(&profile, "timing", "{\"a\":{\"seconds\":10,\"step\":{\"seconds\":11}}}");
    profile_sort(&profile);
    CHECK_EQ(profile.lines.count, 2);
    CHECK(profile_seconds(&profile, "a") == 20);
    CHECK(profile_seconds(&profile, "b") == 0);
    CHECK(line(&profile, 0, "step")->seconds == 18);
    CHECK(profile.lines.at[0]->last == 100); /* it had begun before */
    CHECK_EQ(profile.lines.at[0]->events, 4);
    CHECK(line(&profile, 1, "data")->seconds == 2);
}

TEST(what_is_no_report_of_a_profiler_is_passed_over)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "7",
        "{\"a\":1}",
        "{\"a\":[1,2]}",
        "{\"a\":{\"x\":\"word\",\"y\":null,\"z\":\"NaN\",\"l\":[1]}}",
        "{\"a\":{\"x\":{\"y\":{\"z\":1}},\"seconds\":\"Infinity\"}}",
    };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        add(&profile, "cpu", texts[i]);
        add(&profile, "timing", texts[i]);
    }
    profile_sort(&profile);
    CHECK_EQ(profile.lines.count, 0);
}

TEST(a_value_of_a_profilers_group_is_its_own_only_when_it_is_an_object)
{
    struct json object = {.kind = JSON_OBJECT}, number = {.kind = JSON_INT};

    CHECK(profile_is_report("cpu", &object));
    CHECK(!profile_is_report("cpu", &number));
    CHECK(!profile_is_report("cpu", NULL));
    CHECK(!profile_is_report("mine", &object));
}

TEST(a_curve_keeps_its_form_however_long_it_is)
{
    struct profile_curve curve = {0};

    for (int i = 0; i < 100000; i++)
        profile_curve_add(&curve, PROFILE_CURVE_SHORT, i, 10 * i);
    CHECK(curve.count >= PROFILE_CURVE_SHORT / 2 && curve.count <= PROFILE_CURVE_SHORT);
    CHECK(curve.time_s[0] == 10 * curve.point[0]);
    for (uint32_t i = 1; i < curve.count; i++)
        CHECK(curve.point[i] > curve.point[i - 1]);
    CHECK(curve.point[0] < 5000 && curve.point[curve.count - 1] > 90000);
}

TEST(a_short_curve_is_its_values)
{
    struct profile_curve curve = {0};

    for (int i = 0; i < PROFILE_CURVE_SHORT; i++)
        profile_curve_add(&curve, PROFILE_CURVE_SHORT, i, 10 * i);
    CHECK_EQ(curve.count, PROFILE_CURVE_SHORT);
    for (int i = 0; i < PROFILE_CURVE_SHORT; i++)
        CHECK(curve.point[i] == i && curve.time_s[i] == 10 * i);
    profile_curve_add(&curve, PROFILE_CURVE_SHORT, PROFILE_CURVE_SHORT, 0);
    profile_curve_add(&curve, PROFILE_CURVE_SHORT, PROFILE_CURVE_SHORT + 1, 0);
    CHECK_EQ(curve.count, PROFILE_CURVE_SHORT / 2 + 1);
    CHECK(curve.point[0] == 0.5 && curve.time_s[1] == 25);
    CHECK(curve.point[PROFILE_CURVE_SHORT / 2] == PROFILE_CURVE_SHORT + 0.5);
}

TEST(without_memory_a_report_is_refused)
{
    static const char text[] =
        "{\"a\":{\"cpu_util_simple\":1,\"/\":{\"disk_util\":2}}}";

    EACH_ALLOCATION_FAILS() {
        int64_t armed = fault_state.left[FAULT_MEMORY];
        CLEANUP(arena_done) struct arena tree = ARENA_INIT(1 << 20);
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);
        struct json *report;
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        CHECK_OK(json_parse(text, strlen(text), &tree, &report, &test_err));
        fault_state.left[FAULT_MEMORY] = armed;
        st = profile_add(&profile, "disk", report, 0, &test_err);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}

static const char *cause_of(const char *timings, struct profile_cause *ret_cause)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);

    add(&profile, "timing", timings);
    profile_sort(&profile);
    profile_find_cause(&profile, "a", ret_cause);
    return ret_cause->text;
}

TEST(what_costs_most_beyond_its_measure_is_the_cause)
{
    struct profile_cause cause;

    CHECK_STR(
        cause_of("{\"a\":{\"seconds\":100,\"data\":{\"seconds\":78,\"count\":4},"
                 "\"step\":{\"seconds\":20},\"checkpoint\":{\"seconds\":2}}}",
                 &cause),
        "78 % of the time went into waiting for data: let more workers load it, or "
        "load it ahead");
    CHECK_STR(cause.kind, "data");
    CHECK(cause.is_trouble && cause.share == 0.78);
    CHECK_STR(
        cause_of("{\"a\":{\"seconds\":100,\"data\":{\"seconds\":26},"
                 "\"checkpoint\":{\"seconds\":30},\"step\":{\"seconds\":44}}}",
                 &cause),
        "30 % of the time went into checkpoints: save them less often, or less in "
        "them");
    CHECK_STR(cause_of("{\"a\":{\"seconds\":100,\"report\":{\"seconds\":9},"
                       "\"step\":{\"seconds\":91}}}",
                       &cause),
              "9 % of the time went into reports: report less often");
    CHECK_STR(cause_of("{\"a\":{\"seconds\":100,\"validate\":{\"seconds\":60},"
                       "\"step\":{\"seconds\":40}}}",
                       &cause),
              "60 % of the time went into validation: validate less often, or on less "
              "data");
    CHECK_STR(cause_of("{\"a\":{\"seconds\":100,\"step\":{\"seconds\":30}}}", &cause),
              "70 % of the time nobody has timed: it went into what the program does "
              "between its steps");
    CHECK_STR(cause.kind, "other");
}

TEST(other_agents_and_other_groups_are_not_the_cause)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(profile_done) struct profile profile = PROFILE_INIT(&mem);
    struct profile_cause cause;

    add(&profile, "timing",
        "{\"a\":{\"seconds\":100,\"step\":{\"seconds\":95}},"
        "\"b\":{\"seconds\":100,\"data\":{\"seconds\":99}}}");
    add(&profile, "disk", "{\"a\":{\"data\":99}}");
    profile_find_cause(&profile, "a", &cause);
    CHECK(!cause.is_trouble);
    CHECK(cause.share == 0.95);
}

TEST(where_nothing_stands_out_that_is_said)
{
    struct profile_cause cause;

    CHECK_STR(
        cause_of("{\"a\":{\"seconds\":100,\"step\":{\"seconds\":95},"
                 "\"data\":{\"seconds\":3}}}",
                 &cause),
        "no time is lost that could be seen: 95 % of it went into training steps");
    CHECK(!cause.is_trouble);
    CHECK_STR(cause_of("{}", &cause), "");
    CHECK_STR(cause.kind, "");
}
