/* SPDX-License-Identifier: Apache-2.0 */
/* key_check.c - see key_check.h.
 *
 * The walk does not stop at the first problem.  It reports a value of the wrong type and
 * skips its content. */
#include "config/keys/key_check.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "config/config_report.h"
#include "config/keys/key.h"
#include "data/json/json.h"
#include "data/text.h"

struct walk {
    const struct key_table *table;
    struct config_report *report;
    struct arena *mem;
};

/* The position of the walk: in the table and in the file. */
struct place {
    const char *pattern; /* "bind_mounts[]" */
    const char *path;    /* "bind_mounts[2]" */
};

static void check_map(struct walk *w, const struct config_key *row,
                      const struct json *map, struct place at);

/* ---- types ----------------------------------------------------------------------- */

static bool is_whole(double real)
{
    return real >= -9e15 && real <= 9e15 && real == (double)(int64_t)real;
}

static bool is_length(const struct json *map)
{
    const struct json *only = json_first(map);

    if (!only || only->next || !only->key)
        return false;
    if (strcmp(only->key, "batches") != 0 && strcmp(only->key, "records") != 0 &&
        strcmp(only->key, "epochs") != 0)
        return false;
    return only->kind == JSON_INT && only->integer >= 0;
}

static bool string_fits(const struct config_key *row, const struct json *value)
{
    const char *text = value->string.text;
    int64_t seconds;
    uint64_t bytes;

    if (strlen(text) != value->string.len)
        return false;
    if (row->types & KEY_STR)
        return true;
    if (row->types & KEY_PATH)
        return text[0] == '/';
    if (row->types & KEY_SIZE)
        return parse_size(text, &bytes) && bytes <= INT64_MAX;
    return row->types & KEY_DURATION && key_parse_duration(text, &seconds);
}

static bool type_fits(const struct config_key *row, const struct json *value)
{
    switch (value->kind) {
    case JSON_STRING:
        return string_fits(row, value);
    case JSON_INT:
        if (row->types & (KEY_INT | KEY_NUM))
            return true;
        return row->types & (KEY_SIZE | KEY_DURATION) && value->integer >= 0;
    case JSON_REAL:
        if (row->types & KEY_NUM)
            return true;
        return row->types & KEY_INT && is_whole(value->real);
    case JSON_BOOL:
        return row->types & KEY_BOOL;
    case JSON_ARRAY:
        return row->types & KEY_LIST;
    case JSON_OBJECT:
        return row->types & KEY_MAP || (row->types & KEY_LENGTH && is_length(value));
    case JSON_NULL:
        break;
    }
    return false;
}

/* The number to which bounds apply; false if the value has none. */
static bool bounded_number(const struct config_key *row, const struct json *value,
                           double *ret_number)
{
    int64_t seconds;

    if (value->kind == JSON_OBJECT && row->types & KEY_LENGTH)
        value = json_first(value);
    if (value && value->kind == JSON_STRING && row->types & KEY_DURATION &&
        key_parse_duration(value->string.text, &seconds)) {
        *ret_number = (double)seconds;
        return true;
    }
    if (!value || (value->kind != JSON_INT && value->kind != JSON_REAL))
        return false;
    return json_number(value, ret_number);
}

static bool bounds_fit(const struct config_key *row, const struct json *value)
{
    double number;

    if (!bounded_number(row, value, &number))
        return true;
    switch (row->bounds.kind) {
    case KEY_MIN:
        return number >= row->bounds.min;
    case KEY_RANGE:
        return number >= row->bounds.min && number <= row->bounds.max;
    case KEY_ABOVE:
        return number > row->bounds.min;
    case KEY_NO_BOUND:
        break;
    }
    return true;
}

/* Not set, false, "", 0 or empty: such a value has no effect. */
static bool is_empty(const struct json *value)
{
    switch (value->kind) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !value->boolean;
    case JSON_INT:
        return value->integer == 0;
    case JSON_REAL:
        return value->real == 0;
    case JSON_STRING:
        return value->string.len == 0;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return value->list.count == 0;
    }
    return false;
}

/* Whether the value is what the key is without it. */
static bool is_default(struct walk *w, const struct config_key *row,
                       const struct json *value)
{
    struct json *def = NULL;

    if (!row->def || json_parse(row->def, strlen(row->def), w->mem, &def, NULL))
        return false;
    return json_equal(def, value);
}

/* ---- problems -------------------------------------------------------------------- */

static void complain_mismatch(struct walk *w, const struct config_key *row,
                              const struct json *value, struct place at)
{
    CLEANUP(buf_done) struct buf found = BUF_INIT;
    CLEANUP(buf_done) struct buf expected = BUF_INIT;
    bool wants_quotes = (row->types & KEY_STR) && !row->words;

    key_found(row, value, &found);
    key_expects(row, &expected);
    if (wants_quotes && (value->kind == JSON_INT || value->kind == JSON_REAL ||
                         value->kind == JSON_BOOL))
        buf_puts(&expected, " (put it in quotes)");
    if (found.status || expected.status)
        config_report_out_of_memory(w->report);
    else
        config_report_error(w->report, value, at.path, "found %s; expected %s",
                            found.data, expected.data);
}

static void complain_missing(struct walk *w, const struct config_key *row,
                             const struct json *map, const char *path)
{
    CLEANUP(buf_done) struct buf expected = BUF_INIT;

    key_expects(row, &expected);
    if (expected.status)
        config_report_out_of_memory(w->report);
    else
        config_report_error(w->report, map, path, "missing; expected %s",
                            expected.data);
}

/* The key of that name somewhere else in the table, or NULL. */
static const char *same_name_elsewhere(const struct key_table *table, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < table->count && len; i++) {
        const char *path = table->keys[i].path;
        size_t path_len = strlen(path);

        if (path_len > len && path[path_len - len - 1] == '.' &&
            strcmp(path + path_len - len, name) == 0 && !strpbrk(path, "[*"))
            return path;
    }
    return NULL;
}

static const char *suggest(struct walk *w, const char *pattern, const char *kind,
                           const char *name)
{
    const char **names = arena_array(w->mem, const char *, w->table->count + 1);
    const char *nearest;
    size_t count = 0;

    if (!names)
        return NULL;
    for (size_t i = 0; i < w->table->count; i++) {
        const struct config_key *row = &w->table->keys[i];
        const char *own = key_name_below(row, pattern);

        if (own && own[0] != '*' && own[0] != '[' && key_fits_kind(row, kind) &&
            !row->refuse)
            names[count++] = own;
    }
    nearest = nearest_word(name, names);
    return nearest ? nearest : same_name_elsewhere(w->table, name);
}

static void complain_unknown(struct walk *w, const struct json *member,
                             struct place map_at, const char *kind, const char *path)
{
    const struct config_key *foreign =
        kind ? key_child(w->table, map_at.pattern, member->key, NULL) : NULL;
    const char *nearest;

    if (foreign && foreign->kinds &&
        strcmp(key_name_below(foreign, map_at.pattern), "*") != 0) {
        config_report_error(w->report, member, path,
                            "does not belong to kind '%s'; it is a key of: %s", kind,
                            foreign->kinds);
        return;
    }
    nearest = suggest(w, map_at.pattern, kind, member->key);
    if (nearest)
        config_report_error(w->report, member, path, "unknown key; did you mean '%s'?",
                            nearest);
    else
        config_report_error(w->report, member, path, "unknown key");
}

/* ---- the walk -------------------------------------------------------------------- */

static void check_word(struct walk *w, const struct config_key *row,
                       const struct json *value, struct place at)
{
    CLEANUP(buf_done) struct buf built = BUF_INIT;

    if (!key_has_word(row->words, value->string.text)) {
        complain_mismatch(w, row, value, at);
        return;
    }
    if (!key_has_word(row->later_words, value->string.text))
        return;
    for (size_t i = 0; row->words[i]; i++)
        if (!key_has_word(row->later_words, row->words[i]))
            buf_printf(&built, "%s%s", built.len ? ", " : "", row->words[i]);
    if (built.status)
        config_report_out_of_memory(w->report);
    else
        config_report_unsupported(w->report, value, at.path,
                                  "'%s' is not built yet; available: %s",
                                  value->string.text, built.data);
}

/* The messages of the row; true if the value needs no further checks. */
static bool is_refused(struct walk *w, const struct config_key *row,
                       const struct json *value, struct place at)
{
    if (row->refuse) {
        config_report_error(w->report, value, at.path, "%s", row->refuse);
        return true;
    }
    if (row->not_built && !is_empty(value)) {
        config_report_unsupported(w->report, value, at.path, "%s", row->not_built);
        return true;
    }
    if (row->no_effect && !is_empty(value) && !is_default(w, row, value))
        config_report_notice(w->report, value, at.path,
                             "accepted, but has no effect: %s", row->no_effect);
    return false;
}

static void check_list(struct walk *w, const struct json *list, struct place at);

static void check_value(struct walk *w, const struct config_key *row,
                        const struct json *value, struct place at)
{
    if (is_refused(w, row, value, at))
        return;
    if (!type_fits(row, value) || !bounds_fit(row, value) ||
        (row->flags & KEY_NOT_EMPTY && is_empty(value))) {
        complain_mismatch(w, row, value, at);
        return;
    }
    if (value->kind == JSON_STRING && row->words)
        check_word(w, row, value, at);
    if (row->flags & KEY_FREE)
        return;
    if (value->kind == JSON_ARRAY)
        check_list(w, value, at);
    else if (value->kind == JSON_OBJECT && row->types & KEY_MAP)
        check_map(w, row, value, at);
}

static void check_list(struct walk *w, const struct json *list, struct place at)
{
    const struct config_key *row = key_child(w->table, at.pattern, "[]", NULL);
    size_t index = 0;

    if (NEVER(!row))
        return;
    json_each(item, list) {
        struct place item_at = {
            .pattern = row->path,
            .path = arena_printf(w->mem, "%s[%zu]", at.path, index++),
        };

        if (item_at.path)
            check_value(w, row, item, item_at);
    }
}

/* The kind of a map whose keys depend on it; NULL: unknown. */
static const char *kind_of(const struct walk *w, const struct config_key *row,
                           const struct json *map, const char *pattern)
{
    const struct config_key *teller;
    const char *kind;

    if (!row || !row->union_key)
        return NULL;
    teller = key_child(w->table, pattern, row->union_key, NULL);
    kind = json_str(json_get(map, row->union_key), NULL);
    return kind && teller && key_has_word(teller->words, kind) ? kind : NULL;
}

static char *path_join(struct arena *mem, const char *path, const char *name)
{
    return arena_printf(mem, "%s%s%.80s", path, path[0] ? "." : "", name);
}

static void check_missing(struct walk *w, const struct json *map, struct place at,
                          const char *kind)
{
    for (size_t i = 0; i < w->table->count; i++) {
        const struct config_key *row = &w->table->keys[i];
        const char *name = key_name_below(row, at.pattern);
        const char *path;

        if (!name || !(row->flags & KEY_REQUIRED) || !key_fits_kind(row, kind))
            continue;
        if ((row->kinds && !kind) || !json_is_null(json_get(map, name)))
            continue;
        path = path_join(w->mem, at.path, name);
        if (path)
            complain_missing(w, row, map, path);
    }
}

static void check_map(struct walk *w, const struct config_key *row,
                      const struct json *map, struct place at)
{
    const char *kind = kind_of(w, row, map, at.pattern);

    json_each(member, map) {
        const struct config_key *own =
            key_child(w->table, at.pattern, member->key, kind);
        const char *path = path_join(w->mem, at.path, member->key);

        if (!path)
            return;
        if (!own)
            complain_unknown(w, member, at, kind, path);
        else if (member->kind != JSON_NULL)
            check_value(w, own, member, (struct place){own->path, path});
    }
    check_missing(w, map, at, kind);
}

void key_check_map(const struct key_table *table, const struct config_key *row,
                   const struct json *map, const char *path,
                   struct config_report *report)
{
    struct walk w = {.table = table, .report = report, .mem = report->mem};

    check_map(&w, row, map, (struct place){row->path, path});
}

void key_check(const struct key_table *table, const struct json *tree,
               struct config_report *report)
{
    struct walk w = {.table = table, .report = report, .mem = report->mem};
    CLEANUP(buf_done) struct buf found = BUF_INIT;

    if (tree->kind == JSON_OBJECT) {
        check_map(&w, NULL, tree, (struct place){"", ""});
        return;
    }
    key_found(NULL, tree, &found);
    if (found.status)
        config_report_out_of_memory(report);
    else
        config_report_error(report, tree, "", "found %s; expected a map of keys",
                            found.data);
}
