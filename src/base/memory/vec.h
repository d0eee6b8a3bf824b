/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - a growing array of any type.
 *
 *   VEC(struct step) steps = {0};
 *   if (!vec_push(&steps, step))
 *       return DET_NOMEM;
 *   for (size_t i = 0; i < steps.count; i++)
 *       use(&steps.at[i]);
 *   vec_done(&steps);
 *
 * Elements are plain values, moved by memmove when the array grows. */
#ifndef BASE_MEMORY_VEC_H
#define BASE_MEMORY_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory/mem.h"

#define VEC(type)                                                                      \
    struct {                                                                           \
        type *at;                                                                      \
        size_t count;                                                                  \
        size_t cap;                                                                    \
    }

/* False when out of memory; the vector is then as it was. */
#define vec_push(v, value)                                                             \
    __extension__({                                                                    \
        void *vec_at = vec_grow((v)->at, (v)->count, &(v)->cap, sizeof(*(v)->at));     \
        if (vec_at) {                                                                  \
            (v)->at = vec_at;                                                          \
            (v)->at[(v)->count++] = (value);                                           \
        }                                                                              \
        vec_at != NULL;                                                                \
    })
#define vec_pop(v) ((v)->at[--(v)->count])
/* Takes element `i` out and keeps the order, or fills the hole with the last one. */
#define vec_remove(v, i)                                                               \
    (vec_close_gap((v)->at, (i), (v)->count, sizeof(*(v)->at)), (v)->count--)
#define vec_swap_out(v, i) ((v)->at[i] = (v)->at[(v)->count - 1], (v)->count--)
#define vec_clear(v)       ((v)->count = 0)
#define vec_done(v)        (mem_free((v)->at), (v)->at = NULL, (v)->count = (v)->cap = 0)

/* The array with room for one more, or NULL. */
void *vec_grow(void *at, size_t count, size_t *cap, size_t size);
void vec_close_gap(void *at, size_t i, size_t count, size_t size);

#endif
