/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - data sets of arrays, and of items that a function makes.
 *
 * Arrays that are not shuffled are not copied: a batch is a range of rows.  Shuffled
 * rows are copied one by one.  They lie anywhere, so the processor cannot predict the
 * next one.  We prefetch it instead, piece by piece while we copy, into the second
 * level of the cache, which can wait for more lines at once than the first.  For the
 * same purpose the loader lists the first items of the next batch. */
#include "libdet/data/dataset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "libdet/data/batch_room.h"

enum {
    LINE_BYTES = 64,    /* of the cache */
    PIECE_BYTES = 1600, /* copied and prefetched in turns */
    ERROR_BYTES = 1024, /* of the message of a sequence's function */
};

struct arrays {
    det_dataset base;
};

struct sequence {
    det_dataset base;
    det_sequence ask; /* its columns are not used */
};

det_status data_fail(const struct err *err, char *error, size_t error_size)
{
    if (error && error_size)
        (void)snprintf(error, error_size, "%s", err->text);
    return err->status;
}

/* ---- common parts ---------------------------------------------------------------- */

det_status dataset_init(det_dataset *dataset, const struct dataset_ops *ops,
                        const det_column *columns, size_t count, struct err *err)
{
    dataset->ops = ops;
    dataset->columns = mem_array(MAX(count, (size_t)1), sizeof(*columns));
    if (!dataset->columns)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < count; i++) {
        det_column *column = &dataset->columns[i];

        *column = columns[i];
        dataset->column_count = i + 1;
        column->name = mem_strdup(columns[i].name);
        if (columns[i].name && !column->name)
            return err_default(err, DET_NOMEM);
    }
    return DET_OK;
}

void dataset_done(det_dataset *dataset)
{
    for (size_t i = 0; i < dataset->column_count; i++)
        mem_free((void *)(uintptr_t)dataset->columns[i].name);
    mem_free(dataset->columns);
}

void det_dataset_free(det_dataset *dataset)
{
    if (dataset)
        dataset->ops->free(dataset);
}

int64_t det_dataset_items(const det_dataset *dataset)
{
    return dataset->items;
}

/* Checks the columns of a caller; with `has_data` they also need data. */
static det_status check_columns(const det_column *columns, size_t count, bool has_data,
                                struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = columns[i].name ? columns[i].name : "";

        if (!columns[i].item_bytes)
            return err_set(err, DET_INVALID, "column %zu '%s' has items of 0 bytes", i,
                           name);
        if (has_data && !columns[i].data)
            return err_set(err, DET_INVALID, "column %zu '%s' has no data", i, name);
    }
    return DET_OK;
}

static det_status check_items(int64_t items, struct err *err)
{
    if (items >= 0)
        return DET_OK;
    return err_set(err, DET_INVALID, "a data set cannot have %" PRId64 " items", items);
}

/* ---- arrays ---------------------------------------------------------------------- */

static void prefetch_bytes(const unsigned char *bytes, size_t len)
{
    enum { ONLY_READ = 0, SECOND_LEVEL = 2 };

    for (size_t at = 0; at < len; at += LINE_BYTES)
        __builtin_prefetch(bytes + at, ONLY_READ, SECOND_LEVEL);
}

static void gather_rows(unsigned char *to, const det_column *column,
                        const struct batch_room *room)
{
    const unsigned char *from = column->data;
    const int64_t *indices = room->indices;
    size_t size = column->item_bytes;
    size_t count = (size_t)room->batch.count;

    for (size_t i = 0; i < count; i++) {
        size_t later = MIN(i + ROOM_HINTS, count + room->hints - 1);
        const unsigned char *row = from + (size_t)indices[i] * size;
        const unsigned char *ahead = from + (size_t)indices[later] * size;

        for (size_t at = 0; at < size; at += PIECE_BYTES) {
            size_t len = MIN(size - at, (size_t)PIECE_BYTES);

            prefetch_bytes(ahead + at, len);
            memcpy(to + at, row + at, len);
        }
        to += size;
    }
}

static det_status arrays_fill(const det_dataset *dataset, struct batch_room *room,
                              struct err *err)
{
    size_t count = (size_t)room->batch.count;

    for (size_t c = 0; c < dataset->column_count; c++) {
        const det_column *column = &dataset->columns[c];
        unsigned char *to;
        det_status st;

        if (room->is_run) {
            room->columns[c].data = (const unsigned char *)column->data +
                                    (size_t)room->indices[0] * column->item_bytes;
            continue;
        }
        st = batch_room_take(room, c, count * column->item_bytes, &to, err);
        if (st)
            return st;
        gather_rows(to, column, room);
    }
    return DET_OK;
}

static void arrays_free(det_dataset *dataset)
{
    dataset_done(dataset);
    mem_free(CONTAINER_OF(dataset, struct arrays, base));
}

static const struct dataset_ops arrays_ops = {arrays_fill, arrays_free};

static det_status arrays_new(const det_column *columns, size_t count, int64_t items,
                             det_dataset **ret_dataset, struct err *err)
{
    bool has_data = items > 0;
    struct arrays *arrays;
    det_status st = check_items(items, err);

    if (!st)
        st = check_columns(columns, count, has_data, err);
    if (st)
        return st;
    arrays = mem_new(struct arrays);
    if (!arrays)
        return err_default(err, DET_NOMEM);
    st = dataset_init(&arrays->base, &arrays_ops, columns, count, err);
    if (st) {
        arrays_free(&arrays->base);
        return st;
    }
    arrays->base.items = items;
    *ret_dataset = &arrays->base;
    return DET_OK;
}

det_status det_dataset_arrays(const det_column *columns, size_t column_count,
                              int64_t items, det_dataset **ret_dataset, char *error,
                              size_t error_size)
{
    struct err err = {0};
    det_status st = arrays_new(columns, column_count, items, ret_dataset, &err);

    return st ? data_fail(&err, error, error_size) : DET_OK;
}

/* ---- sequences ------------------------------------------------------------------- */

/* The message that the function wrote, else the text of its status. */
static const char *sequence_error(const char *text, det_status st)
{
    return *text ? text : det_status_text(st);
}

static det_status fill_items(const struct sequence *sequence, struct batch_room *room,
                             struct err *err)
{
    const det_sequence *ask = &sequence->ask;

    for (size_t i = 0; i < (size_t)room->batch.count; i++) {
        char text[ERROR_BYTES] = "";
        det_status st =
            ask->item(ask->arg, room->indices[i], room->pointers, text, sizeof(text));

        if (st)
            return err_set(err, st, "item %" PRId64 ": %s", room->indices[i],
                           sequence_error(text, st));
        for (size_t c = 0; c < sequence->base.column_count; c++)
            room->pointers[c] =
                (char *)room->pointers[c] + sequence->base.columns[c].item_bytes;
    }
    return DET_OK;
}

static det_status sequence_fill(const det_dataset *dataset, struct batch_room *room,
                                struct err *err)
{
    const struct sequence *sequence = CONTAINER_OF(dataset, struct sequence, base);
    const det_sequence *ask = &sequence->ask;
    size_t count = (size_t)room->batch.count;
    char text[ERROR_BYTES] = "";
    det_status st;

    for (size_t c = 0; c < dataset->column_count; c++) {
        unsigned char *to;

        st = batch_room_take(room, c, count * dataset->columns[c].item_bytes, &to, err);
        if (st)
            return st;
        room->pointers[c] = to;
    }
    if (ask->item)
        return fill_items(sequence, room, err);
    st = ask->batch(ask->arg, room->indices, count, room->pointers, text, sizeof(text));
    if (st)
        return err_set(err, st, "batch %" PRId64 ", from item %" PRId64 " on: %s",
                       room->batch.position, room->indices[0],
                       sequence_error(text, st));
    return DET_OK;
}

static void sequence_free(det_dataset *dataset)
{
    dataset_done(dataset);
    mem_free(CONTAINER_OF(dataset, struct sequence, base));
}

static const struct dataset_ops sequence_ops = {sequence_fill, sequence_free};

static det_status sequence_new(const det_sequence *ask, det_dataset **ret_dataset,
                               struct err *err)
{
    bool has_data = false;
    struct sequence *sequence;
    det_status st = check_items(ask->items, err);

    if (!st)
        st = check_columns(ask->columns, ask->column_count, has_data, err);
    if (!st && !ask->item == !ask->batch)
        st = err_set(err, DET_INVALID,
                     "a sequence needs one function, for items or for batches");
    if (st)
        return st;
    sequence = mem_new(struct sequence);
    if (!sequence)
        return err_default(err, DET_NOMEM);
    st = dataset_init(&sequence->base, &sequence_ops, ask->columns, ask->column_count,
                      err);
    if (st) {
        sequence_free(&sequence->base);
        return st;
    }
    sequence->ask = *ask;
    sequence->base.items = ask->items;
    *ret_dataset = &sequence->base;
    return DET_OK;
}

det_status det_dataset_sequence(const det_sequence *sequence, det_dataset **ret_dataset,
                                char *error, size_t error_size)
{
    det_sequence copy = {0};
    struct err err = {0};
    det_status st;

    memcpy(&copy, sequence, MIN(sequence->size, sizeof(copy)));
    st = sequence_new(&copy, ret_dataset, &err);
    return st ? data_fail(&err, error, error_size) : DET_OK;
}
