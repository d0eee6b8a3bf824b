/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - what an environment consists of, as a checksum that is its name.
 *
 * Two tasks share an environment if their keys are equal: the same requirements (as pip
 * reads them, without comments), the same content of every file they name beside them
 * (-r, -c, wheels, folders), and the same interpreter.  The place of the files does not
 * count. */
#ifndef AGENT_ENV_KEY_H
#define AGENT_ENV_KEY_H

#include <stddef.h>

#include "base/err.h"

struct arena;
struct field_strs;
struct interpreter;
struct io;

enum { ENV_KEY_TEXT = 17 }; /* 16 hexadecimal digits */

struct env_wish {
    const char *folder;             /* where the task's files lie */
    const char *file;               /* in there; NULL: `lines` */
    const struct field_strs *lines; /* requirements, one each; NULL: none */
};

struct env_key {
    char text[ENV_KEY_TEXT];
    size_t packages;          /* lines that name one */
    const char *requirements; /* all lines, as they count, in `mem` */
};

/* DET_INVALID: it can never be built: a file is missing, leads out of the folder,
 * includes itself or is not text, or there is -e, which would lead into the folder
 * of one task. */
det_status env_key(struct io *io, const struct env_wish *wish,
                   const struct interpreter *interpreter, struct arena *mem,
                   struct env_key *ret_key, struct err *err);

/* Checks the same files without an interpreter. */
det_status env_wish_check(struct io *io, const struct env_wish *wish, struct arena *mem,
                          struct env_key *ret_key, struct err *err);

#endif
