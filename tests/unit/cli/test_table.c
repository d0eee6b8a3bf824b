/* SPDX-License-Identifier: Apache-2.0 */

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
