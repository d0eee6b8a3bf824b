/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/create/ignore.h"

#include <string.h>

#include "base/memory/arena.h"
#include "data/glob.h"

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
        if (glob_matches(rule->glob, rule->is_tied ? path : name))
            return !rule->brings_back;
    }
    return false;
}
