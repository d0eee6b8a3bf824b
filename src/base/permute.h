/* SPDX-License-Identifier: Apache-2.0 */
/* permute.h - an order of 0..count-1 that is computed, not kept.
 *
 * Shuffled data needs the n-th element of an epoch's order; a program that resumes
 * needs it for an n in the middle.  permute_at() computes it from (seed, epoch, count,
 * n) in constant time and without memory: a Feistel network over the smallest power of
 * two that holds `count`, walked along its cycle while it leads outside.  Every seed
 * and every epoch is a permutation of its own.
 *
 * On disk in a way: a checkpoint that was made with one order must be resumed with the
 * same, so this function never changes (its golden values are in its test). */
#ifndef BASE_PERMUTE_H
#define BASE_PERMUTE_H

#include <stddef.h>
#include <stdint.h>

enum { PERMUTE_ROUNDS = 6 };

struct permute {
    uint64_t count;
    uint64_t key[PERMUTE_ROUNDS];
    uint32_t low_bits; /* of the index; the rest are the high ones */
    uint32_t high_bits;
};

void permute_init(struct permute *permute, uint64_t seed, uint64_t epoch,
                  uint64_t count);
/* Where `index` goes, and the way back.  index < count. */
uint64_t permute_at(const struct permute *permute, uint64_t index);
/* The same for `count` indices that follow one another, several times as fast. */
void permute_run(const struct permute *permute, uint64_t first, size_t count,
                 uint64_t *ret_elements);
uint64_t permute_find(const struct permute *permute, uint64_t element);

#endif
