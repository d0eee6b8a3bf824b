/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - authenticates callers by their tokens.
 *
 * token.h describes the tokens.  The key of their codes is in a file that only its owner can
 * read, so the database holds no secret in clear.
 *
 *   a session, an access token   until it expires, is closed or revoked
 *   DET_USER_TOKEN     acts as the user who started the run until the run ends
 *   DET_SESSION_TOKEN  opens the routes for tasks, for its own task, until the run ends
 *   the supervisor's   likewise, and after the end for what the supervisor has not delivered:
 *                      until it reports the exit, which comes last
 *
 * All agents join with one token, which has its own file.
 *
 * The rights of a call come from its token alone.  The socket opens a blank password and
 * nothing else: while the master serves this machine alone, a caller on this machine whose
 * socket belongs to the user that runs the master, or to root, may log in with one.  A
 * forwarded call (with a Forwarded, X-Forwarded-For or Via header) never counts as local,
 * because the socket is the proxy's. */
#ifndef MASTER_REQUEST_AUTH_H
#define MASTER_REQUEST_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "master/request/token.h"

struct arena;
struct auth;
struct io;
struct master;
struct net_exchange;
struct request;

/* Reads the key and the agents' token from `data_dir`, or creates them there. */
det_status auth_new(struct io *io, const char *data_dir, struct auth **ret_auth,
                    struct err *err);
void auth_free(struct auth *auth);

/* Finds out who calls and fills req->caller; access.h decides what that caller may.
 * DET_UNAUTHENTICATED. */
det_status auth_check(struct request *req);

/* Whether the headers hold a token that this master issued.  It may have expired since,
 * which only the store knows.  Does not block. */
bool auth_has_signed_token(const struct auth *auth, const struct net_exchange *x);
/* Whether an agent or a supervisor calls, by its token alone.  Does not block. */
bool auth_is_of_platform(const struct auth *auth, const struct net_exchange *x);
/* Whose turn a call takes (lane_take_turns()): that of its user if the cache holds the caller,
 * else of its token, else of its address.  Does not block. */
uint32_t auth_turn(const struct master *master, const struct net_exchange *x,
                   struct arena *mem);
/* Who pays for a large body: the user if the cache holds the caller, else the address, because
 * one user may have many tokens.  Does not block. */
uint32_t auth_turn_of_body(const struct master *master, const struct net_exchange *x,
                           struct arena *mem);
uint32_t auth_turn_of_user(const struct auth *auth, int64_t user_id);
/* Whether the cache holds the caller.  If so, fills req->caller; auth_check() then needs
 * no query. */
bool auth_find_cached(struct request *req);
/* For open routes that show more to signed-in users.  If a user with a session calls, fills
 * req->caller.  Anonymous callers are allowed; a failed lookup is an error. */
det_status auth_find_user(struct request *req, bool *ret_is_signed_in);
/* For replies that take long: auth_watch_begin() remembers the caller's token, and
 * auth_watch_is_valid() tells later whether the token is still valid, and its rights enough.
 * It asks the store only if something was written in between that may have changed that. */
struct auth_watch {
    const char *token; /* in req->mem; NULL: the call needed none */
    uint64_t age;      /* of the caller cache, at the last lookup */
    int64_t expires_us;
};
det_status auth_watch_begin(struct request *req, struct auth_watch *ret_watch);
/* With a reader; takes one itself if it needs one and req->db is NULL. */
bool auth_watch_is_valid(struct request *req, struct auth_watch *watch);
/* Call this after a write of a session, a user or the end of an allocation, before its
 * caller is answered.  All callers are looked up again. */
void auth_drop_cache(struct auth *auth);

/* The name of this master's cookie: "auth_" and eight digits.  Cookies ignore ports, and
 * the masters of one host must not sign each other's users out.  The master also accepts
 * "auth", which Determined's clients use. */
const char *auth_cookie(const struct auth *auth);
/* Gives a browser its session; "" and 0 take it away.  Programs send the token of the body
 * as a header.  Scripts cannot read the cookie (HttpOnly), and requests of other sites do not
 * carry it (SameSite). */
void auth_set_cookie(struct request *req, const char *token, int seconds);
/* Whether "name=value..." is the session cookie of any master.  Programs behind the proxy
 * must not see these. */
bool auth_is_cookie(const char *pair);

/* The token of a row; in `mem`; NULL: no memory. */
const char *auth_token(const struct auth *auth, enum token_kind kind, int64_t id,
                       const char *nonce, struct arena *mem);

/* Counts the logins that wait for the lane that checks passwords, by the turn of their
 * address.  DET_BUSY: too many, in all or from this address. */
det_status auth_login_begin(struct auth *auth, uint32_t turn, struct err *err);
void auth_login_end(struct auth *auth, uint32_t turn);
/* The turn of an address, and that of a name there: a login waits for one of each other
 * name, however many those have sent. */
uint32_t auth_turn_of_address(const struct request *req);
uint32_t auth_turn_of_name(const struct request *req, const char *name);
/* Whether the caller sits at this machine as the user that runs the master, or as root. */
bool auth_peer_is_owner(const struct net_exchange *x);

#endif
