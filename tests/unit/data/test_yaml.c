/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/yaml/yaml.h"
#include "tests/support/test.h"

enum { ROOM = 1 << 26 };

static struct json *parse(struct arena *mem, const char *text)
{
    struct json *value = NULL;

    CHECK_OK(yaml_parse(text, strlen(text), "x.yaml", mem, &value, &test_err));
    return value;
}

static void reads_as(const char *yaml, const char *json)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);

    CHECK_STR(json_text(&mem, parse(&mem, yaml)), json);
}

static void check_refused(const char *text, size_t len, const char *sentence)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
    struct json *value = NULL;
    struct err err = {0};

    CHECK_EQ(yaml_parse(text, len, "x.yaml", &mem, &value, &err), DET_INVALID);
    CHECK_HAS(err.text, sentence);
    CHECK_NULL(value);
}

static void refused(const char *text, const char *sentence)
{
    check_refused(text, strlen(text), sentence);
}

TEST(scalars_follow_the_rules_of_yaml_1_1)
{
    static const char *const rows[][2] = {
        {"y", "true"},
        {"Y", "true"},
        {"n", "false"},
        {"N", "false"},
        {"yes", "true"},
        {"Yes", "true"},
        {"YES", "true"},
        {"no", "false"},
        {"on", "true"},
        {"On", "true"},
        {"off", "false"},
        {"true", "true"},
        {"TRUE", "true"},
        {"~", "null"},
        {"null", "null"},
        {"017", "15"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"0b11", "3"},
        {"1e3", "1000"},
        {"1E-4", "0.0001"},
        {"1_000", "1000"},
        {"12:30", "\"12:30\""},
        {".5", "0.5"},
        {"1.", "1"},
        {"2024-01-01", "\"2024-01-01\""},
        {"'1'", "\"1\""},
        {"1.0", "1"},
        {"+3", "3"},
        {"0777777777777777777777", "9223372036854776000"},
        {"=", "\"=\""},
        {"<<", "\"<<\""},
        {"1e", "\"1e\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        reads_as(rows[i][0], rows[i][1]);
}

TEST(further_scalars)
{
    static const char *const rows[][2] = {
        {"-0x10", "-16"},
        {"-0b11", "-3"},
        {"08", "8"},
        {"0", "0"},
        {"-0", "0"},
        {"0x", "\"0x\""},
        {"1_0.5", "10.5"},
        {"._5", "\"._5\""},
        {"_1", "\"_1\""},
        {"1e400", "\"1e400\""},
        {"18446744073709551615", "18446744073709552000"},
        {"18446744073709551616", "18446744073709552000"},
        {"9007199254740992", "9007199254740992"},
        {"+.5", "0.5"},
        {"-", "[null]"},
        {"oN", "\"oN\""},
        {"tRUE", "\"tRUE\""},
        {"\"y\"", "\"y\""},
        {"!!str 12", "\"12\""},
        {"!!float 3", "3"},
        {"!!int '3'", "3"},
        {"! 12", "\"12\""},
        {"!mine 12", "\"12\""},
        {"|\n  1\n", "\"1\\n\""},
        {"'a''b'", "\"a'b\""},
        {"'a''''b'", "\"a''b\""},
        {"a: ' x '''' \n  y\n\n\n  z '", "{\"a\":\" x '' y\\n\\nz \"}"},
        {"", "null"},
        {"# only a remark\n", "null"},
        {"---\n", "null"},
        {"a: 1\n---\n", "{\"a\":1}"},
        {"{\"a\":[1,\"\\/\\u00e4\"],\"b\":{}}", "{\"a\":[1,\"/\xC3\xA4\"],\"b\":{}}"},
        {"a: {\n}\n", "{\"a\":{}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        reads_as(rows[i][0], rows[i][1]);
}

TEST(keys_follow_the_same_rules)
{
    reads_as("n: 1", "{\"false\":1}");
    reads_as("y: 1", "{\"true\":1}");
    reads_as("on: 1", "{\"true\":1}");
    reads_as("1: 2", "{\"1\":2}");
    reads_as("1.5: 2", "{\"1.5\":2}");
    reads_as("true: 3", "{\"true\":3}");
    reads_as("'n': 1", "{\"n\":1}");
    reads_as("017: 1", "{\"15\":1}");
    reads_as("1e3: 1", "{\"1000\":1}");
    reads_as("1e6: 1", "{\"1e+06\":1}");
    reads_as("0.1: 1", "{\"0.1\":1}");
    reads_as("0.00001: 1", "{\"1e-05\":1}");
    reads_as(".inf: 1", "{\".inf\":1}");
    refused("~: 1", "x.yaml:1:1: a key must be");
    refused("? [a]\n: 1", "x.yaml:1:3: a key must be");
}

TEST(the_last_of_equal_keys_wins)
{
    reads_as("a: 1\na: 2", "{\"a\":2}");
    reads_as("n: 1\nfalse: 2\nb: 3", "{\"false\":2,\"b\":3}");
}

TEST(anchors_and_merge_keys_work)
{
    reads_as("a: &x {b: 1}\nc: *x", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}");
    reads_as("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2",
             "{\"a\":{\"b\":1},\"c\":{\"b\":1,\"d\":2}}");
    reads_as("a: &x {b: 1}\nc:\n  b: 2\n  <<: *x", "{\"a\":{\"b\":1},\"c\":{\"b\":2}}");
    reads_as("- &x {a: 1, b: 1}\n- &y {b: 2, c: 2}\n- {<<: [*x, *y], d: 3}",
             "[{\"a\":1,\"b\":1},{\"b\":2,\"c\":2},{\"b\":1,\"c\":2,\"a\":1,\"d\":3}]");
    reads_as("a: {<<: &x {b: 1}}\nc: *x", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}");
    reads_as("a: &x k\n*x : 1", "{\"a\":\"k\",\"k\":1}");
    reads_as("'<<': 1", "{\"<<\":1}");
    reads_as("a: &x {b: 1}\nc: {!!merge <<: *x}", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}");
    reads_as("a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}");
    refused("<<: 1", "x.yaml:1:5: a merge key needs a mapping");
    refused("<<: [1]", "x.yaml:1:6: a merge key needs a mapping");
    refused("a: *x", "x.yaml:1:4: there is no anchor 'x'");
    refused("a: &x [*x]", "this alias is inside its own anchor");
}

TEST(an_alias_is_a_copy)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
    struct json *v = parse(&mem, "a: &x {b: 1}\nc: *x");

    json_set(&mem, json_get(v, "c"), "b", json_new_i64(&mem, 2));

    CHECK_EQ(json_i64(json_path(v, "a.b"), 0), 1);
}

TEST(infinities_are_refused_with_their_place)
{
    refused("a: 1\nb: .inf", "x.yaml:2:4: infinities and NaN");
    refused("a: {lr: .nan}", "cannot be written as JSON: give 'lr' another value");
    refused("- -.Inf", "x.yaml:1:3: infinities and NaN");
    refused(".nan", "x.yaml:1:1: infinities and NaN");
}

TEST(values_know_where_they_stand)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
    struct json *v = parse(&mem, "a: 1\nb:\n  - x\n  - c: y\n");
    struct json *last = json_get(v, "b")->list.last;

    CHECK_EQ(json_get(v, "a")->line, 1);
    CHECK_EQ(json_get(v, "a")->column, 4);
    CHECK_EQ(json_get(v, "b")->list.first->line, 3);
    CHECK_EQ(json_get(v, "b")->list.first->column, 5);
    CHECK_EQ(last->line, 4);
    CHECK_EQ(json_get(last, "c")->column, 8);
}

TEST(failures_say_name_line_and_column)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
    struct json *value = NULL;
    struct err err = {0};

    refused("a: 1\n---\nb: 2", "x.yaml:2:1: a second document begins here");
    refused("- !!int abc", "x.yaml:1:3: the value is not of the kind");
    CHECK_EQ(yaml_parse("[", 1, NULL, &mem, &value, &err), DET_INVALID);
    CHECK_HAS(err.text, "line 2, column 1: ");
}

TEST(what_is_no_yaml_is_told_in_plain_words)
{
    static const char *const rows[][2] = {
        {"a:\n  b: 1\n c: 2\n",
         "3:2: this is not a key, or not indented like the others; "
         "the mapping begins in line 1"},
        {"a:\n  - 1\n  b: 2\n",
         "3:3: this is not an item, or not indented like the others; "
         "the list begins in line 2"},
        {"a: [1\nb: 2", "2:2: a ',' or a ']' is missing; the list begins in line 1"},
        {"a: {b: 1\n", "2:1: a ',' or a '}' is missing; the mapping begins in line 1"},
        {"a: 1\nb\nc: 1\n", "3:1: a ':' is missing; the key begins in line 2"},
        {"a: 1\nb: 'x\n", "3:1: a quote is missing; the quoted text begins in line 2"},
        {"a: \"x\n---\n", "2:1: a quote is missing; the quoted text begins in line 1"},
        {"a: b: c",
         "1:5: a ':' is not allowed here: put text that contains one in quotes, "
         "or look at the indentation"},
        {"a: b: |\n  \tx\n", "1:5: a ':' is not allowed here"},
        {"a: \"x\n\ty\\q\"", "2:3: there is no such escape"},
        {"a: - 1", "1:4: a list cannot begin here: put each '-' on a line of its own"},
        {"a: @x", "1:4: no value begins with this character: put it in quotes"},
        {"a: \"C:\\q\"", "1:7: there is no such escape: write \\\\ for a backslash"},
        {"a: \"\\ud83d\"", "1:7: there is no character of this number"},
        {"a: \"\\U00110000\"", "1:7: there is no character of this number"},
        {"a: [1, ]]", "1:9: "},
        {"a: !x!y 1", "1:4: found undefined tag handle"},
        {"a: 1\n\xC3\xA4: \x1b[1m", "2:4: a control character: write it as an escape"},
    };
    CLEANUP(buf_done) struct buf sentence = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&sentence);
        buf_printf(&sentence, "x.yaml:%s", rows[i][1]);
        refused(rows[i][0], sentence.data);
    }
}

/* Characters in two halves, keys of any length, tabs. */
TEST(json_is_read_even_where_it_is_no_yaml)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    reads_as("{\"a\": \"\\ud83d\\ude00\"}", "{\"a\":\"\xf0\x9f\x98\x80\"}");
    reads_as("{\n\t\"a\":\t1\n}", "{\"a\":1}");
    buf_puts(&text, "{\"");
    for (int i = 0; i < 2000; i++)
        buf_putc(&text, 'k');
    buf_puts(&text, "\":1}");
    reads_as(text.data, text.data);
}

TEST(a_tab_that_indents_is_named_where_it_stands)
{
    refused("a:\n\tb: 1\n", "x.yaml:2:1: there is a tab in the indentation");
    refused("a: x\n\tb: 3\n", "x.yaml:2:1: there is a tab in the indentation");
    refused("a:\n  b: 1\n  \tc: [\n", "x.yaml:3:3: there is a tab in the indentation");
    reads_as("a:\t1\n", "{\"a\":1}");
    refused("{\n\t\"a\": 1\n\t\"b\": 2\n}", "x.yaml:3:5: a ',' or a '}' is missing");
}

/* Each note as "line:column: text", one a line. */
static void notes(const char *text, const char *expected)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    const struct yaml_note *note = NULL;
    struct json *value = NULL;

    CHECK_OK(yaml_parse_noting(text, strlen(text), "x.yaml", &mem, &note, &value,
                               &test_err));
    for (; note; note = note->next)
        buf_printf(&out, "%u:%u: %s\n", note->line, note->column, note->text);
    CHECK_STR(out.data ? out.data : "", expected);
}

TEST(what_is_probably_not_meant_is_noted)
{
    notes(
        "hyper: {n: 5, m: 1}\nOn: 2\n",
        "1:9: the key n is read as 'false'; write \"n\" to have a key of that name\n"
        "2:1: the key On is read as 'true'; write \"On\" to have a key of that name\n");
    notes("a: 1\nb: {a: 2}\na: 3\n",
          "3:1: the key 'a' is repeated; the value in line 1 is ignored\n");
    notes("a: 1e999\nb: [-1e400]\n",
          "1:4: 1e999 is too large for a number, and is read as a string\n"
          "2:5: -1e400 is too large for a number, and is read as a string\n");
}

TEST(what_is_meant_is_not_noted)
{
    notes("", "");
    notes("\"n\": 1\ntrue: 2\na: n\nb: '1e999'\nc: 1e300\nd: 1-e\ne: -inf\n", "");
    notes("x: &x {a: 1}\nw: {<<: *x, a: 2}\nz: [{a: 1}, {a: 1}]\n", "");
}

/* All of it stands behind "- "; breaks and what is around them are folded. */
TEST(quoted_text_is_what_the_file_says)
{
    static const char *const rows[][2] = {
        {"'it''s'", "it's"},
        {"'a''''b'", "a''b"},
        {"''''", "'"},
        {"'a \t\n  b\n\n  c'", "a b\\nc"},
        {"'\\n'", "\\\\n"},
        {"\"q\n\n\n  xy\"", "q\\n\\nxy"},
        {"\"q\\\n  xy\"", "qxy"},
        {"\"q \\\n  xy\"", "q xy"},
        {"\"q\\\n\n  xy\\\n\n  zw\"", "q\\nxy\\nzw"},
        {"\"q\\\n\n\n\n  x n\"", "q\\n\\n\\nx n"},
        {"\"q\\\r\n\r\n  \r\n  x\"", "q\\n\\nx"},
        {"\"q\\\n  \\\n\n\n\n  xyz\"", "q\\n\\n\\nxyz"},
        {"\"abc\\\\\\\n  def\"", "abc\\\\def"},
        {"\"q\\ \n  w\"", "q  w"},
        {"\"q\\\t\n\n  w\"", "q\\t\\nw"},
        {"\"q\\\\\n\n\n  xy\"", "q\\\\\\n\\nxy"},
        {"\"a\n  \\  b\"", "a   b"},
        {"\"\\x41\\u00e9\\U0001F600\"", "A\xc3\xa9\xf0\x9f\x98\x80"},
        {"\"\\\"\\/\\\\\\a\\b\\t\\n\\v\\f\\r\\e\\_\"",
         "\\\"/\\\\\\u0007\\b\\t\\n\\u000b\\f\\r\\u001b\xc2\xa0"},
        {"\"\\N\\L\\P\\P\\P\\P\"",
         "\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa9\xe2\x80\xa9\xe2\x80\xa9"},
    };
    CLEANUP(buf_done) struct buf yaml = BUF_INIT;
    CLEANUP(buf_done) struct buf json = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&yaml);
        buf_clear(&json);
        buf_printf(&yaml, "- %s\n", rows[i][0]);
        buf_printf(&json, "[\"%s\"]", rows[i][1]);
        reads_as(yaml.data, json.data);
    }
}

TEST(text_in_a_block_is_indented_more_than_its_key)
{
    refused("a:\n  r: |\n  one\n    - 1\nn: 1\n",
            "a ':' is missing; the key begins in line 3");
    refused("a:\n  r: >\n\n  one\n", "a ':' is missing; the key begins in line 4");
    refused("- - |\n  one\n", "a ':' is missing; the key begins in line 2");
    reads_as("k:\n |\n v:\n  n: a\n", "{\"k\":\"v:\\n n: a\\n\"}");
    reads_as("k:\n |\n  v\n", "{\"k\":\"v\\n\"}");
    reads_as("- - |\n   one\n", "[[\"one\\n\"]]");
    reads_as("a:\n  r: |\n   one\n", "{\"a\":{\"r\":\"one\\n\"}}");
    reads_as("a:\n  r: |\n\n   one\n", "{\"a\":{\"r\":\"\\none\\n\"}}");
    reads_as("a:\n  r: |\nb: 1\n", "{\"a\":{\"r\":\"\"},\"b\":1}");
    reads_as("a:\n- |\n one\n", "{\"a\":[\"one\\n\"]}");
    reads_as("? r\n: |\n  x\n", "{\"r\":\"x\\n\"}");
}

TEST(hostile_bytes_are_refused)
{
    refused("a: \xC3", "x.yaml:1:4: this is not UTF-8");
    refused("a: 1\nb: \xED\xA0\x80", "x.yaml:2:4: this is not UTF-8");
    check_refused("a: 1\0b: 2", 9, "x.yaml:1:5: a NUL character");
    refused("\"a\\0\": 1", "this key holds a NUL character");
}

TEST(nesting_is_limited)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    for (int i = 0; i < 10000; i++)
        buf_putc(&text, '[');
    refused(text.data, "nested too deeply");
    buf_clear(&text);
    for (int i = 0; i < 10000; i++)
        buf_puts(&text, "- ");
    refused(text.data, "nested too deeply");
}

TEST(a_billion_laughs_end_with_a_sentence)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    buf_puts(&text, "a0: &a0 [lol]\n");
    for (int i = 1; i < 30; i++)
        buf_printf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
                   i - 1, i - 1);

    refused(text.data, "stand for more than 100000 values");
}

TEST(aliases_cannot_nest_beyond_the_limit)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    buf_puts(&text, "- &a0 [x]\n");
    for (int i = 1; i < 300; i++)
        buf_printf(&text, "- &a%d [*a%d]\n", i, i - 1);

    refused(text.data, "nested too deeply");
}

static void survives(const char *text)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
        struct json *value = NULL;
        det_status st = yaml_parse(text, strlen(text), "x", &mem, &value, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(value == NULL, fault_fired());
    }
}

static void survives_noting(const char *text)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
        const struct yaml_note *note = NULL;
        struct json *value = NULL;
        det_status st =
            yaml_parse_noting(text, strlen(text), "x", &mem, &note, &value, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(note == NULL, fault_fired());
    }
}

TEST(parsing_survives_every_failed_allocation)
{
    survives_noting("a: {n: 1, b: {c: 1e999}}\na: 2\n");
    survives("a: &x {b: 1, c: [2, z]}\nd:\n  <<: [*x, {q: !!str 1}]\n  e: *x\n");
    survives("{\"a\": \"\\ud83d\\ude00\"}"); /* as JSON */
    survives("");
}

static void writes_as(const char *json, const char *yaml)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ROOM);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json *value = NULL;

    CHECK_OK(json_parse(json, strlen(json), &mem, &value, &test_err));
    yaml_write(&out, value);
    CHECK_OK(out.status);
    CHECK_STR(out.data, yaml);
    CHECK(json_equal(parse(&mem, out.data), value));
}

TEST(trees_are_written_in_block_style)
{
    writes_as("{\"a\":1,\"b\":[1,[2,3],{\"c\":null,\"d\":{}}],\"e\":{\"f\":[]}}",
              "a: 1\nb:\n- 1\n- - 2\n  - 3\n- c: null\n  d: {}\ne:\n  f: []\n");
    writes_as("[]", "[]\n");
    writes_as("\"x\"", "x\n");
    writes_as("[true,0.5,1000.0,1e-7,1e21,-3]",
              "- true\n- 0.5\n- 1000.0\n- 1.0e-7\n- 1.0e+21\n- -3\n");
}

TEST(strings_are_quoted_where_they_would_change)
{
    static const char *const rows[][2] = {
        {"plain text", "plain text"},
        {"a/b.c-d_e", "a/b.c-d_e"},
        {"module:Class", "module:Class"},
        {"", "''"},
        {"y", "'y'"},
        {"no", "'no'"},
        {"null", "'null'"},
        {"017", "'017'"},
        {"1e3", "'1e3'"},
        {"2024-01-01", "'2024-01-01'"},
        {"12:30", "'12:30'"},
        {"a: b", "'a: b'"},
        {"a #b", "'a #b'"},
        {"a:", "'a:'"},
        {"it's", "it's"},
        {"'q'", "\"'q'\""},
        {" a", "' a'"},
        {"a ", "'a '"},
        {"- a", "'- a'"},
        {"{a}", "'{a}'"},
        {"*a", "'*a'"},
        {"a\\tb", "\"a\\tb\""},
        {"\\u0000\\u0085\\u2028\\ufeff", "\"\\u0000\\u0085\\u2028\\ufeff\""},
        {"\\u00e4", "\xC3\xA4"},
        {"a\\nb\\n", "|\n  a\n  b"},
        {"a\\n\\n  b", "|-\n  a\n\n    b"},
        {"a\\n\\n", "|+\n  a\n"},
        {"\\na", "\"\\na\""},
        {"a \\nb", "\"a \\nb\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_done) struct buf json = BUF_INIT;
        CLEANUP(buf_done) struct buf yaml = BUF_INIT;

        buf_printf(&json, "{\"k\":\"%s\"}", rows[i][0]);
        buf_printf(&yaml, "k: %s\n", rows[i][1]);
        writes_as(json.data, yaml.data);
    }
}

#define SHORT "thirty letters and two in a row_"
#define LONG  SHORT SHORT SHORT SHORT SHORT

TEST(keys_are_quoted_where_they_would_change)
{
    writes_as("{\"n\":1,\"1\":2,\"a b\":3,\"x\\ny\":4}",
              "'n': 1\n'1': 2\na b: 3\n\"x\\ny\": 4\n");
    writes_as("{\"" LONG "\":1,\"b\":{\"" LONG "\":[2],\"c\":[{\"" LONG
              "\":{\"d\":3}}]}}",
              "? " LONG "\n: 1\nb:\n  ? " LONG "\n  :\n  - 2\n  c:\n  - ? " LONG
              "\n    :\n      d: 3\n");
}
