/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "tests/support/test.h"

static struct json *parse(struct arena *mem, const char *text)
{
    struct json *value = NULL;

    CHECK_OK(json_parse(text, strlen(text), mem, &value, &test_err));
    return value;
}

static void check_refused(const char *text, size_t len, const char *sentence)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    struct json *value = NULL;
    struct err err = {0};

    CHECK_EQ(json_parse(text, len, &mem, &value, &err), DET_INVALID);
    CHECK_HAS(err.text, sentence);
    CHECK_NULL(value);
}

static void refused(const char *text, const char *sentence)
{
    check_refused(text, strlen(text), sentence);
}

TEST(every_kind_of_value_is_read)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *v = parse(
        &mem, "{\"n\":null,\"b\":true,\"i\":-12,\"r\":0.5,\"s\":\"x\",\"a\":[1,2]}");

    CHECK_EQ(v->kind, JSON_OBJECT);
    CHECK_EQ(v->list.count, 6);
    CHECK(json_is_null(json_get(v, "n")));
    CHECK(json_bool(json_get(v, "b"), false));
    CHECK_EQ(json_i64(json_get(v, "i"), 0), -12);
    CHECK(json_get(v, "r")->real == 0.5);
    CHECK_STR(json_str(json_get(v, "s"), ""), "x");
    CHECK_EQ(json_get(v, "a")->list.count, 2);
    CHECK_EQ(json_get(v, "a")->list.last->integer, 2);
}

TEST(numbers_keep_their_kind)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK_EQ(parse(&mem, "9223372036854775807")->integer, INT64_MAX);
    CHECK_EQ(parse(&mem, "-9223372036854775808")->integer, INT64_MIN);
    CHECK_EQ(parse(&mem, "9223372036854775808")->kind, JSON_REAL);
    CHECK(parse(&mem, "9223372036854775808")->real == 0x1p63);
    CHECK_EQ(parse(&mem, "1.0")->kind, JSON_REAL);
    CHECK_EQ(parse(&mem, "1e3")->kind, JSON_REAL);
    CHECK(parse(&mem, "1e3")->real == 1000);
    CHECK(parse(&mem, "1e-400")->real == 0);
    CHECK(parse(&mem, "4.9e-324")->real == 4.9e-324);
    CHECK(parse(&mem, "1.7976931348623157e308")->real == 1.7976931348623157e308);
    CHECK(signbit(parse(&mem, "-0.0")->real));
}

TEST(reals_are_the_nearest_doubles)
{
    static const char *const texts[] = {
        "0.1",
        "123456789012345678",
        "9007199254740993.0",
        "1e22",
        "1e23",
        "2.5e-7",
        "8.41e21",
        "2.2250738585072011e-308",
        "0.000001",
        "179769313486231570e291",
        "9007199254740992.9999999999999999999999999999999999",
        "1e-22",
        "1e-23",
    };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        double number;

        CHECK(json_number(parse(&mem, texts[i]), &number));
        CHECK(number == strtod(texts[i], NULL));
    }
}

TEST(a_number_of_a_thousand_digits_is_rounded_correctly)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    buf_puts(&text, "0.");
    for (int i = 0; i < 2000; i++)
        buf_putc(&text, (char)('0' + i * 7 % 10));

    CHECK(parse(&mem, text.data)->real == strtod(text.data, NULL));
}

TEST(numbers_out_of_range_are_refused)
{
    refused("[1e400]", "line 1, column 6: this number is out of range");
    refused("-1e309", "out of range");
}

TEST(the_last_of_equal_keys_wins)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *v = parse(&mem, "{\"a\":1,\"b\":2,\"a\":[3],\"a\":4}");

    CHECK_EQ(v->list.count, 2);
    CHECK_STR(json_text(&mem, v), "{\"a\":4,\"b\":2}");
    CHECK_STR(v->list.last->key, "b");
}

TEST(equal_keys_are_found_in_large_objects_too)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 24);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *v;

    for (int i = 0; i < 20000; i++)
        buf_printf(&text, "%c\"k%d\":%d", i ? ',' : '{', i % 10000, i);
    buf_putc(&text, '}');
    v = parse(&mem, text.data);

    CHECK_EQ(v->list.count, 10000);
    CHECK_EQ(json_i64(json_get(v, "k7"), 0), 10007);
    CHECK_STR(v->list.first->key, "k0");
    CHECK_STR(v->list.last->key, "k9999");
}

TEST(escapes_are_decoded)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *v = parse(&mem, "\"\\u00e4\\n\\/\\ud83d\\ude00\\u0000x\"");

    CHECK_EQ(v->string.len, 10);
    CHECK_EQ(memcmp(v->string.text, "\xC3\xA4\n/\xF0\x9F\x98\x80\0x", 11), 0);
}

TEST(half_a_surrogate_pair_becomes_a_replacement)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);

    CHECK_STR(json_str(parse(&mem, "\"a\\udc00b\""), ""), "a\xEF\xBF\xBD"
                                                          "b");
    CHECK_STR(json_str(parse(&mem, "\"\\ud800\""), ""), "?");
    CHECK_STR(parse(&mem, "{\"\\udfff\":1}")->list.first->key, "\xEF\xBF\xBD");
}

TEST(a_long_escaped_string_is_read_whole)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    buf_putc(&text, '"');
    for (int i = 0; i < 50000; i++)
        buf_puts(&text, "\\u00e4");
    buf_putc(&text, '"');

    CHECK_EQ(parse(&mem, text.data)->string.len, 100000);
}

TEST(failures_say_line_and_column)
{
    refused("{\"a\": }", "line 1, column 7: unallowed token");
    refused("{\n  \"a\": 1,\n  \"b\" 2}", "line 3, column 7:");
    refused("[1, 2", "line 1, column 6: premature EOF");
    refused("", "line 1, column 1: premature EOF");
    refused("   ", "premature EOF");
    refused("[1] x", "line 1, column 5:");
    refused("nul", "line 1, column 4:");
    refused("{\"a\":1,}", "line 1, column 8:");
    refused("[01]", "line 1, column 3:");
    refused("'a'", "line 1, column 1:");
    refused("NaN", "line 1, column 1:");
    refused("\"a\tb\"", "line 1, column 3:");
    refused("// x\n1", "line 1, column 1:");
}

TEST(what_is_not_utf8_is_refused)
{
    refused("[\"a\xC3\"]", "line 1, column 4: this is not UTF-8");
    refused("\"\xC0\x80\"", "not UTF-8");
    refused("\"\xED\xA0\x80\"", "not UTF-8");
    refused("\"\xF5\x80\x80\x80\"", "not UTF-8");
    refused("\"12345678\xE2\x82", "not UTF-8");
    check_refused("\"\xF0\x9F\x98\x80\xF0", 6, "not UTF-8");
}

TEST(nul_bytes_are_refused_where_they_would_cut_text)
{
    check_refused("[1\0]", 4, "line 1, column 3:");
    refused("{\"a\\u0000b\":1}", "this key holds a NUL character");
}

TEST(nesting_is_limited)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *v = NULL;

    for (int i = 0; i < JSON_DEPTH; i++)
        buf_putc(&text, '[');
    for (int i = 0; i < JSON_DEPTH; i++)
        buf_putc(&text, ']');
    CHECK_OK(json_parse(text.data, text.len, &mem, &v, &test_err));

    buf_clear(&text);
    for (int i = 0; i < 100000; i++)
        buf_puts(&text, "{\"a\":[");
    refused(text.data, "nested too deeply");
}

TEST(lookups_chain_and_know_both_spellings)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *v =
        parse(&mem, "{\"a\":{\"b\":{\"c\":1}},\"totalBatches\":2,\"max_x\":3}");

    CHECK_EQ(json_i64(json_path(v, "a.b.c"), 0), 1);
    CHECK_NULL(json_path(v, "a.x.c"));
    CHECK_NULL(json_path(v, "a.b.c.d"));
    CHECK_NULL(json_get(json_get(v, "no"), "x"));
    CHECK_NULL(json_find(v, "total"));
    CHECK_NULL(json_find(NULL, "total"));
    CHECK_EQ(json_i64(json_find(v, "total_batches"), 0), 2);
    CHECK_EQ(json_i64(json_find(v, "maxX"), 0), 3);
    CHECK_EQ(json_i64(json_find(v, "max_x"), 0), 3);
}

TEST(values_of_another_kind_fall_back)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *v =
        parse(&mem, "[\"12\",12.0,12.5,\"x\",1e300,\"NaN\",\"-Infinity\",null]");
    struct json *at = v->list.first;
    double number = 0;

    CHECK_EQ(json_i64(at, 0), 12);
    CHECK(!json_number(at, &number));
    at = at->next;
    CHECK_EQ(json_i64(at, 0), 12);
    at = at->next;
    CHECK_EQ(json_i64(at, 7), 7);
    at = at->next;
    CHECK_EQ(json_i64(at, 7), 7);
    at = at->next;
    CHECK_EQ(json_i64(at, 7), 7);
    at = at->next;
    CHECK(json_number(at, &number));
    CHECK(isnan(number));
    at = at->next;
    CHECK(json_number(at, &number));
    CHECK(number == -INFINITY);
    CHECK_STR(json_str(at->next, "none"), "none");
    CHECK(!json_bool(at->next, false));
    CHECK_STR(json_kind_name(at->next->kind), "null");
}

TEST(equality_ignores_the_order_of_members)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *a = parse(&mem, "{\"a\":1,\"b\":[1,2.0,\"x\"],\"c\":null}");
    struct json *b = parse(&mem, "{\"c\":null,\"b\":[1.0,2,\"x\"],\"a\":1}");

    CHECK(json_equal(a, b));
    CHECK(json_equal(NULL, NULL));
    CHECK(!json_equal(a, NULL));
    CHECK(!json_equal(a, parse(&mem, "{\"a\":1,\"b\":[1,2,\"y\"],\"c\":null}")));
    CHECK(!json_equal(parse(&mem, "[1,2]"), parse(&mem, "[1]")));
    CHECK(
        !json_equal(parse(&mem, "9007199254740993"), parse(&mem, "9007199254740992")));
    CHECK(json_equal(parse(&mem, "92233372036854370"),
                     parse(&mem, "92233372036854370.0")));
}

TEST(trees_are_built_changed_and_copied)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct json *v = json_new(&mem, JSON_OBJECT);
    struct json *copy;

    json_set(&mem, v, "a", json_new_i64(&mem, 1));
    json_set(&mem, v, "b", json_new_str(&mem, "x"));
    json_set(&mem, v, "c",
             json_push(json_new(&mem, JSON_ARRAY), json_new_real(&mem, 2)));
    json_set(&mem, v, "a", json_new_bool(&mem, true));
    copy = json_copy(&mem, v);
    CHECK(json_remove(v, "c"));
    CHECK(!json_remove(v, "c"));
    json_set(&mem, v, "d", json_new_str(&mem, NULL));

    CHECK_STR(json_text(&mem, v), "{\"a\":true,\"b\":\"x\",\"d\":null}");
    CHECK_STR(json_text(&mem, copy), "{\"a\":true,\"b\":\"x\",\"c\":2}");
    CHECK_NULL(json_push(NULL, v));
    CHECK_NULL(json_set(&mem, v, "e", NULL));
    CHECK(!mem.has_failed);
}

TEST(parsing_survives_every_failed_allocation)
{
    static const char text[] =
        "{\"a\":[1,2.5,\"\\u00e4x\",null],\"b\":{\"c\":true},"
        "\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,"
        "\"8\":1,\"9\":1,\"10\":1,\"11\":1,\"12\":1,\"13\":1,"
        "\"14\":1,\"15\":1,\"16\":1}";

    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct json *value = NULL;
        det_status st = json_parse(text, strlen(text), &mem, &value, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(value == NULL, fault_fired());
    }
}

TEST(building_survives_every_failed_allocation)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct json *v = json_new(&mem, JSON_OBJECT);
        char *text;

        json_set(&mem, v, "a", json_new_str(&mem, "x"));
        json_set(&mem, v, "b", json_copy(&mem, v));
        text = json_text(&mem, v);

        CHECK_EQ(mem.has_failed, fault_fired());
        if (!fault_fired())
            CHECK_STR(text, "{\"a\":\"x\",\"b\":{\"a\":\"x\"}}");
    }
}

TEST(an_arena_that_is_too_small_is_an_ordinary_failure)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(512);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *value = NULL;

    buf_putc(&text, '[');
    for (int i = 0; i < 100; i++)
        buf_puts(&text, "1,");
    buf_puts(&text, "1]");

    CHECK_EQ(json_parse(text.data, text.len, &mem, &value, NULL), DET_NOMEM);
}

/* {"<letter>0": 0, "<letter>1": 1, ...}, or from the last to the first. */
static struct json *many_members(struct arena *mem, const char *letter, int count,
                                 bool is_backward)
{
    struct json *object = json_new(mem, JSON_OBJECT);

    for (int i = 0; i < count; i++) {
        int number = is_backward ? count - 1 - i : i;

        json_add(mem, object, arena_printf(mem, "%s%d", letter, number),
                 json_new_i64(mem, number));
    }
    return object;
}

/* One look at each member for each of the other object would take minutes. */
TEST(large_objects_merge_and_compare_at_once)
{
    enum { MANY = 1 << 18 };
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 30);
    struct json *into = json_new(&mem, JSON_OBJECT);
    struct json *from = many_members(&mem, "b", MANY, false);

    json_merge(&mem, into, many_members(&mem, "a", MANY, false));
    json_merge(&mem, into, many_members(&mem, "a", MANY, true));
    CHECK_EQ(into->list.count, (size_t)MANY);
    CHECK(json_equal(into, many_members(&mem, "a", MANY, true)));
    CHECK(!json_equal(into, from));
    json_merge(&mem, into, json_new(&mem, JSON_OBJECT));
    CHECK_EQ(into->list.count, (size_t)MANY);

    json_set(&mem, from, "a7", json_new_str(&mem, "new"));
    json_merge(&mem, into, from);
    CHECK_EQ(into->list.count, (size_t)2 * MANY);
    CHECK_STR(json_str(json_get(into, "a7"), ""), "new");
    CHECK_STR(into->list.first->key, "a0");
    CHECK_STR(into->list.last->key, arena_printf(&mem, "b%d", MANY - 1));
    CHECK(!mem.has_failed);
}

TEST(a_tree_may_borrow_the_long_strings_of_its_text)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 10);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *value = NULL;

    buf_printf(&text, "{\"a\":\"%030000d\",\"b\":\"short\",\"c\":\"\\n%01500d\"}", 0,
               0);

    CHECK_OK(json_parse_in_place(text.data, text.len, &mem, &value, &test_err));

    CHECK_EQ(json_get(value, "a")->string.len, 30000); /* more than the arena holds */
    CHECK_EQ(strlen(json_str(json_get(value, "a"), "")), 30000);
    CHECK(json_str(json_get(value, "a"), "") == text.data + 6);
    CHECK_STR(json_str(json_get(value, "b"), ""), "short");
    CHECK_EQ(json_get(value, "c")->string.len, 1501); /* decoded, so it is a copy */
    CHECK_EQ(json_str(json_get(value, "c"), "")[0], '\n');
}
