/* SPDX-License-Identifier: Apache-2.0 */
/* The members of an object as stretches of its text. */
#include "data/json/json_walk.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

/* "key=value;" for each; false: it is broken. */
static bool walk_all(const char *text, size_t len, struct buf *out)
{
    struct json_walk walk = json_walk_begin(text, len);
    struct json_part part;

    buf_clear(out);
    while (json_walk_next(&walk, &part))
        buf_printf(out, "%.*s=%.*s;", (int)part.key_len, part.key, (int)part.value_len,
                   part.value);
    return !walk.is_broken;
}

#define CHECK_WALK(text_, expect_)                                                     \
    do {                                                                               \
        CHECK(walk_all(text_, strlen(text_), &out));                                   \
        CHECK_STR(out.data, expect_);                                                  \
    } while (0)

TEST(members_come_as_they_are_written)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    CHECK_WALK("{}", "");
    CHECK_WALK("{\"a\":1}", "a=1;");
    CHECK_WALK(" { \"a\" : -1.5e3 , \"b\" : \"x,}\" ,\n\"c\":null }",
               "a=-1.5e3;b=\"x,}\";c=null;");
    CHECK_WALK("{\"n\":{\"a\":[1,\"]}\"],\"b\":{}},\"k\\\"q\":[]}",
               "n={\"a\":[1,\"]}\"],\"b\":{}};k\\\"q=[];");
}

TEST(what_is_broken_ends_the_walk_inside_the_text)
{
    static const char *const broken[] = {
        "",         "[]",       "{",     "{\"a",       "{\"a\"",    "{\"a\":",
        "{\"a\":}", "{\"a\":1", "{a:1}", "{\"a\":1 2", "{\"a\":[1", "{,}"};
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        CHECK(!walk_all(broken[i], strlen(broken[i]), &out));
}

TEST(a_text_that_is_cut_anywhere_is_broken)
{
    static const char text[] = "{\"a\":{\"b\":[1,2]},\"c\":\"d\\\"\",\"e\":0.5}";
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    for (size_t len = 0; len < strlen(text); len++) {
        CLEANUP(buf_done) struct buf cut = BUF_INIT; /* so that a sanitizer sees */

        buf_add(&cut, text, len);
        CHECK(!walk_all(cut.data, len, &out));
    }
    CHECK_WALK(text, "a={\"b\":[1,2]};c=\"d\\\"\";e=0.5;");
}
