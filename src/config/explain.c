/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - see explain.h. */
#include "config/explain.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "config/keys/key.h"
#include "config/keys/key_tables.h"
#include "data/text.h"

static bool is_below_list(const struct config_key *row)
{
    return strpbrk(row->path, "[*") != NULL;
}

static const char *last_name(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* ---- one key --------------------------------------------------------------------- */

/* "bind_mounts.host_path" and "bind_mounts[].host_path" name the same key. */
static bool is_asked_for(const char *path, const char *asked)
{
    while (*path && *asked) {
        if (*path == '[' && *asked != '[')
            path += strlen("[]");
        else if (*path++ != *asked++)
            return false;
    }
    if (strcmp(path, "[]") == 0)
        return false; /* the list is asked for, not the row of its elements */
    return !*path && !*asked;
}

static const struct {
    uint32_t flag;
    const char *text;
} flag_words[] = {
    {KEY_REQUIRED, "required"},
    {KEY_SECRET, "secret: never shown"},
    {KEY_RELOADABLE, "takes effect without a restart"},
    {KEY_DEPRECATED, "deprecated: it works, but new files should not use it"},
};

static void explain_row(const struct config_key *row, struct buf *out)
{
    buf_printf(out, "%s\n  %s\n  type: ", row->path, row->help);
    key_expects(row, out);
    buf_printf(out, "\n  default: %s\n", row->def ? row->def : "none");
    if (row->kinds)
        buf_printf(out, "  for: %s\n", row->kinds);
    for (size_t i = 0; i < ARRAY_LEN(flag_words); i++)
        if (row->flags & flag_words[i].flag)
            buf_printf(out, "  %s\n", flag_words[i].text);
    for (size_t i = 0; row->later_words && row->later_words[i]; i++)
        buf_printf(out, "  not built yet: %s\n", row->later_words[i]);
    if (row->not_built)
        buf_printf(out, "  not built yet: %s\n", row->not_built);
    if (row->no_effect)
        buf_printf(out, "  accepted, but has no effect: %s\n", row->no_effect);
    if (row->refuse)
        buf_printf(out, "  refused: %s\n", row->refuse);
}

static void explain_below(const struct config_key *keys, size_t count,
                          const struct config_key *map, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        if (key_name_below(&keys[i], map->path))
            buf_printf(out, "  %-40s %s\n", keys[i].path, keys[i].help);
}

static det_status not_found(const struct config_key *keys, size_t count,
                            const char *path, struct err *err)
{
    const char **paths = mem_array(count + 1, sizeof(*paths));
    const char *nearest;
    det_status st;

    if (!paths)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < count; i++)
        paths[i] = keys[i].path;
    nearest = nearest_word(path, paths);
    for (size_t i = 0; !nearest && i < count; i++)
        if (strcmp(last_name(keys[i].path), path) == 0)
            nearest = keys[i].path;
    mem_free(paths);
    if (nearest)
        st = err_set(err, DET_NOT_FOUND, "no key '%s'; did you mean '%s'?", path,
                     nearest);
    else
        st = err_set(err, DET_NOT_FOUND, "no key '%s'", path);
    return st;
}

det_status config_explain(enum config_kind kind, const char *path, struct buf *out,
                          struct err *err)
{
    const struct key_table table = key_table_of(kind);
    const struct config_key *keys = table.keys;
    const struct config_key *last = NULL;

    for (size_t i = 0; i < table.count; i++) {
        if (!is_asked_for(keys[i].path, path))
            continue;
        explain_row(&keys[i], out);
        last = &keys[i];
    }
    if (!last)
        return not_found(keys, table.count, path, err);
    explain_below(keys, table.count, last, out);
    return out->status ? err_default(err, out->status) : DET_OK;
}

/* ---- all defaults ---------------------------------------------------------------- */

static size_t depth_of(const char *path)
{
    size_t depth = 0;

    for (; *path; path++)
        depth += *path == '.';
    return depth;
}

static const struct config_key *row_around(const struct config_key *keys, size_t count,
                                           const struct config_key *row)
{
    for (size_t i = 0; i < count; i++)
        if (&keys[i] != row && key_name_below(row, keys[i].path) && keys[i].path[0])
            return &keys[i];
    return NULL;
}

/* Whether the row is written as a key and not as a comment: it and the maps around it
 * have an example, or a default that is not null, for every kind. */
static bool is_live(const struct config_key *keys, size_t count,
                    const struct config_key *row)
{
    for (; row; row = row_around(keys, count, row))
        if (!row->example && (!row->def || row->kinds || strcmp(row->def, "null") == 0))
            return false;
    return true;
}

static bool has_rows_below(const struct config_key *keys, size_t count,
                           const struct config_key *map)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = key_name_below(&keys[i], map->path);

        if (name && name[0] != '[' && is_live(keys, count, &keys[i]))
            return true;
    }
    return false;
}

static void write_default(const struct config_key *keys, size_t count,
                          const struct config_key *row, struct buf *out)
{
    int indent = (int)depth_of(row->path) * 2;
    const char *name = last_name(row->path);

    buf_printf(out, "%*s# %s\n", indent, "", row->help);
    if (!is_live(keys, count, row)) {
        buf_printf(out, "%*s# %s: ", indent, "", name);
        if (row->def)
            buf_puts(out, row->def);
        else
            key_expects(row, out);
        buf_putc(out, '\n');
    } else if (row->types & KEY_MAP && has_rows_below(keys, count, row)) {
        buf_printf(out, "%*s%s:\n", indent, "", name);
    } else if (row->example) {
        buf_printf(out, "%*s%s: %s # required; this is an example\n", indent, "", name,
                   row->example);
    } else {
        buf_printf(out, "%*s%s: %s\n", indent, "", name, row->def);
    }
}

void config_defaults_write(enum config_kind kind, struct buf *out)
{
    const struct key_table table = key_table_of(kind);
    const struct config_key *keys = table.keys;

    for (size_t i = 0; i < table.count; i++)
        if (!is_below_list(&keys[i]) && !keys[i].refuse &&
            !(keys[i].flags & KEY_DROPPED))
            write_default(keys, table.count, &keys[i], out);
}

/* ---- the reference page ---------------------------------------------------------- */

static void write_cell(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
}

static void write_notes(const struct config_key *row, struct buf *out)
{
    if (row->kinds)
        buf_printf(out, " (%s)", row->kinds);
    if (row->flags & KEY_REQUIRED)
        buf_puts(out, "; required");
    if (row->flags & KEY_DEPRECATED)
        buf_puts(out, "; deprecated");
    if (row->no_effect)
        buf_puts(out, "; no effect");
    if (row->flags & KEY_RELOADABLE)
        buf_puts(out, "; reloadable");
    if (row->not_built)
        buf_puts(out, "; not built yet");
    for (size_t i = 0; row->later_words && row->later_words[i]; i++)
        buf_printf(out, "%s%s", i ? ", " : "; not built yet: ", row->later_words[i]);
}

void config_reference_write(enum config_kind kind, struct buf *out)
{
    const struct key_table table = key_table_of(kind);
    const struct config_key *keys = table.keys;

    buf_puts(out, "| Key | Type | Default | What it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < table.count; i++) {
        CLEANUP(buf_done) struct buf type = BUF_INIT;

        if (keys[i].refuse)
            continue;
        key_expects(&keys[i], &type);
        if (type.status)
            out->status = type.status;
        buf_printf(out, "| `%s` | ", keys[i].path);
        write_cell(out, type.data);
        buf_printf(out, " | %s%s%s | ", keys[i].def ? "`" : "",
                   keys[i].def ? keys[i].def : "none", keys[i].def ? "`" : "");
        write_cell(out, keys[i].help);
        write_notes(&keys[i], out);
        buf_puts(out, " |\n");
    }
}
