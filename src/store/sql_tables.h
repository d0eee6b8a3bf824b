/* SPDX-License-Identifier: Apache-2.0 */
/* sql_tables.h - the SQL of every file of the store.
 *
 * A file lists its statements in one table; sql_tables.c lists the tables.  A test
 * prepares all of them. */
#ifndef STORE_SQL_TABLES_H
#define STORE_SQL_TABLES_H

#include <stddef.h>

#include "base/compiler.h"

struct sql;

struct sql_table {
    const struct sql *sql;
    size_t count;
};
#define SQL_TABLE(rows)                                                                \
    {                                                                                  \
        .sql = (rows), .count = ARRAY_LEN(rows)                                        \
    }
extern const struct sql_table *const sql_tables[]; /* ends with NULL */

#endif
