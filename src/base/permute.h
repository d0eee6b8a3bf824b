/* SPDX-License-Identifier: Apache-2.0 */
/* permute.h - a shuffled order of 0..count-1 that is computed, not stored.
 *
 * Shuffled data needs the n-th element of an epoch's order, and a program that resumes
 * needs it for an n in the middle. permute_at() computes it from (seed, epoch, count,
 * n) in constant time and without memory: a Feistel network over the smallest power of
 * two that holds `count`, walked along its cycle while it leads outside.  Every seed
 * and every epoch gives another permutation.
 *
 * A checkpoint that was made with one order must be resumed with the same order.  This
 * function therefore never changes (its test holds golden values). */
#ifndef BASE_PERMUTE_H
#define BASE_PERMUTE_H

#include <stddef.h>
#include <stdint.h>

enum { PERMUTE_ROUNDS = 6 };

struct permute {
    uint64_t count;
    uint64_t key[PERMUTE_ROUNDS];
    uint32_t low_bits; /* bits of the index in the low half */
    uint32_t high_bits;
};

void permute_init(struct permute *permute, uint64_t seed, uint64_t epoch,
                  uint64_t count);
/* Where `index` goes.  index < count. */
uint64_t permute_at(const struct permute *permute, uint64_t index);
/* The same for `count` consecutive indices, several times as fast. */
void permute_run(const struct permute *permute, uint64_t first, size_t count,
                 uint64_t *ret_elements);

#endif
