/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_calls.h - how test_matrix.c makes each call, such that it may be made again. */
#ifndef TESTS_API_MATRIX_CALLS_H
#define TESTS_API_MATRIX_CALLS_H

#include "tests/api/harness.h"

/* `path` and `body` are patterns of bed_fill().  A call that has an effect either names
 * something that refuses it after the rights were checked (`ok`), or is undone by the
 * administrator, or gets something fresh. */
struct matrix_call {
    const char *name; /* "create_user", "patch_user.admin" */
    const char
        *path; /* NULL: the route's, with the object as its first variable part */
    const char *body; /* NULL: {} */
    int ok;           /* the status if it is allowed; 0: any 2xx */
    int hidden;       /* the status if the object is hidden; 0: 404 */
    const char *show; /* of a list: this is in a reply that shows the object */
    /* ${fresh} is made by this before an allowed call. */
    void (*make)(struct bed *bed);
    const char *undo;  /* POST by the administrator after an allowed call */
    bool is_bulk;      /* the reply has the answer: results.0.error */
    const char *other; /* an error there that is not about rights */
    bool ends_session;
};

/* NULL: the defaults do. */
const struct matrix_call *matrix_call_find(const char *name);
/* How many there are, and the name of each. */
int matrix_call_count(void);
const char *matrix_call_name(int index);

#endif
