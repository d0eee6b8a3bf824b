/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - what all kinds of data sets share.
 *
 *   dataset.c             arrays and sequences
 *   batch_room.c          the memory of a batch
 *   record_file.c         reads a file of records
 *   record_file_writer.c  ... and writes one
 *   loader.c              orders, worker threads, positions
 *   worker_processes.c    worker processes
 *
 * To add a kind of data, embed `struct det_dataset` and fill in a struct dataset_ops.
 * Several threads call fill() at once, each with its own room; fill() must change
 * nothing else. */
#ifndef LIBDET_DATA_DATASET_H
#define LIBDET_DATA_DATASET_H

#include <stdbool.h>

#include "base/err.h"
#include "det/data.h"

struct batch_room;

struct dataset_ops {
    /* Fills the columns of a batch whose indices are set; at least one. */
    det_status (*fill)(const det_dataset *dataset, struct batch_room *room,
                       struct err *err);
    void (*free)(det_dataset *dataset);
};

struct det_dataset {
    const struct dataset_ops *ops;
    int64_t items;
    det_column *columns; /* owned, with the names; item_bytes 0: items of different
                            lengths */
    size_t column_count;
};

/* Copies the columns.  After a failure, call dataset_done(). */
det_status dataset_init(det_dataset *dataset, const struct dataset_ops *ops,
                        const det_column *columns, size_t count, struct err *err);
void dataset_done(det_dataset *dataset);

/* Copies the message of a failure to the caller of a public function; returns its
 * status. */
det_status data_fail(const struct err *err, char *error, size_t error_size);

#endif
