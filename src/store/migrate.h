/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.h - how the schema came to be; the table is made from migrations/ by the
 * build. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include <stdint.h>

#include "base/err.h"

struct db;

struct migration {
    uint32_t number; /* 1, 2, 3, ... */
    const char *name;
    const char *text;
};

extern const struct migration migrations[];
extern const uint32_t migration_count;

/* Brings the database up to number `upto` (tests stop early; migration_count: all of
 * it), each migration in a transaction of its own.  DET_STATE when the database is
 * ahead of this program. */
det_status db_migrate(struct db *db, uint32_t upto, struct err *err);

#endif
