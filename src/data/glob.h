/* SPDX-License-Identifier: Apache-2.0 */
/* glob.h - patterns for paths, as in .gitignore.
 *
 * '*', '?' and '[a-z]' do not match a '/'; "**" between slashes or at an end matches any
 * folders.  A backslash takes the next character as it is. */
#ifndef DATA_GLOB_H
#define DATA_GLOB_H

#include <stdbool.h>

/* Whether the whole text matches.  The time is bounded by the product of both lengths and
 * the number of folders, however many stars there are. */
bool glob_matches(const char *glob, const char *text);

/* The same for a file: a pattern without a '/' is for its name, any other for its path. */
bool glob_matches_file(const char *glob, const char *path);

#endif
