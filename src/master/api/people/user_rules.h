/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.h - what every change of users, groups and roles must obey: their names, and
 * that somebody can administer the cluster afterwards. */
#ifndef MASTER_API_PEOPLE_USER_RULES_H
#define MASTER_API_PEOPLE_USER_RULES_H

#include <stdint.h>

#include "base/err.h"
#include "master/signin/names.h"
#include "store/people/user.h"

struct db;
struct request;

/* In a write job: a change must not leave the cluster without an active administrator who can
 * sign in.  Remote ones can if a service is configured. */
struct admin_count {
    struct admin_rule rule;
    int64_t count;
};
det_status admin_count_begin(const struct request *req, struct db *db,
                             struct admin_count *ret_count, struct err *err);
/* After the change.  DET_STATE: there was one, and there is none now. */
det_status admin_count_check(struct db *db, const struct admin_count *before,
                             struct err *err);

#endif
