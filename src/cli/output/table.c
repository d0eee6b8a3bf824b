/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/table.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/output/term.h"

enum { GAP = 2, FLEX_LEAST = 8, FLEX_FAIR = 20, COLUMNS_LEAST = 3 };

void table_init(struct table *table, struct arena *mem,
                const struct table_column *columns)
{
    *table = (struct table){.mem = mem};
    while (columns->title) {
        assert(table->columns < TABLE_COLUMNS);
        table->column[table->columns++] = *columns++;
    }
}

void table_done(struct table *table)
{
    vec_done(&table->cells);
}

static void add_cell(struct table *table, struct table_cell cell)
{
    if (!vec_push(&table->cells, cell))
        table->mem->has_failed = true;
}

void table_add(struct table *table, const char *text)
{
    add_cell(table, (struct table_cell){.text = text});
}

void table_add_colored(struct table *table, const char *text, enum term_color color)
{
    add_cell(table, (struct table_cell){.text = text, .color = color});
}

void table_add_raw(struct table *table, const char *text, const char *raw)
{
    add_cell(table, (struct table_cell){.text = text, .raw = raw});
}

/* ---- for people ------------------------------------------------------------------ */

static const char *text_of(const struct table_cell *cell)
{
    return cell->text ? cell->text : "";
}

static void measure_columns(const struct table *table, size_t width[TABLE_COLUMNS])
{
    for (size_t c = 0; c < table->columns; c++)
        width[c] = term_width(table->column[c].title);
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t c = i % table->columns;

        width[c] = MAX(width[c], term_width(text_of(&table->cells.at[i])));
    }
}

/* How many columns fit on a terminal.  The last columns are dropped before names become
 * too short to read. */
static size_t count_fitting(const struct table *table, size_t most,
                            const size_t width[TABLE_COLUMNS])
{
    size_t total = 0, shown = 0;

    while (shown < table->columns) {
        bool is_flex = table->column[shown].align == TABLE_FLEX;

        total += (shown ? GAP : 0) +
                 (is_flex ? MIN(width[shown], (size_t)FLEX_FAIR) : width[shown]);
        if (total > most && shown >= COLUMNS_LEAST)
            break;
        shown++;
    }
    return shown;
}

static size_t widest_flex(const struct table *table, size_t shown,
                          const size_t width[TABLE_COLUMNS])
{
    size_t widest = shown;

    for (size_t c = 0; c < shown; c++)
        if (table->column[c].align == TABLE_FLEX && width[c] > FLEX_LEAST &&
            (widest == shown || width[c] > width[widest]))
            widest = c;
    return widest;
}

/* Narrows the widest flexible column until the row fits. */
static void shrink_columns(const struct table *table, size_t shown, size_t most,
                           size_t width[TABLE_COLUMNS])
{
    size_t total = GAP * (shown - 1);

    for (size_t c = 0; c < shown; c++)
        total += width[c];
    while (total > most) {
        size_t c = widest_flex(table, shown, width);

        if (c == shown)
            return;
        width[c]--;
        total--;
    }
}

static void put_spaces(struct buf *out, size_t count)
{
    while (count--)
        buf_putc(out, ' ');
}

static void put_cell(enum table_align align, const struct table_cell *cell,
                     size_t width, bool has_color, struct buf *out)
{
    enum term_color color = has_color ? cell->color : COLOR_NONE;
    size_t len = MIN(term_width(text_of(cell)), width);
    bool is_right = align == TABLE_RIGHT;

    if (is_right)
        put_spaces(out, width - len);
    buf_puts(out, term_color_on(color));
    term_put(out, text_of(cell), width);
    buf_puts(out, term_color_off(color));
    if (!is_right)
        put_spaces(out, width - len);
}

/* The first `shown` columns of each row. */
struct layout {
    const struct table *table;
    size_t shown;
    size_t width[TABLE_COLUMNS];
    bool has_color;
};

static void put_row(const struct layout *layout, const struct table_cell *cells,
                    struct buf *out)
{
    size_t end;

    for (size_t c = 0; c < layout->shown; c++) {
        if (c)
            put_spaces(out, GAP);
        put_cell(layout->table->column[c].align, &cells[c], layout->width[c],
                 layout->has_color, out);
    }
    for (end = out->len; end && out->data[end - 1] == ' ';)
        end--;
    buf_cut(out, end);
    buf_putc(out, '\n');
}

void table_print(const struct table *table, const struct term *term, struct buf *out)
{
    struct layout layout = {
        .table = table, .shown = table->columns, .has_color = term->has_color};
    struct table_cell head[TABLE_COLUMNS] = {0};

    assert(table->columns && table->cells.count % table->columns == 0);
    measure_columns(table, layout.width);
    if (term->is_terminal) {
        layout.shown = count_fitting(table, term->width, layout.width);
        shrink_columns(table, layout.shown, term->width, layout.width);
    }
    for (size_t c = 0; c < table->columns; c++)
        head[c] =
            (struct table_cell){.text = table->column[c].title, .color = COLOR_BOLD};
    put_row(&layout, head, out);
    for (size_t i = 0; i + table->columns <= table->cells.count; i += table->columns)
        put_row(&layout, &table->cells.at[i], out);
}

/* ---- for programs ---------------------------------------------------------------- */

void table_csv_field(struct buf *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        buf_puts(out, text);
        return;
    }
    buf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            buf_putc(out, '"');
        buf_putc(out, *text);
    }
    buf_putc(out, '"');
}

/* "Best metric" -> "best_metric" */
static void put_csv_title(struct buf *out, const char *title)
{
    for (; *title; title++)
        buf_putc(out, *title == ' ' ? '_' : (char)tolower((unsigned char)*title));
}

void table_csv(const struct table *table, struct buf *out)
{
    assert(table->columns && table->cells.count % table->columns == 0);
    for (size_t c = 0; c < table->columns; c++) {
        if (c)
            buf_putc(out, ',');
        put_csv_title(out, table->column[c].title);
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < table->cells.count; i++) {
        const struct table_cell *cell = &table->cells.at[i];

        if (i % table->columns)
            buf_putc(out, ',');
        table_csv_field(out, cell->raw ? cell->raw : text_of(cell));
        if (i % table->columns == table->columns - 1)
            buf_putc(out, '\n');
    }
}
