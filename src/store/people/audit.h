/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - rows of audit: who did what to which object from where. */
#ifndef STORE_PEOPLE_AUDIT_H
#define STORE_PEOPLE_AUDIT_H

#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct db;

/* No string is NULL. */
struct audit {
    int64_t id;
    int64_t time_us;
    int64_t user_id; /* 0: nobody who is known */
    const char *username;
    const char *action; /* the name of the call, "patch_user" */
    const char *object_kind;
    const char *object_id;
    const char *address;
    int64_t status; /* HTTP */
    const char
        *detail; /* names of the body's fields and ids in it, never other values */
};
extern const struct field audit_fields[];

struct audit_filter {
    const char *username; /* NULL: all; likewise the next three */
    const char *action;
    const char *object_kind;
    const char *object_id;
    int64_t since_us;
    int64_t before; /* ids below; 0: from the newest */
    int64_t limit;
};

/* Adds a row; `row->id` is not used. */
det_status store_audit_add(struct db *db, const struct audit *row, struct err *err);
/* The newest first. */
det_status store_audit_list(struct db *db, const struct audit_filter *filter,
                            struct arena *mem, struct audit **ret_rows,
                            uint32_t *ret_count, struct err *err);
/* Removes rows older than that, a bounded number at a time. */
det_status store_audit_expire(struct db *db, int64_t before_us, int64_t *ret_removed,
                              struct err *err);

#endif
