/* SPDX-License-Identifier: Apache-2.0 */
/* ignore.h - .detignore: which files of a folder are not sent.
 *
 * The rules are those of .gitignore.  One pattern per line; '#' starts a comment; '!'
 * includes again what an earlier line excluded.  A '/' at the end matches folders only; a
 * '/' elsewhere anchors the pattern at the top folder.  '*', '?' and '[a-z]' do not match
 * a '/', "**" does.  The last matching line decides.  webui/ignore.js has the same rules for
 * the browser. */
#ifndef CLI_CREATE_IGNORE_H
#define CLI_CREATE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct arena;

struct ignore_rule {
    const char *glob; /* without '!' and without slashes at both ends */
    bool brings_back;
    bool is_for_folders;
    bool is_tied; /* match the whole path, else only the name */
};

struct ignore {
    const struct ignore_rule *rule;
    size_t count;
};

/* All texts are valid.  The rules live in `mem`. */
det_status ignore_parse(const char *text, size_t len, struct arena *mem,
                        struct ignore *ret_ignore, struct err *err);
/* `path` is relative to the folder, without a slash at its ends.  The caller skips the
 * contents of ignored folders. */
bool ignore_matches(const struct ignore *ignore, const char *path, bool is_folder);

#endif
