/* SPDX-License-Identifier: Apache-2.0 */
/* hparam.h - the space of hyperparameters: draw a sample, or take a point of its grid.
 *
 * The tree of hyperparameters in the configuration becomes a tree of `struct hparam`.
 * At every level the keys are sorted by their bytes.  This is the order of the random
 * draws, of the grid's axes (the first varies slowest) and of the text. */
#ifndef SEARCH_HPARAM_H
#define SEARCH_HPARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct hparam;
struct json;
struct json_writer;
struct rng;

/* A grid cannot have more points than there are trial numbers. */
#define HPARAM_POINTS_MAX (UINT32_MAX - 1)

/* Borrows `hyperparameters` (NULL: none) for the life of `mem`, where the space is
 * made. `is_grid`: each axis must have a count.  DET_INVALID or DET_NOMEM. */
det_status hparam_space_new(const struct json *hyperparameters, bool is_grid,
                            struct arena *mem, const struct hparam **ret_space,
                            struct err *err);

/* One sample, as a JSON object.  Draws from `rng` in sorted order; constants draw
 * nothing. */
void hparam_sample(const struct hparam *space, struct rng *rng, struct json_writer *w);

/* Only for a space made with `is_grid`: the number of points (0 without hyperparameters)
 * and the point 0..points-1.  A point is computed from its number, so the grid is never
 * in memory as a whole. */
uint64_t hparam_points(const struct hparam *space);
void hparam_point(const struct hparam *space, uint64_t point, struct json_writer *w);

#endif
