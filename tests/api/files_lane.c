/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/api/files_lane.h"

#include "master/master_impl.h"
#include "master/request/auth.h"

struct lane *files_lane(struct master *master)
{
    return master->files;
}

uint32_t files_lane_turn_of_others(struct master *master, int64_t user_id)
{
    return auth_turn_of_user(master->auth, user_id) + 1;
}
