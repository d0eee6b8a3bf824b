/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h - tests/api/rights.matrix in memory; the file says what it means. */
#ifndef TESTS_SUPPORT_MATRIX_H
#define TESTS_SUPPORT_MATRIX_H

#include "wire/rights.h"

enum matrix_cell {
    CELL_YES,
    CELL_HID,
    CELL_401,
    CELL_403,
    CELL_404,
};
extern const char *const matrix_cell_names[];

enum {
    MATRIX_BASIC = 14,
    MATRIX_RBAC = 20,
    MATRIX_COLUMNS = MATRIX_BASIC + MATRIX_RBAC
};
/* "basic own": first all of mode basic, then all of mode rbac. */
extern const char *const matrix_columns[MATRIX_COLUMNS];

struct matrix_line {
    int number; /* in the file */
    const struct route *route;
    const char *field;  /* of the body; NULL: the call itself */
    enum route_who who; /* of the route, or of the rule for the field */
    enum permission permission;
    enum route_object how;    /* none, list, named, or the kind in the path */
    enum route_object object; /* its kind; of a list, of what it lists */
    enum matrix_cell cell[MATRIX_COLUMNS];
};

struct matrix {
    struct matrix_line line[ROUTE_COUNT + 64];
    int count;
};

/* Reads the file.  The test fails if the file is wrong: a call or field without a line, a line
 * without a call, two lines for one, an object that is not the route's, or an unknown word. */
void matrix_read(struct matrix *ret_matrix);

#endif
