/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - whole records, and results that are lists. */
#ifndef STORE_ENGINE_ROW_H
#define STORE_ENGINE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/engine/db.h"

struct arena;
struct field;
struct field_i64s;

/* Binds the record's fields and runs the statement. */
det_status row_put(struct db *db, const struct sql *sql, const struct field *fields,
                   const void *record, struct err *err);
/* Reads the only row of a query whose parameters are bound.  *ret_found is false if
 * there is no row. */
det_status row_get(struct db_query *q, const struct field *fields, struct arena *mem,
                   void *record, bool *ret_found);
/* Reads all rows into an array of structs of `size` bytes in `mem`. */
struct row_list {
    void *at;
    uint32_t count;
};
det_status rows_get(struct db_query *q, const struct field *fields, size_t size,
                    struct arena *mem, struct row_list *ret_rows);
/* Reads a column of numbers. */
det_status numbers_get(struct db_query *q, struct arena *mem,
                       struct field_i64s *ret_ids);
/* Reads a column that names a state; 0 if the name is unknown. */
uint32_t row_state(struct db_query *q, const char *const *names, struct arena *mem);
/* Runs a statement that has one parameter, a number. */
det_status run_with_id(struct db *db, const struct sql *sql, int64_t id,
                       struct err *err);

#endif
