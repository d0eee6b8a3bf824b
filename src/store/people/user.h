/* SPDX-License-Identifier: Apache-2.0 */
/* user.h - rows of users. */
#ifndef STORE_PEOPLE_USER_H
#define STORE_PEOPLE_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct db;

struct user {
    int64_t id;
    const char *username;
    const char *password; /* Argon2id of the client's hash; NULL: blank */
    const char *display_name;
    bool is_admin;
    bool is_active;
    bool is_remote;
    int64_t modified_us;
    int64_t last_auth_us;
    /* the Unix identity of its tasks; agent_user NULL: none, the configuration's */
    int64_t agent_uid;
    int64_t agent_gid;
    const char *agent_user;
    const char *agent_group;
};
extern const struct field user_fields[];

/* DET_EXISTS: the name is taken. */
det_status store_user_add(struct db *db, const struct user *row, int64_t *ret_id,
                          struct err *err);
det_status store_user_put(struct db *db, const struct user *row, struct err *err);
/* Sets the time of the last login and nothing else. */
det_status store_user_seen(struct db *db, int64_t id, int64_t now_us, struct err *err);
det_status store_user_get(struct db *db, int64_t id, struct arena *mem,
                          struct user *ret_row, struct err *err);
det_status store_user_named(struct db *db, const char *username, struct arena *mem,
                            struct user *ret_row, struct err *err);
det_status store_user_list(struct db *db, struct arena *mem, struct user **ret_rows,
                           uint32_t *ret_count, struct err *err);
/* The members of a group. */
det_status store_user_list_of_group(struct db *db, int64_t group_id, struct arena *mem,
                                    struct user **ret_rows, uint32_t *ret_count,
                                    struct err *err);
/* Another user than `id` whose name or display name is `name`, in any case; NULL: none. */
det_status store_user_clash(struct db *db, int64_t id, const char *name,
                            struct arena *mem, const char **ret_username,
                            struct err *err);
/* Who counts as an administrator of the cluster, if active. */
struct admin_rule {
    bool is_rbac;       /* by the flag, or also by the role ClusterAdmin */
    bool counts_remote; /* remote users too: a service signs them in */
};
det_status store_user_count_admins(struct db *db, const struct admin_rule *rule,
                                   int64_t *ret_count, struct err *err);

#endif
