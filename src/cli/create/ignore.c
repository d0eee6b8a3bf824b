/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/ignore.h"

#include <string.h>

#include "base/memory/arena.h"

/* ---- globs ----------------------------------------------------------------------- */

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

/* "**" between slashes or at an end matches any folders; `glob` points to
 * what follows it. */
static bool match_folders(const char *glob, const char *text)
{
    if (!*glob)
        return *text != '\0'; /* two stars at the end: everything inside */
    glob++;                   /* the slash */
    for (;;) {
        if (ignore_glob(glob, text))
            return true;
        text = strchr(text, '/');
        if (!text)
            return false;
        text++;
    }
}

static bool match_star(const char *glob, const char *text)
{
    while (*glob == '*')
        glob++;
    for (;; text++) {
        if (ignore_glob(glob, text))
            return true;
        if (!*text || *text == '/')
            return false;
    }
}

/* `at_start`: a component of the glob begins here, where "**" is special. */
static bool match_from(const char *glob, const char *text, bool at_start)
{
    while (*glob) {
        if (at_start && glob[0] == '*' && glob[1] == '*' &&
            (glob[2] == '/' || !glob[2]))
            return match_folders(glob + 2, text);
        if (*glob == '*')
            return match_star(glob, text);
        at_start = *glob == '/';
        if (!*text || !match_one(&glob, *text++))
            return false;
    }
    return !*text;
}

bool ignore_glob(const char *glob, const char *text)
{
    return match_from(glob, text, true);
}

/* ---- rules ----------------------------------------------------------------------- */

/* Trailing blanks do not count, except after a backslash. */
static size_t trim_line(const char *line, size_t len)
{
    while (len &&
           (line[len - 1] == '\r' || line[len - 1] == ' ' || line[len - 1] == '\t')) {
        if (len > 1 && line[len - 2] == '\\')
            break;
        len--;
    }
    return len;
}

/* False: the line holds no rule. */
static bool read_rule(const char *line, size_t len, struct arena *mem,
                      struct ignore_rule *rule)
{
    *rule = (struct ignore_rule){0};
    len = trim_line(line, len);
    if (!len || *line == '#')
        return false;
    if (*line == '!') {
        rule->brings_back = true;
        line++;
        len--;
    }
    if (len && line[len - 1] == '/') {
        rule->is_for_folders = true;
        len--;
    }
    rule->is_tied = memchr(line, '/', len) != NULL;
    if (len && *line == '/') {
        line++;
        len--;
    }
    rule->glob = arena_strndup(mem, line, len);
    return len && rule->glob;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t count = 1;

    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n';
    return count;
}

det_status ignore_parse(const char *text, size_t len, struct arena *mem,
                        struct ignore *ret_ignore, struct err *err)
{
    struct ignore_rule *rules =
        arena_array(mem, struct ignore_rule, count_lines(text, len));
    size_t count = 0;

    if (!rules)
        return err_default(err, DET_NOMEM);
    for (const char *end = text + len; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t line = stop ? (size_t)(stop - text) : (size_t)(end - text);

        count += read_rule(text, line, mem, &rules[count]);
        text += line + 1;
    }
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    *ret_ignore = (struct ignore){.rule = rules, .count = count};
    return DET_OK;
}

bool ignore_matches(const struct ignore *ignore, const char *path, bool is_folder)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = ignore->count; i--;) {
        const struct ignore_rule *rule = &ignore->rule[i];

        if (rule->is_for_folders && !is_folder)
            continue;
        if (ignore_glob(rule->glob, rule->is_tied ? path : name))
            return !rule->brings_back;
    }
    return false;
}
