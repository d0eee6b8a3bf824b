/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/mem.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

void *mem_array(size_t count, size_t size)
{
    if (fault_strikes(FAULT_MEMORY))
        return NULL;
    /* A size of 0 still gives a pointer: NULL always means out of memory. */
    return calloc(count ? count : 1, size ? size : 1);
}

void *mem_alloc(size_t size)
{
    return mem_array(1, size);
}

void *mem_resize(void *old, size_t count, size_t size)
{
    /* realloc() does not check the product as calloc() does. */
    size_t bytes;

    if (fault_strikes(FAULT_MEMORY) || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return realloc(old, bytes ? bytes : 1);
}

void mem_free(void *ptr)
{
    free(ptr);
}

void mem_trim(void)
{
    (void)malloc_trim(0);
}

char *mem_strndup(const char *str, size_t len)
{
    char *copy = str ? mem_alloc(len + 1) : NULL;

    if (copy)
        memcpy(copy, str, len);
    return copy;
}

char *mem_strdup(const char *str)
{
    return str ? mem_strndup(str, strlen(str)) : NULL;
}

void mem_freep(void *variable)
{
    void **ptr = variable;

    mem_free(*ptr);
    *ptr = NULL;
}
