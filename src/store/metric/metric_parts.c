/* SPDX-License-Identifier: Apache-2.0 */
/* metric_parts.c - see metric_parts.h.
 *
 * A JSON tree and the values of a ring's record become the same parts, so the rules of
 * merging, shapes and rows exist once.  If a record's names fit a known shape, they are
 * neither copied nor checked: they were checked when the shape was made. */
#include "store/metric/metric_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "data/utf8.h"
#include "store/metric/metric.h"
#include "wire/report.h"

enum { SORT_BY_HAND = 16 };

/* Whether a double holds the number; larger whole numbers keep their text. */
static bool is_packable(const struct json *value, double *ret_number)
{
    if (value->kind == JSON_INT && llabs(value->integer) > INT64_C(1) << 53)
        return false;
    return json_number(value, ret_number);
}

/* In the order of strcmp(). */
static int compare_parts(const struct metric_part *a, const struct metric_part *b)
{
    int order = memcmp(a->name, b->name, MIN(a->len, b->len));

    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int by_name(const void *a, const void *b)
{
    return compare_parts(a, b);
}

/* Insertion sort: most reports have few names, and nearly sorted. */
static void sort_parts(struct metric_part *part, uint32_t count)
{
    if (count > SORT_BY_HAND) {
        qsort(part, count, sizeof(*part), by_name);
        return;
    }
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k && compare_parts(&part[k - 1], &part[k]) > 0; k--) {
            struct metric_part swap = part[k];

            part[k] = part[k - 1];
            part[k - 1] = swap;
        }
}

static det_status make_room(struct metric_parts *parts, size_t count, struct arena *mem,
                            struct err *err)
{
    parts->number = arena_array(mem, struct metric_part, count + 1);
    parts->other = arena_array(mem, struct metric_part, count + 1);
    if (!parts->number || !parts->other)
        return err_default(err, DET_NOMEM);
    return DET_OK;
}

static void add_part(struct metric_parts *parts, struct metric_part part,
                     bool is_number)
{
    if (is_number)
        parts->number[parts->numbers++] = part;
    else
        parts->other[parts->others++] = part;
}

det_status metric_parts_of_json(const struct json *object, struct arena *mem,
                                struct metric_parts *ret_parts, struct err *err)
{
    struct metric_parts parts = {0};
    det_status st = make_room(&parts, object ? object->list.count : 0, mem, err);

    if (st)
        return st;
    json_each(item, object) {
        struct metric_part part = {
            .name = item->key, .len = strlen(item->key), .json = item};
        bool is_number = is_packable(item, &part.value);

        add_part(&parts, part, is_number);
    }
    sort_parts(parts.number, parts.numbers);
    sort_parts(parts.other, parts.others);
    *ret_parts = parts;
    return DET_OK;
}

/* ---- values of a record ---------------------------------------------------------- */

static det_status value_tree(const struct report_value *value, struct arena *mem,
                             struct json **ret_tree, struct err *err)
{
    det_status st = DET_OK;

    if (value->type == REPORT_NUMBER)
        *ret_tree = json_new_real(mem, value->number);
    else
        st = json_parse(value->json, value->json_len, mem, ret_tree, err);
    if (st == DET_INVALID)
        return err_set(err, st, "the value of '%.*s' is not JSON",
                       (int)MIN(value->name_len, (size_t)100), value->name);
    if (st)
        return st;
    if (*ret_tree)
        (*ret_tree)->key = arena_strndup(mem, value->name, value->name_len);
    return *ret_tree && (*ret_tree)->key ? DET_OK : err_default(err, DET_NOMEM);
}

det_status metric_parts_of_values(const struct report_metrics *values,
                                  struct arena *mem, struct metric_parts *ret_parts,
                                  struct err *err)
{
    struct metric_parts parts = {0};
    det_status st = make_room(&parts, values->count, mem, err);

    for (uint32_t i = 0; !st && i < values->count; i++) {
        const struct report_value *value = &values->value[i];
        struct metric_part part = {value->name, value->name_len, value->number, NULL};
        bool is_number = value->type == REPORT_NUMBER;

        if (!is_number) {
            struct json *tree = NULL;

            st = value_tree(value, mem, &tree, err);
            if (st)
                break;
            part.json = tree;
            is_number = is_packable(tree, &part.value);
        }
        add_part(&parts, part, is_number);
    }
    if (st)
        return st;
    sort_parts(parts.number, parts.numbers);
    sort_parts(parts.other, parts.others);
    *ret_parts = parts;
    return DET_OK;
}

det_status metric_values_json(const struct report_metrics *values, struct arena *mem,
                              struct json **ret_object, struct err *err)
{
    struct json *object = json_new(mem, JSON_OBJECT);
    struct metric_parts parts = {0};
    det_status st = metric_parts_of_values(values, mem, &parts, err);

    if (!st)
        st = metric_parts_check(&parts, err);
    for (uint32_t i = 0; !st && i < values->count; i++) {
        struct json *tree = NULL;

        st = value_tree(&values->value[i], mem, &tree, err);
        if (!st && !json_add(mem, object, tree->key, tree))
            st = err_default(err, DET_NOMEM);
    }
    if (!st && !object)
        st = err_default(err, DET_NOMEM);
    if (!st)
        *ret_object = object;
    return st;
}

/* ---- names ----------------------------------------------------------------------- */

static det_status name_twice(const struct metric_part *part, struct err *err)
{
    return err_set(err, DET_INVALID, "metric '%.*s' is in the report twice",
                   (int)MIN(part->len, (size_t)100), part->name);
}

static det_status check_names(const struct metric_part *part, uint32_t count,
                              struct err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (memchr(part[i].name, '\0', part[i].len) ||
            utf8_valid(part[i].name, part[i].len) < part[i].len)
            return err_set(err, DET_INVALID, "a metric's name is not UTF-8 text");
        if (i && !compare_parts(&part[i - 1], &part[i]))
            return name_twice(&part[i], err);
    }
    return DET_OK;
}

det_status metric_parts_check(const struct metric_parts *parts, struct err *err)
{
    uint32_t n = 0, o = 0;
    det_status st = check_names(parts->number, parts->numbers, err);

    if (!st)
        st = check_names(parts->other, parts->others, err);
    while (!st && n < parts->numbers && o < parts->others) {
        int order = compare_parts(&parts->number[n], &parts->other[o]);

        if (!order)
            st = name_twice(&parts->number[n], err);
        n += order <= 0;
        o += order >= 0;
    }
    return st;
}

/* The name is not checked yet and may contain a NUL. */
static bool is_named(const struct metric_part *part, const char *name)
{
    return strlen(name) == part->len && !memcmp(name, part->name, part->len);
}

bool metric_parts_fit(const struct metric_parts *parts,
                      const struct metric_shape *shape)
{
    if (shape->numbers != parts->numbers || shape->others != parts->others)
        return false;
    for (uint32_t i = 0; i < parts->numbers; i++)
        if (!is_named(&parts->number[i], shape->name[i]))
            return false;
    for (uint32_t i = 0; i < parts->others; i++)
        if (!is_named(&parts->other[i], shape->name[parts->numbers + i]))
            return false;
    return true;
}

struct metric_shape *metric_parts_shape(const struct metric_parts *parts, int64_t id,
                                        struct arena *mem)
{
    struct metric_shape *shape = arena_new(mem, struct metric_shape);
    uint32_t count = parts->numbers + parts->others;

    if (shape)
        shape->name = arena_array(mem, const char *, count + 1);
    if (!shape || !shape->name)
        return NULL;
    shape->id = id;
    shape->numbers = parts->numbers;
    shape->others = parts->others;
    for (uint32_t i = 0; i < count; i++) {
        const struct metric_part *part =
            i < parts->numbers ? &parts->number[i] : &parts->other[i - parts->numbers];

        shape->name[i] = arena_strndup(mem, part->name, part->len);
        if (!shape->name[i])
            return NULL;
    }
    return shape;
}
