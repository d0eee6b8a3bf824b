/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - what users and groups may be called, wherever the name comes from. */
#ifndef MASTER_SIGNIN_NAMES_H
#define MASTER_SIGNIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct arena;
struct db;
struct user;

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

#endif
