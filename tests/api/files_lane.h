/* SPDX-License-Identifier: Apache-2.0 */
/* files_lane.h - the lane on which a master reads downloads.  A file of its own, because
 * names of the master's inner headers are also names of script.h. */
#ifndef TESTS_API_FILES_LANE_H
#define TESTS_API_FILES_LANE_H

#include <stdint.h>

struct lane;
struct master;

struct lane *files_lane(struct master *master);
/* A turn in it that is not this user's. */
uint32_t files_lane_turn_of_others(struct master *master, int64_t user_id);

#endif
