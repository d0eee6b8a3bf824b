/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/output/lines.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"
#define CURSOR_UP   "\x1b[A"

/* ---- states of a line ------------------------------------------------------------ */

struct states {
    size_t begin; /* of the last state with something to see, */
    size_t end;   /* and after it; both 0: no state has */
    size_t feed;  /* the end of the line, if it has one */
    bool has_feed;
    bool is_rewritten; /* there is more than one state */
};

/* The bytes of the escape sequence at `text`. */
static size_t escape_len(const char *text, size_t len)
{
    size_t at = 2;

    if (len < 2 || text[1] != '[')
        return MIN(len, (size_t)2);
    while (at < len && (text[at] < '@' || text[at] > '~'))
        at++;
    return MIN(at + 1, len);
}

/* Whether a terminal would show more than blanks. */
static bool is_visible(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        if (text[at] == '\x1b')
            at += escape_len(text + at, len - at);
        else if ((unsigned char)text[at] > ' ' && text[at] != '\x7f')
            return true;
        else
            at++;
    }
    return false;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t size = strlen(end);

    return len >= size && !memcmp(text + len - size, end, size);
}

/* Whether the feed at `at` only takes the cursor back down to where it was. */
static bool is_way_back(const char *bytes, size_t at)
{
    size_t feeds = 0;
    size_t ups = 0;

    while (feeds < at && bytes[at - feeds - 1] == '\n')
        feeds++;
    at -= feeds;
    while (ends_with(bytes, at, CURSOR_UP)) {
        at -= sizeof(CURSOR_UP) - 1;
        ups++;
    }
    return ups > feeds;
}

/* Where the state that starts at `begin` ends.  `feed` is the next "\n", or `len`. */
static size_t state_end(const char *bytes, size_t begin, size_t feed)
{
    const char *back = memchr(bytes + begin, '\r', feed - begin);

    return back ? (size_t)(back - bytes) : feed;
}

static size_t next_feed(const char *bytes, size_t from, size_t len)
{
    const char *feed = memchr(bytes + from, '\n', len - from);

    return feed ? (size_t)(feed - bytes) : len;
}

/* Looks at the line at the start of the bytes. */
static struct states find_states(const char *bytes, size_t len)
{
    struct states states = {0};
    size_t feed = next_feed(bytes, 0, len);
    size_t begin = 0;

    for (;;) {
        size_t end = state_end(bytes, begin, feed);

        if (is_visible(bytes + begin, end - begin)) {
            states.begin = begin;
            states.end = end;
        }
        if (end == len)
            return states;
        if (end == feed && !is_way_back(bytes, feed)) {
            states.feed = feed;
            states.has_feed = true;
            return states;
        }
        if (end == feed) {
            feed = next_feed(bytes, feed + 1, len);
            states.is_rewritten = true;
        } else if (end + 1 != feed || feed == len) { /* no "\r\n" */
            states.is_rewritten = true;
        }
        begin = end + 1;
    }
}

/* ---- lines ----------------------------------------------------------------------- */

/* The last state without the blanks with which it covers a longer one before it. */
static void set_text(const char *bytes, const struct states *states, struct line *line)
{
    static const char *const ends[] = {" ", "\t", "\b", CURSOR_UP, "\x1b[K", "\x1b[0K"};
    size_t len = states->end - states->begin;
    size_t i = 0;

    line->text = bytes + states->begin;
    while (i < ARRAY_LEN(ends)) {
        bool is_end = ends_with(line->text, len, ends[i]);

        len -= is_end ? strlen(ends[i]) : 0;
        i = is_end ? 0 : i + 1;
    }
    line->len = len;
}

/* The last boundary of a character at or before the limit. */
static size_t cut_at_limit(const char *bytes)
{
    size_t cut = LINE_LIMIT;

    while (cut > LINE_LIMIT - 4 && ((unsigned char)bytes[cut] & 0xC0) == 0x80)
        cut--;
    return cut > LINE_LIMIT - 4 ? cut : LINE_LIMIT;
}

static struct line whole_line(const char *bytes, const struct states *states)
{
    struct line line = {.text = bytes, .len = states->feed, .taken = states->feed + 1};

    if (states->is_rewritten)
        set_text(bytes, states, &line);
    else if (line.len && bytes[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* The line that the rest of the output is. */
static struct line last_line(const char *bytes, size_t len, const struct states *states)
{
    struct line line = {.text = bytes, .len = len, .taken = len};

    if (states->is_rewritten) {
        set_text(bytes, states, &line);
        line.is_hidden = !states->end;
    }
    return line;
}

/* A line that is too long: its text is cut, or there are only blanks after it. */
static struct line long_line(const char *bytes, size_t seen,
                             const struct states *states)
{
    size_t cut = cut_at_limit(bytes);
    struct line line = {.text = bytes, .len = cut, .taken = cut};

    if (!states->is_rewritten)
        return line;
    if (states->end < seen)
        return last_line(bytes, seen, states);
    if (cut < states->begin) /* it would cut the state before this one */
        line.taken = LINE_LIMIT;
    line.text += states->begin;
    line.len = line.taken - states->begin;
    line.is_hidden = !line.len;
    return line;
}

/* How many bytes a later state has overwritten.  The "\r" before that state stays. */
static size_t overwritten(const char *bytes, const struct states *states)
{
    return states->begin && bytes[states->begin - 1] == '\r' ? states->begin - 1 : 0;
}

bool line_cut(const char *bytes, size_t len, bool is_last, struct line *ret_line)
{
    /* One byte more than the limit: the end of a line that just fits, or the first
     * byte of the next character. */
    size_t seen = len > LINE_LIMIT ? LINE_LIMIT + 1 : len;
    struct states states = find_states(bytes, seen);
    size_t gone = overwritten(bytes, &states);

    if (len == 0)
        return false;
    if (states.has_feed)
        *ret_line = whole_line(bytes, &states);
    else if (is_last && len <= LINE_LIMIT)
        *ret_line = last_line(bytes, len, &states);
    else if (gone)
        *ret_line = (struct line){.text = bytes, .taken = gone, .is_hidden = true};
    else if (len > LINE_LIMIT)
        *ret_line = long_line(bytes, seen, &states);
    else
        return false;
    return true;
}

bool line_live(const char *bytes, size_t len, struct line *ret_line)
{
    struct states states = find_states(bytes, len);
    struct line line = {0};

    if (!states.is_rewritten || !states.end)
        return false;
    set_text(bytes, &states, &line);
    *ret_line = line;
    return true;
}

void line_clean(struct buf *out, const char *text, size_t len)
{
    size_t run = 0; /* the start of the bytes that need no change */
    size_t at = 0;

    while (at < len) {
        size_t good = text[at] ? utf8_char(text + at, len - at) : 0;

        if (good) {
            at += good;
            continue;
        }
        buf_add(out, text + run, at - run);
        buf_puts(out, REPLACEMENT);
        run = ++at;
    }
    buf_add(out, text + run, len - run);
}

void line_write(struct json_writer *w, const char *key, const struct line *line,
                int64_t time_us, struct buf *scratch)
{
    buf_clear(scratch);
    line_clean(scratch, line->text, line->len);
    if (scratch->status)
        w->out->status = scratch->status;
    jw_array(w, key);
    jw_i64(w, NULL, time_us);
    jw_strn(w, NULL, scratch->data, scratch->len);
    jw_end_array(w);
}
