/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - see profile.h. */
#include "model/profile.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"

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

/* Merges pairs of points, so the curve has half as many. */
static void halve_curve(struct profile_curve *curve)
{
    uint32_t half = curve->count / 2;

    for (uint32_t i = 0; i < half; i++) {
        curve->point[i] = (curve->point[2 * i] + curve->point[2 * i + 1]) / 2;
        curve->time_s[i] = (curve->time_s[2 * i] + curve->time_s[2 * i + 1]) / 2;
    }
    curve->count = half;
    curve->span *= 2;
}

void profile_curve_add(struct profile_curve *curve, uint32_t most, double value,
                       double time_s)
{
    assert(most > 0 && most % 2 == 0 && most <= PROFILE_CURVE);
    if (curve->count == most)
        halve_curve(curve);
    if (!curve->span)
        curve->span = 1;
    curve->sum += value;
    curve->time_sum += time_s;
    if (++curve->in_sum < curve->span)
        return;
    curve->point[curve->count] = curve->sum / (double)curve->in_sum;
    curve->time_s[curve->count++] = curve->time_sum / (double)curve->in_sum;
    curve->sum = curve->time_sum = 0;
    curve->in_sum = 0;
}

/* ---- lines ----------------------------------------------------------------------- */

/* Where a value belongs; `inner` NULL: at the top level. */
struct place {
    const char *agent;
    const char *group;
    const char *outer;
    const char *inner;
    double time_s;
};

/* The key reuses one buffer: only a new line takes memory. */
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

static void line_add(const struct profile *profile, struct profile_line *line,
                     double value, double time_s)
{
    uint32_t most = profile->curve_points ? profile->curve_points : PROFILE_CURVE_SHORT;

    line->last = value;
    line->max = line->count ? fmax(line->max, value) : value;
    line->sum += value;
    line->count++;
    profile_curve_add(&line->curve, most, value, time_s);
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
    line_add(profile, line, number, place->time_s);
    return DET_OK;
}

/* A number, or an object of numbers: those of a disk or of a GPU. */
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

/* {"seconds": in total, "step": {"seconds": of steps, "count": of steps}, ...} */
static det_status add_timings(struct profile *profile, struct place place,
                              const struct json *values, struct err *err)
{
    double all = 0, part;
    det_status st;

    if (!json_number(json_get(values, "seconds"), &all) || !(all > 0) || !isfinite(all))
        return DET_OK;
    st = add_seconds(profile, place.agent, all, err);
    json_each(kind, values) {
        struct profile_line *line;

        if (st || !json_number(json_get(kind, "seconds"), &part) || !isfinite(part))
            continue;
        place.outer = kind->key;
        line = line_of(profile, &place);
        if (!line)
            return err_default(err, DET_NOMEM);
        line->seconds += part;
        line->events += (uint64_t)MAX(json_i64(json_get(kind, "count"), 0), 0);
        /* An activity that began before the interval may be longer than it. */
        line_add(profile, line, fmin(100 * part / all, 100), place.time_s);
    }
    return st;
}

det_status profile_add(struct profile *profile, const char *group,
                       const struct json *report, double time_s, struct err *err)
{
    det_status st = DET_OK;

    json_each(agent, report) {
        struct place place = {.agent = agent->key, .group = group, .time_s = time_s};

        if (agent->kind != JSON_OBJECT)
            continue;
        if (!strcmp(group, "timing")) {
            st = st ? st : add_timings(profile, place, agent, err);
            continue;
        }
        json_each(value, agent)
            st = st ? st : add_value(profile, place, value, err);
    }
    return st;
}

det_status profile_add_load(struct profile *profile, const char *agent,
                            const struct json *load, double time_s, struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; profile_groups[i]; i++) {
        const char *group = profile_groups[i];
        struct place place = {.agent = agent, .group = group, .time_s = time_s};

        if (!strcmp(group, "timing"))
            continue;
        json_each(value, json_get(load, group))
            st = st ? st : add_value(profile, place, value, err);
    }
    return st;
}

bool profile_has_load(const struct profile *profile, const char *agent)
{
    for (size_t i = 0; i < profile->lines.count; i++)
        if (!strcmp(profile->lines.at[i]->agent, agent) &&
            strcmp(profile->lines.at[i]->group, "timing") != 0)
            return true;
    return false;
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
    if (x->seconds != y->seconds) /* of timings the longest comes first */
        return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->name, y->name);
}

void profile_sort(struct profile *profile)
{
    if (profile->lines.count)
        qsort(profile->lines.at, profile->lines.count, sizeof(*profile->lines.at),
              by_place);
}

/* ---- causes ---------------------------------------------------------------------- */

/* A kind that takes at least `much` percent of the time is a cause.  To name another
 * cause, add a row. */
static const struct {
    const char *kind;
    double much;
    const char *went; /* follows "N % of the time " */
} causes[] = {
    {"data", 25,
     "went into waiting for data: let more workers load it, or load it ahead"},
    {"checkpoint", 10, "went into checkpoints: save them less often, or less in them"},
    {"report", 5, "went into reports: report less often"},
    {"validate", 40, "went into validation: validate less often, or on less data"},
    {"other", 40,
     "nobody has timed: it went into what the program does between its steps"},
};

static void consider_cause(const char *kind, double percent, double *most,
                           struct profile_cause *cause)
{
    for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
        if (strcmp(causes[i].kind, kind) != 0 || percent < causes[i].much ||
            percent <= *most)
            continue;
        *most = percent;
        cause->kind = causes[i].kind;
        cause->is_trouble = true;
        cause->share = percent / 100;
        snprintf(cause->text, sizeof(cause->text), "%.0f %% of the time %s", percent,
                 causes[i].went);
    }
}

void profile_find_cause(const struct profile *profile, const char *agent,
                        struct profile_cause *ret_cause)
{
    double all = profile_seconds(profile, agent);
    double rest = all, step = 0, most = 0;

    *ret_cause = (struct profile_cause){.kind = ""};
    if (!(all > 0))
        return;
    for (size_t i = 0; i < profile->lines.count; i++) {
        const struct profile_line *line = profile->lines.at[i];
        double percent = fmin(100 * line->seconds / all, 100);

        if (strcmp(line->agent, agent) != 0 || strcmp(line->group, "timing") != 0)
            continue;
        rest -= line->seconds;
        if (!strcmp(line->name, "step"))
            step = percent;
        consider_cause(line->name, percent, &most, ret_cause);
    }
    consider_cause("other", 100 * fmax(rest, 0) / all, &most, ret_cause);
    if (ret_cause->is_trouble)
        return;
    ret_cause->kind = "step";
    ret_cause->share = step / 100;
    snprintf(ret_cause->text, sizeof(ret_cause->text),
             "no time is lost that could be seen: %.0f %% of it went into training "
             "steps",
             step);
}
