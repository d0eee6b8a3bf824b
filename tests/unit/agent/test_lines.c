/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/task/output/lines.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "tests/support/test.h"

/* All lines of `bytes`, each followed by '|'; what is left without an end after '>'. */
static void cut(struct buf *out, const char *bytes, bool is_last)
{
    size_t len = strlen(bytes);
    size_t at = 0;
    struct line line;

    buf_clear(out);
    while (line_cut(bytes + at, len - at, is_last, &line)) {
        if (!line.is_blank) {
            buf_add(out, line.text, line.len);
            buf_putc(out, '|');
        }
        at += line.taken;
    }
    buf_putc(out, '>');
    buf_puts(out, bytes + at);
}

static const struct {
    const char *bytes;
    const char *lines;
    const char *last; /* when nothing more comes */
} table[] = {
    {"", ">", ">"},
    {"a\nb\n", "a|b|>", "a|b|>"},
    {"a\n\nb", "a||>b", "a||b|>"},
    {"a\r\nb\r\n", "a|b|>", "a|b|>"},
    {"10%\r20%\r", "10%|>20%\r", "10%|20%|>"},
    {"\r10%\r20%\n", "10%|20%|>", "10%|20%|>"},
    {"a\r", ">a\r", "a|>"},
    {"\r\n", "|>", "|>"},
    {"no end", ">no end", "no end|>"},
};

TEST(lines_end_with_a_feed_a_return_or_both)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        cut(&out, table[i].bytes, false);
        CHECK_STR(out.data, table[i].lines);
        cut(&out, table[i].bytes, true);
        CHECK_STR(out.data, table[i].last);
    }
}

TEST(a_line_of_just_the_limit_is_one_line)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(LINE_LIMIT + 2);
    struct line line;

    memset(bytes, 'x', LINE_LIMIT);
    bytes[LINE_LIMIT] = '\n';

    CHECK(line_cut(bytes, LINE_LIMIT + 1, false, &line));
    CHECK_EQ(line.len, LINE_LIMIT);
    CHECK_EQ(line.taken, LINE_LIMIT + 1);
    CHECK(!line_cut(bytes, LINE_LIMIT, false, &line));
}

TEST(a_longer_one_is_cut_between_two_characters)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(LINE_LIMIT + 10);
    struct line line;

    memset(bytes, 'x', LINE_LIMIT + 9);
    memcpy(bytes + LINE_LIMIT - 1, "\xE2\x82\xAC", 3); /* a euro across the limit */

    CHECK(line_cut(bytes, LINE_LIMIT + 9, false, &line));
    CHECK_EQ(line.len, LINE_LIMIT - 1);
    CHECK_EQ(line.taken, LINE_LIMIT - 1);

    memset(bytes, 0x80, LINE_LIMIT + 9); /* no characters at all */
    CHECK(line_cut(bytes, LINE_LIMIT + 9, false, &line));
    CHECK_EQ(line.taken, LINE_LIMIT);
}

TEST(what_is_no_text_is_replaced)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    line_clean(&out,
               "a\xFF"
               "b\0c\xC3\xA4\xE2\x82",
               9);

    CHECK_STR(out.data, "a\uFFFDb\uFFFDc\u00E4\uFFFD\uFFFD");
}
