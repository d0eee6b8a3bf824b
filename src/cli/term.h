/* SPDX-License-Identifier: Apache-2.0 */
/* term.h - what is known of where output goes, and how wide text is there. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct term {
    bool is_terminal;
    bool has_color; /* a terminal, and NO_COLOR is not set */
    size_t width;   /* columns; 80 where there is no terminal */
};

struct term term_of(int fd);

/* Columns that a text takes: combining marks 0, East Asian wide characters 2; bytes
 * that are not UTF-8 and control characters 1, as term_put() shows them. */
size_t term_width(const char *text);
/* Adds at most `width` columns of `text`; what is longer ends in "…".  Control
 * characters become '?', so that no name plays tricks on the terminal. */
void term_put(struct buf *out, const char *text, size_t width);

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
