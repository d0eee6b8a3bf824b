/* SPDX-License-Identifier: Apache-2.0 */
/* progress_line.h - one line at the bottom of the terminal that says how far something is.
 *
 * It is written to stderr, and only if that is a terminal which can erase a line; in pipes
 * and files nothing is written.  cli_flush() and cli_note() hide the line while they
 * print, so a command sets the line and prints as always.  A `struct progress_line` that
 * was not initialised (all 0) is off. */
#ifndef CLI_OUTPUT_PROGRESS_LINE_H
#define CLI_OUTPUT_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { PROGRESS_TEXT = 256 };

struct progress_line {
    bool is_on;      /* the terminal can show it */
    bool is_drawn;   /* it is on the screen now */
    int64_t next_us; /* not drawn anew before this time */
    char text[PROGRESS_TEXT];
};

/* Looks at stderr. */
void progress_line_init(struct progress_line *line);

/* Changes the text and draws it, at most ten times a second. */
void progress_line_set(struct progress_line *line, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
/* Takes it off the screen for other output; progress_line_show() brings it back. */
void progress_line_hide(struct progress_line *line);
void progress_line_show(struct progress_line *line);
/* Takes it off the screen and forgets the text. */
void progress_line_end(struct progress_line *line);

#endif
