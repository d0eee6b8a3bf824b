/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_zip.c - the bytes of every entry are in the file, and its name finds it. */
#include <stddef.h>
#include <stdint.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "data/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_list(const struct zip_list *list, size_t file_bytes)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct zip_entry *entry = &list->entry[i];

        if (entry->offset > file_bytes ||
            entry->stored_bytes > file_bytes - entry->offset ||
            zip_find(list, entry->name) != entry)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct io_file *file = NULL;
    struct zip_list list;
    struct err err;
    struct io *io;

    if (io_memory_new(&io, &err))
        return 0;
    if (!io_replace(io, "/zip", bytes, len, false, &err) &&
        !io_open(io, "/zip", IO_READ, &file, &err) &&
        !zip_read_list(file, &mem, &list, &err))
        check_list(&list, len);
    io_closep(&file);
    io_free(io);
    return 0;
}
