/* SPDX-License-Identifier: Apache-2.0 */
#include "search/importance.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/compiler.h"

struct point {
    double x; /* the value, or the number of its category */
    double y; /* the metric */
    double x_rank;
    double y_rank;
    uint32_t group;
};

static int compare(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int by_x(const void *a, const void *b)
{
    return compare(((const struct point *)a)->x, ((const struct point *)b)->x);
}

static int by_y(const void *a, const void *b)
{
    return compare(((const struct point *)a)->y, ((const struct point *)b)->y);
}

/* ---- ranks and groups ------------------------------------------------------------ */

/* Equal ones share the middle of their ranks. */
static void rank_y(struct point *points, uint32_t count)
{
    qsort(points, count, sizeof(*points), by_y);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && points[next].y == points[i].y;)
            next++;
        for (uint32_t j = i; j < next; j++)
            points[j].y_rank = (i + next - 1) / 2.0;
    }
}

static uint32_t rank_x(struct point *points, uint32_t count)
{
    uint32_t distinct = 0;

    qsort(points, count, sizeof(*points), by_x);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && points[next].x == points[i].x;)
            next++;
        for (uint32_t j = i; j < next; j++)
            points[j].x_rank = (i + next - 1) / 2.0;
        distinct++;
    }
    return distinct;
}

/* In the order of x.  Equal values are never parted; returns how many groups. */
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

/* ---- what they say --------------------------------------------------------------- */

static double share_of(const struct point *points, uint32_t count, uint32_t groups)
{
    double mean = (count - 1) / 2.0; /* of ranks 0 .. count - 1, ties or not */
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
    double mean = (count - 1) / 2.0;
    double xx = 0, yy = 0, xy = 0;

    for (uint32_t i = 0; i < count; i++) {
        double x = points[i].x_rank - mean;
        double y = points[i].y_rank - mean;

        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

det_status importance_of(const struct importance_value *value, const double *metric,
                         uint32_t count, struct arena *mem,
                         struct importance *ret_importance, struct err *err)
{
    struct importance found = {.share = NAN, .correlation = NAN};
    struct point *points = arena_array(mem, struct point, (size_t)count + 1);
    enum importance_kind kind = IMPORTANCE_NONE;
    uint32_t distinct;

    if (!points)
        return err_default(err, DET_NOMEM);
    for (uint32_t i = 0; i < count; i++) {
        if (value[i].kind == IMPORTANCE_NONE || isnan(metric[i]))
            continue;
        kind = value[i].kind;
        points[found.trials++] = (struct point){
            .x = kind == IMPORTANCE_NUMBER ? value[i].number : value[i].category,
            .y = metric[i],
        };
    }
    rank_y(points, found.trials);
    distinct = rank_x(points, found.trials);
    found.groups = form_groups(points, found.trials, distinct, kind);
    if (found.trials > 1) {
        found.share = share_of(points, found.trials, found.groups);
        if (kind == IMPORTANCE_NUMBER)
            found.correlation = correlation_of(points, found.trials);
    }
    *ret_importance = found;
    return DET_OK;
}
