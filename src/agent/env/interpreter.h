/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter.h - what a Python interpreter says about itself and its packages.
 *
 * Asking takes tens of milliseconds, so the answer is cached in FOLDER/known, by the
 * interpreter's file and the variables that affect it.  An answer is valid as long as
 * that file and every folder on the interpreter's path are unchanged (packages come and
 * go as entries of those folders).  A script, such as the shims of version managers,
 * may mean another interpreter in another folder: it is always asked. */
#ifndef AGENT_ENV_INTERPRETER_H
#define AGENT_ENV_INTERPRETER_H

#include <stdbool.h>

#include "base/err.h"

struct arena;
struct io;
struct json;

struct interpreter {
    const char *path;       /* what was asked */
    const char *executable; /* what it calls itself */
    const char *version;    /* "3.11.2" */
    const char *build;      /* sys.version, which tells builds of one version apart */
    const char *implementation; /* "cpython" */
    const char *platform;       /* "linux-x86_64" */
    int major, minor;
    bool has_venv;
    bool has_ensurepip;
    bool has_virtualenv;
    int pip_major, pip_minor;    /* 0: it has none */
    const struct json *packages; /* name: version */
};

/* A path that begins with "~" (the home folder of this process's user) or "~NAME", written
 * out; all others are returned as they are.  DET_NOT_FOUND: there is no such home. */
det_status interpreter_expand(const char *name, struct arena *mem,
                              const char **ret_path, struct err *err);

/* Everything is in `mem`.  `name` is expanded, and looked for along PATH unless it has a slash.
 * DET_NOT_FOUND: it does not exist; DET_INVALID: it is not a Python. */
det_status interpreter_find(const char *name, struct arena *mem, const char **ret_path,
                            struct err *err);
/* `folder` NULL: no cache.  `is_known_only`: DET_BUSY instead of asking. */
det_status interpreter_ask(struct io *io, const char *path, const char *folder,
                           bool is_known_only, struct arena *mem,
                           struct interpreter *ret_interpreter, struct err *err);

#endif
