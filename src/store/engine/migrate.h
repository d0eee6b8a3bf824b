/* SPDX-License-Identifier: Apache-2.0 */
/* migrate.h - the schema, as a list of migrations; the build makes it from
 * migrations/. */
#ifndef STORE_ENGINE_MIGRATE_H
#define STORE_ENGINE_MIGRATE_H

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

/* The number of the last migration that was applied; 0: the database is new, and gets the
 * table that holds the number. */
det_status db_schema_number(struct db *db, int64_t *ret_number, struct err *err);
/* Applies the missing migrations up to number `upto`, in one transaction: after a
 * failure the earlier program still works.  Pass migration_count for all; tests stop
 * earlier.  DET_STATE: the database is newer
 * than this program. */
det_status db_migrate(struct db *db, uint32_t upto, struct err *err);
/* The same, of a database that is not new; writes nothing. */
det_status db_version(struct db *db, int64_t *ret_version, struct err *err);

#endif
