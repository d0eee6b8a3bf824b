/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - random numbers from a seed, and secrets from the kernel.
 *
 * `struct rng` is MT19937 seeded as numpy's RandomState does: an experiment seed gives
 * the hyperparameters it has always given.  `struct rng64` is a small, fast generator
 * for simulations and shuffles. rng_secret() is for tokens and ids; the pure layers
 * never use it. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { RNG_WORDS = 624 };

struct rng {
    uint32_t key[RNG_WORDS];
    uint32_t pos;
};

void rng_seed(struct rng *rng, uint32_t seed);
uint32_t rng_u32(struct rng *rng);
/* Uniform over 0..limit, both included, by masked rejection.  A limit of 0 draws
 * nothing; a limit below 2^32 takes one 32-bit draw per try, a larger one two (high,
 * low). */
uint64_t rng_upto(struct rng *rng, uint64_t limit);
/* [low, high), from two draws. */
double rng_uniform(struct rng *rng, double low, double high);
/* The little-endian bytes of successive draws. */
void rng_bytes(struct rng *rng, void *bytes, size_t len);

struct rng64 {
    uint64_t state;
};

uint64_t rng64_next(struct rng64 *rng);                  /* splitmix64 */
uint64_t rng64_below(struct rng64 *rng, uint64_t bound); /* 0..bound-1; 0 for 0 */

/* Bytes nobody can guess. */
det_status rng_secret(void *bytes, size_t len, struct err *err);

/* RFC 4122 version 4 from 16 random bytes; `text` gets 36 characters and a NUL. */
enum { UUID_TEXT = 37 };
void uuid_format(const unsigned char random[16], char text[UUID_TEXT]);
int uuid_is_valid(const char *text);

#endif
