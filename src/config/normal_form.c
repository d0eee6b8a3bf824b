/* SPDX-License-Identifier: Apache-2.0 */
/* normal_form.c - see normal_form.h. */
#include "config/normal_form.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "model/experiment_text.h"

static const char *const devices[] = {"cpu", "cuda", "rocm"};

/* A value `map.name` of `kind` counts for all devices: makes one copy per device. */
static void spread_over_devices(struct json *map, const char *name, enum json_kind kind,
                                struct arena *mem)
{
    struct json *value = json_get(map, name);
    struct json *spread;

    if (!value || value->kind != kind)
        return;
    spread = json_new(mem, JSON_OBJECT);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        json_set(mem, spread, devices[i], json_copy(mem, value));
    if (spread) {
        spread->line = value->line;
        spread->column = value->column;
    }
    json_set(mem, map, name, spread);
}

/* "host:container[:mode]" as a map; NULL if the text has another form. */
static struct json *device_map(const struct json *text, struct arena *mem)
{
    const char *host = json_str(text, "");
    const char *container = strchr(host, ':');
    const char *mode = container ? strchr(container + 1, ':') : NULL;
    struct json *map;
    size_t len;

    if (!container || (mode && strchr(mode + 1, ':')))
        return NULL;
    len = mode ? (size_t)(mode - container - 1) : strlen(container + 1);
    map = json_new(mem, JSON_OBJECT);
    json_set(mem, map, "host_path",
             json_new_str(mem, arena_strndup(mem, host, (size_t)(container - host))));
    json_set(mem, map, "container_path",
             json_new_str(mem, arena_strndup(mem, container + 1, len)));
    if (mode)
        json_set(mem, map, "mode", json_new_str(mem, mode + 1));
    if (map) {
        map->line = text->line;
        map->column = text->column;
    }
    return map;
}

static void normalise_devices(struct json *resources, struct arena *mem)
{
    struct json *list = json_get(resources, "devices");
    struct json *maps;

    if (!list || list->kind != JSON_ARRAY)
        return;
    maps = json_new(mem, JSON_ARRAY);
    json_each(item, list) {
        struct json *map = device_map(item, mem);

        json_push(maps, map ? map : json_copy(mem, item));
    }
    if (maps) {
        maps->line = list->line;
        maps->column = list->column;
    }
    json_set(mem, resources, "devices", maps);
}

/* Too many are left as they are; the rules refuse them. */
static void normalise_labels(struct json *tree, struct arena *mem)
{
    struct json *labels = json_get(tree, "labels");
    struct json *once;

    if (!labels || labels->kind != JSON_ARRAY ||
        labels->list.count > EXPERIMENT_LABELS_MOST)
        return;
    once = json_new(mem, JSON_ARRAY);
    json_each(label, labels) {
        bool is_new = true;

        json_each(other, once)
            is_new = is_new && !json_equal(other, label);
        if (is_new)
            json_push(once, json_copy(mem, label));
    }
    if (once) {
        once->line = labels->line;
        once->column = labels->column;
    }
    json_set(mem, tree, "labels", once);
}

void normal_form_apply(struct json *tree, struct arena *mem)
{
    struct json *environment = json_get(tree, "environment");

    spread_over_devices(environment, "image", JSON_STRING, mem);
    spread_over_devices(environment, "environment_variables", JSON_ARRAY, mem);
    normalise_devices(json_get(tree, "resources"), mem);
    normalise_labels(tree, mem);
}

/* ---- additions of the master ----------------------------------------------------- */

struct json *normal_form_task_defaults(const struct json *defaults, struct arena *mem)
{
    static const struct {
        const char *from;
        const char *map; /* NULL: at the top */
    } rows[] = {
        {"bind_mounts", NULL},
        {"log_policies", NULL},
        {"slurm", NULL},
        {"pbs", NULL},
        {"devices", "resources"},
        {"image", "environment"},
        {"environment_variables", "environment"},
        {"registry_auth", "environment"},
        {"force_pull_image", "environment"},
        {"add_capabilities", "environment"},
        {"drop_capabilities", "environment"},
    };
    struct json *tree = json_new(mem, JSON_OBJECT);

    json_set(mem, tree, "resources", json_new(mem, JSON_OBJECT));
    json_set(mem, tree, "environment", json_new(mem, JSON_OBJECT));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct json *value = json_get(defaults, rows[i].from);
        struct json *map = rows[i].map ? json_get(tree, rows[i].map) : tree;

        if (!json_is_null(value))
            json_set(mem, map, rows[i].from, json_copy(mem, value));
    }
    return tree;
}

static bool has_policy(const struct json *policies, const char *name)
{
    json_each(policy, policies) {
        if (strcmp(json_str(json_get(policy, "name"), ""), name) == 0)
            return true;
    }
    return false;
}

void normal_form_add_log_policies(struct json *tree, struct arena *mem)
{
    static const char *const built_in[][2] = {
        {"CUDA OOM", ".*CUDA out of memory.*"},
        {"ECC Error", ".*uncorrectable ECC error encountered.*"},
    };
    const struct json *given = json_get(tree, "log_policies");
    struct json *policies = json_new(mem, JSON_ARRAY);

    /* A name without a pattern only turns the built-in policy of that name off. */
    json_each(policy, given) {
        if (!json_is_null(json_get(policy, "pattern")))
            json_push(policies, json_copy(mem, policy));
    }
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++) {
        struct json *policy;

        if (has_policy(given, built_in[i][0]))
            continue;
        policy = json_push(policies, json_new(mem, JSON_OBJECT));
        json_set(mem, policy, "name", json_new_str(mem, built_in[i][0]));
        json_set(mem, policy, "pattern", json_new_str(mem, built_in[i][1]));
    }
    json_set(mem, tree, "log_policies", policies);
}

/* ---- whole trees ----------------------------------------------------------------- */

/* Merges two sorted lists of members. */
static struct json *merge_sorted(struct json *a, struct json *b)
{
    struct json *first = NULL;
    struct json **at = &first;

    while (a && b) {
        struct json **least = strcmp(a->key, b->key) <= 0 ? &a : &b;

        *at = *least;
        *least = (*least)->next;
        at = &(*at)->next;
    }
    *at = a ? a : b;
    return first;
}

static struct json *sort_members(struct json *first, size_t count)
{
    struct json *before = first;
    struct json *half;

    if (count < 2)
        return first;
    for (size_t i = 1; i < count / 2; i++)
        before = before->next;
    half = before->next;
    before->next = NULL;
    return merge_sorted(sort_members(first, count / 2),
                        sort_members(half, count - count / 2));
}

void normal_form_sort(struct json *tree)
{
    if (!tree || (tree->kind != JSON_OBJECT && tree->kind != JSON_ARRAY))
        return;
    if (tree->kind == JSON_OBJECT)
        tree->list.first = sort_members(tree->list.first, tree->list.count);
    json_each(item, tree) {
        tree->list.last = item;
        normal_form_sort(item);
    }
}

void normal_form_clear_places(struct json *tree)
{
    if (!tree)
        return;
    tree->line = tree->column = 0;
    json_each(item, tree)
        normal_form_clear_places(item);
}
