/* SPDX-License-Identifier: Apache-2.0 */
/* ignore.h - .detignore: which files of a folder stay at home.
 *
 * The rules of .gitignore: one pattern a line; '#' comments; '!' brings back what an
 * earlier line took; a '/' at the end means folders only; a '/' before that ties the
 * pattern to the folder itself; '*', '?' and '[a-z]' do not cross a '/', "**" does. The
 * last line that matches decides. */
#ifndef CLI_IGNORE_H
#define CLI_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct arena;

struct ignore_rule {
    const char *glob; /* without '!' and the slashes at its ends */
    bool brings_back;
    bool is_for_folders;
    bool is_tied; /* matched against the whole path, else against the name */
};

struct ignore {
    const struct ignore_rule *rule;
    size_t count;
};

/* Every text is valid.  The rules live in `mem`. */
det_status ignore_parse(const char *text, size_t len, struct arena *mem,
                        struct ignore *ret_ignore, struct err *err);
/* `path` is relative to the folder, without a slash at its ends.  What lies in an
 * ignored folder is not asked about. */
bool ignore_matches(const struct ignore *ignore, const char *path, bool is_folder);

/* The glob itself, for tests. */
bool ignore_glob(const char *glob, const char *text);

#endif
