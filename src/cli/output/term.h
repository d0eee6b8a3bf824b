/* SPDX-License-Identifier: Apache-2.0 */
/* term.h - the terminal of the output: colours, and the width of texts. */
#ifndef CLI_OUTPUT_TERM_H
#define CLI_OUTPUT_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct term {
    bool is_terminal;
    bool is_dumb;   /* it cannot move the cursor: TERM is "dumb" */
    bool has_color; /* a terminal that is not dumb, and NO_COLOR is not set */
    size_t width;   /* columns; 80 without a terminal */
    size_t height;  /* lines; 24 without a terminal */
};

struct term term_of(int fd);

/* The columns of a text: combining marks 0, East Asian wide characters 2, all others 1.
 * Invalid UTF-8 and control characters count as 1, as term_put() prints them. */
size_t term_width(const char *text);
/* Adds at most `width` columns of `text`; a longer text ends in "…".  Control characters
 * become '?': names must not send escape sequences to the terminal. */
void term_put(struct buf *out, const char *text, size_t width);

/* Adds the text with its control characters written out ("\x1b", "\r"), except line breaks
 * and tabs: it must not move the cursor, change the title or answer for the terminal. */
enum term_escapes {
    TERM_PLAIN,  /* all control characters */
    TERM_COLORS, /* except those that only set colours: our own, and those of logs */
    TERM_JSON,   /* as "\u001b" */
};
void term_escape(struct buf *out, const char *text, size_t len, enum term_escapes how);
/* Removes control sequences ("\x1b[2K") and control characters, in place. */
void term_strip(char *text);
/* Whether term_escape() would change nothing. */
bool term_is_harmless(const char *text, size_t len);

enum term_color {
    COLOR_NONE,
    COLOR_RED,
    COLOR_GREEN,
    COLOR_YELLOW,
    COLOR_BLUE,
    COLOR_MAGENTA,
    COLOR_CYAN,
    COLOR_DIM,
    COLOR_BOLD,
};
const char *term_color_on(enum term_color color); /* "" for COLOR_NONE */
const char *term_color_off(enum term_color color);

#endif
