/* SPDX-License-Identifier: Apache-2.0 */
/* roster_cells.h - hyperparameters and metrics as columns of the table of experiments.
 *
 * An experiment has the hyperparameters of its best trial ("hp.net.depth") and the metrics
 * of that trial's best validation ("validation.loss").  Without a best trial these are the
 * first trial and its latest validation.  Each row holds its cells sorted by column.  Names of
 * columns and texts are held once for all rows.
 *
 * Values that no column can hold are left out: names above CELL_NAME_MOST bytes, objects
 * inside metrics, and columns beyond CELL_COLUMNS_MOST (has_cut_columns).  Texts are cut
 * to CELL_TEXT_MOST bytes. */
#ifndef STORE_ROSTER_ROSTER_CELLS_H
#define STORE_ROSTER_ROSTER_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"

struct arena;
struct roster;
struct roster_row;

enum {
    CELL_NAME_MOST = 255,
    CELL_TEXT_MOST = 255,
    CELL_COLUMNS_MOST = 10000, /* different names */
    CELL_ROW_MOST = 512,       /* cells of one experiment */
};

struct roster_cell {
    uint32_t column; /* place in `columns` */
    uint32_t text;   /* place in `texts` plus 1; 0: a number */
    double number;
};

struct roster_name {
    uint32_t place;
    uint32_t rank; /* of a text, see roster_rank_texts() */
    uint32_t len;
    bool has_text; /* of a column: at least one cell had a text */
    char name[];
};

struct roster_cells {
    VEC(struct roster_name *) columns;
    struct map by_column;
    VEC(struct roster_name *) texts;
    struct map by_text;
    size_t ranked;        /* texts that have a rank */
    size_t texts_most;    /* more texts: the roster is read again without unused ones */
    bool has_cut_columns; /* CELL_COLUMNS_MOST was reached */
};

/* Reads the cells of `row`; either text may be NULL, broken ones give no cells.  False: out
 * of memory. */
bool roster_read_cells(struct roster *roster, struct roster_row *row,
                       const char *hparams, const char *validation);
void roster_cells_done(struct roster_cells *cells);

/* NULL: the row has no value in this column. */
const struct roster_cell *roster_cell_at(const struct roster_row *row, uint32_t column);
/* The column of this name; NULL: none. */
const struct roster_name *roster_column(const struct roster *roster, const char *name);
/* Gives every text its rank, the order of their bytes. */
det_status roster_rank_texts(struct roster *roster, struct err *err);

#endif
