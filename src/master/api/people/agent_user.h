/* SPDX-License-Identifier: Apache-2.0 */
/* agent_user.h - the Unix identity that a user's tasks run with, as calls carry it:
 * {agentUid, agentGid, agentUser, agentGroup}. */
#ifndef MASTER_API_PEOPLE_AGENT_USER_H
#define MASTER_API_PEOPLE_AGENT_USER_H

#include <stdbool.h>

#include "base/err.h"

struct json;
struct user;

/* null means unchanged, as an absent key does. */
bool agent_user_is_given(const struct json *group);
/* Sets the four fields of `user`; borrows the names.  All four, or none of them: then the
 * identity is removed.  DET_INVALID: only some are there, or one is wrong. */
det_status agent_user_read(const struct json *group, struct user *user,
                           struct err *err);

#endif
