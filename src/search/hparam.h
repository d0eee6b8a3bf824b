/* SPDX-License-Identifier: Apache-2.0 */
/* hparam.h - the space of hyperparameters: draw a sample, or take a point of its grid.
 *
 * The configuration's tree of hyperparameters becomes a tree of `struct hparam` whose
 * keys are sorted by their bytes at every level.  That order is the order of the
 * random draws, of the grid's axes (the first varies slowest) and of the text. */
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

/* More points than trial numbers make no grid. */
#define HPARAM_POINTS_MAX (UINT32_MAX - 1)

/* Borrows `hyperparameters` (NULL: none) for the life of `mem`, where the space is
 * made. `is_grid`: each axis must have a count.  DET_INVALID or DET_NOMEM. */
det_status hparam_space_new(const struct json *hyperparameters, bool is_grid,
                            struct arena *mem, const struct hparam **ret_space,
                            struct err *err);

/* One sample, as a JSON object.  Draws from `rng` in sorted order; what does not vary
 * draws nothing. */
void hparam_sample(const struct hparam *space, struct rng *rng, struct json_writer *w);

/* Only for a space made with `is_grid`.  The number of points, which is 0 without any
 * hyperparameter; and the point 0..points-1, worked out from its number, so that the
 * product of the axes is never laid out in memory. */
uint64_t hparam_points(const struct hparam *space);
void hparam_point(const struct hparam *space, uint64_t point, struct json_writer *w);

#endif
