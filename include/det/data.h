/* SPDX-License-Identifier: Apache-2.0 */
/* det/data.h - data for training programs: what there is (a data set), and in which
 * order, in batches, from where (a loader).
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
 * The order is computed, not kept: which items batch n holds follows from the seed, the
 * number of items and n alone.  So a position is one number, going there costs the same
 * wherever it is and however much data there is, and neither the number of workers nor
 * that of shards changes what a batch of the whole consists of.
 *
 * Threads: a data set may be used by many at once.  A loader belongs to one thread at a
 * time.  After fork() the child's copy of a loader is inert (DET_STATE); the data set
 * can be used there, also by a new loader. */
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

/* What every item has: an input, a target, a weight. */
typedef struct det_column {
    const char *name;  /* may be NULL; copied */
    const void *data;  /* of arrays: the items, one behind the other; borrowed */
    size_t item_bytes; /* of each item */
} det_column;

/* Items that lie in memory, `items` of them in each column.  The arrays are borrowed
 * and outlive the data set.  Without columns a data set is an order of numbers and
 * nothing else.  `error` (may be NULL) gets a sentence when it fails, here and below.
 */
DET_API det_status det_dataset_arrays(const det_column *columns, size_t column_count,
                                      int64_t items, det_dataset **ret_dataset,
                                      char *error, size_t error_size);

/* The records of a file that det_records_finish() made: one column, "record", of items
 * of different lengths.  The file is mapped, so that nothing is read before it is used;
 * it must not be cut short meanwhile.  Each record is compared with its checksum when
 * it is read.  DET_CORRUPT: it is not such a file, it is cut short, or damaged. */
DET_API det_status det_dataset_records(const char *path, det_dataset **ret_dataset,
                                       char *error, size_t error_size);

/* Items that a function makes. */
typedef struct det_sequence {
    size_t size; /* sizeof(det_sequence) */
    int64_t items;
    const det_column *columns; /* their `data` is not looked at; copied */
    size_t column_count;
    det_status (*item)(void *arg, int64_t index, void *const *columns, char *error,
                       size_t error_size);
    det_status (*batch)(void *arg, const int64_t *indices, size_t count,
                        void *const *columns, char *error, size_t error_size);
    void *arg; /* borrowed */
} det_sequence;

/* A data set of what a function makes.  One of the two is given:
 *
 *   item   makes the item `index`: columns[c] has room for item_bytes of column c
 *   batch  makes `count` items at once, in the order of `indices`; columns[c] has room
 *          for all of them, one behind the other
 *
 * A status other than DET_OK comes out of det_loader_next(), with what was written into
 * `error` and, for an item, its index.  With workers a function is called from several
 * threads at once, whose stacks are small (256 KB); with one worker, from one.  Who has
 * batches rather than items makes each an item, and loads batches of one. */
DET_API det_status det_dataset_sequence(const det_sequence *sequence,
                                        det_dataset **ret_dataset, char *error,
                                        size_t error_size);

/* Frees a data set that no loader uses any more; NULL does nothing. */
DET_API void det_dataset_free(det_dataset *dataset);
/* How many items there are. */
DET_API int64_t det_dataset_items(const det_dataset *dataset);
/* One record of a data set of records, as it lies in the file (at a multiple of 8
 * bytes), for as long as the data set lives; compared with its checksum.  A sequence
 * may take records apart with it.  DET_CORRUPT: it is damaged.  DET_INVALID: there is
 * no such record, or these are no records. */
DET_API det_status det_dataset_record(const det_dataset *dataset, int64_t index,
                                      const void **ret_bytes, size_t *ret_len,
                                      char *error, size_t error_size);

/* ---- files of records ------------------------------------------------------------ */

/* Begins a file of records.  It is written under another name in the same folder and
 * gets its own when it is finished: a file of that name is whole. */
DET_API det_status det_records_create(const char *path, det_records **ret_records,
                                      char *error, size_t error_size);
/* Adds a record of 0 to 2^32 - 1 bytes.  After a failure nothing can be added:
 * abort. */
DET_API det_status det_records_add(det_records *records, const void *bytes, size_t len);
/* Makes the file durable and gives it its name; an earlier file of that name is gone.
 * Then `records` is gone as well.  A failure leaves it to be aborted. */
DET_API det_status det_records_finish(det_records *records);
/* Removes what was written.  NULL does nothing. */
DET_API void det_records_abort(det_records *records);
/* What failed last, in a sentence. */
DET_API const char *det_records_error(const det_records *records);

/* ---- loaders --------------------------------------------------------------------- */

typedef struct det_loader_options {
    size_t size;        /* sizeof(det_loader_options) */
    int64_t batch_size; /* over all shards; must be given */
    int64_t epochs;     /* 0: for ever */
    uint64_t seed;      /* of the shuffling */
    int shuffle;        /* 0: the items as they lie */
    int drop_last;      /* leaves out the last batch of an epoch when it is short */
    int shard;          /* which part of each batch is ours: 0 to shard_count - 1 */
    int shard_count;    /* 0 or 1: all of it */
    int workers;        /* threads that prepare batches; 0: det_loader_next() does */
    int prefetch;       /* batches that workers prepare ahead; 0: two for each */
    int processes; /* workers are processes, forked from this one when the loader is
                      made; not for items of different lengths */
    det_context *context; /* whose profiler counts how long batches are waited for
                             (det/profiler.h); outlives the loader; NULL: nobody's */
} det_loader_options;

typedef struct det_batch_column {
    const char *name;      /* NULL: it has none */
    const void *data;      /* the items, one behind the other */
    size_t item_bytes;     /* 0: they have different lengths */
    const size_t *offsets; /* then item i is at offsets[i] up to offsets[i + 1];
                              else NULL */
} det_batch_column;

typedef struct det_batch {
    int64_t position;       /* this batch, counted from the very first, 0 */
    int64_t epoch;          /* from 0 */
    int64_t epoch_position; /* this batch, counted from the first of its epoch */
    int64_t count;          /* items of our shard; 0 where a short batch has too few */
    int64_t global_count;   /* items of all shards */
    const int64_t *indices; /* which items: `count` of them */
    const det_batch_column *columns;
    size_t column_count;
    int is_epoch_end; /* the last of its epoch */
} det_batch;

/* A loader at position 0; borrows the data set.  DET_INVALID: options that make no
 * sense; a batch size smaller than the number of shards; no item, or with drop_last too
 * few for a batch. */
DET_API det_status det_loader_new(det_dataset *dataset,
                                  const det_loader_options *options,
                                  det_loader **ret_loader, char *error,
                                  size_t error_size);
/* Waits for functions of a sequence that run.  NULL does nothing. */
DET_API void det_loader_free(det_loader *loader);

/* The next batch; NULL after the last epoch.  It and all it points at live until the
 * next call.  All shards get the same number of batches.  A failure leaves the position
 * as it is: calling again tries again, det_loader_seek() goes round it. */
DET_API det_status det_loader_next(det_loader *loader, const det_batch **ret_batch);
/* The next batch will be this one, as if all before it had been loaded; at once,
 * wherever it is.  DET_INVALID: below 0, or beyond the end of the last epoch. */
DET_API det_status det_loader_seek(det_loader *loader, int64_t position);
/* The position of the batch that comes next: what belongs into a checkpoint. */
DET_API int64_t det_loader_position(const det_loader *loader);
/* How many batches an epoch has. */
DET_API int64_t det_loader_epoch_batches(const det_loader *loader);
/* What failed last, in a sentence. */
DET_API const char *det_loader_error(const det_loader *loader);

#ifdef __cplusplus
}
#endif

#endif
