/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/progress_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/buf.h"
#include "cli/output/term.h"

enum { REDRAW_US = 100 * 1000 };

#define ERASE_LINE "\r\033[K"

void progress_line_init(struct progress_line *line)
{
    struct term term = term_of(STDERR_FILENO);

    *line = (struct progress_line){.is_on = term.is_terminal && !term.is_dumb};
}

/* The terminal may have another width by now. */
static void draw_line(struct progress_line *line)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct term term = term_of(STDERR_FILENO);

    buf_puts(&out, ERASE_LINE);
    term_put(&out, line->text, term.width - 1); /* a full line would wrap */
    if (out.status)
        return;
    fputs(out.data, stderr);
    fflush(stderr);
    line->is_drawn = true;
}

void progress_line_set(struct progress_line *line, const char *fmt, ...)
{
    int64_t now_us = clock_mono_us(&clock_system);
    va_list args;

    if (!line->is_on)
        return;
    va_start(args, fmt);
    vsnprintf(line->text, sizeof(line->text), fmt, args);
    va_end(args);
    if (now_us < line->next_us)
        return;
    line->next_us = now_us + REDRAW_US;
    draw_line(line);
}

void progress_line_hide(struct progress_line *line)
{
    if (!line->is_drawn)
        return;
    fputs(ERASE_LINE, stderr);
    fflush(stderr);
    line->is_drawn = false;
}

void progress_line_show(struct progress_line *line)
{
    if (line->is_on && line->text[0] && !line->is_drawn)
        draw_line(line);
}

void progress_line_end(struct progress_line *line)
{
    progress_line_hide(line);
    line->text[0] = '\0';
    line->next_us = 0;
}
