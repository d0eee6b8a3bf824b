/* SPDX-License-Identifier: Apache-2.0 */
#include "data/glob.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

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
        {"*a/*b", "xa/yc", false},
        {"**/*a/*b", "xa/yc/za/tb", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (glob_matches(rows[i].glob, rows[i].text) != rows[i].matches)
            fail_msg("'%s' against '%s'", rows[i].glob, rows[i].text);
}

TEST(a_pattern_without_a_slash_is_for_names)
{
    CHECK(glob_matches_file("*.pt", "model.pt"));
    CHECK(glob_matches_file("*.pt", "out/deep/model.pt"));
    CHECK(!glob_matches_file("/*.pt", "out/model.pt"));
    CHECK(glob_matches_file("/*.pt", "model.pt"));
    CHECK(glob_matches_file("out/*", "out/model.pt"));
    CHECK(!glob_matches_file("out/*", "model.pt"));
    CHECK(glob_matches_file("out/**", "out/deep/model.pt"));
}

TEST(many_stars_take_no_longer_than_few)
{
    static const char glob[] = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
    char text[256];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    CHECK(!glob_matches(glob, text));
}

TEST(many_folder_stars_take_no_longer_than_few)
{
    CLEANUP(buf_done) struct buf glob = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;

    for (size_t i = 0; i < 30; i++)
        buf_puts(&glob, "**/a*/");
    buf_puts(&glob, "b");
    for (size_t i = 0; i < 80; i++)
        buf_puts(&text, "a/");
    buf_puts(&text, "c");
    CHECK(!glob_matches(glob.data, text.data));
    text.data[text.len - 1] = 'b';
    CHECK(glob_matches(glob.data, text.data));
}
