/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_memory.c - SQLite's own allocations fail like ours.  SQLite asks for its
 * allocator once, before its first use: hence the constructor. */
#include <sqlite3.h>
#include <stddef.h>

#include "base/fault.h"

static sqlite3_mem_methods plain;

static void *faulty_malloc(int size)
{
    return fault_strikes(FAULT_MEMORY) ? NULL : plain.xMalloc(size);
}

static void *faulty_realloc(void *old, int size)
{
    return fault_strikes(FAULT_MEMORY) ? NULL : plain.xRealloc(old, size);
}

__attribute__((constructor)) static void install(void)
{
    sqlite3_mem_methods faulty;

    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain))
        return;
    faulty = plain;
    faulty.xMalloc = faulty_malloc;
    faulty.xRealloc = faulty_realloc;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &faulty);
}
