/* SPDX-License-Identifier: Apache-2.0 */
/* _average_number.h - the kinds of numbers in gradients: conversions and means.
 *
 * Pure. Sums are made in the order of ranks on every rank: the same numbers always give
 * the same bits. Halves are summed as floats and rounded once. Nothing here relies on
 * denormal floats: TensorFlow switches them off in its threads. */
#ifndef AVERAGE_NUMBER_H
#define AVERAGE_NUMBER_H

#include <stddef.h>

enum number {
    NUMBER_FLOAT,
    NUMBER_DOUBLE,
    NUMBER_HALF,     /* IEEE, 16 bits */
    NUMBER_BFLOAT16, /* the upper half of a float */
    NUMBER_COUNT
};

enum { NUMBER_RANKS = 1024 }; /* at most */

size_t number_size(enum number kind);

/* Converts `count` numbers, rounded to nearest, ties to even; a number that is too
 * large becomes infinite. Conversions between doubles and the small kinds go through
 * floats. The two places must not overlap. */
void number_convert(void *into, enum number into_kind, const void *from,
                    enum number from_kind, size_t count);

/* into[i] = the mean of from[0][i] ... from[ranks - 1][i]. `into` may be one of `from`.
 * For floats, doubles and halves. */
void number_mean(void *into, const void *const *from, int ranks, size_t count,
                 enum number kind);

#endif
