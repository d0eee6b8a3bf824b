/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

TEST(commas_and_quotes_take_care_of_themselves)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    jw_object(&w, NULL);
    jw_str(&w, "s", "x");
    jw_str(&w, "none", NULL);
    jw_i64(&w, "i", INT64_MIN);
    jw_i64_str(&w, "is", 12);
    jw_array(&w, "a");
    jw_bool(&w, NULL, true);
    jw_object(&w, NULL);
    jw_end_object(&w);
    jw_array(&w, NULL);
    jw_end_array(&w);
    jw_end_array(&w);
    jw_raw(&w, "raw", "{\"x\": 1}");
    jw_raw(&w, "empty", "");
    jw_time(&w, "t", 1);
    jw_time(&w, "t0", 0);
    jw_end_object(&w);

    CHECK_OK(out.status);
    CHECK_STR(out.data,
              "{\"s\":\"x\",\"none\":null,\"i\":-9223372036854775808,\"is\":\"12\","
              "\"a\":[true,{},[]],\"raw\":{\"x\": 1},\"empty\":null,"
              "\"t\":\"1970-01-01T00:00:00.000001Z\",\"t0\":null}");
}

TEST(pretty_text_has_two_spaces_a_level)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = {.out = &out, .is_pretty = true};
    struct json *v = NULL;
    const char *text = "{\"a\":[1,{\"b\":2}],\"c\":{},\"d\":[]}";

    CHECK_OK(json_parse(text, strlen(text), &mem, &v, &test_err));
    jw_json(&w, NULL, v);

    CHECK_STR(out.data, "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n"
                        "  \"c\": {},\n  \"d\": []\n}");
}

static const char *quoted(struct buf *out, const char *text, size_t len)
{
    struct json_writer w = JSON_WRITER(out);

    buf_clear(out);
    jw_strn(&w, NULL, text, len);
    return out->data;
}

TEST(strings_are_escaped)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_STR(quoted(&out, "a\"\\\b\f\n\r\t\x01\x7F\0z", 12),
              "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7F\\u0000z\"");
    CHECK_STR(quoted(&out, "\xC3\xA4\xF0\x9F\x98\x80", 6),
              "\"\xC3\xA4\xF0\x9F\x98\x80\"");
    CHECK_STR(quoted(&out, "", 0), "\"\"");
}

TEST(what_is_not_utf8_is_replaced)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_STR(quoted(&out, "a\xFFz", 3), "\"a\\ufffdz\"");
    CHECK_STR(quoted(&out, "\xE2\x82", 2), "\"\\ufffd\\ufffd\"");
    CHECK_STR(quoted(&out, "\xED\xA0\x80", 3), "\"\\ufffd\\ufffd\\ufffd\"");
}

TEST(reals_are_as_short_as_can_be)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {1000, "1000"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {1e15, "1000000000000000"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {1e-6, "0.000001"},
        {1e-7, "1e-7"},
        {1.25e-9, "1.25e-9"},
        {0.0001, "0.0001"},
        {0x1p63, "9223372036854776000"},
        {123456789.125, "123456789.125"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0.0013292918943162153, "0.0013292918943162153"},
        {-1.2345678901234567e-6, "-0.0000012345678901234567"},
        {-5.695679098942754e-159, "-5.695679098942754e-159"},
        {4.9e-324, "5e-324"},
        {9.5e-323, "9.4e-323"},
        {NAN, "NaN"},
        {INFINITY, "Infinity"},
        {-INFINITY, "-Infinity"},
    };
    char text[32];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_EQ(json_format_real(rows[i].value, text), strlen(rows[i].text));
        CHECK_STR(text, rows[i].text);
    }
}

/* Numbers of all sizes from a fixed sequence. */
static double next_double(uint64_t *seed)
{
    double value;

    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    memcpy(&value, seed, sizeof(value));
    return value;
}

TEST(reals_read_back_as_they_were)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    uint64_t seed = 42;
    char text[32];

    for (int i = 0; i < 20000; i++) {
        double value = next_double(&seed);
        struct json *back = NULL;
        double number;

        if (i % 2)
            value = (double)(int64_t)(seed >> 40) / 1000 + (i % 3 ? 0 : 1e-9);
        if (!isfinite(value))
            continue;
        arena_clear(&mem);
        CHECK_OK(
            json_parse(text, json_format_real(value, text), &mem, &back, &test_err));
        CHECK(json_number(back, &number));
        CHECK(number == value);
    }
}

TEST(reals_without_a_json_form_are_quoted)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    jw_array(&w, NULL);
    jw_real(&w, NULL, NAN);
    jw_real(&w, NULL, -INFINITY);
    jw_end_array(&w);

    CHECK_STR(out.data, "[\"NaN\",\"-Infinity\"]");
}

TEST(a_writer_keeps_its_first_failure)
{
    CLEANUP(buf_done) struct buf out = BUF_LIMITED(8);
    struct json_writer w = JSON_WRITER(&out);

    jw_array(&w, NULL);
    for (int i = 0; i < 100; i++)
        jw_str(&w, NULL, "some text");
    jw_end_array(&w);

    CHECK_EQ(out.status, DET_TOO_LARGE);
}
