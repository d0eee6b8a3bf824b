/* SPDX-License-Identifier: Apache-2.0 */
/* _cache_position.h - where the next pass through a cached data set begins.
 *
 * Python says so before an epoch. The thread that reads the last step of a pass moves
 * on to the next epoch, unless Python has set another position since that pass began.
 * Both may happen at the same time: TensorFlow's threads read steps ahead. */
#ifndef DETERMINED_CACHE_POSITION_H
#define DETERMINED_CACHE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct position;

/* The position at one moment. */
struct position_state {
    int64_t epoch;
    int64_t first;   /* elements to leave out */
    int64_t changes; /* number of changes so far */
};

det_status position_new(struct position **ret_position, struct err *err);
/* Python never calls it: a pipeline may outlive its Python object. */
void position_free(struct position *position);
void position_set(struct position *position, int64_t epoch, int64_t first);
struct position_state position_get(struct position *position);
/* The pass of `epoch`, begun after so many changes, has ended. Returns false if it no
 * longer counts. */
bool position_move_on(struct position *position, int64_t epoch, int64_t changes);

#endif
