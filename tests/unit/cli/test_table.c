/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/output/table.h"
#include "cli/output/term.h"
#include "tests/support/test.h"

static const struct table_column columns[] = {
    {"ID", TABLE_RIGHT}, {"NAME", TABLE_FLEX}, {"BEST METRIC", TABLE_LEFT}, {0}};

static void fill(struct table *table, struct arena *mem)
{
    table_init(table, mem, columns);
    table_add(table, "1");
    table_add(table, "a, \"b\"");
    table_add_raw(table, "0.1", "0.123456");
    table_add(table, "10");
    table_add(table, "a rather long name for a thing");
    table_add_colored(table, NULL, COLOR_RED);
}

static void check_print(struct term term, const char *expected)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct table table;

    fill(&table, &mem);
    table_print(&table, &term, &out);
    table_done(&table);

    CHECK_STR(out.data, expected);
}

TEST(columns_are_aligned_and_lines_end_without_blanks)
{
    check_print((struct term){.width = 20},
                "ID  NAME                            BEST METRIC\n"
                " 1  a, \"b\"                          0.1\n"
                "10  a rather long name for a thing\n");
}

TEST(only_a_terminal_cuts_long_texts)
{
    check_print((struct term){.is_terminal = true, .width = 30},
                "ID  NAME           BEST METRIC\n"
                " 1  a, \"b\"         0.1\n"
                "10  a rather lon…\n");
}

TEST(a_column_is_not_cut_below_its_least_width)
{
    check_print((struct term){.is_terminal = true, .width = 5},
                "ID  NAME      BEST METRIC\n"
                " 1  a, \"b\"    0.1\n"
                "10  a rathe…\n");
}

TEST(a_narrow_terminal_gets_fewer_columns)
{
    static const struct table_column five[] = {{"A", TABLE_LEFT}, {"B", TABLE_LEFT},
                                               {"C", TABLE_LEFT}, {"D", TABLE_LEFT},
                                               {"E", TABLE_LEFT}, {0}};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct term term = {.is_terminal = true, .width = 12};
    struct table table;

    table_init(&table, &mem, five);
    for (int i = 0; i < 5; i++)
        table_add(&table, "xx");
    table_print(&table, &term, &out);
    CHECK_STR(out.data, "A   B   C\nxx  xx  xx\n");
    buf_clear(&out);
    term.width = 4; /* three are always there */
    table_print(&table, &term, &out);
    CHECK_STR(out.data, "A   B   C\nxx  xx  xx\n");
    table_done(&table);
}

TEST(a_terminal_with_colours_gets_them)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct term term = {.is_terminal = true, .has_color = true, .width = 80};
    struct table table;

    table_init(&table, &mem, (const struct table_column[]){{"S", TABLE_LEFT}, {0}});
    table_add_colored(&table, "ERROR", COLOR_RED);
    table_print(&table, &term, &out);
    table_done(&table);

    CHECK_STR(out.data, "\033[1mS\033[0m\n\033[31mERROR\033[0m\n");
}

TEST(csv_is_quoted_where_it_must_be)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct table table;

    fill(&table, &mem);
    table_csv(&table, &out);
    table_done(&table);

    CHECK_STR(out.data, "id,name,best_metric\n"
                        "1,\"a, \"\"b\"\"\",0.123456\n"
                        "10,a rather long name for a thing,\n");
}

TEST(width_counts_columns_not_bytes)
{
    CHECK_EQ(term_width("abc"), 3);
    CHECK_EQ(term_width("näme"), 4);
    CHECK_EQ(term_width("日本"), 4);
    CHECK_EQ(term_width("e\xcc\x81"), 1); /* e and a combining accent */
    CHECK_EQ(term_width("\xff\x01"), 2);
}

TEST(control_characters_never_reach_the_terminal)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    term_put(&out, "a\033[31mb\nc\xffZ", SIZE_MAX);

    CHECK_STR(out.data, "a?[31mb c?Z");
}

TEST(wide_characters_are_cut_whole)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    term_put(&out, "日本語", 4);
    CHECK_STR(out.data, "日…");
    buf_clear(&out);
    term_put(&out, "日本", 4);
    CHECK_STR(out.data, "日本");
    buf_clear(&out);
    term_put(&out, "abc", 0);
    CHECK_STR(out.data, "");
}

TEST(without_memory_the_arena_remembers)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct term term = {.width = 80};
        struct table table;

        fill(&table, &mem);
        if (!mem.has_failed)
            table_print(&table, &term, &out);
        table_done(&table);
        CHECK_EQ(mem.has_failed || out.status, fault_fired());
    }
}

static void check_escape(enum term_escapes how, const char *text, size_t len,
                         const char *expected)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    term_escape(&out, text, len, how);
    CHECK_STR(out.data, expected);
    CHECK_EQ(term_is_harmless(text, len),
             !strcmp(text, expected) && strlen(text) == len);
}
#define CHECK_ESCAPE(how, text, expected)                                              \
    check_escape((how), (text), sizeof(text) - 1, (expected))

TEST(control_characters_are_written_out)
{
    CHECK_ESCAPE(TERM_PLAIN, "a\tb\nä…\xff", "a\tb\nä…\xff");
    CHECK_ESCAPE(TERM_PLAIN, "\033]0;title\007", "\\x1b]0;title\\x07");
    CHECK_ESCAPE(TERM_PLAIN, "one\rtwo\x7f\b", "one\\rtwo\\x7f\\x08");
    CHECK_ESCAPE(TERM_PLAIN, "a\0b", "a\\x00b");
    CHECK_ESCAPE(TERM_PLAIN,
                 "\xc2\x9b"
                 "2J"
                 "\x9b",
                 "\\x9b2J\\x9b"); /* CSI in one byte */
    CHECK_ESCAPE(TERM_PLAIN, "\033[31mred", "\\x1b[31mred");
    CHECK_ESCAPE(TERM_JSON, "\"\xc2\x9b\x7f\"", "\"\\u009b\\u007f\"");
}

TEST(a_bar_loses_its_control_sequences)
{
    char bar[] = "\033[1m3/9\033[0m ━━\b\b\033[K\tend\033[";

    term_strip(bar);

    CHECK_STR(bar, "3/9 ━━\tend");
}

TEST(of_escape_sequences_only_colours_pass)
{
    static const char *const harmful[] = {"\033[2J",   "\033[1A", "\033[6n", "\033[31",
                                          "\033[?25l", "\033c",   "\033"};

    check_escape(TERM_COLORS, "", 0, "");
    for (size_t i = 0; i < ARRAY_LEN(harmful); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;

        term_escape(&out, harmful[i], strlen(harmful[i]), TERM_COLORS);
        CHECK_NULL(strchr(out.data, '\033'));
    }
    for (size_t i = 0; i < 2; i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        const char *text = i ? "\033[m" : "\033[1;38;5;208mx\033[0m";

        term_escape(&out, text, strlen(text), TERM_COLORS);
        CHECK_STR(out.data, text);
    }
}
