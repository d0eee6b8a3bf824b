/* SPDX-License-Identifier: Apache-2.0 */
/* batch_room.h - the memory in which a batch is put together. */
#ifndef LIBDET_DATA_BATCH_ROOM_H
#define LIBDET_DATA_BATCH_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "det/data.h"

/* The memory of one column of a batch. */
struct column_room {
    unsigned char *memory; /* owned */
    size_t cap;            /* usable bytes, from a multiple of 64 on */
    size_t *offsets;       /* owned; NULL if all items have the same length */
};

enum { ROOM_HINTS = 3 };

struct batch_room {
    det_batch batch;           /* what the caller sees */
    det_batch_column *columns; /* owned, as all arrays here; batch.columns */
    struct column_room *rooms;
    void **pointers;  /* for the functions of a sequence */
    int64_t *indices; /* batch.indices: filled in before fill() */
    size_t hints;     /* further indices after them: items that will probably come
                         next */
    size_t most;      /* limit of items per batch */
    bool is_run;      /* the indices are consecutive: rows may be used without a copy */
    bool is_lent;     /* the memory of the columns is not owned */
};

det_status batch_room_init(struct batch_room *room, const det_dataset *dataset,
                           size_t most, struct err *err);
void batch_room_done(struct batch_room *room);
/* The bytes that a room needs for its columns; batch_room_lend() then lends it memory
 * of that size.  Not for columns with items of different lengths.  Returns false if the
 * size overflows. */
bool batch_room_bytes(const struct batch_room *room, size_t *ret_bytes);
void batch_room_lend(struct batch_room *room, unsigned char *memory);
/* Makes `bytes` bytes the data of a column; its old content is lost. */
det_status batch_room_take(struct batch_room *room, size_t column, size_t bytes,
                           unsigned char **ret_bytes, struct err *err);

#endif
