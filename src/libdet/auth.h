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

/* The session of `user` (NULL: of the active user) with the master at `url`; empty when
 * there is none.  Fails only when memory is out. */
det_status auth_load(struct io *io, const char *path, const char *url, const char *user,
                     struct arena *mem, struct auth_session *ret_session,
                     struct err *err);
/* Remembers a token.  `activates`: the user becomes the active one. */
struct auth_change {
    const char *url;
    const char *user;
    const char *token; /* NULL: forget it */
    int activates;
};
det_status auth_store(struct io *io, const char *path, const struct auth_change *change,
                      struct err *err);

#endif
