/* SPDX-License-Identifier: Apache-2.0 */
/* access_token.h - tokens that programs use in a user's name.
 *
 * They are rows of `sessions` with a name and an expiry of their own.  Login and logout do
 * not touch them; they are kept after they were revoked or have expired, for the list.
 * store_session_add() makes them. */
#ifndef STORE_PEOPLE_ACCESS_TOKEN_H
#define STORE_PEOPLE_ACCESS_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;

struct access_token {
    int64_t id;
    int64_t user_id;
    int64_t created_us;
    int64_t expires_us;
    bool is_revoked;
    const char *description;
    const char *username; /* only read */
};

/* Sets description and revocation.  DET_NOT_FOUND: there is no such token. */
det_status store_access_token_put(struct db *db, const struct access_token *row,
                                  struct err *err);
det_status store_access_tokens_revoke_of(struct db *db, int64_t user_id,
                                         struct err *err);
det_status store_access_token_get(struct db *db, int64_t id, struct arena *mem,
                                  struct access_token *ret_row, struct err *err);
/* By id. user_id 0: of all users. */
det_status store_access_token_list(struct db *db, int64_t user_id, struct arena *mem,
                                   struct access_token **ret_rows, uint32_t *ret_count,
                                   struct err *err);

#endif
