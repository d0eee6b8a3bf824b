/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - the hash that replaces a password, and the file that stores sessions.
 *
 * Other clients of this API use the same file, so one login serves all:
 *
 *   {"version": 2,
 *    "masters": {"http://127.0.0.1:8080": {"active_user": "ann",
 *                                          "tokens": {"ann": "..."}}}}
 *
 * Only its owner can read the file, and it is replaced as a whole.  An unreadable file
 * or one of another version counts as empty: a login restores everything in it. */
#ifndef LIBDET_CLIENT_AUTH_H
#define LIBDET_CLIENT_AUTH_H

#include "base/err.h"

struct arena;
struct io;

/* Sent instead of a password: 128 hexadecimal digits; "" for a blank password. */
enum { AUTH_HASH_TEXT = 129 };
void auth_hash(const char *password, char text[AUTH_HASH_TEXT]);

/* Returns ~/.config/determined/auth.json.  Ignores $XDG_CONFIG_HOME, as other clients
 * do.  DET_NOT_FOUND: no home directory. */
det_status auth_file_default(struct arena *mem, const char **ret_path, struct err *err);

struct auth_session {
    const char *user;  /* NULL: no user is active */
    const char *token; /* NULL: none is stored */
};

/* The sessions of one master, and the file that stores them. */
struct auth_place {
    struct io *io;
    const char *path; /* of the file */
    const char *url;  /* of the master */
};

/* Loads the session of `user` (NULL: the active user); empty if there is none.  Fails
 * only without memory. */
det_status auth_load(const struct auth_place *place, const char *user,
                     struct arena *mem, struct auth_session *ret_session,
                     struct err *err);
/* Stores a token.  `activates`: the user becomes the active one. */
struct auth_change {
    const char *user;
    const char *token; /* NULL: remove it */
    int activates;
};
det_status auth_store(const struct auth_place *place, const struct auth_change *change,
                      struct err *err);

#endif
