/* SPDX-License-Identifier: Apache-2.0 */
/* metric_names.c - see metric_names.h. */
#include "store/metric/metric_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/read_view.h"
#include "store/metric/metric.h"
#include "store/metric/metric_stat.h"
#include "store/metric/metric_summary.h"
#include "store/series/series.h"
#include "store/sql_tables.h"

enum {
    OF_EXPERIMENT,
    OF_TRIAL,
    OF_PROJECT,
    FULL_OF_EXPERIMENT,
    FULL_OF_TRIAL,
    FULL_OF_PROJECT,
    FIRST_VALIDATED,
};

static const struct sql metric_names_sql[] = {
    SQL(OF_EXPERIMENT, "SELECT g.name, s.names, MIN(t.id) FROM trials t"
                       "  JOIN metric_shapes s ON s.trial_id = t.id"
                       "  JOIN metric_groups g ON g.id = s.group_id"
                       " WHERE t.experiment_id = $1 GROUP BY g.name, s.names"),
    SQL(OF_TRIAL, "SELECT g.name, s.names, s.trial_id FROM metric_shapes s"
                  "  JOIN metric_groups g ON g.id = s.group_id"
                  " WHERE s.trial_id = $1"),
    SQL(OF_PROJECT, "SELECT g.name, s.names, MIN(t.id) FROM experiments e"
                    "  JOIN trials t ON t.experiment_id = e.id"
                    "  JOIN metric_shapes s ON s.trial_id = t.id"
                    "  JOIN metric_groups g ON g.id = s.group_id"
                    " WHERE e.project_id = $1 GROUP BY g.name, s.names"),
    /* groups whose names are not all in shapes */
    SQL(FULL_OF_EXPERIMENT, "SELECT s.trial_id, g.name FROM trials t"
                            "  JOIN metric_shapes s ON s.trial_id = t.id"
                            "  JOIN metric_groups g ON g.id = s.group_id"
                            " WHERE t.experiment_id = $1 AND s.shape = $2"),
    SQL(FULL_OF_TRIAL, "SELECT s.trial_id, g.name FROM metric_shapes s"
                       "  JOIN metric_groups g ON g.id = s.group_id"
                       " WHERE s.trial_id = $1 AND s.shape = $2"),
    SQL(FULL_OF_PROJECT, "SELECT s.trial_id, g.name FROM experiments e"
                         "  JOIN trials t ON t.experiment_id = e.id"
                         "  JOIN metric_shapes s ON s.trial_id = t.id"
                         "  JOIN metric_groups g ON g.id = s.group_id"
                         " WHERE e.project_id = $1 AND s.shape = $2"),
    SQL(FIRST_VALIDATED, "SELECT t.id FROM trials t"
                         "  JOIN metric_shapes s ON s.trial_id = t.id"
                         "  JOIN metric_groups g ON g.id = s.group_id"
                         " WHERE t.experiment_id = $1 AND g.name = 'validation'"
                         " ORDER BY t.id LIMIT 1"),
};
const struct sql_table metric_names_sql_table = SQL_TABLE(metric_names_sql);

#define IS_NUMBER (1u << METRIC_NUMBER)
#define IS_STRING (1u << METRIC_STRING)

struct pair {
    const char *group;
    const char *name;
    uint32_t types;   /* bit set of enum metric_type; 0: not known yet */
    int64_t trial_id; /* the first trial that has it */
};

struct pairs {
    struct map known; /* "group.name": groups have no '.'; index + 1 */
    VEC(struct pair) all;
};

static bool pairs_add(struct pairs *pairs, const struct pair *pair, struct arena *mem)
{
    char *key = arena_printf(mem, "%s.%s", pair->group, pair->name);
    struct pair *there;
    uintptr_t at;

    if (!key)
        return false;
    at = (uintptr_t)smap_get(&pairs->known, key);
    if (!at)
        return vec_push(&pairs->all, *pair) &&
               smap_put(&pairs->known, key, (void *)(uintptr_t)pairs->all.count);
    there = &pairs->all.at[at - 1];
    there->types |= pair->types;
    if (pair->trial_id < there->trial_id)
        there->trial_id = pair->trial_id;
    return true;
}

static bool pairs_add_all(struct pairs *pairs, struct pair like,
                          const struct json *names, struct arena *mem)
{
    json_each(item, names) {
        like.name = json_str(item, "");
        if (!pairs_add(pairs, &like, mem))
            return false;
    }
    return true;
}

static int by_pair(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;
    int order = strcmp(x->group, y->group);

    return order ? order : strcmp(x->name, y->name);
}

/* For a group with too many shapes: later names are only in its rows. */
static det_status gather_group(struct db *db, int64_t trial_id, const char *group,
                               struct arena *mem, struct pairs *pairs, struct err *err)
{
    struct metric_stats stats = {.mem = mem};
    det_status st = metric_stats_of(db, trial_id, group, &stats, err);

    for (size_t i = 0; i < stats.all.count && !st; i++) {
        const struct metric_stat *stat = stats.all.at[i];
        struct pair pair = {group, stat->name, stat->types, trial_id};

        if (stat->types & IS_NUMBER && !pairs_add(pairs, &pair, mem))
            st = err_default(err, DET_NOMEM);
    }
    metric_stats_done(&stats);
    return st;
}

struct full {
    int64_t trial_id;
    const char *group;
};

static det_status gather_full(struct db *db, int which, int64_t id, struct arena *mem,
                              struct pairs *pairs, struct err *err)
{
    struct db_query q = db_query(db, &metric_names_sql[which], err);
    VEC(struct full) all = {0};
    det_status st;

    db_bind_i64(&q, id);
    db_bind_i64(&q, METRIC_SHAPES);
    while (db_next(&q)) {
        struct full full = {db_col_i64(&q), db_col_str(&q, mem)};

        if (!vec_push(&all, full))
            q.status = err_default(err, DET_NOMEM);
    }
    st = q.status;
    db_query_done(&q);
    for (size_t i = 0; i < all.count && !st; i++)
        st = gather_group(db, all.at[i].trial_id, all.at[i].group, mem, pairs, err);
    vec_done(&all);
    return st;
}

static det_status gather_pairs(struct db *db, int which, int64_t id, struct arena *mem,
                               struct pairs *pairs, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_names_sql[which], err);

    db_bind_i64(&q, id);
    while (db_next(&q)) {
        const char *group = db_col_str(&q, mem);
        const char *text = db_col_str(&q, mem);
        struct pair number = {.group = group, .types = IS_NUMBER};
        struct pair other = {.group = group};
        struct json *names = NULL;
        det_status st = q.status;

        if (!st)
            st = json_parse(text, strlen(text), mem, &names, err);
        if (st)
            return st;
        number.trial_id = other.trial_id = db_col_i64(&q);
        if (!pairs_add_all(pairs, number, json_get(names, "n"), mem) ||
            (which != OF_TRIAL &&
             !pairs_add_all(pairs, other, json_get(names, "o"), mem)))
            return err_default(err, DET_NOMEM);
    }
    if (q.status)
        return q.status;
    return gather_full(db, which + (FULL_OF_EXPERIMENT - OF_EXPERIMENT), id, mem, pairs,
                       err);
}

/* Shapes do not have the types of values that are stored as JSON.  The summary of one
 * trial has them.  The other trials of a search look the same, and reading thousands of
 * them would cost too much. */
static det_status look_at_types(struct db *db, size_t first, struct pairs *pairs,
                                struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    const struct pair of = pairs->all.at[first];
    struct metric_stats stats = {.mem = &mem};
    det_status st = metric_stats_of(db, of.trial_id, of.group, &stats, err);

    for (size_t i = first; i < pairs->all.count && !st; i++) {
        struct pair *pair = &pairs->all.at[i];
        const struct metric_stat *stat;

        if (pair->types || pair->trial_id != of.trial_id ||
            strcmp(pair->group, of.group) != 0)
            continue;
        stat = smap_get(&stats.by_name, pair->name);
        /* without types all its reports are archived: call it a string */
        pair->types = stat && stat->types ? stat->types : IS_STRING;
    }
    metric_stats_done(&stats);
    return st;
}

/* Each look reads all reports of a trial and group, so their number is limited. */
static det_status find_types(struct db *db, struct pairs *pairs, struct err *err)
{
    uint32_t looks = 0;
    det_status st = DET_OK;

    for (size_t i = 0; i < pairs->all.count && !st; i++) {
        if (pairs->all.at[i].types)
            continue;
        if (looks++ < METRIC_TYPE_LOOKS)
            st = look_at_types(db, i, pairs, err);
        else
            pairs->all.at[i].types = IS_STRING;
    }
    return st;
}

/* If any report has a number, there is a line to draw. */
static const char *pair_type(const struct pair *pair)
{
    return metric_type_name(pair->types & IS_NUMBER ? IS_NUMBER : pair->types);
}

static det_status list_names(struct db *db, int which, int64_t id, struct arena *mem,
                             struct json **ret_names, struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    struct pairs pairs = {0};
    struct json *list = json_new(mem, JSON_ARRAY);
    det_status st = read_view_begin(&view, db, err);

    if (!st)
        st = gather_pairs(db, which, id, mem, &pairs, err);
    if (!st && pairs.all.count)
        qsort(pairs.all.at, pairs.all.count, sizeof(*pairs.all.at), by_pair);
    if (!st)
        st = find_types(db, &pairs, err);
    for (size_t i = 0; i < pairs.all.count && !st; i++) {
        struct json *item = json_new(mem, JSON_OBJECT);

        (void)json_set(mem, item, "group", json_new_str(mem, pairs.all.at[i].group));
        (void)json_set(mem, item, "name", json_new_str(mem, pairs.all.at[i].name));
        (void)json_set(mem, item, "type",
                       json_new_str(mem, pair_type(&pairs.all.at[i])));
        if (!json_push(list, item))
            st = err_default(err, DET_NOMEM);
    }
    if (!st && (!list || mem->has_failed))
        st = err_default(err, DET_NOMEM);
    map_done(&pairs.known);
    vec_done(&pairs.all);
    if (!st)
        *ret_names = list;
    return st;
}

det_status store_metric_names(struct db *db, int64_t experiment_id, struct arena *mem,
                              struct json **ret_names, struct err *err)
{
    return list_names(db, OF_EXPERIMENT, experiment_id, mem, ret_names, err);
}

det_status store_metric_names_in_project(struct db *db, int64_t project_id,
                                         struct arena *mem, struct json **ret_names,
                                         struct err *err)
{
    return list_names(db, OF_PROJECT, project_id, mem, ret_names, err);
}

det_status store_series_names(struct db *db, const int64_t *trial, uint32_t trials,
                              struct arena *mem, struct series_metric **ret_names,
                              uint32_t *ret_count, struct err *err)
{
    CLEANUP(read_view_done) struct read_view view = {0};
    struct pairs pairs = {0};
    struct series_metric *names = NULL;
    det_status st = read_view_begin(&view, db, err);

    for (uint32_t i = 0; i < trials && !st; i++)
        st = gather_pairs(db, OF_TRIAL, trial[i], mem, &pairs, err);
    if (!st && pairs.all.count)
        qsort(pairs.all.at, pairs.all.count, sizeof(*pairs.all.at), by_pair);
    if (!st)
        names = arena_array(mem, struct series_metric, pairs.all.count + 1);
    if (!st && !names)
        st = err_default(err, DET_NOMEM);
    for (size_t i = 0; i < pairs.all.count && !st; i++)
        names[i] = (struct series_metric){pairs.all.at[i].group, pairs.all.at[i].name};
    *ret_names = names;
    *ret_count = (uint32_t)pairs.all.count;
    map_done(&pairs.known);
    vec_done(&pairs.all);
    return st;
}

static det_status first_validated(struct db *db, int64_t experiment_id,
                                  int64_t *ret_trial_id, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &metric_names_sql[FIRST_VALIDATED], err);

    db_bind_i64(&q, experiment_id);
    *ret_trial_id = db_next(&q) ? db_col_i64(&q) : 0;
    return q.status;
}

det_status store_validation_names(struct db *db, int64_t experiment_id,
                                  struct arena *mem, int64_t *ret_trial_id,
                                  const char ***ret_names, uint32_t *ret_count,
                                  struct err *err)
{
    struct series_metric *all = NULL;
    const char **names = NULL;
    uint32_t count = 0;
    uint32_t found = 0;
    int64_t trial_id = 0;
    det_status st = first_validated(db, experiment_id, &trial_id, err);

    if (!st && trial_id)
        st = store_series_names(db, &trial_id, 1, mem, &all, &count, err);
    if (!st)
        names = arena_array(mem, const char *, (size_t)count + 1);
    if (!st && !names)
        st = err_default(err, DET_NOMEM);
    if (st)
        return st;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(all[i].group, "validation"))
            names[found++] = all[i].name;
    *ret_trial_id = trial_id;
    *ret_names = names;
    *ret_count = found;
    return DET_OK;
}
