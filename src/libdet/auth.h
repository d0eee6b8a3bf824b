/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - passwords as they travel, and sessions as they are remembered.
 *
 * The file is that of other clients of this API, so that a login by one serves all:
 *
 *   {"version": 2,
 *    "masters": {"http://127.0.0.1:8080": {"active_user": "ann",
 *                                          "tokens": {"ann": "..."}}}}
 *
 * Only its owner can read it, and it is replaced whole.  A file of another version or
 * one that cannot be read counts as empty: all it holds can be had again by a login. */
#ifndef LIBDET_AUTH_H
#define LIBDET_AUTH_H

#include "base/err.h"

struct arena;
struct io;

/* What is sent instead of a password: 128 hexadecimal digits; "" for a blank one. */
enum { AUTH_HASH_TEXT = 129 };
void auth_hash(const char *password, char text[AUTH_HASH_TEXT]);

/* $XDG_CONFIG_HOME is not asked, as other clients do not:
 * ~/.config/determined/auth.json. DET_NOT_FOUND: no home directory. */
det_status auth_file_default(struct arena *mem, const char **ret_path, struct err *err);

struct auth_session {
    const char *user;  /* NULL: nobody is active */
    const char *token; /* NULL: none is remembered */
};

/* Whose sessions, and where they are remembered. */
struct auth_place {
    struct io *io;
    const char *path; /* of the file */
    const char *url;  /* of the master */
};

/* The session of `user` (NULL: of the active user); empty when there is none.  Fails
 * only when memory is out. */
det_status auth_load(const struct auth_place *place, const char *user,
                     struct arena *mem, struct auth_session *ret_session,
                     struct err *err);
/* Remembers a token.  `activates`: the user becomes the active one. */
struct auth_change {
    const char *user;
    const char *token; /* NULL: forget it */
    int activates;
};
det_status auth_store(const struct auth_place *place, const struct auth_change *change,
                      struct err *err);

#endif
