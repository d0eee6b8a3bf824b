/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/vec.h"

#include <string.h>

void *vec_grow(void *at, size_t count, size_t *cap, size_t size)
{
    /* The capacity is stored only when there is memory for it: a failed push changes
     * nothing. */
    size_t more = *cap ? *cap * 2 : 8;
    void *grown;

    if (count < *cap)
        return at;
    grown = mem_resize(at, more, size);
    if (grown)
        *cap = more;
    return grown;
}

void vec_close_gap(void *at, size_t i, size_t count, size_t size)
{
    char *base = at;

    memmove(base + i * size, base + (i + 1) * size, (count - i - 1) * size);
}
