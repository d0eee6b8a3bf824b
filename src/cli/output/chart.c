/* SPDX-License-Identifier: Apache-2.0 */
/* chart.c - curves as braille dots.
 *
 *   loss (validation)
 *   0.9 ┤⢣
 *       ┤ ⠱⡀
 *   0.1 ┤  ⠈⠒⠤⣀⣀
 *       └────────
 *        100   900 batches
 *
 * Each character has 2 by 4 dots: the bits of U+2800.  A cell that two series touch
 * gets the colour of the later one. */
#include "cli/output/chart.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "cli/output/term.h"

enum { DOTS_X = 2, DOTS_Y = 4, PLOT_LEAST = 10, LABEL_MOST = 12 };

struct bounds {
    double x_min;
    double x_max;
    double y_min;
    double y_max;
    size_t points;
};

struct canvas {
    size_t columns;
    size_t rows;
    unsigned char *dots;  /* per cell: one bit per dot */
    unsigned char *color; /* enum term_color */
};

void chart_number(double value, char text[CHART_NUMBER])
{
    if (isnan(value))
        snprintf(text, CHART_NUMBER, "NaN");
    else
        snprintf(text, CHART_NUMBER, "%.6g", value);
}

/* Fewer digits, for the axes. */
static void axis_number(double value, char text[CHART_NUMBER])
{
    snprintf(text, CHART_NUMBER, "%.4g", value);
}

/* ---- placing points -------------------------------------------------------------- */

static struct bounds find_bounds(const struct chart *chart)
{
    struct bounds b = {INFINITY, -INFINITY, INFINITY, -INFINITY, 0};

    for (size_t s = 0; s < chart->count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            const struct chart_point *p = &chart->series[s].point[i];

            if (!isfinite(p->x) || !isfinite(p->y))
                continue;
            b.x_min = fmin(b.x_min, p->x);
            b.x_max = fmax(b.x_max, p->x);
            b.y_min = fmin(b.y_min, p->y);
            b.y_max = fmax(b.y_max, p->y);
            b.points++;
        }
    return b;
}

/* The dot of a value, 0 .. dots-1; the middle if min == max. */
static long dot_of(double value, double min, double max, size_t dots)
{
    /* halves: the span of two huge numbers would overflow; that of the smallest numbers
     * becomes 0 */
    double span = max / 2 - min / 2;

    if (!(span > 0))
        return (long)(dots / 2);
    return lround((value / 2 - min / 2) / span * (double)(dots - 1));
}

static void set_dot(struct canvas *canvas, long x, long y, enum term_color color)
{
    static const unsigned char bits[DOTS_Y][DOTS_X] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    size_t column = (size_t)x / DOTS_X;
    size_t row = (size_t)y / DOTS_Y;
    size_t cell = row * canvas->columns + column;

    assert(column < canvas->columns && row < canvas->rows);
    canvas->dots[cell] |= bits[(size_t)y % DOTS_Y][(size_t)x % DOTS_X];
    canvas->color[cell] = (unsigned char)color;
}

static void draw_line(struct canvas *canvas, const long from[2], const long to[2],
                      enum term_color color)
{
    long dx = to[0] - from[0], dy = to[1] - from[1];
    long steps = MAX(labs(dx), labs(dy));

    for (long i = 0; i <= steps; i++) {
        double share = steps ? (double)i / (double)steps : 0;

        set_dot(canvas, from[0] + lround(share * (double)dx),
                from[1] + lround(share * (double)dy), color);
    }
}

static void draw_series(struct canvas *canvas, const struct bounds *b,
                        const struct chart_series *series)
{
    size_t width = canvas->columns * DOTS_X, height = canvas->rows * DOTS_Y;
    long before[2];
    bool has_before = false;

    for (size_t i = 0; i < series->count; i++) {
        const struct chart_point *p = &series->point[i];
        long at[2];

        if (!isfinite(p->x) || !isfinite(p->y)) {
            has_before = false; /* a gap */
            continue;
        }
        at[0] = dot_of(p->x, b->x_min, b->x_max, width);
        at[1] = (long)height - 1 - dot_of(p->y, b->y_min, b->y_max, height);
        draw_line(canvas, has_before ? before : at, at, series->color);
        memcpy(before, at, sizeof(before));
        has_before = true;
    }
}

/* ---- printing -------------------------------------------------------------------- */

static void put_dots(struct buf *out, unsigned char dots)
{
    char text[3] = {(char)0xe2, (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f))};

    buf_add(out, text, sizeof(text));
}

static void put_row(const struct chart *chart, const struct canvas *canvas, size_t row,
                    struct buf *out)
{
    const unsigned char *dots = canvas->dots + row * canvas->columns;
    const unsigned char *color = canvas->color + row * canvas->columns;
    size_t end = canvas->columns;

    while (end && !dots[end - 1])
        end--;
    for (size_t c = 0; c < end; c++) {
        enum term_color on = chart->has_color && dots[c] ? color[c] : COLOR_NONE;

        if (!dots[c]) {
            buf_putc(out, ' ');
            continue;
        }
        buf_puts(out, term_color_on(on));
        put_dots(out, dots[c]);
        buf_puts(out, term_color_off(on));
    }
    buf_putc(out, '\n');
}

/* Numbers at the top, in the middle and at the bottom. */
static void y_label(const struct bounds *b, size_t row, size_t rows,
                    char text[CHART_NUMBER])
{
    double share = rows > 1 ? (double)row / (double)(rows - 1) : 0.5;

    text[0] = '\0';
    if (row == 0 || row == rows - 1 || row == rows / 2)
        axis_number(b->y_max * (1 - share) + b->y_min * share, text);
    if (!(b->y_max > b->y_min) && row != rows / 2)
        text[0] = '\0';
}

static size_t label_width(const struct bounds *b, size_t rows)
{
    char text[CHART_NUMBER];
    size_t width = 0;

    for (size_t row = 0; row < rows; row++) {
        y_label(b, row, rows, text);
        width = MAX(width, strlen(text));
    }
    return MIN(width, (size_t)LABEL_MOST);
}

static void put_x_axis(const struct chart *chart, const struct bounds *b, size_t indent,
                       size_t columns, struct buf *out)
{
    char from[CHART_NUMBER], to[CHART_NUMBER];
    size_t used;

    buf_printf(out, "%*s └", (int)indent, "");
    for (size_t c = 0; c < columns; c++)
        buf_puts(out, "─");
    axis_number(b->x_min, from);
    axis_number(b->x_max, to);
    buf_printf(out, "\n%*s  %s", (int)indent, "", from);
    used = strlen(from) + strlen(to);
    if (b->x_max > b->x_min)
        buf_printf(out, "%*s%s", used < columns ? (int)(columns - used) : 1, "", to);
    buf_printf(out, " %s\n", chart->x_name);
}

static void put_plot(const struct chart *chart, const struct bounds *b,
                     const struct canvas *canvas, struct buf *out)
{
    size_t indent = label_width(b, canvas->rows);
    char text[CHART_NUMBER];

    for (size_t row = 0; row < canvas->rows; row++) {
        y_label(b, row, canvas->rows, text);
        buf_printf(out, "%*s %s", (int)indent, text, *text ? "┤" : "│");
        put_row(chart, canvas, row, out);
    }
    put_x_axis(chart, b, indent, canvas->columns, out);
}

static void put_legend(const struct chart *chart, struct buf *out)
{
    for (size_t s = 0; s < chart->count; s++) {
        enum term_color color = chart->has_color ? chart->series[s].color : COLOR_NONE;

        buf_printf(out, "  %s━━%s %s\n", term_color_on(color), term_color_off(color),
                   chart->series[s].label);
    }
}

static det_status draw_canvas(const struct chart *chart, const struct bounds *b,
                              struct canvas *canvas, struct buf *out, struct err *err)
{
    size_t cells = canvas->columns * canvas->rows;
    bool has_room;

    canvas->dots = mem_alloc(cells);
    canvas->color = mem_alloc(cells);
    has_room = canvas->dots && canvas->color;
    if (has_room) {
        for (size_t s = 0; s < chart->count; s++)
            draw_series(canvas, b, &chart->series[s]);
        put_plot(chart, b, canvas, out);
        put_legend(chart, out);
    }
    mem_free(canvas->dots);
    mem_free(canvas->color);
    return has_room && !out->status ? DET_OK : err_default(err, DET_NOMEM);
}

det_status chart_draw(const struct chart *chart, struct buf *out, struct err *err)
{
    struct bounds b = find_bounds(chart);
    struct canvas canvas = {.rows = MAX(chart->height, (size_t)1)};
    size_t taken;

    buf_printf(out, "%s%s%s\n",
               term_color_on(chart->has_color ? COLOR_BOLD : COLOR_NONE), chart->title,
               term_color_off(chart->has_color ? COLOR_BOLD : COLOR_NONE));
    if (!b.points) {
        buf_puts(out, "  no numbers to draw yet\n");
        return out->status ? err_default(err, out->status) : DET_OK;
    }
    taken = label_width(&b, canvas.rows) + 2 + strlen(chart->x_name) + 1;
    canvas.columns =
        chart->width > taken + PLOT_LEAST ? chart->width - taken : PLOT_LEAST;
    return draw_canvas(chart, &b, &canvas, out, err);
}

void chart_spark(const double *point, size_t count, double top, struct buf *out)
{
    static const char *const steps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const double most = (double)ARRAY_LEN(steps) - 1;

    for (size_t i = 0; i < count; i++) {
        double share = top > 0 && point[i] > 0 ? MIN(point[i] / top, 1.0) : 0;

        buf_puts(out, isfinite(point[i]) ? steps[(size_t)lround(share * most)] : " ");
    }
}
