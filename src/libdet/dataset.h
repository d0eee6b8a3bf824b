/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - data sets from inside, and the room in which a batch is put together.
 *
 *   dataset.c         arrays, sequences, the public face
 *   records.c         the file of records, read
 *   records_write.c   ... and written
 *   loader.c          orders, worker threads, positions
 *   crew.c            worker processes
 *
 * To add a kind of data: embed `struct det_dataset`, fill a table.  fill() is called
 * from several threads at once, each with a room of its own; what it changes lies
 * there. */
#ifndef LIBDET_DATASET_H
#define LIBDET_DATASET_H

#include <stdbool.h>

#include "base/err.h"
#include "det/data.h"

struct io;

/* The memory of one column of a batch. */
struct column_room {
    unsigned char *memory; /* owned */
    size_t cap;            /* bytes that can be used, from a multiple of 64 on */
    size_t *offsets;       /* owned; NULL where all items have one length */
};

enum { ROOM_HINTS = 3 };

struct batch_room {
    det_batch batch;           /* what the caller is shown */
    det_batch_column *columns; /* owned, as all arrays here; batch.columns */
    struct column_room *rooms;
    void **pointers;  /* for the functions of a sequence */
    int64_t *indices; /* batch.indices: filled in before fill() */
    size_t hints;     /* indices behind them, of items that will probably come next */
    size_t most;      /* items that a batch has at most */
    bool is_run;      /* the indices follow one another, and their rows may be shown */
    bool is_lent;     /* the memory of the columns is somebody else's */
};

struct dataset_ops {
    /* Makes the columns of a batch whose indices are there; at least one. */
    det_status (*fill)(const det_dataset *dataset, struct batch_room *room,
                       struct err *err);
    void (*free)(det_dataset *dataset);
};

struct det_dataset {
    const struct dataset_ops *ops;
    int64_t items;
    det_column *columns; /* owned, with the names; item_bytes 0: of any length */
    size_t column_count;
};

/* Copies the columns.  dataset_done() is fine after a failure. */
det_status dataset_init(det_dataset *dataset, const struct dataset_ops *ops,
                        const det_column *columns, size_t count, struct err *err);
void dataset_done(det_dataset *dataset);

det_status batch_room_init(struct batch_room *room, const det_dataset *dataset,
                           size_t most, struct err *err);
void batch_room_done(struct batch_room *room);
/* The bytes a room needs for its columns, and the memory for them, which is lent.  Not
 * for columns of items of any length.  False: there are too many. */
bool batch_room_bytes(const struct batch_room *room, size_t *ret_bytes);
void batch_room_lend(struct batch_room *room, unsigned char *memory);
/* So many bytes for a column, which is shown as its data; what was there is gone. */
det_status batch_room_take(struct batch_room *room, size_t column, size_t bytes,
                           unsigned char **ret_bytes, struct err *err);

/* The public functions in a given file system. */
det_status records_open(struct io *io, const char *path, det_dataset **ret_dataset,
                        struct err *err);
det_status records_create(struct io *io, const char *path, det_records **ret_records,
                          struct err *err);

/* Hints: record `next` will be read in a moment, and `soon` after some others; -1: none.
 * Only for a data set of records. */
void records_ask_for(const det_dataset *dataset, int64_t soon, int64_t next);

/* Gives a failure to a caller outside; returns its status. */
det_status data_fail(const struct err *err, char *error, size_t error_size);

#endif
