/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_archive.c - nothing is unpacked outside of the folder, and a refused archive
 * leaves the folder empty. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "data/archive/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static size_t name_count(const char *path)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    size_t count = 0;

    if (io_list(io_system(), path, &mem, &names, NULL))
        __builtin_trap();
    while (names[count])
        count++;
    return count;
}

/* The folder of all runs, in memory: a folder per run would cost more than the unpacking. */
static const char *outer_folder(void)
{
    static char path[] = "/dev/shm/det-fuzz-XXXXXX";
    static bool is_made;

    if (!is_made && !mkdtemp(path))
        __builtin_trap();
    is_made = true;
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *outer = outer_folder();
    char inner[64];
    det_status st;

    snprintf(inner, sizeof(inner), "%s/in", outer);
    if (mkdir(inner, 0700) != 0)
        __builtin_trap();
    st = archive_unpack(bytes, len, inner, NULL);
    if (name_count(outer) != 1)
        __builtin_trap();
    if (st == DET_INVALID && name_count(inner) != 0)
        __builtin_trap();
    if (io_remove_tree(io_system(), inner, NULL))
        __builtin_trap();
    return 0;
}
