/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h - digits, drawn: as many as anybody likes, none of them stored anywhere. */
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, DIGITS = 10 };

/* The n-th picture of a seed, whatever was drawn before: a digit with a hand of its own
 * (slant, size, width of the pen, place) on noisy paper.  Pixels are 0 (paper) to 1
 * (ink), a little more or less with the noise.  Returns which digit it is. */
int draw_digit(uint64_t seed, int64_t n, float noise, float *pixels);

#endif
