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

TEST(globs_match_as_git_does)
{
    static const struct {
        const char *glob;
        const char *text;
        bool matches;
    } rows[] = {
        {"a", "a", true},
        {"a", "b", false},
        {"a", "ab", false},
        {"*", "abc", true},
        {"*", "a/b", false},
        {"*.pyc", "x.pyc", true},
        {"*.pyc", ".pyc", true},
        {"*.pyc", "x.py", false},
        {"a*c", "abbc", true},
        {"a*c", "ab", false},
        {"a*b*c", "axbxc", true},
        {"a?c", "abc", true},
        {"a?c", "a/c", false},
        {"a?c", "ac", false},
        {"[ab]", "a", true},
        {"[ab]", "c", false},
        {"[!ab]", "c", true},
        {"[^ab]", "a", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[]]", "]", true},
        {"[a", "[a", true},
        {"[!a]", "/", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a/b", "a/b", true},
        {"a/*", "a/b", true},
        {"a/*", "a/b/c", false},
        {"**/a", "a", true},
        {"**/a", "x/a", true},
        {"**/a", "x/y/a", true},
        {"**/a", "xa", false},
        {"a/**", "a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "ab", false},
        {"**", "a/b/c", true},
        {"a**b", "axxb", true},
        {"a**b", "a/b", false},
        {"", "", true},
        {"", "a", false},
        {"a*", "a", true},
        {"**/*.log", "x/y.log", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (ignore_glob(rows[i].glob, rows[i].text) != rows[i].matches)
            fail_msg("'%s' against '%s'", rows[i].glob, rows[i].text);
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
