/* SPDX-License-Identifier: Apache-2.0 */
/* det/data.h - data for training programs: data sets, and loaders that read them in
 * batches.
 *
 *     det_column columns[] = {{"x", images, 784 * sizeof(float)},
 *                             {"y", labels, sizeof(int32_t)},
 *                             {"weight", weights, sizeof(float)}};
 *
 *     det_dataset_arrays(columns, 3, 60000, &dataset, error, sizeof(error));
 *     options.batch_size = 32;
 *     options.shuffle = 1;
 *     options.seed = 17;
 *     det_loader_new(dataset, &options, &loader, error, sizeof(error));
 *     det_loader_seek(loader, batches_trained_so_far);
 *     while (det_loader_next(loader, &batch) == DET_OK && batch)
 *         train(batch->columns[0].data, batch->columns[1].data, batch->count);
 *
 * The order is computed, not stored: the items of batch n follow from the seed, the
 * number of items and n alone.  So a position is one number, and seeking is equally
 * fast everywhere.  Neither the number of workers nor the number of shards changes
 * which items a batch consists of.
 *
 * Threads: many threads may use a data set at once.  One thread at a time may use a
 * loader.  After fork() the child's copy of a loader is unusable (DET_STATE); the child
 * may use the data set, also in a new loader. */
#ifndef DET_DATA_H
#define DET_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_dataset det_dataset;
typedef struct det_loader det_loader;
typedef struct det_records det_records;

/* ---- data sets ------------------------------------------------------------------- */

/* A part of every item: an input, a target, a weight. */
typedef struct det_column {
    const char *name;  /* may be NULL; copied */
    const void *data;  /* for arrays: the items, one after another; borrowed */
    size_t item_bytes; /* of each item */
} det_column;

/* Makes a data set of arrays in memory, `items` per column.  The arrays are borrowed
 * and must outlive the data set.  Without columns it is only an order of numbers.
 * `error` (may be NULL) receives the message of a failure, here and below. */
DET_API det_status det_dataset_arrays(const det_column *columns, size_t column_count,
                                      int64_t items, det_dataset **ret_dataset,
                                      char *error, size_t error_size);

/* Makes a data set of the records in a file that det_records_finish() made: one column,
 * "record", whose items have different lengths.  The file is mapped, so nothing is read
 * before it is used; it must not be truncated meanwhile.  Each record is compared with
 * its checksum when it is read.  DET_CORRUPT: the file is not a file of records, is
 * truncated, or is damaged. */
DET_API det_status det_dataset_records(const char *path, det_dataset **ret_dataset,
                                       char *error, size_t error_size);

/* A function that makes items. */
typedef struct det_sequence {
    size_t size; /* sizeof(det_sequence) */
    int64_t items;
    const det_column *columns; /* `data` is ignored; copied */
    size_t column_count;
    det_status (*item)(void *arg, int64_t index, void *const *columns, char *error,
                       size_t error_size);
    det_status (*batch)(void *arg, const int64_t *indices, size_t count,
                        void *const *columns, char *error, size_t error_size);
    void *arg; /* borrowed */
} det_sequence;

/* Makes a data set of items that a function makes.  Give one of the two functions:
 *
 *    item   makes the item `index`: columns[c] has room for item_bytes of column c
 *    batch  makes `count` items at once, in the order of `indices`; columns[c] has room
 *           for all of them, one after another
 *
 * If the function returns a status other than DET_OK, det_loader_next() returns it,
 * with the text in `error` and, for an item, its index.  With several workers several
 * threads call the function at once, with small stacks (256 KB); with one worker, one
 * thread does.  If your data comes in batches rather than items, make each batch an
 * item and use batches of one. */
DET_API det_status det_dataset_sequence(const det_sequence *sequence,
                                        det_dataset **ret_dataset, char *error,
                                        size_t error_size);

/* Frees a data set.  No loader may use it any more.  NULL does nothing. */
DET_API void det_dataset_free(det_dataset *dataset);
/* The number of items. */
DET_API int64_t det_dataset_items(const det_dataset *dataset);
/* Returns one record of a data set of records.  It lies in the file, at a multiple of 8
 * bytes, and is valid as long as the data set.  It is compared with its checksum first.
 * A sequence may read records with it.  DET_CORRUPT: the record is damaged.
 * DET_INVALID: there is no such record, or the data set does not hold records. */
DET_API det_status det_dataset_record(const det_dataset *dataset, int64_t index,
                                      const void **ret_bytes, size_t *ret_len,
                                      char *error, size_t error_size);

/* ---- files of records ------------------------------------------------------------ */

/* Begins a file of records.  It is written under another name in the same folder and
 * renamed when it is finished, so a file with the final name is complete. */
DET_API det_status det_records_create(const char *path, det_records **ret_records,
                                      char *error, size_t error_size);
/* Adds a record of 0 to 2^32 - 1 bytes.  After a failure no more records can be added:
 * abort. */
DET_API det_status det_records_add(det_records *records, const void *bytes, size_t len);
/* Finishes a file: syncs it, gives it its name, which replaces an older file of that
 * name, and frees `records`.  After a failure `records` still exists: abort. */
DET_API det_status det_records_finish(det_records *records);
/* Aborts a file and removes what was written.  NULL does nothing. */
DET_API void det_records_abort(det_records *records);
/* The message of the last failure. */
DET_API const char *det_records_error(const det_records *records);

/* ---- loaders --------------------------------------------------------------------- */

typedef struct det_loader_options {
    size_t size;        /* sizeof(det_loader_options) */
    int64_t batch_size; /* over all shards; must be given */
    int64_t epochs;     /* 0: for ever */
    uint64_t seed;      /* of the shuffling */
    int shuffle;        /* 0: the items in their own order */
    int drop_last;      /* leaves out an incomplete last batch of an epoch */
    int shard;          /* our part of each batch: 0 to shard_count - 1 */
    int shard_count;    /* 0 or 1: all of it */
    int workers;        /* threads that prepare batches; 0: none, det_loader_next()
                           does it */
    int prefetch;       /* batches prepared ahead; 0: two per worker */
    int processes; /* workers are processes, forked from this one when the loader is
                      made; not for items of different lengths */
    det_context *context; /* its profiler counts the time spent waiting for batches
                             (det/profiler.h); outlives the loader; NULL: none */
} det_loader_options;

typedef struct det_batch_column {
    const char *name;      /* NULL: it has none */
    const void *data;      /* the items, one after another */
    size_t item_bytes;     /* 0: they have different lengths */
    const size_t *offsets; /* in that case item i is at offsets[i] up to offsets[i +
                              1]; otherwise NULL */
} det_batch_column;

typedef struct det_batch {
    int64_t position;       /* this batch, counted from the very first, 0 */
    int64_t epoch;          /* from 0 */
    int64_t epoch_position; /* this batch, counted from the first of its epoch */
    int64_t count;          /* items of our shard; may be 0 in an incomplete batch */
    int64_t global_count;   /* items of all shards */
    const int64_t *indices; /* the numbers of these items: `count` of them */
    const det_batch_column *columns;
    size_t column_count;
    int is_epoch_end; /* the last of its epoch */
} det_batch;

/* Makes a loader at position 0.  Borrows the data set.  DET_INVALID: an option is
 * wrong, the batch size is smaller than the number of shards, there are no items, or,
 * with drop_last, too few for one batch. */
DET_API det_status det_loader_new(det_dataset *dataset,
                                  const det_loader_options *options,
                                  det_loader **ret_loader, char *error,
                                  size_t error_size);
/* Frees a loader.  Waits for running functions of a sequence.  NULL does nothing. */
DET_API void det_loader_free(det_loader *loader);

/* Returns the next batch; NULL after the last epoch.  The batch and everything it
 * points at is valid until the next call.  All shards get the same number of batches.
 * A failure leaves the position unchanged: call again to retry, or use
 * det_loader_seek() to skip the batch. */
DET_API det_status det_loader_next(det_loader *loader, const det_batch **ret_batch);
/* Sets the position: the next batch is number `position`, as if all before it had been
 * loaded.  Equally fast everywhere.  DET_INVALID: the position is negative or beyond
 * the end of the last epoch. */
DET_API det_status det_loader_seek(det_loader *loader, int64_t position);
/* The position of the next batch; store it in checkpoints. */
DET_API int64_t det_loader_position(const det_loader *loader);
/* The number of batches per epoch. */
DET_API int64_t det_loader_epoch_batches(const det_loader *loader);
/* The message of the last failure. */
DET_API const char *det_loader_error(const det_loader *loader);

#ifdef __cplusplus
}
#endif

#endif
