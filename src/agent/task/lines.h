/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - raw output, cut into lines of text.
 *
 * A line ends with "\n", "\r\n" or a "\r" alone (as progress bars end theirs); more
 * than LINE_LIMIT bytes without an end are cut between two characters.  Nothing is kept
 * from one call to the next, so that the same bytes always give the same lines. */
#ifndef AGENT_TASK_LINES_H
#define AGENT_TASK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct json_writer;

enum { LINE_LIMIT = 64 << 10 };

struct line {
    const char *text; /* into the bytes */
    size_t len;       /* without its end */
    size_t taken;     /* with it */
    bool is_blank;    /* nothing stood before a lone "\r": not worth storing */
};

/* The line at the start of `bytes`.  False: it has no end yet (a "\r" as the last byte
 * may become "\r\n").  With `is_last` nothing more will come, and what is there is a
 * line. */
bool line_cut(const char *bytes, size_t len, bool is_last, struct line *ret_line);

/* Adds text as UTF-8: each byte that is none, and NUL, becomes U+FFFD. */
void line_clean(struct buf *out, const char *text, size_t len);

/* The line as the master takes it: [time, text].  `scratch` is emptied and used. */
void line_write(struct json_writer *w, const struct line *line, int64_t time_us,
                struct buf *scratch);

#endif
