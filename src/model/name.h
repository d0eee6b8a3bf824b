/* SPDX-License-Identifier: Apache-2.0 */
/* name.h - the rules for names that people give to workspaces, projects and the like. */
#ifndef MODEL_NAME_H
#define MODEL_NAME_H

#include <stddef.h>

#include "base/err.h"

/* DET_INVALID for a name that is empty or blank, longer than `most` bytes, not UTF-8,
 * contains control characters, or looks like a path.  `what`: "a workspace's name". */
det_status given_name_check(const char *what, const char *name, size_t most,
                            struct err *err);

#endif
