/* SPDX-License-Identifier: Apache-2.0 */
#include "data/glob.h"

#include <string.h>

/* One character of a set; a backslash before it is skipped. */
static unsigned char set_char(const char **at)
{
    if (**at == '\\' && (*at)[1])
        ++*at;
    return (unsigned char)*(*at)++;
}

/* Whether `c` is in the set at `*at` ("[a-z]"); moves `*at` to the end of the set.
 * Without a ']' it is not a set, and `*at` stays. */
static bool in_set(const char **at, unsigned char c, bool *ret_is_set)
{
    const char *p = *at + 1;
    bool is_negated = *p == '!' || *p == '^';
    bool is_in = false;

    p += is_negated;
    do { /* a ']' in the first place is a member */
        unsigned char low, high;

        if (!*p)
            break;
        low = high = set_char(&p);
        if (*p == '-' && p[1] && p[1] != ']') {
            p++;
            high = set_char(&p);
        }
        is_in |= c >= low && c <= high;
    } while (*p != ']');
    *ret_is_set = *p == ']';
    if (*ret_is_set)
        *at = p + 1;
    return is_in != is_negated && c != '/';
}

/* Matches one character against the first element of the glob (not '*'). */
static bool match_one(const char **glob, char c)
{
    bool is_set;

    if (**glob == '?') {
        ++*glob;
        return c != '/';
    }
    if (**glob == '[') {
        bool is_in = in_set(glob, (unsigned char)c, &is_set);

        if (is_set)
            return is_in;
    } else if (**glob == '\\' && (*glob)[1]) {
        ++*glob;
    }
    return *(*glob)++ == c;
}

/* GIVE_UP: the text, or its folder, ended while a star was growing.  Then a star before
 * it cannot help: it would only leave less.  GIVE_UP_ALL: the text ended while a "**" was
 * growing, and a "**" before it cannot help either. */
enum match { NO, YES, GIVE_UP, GIVE_UP_ALL };

static enum match match_from(const char *glob, const char *text, bool at_start);

/* "**" between slashes or at an end matches any folders; `glob` points to
 * what follows it. */
static enum match match_folders(const char *glob, const char *text)
{
    if (!*glob)
        return *text ? YES : NO; /* two stars at the end: everything inside */
    glob++;                      /* the slash */
    for (;;) {
        enum match found = match_from(glob, text, true);

        if (found == YES || found == GIVE_UP_ALL)
            return found;
        text = strchr(text, '/');
        if (!text)
            return GIVE_UP_ALL;
        text++;
    }
}

static enum match match_star(const char *glob, const char *text)
{
    while (*glob == '*')
        glob++;
    for (;; text++) {
        enum match found = match_from(glob, text, false);

        if (found != NO)
            return found;
        if (!*text || *text == '/')
            return GIVE_UP;
    }
}

/* `at_start`: a component of the glob begins here, where "**" is special. */
static enum match match_from(const char *glob, const char *text, bool at_start)
{
    while (*glob) {
        if (at_start && glob[0] == '*' && glob[1] == '*' &&
            (glob[2] == '/' || !glob[2]))
            return match_folders(glob + 2, text);
        if (*glob == '*')
            return match_star(glob, text);
        at_start = *glob == '/';
        if (!*text || !match_one(&glob, *text++))
            return NO;
    }
    return *text ? NO : YES;
}

bool glob_matches(const char *glob, const char *text)
{
    return match_from(glob, text, true) == YES;
}

bool glob_matches_file(const char *glob, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!strchr(glob, '/') && slash)
        path = slash + 1;
    return glob_matches(glob[0] == '/' ? glob + 1 : glob, path);
}
