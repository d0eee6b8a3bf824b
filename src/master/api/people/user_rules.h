/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.h - what every change of users, groups and roles must obey. */
#ifndef MASTER_API_PEOPLE_USER_RULES_H
#define MASTER_API_PEOPLE_USER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/people/user.h"

struct arena;
struct db;
struct request;

/* Trims *name into `mem`.  DET_INVALID unless it has `least` to 64 bytes and no control
 * character.  If `least` is not 0, it names something in paths, so it must not look like one.
 * `what` names it: "group". */
det_status name_check(const char *what, size_t least, const char **name,
                      struct arena *mem, struct err *err);
/* The same for user names and display names, which are ASCII. */
det_status user_name_check(const char *what, size_t least, const char **name,
                           struct arena *mem, struct err *err);

/* Whether the user may have its names: `admin` is for administrators, `determined` for the
 * user of that name, and a display name must not be another user's name. */
det_status user_check_names(struct db *db, const struct user *user, bool new_username,
                            bool new_display_name, struct arena *mem, struct err *err);

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
