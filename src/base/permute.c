/* SPDX-License-Identifier: Apache-2.0 */
#include "base/permute.h"

#include <assert.h>

#include "base/rng.h"

enum { FEW = 128 }; /* elements whose steps overlap */

static uint64_t low_mask(uint32_t bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

void permute_init(struct permute *permute, uint64_t seed, uint64_t epoch,
                  uint64_t count)
{
    struct rng64 outer = {.state = seed};
    struct rng64 rng = {.state = rng64_next(&outer) ^ epoch};
    uint32_t bits = count > 1 ? 64 - (uint32_t)__builtin_clzll(count - 1) : 0;

    permute->count = count;
    permute->low_bits = bits / 2;
    permute->high_bits = bits - bits / 2;
    for (int i = 0; i < PERMUTE_ROUNDS; i++)
        permute->key[i] = rng64_next(&rng);
}

/* Mixes well in its upper bits, and only those are used. */
static uint64_t mix_bits(uint64_t value, uint64_t key)
{
    value = (value ^ key) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

/* One pass through the network.  The halves may differ by one bit, so they are not
 * swapped: rounds change the low and the high half in turn. */
static uint64_t permute_once(const struct permute *p, uint64_t index)
{
    uint64_t low = index & low_mask(p->low_bits);
    uint64_t high = index >> p->low_bits;

    for (int i = 0; i < PERMUTE_ROUNDS; i += 2) {
        high ^= mix_bits(low, p->key[i]) & low_mask(p->high_bits);
        low ^= mix_bits(high, p->key[i + 1]) & low_mask(p->low_bits);
    }
    return high << p->low_bits | low;
}

/* The network permutes 0..2^bits-1.  Less than half of that is outside, so the walk
 * takes at most two steps on average.  It ends because the cycle comes back to
 * `index`. */
uint64_t permute_at(const struct permute *permute, uint64_t index)
{
    assert(index < permute->count);
    do
        index = permute_once(permute, index);
    while (index >= permute->count);
    return index;
}

/* One step for all, then another for those that are still outside, and so on.  Steps of
 * different elements overlap in the processor as long as no branch stands between them;
 * elements outside are therefore listed without a branch. */
static void permute_few(const struct permute *permute, uint64_t first, size_t count,
                        uint64_t *elements)
{
    unsigned char outside[FEW];
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        elements[i] = permute_once(permute, first + i);
        outside[left] = (unsigned char)i;
        left += elements[i] >= permute->count;
    }
    while (left) {
        size_t listed = left;

        left = 0;
        for (size_t i = 0; i < listed; i++) {
            unsigned char at = outside[i];

            elements[at] = permute_once(permute, elements[at]);
            outside[left] = at;
            left += elements[at] >= permute->count;
        }
    }
}

void permute_run(const struct permute *permute, uint64_t first, size_t count,
                 uint64_t *ret_elements)
{
    assert(count <= permute->count && first <= permute->count - count);
    for (size_t done = 0; done < count; done += FEW)
        permute_few(permute, first + done, count - done < FEW ? count - done : FEW,
                    ret_elements + done);
}
