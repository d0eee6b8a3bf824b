/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - cuts raw output into lines of text.
 *
 * A line ends with "\n" or "\r\n"; a line of more than LINE_LIMIT bytes is cut between
 * two characters.  A lone "\r" takes the cursor back to the start of the line, so a
 * progress bar is one line with many *states*:
 *
 *   \r 10% \r 20% \r 30% \n
 *
 * The line's text is its last state with something to see.  Earlier states can be
 * dropped before the line has ended (`is_hidden`); the last one stays with the "\r"
 * before it, so the bytes alone tell that the line is being rewritten.  Bars below one
 * another print "\n", the bar and "\x1b[A" (one line up): such a "\n" goes back to the
 * same line and ends nothing.
 *
 * No state is kept between calls, so the same bytes always give the same lines. */
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
    size_t taken;     /* bytes that are done with, from the start of `bytes` */
    bool is_hidden;   /* no line, only bytes that a later state has overwritten */
};

/* Returns the line, or the overwritten states, at the start of `bytes`.  False: there
 * is neither yet (a final "\r" may become "\r\n").  With `is_last` nothing more will
 * come, and the rest is a line. */
bool line_cut(const char *bytes, size_t len, bool is_last, struct line *ret_line);

/* After line_cut() returned false: the present state of a line that is being
 * rewritten; its `taken` is 0.  False: the line is not being rewritten, or shows
 * nothing. */
bool line_live(const char *bytes, size_t len, struct line *ret_line);

/* Adds text as UTF-8: each invalid byte, and NUL, becomes U+FFFD. */
void line_clean(struct buf *out, const char *text, size_t len);

/* Writes the line in the master's form: [time, text].  `scratch` is emptied and
 * used. */
void line_write(struct json_writer *w, const char *key, const struct line *line,
                int64_t time_us, struct buf *scratch);

#endif
