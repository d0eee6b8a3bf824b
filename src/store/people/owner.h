/* SPDX-License-Identifier: Apache-2.0 */
/* owner.h - the owner and the workspace of an object, for wire/rights.h. */
#ifndef STORE_PEOPLE_OWNER_H
#define STORE_PEOPLE_OWNER_H

#include "base/err.h"
#include "wire/rights.h"

struct arena;
struct db;

/* `name` is the part of the path that names it: a number, a uuid or a task's name.
 * DET_NOT_FOUND, also if `name` is not a number where it must be one. */
det_status store_owner_find(struct db *db, enum route_object kind, const char *name,
                            struct arena *mem, struct rights_object *ret_object,
                            struct err *err);
det_status store_owner_find_id(struct db *db, enum route_object kind, int64_t id,
                               struct arena *mem, struct rights_object *ret_object,
                               struct err *err);

#endif
