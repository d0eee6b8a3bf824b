/* SPDX-License-Identifier: Apache-2.0 */
/* project_columns.c - the columns that the tables of a project can have, and the values in
 * them: what a client needs to offer columns and filters.
 *
 * The columns are the fixed ones, then four per metric (last, max, mean, min), one per
 * hyperparameter (hp.<dotted name>) and, for trials, one per key of their metadata
 * (metadata.<dotted name>).  A name that occurs with two types has no type. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "master/api/api.h"
#include "master/api/spaces/spaces.h"
#include "model/experiment_text.h"
#include "store/metric/metric_names.h"
#include "store/metric/metric_summary.h"
#include "store/space/project.h"
#include "store/space/project_table.h"
#include "wire/space_bodies.h"

enum { SCRATCH_MEMORY = 64 << 20 };

#define NUMBER "COLUMN_TYPE_NUMBER"
#define TEXT   "COLUMN_TYPE_TEXT"
#define DATE   "COLUMN_TYPE_DATE"
#define LIST   "COLUMN_TYPE_ARRAY"
#define ANY    "COLUMN_TYPE_UNSPECIFIED"

struct fixed_column {
    const char *name;
    const char *type;
    const char *title;
};

static const struct fixed_column experiment_columns[] = {
    {"id", NUMBER, "ID"},
    {"name", TEXT, "Name"},
    {"description", TEXT, "Description"},
    {"tags", TEXT, "Labels"},
    {"forkedFrom", NUMBER, "Forked from"},
    {"startTime", DATE, "Started"},
    {"duration", NUMBER, "Duration"},
    {"numTrials", NUMBER, "Trials"},
    {"state", TEXT, "State"},
    {"searcherType", TEXT, "Searcher"},
    {"resourcePool", TEXT, "Resource pool"},
    {"progress", NUMBER, "Progress"},
    {"checkpointSize", NUMBER, "Checkpoint size"},
    {"checkpointCount", NUMBER, "Checkpoints"},
    {"user", TEXT, "User"},
    {"searcherMetric", TEXT, "Searcher metric"},
    {"searcherMetricsVal", NUMBER, "Best value"},
    {"externalExperimentId", TEXT, "External experiment ID"},
    {"externalTrialId", TEXT, "External trial ID"},
    {"archived", ANY, "Archived"},
    {0},
};

static const struct fixed_column run_columns[] = {
    {"id", NUMBER, "ID"},
    {"experimentDescription", TEXT, "Experiment description"},
    {"tags", TEXT, "Labels"},
    {"forkedFrom", NUMBER, "Forked from"},
    {"startTime", DATE, "Started"},
    {"endTime", DATE, "Ended"},
    {"duration", NUMBER, "Duration"},
    {"state", TEXT, "State"},
    {"searcherType", TEXT, "Searcher"},
    {"resourcePool", TEXT, "Resource pool"},
    {"checkpointSize", NUMBER, "Checkpoint size"},
    {"checkpointCount", NUMBER, "Checkpoints"},
    {"user", TEXT, "User"},
    {"searcherMetric", TEXT, "Searcher metric"},
    {"searcherMetricsVal", NUMBER, "Best value"},
    {"externalExperimentId", TEXT, "External experiment ID"},
    {"projectId", NUMBER, "Project ID"},
    {"externalRunId", TEXT, "External trial ID"},
    {"experimentProgress", NUMBER, "Experiment progress"},
    {"experimentId", NUMBER, "Experiment ID"},
    {"experimentName", TEXT, "Experiment name"},
    {"isExpMultitrial", ANY, "Part of a search"},
    {"parentArchived", ANY, "Project archived"},
    {"localId", TEXT, "ID in the project"},
    {"archived", ANY, "Archived"},
    {0},
};

static const struct table_kind {
    const char *name;
    const struct fixed_column *fixed;
    const char *location;
    const char *hparam_location;
    bool has_metadata;
} table_kinds[] = {
    {"TABLE_TYPE_EXPERIMENT", experiment_columns, "LOCATION_TYPE_EXPERIMENT",
     "LOCATION_TYPE_HYPERPARAMETERS", false},
    {"TABLE_TYPE_RUN", run_columns, "LOCATION_TYPE_RUN",
     "LOCATION_TYPE_RUN_HYPERPARAMETERS", true},
};

/* The project in the path, which must be there. */
static det_status read_project(struct request *req, int64_t *ret_id)
{
    struct project_view view;
    det_status st = spaces_path_project(req, &view);

    if (!st)
        *ret_id = view.row.id;
    return st;
}

/* ---- names that are collected ---------------------------------------------------- */

struct name_entry {
    const char *name;
    const char *type; /* one of the constants above */
    double min, max;  /* of ranges */
};

struct name_set {
    struct arena *mem;
    struct map by_name;
    VEC(struct name_entry *) all;
};

static void name_set_done(struct name_set *set)
{
    map_done(&set->by_name);
    vec_done(&set->all);
}

/* The entry of a name, new or old; NULL: out of memory. */
static struct name_entry *name_set_at(struct name_set *set, const char *name,
                                      bool *ret_is_new)
{
    struct name_entry *entry = smap_get(&set->by_name, name);

    *ret_is_new = !entry;
    if (entry)
        return entry;
    entry = arena_new(set->mem, struct name_entry);
    if (entry)
        entry->name = arena_strdup(set->mem, name);
    return entry && entry->name && smap_put(&set->by_name, entry->name, entry) &&
                   vec_push(&set->all, entry)
               ? entry
               : NULL;
}

static bool name_set_add(struct name_set *set, const char *name, const char *type)
{
    bool is_new;
    struct name_entry *entry = name_set_at(set, name, &is_new);

    if (!entry)
        return false;
    if (is_new)
        entry->type = type;
    else if (strcmp(entry->type, type) != 0)
        entry->type = ANY;
    return true;
}

static bool name_set_widen(struct name_set *set, const char *name, double value)
{
    bool is_new;
    struct name_entry *entry;

    if (!isfinite(value)) /* neither can be drawn as an end of a range */
        return true;
    entry = name_set_at(set, name, &is_new);
    if (!entry)
        return false;
    if (is_new || value < entry->min)
        entry->min = value;
    if (is_new || value > entry->max)
        entry->max = value;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct name_entry *const *x = a;
    const struct name_entry *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void name_set_sort(struct name_set *set)
{
    if (set->all.count)
        qsort(set->all.at, set->all.count, sizeof(*set->all.at), by_name);
}

/* ---- hyperparameters and metadata ------------------------------------------------- */

static const char *type_of_value(const struct json *value)
{
    switch (value->kind) {
    case JSON_INT:
    case JSON_REAL:
        return NUMBER;
    case JSON_STRING:
        return TEXT;
    case JSON_ARRAY:
        return LIST;
    case JSON_NULL:
    case JSON_BOOL:
    case JSON_OBJECT:
        break;
    }
    return ANY;
}

/* A hyperparameter of a completed configuration is {"type": "double", ...}. */
static const char *type_of_hparam(const struct json *hparam)
{
    const char *type = json_str(json_get(hparam, "type"), "");

    if (!strcmp(type, "int") || !strcmp(type, "double") || !strcmp(type, "log"))
        return NUMBER;
    if (strcmp(type, "const") != 0 || json_is_null(json_get(hparam, "val")))
        return ANY;
    return json_get(hparam, "val")->kind == JSON_ARRAY
               ? ANY
               : type_of_value(json_get(hparam, "val"));
}

static bool is_hparam(const struct json *value)
{
    static const char *const types[] = {"const", "int", "double", "log", "categorical"};
    const char *type = json_str(json_get(value, "type"), "");

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (!strcmp(type, types[i]))
            return true;
    return false;
}

struct leaf_walk {
    struct name_set *set;
    bool is_hparams; /* a configuration's, not metadata */
};

/* Adds the leaves below `tree`; empty objects give none. */
static bool add_leaves(const struct leaf_walk *walk, const char *prefix,
                       const struct json *tree, struct arena *scratch)
{
    json_each(item, tree) {
        const char *name = arena_printf(scratch, "%s.%s", prefix, item->key);
        bool is_leaf =
            item->kind != JSON_OBJECT || (walk->is_hparams && is_hparam(item));

        if (!name)
            return false;
        if (is_leaf ? !name_set_add(walk->set, name,
                                    walk->is_hparams ? type_of_hparam(item)
                                                     : type_of_value(item))
                    : !add_leaves(walk, name, item, scratch))
            return false;
    }
    return true;
}

static det_status add_text(const struct leaf_walk *walk, const char *text, size_t len,
                           struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(SCRATCH_MEMORY);
    struct json *tree;
    det_status st = json_parse(text, len, &scratch, &tree, err);

    if (st)
        return st;
    if (walk->is_hparams)
        tree = json_get(tree, "hyperparameters");
    return add_leaves(walk, walk->is_hparams ? "hp" : "metadata", tree, &scratch)
               ? DET_OK
               : err_default(err, DET_NOMEM);
}

static det_status add_hparams(void *arg, const char *text, size_t len, struct err *err)
{
    struct leaf_walk walk = {arg, true};

    return add_text(&walk, text, len, err);
}

static det_status add_metadata(void *arg, const char *text, size_t len, struct err *err)
{
    struct leaf_walk walk = {arg, false};

    return add_text(&walk, text, len, err);
}

/* ---- columns ---------------------------------------------------------------------- */

static void render_column(struct json_writer *w, const char *name, const char *location,
                          const char *type, const char *title)
{
    jw_object(w, NULL);
    jw_str(w, "column", name);
    jw_str(w, "location", location);
    jw_str(w, "type", type);
    jw_str(w, "displayName", title);
    jw_end_object(w);
}

static const char *metric_location(const char *group)
{
    if (!strcmp(group, "training"))
        return "LOCATION_TYPE_TRAINING";
    return strcmp(group, "validation") ? "LOCATION_TYPE_CUSTOM_METRIC"
                                       : "LOCATION_TYPE_VALIDATIONS";
}

static det_status render_metric(struct request *req, const struct json *metric)
{
    static const char *const parts[] = {"last", "max", "mean", "min"};
    const char *group = json_str(json_get(metric, "group"), "");
    const char *type = json_str(json_get(metric, "type"), "");
    bool is_number = !strcmp(type, "number");

    for (size_t i = 0; i < (is_number ? ARRAY_LEN(parts) : 1); i++) {
        const char *name =
            arena_printf(&req->mem, "%s.%s.%s", group,
                         json_str(json_get(metric, "name"), ""), parts[i]);

        if (!name)
            return DET_NOMEM;
        render_column(&req->w, name, metric_location(group),
                      is_number                 ? NUMBER
                      : !strcmp(type, "date")   ? DATE
                      : !strcmp(type, "array")  ? LIST
                      : !strcmp(type, "string") ? TEXT
                                                : ANY,
                      "");
    }
    return DET_OK;
}

/* A table with more columns could be neither sent nor shown. */
static det_status check_columns(const struct request *req, int64_t project_id,
                                size_t count)
{
    if (count <= PROJECT_COLUMNS_MOST)
        return DET_OK;
    return err_set(
        req->err, DET_TOO_LARGE,
        "the experiments of project %" PRId64
        " have %zu different names of one kind (metrics, hyperparameters or "
        "metadata); a table has columns for %d: move some of them to another "
        "project",
        project_id, count, PROJECT_COLUMNS_MOST);
}

static det_status render_metrics(struct request *req, int64_t project_id)
{
    struct json *names;
    det_status st =
        store_metric_names_in_project(req->db, project_id, &req->mem, &names, req->err);

    if (!st)
        st = check_columns(req, project_id, json_first(names) ? names->list.count : 0);
    if (st)
        return st;
    json_each(metric, names) {
        st = render_metric(req, metric);
        if (st)
            return st;
    }
    return DET_OK;
}

typedef det_status collect_fn(struct db *db, int64_t id, project_text_fn *fn, void *arg,
                              struct err *err);

static det_status render_leaves(struct request *req, int64_t project_id,
                                collect_fn *collect, project_text_fn *add,
                                const char *location)
{
    CLEANUP(name_set_done) struct name_set set = {.mem = &req->mem};
    det_status st = collect(req->db, project_id, add, &set, req->err);

    if (st)
        return st;
    st = check_columns(req, project_id, set.all.count);
    if (st)
        return st;
    name_set_sort(&set);
    for (size_t i = 0; i < set.all.count; i++)
        render_column(&req->w, set.all.at[i]->name, location, set.all.at[i]->type, "");
    return DET_OK;
}

static det_status kind_from(const char *name, const struct table_kind **ret_kind,
                            struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(table_kinds); i++)
        if (!name || !*name || !strcmp(name, "TABLE_TYPE_UNSPECIFIED") ||
            !strcmp(name, table_kinds[i].name)) {
            *ret_kind = &table_kinds[i];
            return DET_OK;
        }
    return err_set(err, DET_INVALID,
                   "tableType is '%.100s'; expected TABLE_TYPE_EXPERIMENT or "
                   "TABLE_TYPE_RUN",
                   name);
}

det_status api_get_project_columns(struct request *req)
{
    const struct columns_query *in = req->query;
    const struct table_kind *kind = NULL;
    int64_t id;
    det_status st = read_project(req, &id);

    if (!st)
        st = kind_from(in->table_type, &kind, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "columns");
    for (const struct fixed_column *at = kind->fixed; at->name; at++)
        render_column(&req->w, at->name, kind->location, at->type, at->title);
    st = render_metrics(req, id);
    if (!st)
        st = render_leaves(req, id, store_project_configs, add_hparams,
                           kind->hparam_location);
    if (!st && kind->has_metadata)
        st = render_leaves(req, id, store_project_metadata, add_metadata,
                           "LOCATION_TYPE_RUN_METADATA");
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}

/* ---- ranges ----------------------------------------------------------------------- */

/* The summary has the groups "training" and "validation" under older names. */
static const char *group_of(const char *key)
{
    if (!strcmp(key, "avg_metrics"))
        return "training";
    return strcmp(key, "validation_metrics") ? key : "validation";
}

static bool widen_by_metric(struct name_set *set, const char *group,
                            const struct json *metric, struct arena *scratch)
{
    static const char *const parts[] = {"last", "max", "mean", "min"};

    if (strcmp(json_str(json_get(metric, "type"), ""), "number") != 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *name =
            arena_printf(scratch, "%s.%s.%s", group, metric->key, parts[i]);
        double value;

        if (!name)
            return false;
        if (json_number(json_get(metric, parts[i]), &value) &&
            !name_set_widen(set, name, value))
            return false;
    }
    return true;
}

static det_status widen_by_trial(struct request *req, int64_t trial_id,
                                 struct name_set *set)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(SCRATCH_MEMORY);
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct json *summary;
    det_status st = store_metric_summary(req->db, trial_id, &text, req->err);

    if (!st)
        st = json_parse(text.data, text.len, &scratch, &summary, req->err);
    if (st)
        return st;
    json_each(group, summary)
        json_each(metric, group)
            if (!widen_by_metric(set, group_of(group->key), metric, &scratch))
                return err_default(req->err, DET_NOMEM);
    return DET_OK;
}

det_status api_get_metric_ranges(struct request *req)
{
    CLEANUP(name_set_done) struct name_set set = {.mem = &req->mem};
    struct project_best *best;
    uint32_t count = 0;
    int64_t id;
    det_status st = read_project(req, &id);

    if (!st)
        st = store_project_best(req->db, id, &req->mem, &best, &count, req->err);
    for (uint32_t i = 0; i < count && !st; i++) {
        st = widen_by_trial(req, best[i].trial_id, &set);
        if (!st && !name_set_widen(&set, "searcherMetricsVal", best[i].metric))
            st = err_default(req->err, DET_NOMEM);
    }
    if (st)
        return st;
    name_set_sort(&set);
    jw_object(&req->w, NULL);
    jw_array(&req->w, "ranges");
    for (size_t i = 0; i < set.all.count; i++) {
        jw_object(&req->w, NULL);
        jw_str(&req->w, "metricsName", set.all.at[i]->name);
        jw_real(&req->w, "min", set.all.at[i]->min);
        jw_real(&req->w, "max", set.all.at[i]->max);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- values of metadata ----------------------------------------------------------- */

struct value_walk {
    struct name_set set;
    const char *key; /* dotted */
};

static det_status add_value(void *arg, const char *text, size_t len, struct err *err)
{
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(SCRATCH_MEMORY);
    struct value_walk *walk = arg;
    struct json *tree;
    const char *value;
    det_status st = json_parse(text, len, &scratch, &tree, err);

    if (st)
        return st;
    value = json_str(json_path(tree, walk->key), NULL);
    if (!value) /* a key may itself contain dots */
        value = json_str(json_get(tree, walk->key), NULL);
    return !value || name_set_add(&walk->set, value, TEXT)
               ? DET_OK
               : err_default(err, DET_NOMEM);
}

det_status api_get_metadata_values(struct request *req)
{
    struct value_walk walk = {.set.mem = &req->mem, .key = req->arg[1]};
    int64_t id;
    det_status st = read_project(req, &id);

    if (!st)
        st = store_project_metadata(req->db, id, add_value, &walk, req->err);
    name_set_sort(&walk.set);
    jw_object(&req->w, NULL);
    jw_array(&req->w, "values");
    for (size_t i = 0; i < walk.set.all.count; i++)
        jw_str(&req->w, NULL, walk.set.all.at[i]->name);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    name_set_done(&walk.set);
    return st;
}
