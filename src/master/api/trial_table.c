/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.c - all trials of an experiment for one picture of the search.
 *
 *   {"hparams": ["lr", "net.depth"],
 *    "trials": [[id, state, steps, latest, best, restarts, start, end, [values]], ...],
 *    "importance": [{"share": .., "correlation": .., "trials": .., "groups": ..}, ...]}
 *
 * Rows are lists, not objects, and nested hyperparameters are flattened with dots, so
 * that ten thousand trials are a few hundred kilobytes.  Times are milliseconds since
 * 1970.  `importance` goes with `hparams`; see search/importance.h for what it means.
 *
 * The metric is the searcher's, or another one of the validations: then its value at
 * the trial's latest validation and at its best one (by the searcher's metric), since
 * that is the checkpoint people would take. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "master/api/api.h"
#include "model/states.h"
#include "search/importance.h"
#include "store/trial_table.h"
#include "store/views.h"
#include "wire/queries.h"

struct cell {
    uint32_t column;
    const struct json *value;
    struct cell *next;
};

struct row {
    const struct trial_line *line;
    double latest; /* NaN: none */
    double best;
    bool has_latest;
    bool has_best;
    const struct json **value; /* by column, NULL: it has none; `width` of them */
    uint32_t width;
};

struct column {
    const char *name;
    uint32_t at;
};

struct table {
    struct request *req;
    const char *metric; /* NULL: the searcher's */
    bool smaller_is_better;
    struct map by_name;
    VEC(struct column *) columns;
    struct row *rows;
    uint32_t count;
    bool has_failed; /* memory */
};

/* ---- hyperparameters, flattened -------------------------------------------------- */

static struct column *column_of(struct table *table, const char *name)
{
    struct column *column = smap_get(&table->by_name, name);

    if (column)
        return column;
    column = arena_new(&table->req->mem, struct column);
    if (column) {
        column->name = arena_strdup(&table->req->mem, name);
        column->at = (uint32_t)table->columns.count;
    }
    if (!column || !column->name || !vec_push(&table->columns, column) ||
        !smap_put(&table->by_name, column->name, column)) {
        table->has_failed = true;
        return NULL;
    }
    return column;
}

/* The cells of a trial, the last first. */
static void flatten(struct table *table, const char *prefix, const struct json *value,
                    struct cell **cells)
{
    json_each(member, value) {
        const char *name = member->key;
        struct column *column;
        struct cell *cell;

        if (prefix)
            name = arena_printf(&table->req->mem, "%s.%s", prefix, member->key);
        if (!name || table->has_failed) {
            table->has_failed = true;
            return;
        }
        if (member->kind == JSON_OBJECT) {
            flatten(table, name, member, cells);
            continue;
        }
        column = column_of(table, name);
        cell = arena_new(&table->req->mem, struct cell);
        if (!column || !cell) {
            table->has_failed = true;
            return;
        }
        *cell = (struct cell){column->at, member, *cells};
        *cells = cell;
    }
}

static det_status read_hparams(struct table *table, struct row *row)
{
    struct request *req = table->req;
    const char *text = row->line->hparams;
    struct cell *cells = NULL;
    struct json *tree = NULL;
    det_status st;

    if (!text)
        return DET_OK;
    st = json_parse(text, strlen(text), &req->mem, &tree, req->err);
    if (st)
        return err_prefix(req->err, "the hyperparameters of trial %" PRId64,
                          row->line->id);
    if (tree->kind == JSON_OBJECT)
        flatten(table, NULL, tree, &cells);
    row->width = (uint32_t)table->columns.count;
    row->value = arena_array(&req->mem, const struct json *, (size_t)row->width + 1);
    if (!row->value || table->has_failed)
        return err_default(req->err, DET_NOMEM);
    for (; cells; cells = cells->next)
        row->value[cells->column] = cells->value;
    return DET_OK;
}

/* ---- metrics --------------------------------------------------------------------- */

static det_status read_metric(struct table *table, const char *validation,
                              bool *ret_has, double *ret_metric)
{
    struct request *req = table->req;
    struct json *tree = NULL;
    det_status st;

    if (!validation)
        return DET_OK;
    st = json_parse(validation, strlen(validation), &req->mem, &tree, req->err);
    if (!st)
        *ret_has = json_number(json_get(tree, table->metric), ret_metric);
    return st;
}

static det_status read_metrics(struct table *table, struct row *row)
{
    det_status st;

    if (!table->metric) {
        row->has_best = row->line->has_best;
        row->best = row->line->best;
        row->has_latest = row->line->has_latest;
        row->latest = row->line->latest;
        return DET_OK;
    }
    st = read_metric(table, row->line->best_validation, &row->has_best, &row->best);
    return st ? st
              : read_metric(table, row->line->latest_validation, &row->has_latest,
                            &row->latest);
}

/* "validation.loss", or "loss" as the searcher calls it. */
static det_status choose_metric(struct table *table, const struct experiment_view *view)
{
    const struct trials_table_query *in = table->req->query;
    const char *name = in->metric && *in->metric ? in->metric : NULL;
    static const char group[] = "validation.";

    table->smaller_is_better = view->smaller_is_better;
    if (!name)
        return DET_OK;
    if (strncmp(name, group, strlen(group)) != 0)
        return err_set(table->req->err, DET_INVALID,
                       "metric is '%s'; expected validation.NAME: trials are compared "
                       "by what their validations say",
                       name);
    name += strlen(group);
    if (!view->searcher_metric || strcmp(name, view->searcher_metric) != 0)
        table->metric = name;
    return DET_OK;
}

static det_status read_table(struct table *table, int64_t id)
{
    struct request *req = table->req;
    struct trial_line *lines;
    det_status st = store_trial_table(req->db, id, table->metric != NULL, &req->mem,
                                      &lines, &table->count, req->err);

    if (st)
        return st;
    table->rows = arena_array(&req->mem, struct row, (size_t)table->count + 1);
    if (!table->rows)
        return err_default(req->err, DET_NOMEM);
    for (uint32_t i = 0; i < table->count && !st; i++) {
        table->rows[i].line = &lines[i];
        st = read_metrics(table, &table->rows[i]);
        if (!st)
            st = read_hparams(table, &table->rows[i]);
    }
    return st;
}

/* ---- importance ------------------------------------------------------------------ */

static const struct json *value_at(const struct row *row, uint32_t column)
{
    return column < row->width ? row->value[column] : NULL;
}

static bool is_numeric(const struct table *table, uint32_t column)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct json *value = value_at(&table->rows[i], column);

        if (!json_is_null(value) && value->kind != JSON_INT && value->kind != JSON_REAL)
            return false;
    }
    return true;
}

/* Categories are numbered as they come, by their text. */
static det_status read_category(struct table *table, struct map *seen,
                                const struct json *value,
                                struct importance_value *ret_value)
{
    char *text = json_text(&table->req->mem, value);
    struct column *known = text ? smap_get(seen, text) : NULL;

    if (text && !known) {
        known = arena_new(&table->req->mem, struct column);
        if (known)
            known->at = (uint32_t)seen->count;
        if (known && !smap_put(seen, text, known))
            known = NULL;
    }
    if (!known)
        return err_default(table->req->err, DET_NOMEM);
    ret_value->kind = IMPORTANCE_CATEGORY;
    ret_value->category = known->at;
    return DET_OK;
}

static det_status read_values(struct table *table, uint32_t column,
                              struct importance_value *values)
{
    struct map seen = {0};
    bool has_numbers = is_numeric(table, column);
    det_status st = DET_OK;

    for (uint32_t i = 0; i < table->count && !st; i++) {
        const struct json *value = value_at(&table->rows[i], column);

        values[i] = (struct importance_value){0};
        if (json_is_null(value))
            continue;
        if (has_numbers && json_number(value, &values[i].number))
            values[i].kind = IMPORTANCE_NUMBER;
        else
            st = read_category(table, &seen, value, &values[i]);
    }
    map_done(&seen);
    return st;
}

/* A metric that is not a number is the worst there can be: the trial went astray, and
 * that counts. */
static void best_metrics(const struct table *table, double *metric)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];

        metric[i] = row->has_best ? row->best : NAN;
        if (row->has_best && isnan(row->best))
            metric[i] = table->smaller_is_better ? INFINITY : -INFINITY;
    }
}

static void show_importance(struct json_writer *w, const struct importance *found)
{
    jw_object(w, NULL);
    if (isnan(found->share))
        jw_null(w, "share");
    else
        jw_real(w, "share", found->share);
    if (isnan(found->correlation))
        jw_null(w, "correlation");
    else
        jw_real(w, "correlation", found->correlation);
    jw_i64(w, "trials", found->trials);
    jw_i64(w, "groups", found->groups);
    jw_end_object(w);
}

static det_status write_importance(struct table *table)
{
    struct request *req = table->req;
    CLEANUP(arena_done) struct arena scratch = ARENA_INIT(req->mem.limit);
    struct importance_value *values =
        arena_array(&req->mem, struct importance_value, (size_t)table->count + 1);
    double *metric = arena_array(&req->mem, double, (size_t)table->count + 1);
    const struct importance_ranks *ranks;
    det_status st;

    if (!values || !metric)
        return err_default(req->err, DET_NOMEM);
    best_metrics(table, metric);
    st = importance_rank(metric, table->count, &req->mem, &ranks, req->err);
    jw_array(&req->w, "importance");
    for (uint32_t i = 0; i < table->columns.count && !st; i++) {
        struct importance found;

        arena_clear(&scratch);
        st = read_values(table, i, values);
        if (!st)
            st = importance_of(values, ranks, &scratch, &found, req->err);
        if (!st)
            show_importance(&req->w, &found);
    }
    jw_end_array(&req->w);
    jw_i64(&req->w, "fewTrials", IMPORTANCE_FEW);
    return st;
}

/* ---- the answer ------------------------------------------------------------------ */

static void write_time(struct json_writer *w, int64_t time_us)
{
    if (time_us)
        jw_i64(w, NULL, time_us / 1000);
    else
        jw_null(w, NULL);
}

static void write_number(struct json_writer *w, bool is_there, double value)
{
    if (is_there)
        jw_real(w, NULL, value);
    else
        jw_null(w, NULL);
}

static void write_row(struct json_writer *w, const struct row *row)
{
    const struct trial_line *line = row->line;

    jw_array(w, NULL);
    jw_i64(w, NULL, line->id);
    jw_str(w, NULL,
           line->live_state != LIVE_NONE ? live_state_names[line->live_state]
                                         : trial_state_names[line->state]);
    jw_i64(w, NULL, line->steps);
    write_number(w, row->has_latest, row->latest);
    write_number(w, row->has_best, row->best);
    jw_i64(w, NULL, line->restarts);
    write_time(w, line->start_us);
    write_time(w, line->end_us);
    jw_array(w, NULL);
    for (uint32_t i = 0; i < row->width; i++)
        if (row->value[i])
            jw_json(w, NULL, row->value[i]);
        else
            jw_null(w, NULL);
    jw_end_array(w);
    jw_end_array(w);
}

static det_status write_table(struct table *table, const struct experiment_view *view)
{
    const struct trials_table_query *in = table->req->query;
    struct json_writer *w = &table->req->w;
    const char *metric = table->metric ? table->metric : view->searcher_metric;
    det_status st;

    jw_object(w, NULL);
    jw_str(w, "metric", metric);
    jw_bool(w, "smallerIsBetter", table->smaller_is_better);
    jw_array(w, "hparams");
    for (size_t i = 0; i < table->columns.count; i++)
        jw_str(w, NULL, table->columns.at[i]->name);
    jw_end_array(w);
    jw_array(w, "trials");
    for (uint32_t i = 0; i < table->count; i++)
        write_row(w, &table->rows[i]);
    jw_end_array(w);
    st = in->without_importance ? DET_OK : write_importance(table);
    jw_end_object(w);
    return st;
}

det_status api_trials_table(struct request *req)
{
    struct table table = {.req = req};
    struct experiment_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (!st)
        st = choose_metric(&table, &view);
    if (!st)
        st = read_table(&table, id);
    if (!st)
        st = write_table(&table, &view);
    map_done(&table.by_name);
    vec_done(&table.columns);
    return st;
}
