/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - rows and columns for people, and for other programs as CSV.
 *
 * A sticky builder: running out of memory is remembered in the arena (`has_failed`),
 * and the caller asks once.  Cells borrow; the table lives in its arena. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "cli/term.h"

struct arena;
struct buf;

enum { TABLE_COLUMNS = 16 };

enum table_align {
    TABLE_LEFT,
    TABLE_RIGHT,
    TABLE_FLEX, /* to the left, and cut when the terminal is too narrow */
};

struct table_column {
    const char *title; /* NULL: behind the last */
    enum table_align align;
};

struct table_cell {
    const char *text; /* NULL: empty */
    const char *raw;  /* what CSV shows instead; NULL: the same */
    enum term_color color;
};

struct table {
    struct arena *mem;
    struct table_column column[TABLE_COLUMNS];
    size_t columns;
    VEC(struct table_cell) cells; /* row after row */
};

/* Columns up to one without a title. */
void table_init(struct table *table, struct arena *mem,
                const struct table_column *columns);
void table_done(struct table *table);
/* Cells one after another; every `columns` cells are a row. */
void table_add(struct table *table, const char *text);
void table_add_colored(struct table *table, const char *text, enum term_color color);
void table_add_raw(struct table *table, const char *text, const char *raw);

/* Aligned, with a head; in colour only where `term` says so.  On a terminal that is too
 * narrow the last columns are left out and long texts cut. */
void table_print(const struct table *table, const struct term *term, struct buf *out);
/* RFC 4180, with a head of lower-case names. */
void table_csv(const struct table *table, struct buf *out);

#endif
