/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c - one configuration over another.
 *
 * Maps merge member by member and everything else is replaced, with the exceptions of
 * the rows below.  null on top means "not set" and lets what is below shine through.
 * The trees need not be checked yet: where kinds differ, what is on top wins and the
 * check complains about it later. */
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "config/config.h"
#include "config/key.h"
#include "data/json.h"

enum merge_rule {
    MERGE_APPEND,  /* elements of below whose `key` is new are added behind */
    MERGE_CONCAT,  /* what is below comes first, then what is on top */
    MERGE_UNION,   /* equal elements only once */
    MERGE_VARIANT, /* a map that merges only with one of the same `key` */
    MERGE_HPARAM,  /* the same, at any depth; without `key` it is a map of more */
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

/* The rule for member `name` of the map at `path`, if any; and its own path, NULL where
 * no rule can lie below. */
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

/* Adds behind the last, keeping its key; json_set() would look for an equal one. */
static void add_member(struct json *map, struct json *member)
{
    const char *key = member ? member->key : NULL;

    if (json_push(map, member))
        member->key = key;
}

/* `merged` gets the name and the place in the file of `over`. */
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
    struct json *merged = json_new(mem, JSON_OBJECT);

    json_each(member, over) {
        const struct json *below = json_get(base, member->key);
        struct spot spot = spot_below(mem, at, member->key);

        add_member(merged, merge_value(mem, member, below, spot));
    }
    json_each(below, base) {
        if (!json_get(over, below->key))
            add_member(merged, json_copy(mem, below));
    }
    return stand_in_for(mem, merged, over);
}

/* Whether `list` has an element like `item`: of the same `key`, or equal without one.
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

/* Maps of different kinds do not mix.  A searcher without a name takes the one below;
 * a hyperparameter without a type is a map of more, which is a kind of its own. */
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
