/* SPDX-License-Identifier: Apache-2.0 */
/* hparam.c - see hparam.h. */
#include "search/hparam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/rng.h"
#include "data/json/json.h"

/* A node is a group (an object without `type`) or a leaf.  In a grid each leaf is an
 * axis: its values are numbered 0..count-1, and value `n / stride % count` belongs to
 * point n, where stride is the product of the counts of all later leaves. */
enum hparam_kind {
    HPARAM_GROUP,
    HPARAM_CONST,
    HPARAM_INT,
    HPARAM_DOUBLE,
    HPARAM_LOG,
    HPARAM_CATEGORICAL,
};

struct hparam {
    enum hparam_kind kind;
    const char *key; /* NULL at the top */
    union {
        struct {
            struct hparam *at;
            size_t count;
        } group;
        const struct json *value; /* CONST */
        struct {
            int64_t min;
            int64_t max;
        } whole; /* INT */
        struct {
            double min;
            double max;
            double base; /* LOG only */
        } real;          /* DOUBLE, LOG */
        struct {
            const struct json **at;
            uint64_t count;
        } choice; /* CATEGORICAL */
    };
    uint64_t count;
    uint64_t stride;
};

__extension__ typedef __int128 wide;

/* ---- building ------------------------------------------------------------------- */

struct builder {
    struct arena *mem;
    bool is_grid;
    struct err *err;
};

typedef det_status build_fn(struct builder *b, const struct json *spec,
                            struct hparam *ret_hparam);

static build_fn build_node;

static det_status complain(struct builder *b, const struct json *spec, const char *what)
{
    return err_set(b->err, DET_INVALID, "hyperparameter '%s': %s",
                   spec->key ? spec->key : "", what);
}

static det_status no_memory(struct builder *b)
{
    return err_default(b->err, DET_NOMEM);
}

static int compare_keys(const void *a, const void *b)
{
    const struct json *const *left = a;
    const struct json *const *right = b;

    return strcmp((*left)->key, (*right)->key);
}

/* The elements of an array or object as an array of pointers; NULL: out of memory. */
static const struct json **elements(struct arena *mem, const struct json *list)
{
    const struct json **at =
        arena_array(mem, const struct json *, list->list.count + 1);
    size_t count = 0;

    if (!at)
        return NULL;
    json_each(item, list)
        at[count++] = item;
    return at;
}

static det_status build_group(struct builder *b, const struct json *spec,
                              struct hparam *hparam)
{
    size_t count = spec ? spec->list.count : 0;
    const struct json **member;

    hparam->kind = HPARAM_GROUP;
    if (!count)
        return DET_OK;
    member = elements(b->mem, spec);
    hparam->group.at = arena_array(b->mem, struct hparam, count);
    if (!member || !hparam->group.at)
        return no_memory(b);

    qsort(member, count, sizeof(const struct json *), compare_keys);
    hparam->group.count = count;
    for (size_t i = 0; i < count; i++) {
        det_status status = build_node(b, member[i], &hparam->group.at[i]);

        if (status)
            return status;
    }
    return DET_OK;
}

static det_status build_const(struct builder *b, const struct json *spec,
                              struct hparam *hparam)
{
    const struct json *value = json_get(spec, "val");

    if (!value)
        return complain(b, spec, "a constant needs `val`");
    hparam->value = value;
    hparam->count = 1;
    return DET_OK;
}

static det_status build_categorical(struct builder *b, const struct json *spec,
                                    struct hparam *hparam)
{
    const struct json *values = json_get(spec, "vals");

    if (!values || values->kind != JSON_ARRAY || !values->list.count)
        return complain(b, spec, "`vals` must be a list with at least one value");
    hparam->choice.at = elements(b->mem, values);
    if (!hparam->choice.at)
        return no_memory(b);
    hparam->choice.count = values->list.count;
    hparam->count = values->list.count;
    return DET_OK;
}

/* Asks with two fallbacks, to tell "not a number" from every number. */
static bool read_whole(const struct json *value, int64_t *ret_whole)
{
    int64_t whole = json_i64(value, 0);

    if (whole != json_i64(value, 1))
        return false;
    *ret_whole = whole;
    return true;
}

static det_status read_count(struct builder *b, const struct json *spec,
                             struct hparam *hparam)
{
    const struct json *count = json_get(spec, "count");
    int64_t whole;

    if (!b->is_grid)
        return DET_OK;
    if (json_is_null(count))
        return complain(b, spec, "grid search is in use but count was not provided");
    if (!read_whole(count, &whole) || whole < 1)
        return complain(b, spec, "`count` must be a whole number from 1");
    hparam->count = (uint64_t)whole;
    return DET_OK;
}

static det_status build_int(struct builder *b, const struct json *spec,
                            struct hparam *hparam)
{
    uint64_t span;
    det_status status;

    if (!read_whole(json_get(spec, "minval"), &hparam->whole.min) ||
        !read_whole(json_get(spec, "maxval"), &hparam->whole.max))
        return complain(b, spec, "`minval` and `maxval` must be whole numbers");
    if (hparam->whole.min > hparam->whole.max)
        return complain(b, spec, "`minval` must be below `maxval`");

    status = read_count(b, spec, hparam);
    if (status)
        return status;
    /* At most as many points as there are numbers. */
    span = (uint64_t)hparam->whole.max - (uint64_t)hparam->whole.min;
    if (hparam->count && hparam->count - 1 > span)
        hparam->count = span + 1;
    return DET_OK;
}

static det_status build_double(struct builder *b, const struct json *spec,
                               struct hparam *hparam)
{
    det_status status;
    double width;

    if (!json_number(json_get(spec, "minval"), &hparam->real.min) ||
        !json_number(json_get(spec, "maxval"), &hparam->real.max))
        return complain(b, spec, "`minval` and `maxval` must be numbers");
    if (hparam->real.min > hparam->real.max)
        return complain(b, spec, "`minval` must be below `maxval`");

    status = read_count(b, spec, hparam);
    if (status)
        return status;
    /* The products that real_at() forms must be finite, too. */
    width = hparam->real.max - hparam->real.min;
    if (!isfinite(width * (double)MAX(hparam->count, 1u)))
        return complain(b, spec, "`minval` and `maxval` are too far apart");
    return DET_OK;
}

static det_status build_log(struct builder *b, const struct json *spec,
                            struct hparam *hparam)
{
    det_status status = build_double(b, spec, hparam);

    if (status)
        return status;
    if (!json_number(json_get(spec, "base"), &hparam->real.base) ||
        !isfinite(hparam->real.base) || hparam->real.base <= 0)
        return complain(b, spec, "`base` must be a number above 0");
    /* A base below 1 is largest at the lower exponent. */
    if (!isfinite(pow(hparam->real.base, hparam->real.min)) ||
        !isfinite(pow(hparam->real.base, hparam->real.max)))
        return complain(b, spec, "its values are too large for a number");
    return DET_OK;
}

struct kind_row {
    const char *type;
    enum hparam_kind kind;
    build_fn *build;
};

static const struct kind_row kinds[] = {
    {"const", HPARAM_CONST, build_const},
    {"int", HPARAM_INT, build_int},
    {"double", HPARAM_DOUBLE, build_double},
    {"log", HPARAM_LOG, build_log},
    {"categorical", HPARAM_CATEGORICAL, build_categorical},
};

static det_status build_typed(struct builder *b, const struct json *spec,
                              struct hparam *hparam)
{
    const char *type = json_str(json_get(spec, "type"), "");

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].type, type))
            continue;
        hparam->kind = kinds[i].kind;
        return kinds[i].build(b, spec, hparam);
    }
    return complain(b, spec,
                    "`type` must be one of const, int, double, log, categorical");
}

static det_status build_node(struct builder *b, const struct json *spec,
                             struct hparam *hparam)
{
    hparam->key = spec->key;
    if (spec->kind != JSON_OBJECT) {
        hparam->kind = HPARAM_CONST;
        hparam->value = spec;
        hparam->count = 1;
        return DET_OK;
    }
    if (json_get(spec, "type"))
        return build_typed(b, spec, hparam);
    return build_group(b, spec, hparam);
}

/* From the last leaf to the first.  False: too many points. */
static bool lay_out_grid(struct hparam *hparam, uint64_t *points)
{
    if (hparam->kind == HPARAM_GROUP) {
        for (size_t i = hparam->group.count; i > 0; i--) {
            if (!lay_out_grid(&hparam->group.at[i - 1], points))
                return false;
        }
        return true;
    }
    hparam->stride = *points;
    if (__builtin_mul_overflow(*points, hparam->count, points))
        return false;
    return *points <= HPARAM_POINTS_MAX;
}

det_status hparam_space_new(const struct json *hyperparameters, bool is_grid,
                            struct arena *mem, const struct hparam **ret_space,
                            struct err *err)
{
    struct builder b = {.mem = mem, .is_grid = is_grid, .err = err};
    struct hparam *space = arena_new(mem, struct hparam);
    uint64_t points = 1;
    det_status status;

    if (!space)
        return no_memory(&b);
    if (hyperparameters && hyperparameters->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "hyperparameters must be an object");

    status = build_group(&b, hyperparameters, space);
    if (status)
        return status;
    if (is_grid && !lay_out_grid(space, &points))
        return err_set(err, DET_INVALID, "the grid has more than %u points",
                       HPARAM_POINTS_MAX);
    space->count = space->group.count ? points : 0;
    *ret_space = space;
    return DET_OK;
}

/* ---- sampling ------------------------------------------------------------------- */

void hparam_sample(const struct hparam *hparam, struct rng *rng, struct json_writer *w)
{
    uint64_t draw;
    double real;

    switch (hparam->kind) {
    case HPARAM_GROUP:
        jw_object(w, hparam->key);
        for (size_t i = 0; i < hparam->group.count; i++)
            hparam_sample(&hparam->group.at[i], rng, w);
        jw_end_object(w);
        break;
    case HPARAM_CONST:
        jw_json(w, hparam->key, hparam->value);
        break;
    case HPARAM_INT:
        draw = rng_upto(rng, (uint64_t)hparam->whole.max - (uint64_t)hparam->whole.min);
        jw_i64(w, hparam->key, (int64_t)((uint64_t)hparam->whole.min + draw));
        break;
    case HPARAM_DOUBLE:
        jw_real(w, hparam->key, rng_uniform(rng, hparam->real.min, hparam->real.max));
        break;
    case HPARAM_LOG:
        real = rng_uniform(rng, hparam->real.min, hparam->real.max);
        jw_real(w, hparam->key, pow(hparam->real.base, real));
        break;
    case HPARAM_CATEGORICAL:
        draw = rng_upto(rng, hparam->choice.count - 1);
        jw_json(w, hparam->key, hparam->choice.at[draw]);
        break;
    }
}

/* ---- the grid ------------------------------------------------------------------- */

uint64_t hparam_points(const struct hparam *space)
{
    return space->count;
}

/* Half away from zero; `below` > 0. */
static int64_t round_quotient(wide above, wide below)
{
    wide half = above < 0 ? -below : below;

    return (int64_t)((2 * above + half) / (2 * below));
}

/* Uses only integers, so large values are exact, too. */
static int64_t int_at(const struct hparam *hparam, uint64_t i)
{
    wide min = hparam->whole.min;
    wide max = hparam->whole.max;
    wide steps = (wide)hparam->count - 1;

    if (!steps)
        return round_quotient(min + max, 2);
    return round_quotient(min * steps + (wide)i * (max - min), steps);
}

static double real_at(const struct hparam *hparam, uint64_t i)
{
    double min = hparam->real.min;
    double width = hparam->real.max - min;

    if (hparam->count == 1)
        return min + width / 2;
    return min + (double)i * width / (double)(hparam->count - 1);
}

void hparam_point(const struct hparam *hparam, uint64_t point, struct json_writer *w)
{
    uint64_t i = 0;

    if (hparam->kind != HPARAM_GROUP)
        i = point / hparam->stride % hparam->count;
    switch (hparam->kind) {
    case HPARAM_GROUP:
        jw_object(w, hparam->key);
        for (size_t child = 0; child < hparam->group.count; child++)
            hparam_point(&hparam->group.at[child], point, w);
        jw_end_object(w);
        break;
    case HPARAM_CONST:
        jw_json(w, hparam->key, hparam->value);
        break;
    case HPARAM_INT:
        jw_i64(w, hparam->key, int_at(hparam, i));
        break;
    case HPARAM_DOUBLE:
        jw_real(w, hparam->key, real_at(hparam, i));
        break;
    case HPARAM_LOG:
        jw_real(w, hparam->key, pow(hparam->real.base, real_at(hparam, i)));
        break;
    case HPARAM_CATEGORICAL:
        jw_json(w, hparam->key, hparam->choice.at[i]);
        break;
    }
}
