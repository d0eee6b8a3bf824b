/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "base/memory/arena.h"
#include "cli/create/ignore.h"
#include "tests/support/test.h"

static bool ignores(const char *text, const char *path, bool is_folder)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct ignore ignore;

    CHECK_OK(ignore_parse(text, strlen(text), &mem, &ignore, &test_err));
    return ignore_matches(&ignore, path, is_folder);
}

TEST(a_name_is_ignored_at_any_depth)
{
    CHECK(ignores("*.pyc\n", "a.pyc", false));
    CHECK(ignores("*.pyc\n", "x/y/a.pyc", false));
    CHECK(!ignores("*.pyc\n", "a.py", false));
    CHECK(ignores("data", "data", true));
    CHECK(ignores("data", "deep/data", false));
}

TEST(a_slash_ties_a_pattern_to_the_folder)
{
    CHECK(ignores("/data\n", "data", true));
    CHECK(!ignores("/data\n", "x/data", true));
    CHECK(ignores("a/b\n", "a/b", false));
    CHECK(!ignores("a/b\n", "x/a/b", false));
}

TEST(a_slash_at_the_end_means_folders_only)
{
    CHECK(ignores("data/\n", "data", true));
    CHECK(ignores("data/\n", "x/data", true));
    CHECK(!ignores("data/\n", "data", false));
    CHECK(ignores("/a/b/\n", "a/b", true));
}

TEST(the_last_line_that_matches_decides)
{
    CHECK(!ignores("*.csv\n!keep.csv\n", "keep.csv", false));
    CHECK(ignores("*.csv\n!keep.csv\n", "other.csv", false));
    CHECK(ignores("!keep.csv\n*.csv\n", "keep.csv", false));
}

TEST(comments_blanks_and_odd_endings_do_not_count)
{
    CHECK(!ignores("# data\n\n   \n", "data", false));
    CHECK(ignores("data  \n", "data", false));
    CHECK(ignores("data\r\n", "data", false));
    CHECK(ignores("\\#data\n", "#data", false));
    CHECK(ignores("\\!data\n", "!data", false));
    CHECK(ignores("data", "data", false));
    CHECK(!ignores("", "data", false));
    CHECK(!ignores("/\n!\n!/\n", "data", true));
}

TEST(without_memory_nothing_is_parsed)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct ignore ignore = {0};
        det_status st = ignore_parse("a\nb\n", 4, &mem, &ignore, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(ignore.count, fault_fired() ? 0 : 2);
    }
}
