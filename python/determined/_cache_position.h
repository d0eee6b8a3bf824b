/* SPDX-License-Identifier: Apache-2.0 */
/* _cache_position.h - where the next pass through a cached data set begins.
 *
 * Python says so before an epoch; whoever reads the last step of a pass moves on to the
 * next epoch, unless Python has said something since that pass began.  Both happen
 * while the other may be at it: steps are read ahead, by TensorFlow's threads. */
#ifndef DETERMINED_CACHE_POSITION_H
#define DETERMINED_CACHE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct position;

/* What it is at one moment. */
struct position_state {
    int64_t epoch;
    int64_t first;   /* elements that are left out */
    int64_t changes; /* so many so far */
};

det_status position_new(struct position **ret_position, struct err *err);
/* Python never does: pipelines may outlive what it knows of them. */
void position_free(struct position *position);
void position_set(struct position *position, int64_t epoch, int64_t first);
struct position_state position_get(struct position *position);
/* The pass of `epoch`, begun after so many changes, has ended.  False: it no longer
 * counts. */
bool position_move_on(struct position *position, int64_t epoch, int64_t changes);

#endif
