/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/output/lines.h"

#include <string.h>

#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"

static size_t find_end(const char *bytes, size_t len)
{
    const char *feed = memchr(bytes, '\n', len);
    size_t until = feed ? (size_t)(feed - bytes) : len;
    const char *back = memchr(bytes, '\r', until);

    return back ? (size_t)(back - bytes) : until;
}

/* The last boundary of a character at or before the limit. */
static size_t cut_at_limit(const char *bytes)
{
    size_t cut = LINE_LIMIT;

    while (cut > LINE_LIMIT - 4 && ((unsigned char)bytes[cut] & 0xC0) == 0x80)
        cut--;
    return cut > LINE_LIMIT - 4 ? cut : LINE_LIMIT;
}

bool line_cut(const char *bytes, size_t len, bool is_last, struct line *ret_line)
{
    /* One byte more than the limit: the end of a line that just fits, or the first
     * byte of the next character. */
    size_t seen = len > LINE_LIMIT ? LINE_LIMIT + 1 : len;
    size_t end = find_end(bytes, seen);
    struct line line = {.text = bytes, .len = end, .taken = end + 1};

    if (len == 0)
        return false;
    if (end < seen && bytes[end] == '\r') {
        if (end + 1 == len && !is_last)
            return false;
        if (end + 1 < len && bytes[end + 1] == '\n')
            line.taken++;
        else
            line.is_blank = end == 0;
    } else if (end == seen && seen > LINE_LIMIT) {
        line.len = line.taken = cut_at_limit(bytes);
    } else if (end == seen) {
        line.taken = seen;
        if (!is_last)
            return false;
    }
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

void line_write(struct json_writer *w, const struct line *line, int64_t time_us,
                struct buf *scratch)
{
    buf_clear(scratch);
    line_clean(scratch, line->text, line->len);
    if (scratch->status)
        w->out->status = scratch->status;
    jw_array(w, NULL);
    jw_i64(w, NULL, time_us);
    jw_strn(w, NULL, scratch->data, scratch->len);
    jw_end_array(w);
}
