/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - who calls: tokens and passwords.
 *
 * A token is a kind, a number and a message authentication code over both, under a key
 * that lies in a file only its owner can read: nothing stored is a secret in clear.
 *
 *   s<session>.<mac>     a user's session, until it expires or is closed
 *   u<allocation>.<mac>  DET_USER_TOKEN: acts as the owner until the allocation ends
 *   a<allocation>.<mac>  DET_SESSION_TOKEN: opens the routes for tasks, for its own
 *                        task; after the end only for its last words
 *
 * Agents join with one token for all, from a file of its own.
 *
 * Passwords arrive as the client's salted SHA-512 and are stored as Argon2id of that. A
 * blank password works only for callers on this machine whose socket belongs to the
 * user that runs the master, or to root.  A call that a proxy forwarded (it has a
 * Forwarded, X-Forwarded-For or Via header) never counts as such: the socket is the
 * proxy's.  A proxy on this machine that adds none of these makes all its callers the
 * owner; it must add one. */
#ifndef MASTER_AUTH_H
#define MASTER_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct auth;
struct io;
struct net_exchange;
struct request;
struct user;

/* Reads or makes the key and the agents' token in `data_dir`. */
det_status auth_new(struct io *io, const char *data_dir, struct auth **ret_auth,
                    struct err *err);
void auth_free(struct auth *auth);

/* Fills req->caller as the route demands.  DET_UNAUTHENTICATED or DET_FORBIDDEN. */
det_status auth_check(struct request *req);

/* Whether the headers hold a token that this master has given to somebody: not whether
 * it is still good, which only the store knows.  Does not block. */
bool auth_is_ours(const struct auth *auth, const struct net_exchange *x);
/* Whether the caller was seen before; if so req->caller says who it is, and
 * auth_check() need not ask the store. */
bool auth_knows(struct request *req);
/* For an open route that treats people it knows differently: whether a user with a
 * session calls; if so req->caller says who it is.  Fails where that cannot be told. */
det_status auth_find_user(struct request *req, bool *ret_is_signed_in);
/* For a reply that takes long: auth_hold() remembers the caller's token, auth_holds()
 * says later whether it still opens what it did.  It asks the store only when something
 * was written meanwhile that may have changed that. */
struct auth_hold {
    const char *token; /* in req->mem; NULL: none was needed */
    uint64_t age;
    int64_t expires_us;
};
det_status auth_hold(struct request *req, struct auth_hold *ret_hold);
bool auth_holds(struct request *req, struct auth_hold *hold);
/* A session, a user or the end of an allocation was written: what was found out about
 * callers before is looked up again.  Before the writer is answered. */
void auth_forget(struct auth *auth);

/* The name of this master's cookie, "auth_" and eight digits: cookies know no ports,
 * and the masters of one host must not sign people out of each other.  "auth" is taken
 * as well, as Determined's clients know it. */
const char *auth_cookie(const struct auth *auth);
/* Whether "name=value..." is a session, of whatever master: nobody else's to see. */
bool auth_is_cookie(const char *pair);

enum token_kind { TOKEN_SESSION = 's', TOKEN_USER = 'u', TOKEN_TASK = 'a' };
/* In `mem`; NULL when memory is out. */
const char *auth_token(const struct auth *auth, enum token_kind kind, int64_t id,
                       struct arena *mem);

/* The client's hash of a password; "" stays "". */
const char *password_hash(const char *password, bool is_hashed, struct arena *mem);
/* What is stored for a client's hash: NULL for the blank one. */
det_status password_seal(const char *hash, struct arena *mem, const char **ret_sealed,
                         struct err *err);
/* DET_OK, or DET_UNAUTHENTICATED with the same sentence whatever is wrong, and after
 * the same time; `user` NULL: there is none of that name. */
det_status password_check(const struct user *user, const char *hash, struct err *err);
/* A login waits for the lane that checks passwords (DET_BUSY: too many do), or has come
 * to it. */
det_status auth_login_begin(struct auth *auth, struct err *err);
void auth_login_end(struct auth *auth);
/* Whether this caller may use a blank password. */
bool peer_is_owner(const struct net_exchange *x);

#endif
