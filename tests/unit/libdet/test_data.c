/* SPDX-License-Identifier: Apache-2.0 */
/* test_data.c - loaders: every item once per epoch, for all sizes; the same batches for
 * any number of workers and shards, and from any position; failures are reported and
 * can be retried. */
#include "det/data.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "libdet/data/dataset.h"
#include "libdet/data/loader.h"
#include "libdet/data/record_file.h"
#include "tests/support/test.h"
#include "tests/unit/libdet/data_world.h"

/* ---- orders ---------------------------------------------------------------------- */

static void check_epochs(const det_loader_options *options, int64_t items)
{
    det_dataset *dataset = range_of(items);
    det_loader *loader = loader_of(dataset, options);
    int64_t batches = det_loader_epoch_batches(loader);
    const det_batch *batch;

    for (int64_t epoch = 0; epoch < options->epochs; epoch++) {
        char seen[MOST] = {0};
        int64_t count = 0;

        for (int64_t i = 0; i < batches; i++) {
            batch = next(loader);
            CHECK_EQ(batch->epoch, epoch);
            CHECK_EQ(batch->epoch_position, i);
            CHECK_EQ(batch->position, epoch * batches + i);
            CHECK_EQ(batch->is_epoch_end, i == batches - 1);
            for (int64_t j = 0; j < batch->count; j++)
                CHECK(!seen[batch->indices[j]]++);
            count += batch->count;
        }
        CHECK_EQ(count, options->drop_last ? batches * options->batch_size : items);
    }
    CHECK_NULL(next(loader));
    CHECK_NULL(next(loader));
    CHECK_EQ(det_loader_position(loader), options->epochs * batches);
    det_loader_free(loader);
    det_dataset_free(dataset);
}

TEST(every_item_comes_once_an_epoch)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 31, 32, 33, 64, 100, 257};
    static const int64_t batches[] = {1, 2, 3, 8, 32, 100, 1000};

    for (size_t s = 0; s < ARRAY_LEN(sizes); s++)
        for (size_t b = 0; b < ARRAY_LEN(batches); b++)
            for (int how = 0; how < 4; how++) {
                det_loader_options options = options_of(batches[b], 3, 0);

                options.shuffle = how & 1;
                options.drop_last = how >> 1;
                if (!options.drop_last || sizes[s] >= batches[b])
                    check_epochs(&options, sizes[s]);
            }
}

TEST(an_epoch_has_an_order_of_its_own_that_follows_from_the_seed)
{
    det_loader_options options = options_of(100, 2, 0);
    det_dataset *dataset = range_of(100);
    det_loader *loader = loader_of(dataset, &options);
    det_loader *twin = loader_of(dataset, &options);
    det_loader *other;
    int64_t first[100];
    const det_batch *batch = next(loader);

    memcpy(first, batch->indices, sizeof(first));
    CHECK(memcmp(first, next(twin)->indices, sizeof(first)) == 0);
    CHECK(memcmp(first, next(loader)->indices, sizeof(first)) != 0);
    options.seed++;
    other = loader_of(dataset, &options);
    CHECK(memcmp(first, next(other)->indices, sizeof(first)) != 0);
    det_loader_free(loader);
    det_loader_free(twin);
    det_loader_free(other);
    det_dataset_free(dataset);
}

/* The parts of all shards, one after another, are the batch of a single shard. */
static void check_shards(int64_t items, int64_t batch_size, int shards)
{
    det_loader_options options = options_of(batch_size, 2, 0);
    det_dataset *dataset = range_of(items);
    det_loader *whole = loader_of(dataset, &options);
    det_loader *part[16];
    const det_batch *batch;

    options.shard_count = shards;
    for (options.shard = 0; options.shard < shards; options.shard++)
        part[options.shard] = loader_of(dataset, &options);
    while ((batch = next(whole)) != NULL) {
        int64_t at = 0;

        for (int s = 0; s < shards; s++) {
            const det_batch *own = next(part[s]);

            CHECK_EQ(own->global_count, batch->count);
            CHECK(own->count <= batch->count / shards + 1);
            CHECK(own->count >= batch->count / shards);
            CHECK(memcmp(own->indices, batch->indices + at,
                         (size_t)own->count * sizeof(int64_t)) == 0);
            at += own->count;
        }
        CHECK_EQ(at, batch->count);
    }
    for (int s = 0; s < shards; s++) {
        CHECK_NULL(next(part[s]));
        det_loader_free(part[s]);
    }
    det_loader_free(whole);
    det_dataset_free(dataset);
}

TEST(shards_share_each_batch_and_nothing_is_lost_or_doubled)
{
    for (int64_t items = 1; items < 70; items += 3)
        for (int shards = 1; shards < 6; shards++)
            for (int64_t size = shards; size < 20; size += 4)
                check_shards(items, size, shards);
    check_shards(500, 128, 16);
}

TEST(seeking_anywhere_is_what_going_there_gives)
{
    for (int workers = 0; workers < 4; workers += 3) {
        det_loader_options options = options_of(7, 3, workers);
        det_dataset *dataset = range_of(100);
        det_loader *loader = loader_of(dataset, &options);
        det_loader *jumper = loader_of(dataset, &options);
        int64_t batches = det_loader_epoch_batches(loader) * 3;
        struct rng64 rng = {.state = 8};

        CHECK_EQ(batches, 45);
        for (int round = 0; round < 200; round++) {
            int64_t to = (int64_t)rng64_below(&rng, (uint64_t)batches + 1);

            CHECK_OK(det_loader_seek(jumper, to));
            CHECK_EQ(det_loader_position(jumper), to);
            CHECK_OK(det_loader_seek(loader, 0));
            for (int64_t i = 0; i < to; i++)
                CHECK(next(loader));
            for (int i = 0; i < 3; i++) {
                const det_batch *a = next(loader);
                const det_batch *b = next(jumper);

                CHECK(!a == !b);
                if (!a)
                    break;
                CHECK_EQ(a->position, b->position);
                CHECK_EQ(a->epoch, b->epoch);
                CHECK_EQ(a->count, b->count);
                CHECK(!memcmp(a->indices, b->indices, (size_t)a->count * 8));
            }
        }
        CHECK_EQ(det_loader_seek(jumper, -1), DET_INVALID);
        CHECK_EQ(det_loader_seek(jumper, batches + 1), DET_INVALID);
        CHECK_STR(det_loader_error(jumper),
                  "there is no batch 46: the last epoch ends at 45");
        det_loader_free(loader);
        det_loader_free(jumper);
        det_dataset_free(dataset);
    }
}

TEST(without_an_end_it_goes_on_and_reaches_far)
{
    det_loader_options options = options_of(10, 0, 2);
    det_dataset *dataset = range_of(25);
    det_loader *loader = loader_of(dataset, &options);

    for (int i = 0; i < 100; i++)
        CHECK_EQ(next(loader)->epoch, i / 3);
    CHECK_OK(det_loader_seek(loader, INT64_MAX - 2));
    CHECK_EQ(next(loader)->position, INT64_MAX - 2);
    CHECK_EQ(next(loader)->position, INT64_MAX - 1);
    det_loader_free(loader);
    det_dataset_free(dataset);
}

/* ---- data ------------------------------------------------------------------------ */

TEST(columns_stay_together)
{
    static struct table table;
    det_column columns[3];

    fill_table(&table, columns);
    for (int how = 0; how < 4; how++) {
        det_loader_options options = options_of(33, 2, how & 1 ? 3 : 0);
        det_dataset *dataset;
        det_loader *loader;
        const det_batch *batch;
        int64_t count = 0;

        options.shuffle = how >> 1;
        CHECK_OK(det_dataset_arrays(columns, 3, MOST, &dataset, NULL, 0));
        CHECK_EQ(det_dataset_items(dataset), MOST);
        loader = loader_of(dataset, &options);
        while ((batch = next(loader)) != NULL) {
            check_rows(batch, &table);
            if (options.shuffle)
                CHECK_EQ((uintptr_t)batch->columns[0].data % 64, 0);
            else
                CHECK(batch->columns[1].data == &table.y[batch->indices[0]]);
            count += batch->count;
        }
        CHECK_EQ(count, 2 * MOST);
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
}

TEST(records_of_any_length_come_in_batches)
{
    char root[] = P_tmpdir "/det-data-XXXXXX";
    det_loader_options options = options_of(32, 2, 2);
    char path[64], error[256];
    det_records *records;
    det_dataset *dataset;
    det_loader *loader;
    const det_batch *batch;
    int64_t count = 0;

    CHECK(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/set", root);
    CHECK_OK(det_records_create(path, &records, error, sizeof(error)));
    for (int i = 0; i < 1000; i++) {
        char text[2000];

        memset(text, 'a' + i % 26, sizeof(text));
        CHECK_OK(det_records_add(records, text, (size_t)(i * 2 % 1999)));
    }
    CHECK_OK(det_records_finish(records));
    CHECK_OK(det_dataset_records(path, &dataset, error, sizeof(error)));
    loader = loader_of(dataset, &options);
    while ((batch = next(loader)) != NULL) {
        const det_batch_column *column = &batch->columns[0];

        CHECK_STR(column->name, "record");
        CHECK_EQ(column->item_bytes, 0);
        for (int64_t i = 0; i < batch->count; i++) {
            size_t len = column->offsets[i + 1] - column->offsets[i];
            const char *text = (const char *)column->data + column->offsets[i];

            CHECK_EQ(len, batch->indices[i] * 2 % 1999);
            if (len) {
                CHECK_EQ(text[0], 'a' + batch->indices[i] % 26);
                CHECK_EQ(text[len - 1], text[0]);
            }
        }
        count += batch->count;
    }
    CHECK_EQ(count, 2000);
    det_loader_free(loader);
    det_dataset_free(dataset);
    CHECK_EQ(det_dataset_records("/nowhere", &dataset, error, sizeof(error)),
             DET_NOT_FOUND);
    CHECK_HAS(error, "/nowhere");
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
}

TEST(a_damaged_record_is_told_by_the_batch_that_needs_it_and_by_no_other)
{
    for (int workers = 0; workers < 3; workers++) {
        det_loader_options options = options_of(5, 1, workers);
        struct io *io = records_in_memory();
        struct io_file *file;
        det_dataset *dataset;
        det_loader *loader;
        const det_batch *batch;

        CHECK_OK(io_open(io, "/set", IO_WRITE, &file, &test_err));
        CHECK_OK(io_write_at(file, 64 + 32 * 17 + 3, "#", 1, &test_err));
        io_close(file);
        CHECK_OK(record_file_open(io, "/set", &dataset, &test_err));
        options.shuffle = 0;
        loader = loader_of(dataset, &options);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(next(loader)->columns[0].offsets[5], 150);
        CHECK_EQ(det_loader_next(loader, &batch), DET_CORRUPT);
        CHECK_STR(det_loader_error(loader), "record 17 of '/set' is damaged");
        CHECK_OK(det_loader_seek(loader, 4));
        for (int i = 4; i < 10; i++)
            CHECK_EQ(next(loader)->position, i);
        CHECK_NULL(next(loader));
        det_loader_free(loader);
        det_dataset_free(dataset);
        io_free(io);
    }
}

TEST(records_without_memory_are_told_and_the_next_try_goes_on)
{
    struct io *io = records_in_memory();

    EACH_ALLOCATION_FAILS() {
        det_loader_options options = options_of(20, 1, 0);
        det_dataset *dataset = NULL;
        det_loader *loader = NULL;
        const det_batch *batch = NULL;
        det_status st = record_file_open(io, "/set", &dataset, &test_err);

        if (!st)
            st = loader_open(dataset, &options, NULL, &loader, &test_err);
        if (!st)
            st = det_loader_next(loader, &batch);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        if (loader)
            CHECK_OK(det_loader_next(loader, &batch));
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
    io_free(io);
}

/* ---- what makes no sense --------------------------------------------------------- */

static const char *refused(int64_t items, const det_loader_options *options)
{
    static char error[256];
    det_dataset *dataset = range_of(items);
    det_loader *loader = NULL;

    CHECK_EQ(det_loader_new(dataset, options, &loader, error, sizeof(error)),
             DET_INVALID);
    CHECK_NULL(loader);
    det_dataset_free(dataset);
    return error;
}

TEST(options_that_make_no_sense_are_told)
{
    det_loader_options options = options_of(0, 1, 0);

    CHECK_STR(refused(10, &options),
              "nothing says how large a batch is: give batch_size");
    options = options_of(4, 1, 0);
    CHECK_STR(refused(0, &options), "the data set is empty");
    options.drop_last = 1;
    CHECK_STR(refused(3, &options),
              "the data set has 3 items, too few for a batch of 4, "
              "and short batches are dropped");
    options.shard = 2;
    options.shard_count = 2;
    CHECK_STR(refused(10, &options), "there is no shard 2 of 2");
    options.shard_count = 5;
    CHECK_STR(refused(10, &options), "a batch of 4 cannot be shared by 5 shards");
    options = options_of(1, INT64_MAX, 0);
    CHECK_HAS(refused(10, &options), "epochs are too many");
    options = options_of(1, -1, 0);
    CHECK_STR(refused(10, &options), "epochs is -1, which is below 0");
    options = options_of(1, 1, -1);
    CHECK_STR(refused(10, &options), "workers is -1, not 0 to 1024");
    options = processes_of(1, 1, 0);
    CHECK_STR(refused(10, &options),
              "nothing says how many worker processes: give workers");
    options = options_of(1, 1, 1);
    options.prefetch = 1 << 20;
    CHECK_STR(refused(10, &options), "prefetch is 1048576, not 0 to 65536");
}

TEST(data_sets_that_make_no_sense_are_told)
{
    det_column column = {"x", NULL, 4};
    det_sequence sequence = {.size = sizeof(sequence), .items = 3};
    det_dataset *dataset = NULL;
    char error[256];

    CHECK_EQ(det_dataset_arrays(&column, 1, 5, &dataset, error, sizeof(error)),
             DET_INVALID);
    CHECK_STR(error, "column 0 'x' has no data");
    column = (det_column){NULL, error, 0};
    CHECK_EQ(det_dataset_arrays(&column, 1, 5, &dataset, error, sizeof(error)),
             DET_INVALID);
    CHECK_STR(error, "column 0 '' has items of 0 bytes");
    CHECK_EQ(det_dataset_arrays(NULL, 0, -5, &dataset, error, sizeof(error)),
             DET_INVALID);
    CHECK_STR(error, "a data set cannot have -5 items");
    CHECK_EQ(det_dataset_sequence(&sequence, &dataset, error, sizeof(error)),
             DET_INVALID);
    CHECK_STR(error, "a sequence needs one function, for items or for batches");
    CHECK_NULL(dataset);
}
