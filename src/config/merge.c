/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - one configuration over another.
 *
 * Maps merge member by member; everything else is replaced, except for the rows below.
 * null in the upper tree means "not set": the lower value stays.  The trees need not be
 * checked yet: if the kinds of two values differ, the upper one wins and the check
 * reports it later. */
#include "config/merge.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "config/keys/key.h"
#include "data/json/json.h"
#include "data/json/json_index.h"

enum merge_rule {
    MERGE_APPEND,  /* lower elements with a new `key` are appended */
    MERGE_CONCAT,  /* the lower elements, then the upper ones */
    MERGE_UNION,   /* equal elements only once */
    MERGE_VARIANT, /* a map that merges only with one of the same `key` */
    MERGE_HPARAM,  /* the same, at any depth; without `key` a nested map */
};

static const struct merge_row {
    const char *path;
    enum merge_rule rule;
    const char *key;
} merge_rows[] = {
    {"bind_mounts", MERGE_APPEND, "container_path"},
    {"resources.devices", MERGE_APPEND, "container_path"},
    {"environment.proxy_ports", MERGE_APPEND, "proxy_port"},
    {"log_policies", MERGE_APPEND, "name"},
    {"environment.environment_variables.cpu", MERGE_CONCAT, NULL},
    {"environment.environment_variables.cuda", MERGE_CONCAT, NULL},
    {"environment.environment_variables.rocm", MERGE_CONCAT, NULL},
    {"labels", MERGE_UNION, NULL},
    {"searcher", MERGE_VARIANT, "name"},
    {"checkpoint_storage", MERGE_VARIANT, "type"},
    {"hyperparameters.*", MERGE_HPARAM, "type"},
};

/* The rule for member `name` of the map, if any, and its path; path NULL: no rule is
 * below it. */
struct spot {
    const char *path;
    const struct merge_row *row;
};

static struct json *merge_value(struct arena *mem, const struct json *over,
                                const struct json *base, struct spot at);

static struct spot spot_below(struct arena *mem, struct spot map, const char *name)
{
    bool is_hparam = map.path && strcmp(map.path, "hyperparameters") == 0;
    struct spot spot = {0};

    /* Nested hyperparameters follow the rule of the outer ones. */
    if (is_hparam || (map.row && map.row->rule == MERGE_HPARAM))
        return (struct spot){NULL, &merge_rows[ARRAY_LEN(merge_rows) - 1]};
    if (!map.path)
        return spot;
    spot.path = arena_printf(mem, "%s%s%s", map.path, map.path[0] ? "." : "", name);
    for (size_t i = 0; spot.path && i < ARRAY_LEN(merge_rows); i++)
        if (strcmp(merge_rows[i].path, spot.path) == 0)
            spot.row = &merge_rows[i];
    return spot;
}

/* Appends a member with its key; json_set() would search for an equal one. */
static void add_member(struct json *map, struct json *member)
{
    const char *key = member ? member->key : NULL;

    if (json_push(map, member))
        member->key = key;
}

/* `merged` gets the key, line and column of `over`. */
static struct json *stand_in_for(struct arena *mem, struct json *merged,
                                 const struct json *over)
{
    if (!merged)
        return NULL;
    merged->key = arena_strdup(mem, over->key);
    merged->line = over->line;
    merged->column = over->column;
    return merged;
}

static struct json *merge_maps(struct arena *mem, const struct json *over,
                               const struct json *base, struct spot at)
{
    CLEANUP(json_index_done) struct json_index overs = {0};
    CLEANUP(json_index_done) struct json_index bases = {0};
    struct json *merged = json_new(mem, JSON_OBJECT);

    json_index_init(&overs, over, base->list.count);
    json_index_init(&bases, base, over->list.count);
    json_each(member, over) {
        const struct json *below = json_index_get(&bases, member->key);
        struct spot spot = spot_below(mem, at, member->key);

        add_member(merged, merge_value(mem, member, below, spot));
    }
    json_each(below, base) {
        if (!json_index_get(&overs, below->key))
            add_member(merged, json_copy(mem, below));
    }
    return stand_in_for(mem, merged, over);
}

/* Whether `list` has an element with the same `key` as `item`; `key` NULL: an equal one.
 */
static bool has_like(const struct json *list, const struct json *item, const char *key)
{
    const struct json *name = key ? json_get(item, key) : item;

    if (json_is_null(name))
        return false;
    json_each(other, list) {
        if (json_equal(key ? json_get(other, key) : other, name))
            return true;
    }
    return false;
}

static struct json *merge_lists(struct arena *mem, const struct json *over,
                                const struct json *base, const struct merge_row *row)
{
    bool base_first = row->rule == MERGE_CONCAT;
    struct json *merged = json_copy(mem, base_first ? base : over);

    json_each(item, base_first ? over : base) {
        if (base_first || !has_like(merged, item, row->key))
            json_push(merged, json_copy(mem, item));
    }
    return stand_in_for(mem, merged, over);
}

/* Maps of different kinds do not merge.  A searcher without a name takes the lower one's;
 * a hyperparameter without a type is a nested map, which is a kind, too. */
static bool is_other_variant(const struct json *over, const struct json *base,
                             const struct merge_row *row)
{
    const struct json *mine = json_get(over, row->key);
    const struct json *theirs = json_get(base, row->key);

    if (row->rule == MERGE_HPARAM)
        return !json_equal(mine, theirs);
    return !json_is_null(mine) && !json_is_null(theirs) && !json_equal(mine, theirs);
}

static struct json *merge_value(struct arena *mem, const struct json *over,
                                const struct json *base, struct spot at)
{
    if (json_is_null(over))
        return json_copy(mem, base ? base : over);
    if (json_is_null(base) || over->kind != base->kind)
        return json_copy(mem, over);
    if (over->kind == JSON_ARRAY && at.row && at.row->rule < MERGE_VARIANT)
        return merge_lists(mem, over, base, at.row);
    if (over->kind != JSON_OBJECT)
        return json_copy(mem, over);
    if (at.row && at.row->rule >= MERGE_VARIANT && is_other_variant(over, base, at.row))
        return json_copy(mem, over);

    return merge_maps(mem, over, base, at);
}

struct json *config_merge(struct arena *mem, const struct json *over,
                          const struct json *base)
{
    struct json *merged = merge_value(mem, over, base, (struct spot){"", NULL});

    return mem->has_failed ? NULL : merged;
}

void config_choose_pool(struct json *resources, const char *slots, const char *compute,
                        const char *aux, struct arena *mem)
{
    const char *own = json_str(json_get(resources, "resource_pool"), "");
    const char *pool = json_i64(json_get(resources, slots), 1) > 0 ? compute : aux;

    if (resources && !*own && pool && *pool)
        json_set(mem, resources, "resource_pool", json_new_str(mem, pool));
}
