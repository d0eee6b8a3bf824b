/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h - macros around compiler extensions. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#include <stddef.h>

/* Runs `fn(&variable)` when the variable goes out of scope. */
#define CLEANUP(fn)            __attribute__((cleanup(fn)))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED                 __attribute__((unused))

/* A branch that only a bug could take: asserted in tests, handled in release. */
#define NEVER(x) __builtin_expect(!!(x), 0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member)                                                \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Each argument is evaluated once; not for constant expressions. */
#define MIN(a, b)          PICK_(<, a, b, __COUNTER__)
#define MAX(a, b)          PICK_(>, a, b, __COUNTER__)
#define PICK_(op, a, b, n) PICK_NAMED_(op, a, b, n)
#define PICK_NAMED_(op, a, b, n)                                                       \
    __extension__({                                                                    \
        __auto_type pick_a_##n = (a);                                                  \
        __auto_type pick_b_##n = (b);                                                  \
        pick_a_##n op pick_b_##n ? pick_a_##n : pick_b_##n;                            \
    })

#endif
