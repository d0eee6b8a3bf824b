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
        if (!line.is_hidden) {
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

static const struct {
    const char *bytes;
    const char *lines;
    const char *last;
    const char *live; /* what the line shows that has no end; NULL: nothing is said */
} bars[] = {
    {"10%\r20%\r", ">\r20%\r", "20%|>", "20%"},
    {"\r10%\r20%", ">\r20%", "20%|>", "20%"},
    {"\r10%\r20%\n", "20%|>", "20%|>", NULL},
    {"\r10%\r20%\r\n", "20%|>", "20%|>", NULL},
    {"\r10%\r20%\nend", "20%|>end", "20%|end|>", NULL},
    {"no bar", ">no bar", "no bar|>", NULL},
    /* blanks that cover what was there are no state of their own */
    {"\r100 of 100\r  9 \n", "  9|>", "  9|>", NULL},
    {"\r50%\r     \r", ">\r50%\r     \r", "50%|>", "50%"},
    {"\r50%\r     \rdone\n", "done|>", "done|>", NULL},
    {"\r50%\x1b[K\r\x1b[K", ">\r50%\x1b[K\r\x1b[K", "50%|>", "50%"},
    {"\r\r  \r", ">\r\r  \r", ">", NULL},
    /* Keras goes back twice */
    {"\r1/9\b\b\b\r2/9\b\b\b", ">\r2/9\b\b\b", "2/9|>", "2/9"},
    /* a bar below another one: down, print, up */
    {"\router 0\n\rinner 1\x1b[A\n\rinner 2\x1b[A", "outer 0|>\rinner 2\x1b[A",
     "outer 0|inner 2|>", "inner 2"},
    {"\rinner 2\x1b[A\router 1\n\rinner 0\x1b[A\n\n", "outer 1|inner 0|>",
     "outer 1|inner 0|>", NULL},
    {"\rlow 1\x1b[A\x1b[A\n\n\rlow 2\n", "low 2|>", "low 2|>", NULL},
};

TEST(a_line_that_is_rewritten_is_one_line_with_its_last_state)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    for (size_t i = 0; i < ARRAY_LEN(bars); i++) {
        struct line line;
        const char *rest;

        cut(&out, bars[i].bytes, false);
        CHECK_STR(out.data, bars[i].lines);
        rest =
            bars[i].bytes + strlen(bars[i].bytes) - strlen(strchr(out.data, '>') + 1);
        CHECK_EQ(line_live(rest, strlen(rest), &line), bars[i].live != NULL);
        if (bars[i].live) {
            CHECK_EQ(line.len, strlen(bars[i].live));
            CHECK(!memcmp(line.text, bars[i].live, line.len));
        }
        cut(&out, bars[i].bytes, true);
        CHECK_STR(out.data, bars[i].last);
    }
}

TEST(many_states_are_one_line_however_they_are_cut)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    size_t at = 0;
    size_t most = 0;
    struct line line;

    for (int i = 0; i <= 20000; i++)
        buf_printf(&bytes, "\r%5d of 20000", i);
    buf_putc(&bytes, '\n');
    for (size_t seen = 1; seen <= bytes.len; seen += seen + 97 > bytes.len ? 1 : 97)
        while (line_cut(bytes.data + at, seen - at, false, &line)) {
            at += line.taken;
            if (!line.is_hidden)
                buf_printf(&lines, "%.*s|", (int)line.len, line.text);
            most = MAX(most, seen - at);
        }

    CHECK_STR(lines.data, "20000 of 20000|");
    CHECK_EQ(at, bytes.len);
    CHECK(most < 200);
}

TEST(a_rewritten_line_that_is_too_long_is_cut)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(LINE_LIMIT + 9);
    struct line line;

    memset(bytes, 'x', LINE_LIMIT + 9);
    bytes[0] = '\r';
    CHECK(line_cut(bytes, LINE_LIMIT + 9, false, &line));
    CHECK_EQ(line.len, LINE_LIMIT - 1);
    CHECK_EQ(line.taken, LINE_LIMIT);
    memset(bytes + 4, '\r', LINE_LIMIT + 5);
    CHECK(line_cut(bytes, LINE_LIMIT + 9, false, &line));
    CHECK_EQ(line.len, 3);
    CHECK_EQ(line.taken, LINE_LIMIT + 1);
    CHECK(!line.is_hidden);
}

/* The new state begins so late that the cut between two characters lies before it. */
TEST(a_state_that_begins_at_the_limit_is_cut_after_its_begin)
{
    CLEANUP(mem_freep) char *bytes = mem_alloc(LINE_LIMIT + 9);
    struct line line;

    for (size_t begin = LINE_LIMIT - 3; begin <= LINE_LIMIT; begin++) {
        memset(bytes, 'x', begin);
        memcpy(bytes + begin - 4, "\x1b[A\n", 4);
        memset(bytes + begin, 0x80, LINE_LIMIT + 9 - begin);
        CHECK(line_cut(bytes, LINE_LIMIT + 9, false, &line));
        CHECK(line.len <= LINE_LIMIT);
        CHECK(line.taken > 0 && line.taken <= LINE_LIMIT);
        CHECK_EQ(line.is_hidden, !line.len);
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
