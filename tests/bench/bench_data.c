/* SPDX-License-Identifier: Apache-2.0 */
/* bench_data.c - the data path of a training program in C.
 *
 *   bench_data batches ITEMS    GB/s of plain memcpy, batch by batch; of memcpy of the
 *                               same rows in shuffled order, which is known beforehand;
 * of a loader; of one with a worker; the ratios of the loader's to the first and to the
 * second bench_data seek             ns of a seek and the batch there in a thousand
 * items; in a hundred million; and their ratio
 *
 * Medians of rounds, which take turns, since a machine's speed changes from second to
 * second. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory/mem.h"
#include "base/permute.h"
#include "det/data.h"

enum { ROW = 784, BATCH = 32, ROUNDS = 21, SEEKS = 20000, SEED = 7 };

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_data: %s: %s\n", what, text);
    exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double one = *(const double *)a;
    double other = *(const double *)b;

    return (one > other) - (one < other);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), by_size);
    return values[ROUNDS / 2];
}

static det_loader *loader_of(det_dataset *dataset, int workers)
{
    det_loader_options options = {.size = sizeof(options),
                                  .batch_size = BATCH,
                                  .seed = SEED,
                                  .shuffle = 1,
                                  .workers = workers};
    char error[256];
    det_loader *loader;

    if (det_loader_new(dataset, &options, &loader, error, sizeof(error)))
        fail("loader", error);
    return loader;
}

/* ---- batches --------------------------------------------------------------------- */

struct field {
    float *rows;
    float *batch;
    int64_t *order;
    int64_t items;
};

/* Somebody must look at a batch, or the compiler throws it away. */
static void look_at(const float *batch)
{
    __asm__ volatile("" : : "r"(batch) : "memory");
}

static double plain_s(const struct field *field)
{
    double begun = now_s();

    for (int64_t i = 0; i + BATCH <= field->items; i += BATCH) {
        memcpy(field->batch, field->rows + i * ROW, BATCH * ROW * sizeof(float));
        look_at(field->batch);
    }
    return now_s() - begun;
}

static double rows_s(const struct field *field)
{
    double begun = now_s();

    for (int64_t i = 0; i + BATCH <= field->items; i += BATCH) {
        for (int j = 0; j < BATCH; j++)
            memcpy(field->batch + j * ROW, field->rows + field->order[i + j] * ROW,
                   ROW * sizeof(float));
        look_at(field->batch);
    }
    return now_s() - begun;
}

static double loader_s(const struct field *field, det_loader *loader)
{
    const det_batch *batch;
    double begun = now_s();

    for (int64_t i = 0; i + BATCH <= field->items; i += BATCH) {
        if (det_loader_next(loader, &batch))
            fail("next", det_loader_error(loader));
        look_at(batch->columns[0].data);
    }
    return now_s() - begun;
}

static struct field field_of(int64_t items)
{
    struct field field = {mem_array((size_t)items * ROW, sizeof(float)),
                          mem_array(BATCH * ROW, sizeof(float)),
                          mem_array((size_t)items, sizeof(int64_t)), items};
    struct permute order;

    if (!field.rows || !field.batch || !field.order)
        fail("memory", "there is not enough");
    permute_init(&order, SEED, 0, (uint64_t)items);
    for (int64_t i = 0; i < items * ROW; i++)
        field.rows[i] = (float)i;
    for (int64_t i = 0; i < items; i++)
        field.order[i] = (int64_t)permute_at(&order, (uint64_t)i);
    return field;
}

static void bench_batches(int64_t items)
{
    double plain[ROUNDS], rows[ROUNDS], own[ROUNDS], worker[ROUNDS];
    double to_plain[ROUNDS], to_rows[ROUNDS];
    struct field field = field_of(items);
    det_column column = {"x", field.rows, ROW * sizeof(float)};
    det_loader *direct, *ahead;
    det_dataset *dataset;
    double gb = (double)(items / BATCH * BATCH) * ROW * sizeof(float) / 1e9;

    if (det_dataset_arrays(&column, 1, items, &dataset, NULL, 0))
        fail("data set", "could not be made");
    direct = loader_of(dataset, 0);
    ahead = loader_of(dataset, 1);
    for (int i = 0; i < ROUNDS; i++) {
        plain[i] = gb / plain_s(&field);
        rows[i] = gb / rows_s(&field);
        own[i] = gb / loader_s(&field, direct);
        worker[i] = gb / loader_s(&field, ahead);
        to_plain[i] = own[i] / plain[i];
        to_rows[i] = own[i] / rows[i];
    }
    printf("%.3f %.3f %.3f %.3f %.3f %.3f\n", median(plain), median(rows), median(own),
           median(worker), median(to_plain), median(to_rows));
    det_loader_free(direct);
    det_loader_free(ahead);
    det_dataset_free(dataset);
    mem_free(field.rows);
    mem_free(field.batch);
    mem_free(field.order);
}

/* ---- seeking --------------------------------------------------------------------- */

/* Numbers without data: what is measured is finding, not fetching. */
static det_loader *range_of(int64_t items, det_dataset **ret_dataset)
{
    if (det_dataset_arrays(NULL, 0, items, ret_dataset, NULL, 0))
        fail("data set", "could not be made");
    return loader_of(*ret_dataset, 0);
}

static double seek_ns(det_loader *loader)
{
    int64_t batches = det_loader_epoch_batches(loader);
    uint64_t at = 1;
    double begun = now_s();

    for (int i = 0; i < SEEKS; i++) {
        const det_batch *batch;

        at = at * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (det_loader_seek(loader, (int64_t)((at >> 16) % (uint64_t)batches)) ||
            det_loader_next(loader, &batch))
            fail("seek", det_loader_error(loader));
    }
    return (now_s() - begun) * 1e9 / SEEKS;
}

static void bench_seek(void)
{
    double small[ROUNDS], large[ROUNDS], ratio[ROUNDS];
    det_dataset *few, *many;
    det_loader *in_few = range_of(1000, &few);
    det_loader *in_many = range_of(100000000, &many);

    for (int i = 0; i < ROUNDS; i++) {
        small[i] = seek_ns(in_few);
        large[i] = seek_ns(in_many);
        ratio[i] = large[i] / small[i];
    }
    printf("%.1f %.1f %.3f\n", median(small), median(large), median(ratio));
    det_loader_free(in_few);
    det_loader_free(in_many);
    det_dataset_free(few);
    det_dataset_free(many);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "batches"))
        bench_batches(strtoll(argv[2], NULL, 10));
    else if (argc == 2 && !strcmp(argv[1], "seek"))
        bench_seek();
    else
        fail("usage", "bench_data batches ITEMS | seek");
    return 0;
}
