/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - tables as text for people and as CSV for programs.
 *
 * A sticky builder: when memory runs out, the arena remembers it (`has_failed`) and the
 * caller checks once.  Cells borrow their texts. */
#ifndef CLI_OUTPUT_TABLE_H
#define CLI_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory/vec.h"
#include "cli/output/term.h"

struct arena;
struct buf;

enum { TABLE_COLUMNS = 16 };

enum table_align {
    TABLE_LEFT,
    TABLE_RIGHT,
    TABLE_FLEX, /* left, and cut when the terminal is too narrow */
};

struct table_column {
    const char *title; /* NULL: end of the list */
    enum table_align align;
};

struct table_cell {
    const char *text; /* NULL: empty */
    const char *raw;  /* the text in CSV; NULL: the same */
    enum term_color color;
};

struct table {
    struct arena *mem;
    struct table_column column[TABLE_COLUMNS];
    size_t columns;
    VEC(struct table_cell) cells; /* row by row */
};

/* `columns` ends with one without a title; at most TABLE_COLUMNS. */
void table_init(struct table *table, struct arena *mem,
                const struct table_column *columns);
void table_done(struct table *table);
/* Adds the next cell.  Every `columns` cells are a row. */
void table_add(struct table *table, const char *text);
void table_add_colored(struct table *table, const char *text, enum term_color color);
void table_add_raw(struct table *table, const char *text, const char *raw);

/* Aligned, with a header line; in colour if `term` has it.  On a narrow terminal the last
 * columns are left out and long texts are cut. */
void table_print(const struct table *table, const struct term *term, struct buf *out);
/* One field of CSV, in quotes if it needs them (RFC 4180). */
void table_csv_field(struct buf *out, const char *text);
/* RFC 4180, with a header of lower-case names. */
void table_csv(const struct table *table, struct buf *out);

#endif
