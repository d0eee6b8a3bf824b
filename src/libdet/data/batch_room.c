/* SPDX-License-Identifier: Apache-2.0 */
/* batch_room.c - see batch_room.h. */
#include "libdet/data/batch_room.h"

#include <assert.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "libdet/data/dataset.h"

enum {
    ALIGNMENT = 64,     /* of a batch's columns: enough for cache lines and vectors */
    FIRST_BYTES = 4096, /* of a column of records */
};

static det_status room_columns(struct batch_room *room, const det_dataset *dataset,
                               struct err *err)
{
    for (size_t c = 0; c < dataset->column_count; c++) {
        const det_column *column = &dataset->columns[c];

        room->columns[c].name = column->name;
        room->columns[c].item_bytes = column->item_bytes;
        if (column->item_bytes)
            continue;
        room->rooms[c].offsets = mem_array(room->most + 1, sizeof(size_t));
        if (!room->rooms[c].offsets)
            return err_default(err, DET_NOMEM);
        room->columns[c].offsets = room->rooms[c].offsets;
    }
    return DET_OK;
}

/* Allocates no memory for the columns yet: a batch of consecutive array rows needs
 * none. */
det_status batch_room_init(struct batch_room *room, const det_dataset *dataset,
                           size_t most, struct err *err)
{
    size_t count = MAX(dataset->column_count, (size_t)1);

    room->most = most;
    room->columns = mem_array(count, sizeof(*room->columns));
    room->rooms = mem_array(count, sizeof(*room->rooms));
    room->pointers = mem_array(count, sizeof(*room->pointers));
    room->indices = mem_array(most + ROOM_HINTS, sizeof(*room->indices));
    room->batch.column_count = dataset->column_count;
    room->batch.columns = room->columns;
    room->batch.indices = room->indices;
    if (!room->columns || !room->rooms || !room->pointers || !room->indices)
        return err_default(err, DET_NOMEM);
    return room_columns(room, dataset, err);
}

void batch_room_done(struct batch_room *room)
{
    for (size_t c = 0; room->rooms && c < room->batch.column_count; c++) {
        mem_free(room->is_lent ? NULL : room->rooms[c].memory);
        mem_free(room->rooms[c].offsets);
    }
    mem_free(room->columns);
    mem_free(room->rooms);
    mem_free(room->pointers);
    mem_free(room->indices);
    *room = (struct batch_room){0};
}

/* Fixed columns get their largest size at once; the others grow by half, so they soon
 * stop growing. */
static size_t wanted_bytes(const struct batch_room *room, size_t column, size_t bytes)
{
    size_t item_bytes = room->columns[column].item_bytes;
    size_t all;

    if (!item_bytes)
        return MAX(bytes + bytes / 2, (size_t)FIRST_BYTES);
    return __builtin_mul_overflow(room->most, item_bytes, &all) ? SIZE_MAX : all;
}

det_status batch_room_take(struct batch_room *room, size_t column, size_t bytes,
                           unsigned char **ret_bytes, struct err *err)
{
    struct column_room *own = &room->rooms[column];

    assert(!room->is_lent || own->cap >= bytes);
    if (!own->memory || own->cap < bytes) {
        size_t cap = wanted_bytes(room, column, bytes);

        mem_free(own->memory);
        own->cap = 0;
        own->memory = cap < SIZE_MAX - ALIGNMENT ? mem_alloc(cap + ALIGNMENT) : NULL;
        if (!own->memory)
            return err_set(err, DET_NOMEM, "out of memory for a batch of %zu bytes",
                           bytes);
        own->cap = cap;
    }
    *ret_bytes = own->memory + (ALIGNMENT - (uintptr_t)own->memory % ALIGNMENT);
    room->columns[column].data = *ret_bytes;
    return DET_OK;
}

bool batch_room_bytes(const struct batch_room *room, size_t *ret_bytes)
{
    size_t sum = 0;

    for (size_t c = 0; c < room->batch.column_count; c++) {
        size_t bytes;

        if (__builtin_mul_overflow(room->most, room->columns[c].item_bytes, &bytes) ||
            __builtin_add_overflow(bytes, 2 * ALIGNMENT, &bytes) ||
            __builtin_add_overflow(sum, bytes / ALIGNMENT * ALIGNMENT, &sum))
            return false;
    }
    *ret_bytes = sum;
    return true;
}

void batch_room_lend(struct batch_room *room, unsigned char *memory)
{
    room->is_lent = true;
    for (size_t c = 0; c < room->batch.column_count; c++) {
        size_t bytes = room->most * room->columns[c].item_bytes;

        room->rooms[c].memory = memory;
        room->rooms[c].cap = bytes;
        memory += (bytes + 2 * (size_t)ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    }
}
