/* SPDX-License-Identifier: Apache-2.0 */
/* key.c - finds rows of a table and describes the values they accept. */
#include "config/keys/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/text.h"

/* ---- finding rows ---------------------------------------------------------------- */

const char *key_name_below(const struct config_key *row, const char *pattern)
{
    size_t len = strlen(pattern);
    const char *rest = row->path + len;

    if (strncmp(row->path, pattern, len) != 0)
        return NULL;
    if (len && strcmp(rest, "[]") == 0)
        return rest;
    if (len && *rest++ != '.')
        return NULL;
    return *rest && !strpbrk(rest, ".[") ? rest : NULL;
}

/* Whether `word` is in `list`, whose words are separated by spaces. */
static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += len) {
        bool starts = at == list || at[-1] == ' ';

        if (starts && (at[len] == ' ' || !at[len]))
            return true;
        if (!len)
            return false;
    }
    return false;
}

bool key_fits_kind(const struct config_key *row, const char *kind)
{
    return !row->kinds || !kind || list_has(row->kinds, kind);
}

static const struct config_key *child_named(const struct key_table *table,
                                            const char *pattern, const char *name,
                                            const char *kind)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct config_key *row = &table->keys[i];
        const char *own = key_name_below(row, pattern);

        if (own && strcmp(own, name) == 0 && key_fits_kind(row, kind))
            return row;
    }
    return NULL;
}

const struct config_key *key_child(const struct key_table *table, const char *pattern,
                                   const char *name, const char *kind)
{
    const struct config_key *row = child_named(table, pattern, name, kind);

    if (row || strcmp(name, "[]") == 0)
        return row;
    return child_named(table, pattern, "*", kind);
}

/* ---- descriptions ---------------------------------------------------------------- */

bool key_has_word(const char *const *words, const char *word)
{
    for (size_t i = 0; words && words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Only the words that are built. */
static void put_words(struct buf *out, const struct config_key *row)
{
    size_t built = 0;

    for (size_t i = 0; row->words[i]; i++)
        built += !key_has_word(row->later_words, row->words[i]);
    if (built > 1)
        buf_puts(out, "one of ");
    for (size_t i = 0, put = 0; row->words[i]; i++)
        if (!key_has_word(row->later_words, row->words[i]))
            buf_printf(out, "%s%s", put++ ? ", " : "", row->words[i]);
}

static void put_bounds(struct buf *out, const struct key_bounds *bounds)
{
    switch (bounds->kind) {
    case KEY_MIN:
        buf_printf(out, " >= %.17g", bounds->min);
        break;
    case KEY_RANGE:
        buf_printf(out, " from %.17g to %.17g", bounds->min, bounds->max);
        break;
    case KEY_ABOVE:
        buf_printf(out, " > %.17g", bounds->min);
        break;
    case KEY_NO_BOUND:
        break;
    }
}

static const struct {
    uint32_t type;
    const char *words;
    bool is_number;
} type_words[] = {
    {KEY_STR, "a string", false},
    {KEY_PATH, "an absolute path", false},
    {KEY_INT, "a whole number", true},
    {KEY_NUM, "a number", true},
    {KEY_BOOL, "true or false", false},
    {KEY_LENGTH, "a length like {batches: N}, {records: N} or {epochs: N}", true},
    {KEY_SIZE, "a size like 4GiB or a number of bytes", false},
    {KEY_DURATION, "a duration like 25s or a number of seconds", true},
    {KEY_LIST, "a list", false},
    {KEY_MAP, "a map", false},
};

void key_expects(const struct config_key *row, struct buf *out)
{
    const char *between = "";

    for (size_t i = 0; i < ARRAY_LEN(type_words); i++) {
        bool is_word = type_words[i].type == KEY_STR && row->words;

        if (!(row->types & type_words[i].type))
            continue;
        buf_puts(out, between);
        if (is_word)
            put_words(out, row);
        else
            buf_puts(out, type_words[i].words);
        if (type_words[i].is_number && row->bounds.kind)
            put_bounds(out, &row->bounds);
        between = " or ";
    }
    if (row->flags & KEY_NOT_EMPTY)
        buf_puts(out, " that is not empty");
}

static void put_quoted(struct buf *out, const struct json *value)
{
    enum { SHOWN = 40 };
    const char *text = value->string.text;
    bool is_long = value->string.len > SHOWN;

    if (strlen(text) != value->string.len) {
        buf_puts(out, "a string with a zero byte");
        return;
    }
    buf_putc(out, '\'');
    for (size_t i = 0; text[i] && i < SHOWN; i++)
        buf_putc(out, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
    buf_puts(out, is_long ? "...'" : "'");
}

/* "{epochs: -1}" tells more than "a map". */
static void put_map(const struct config_key *row, const struct json *map,
                    struct buf *out)
{
    const struct json *first = json_first(map);

    if (first && row && row->types & KEY_LENGTH && map->list.count == 1) {
        buf_printf(out, "{%s: ", first->key);
        key_found(NULL, first, out);
        buf_puts(out, "}");
        return;
    }
    buf_puts(out, first ? "a map" : "an empty map");
}

void key_found(const struct config_key *row, const struct json *value, struct buf *out)
{
    char number[32];

    if (row && row->flags & KEY_SECRET) {
        buf_puts(out, json_kind_name(value->kind));
        return;
    }
    switch (value->kind) {
    case JSON_STRING:
        put_quoted(out, value);
        break;
    case JSON_INT:
        buf_printf(out, "%" PRId64, value->integer);
        break;
    case JSON_REAL:
        json_format_real(value->real, number);
        buf_puts(out, number);
        break;
    case JSON_BOOL:
        buf_puts(out, value->boolean ? "true" : "false");
        break;
    case JSON_NULL:
        buf_puts(out, "null");
        break;
    case JSON_ARRAY:
        buf_puts(out, value->list.count ? "a list" : "an empty list");
        break;
    case JSON_OBJECT:
        put_map(row, value, out);
        break;
    }
}

/* ---- durations ------------------------------------------------------------------- */

/* Reads "1.5h" at *at and moves *at behind it; false if it is not a duration. */
static bool take_span(const char **at, double *ret_seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"h", 3600}, {"m", 60}, {"s", 1}};
    char digits[24] = "";
    size_t len = strspn(*at, "0123456789.");

    if (!len || len >= sizeof(digits))
        return false;
    memcpy(digits, *at, len);
    if (!parse_real(digits, ret_seconds))
        return false;
    *at += len;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t unit_len = strlen(units[i].unit);

        if (strncmp(*at, units[i].unit, unit_len) != 0)
            continue;
        *ret_seconds *= units[i].seconds;
        *at += unit_len;
        return true;
    }
    return false;
}

bool key_parse_duration(const char *text, int64_t *ret_seconds)
{
    const double most = 1e12; /* thirty thousand years; safe as an int64_t */
    double total = 0, span;

    if (parse_i64(text, ret_seconds))
        return *ret_seconds >= 0;
    if (!*text)
        return false;
    while (*text) {
        if (!take_span(&text, &span))
            return false;
        total += span;
        if (!(total < most))
            return false;
    }
    *ret_seconds = (int64_t)total;
    if ((double)*ret_seconds < total)
        (*ret_seconds)++;
    return true;
}
