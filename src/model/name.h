/* SPDX-License-Identifier: Apache-2.0 */
/* name.h - the rules for names that people give to workspaces, projects and the like. */
#ifndef MODEL_NAME_H
#define MODEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* DET_INVALID for a name that is empty or blank, longer than `most` bytes, not UTF-8,
 * contains control characters, or looks like a path.  `what`: "a workspace's name". */
det_status given_name_check(const char *what, const char *name, size_t most,
                            struct err *err);

/* Parts of it, for names with further rules.  Control characters are those of ASCII and of
 * Unicode (U+0080 to U+009F), which some terminals obey. */
bool given_name_has_control(const char *name);
bool given_name_is_path(const char *name);

#endif
