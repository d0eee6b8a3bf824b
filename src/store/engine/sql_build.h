/* SPDX-License-Identifier: Apache-2.0 */
/* sql_build.h - statements that are built at run time.
 *
 * A sticky builder: text with values that are bound in the order in which they were
 * added. */
#ifndef STORE_ENGINE_SQL_BUILD_H
#define STORE_ENGINE_SQL_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/buf.h"
#include "base/memory/vec.h"
#include "store/engine/db.h"

struct arena;
struct field;
struct field_i64s;

struct sql_build {
    struct buf text;
    struct arena *mem;
    VEC(const char *) strs;
    bool has_failed;
};
#define SQL_BUILD_INIT(arena)                                                          \
    {                                                                                  \
        .text = BUF_INIT, .mem = (arena)                                               \
    }
void sql_build_done(struct sql_build *b);
/* Adds `before` $n `after`.  Borrows the value. */
void sql_build_str(struct sql_build *b, const char *before, const char *value,
                   const char *after);
/* The same with a LIKE pattern that finds `part` anywhere. */
void sql_build_like(struct sql_build *b, const char *before, const char *part,
                    const char *after);
/* " AND what IN (1, 2, 3)"; nothing for an empty list. */
void sql_build_ids(struct sql_build *b, const char *what, const struct field_i64s *ids);
/* " AND what IN ('A', 'B')" for a bit set of named states; nothing for 0. */
void sql_build_states(struct sql_build *b, const char *what, const char *const *names,
                      uint32_t states);
/* The same without " AND ". */
void sql_build_state_list(struct sql_build *b, const char *what,
                          const char *const *names, uint32_t states);
/* "prefix.a, prefix.b, ..." */
void sql_build_columns(struct sql_build *b, const char *prefix,
                       const struct field *fields);
/* Makes a query of `head` and the text, with all values bound. */
struct db_query sql_build_query(struct sql_build *b, struct db *db, const char *head,
                                struct err *err);

#endif
