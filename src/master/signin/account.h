/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - the user of this master that an identity belongs to.
 *
 *   1. An account of the provider that signed in before is the same user, whatever its name
 *      is by now.
 *   2. Else the *remote* user of its name, unless that is another account of the provider.
 *   3. Else a new remote user, if the configuration provisions users.
 *
 * A user with a password here is never taken over by a name from elsewhere. */
#ifndef MASTER_SIGNIN_ACCOUNT_H
#define MASTER_SIGNIN_ACCOUNT_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct db;
struct identity;
struct user;

/* Sets ret_user; its id is 0 if the user must be created.  DET_FORBIDDEN, with a sentence
 * for the person, if the identity may not sign in. */
det_status account_find(struct db *db, const struct identity *identity,
                        struct arena *mem, struct user *ret_user, struct err *err);
/* In a write job: decides again, then creates the user, or brings rights, name and groups
 * up to date. */
det_status account_write(struct db *db, const struct identity *identity, int64_t now_us,
                         struct arena *mem, struct user *ret_user, struct err *err);

#endif
