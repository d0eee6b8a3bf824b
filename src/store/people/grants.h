/* SPDX-License-Identifier: Apache-2.0 */
/* grants.h - what a user may do by all role assignments. */
#ifndef STORE_PEOPLE_GRANTS_H
#define STORE_PEOPLE_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/permission.h"

struct arena;
struct db;

/* The permissions by assignments to the user and to the user's groups, one entry per
 * workspace, in `mem`.  A user without assignments has none. */
det_status store_grants_of(struct db *db, int64_t user_id, struct arena *mem,
                           struct grants *ret_grants, struct err *err);

bool grants_are_same(const struct grants *a, const struct grants *b);
/* NULL: no memory. */
struct grants *grants_copy(const struct grants *grants, struct arena *mem);

#endif
