/* SPDX-License-Identifier: Apache-2.0 */
/* inventory.h - one backup in a vault: which files, made of which chunks.
 *
 * DIR/backups/ID.json is a line of JSON and, on a second line, the SHA-256 sum of the
 * first.  It is written in one step (io_replace()) after its chunks are durable: a backup
 * exists if and only if its inventory does.  The id is the time at which it began, in UTC:
 * 20261117T041349Z. */
#ifndef STORE_BACKUP_INVENTORY_H
#define STORE_BACKUP_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;

struct inventory_file {
    const char *path; /* in the data directory */
    uint32_t mode;
    int64_t modified_us;
    uint64_t size_bytes;
    const unsigned char *sums; /* of its chunks, one after the other */
    size_t chunks;
};

struct inventory {
    const char *id;
    int64_t time_us; /* when it was complete: it holds what was committed before */
    const char *cluster_id;
    int64_t schema;      /* of the database */
    const char *version; /* of the program that made it */
    const char *data_dir;
    bool has_checkpoints;
    uint64_t new_bytes; /* what it added to the vault */
    struct inventory_file *file;
    size_t files;
};

enum { INVENTORY_ID = 24 };
/* A time as an id. */
void inventory_stamp(int64_t wall_us, char id[INVENTORY_ID]);
/* An id that comes after all others of the vault. */
det_status inventory_new_id(struct io *io, const char *vault, int64_t now_us,
                            char id[INVENTORY_ID], struct err *err);
det_status inventory_write(struct io *io, const char *vault,
                           const struct inventory *inventory, struct err *err);
/* DET_NOT_FOUND; DET_CORRUPT: its sum is wrong. */
det_status inventory_read(struct io *io, const char *vault, const char *id,
                          struct arena *mem, struct inventory *ret_inventory,
                          struct err *err);
det_status inventory_remove(struct io *io, const char *vault, const char *id,
                            struct err *err);
/* The ids, the oldest first; the array ends with NULL. */
det_status inventory_list(struct io *io, const char *vault, struct arena *mem,
                          const char ***ret_ids, size_t *ret_count, struct err *err);

uint64_t inventory_size(const struct inventory *inventory); /* of all files together */

#endif
