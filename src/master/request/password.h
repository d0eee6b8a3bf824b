/* SPDX-License-Identifier: Apache-2.0 */
/* password.h - passwords: how clients send them and how the store keeps them.
 *
 * A client sends a salted SHA-512 of the password.  The store keeps Argon2id of that. */
#ifndef MASTER_REQUEST_PASSWORD_H
#define MASTER_REQUEST_PASSWORD_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct user;

enum { PASSWORD_LEAST = 8 }; /* characters */

/* DET_INVALID: the password is too short; blank ones too. */
det_status password_check_length(const char *password, struct err *err);
/* A hash hides the length, but it must be one: DET_INVALID if it is not a SHA-512 in hex. */
det_status password_check_hash(const char *hash, struct err *err);
/* The client's hash of a password; "" stays "".  NULL: no memory. */
const char *password_hash(const char *password, bool is_hashed, struct arena *mem);
/* The stored form of a client's hash; NULL for the blank password. */
det_status password_seal(const char *hash, struct arena *mem, const char **ret_sealed,
                         struct err *err);
/* DET_OK or DET_UNAUTHENTICATED.  All failures have the same sentence and take the same
 * time.  `user` NULL: no user has that name. */
det_status password_check(const struct user *user, const char *hash, struct err *err);

#endif
