/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "cli/profile.h"
#include "data/json.h"

const char *const profile_groups[] = {"timing", "cpu",     "memory", "gpu",
                                      "disk",   "network", NULL};

bool profile_is_report(const char *group, const struct json *value)
{
    for (size_t i = 0; profile_groups[i]; i++)
        if (!strcmp(profile_groups[i], group))
            return value && value->kind == JSON_OBJECT;
    return false;
}

void profile_done(struct profile *profile)
{
    map_done(&profile->by_key);
    map_done(&profile->seconds);
    vec_done(&profile->lines);
    buf_done(&profile->key);
}

/* ---- curves ---------------------------------------------------------------------- */

void profile_curve_add(struct profile_curve *curve, double value)
{
    if (curve->count == PROFILE_CURVE) {
        for (size_t i = 0; i < PROFILE_CURVE / 2; i++)
            curve->point[i] = (curve->point[2 * i] + curve->point[2 * i + 1]) / 2;
        curve->count = PROFILE_CURVE / 2;
        curve->span *= 2;
    }
    if (!curve->span)
        curve->span = 1;
    curve->sum += value;
    if (++curve->in_sum < curve->span)
        return;
    curve->point[curve->count++] = curve->sum / (double)curve->in_sum;
    curve->sum = 0;
    curve->in_sum = 0;
}

/* ---- lines ----------------------------------------------------------------------- */

/* Whose value it is; `inner` NULL: it lies at the top. */
struct place {
    const char *agent;
    const char *group;
    const char *outer;
    const char *inner;
};

/* The key is made where the last one was: only a new line takes memory. */
static struct profile_line *line_of(struct profile *profile, const struct place *place)
{
    struct arena *mem = profile->mem;
    struct buf *key = &profile->key;
    struct profile_line *line;
    const char *own_key;
    size_t name_at;

    buf_clear(key);
    buf_printf(key, "%s\n%s\n", place->group, place->agent);
    name_at = key->len;
    buf_printf(key, "%s%s%s", place->outer, place->inner ? "." : "",
               place->inner ? place->inner : "");
    if (key->status)
        return NULL;
    line = smap_get(&profile->by_key, key->data);
    if (line)
        return line;
    line = arena_new(mem, struct profile_line);
    own_key = arena_strdup(mem, key->data);
    if (!line || !own_key)
        return NULL;
    line->agent = arena_strdup(mem, place->agent);
    line->group = arena_strdup(mem, place->group);
    line->name = own_key + name_at;
    if (mem->has_failed || !smap_put(&profile->by_key, own_key, line) ||
        !vec_push(&profile->lines, line))
        return NULL;
    return line;
}

static void line_add(struct profile_line *line, double value)
{
    line->last = value;
    line->max = line->count ? fmax(line->max, value) : value;
    line->sum += value;
    line->count++;
    profile_curve_add(&line->curve, value);
}

static det_status add_number(struct profile *profile, const struct place *place,
                             const struct json *value, struct err *err)
{
    struct profile_line *line;
    double number;

    if (!json_number(value, &number) || !isfinite(number))
        return DET_OK;
    line = line_of(profile, place);
    if (!line)
        return err_default(err, DET_NOMEM);
    line_add(line, number);
    return DET_OK;
}

/* A number, or an object of them: of a disk's path, of a GPU. */
static det_status add_value(struct profile *profile, struct place place,
                            const struct json *value, struct err *err)
{
    det_status st = DET_OK;

    place.outer = value->key;
    if (value->kind != JSON_OBJECT)
        return add_number(profile, &place, value, err);
    json_each(item, value) {
        place.inner = item->key;
        st = st ? st : add_number(profile, &place, item, err);
    }
    return st;
}

/* ---- timings --------------------------------------------------------------------- */

static det_status add_seconds(struct profile *profile, const char *agent,
                              double seconds, struct err *err)
{
    double *sum = smap_get(&profile->seconds, agent);

    if (!sum) {
        const char *key = arena_strdup(profile->mem, agent);

        sum = key ? arena_new(profile->mem, double) : NULL;
        if (!sum || !smap_put(&profile->seconds, key, sum))
            return err_default(err, DET_NOMEM);
    }
    *sum += seconds;
    return DET_OK;
}

/* {"seconds": of all, "step": {"seconds": of these, "count": how many}, ...} */
static det_status add_timings(struct profile *profile, const char *agent,
                              const struct json *values, struct err *err)
{
    double all = 0, part;
    det_status st;

    if (!json_number(json_get(values, "seconds"), &all) || !(all > 0) || !isfinite(all))
        return DET_OK;
    st = add_seconds(profile, agent, all, err);
    json_each(kind, values) {
        struct place place = {agent, "timing", kind->key, NULL};
        struct profile_line *line;

        if (st || !json_number(json_get(kind, "seconds"), &part) || !isfinite(part))
            continue;
        line = line_of(profile, &place);
        if (!line)
            return err_default(err, DET_NOMEM);
        line->seconds += part;
        line->events += (uint64_t)MAX(json_i64(json_get(kind, "count"), 0), 0);
        /* What began before the report before it may be longer than the interval. */
        line_add(line, fmin(100 * part / all, 100));
    }
    return st;
}

det_status profile_add(struct profile *profile, const char *group,
                       const struct json *report, struct err *err)
{
    det_status st = DET_OK;

    json_each(agent, report) {
        struct place place = {.agent = agent->key, .group = group};

        if (agent->kind != JSON_OBJECT)
            continue;
        if (!strcmp(group, "timing")) {
            st = st ? st : add_timings(profile, agent->key, agent, err);
            continue;
        }
        json_each(value, agent)
            st = st ? st : add_value(profile, place, value, err);
    }
    return st;
}

double profile_seconds(const struct profile *profile, const char *agent)
{
    const double *sum = smap_get(&profile->seconds, agent);

    return sum ? *sum : 0;
}

/* ---- order ----------------------------------------------------------------------- */

static size_t group_place(const char *group)
{
    size_t at = 0;

    while (profile_groups[at] && strcmp(profile_groups[at], group) != 0)
        at++;
    return at;
}

static int by_place(const void *a, const void *b)
{
    const struct profile_line *x = *(struct profile_line *const *)a;
    const struct profile_line *y = *(struct profile_line *const *)b;
    int order = strcmp(x->agent, y->agent);

    if (order)
        return order;
    if (group_place(x->group) != group_place(y->group))
        return group_place(x->group) < group_place(y->group) ? -1 : 1;
    if (x->seconds != y->seconds) /* of timings what takes longest comes first */
        return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->name, y->name);
}

void profile_sort(struct profile *profile)
{
    if (profile->lines.count)
        qsort(profile->lines.at, profile->lines.count, sizeof(*profile->lines.at),
              by_place);
}
