/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - cuts raw output into lines of text.
 *
 * A line ends with "\n", "\r\n" or a lone "\r" (as in progress bars); a line of more
 * than LINE_LIMIT bytes is cut between two characters.  No state is kept between calls,
 * so the same bytes always give the same lines. */
#ifndef AGENT_TASK_OUTPUT_LINES_H
#define AGENT_TASK_OUTPUT_LINES_H

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
    bool is_blank;    /* nothing before a lone "\r": not worth storing */
};

/* Returns the line at the start of `bytes`.  False: it has no end yet (a final "\r"
 * may become "\r\n").  With `is_last` nothing more will come, and the rest is a
 * line. */
bool line_cut(const char *bytes, size_t len, bool is_last, struct line *ret_line);

/* Adds text as UTF-8: each invalid byte, and NUL, becomes U+FFFD. */
void line_clean(struct buf *out, const char *text, size_t len);

/* Writes the line in the master's form: [time, text].  `scratch` is emptied and
 * used. */
void line_write(struct json_writer *w, const struct line *line, int64_t time_us,
                struct buf *scratch);

#endif
