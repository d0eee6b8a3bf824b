/* SPDX-License-Identifier: Apache-2.0 */
/* data_world.h - loaders that must succeed, a table, a file of records, and a sequence
 * that fails on demand. */
#ifndef TESTS_LIBDET_DATA_WORLD_H
#define TESTS_LIBDET_DATA_WORLD_H

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/io/io.h"
#include "det/data.h"
#include "libdet/data/dataset.h"
#include "libdet/data/record_file.h"
#include "libdet/data/record_file_writer.h"
#include "tests/support/test.h"

enum { MOST = 512 };

static inline det_loader_options options_of(int64_t batch_size, int64_t epochs,
                                            int workers)
{
    return (det_loader_options){.size = sizeof(det_loader_options),
                                .batch_size = batch_size,
                                .epochs = epochs,
                                .seed = 42,
                                .shuffle = 1,
                                .workers = workers};
}

static inline det_loader *loader_of(det_dataset *dataset,
                                    const det_loader_options *options)
{
    det_loader *loader = NULL;

    CHECK_OK(det_loader_new(dataset, options, &loader, test_err.text,
                            sizeof(test_err.text)));
    return loader;
}

/* Numbers without data. */
static inline det_dataset *range_of(int64_t items)
{
    det_dataset *dataset = NULL;

    CHECK_OK(det_dataset_arrays(NULL, 0, items, &dataset, NULL, 0));
    return dataset;
}

static inline const det_batch *next(det_loader *loader)
{
    const det_batch *batch = NULL;
    det_status st = det_loader_next(loader, &batch);

    if (st)
        fail_msg("%s", det_loader_error(loader));
    return batch;
}

static inline det_loader_options processes_of(int64_t batch_size, int64_t epochs,
                                              int workers)
{
    det_loader_options options = options_of(batch_size, epochs, workers);

    options.processes = 1;
    return options;
}

struct table {
    float x[MOST][3];
    int32_t y[MOST];
    double weight[MOST];
};

static inline void fill_table(struct table *table, det_column columns[3])
{
    for (int i = 0; i < MOST; i++) {
        for (int j = 0; j < 3; j++)
            table->x[i][j] = (float)(i * 10 + j);
        table->y[i] = i;
        table->weight[i] = 1.0 / (i + 1);
    }
    columns[0] = (det_column){"x", table->x, sizeof(table->x[0])};
    columns[1] = (det_column){"y", table->y, sizeof(table->y[0])};
    columns[2] = (det_column){"weight", table->weight, sizeof(table->weight[0])};
}

static inline void check_rows(const det_batch *batch, const struct table *table)
{
    CHECK_EQ(batch->column_count, 3);
    CHECK_STR(batch->columns[2].name, "weight");
    CHECK_EQ(batch->columns[0].item_bytes, sizeof(table->x[0]));
    CHECK_NULL(batch->columns[0].offsets);
    for (int64_t i = 0; i < batch->count; i++) {
        int64_t index = batch->indices[i];

        CHECK(!memcmp((const char *)batch->columns[0].data + (size_t)i * 12,
                      table->x[index], 12));
        CHECK_EQ(((const int32_t *)batch->columns[1].data)[i], index);
        CHECK(((const double *)batch->columns[2].data)[i] == table->weight[index]);
    }
}

/* A file of 50 records of 30 bytes, in a memory file system. */
static inline struct io *records_in_memory(void)
{
    struct io *io;
    det_records *records;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(record_file_create(io, "/set", &records, &test_err));
    for (int i = 0; i < 50; i++)
        CHECK_OK(det_records_add(records, "thirty bytes of nothing at all", 30));
    CHECK_OK(det_records_finish(records));
    return io;
}

struct maker {
    int64_t fails_at; /* -1: never */
    atomic_int failures_left;
    atomic_int calls;
};

static inline det_status make_item(void *arg, int64_t index, void *const *columns,
                                   char *error, size_t error_size)
{
    struct maker *maker = arg;
    int64_t square = index * index;

    atomic_fetch_add(&maker->calls, 1);
    if (index == maker->fails_at && atomic_fetch_sub(&maker->failures_left, 1) > 0) {
        snprintf(error, error_size, "the camera is off");
        return DET_IO;
    }
    memcpy(columns[0], &index, sizeof(index));
    memcpy(columns[1], &square, sizeof(square));
    return DET_OK;
}

static inline det_status make_batch(void *arg, const int64_t *indices, size_t count,
                                    void *const *columns, char *error,
                                    size_t error_size)
{
    for (size_t i = 0; i < count; i++) {
        void *at[] = {(char *)columns[0] + 8 * i, (char *)columns[1] + 8 * i};
        det_status st = make_item(arg, indices[i], at, error, error_size);

        if (st)
            return st;
    }
    return DET_OK;
}

static const det_column maker_columns[] = {{"index", NULL, 8}, {"square", NULL, 8}};

static inline det_dataset *sequence_of(struct maker *maker, int64_t items,
                                       bool by_batch)
{
    det_sequence sequence = {.size = sizeof(sequence),
                             .items = items,
                             .columns = maker_columns,
                             .column_count = 2,
                             .arg = maker};
    det_dataset *dataset = NULL;

    sequence.item = by_batch ? NULL : make_item;
    sequence.batch = by_batch ? make_batch : NULL;
    CHECK_OK(det_dataset_sequence(&sequence, &dataset, NULL, 0));
    return dataset;
}

static inline void check_made(const det_batch *batch)
{
    const int64_t *index = batch->columns[0].data;
    const int64_t *square = batch->columns[1].data;

    for (int64_t i = 0; i < batch->count; i++) {
        CHECK_EQ(index[i], batch->indices[i]);
        CHECK_EQ(square[i], index[i] * index[i]);
    }
}

#endif
