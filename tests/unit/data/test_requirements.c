/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/memory/arena.h"
#include "data/requirements.h"
#include "tests/support/test.h"

static struct requirements parse(const char *text, struct arena *mem)
{
    struct requirements list = {0};
    struct err err = {0};

    CHECK_OK(requirements_parse(text, strlen(text), mem, &list, &err));
    return list;
}

TEST(comments_blanks_and_empty_lines_do_not_count)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    struct requirements list =
        parse("\xef\xbb\xbf# all\n\n  numpy >= 1.26  # fast\r\n\t\nurl#egg\n", &mem);

    CHECK_EQ(list.count, 2);
    CHECK_STR(list.at[0].text, "numpy >= 1.26");
    CHECK_EQ(list.at[0].line, 3);
    CHECK_STR(list.at[1].text, "url#egg");
}

TEST(a_backslash_continues_a_line)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    struct requirements list = parse("a==1 \\\n  --hash=x\nb \\", &mem);

    CHECK_EQ(list.count, 2);
    CHECK_STR(list.at[0].text, "a==1   --hash=x");
    CHECK_STR(list.at[1].text, "b \\");
    CHECK_EQ(list.at[1].line, 3);
}

TEST(options_are_told_from_packages)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    struct requirements list = parse("-r a.txt\n--requirement=b.txt\n-cc.txt\n"
                                     "--constraint d.txt\n-e .\n--find-links ./w\n"
                                     "--pre\n./x.whl\n--require-hashes\n",
                                     &mem);

    CHECK_EQ(list.count, 9);
    CHECK_EQ(list.at[0].kind, REQUIREMENT_INCLUDE);
    CHECK_STR(list.at[0].value, "a.txt");
    CHECK_EQ(list.at[1].kind, REQUIREMENT_INCLUDE);
    CHECK_STR(list.at[1].value, "b.txt");
    CHECK_EQ(list.at[2].kind, REQUIREMENT_CONSTRAINT);
    CHECK_STR(list.at[2].value, "c.txt");
    CHECK_STR(list.at[3].value, "d.txt");
    CHECK_EQ(list.at[4].kind, REQUIREMENT_EDITABLE);
    CHECK_EQ(list.at[5].kind, REQUIREMENT_OPTION);
    CHECK_STR(list.at[5].value, "./w");
    CHECK_STR(list.at[6].value, "");
    CHECK_EQ(list.at[7].kind, REQUIREMENT_PACKAGE);
    CHECK_STR(list.at[7].value, "./x.whl");
    CHECK_EQ(list.at[8].kind, REQUIREMENT_OPTION);
}

TEST(what_is_no_text_is_refused_with_its_line)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
    struct requirements list = {0};
    struct err err = {0};

    CHECK_EQ(requirements_parse("a\n\xff\n", 4, &mem, &list, &err), DET_INVALID);
    CHECK_STR(err.text, "line 2 is not text; expected UTF-8");
    CHECK_EQ(requirements_parse("a\0b", 3, &mem, &list, &err), DET_INVALID);
}

TEST(no_memory_is_an_ordinary_failure)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(65536);
        struct requirements list = {0};
        det_status st = requirements_parse("a\nb\n-r c\n", 9, &mem, &list, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(list.count, fault_fired() ? 0 : 3);
    }
}
