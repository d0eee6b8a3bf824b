/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_copy.h - a copy of the database before it is upgraded, to go back to the
 * earlier program: DIRECTORY/det.db.schema-NN.
 *
 * Only the copy of the latest upgrade is kept.  Nothing is copied without room for
 * it. */
#ifndef STORE_ENGINE_UPGRADE_COPY_H
#define STORE_ENGINE_UPGRADE_COPY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/memory/buf.h"

struct db;
struct io;

struct upgrade_copy {
    bool is_kept;
    struct buf sentence; /* what is upgraded, and what of the copy; empty: nothing */
};

/* Does nothing if the database is new, or needs no upgrade. */
det_status upgrade_copy_keep(struct io *io, const char *directory, struct db *db,
                             struct upgrade_copy *copy, struct err *err);

#endif
