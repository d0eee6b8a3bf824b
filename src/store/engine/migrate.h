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

/* Applies the missing migrations up to number `upto`, each in its own transaction.
 * Pass migration_count for all; tests stop earlier.  DET_STATE: the database is newer
 * than this program. */
det_status db_migrate(struct db *db, uint32_t upto, struct err *err);

#endif
