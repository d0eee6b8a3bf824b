/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h - which account of an identity provider a user is. */
#ifndef STORE_PEOPLE_SUBJECT_H
#define STORE_PEOPLE_SUBJECT_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

/* The user of an account; 0: none yet. */
det_status store_subject_user(struct db *db, const char *issuer, const char *subject,
                              int64_t *ret_user_id, struct err *err);
/* The account of a user at this issuer, in `mem`; NULL: none yet. */
det_status store_subject_of(struct db *db, const char *issuer, int64_t user_id,
                            struct arena *mem, const char **ret_subject,
                            struct err *err);
det_status store_subject_add(struct db *db, const char *issuer, const char *subject,
                             int64_t user_id, struct err *err);

/* Replaces the memberships that the last sign-in gave by those in the groups of these names
 * that exist here.  Memberships given here stay. */
det_status store_remote_groups_set(struct db *db, int64_t user_id,
                                   const char *const *names, uint32_t count,
                                   struct err *err);

#endif
