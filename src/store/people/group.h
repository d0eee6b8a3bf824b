/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - groups of users, which roles can be assigned to. */
#ifndef STORE_PEOPLE_GROUP_H
#define STORE_PEOPLE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct group {
    int64_t id;
    const char *name;
    int64_t members;
};

/* DET_EXISTS: the name is taken. */
det_status store_group_add(struct db *db, const char *name, int64_t *ret_id,
                           struct err *err);
det_status store_group_rename(struct db *db, int64_t id, const char *name,
                              struct err *err);
/* With its memberships and role assignments. */
det_status store_group_drop(struct db *db, int64_t id, struct err *err);
det_status store_group_get(struct db *db, int64_t id, struct arena *mem,
                           struct group *ret_row, struct err *err);

/* By id. */
struct group_query {
    const char *name; /* the whole name; NULL: all */
    int64_t user_id;  /* only groups of this member; 0: all */
};
det_status store_group_list(struct db *db, const struct group_query *query,
                            struct arena *mem, struct group **ret_rows,
                            uint32_t *ret_count, struct err *err);

/* DET_EXISTS: the user is a member already. */
det_status store_group_join(struct db *db, int64_t group_id, int64_t user_id,
                            struct err *err);
/* *ret_was_member tells whether anything changed. */
det_status store_group_leave(struct db *db, int64_t group_id, int64_t user_id,
                             bool *ret_was_member, struct err *err);

#endif
