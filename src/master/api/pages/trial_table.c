/* SPDX-License-Identifier: Apache-2.0 */
/* trial_table.c - all trials of an experiment, for charts of its search.
 *
 *   {"hparams": ["lr", "net.depth"],
 *    "trials": [[id, state, steps, latest, best, restarts, start, end, [values],
 *                slots], ...],
 *    "importance": [{"share": .., "correlation": .., "trials": .., "groups": ..}, ...]}
 *
 * Rows are lists, not objects, and nested hyperparameters are flattened with dots, so ten
 * thousand trials fit in a few hundred kilobytes.  Times are milliseconds since 1970; `slots`
 * is the slot time in milliseconds.  `importance` has one entry per name in `hparams`; see
 * search/importance.h.
 *
 * With `withMetrics` the reply also has "metrics", the names of all metrics of the best
 * validations, and each trial their values as its last list.  With `query` it has only the
 * trials that match (model/table_query.h).
 *
 * The metric is the searcher's, or another one of the validations.  In that case its values
 * are those of the latest validation and of the best one by the searcher's metric, because
 * that is the checkpoint people would use. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory/map.h"
#include "base/memory/vec.h"
#include "data/json/json_walk.h"
#include "data/number.h"
#include "master/api/api.h"
#include "model/states.h"
#include "model/table_query.h"
#include "search/importance.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_table.h"
#include "store/experiment/trial_view.h"
#include "wire/queries.h"

/* The text of a value in the trial's hyperparameters; borrows from them. */
struct value {
    const char *text; /* NULL: none */
    uint32_t len;
};

struct cell {
    uint32_t column;
    struct value value;
    struct cell *next;
};

struct row {
    const struct trial_line *line;
    double latest; /* NaN: none */
    double best;
    bool has_latest;
    bool has_best;
    struct value *value; /* by column; `width` of them */
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
    /* the metrics of the best validations as a table of their own; NULL: not asked for */
    struct table *metrics;
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

/* "net.depth"; the JSON parser reads names with escapes. */
static const char *name_of(struct table *table, const char *prefix,
                           const struct json_part *part)
{
    struct arena *mem = &table->req->mem;
    struct json *key = NULL;

    if (!memchr(part->key, '\\', part->key_len))
        return prefix
                   ? arena_printf(mem, "%s.%.*s", prefix, (int)part->key_len, part->key)
                   : arena_strndup(mem, part->key, part->key_len);
    if (json_parse(part->key - 1, part->key_len + 2, mem, &key, NULL))
        return NULL;
    return prefix ? arena_printf(mem, "%s.%s", prefix, json_str(key, ""))
                  : json_str(key, NULL);
}

/* Most trials have the columns of the trial before, in the same order. */
static struct column *guess_column(const struct table *table, const char *prefix,
                                   const struct json_part *part, uint32_t at)
{
    struct column *column = at < table->columns.count ? table->columns.at[at] : NULL;

    if (prefix || !column || strncmp(column->name, part->key, part->key_len) != 0 ||
        column->name[part->key_len])
        return NULL;
    return column;
}

static void add_cell(struct table *table, const char *prefix,
                     const struct json_part *part, struct cell **cells)
{
    uint32_t next = *cells ? (*cells)->column + 1 : 0;
    struct column *column = guess_column(table, prefix, part, next);
    struct cell *cell = arena_new(&table->req->mem, struct cell);
    const char *name;

    if (!column) {
        name = name_of(table, prefix, part);
        column = name ? column_of(table, name) : NULL;
    }
    if (!column || !cell) {
        table->has_failed = true;
        return;
    }
    *cell = (struct cell){column->at, {part->value, (uint32_t)part->value_len}, *cells};
    if (part->value_len == 4 && !memcmp(part->value, "null", 4))
        cell->value.text = NULL;
    *cells = cell;
}

/* Adds the cells of a trial, last one first; false: the text is broken. */
static bool flatten_object(struct table *table, const char *prefix,
                           const struct json_part *object, struct cell **cells)
{
    struct json_walk walk = json_walk_begin(object->value, object->value_len);
    struct json_part part;
    bool is_whole = true;

    while (is_whole && !table->has_failed && json_walk_next(&walk, &part)) {
        const char *name = NULL;

        if (*part.value != '{') {
            add_cell(table, prefix, &part, cells);
            continue;
        }
        name = name_of(table, prefix, &part);
        table->has_failed = table->has_failed || !name;
        is_whole = table->has_failed || flatten_object(table, name, &part, cells);
    }
    return is_whole && !walk.is_broken;
}

/* `text` NULL: the row has no values. */
static det_status read_cells(struct table *table, struct row *row, const char *text)
{
    struct request *req = table->req;
    struct json_part whole = {.value = text};
    struct cell *cells = NULL;

    if (!whole.value)
        return DET_OK;
    whole.value_len = strlen(whole.value);
    if (!flatten_object(table, NULL, &whole, &cells) && !table->has_failed)
        return err_set(req->err, DET_CORRUPT,
                       "the hyperparameters or metrics of trial %" PRId64
                       " cannot be read",
                       row->line->id);
    row->width = (uint32_t)table->columns.count;
    row->value = arena_array(&req->mem, struct value, (size_t)row->width + 1);
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
                       "by their validations",
                       name);
    name += strlen(group);
    if (!view->searcher_metric || strcmp(name, view->searcher_metric) != 0)
        table->metric = name;
    return DET_OK;
}

static det_status read_line(struct table *table, uint32_t i,
                            const struct trial_line *line)
{
    det_status st;

    table->rows[i].line = line;
    st = read_metrics(table, &table->rows[i]);
    if (!st)
        st = read_cells(table, &table->rows[i], line->hparams);
    if (st || !table->metrics)
        return st;
    table->metrics->rows[i].line = line;
    return read_cells(table->metrics, &table->metrics->rows[i], line->best_validation);
}

static det_status read_table(struct table *table, int64_t id)
{
    struct request *req = table->req;
    struct trial_line *lines;
    det_status st = store_trial_table(req->db, id, table->metric || table->metrics,
                                      &req->mem, &lines, &table->count, req->err);

    if (st)
        return st;
    table->rows = arena_array(&req->mem, struct row, (size_t)table->count + 1);
    if (table->metrics)
        table->metrics->rows =
            arena_array(&req->mem, struct row, (size_t)table->count + 1);
    if (req->mem.has_failed)
        return err_default(req->err, DET_NOMEM);
    for (uint32_t i = 0; i < table->count && !st; i++)
        st = read_line(table, i, &lines[i]);
    return st;
}

/* ---- the query ------------------------------------------------------------------- */

/* The fixed columns of a query; the hyperparameters follow, then the metrics. */
enum {
    TRIAL_ID,
    TRIAL_STATE,
    TRIAL_STEPS,
    TRIAL_BEST,
    TRIAL_LATEST,
    TRIAL_RESTARTS,
    TRIAL_START,
    TRIAL_END,
    TRIAL_DURATION,
    TRIAL_FIXED
};
static const struct {
    const char *name;
    enum query_kind kind;
} trial_columns[TRIAL_FIXED] = {
    {"id", QUERY_NUMBER},   {"state", QUERY_TEXT},    {"steps", QUERY_NUMBER},
    {"best", QUERY_NUMBER}, {"latest", QUERY_NUMBER}, {"restarts", QUERY_NUMBER},
    {"start", QUERY_TIME},  {"end", QUERY_TIME},      {"duration", QUERY_SECONDS},
};

struct trial_look {
    struct table *table;
    uint32_t at;
    int64_t now_us;
};

static bool find_trial_column(const void *arg, const char *name, uint32_t *ret_place,
                              enum query_kind *ret_kind)
{
    const struct table *table = arg;
    bool is_metric = !strncmp(name, "validation.", 11);
    const struct column *column = NULL;

    for (uint32_t i = 0; i < TRIAL_FIXED; i++)
        if (!strcmp(name, trial_columns[i].name)) {
            *ret_place = i;
            *ret_kind = trial_columns[i].kind;
            return true;
        }
    if (is_metric)
        column = smap_get(&table->metrics->by_name, name + 11);
    else if (!strncmp(name, "hp.", 3))
        column = smap_get(&table->by_name, name + 3);
    if (!column)
        return false;
    *ret_place =
        TRIAL_FIXED + column->at + (is_metric ? (uint32_t)table->columns.count : 0);
    *ret_kind = QUERY_ANY;
    return true;
}

static const char *const *trial_column_names(const void *arg, struct arena *mem)
{
    const struct table *table = arg;
    size_t hparams = table->columns.count, metrics = table->metrics->columns.count;
    const char **names =
        arena_array(mem, const char *, TRIAL_FIXED + hparams + metrics + 1);

    for (size_t i = 0; names && i < TRIAL_FIXED; i++)
        names[i] = trial_columns[i].name;
    for (size_t i = 0; names && i < hparams; i++)
        names[TRIAL_FIXED + i] = arena_printf(mem, "hp.%s", table->columns.at[i]->name);
    for (size_t i = 0; names && i < metrics; i++)
        names[TRIAL_FIXED + hparams + i] =
            arena_printf(mem, "validation.%s", table->metrics->columns.at[i]->name);
    return mem->has_failed ? NULL : names;
}

/* The states of trials, and what ACTIVE stands for. */
static const char *const *trial_column_words(const void *arg, uint32_t place,
                                             struct arena *mem)
{
    const char **words = arena_array(mem, const char *, TRIAL_STATES + LIVE_STATES + 1);
    size_t count = 0;

    (void)arg;
    if (place != TRIAL_STATE)
        return query_any_word;
    for (size_t i = 0; words && trial_state_names[i]; i++)
        words[count++] = trial_state_names[i];
    for (size_t i = LIVE_QUEUED; words && live_state_names[i]; i++)
        words[count++] = live_state_names[i];
    return words;
}

static struct query_cell number_cell(bool is_there, double number)
{
    return is_there ? (struct query_cell){.kind = QUERY_CELL_NUMBER, .number = number}
                    : (struct query_cell){0};
}

static struct query_cell text_cell(const char *text, size_t len)
{
    return (struct query_cell){.kind = QUERY_CELL_TEXT, .text = text, .len = len};
}

static struct value value_at(const struct row *row, uint32_t column)
{
    return column < row->width ? row->value[column] : (struct value){0};
}

static struct query_cell value_cell(struct table *table, struct value value)
{
    struct query_cell cell = {0};

    if (value.text &&
        !query_cell_of_json(value.text, value.len, &table->req->mem, &cell))
        table->has_failed = true;
    return cell;
}

static const char *state_of_trial(const struct trial_line *line)
{
    return line->live_state != LIVE_NONE ? live_state_names[line->live_state]
                                         : trial_state_names[line->state];
}

static struct query_cell trial_cell(const struct trial_look *look, uint32_t place)
{
    const struct row *row = &look->table->rows[look->at];
    const struct trial_line *line = row->line;
    uint32_t hparams = (uint32_t)look->table->columns.count;

    switch (place) {
    case TRIAL_ID:
        return number_cell(true, (double)line->id);
    case TRIAL_STATE:
        return text_cell(state_of_trial(line), strlen(state_of_trial(line)));
    case TRIAL_STEPS:
        return number_cell(true, (double)line->steps);
    case TRIAL_BEST:
        return number_cell(row->has_best, row->best);
    case TRIAL_LATEST:
        return number_cell(row->has_latest, row->latest);
    case TRIAL_RESTARTS:
        return number_cell(true, (double)line->restarts);
    case TRIAL_START:
        return number_cell(line->start_us, (double)line->start_us);
    case TRIAL_END:
        return number_cell(line->end_us, (double)line->end_us);
    case TRIAL_DURATION:
        return number_cell(
            true, (double)trial_on_slots_us(line->on_slots_us, look->now_us) / 1e6);
    }
    if (place - TRIAL_FIXED < hparams)
        return value_cell(look->table, value_at(row, place - TRIAL_FIXED));
    return value_cell(look->table, value_at(&look->table->metrics->rows[look->at],
                                            place - TRIAL_FIXED - hparams));
}

static bool trial_term_matches(void *arg, const struct query_term *term)
{
    static const struct query_cell active = {
        .kind = QUERY_CELL_TEXT, .text = "ACTIVE", .len = 6};
    const struct trial_look *look = arg;
    const struct trial_line *line = look->table->rows[look->at].line;
    struct query_cell cell;

    if (!term->column)
        return line->hparams && strcasestr(line->hparams, term->values->text);
    cell = trial_cell(look, term->place);
    if (term->place == TRIAL_STATE && line->live_state != LIVE_NONE)
        return (query_cell_has(term, &cell) || query_cell_has(term, &active)) !=
               query_term_is_negative(term);
    return query_cell_matches(term, &cell);
}

/* Keeps only the trials that match. */
static det_status filter_table(struct table *table, const char *text)
{
    const struct query_columns columns = {table, find_trial_column, trial_column_names,
                                          trial_column_words};
    struct request *req = table->req;
    struct trial_look look = {.table = table, .now_us = master_now_us(req->master)};
    struct table_query query;
    uint32_t kept = 0;
    det_status st = table_query_parse(text, &req->mem, &query, req->err);

    if (!st)
        st = table_query_bind(&query, &columns, &req->mem, req->err);
    for (; !st && look.at < table->count; look.at++)
        if (table_query_matches(&query, trial_term_matches, &look)) {
            table->rows[kept] = table->rows[look.at];
            table->metrics->rows[kept++] = table->metrics->rows[look.at];
        }
    if (!st && table->has_failed)
        return err_default(req->err, DET_NOMEM);
    if (!st)
        table->count = kept;
    return st;
}

/* ---- importance ------------------------------------------------------------------ */

static bool is_numeric(const struct table *table, uint32_t column)
{
    for (uint32_t i = 0; i < table->count; i++) {
        struct value value = value_at(&table->rows[i], column);

        if (value.text && *value.text != '-' &&
            !(*value.text >= '0' && *value.text <= '9'))
            return false;
    }
    return true;
}

/* Numbers categories by their text, in the order of appearance. */
static det_status read_category(struct table *table, struct map *seen,
                                struct value value, struct importance_value *ret_value)
{
    struct arena *mem = &table->req->mem;
    char *text = arena_strndup(mem, value.text, value.len);
    struct column *known = text ? smap_get(seen, text) : NULL;

    if (text && !known) {
        known = arena_new(mem, struct column);
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
        struct value value = value_at(&table->rows[i], column);

        values[i] = (struct importance_value){0};
        if (!value.text)
            continue;
        if (!has_numbers)
            st = read_category(table, &seen, value, &values[i]);
        else if (number_to_real(value.text, value.len, &values[i].number))
            values[i].kind = IMPORTANCE_NUMBER;
    }
    map_done(&seen);
    return st;
}

/* NaN counts as the worst value: the trial diverged. */
static void collect_best_metrics(const struct table *table, double *metric)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];

        metric[i] = row->has_best ? row->best : NAN;
        if (row->has_best && isnan(row->best))
            metric[i] = table->smaller_is_better ? INFINITY : -INFINITY;
    }
}

static void render_importance(struct json_writer *w, const struct importance *found)
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
    collect_best_metrics(table, metric);
    st = importance_rank(metric, table->count, &req->mem, &ranks, req->err);
    jw_array(&req->w, "importance");
    for (uint32_t i = 0; i < table->columns.count && !st; i++) {
        struct importance found;

        arena_clear(&scratch);
        st = read_values(table, i, values);
        if (!st)
            st = importance_of(values, ranks, &scratch, &found, req->err);
        if (!st)
            render_importance(&req->w, &found);
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

static void write_values(struct json_writer *w, const struct row *row)
{
    jw_array(w, NULL);
    for (uint32_t i = 0; i < row->width; i++)
        if (row->value[i].text)
            jw_rawn(w, NULL, row->value[i].text, row->value[i].len);
        else
            jw_null(w, NULL);
    jw_end_array(w);
}

/* `metrics` NULL: not asked for. */
static void write_row(struct json_writer *w, const struct row *row,
                      const struct row *metrics, int64_t now_us)
{
    const struct trial_line *line = row->line;

    jw_array(w, NULL);
    jw_i64(w, NULL, line->id);
    jw_str(w, NULL, state_of_trial(line));
    jw_i64(w, NULL, line->steps);
    write_number(w, row->has_latest, row->latest);
    write_number(w, row->has_best, row->best);
    jw_i64(w, NULL, line->restarts);
    write_time(w, line->start_us);
    write_time(w, line->end_us);
    write_values(w, row);
    jw_i64(w, NULL, trial_on_slots_us(line->on_slots_us, now_us) / 1000);
    if (metrics)
        write_values(w, metrics);
    jw_end_array(w);
}

static void write_names(struct json_writer *w, const char *key,
                        const struct table *table)
{
    jw_array(w, key);
    for (size_t i = 0; i < table->columns.count; i++)
        jw_str(w, NULL, table->columns.at[i]->name);
    jw_end_array(w);
}

static det_status write_table(struct table *table, const struct experiment_view *view)
{
    int64_t now_us = master_now_us(table->req->master);
    const struct trials_table_query *in = table->req->query;
    struct json_writer *w = &table->req->w;
    const char *metric = table->metric ? table->metric : view->searcher_metric;
    det_status st;

    jw_object(w, NULL);
    jw_str(w, "metric", metric);
    jw_bool(w, "smallerIsBetter", table->smaller_is_better);
    write_names(w, "hparams", table);
    if (in->with_metrics)
        write_names(w, "metrics", table->metrics);
    jw_array(w, "trials");
    for (uint32_t i = 0; i < table->count; i++)
        write_row(w, &table->rows[i],
                  in->with_metrics ? &table->metrics->rows[i] : NULL, now_us);
    jw_end_array(w);
    st = in->without_importance ? DET_OK : write_importance(table);
    jw_end_object(w);
    return st;
}

det_status api_trials_table(struct request *req)
{
    const struct trials_table_query *in = req->query;
    bool has_query = in->query && *in->query;
    struct table metrics = {.req = req};
    struct table table = {.req = req,
                          .metrics = has_query || in->with_metrics ? &metrics : NULL};
    struct experiment_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_experiment_get(req->db, id, &req->mem, &view, req->err);
    if (!st)
        st = choose_metric(&table, &view);
    if (!st)
        st = read_table(&table, id);
    if (!st && has_query)
        st = filter_table(&table, in->query);
    if (!st)
        st = write_table(&table, &view);
    map_done(&table.by_name);
    vec_done(&table.columns);
    map_done(&metrics.by_name);
    vec_done(&metrics.columns);
    return st;
}
