/* SPDX-License-Identifier: Apache-2.0 */
/* key_complete.c - see key_complete.h.
 *
 * Out of memory is sticky: the arena's has_failed is checked once, at the end. */
#include "config/keys/key_complete.h"

#include <string.h>

#include "base/memory/arena.h"
#include "config/keys/key.h"
#include "data/json/json.h"
#include "data/text.h"

struct fill {
    const struct key_table *table;
    struct arena *mem;
};

static struct json *complete_value(struct fill *f, const struct config_key *row,
                                   const struct json *value);

/* The normal form of a scalar: sizes and durations as numbers, 3.0 as 3. */
static struct json *canonical_scalar(struct fill *f, const struct config_key *row,
                                     const struct json *value)
{
    int64_t seconds;
    uint64_t bytes;

    if (value->kind == JSON_STRING && row->types & KEY_SIZE &&
        parse_size(value->string.text, &bytes))
        return json_new_i64(f->mem, (int64_t)bytes);
    if (value->kind == JSON_STRING && row->types & KEY_DURATION &&
        key_parse_duration(value->string.text, &seconds))
        return json_new_i64(f->mem, seconds);
    if (value->kind == JSON_REAL && row->types & KEY_INT && !(row->types & KEY_NUM))
        return json_new_i64(f->mem, (int64_t)value->real);
    return json_copy(f->mem, value);
}

static struct json *complete_list(struct fill *f, const char *pattern,
                                  const struct json *list)
{
    const struct config_key *row = key_child(f->table, pattern, "[]", NULL);
    struct json *copy = json_new(f->mem, JSON_ARRAY);

    if (!row)
        return json_copy(f->mem, list);
    json_each(item, list)
        json_push(copy, complete_value(f, row, item));
    return copy;
}

/* Members with free names follow the named ones, in their own order. */
static void complete_free_names(struct fill *f, const struct config_key *row,
                                const char *pattern, const struct json *map,
                                struct json *copy)
{
    json_each(member, map) {
        if (key_child(f->table, pattern, member->key, NULL) == row)
            json_add(f->mem, copy, member->key, complete_value(f, row, member));
    }
}

static struct json *default_of(struct fill *f, const struct config_key *row)
{
    struct json *value = NULL;

    if (json_parse(row->def, strlen(row->def), f->mem, &value, NULL) != DET_OK)
        f->mem->has_failed = true; /* the tables are tested, so it is out of memory */
    return value;
}

static struct json *complete_map(struct fill *f, const struct config_key *map_row,
                                 const char *pattern, const struct json *map)
{
    struct json *copy = json_new(f->mem, JSON_OBJECT);
    const char *kind = NULL;

    if (map_row && map_row->union_key)
        kind = json_str(json_get(map, map_row->union_key), NULL);
    for (size_t i = 0; i < f->table->count; i++) {
        const struct config_key *row = &f->table->keys[i];
        const char *name = key_name_below(row, pattern);
        struct json *value = NULL;

        if (!name || !key_fits_kind(row, kind) || name[0] == '[' ||
            row->flags & KEY_DROPPED)
            continue;
        if (name[0] == '*') {
            complete_free_names(f, row, pattern, map, copy);
            continue;
        }
        value = json_get(map, name);
        if (json_is_null(value) && row->def)
            value = default_of(f, row);
        if (value && (value->kind != JSON_NULL || row->def))
            json_set(f->mem, copy, name, complete_value(f, row, value));
    }
    return copy;
}

static struct json *complete_value(struct fill *f, const struct config_key *row,
                                   const struct json *value)
{
    if (row->flags & KEY_FREE)
        return json_copy(f->mem, value);
    if (value->kind == JSON_ARRAY)
        return complete_list(f, row->path, value);
    if (value->kind == JSON_OBJECT && row->types & KEY_MAP)
        return complete_map(f, row, row->path, value);
    return canonical_scalar(f, row, value);
}

struct json *key_complete(const struct key_table *table, const struct json *tree,
                          struct arena *mem)
{
    struct fill f = {.table = table, .mem = mem};
    struct json *copy = complete_map(&f, NULL, "", tree);

    return mem->has_failed ? NULL : copy;
}

struct json *key_complete_map(const struct key_table *table,
                              const struct config_key *row, const struct json *map,
                              struct arena *mem)
{
    struct fill f = {.table = table, .mem = mem};
    struct json *copy = complete_map(&f, row, row->path, map);

    return mem->has_failed ? NULL : copy;
}
