/* SPDX-License-Identifier: Apache-2.0 */
/* importance.c - see importance.h. */
#include "search/importance.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/memory/arena.h"

/* One number of a trial; small, so it sorts fast. */
struct key {
    double value;
    uint32_t at; /* the trial */
};

struct importance_ranks {
    uint32_t count;
    double rank[]; /* by trial; NaN: it has no metric */
};

/* A trial that has a value and a metric; sorted by x once ranked. */
struct point {
    double x; /* the value, or the number of its category */
    double x_rank;
    double y_rank;
    uint32_t group;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct key *)a)->value;
    double y = ((const struct key *)b)->value;

    return x < y ? -1 : x > y;
}

/* ---- ranks and groups ------------------------------------------------------------ */

/* The mean rank of all keys equal to the i-th; *ret_next is the first one after them. */
static double shared_rank(const struct key *keys, uint32_t count, uint32_t i,
                          uint32_t *ret_next)
{
    uint32_t next = i + 1;

    while (next < count && keys[next].value == keys[i].value)
        next++;
    *ret_next = next;
    return (i + next - 1) / 2.0;
}

det_status importance_rank(const double *metric, uint32_t count, struct arena *mem,
                           const struct importance_ranks **ret_ranks, struct err *err)
{
    struct importance_ranks *ranks =
        arena_alloc(mem, sizeof(*ranks) + count * sizeof(ranks->rank[0]));
    struct key *keys = arena_array(mem, struct key, (size_t)count + 1);
    uint32_t known = 0;

    if (!ranks || !keys)
        return err_default(err, DET_NOMEM);
    ranks->count = count;
    for (uint32_t i = 0; i < count; i++) {
        ranks->rank[i] = NAN;
        if (!isnan(metric[i]))
            keys[known++] = (struct key){metric[i], i};
    }
    qsort(keys, known, sizeof(*keys), by_value);
    for (uint32_t i = 0, next; i < known; i = next) {
        double rank = shared_rank(keys, known, i, &next);

        for (uint32_t j = i; j < next; j++)
            ranks->rank[keys[j].at] = rank;
    }
    *ret_ranks = ranks;
    return DET_OK;
}

/* Fills the points from `keys`, in their order; returns how many values there are. */
static uint32_t rank_x(const struct importance_ranks *ranks, const struct key *keys,
                       uint32_t count, struct point *points)
{
    uint32_t distinct = 0;

    for (uint32_t i = 0, next; i < count; i = next) {
        double rank = shared_rank(keys, count, i, &next);

        for (uint32_t j = i; j < next; j++)
            points[j] = (struct point){
                .x = keys[j].value, .x_rank = rank, .y_rank = ranks->rank[keys[j].at]};
        distinct++;
    }
    return distinct;
}

/* Groups the points in the order of x and returns the number of groups.  Equal values
 * stay in one group. */
static uint32_t form_groups(struct point *points, uint32_t count, uint32_t distinct,
                            enum importance_kind kind)
{
    uint32_t most = MIN(MAX(count / 5, 2u), (uint32_t)IMPORTANCE_GROUPS);
    bool is_cut = kind == IMPORTANCE_NUMBER && distinct > most;
    uint32_t groups = 0;
    uint32_t stretch = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool is_new = i && points[i].x != points[i - 1].x;
        uint32_t at = (uint32_t)((uint64_t)i * most / count);

        if (!i || (is_new && (!is_cut || at != stretch))) {
            groups++;
            stretch = at;
        }
        points[i].group = groups - 1;
    }
    return groups;
}

/* ---- statistics ------------------------------------------------------------------ */

/* Ranks count all trials with a metric; the points are only those with a value. */
static double mean_rank(const struct point *points, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += points[i].y_rank;
    return sum / count;
}

static double share_of(const struct point *points, uint32_t count, uint32_t groups)
{
    double mean = mean_rank(points, count);
    double total = 0, between = 0;
    double share;

    for (uint32_t i = 0, next; i < count; i = next) {
        double sum = 0;

        for (next = i; next < count && points[next].group == points[i].group; next++) {
            sum += points[next].y_rank - mean;
            total += (points[next].y_rank - mean) * (points[next].y_rank - mean);
        }
        between += sum * sum / (next - i);
    }
    if (groups < 2 || groups >= count || !(total > 0))
        return NAN;
    share = (between - (groups - 1) * (total - between) / (count - groups)) / total;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static double correlation_of(const struct point *points, uint32_t count)
{
    double x_mean = (count - 1) / 2.0; /* of ranks 0 .. count - 1, ties or not */
    double y_mean = mean_rank(points, count);
    double xx = 0, yy = 0, xy = 0;

    for (uint32_t i = 0; i < count; i++) {
        double x = points[i].x_rank - x_mean;
        double y = points[i].y_rank - y_mean;

        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

det_status importance_of(const struct importance_value *value,
                         const struct importance_ranks *ranks, struct arena *mem,
                         struct importance *ret_importance, struct err *err)
{
    struct importance found = {.share = NAN, .correlation = NAN};
    struct point *points = arena_array(mem, struct point, (size_t)ranks->count + 1);
    struct key *keys = arena_array(mem, struct key, (size_t)ranks->count + 1);
    enum importance_kind kind = IMPORTANCE_NONE;
    uint32_t distinct;

    if (!points || !keys)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (value[i].kind == IMPORTANCE_NONE || isnan(ranks->rank[i]))
            continue;
        kind = value[i].kind;
        keys[found.trials++] = (struct key){
            kind == IMPORTANCE_NUMBER ? value[i].number : value[i].category, i};
    }
    qsort(keys, found.trials, sizeof(*keys), by_value);
    distinct = rank_x(ranks, keys, found.trials, points);
    found.groups = form_groups(points, found.trials, distinct, kind);
    if (found.trials > 1) {
        found.share = share_of(points, found.trials, found.groups);
        if (kind == IMPORTANCE_NUMBER)
            found.correlation = correlation_of(points, found.trials);
    }
    *ret_importance = found;
    return DET_OK;
}
