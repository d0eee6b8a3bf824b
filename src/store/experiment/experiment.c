/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.c - rows of `experiments` and the tables beside it, and lists. */
#include "store/experiment/experiment.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "data/json/json.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/engine/sql_build.h"
#include "store/experiment/trial_sql.h"
#include "store/page.h"
#include "store/sql_tables.h"

enum {
    EXPERIMENT_ADD,
    EXPERIMENT_ADD_CONFIG,
    EXPERIMENT_ADD_FILES,
    EXPERIMENT_PUT,
    EXPERIMENT_TRIALS,
    EXPERIMENT_FORKS,
    EXPERIMENT_FILES,
    EXPERIMENT_BEST,
    EXPERIMENT_STANDING,
};

/* $7 and $8 are the configurations; they are stored in their own table.  $5 is the project
 * at the submission: if it is gone by now, the experiment begins in the first one. */
static const struct sql experiment_sql[] = {
    SQL(EXPERIMENT_ADD,
        "INSERT INTO experiments (id, state, job_id, owner_id, project_id, parent_id,"
        "  resource_pool, priority, weight, max_slots, submitted_us, start_us, end_us,"
        "  progress, trials, search_seq, snapshot_seq, starter_id, paused_us,"
        "  paused_since_us, name, description, labels,"
        "  searcher_type, searcher_metric, smaller_is_better, log_retention_days,"
        "  files_size, is_unmanaged, external_id)"
        " VALUES ($1, $2, $3, $4,"
        "  COALESCE((SELECT p.id FROM projects p WHERE p.id = $5), 1), $6, $9, $10, "
        "$11, $12, $13, $14, $15, $16, $17,"
        "  $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31,"
        "  $32)"
        " ON CONFLICT (external_id) WHERE external_id IS NOT NULL"
        "  AND state NOT IN ('DELETING', 'DELETE_FAILED') DO NOTHING"),
    SQL(EXPERIMENT_ADD_CONFIG,
        "INSERT INTO experiment_configs (id, config, original_config)"
        " VALUES ($1, $2, $3)"),
    SQL(EXPERIMENT_ADD_FILES,
        "INSERT INTO experiment_files (id, files) VALUES ($1, $2)"),
    SQL(EXPERIMENT_PUT,
        "UPDATE experiments SET state = $2, job_id = $3, owner_id = $4,"
        "  parent_id = $6, resource_pool = $9, priority = $10, weight = $11,"
        "  max_slots = $12, submitted_us = $13, start_us = $14, end_us = $15,"
        "  progress = $16, trials = $17, search_seq = $18, snapshot_seq = $19,"
        "  starter_id = $20, paused_us = $21, paused_since_us = $22"
        " WHERE id = $1"),
    SQL(EXPERIMENT_TRIALS,
        "SELECT id FROM trials WHERE experiment_id = $1 ORDER BY id"),
    SQL(EXPERIMENT_FORKS, "SELECT id FROM experiments WHERE parent_id = $1 AND "
                          "parent_id > 0 ORDER BY id"),
    SQL(EXPERIMENT_FILES, "SELECT f.files FROM experiments e"
                          "  LEFT JOIN experiment_files f ON f.id = e.id"
                          " WHERE e.id = $1"),
    SQL(EXPERIMENT_BEST, "SELECT t.best_metric FROM trials t"
                         " WHERE t.experiment_id = $1 AND t.best_rank IS NOT NULL"
                         " ORDER BY t.best_rank, t.id LIMIT 1"),
    SQL(EXPERIMENT_STANDING,
        "SELECT state, is_unmanaged, is_archived, project_id FROM experiments"
        " WHERE id = $1"),
};
const struct sql_table experiment_sql_table = SQL_TABLE(experiment_sql);

/* ---- the heart's rows ------------------------------------------------------------ */

static const char *labels_text(struct arena *mem, const char *labels)
{
    struct json *list;

    if (!labels || json_parse(labels, strlen(labels), mem, &list, NULL))
        return "[]";
    return json_text(mem, list);
}

static det_status add_row(struct db *db, const struct experiment *row,
                          const struct experiment_texts *texts, struct arena *mem,
                          struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_ADD], err);
    struct json *config = NULL;
    const char *labels = labels_text(mem, texts->labels);

    if (row->config && json_parse(row->config, strlen(row->config), mem, &config, err))
        return err_prefix(err, "the configuration of experiment %" PRId64, row->id);
    if (!labels)
        return err_default(err, DET_NOMEM);
    db_bind_record(&q, experiment_fields, row);
    db_bind_str(&q, texts->name ? texts->name : "");
    db_bind_str(&q, texts->description ? texts->description : "");
    db_bind_str(&q, labels);
    db_bind_str(&q, json_str(json_path(config, "searcher.name"), NULL));
    db_bind_str(&q, json_str(json_path(config, "searcher.metric"), NULL));
    db_bind_bool(&q, json_bool(json_path(config, "searcher.smaller_is_better"), true));
    db_bind_i64(&q,
                json_i64(json_path(config, "retention_policy.log_retention_days"), -2));
    db_bind_i64(&q, (int64_t)texts->files_len);
    db_bind_bool(&q, texts->is_unmanaged);
    db_bind_str(&q, texts->external_id);
    return db_run(&q);
}

static det_status add_config(struct db *db, const struct experiment *row,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_ADD_CONFIG], err);

    db_bind_i64(&q, row->id);
    db_bind_str(&q, row->config);
    db_bind_str(&q, row->original_config);
    return db_run(&q);
}

static det_status add_files(struct db *db, int64_t id,
                            const struct experiment_texts *texts, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_ADD_FILES], err);

    db_bind_i64(&q, id);
    db_bind_blob(&q, texts->files, texts->files_len);
    return db_run(&q);
}

det_status store_experiment_add(struct db *db, const struct experiment *row,
                                const struct experiment_texts *texts, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    det_status st = add_row(db, row, texts, &mem, err);

    if (st || !db_changes(db))
        return st; /* the external id exists: another client was faster */
    st = add_config(db, row, err);
    if (!st && texts->files_len)
        st = add_files(db, row->id, texts, err);
    return st;
}

static det_status no_experiment(int64_t id, struct err *err)
{
    return err_set(err, DET_NOT_FOUND, "experiment '%" PRId64 "' not found", id);
}

det_status store_experiment_put(struct db *db, const struct experiment *row,
                                struct err *err)
{
    det_status st =
        row_put(db, &experiment_sql[EXPERIMENT_PUT], experiment_fields, row, err);

    if (!st && !db_changes(db))
        return no_experiment(row->id, err);
    return st;
}

/* ---- views ----------------------------------------------------------------------- */

const char *const live_state_names[] = {"",         "QUEUED",  "PULLING",
                                        "STARTING", "RUNNING", NULL};

static const struct field view_fields[] = {
    FIELD(STR, experiment_view, name, "its name"),
    FIELD(STR, experiment_view, description, "its description"),
    FIELD(STR, experiment_view, notes, "its notes"),
    FIELD(JSON, experiment_view, labels, "its labels"),
    FIELD(STR, experiment_view, searcher_type, "its search method"),
    FIELD(STR, experiment_view, searcher_metric, "the searcher's metric"),
    FIELD(BOOL, experiment_view, smaller_is_better,
          "whether a smaller metric is better"),
    FIELD(BOOL, experiment_view, is_archived, "archived"),
    FIELD(I64, experiment_view, log_retention_days, "how long logs are kept"),
    FIELD(I64, experiment_view, checkpoint_count, "its checkpoints"),
    FIELD(I64, experiment_view, checkpoint_size, "their bytes"),
    FIELD(I64, experiment_view, files_size, "bytes of its files"),
    FIELD(BOOL, experiment_view, is_unmanaged, "unmanaged"),
    FIELD(STR, experiment_view, external_id, "its external id"),
    FIELD_END,
};

void experiment_build_states(struct sql_build *b, const char *what,
                             const char *const *names, uint32_t states,
                             const char *live)
{
    uint32_t stored = states & (LIVE_BIT(LIVE_NONE) - 1);
    const char *comma = "";

    if (stored == states) {
        sql_build_states(b, what, names, states);
        return;
    }
    buf_puts(&b->text, " AND (");
    if (stored) {
        sql_build_state_list(b, what, names, stored);
        buf_puts(&b->text, " OR ");
    }
    buf_printf(&b->text, "%s IN (", live);
    for (uint32_t i = LIVE_QUEUED; live_state_names[i]; i++) {
        if (!(states & LIVE_BIT(i)))
            continue;
        buf_printf(&b->text, "%s%u", comma, i);
        comma = ", ";
    }
    buf_puts(&b->text, "))");
}

/* The owner, the project and the workspace. */
#define JOINS                                                                          \
    " LEFT JOIN users u ON u.id = e.owner_id"                                          \
    " LEFT JOIN projects p ON p.id = e.project_id"                                     \
    " LEFT JOIN workspaces w ON w.id = p.workspace_id"

static void build_view(struct sql_build *b, bool with_config)
{
    buf_puts(&b->text, "SELECT ");
    for (const struct field *field = experiment_fields; field->name; field++) {
        if (!strstr(field->name, "config"))
            buf_printf(&b->text, "e.%s, ", field->name);
        else if (with_config)
            buf_printf(&b->text, "c.%s, ", field->name);
        else
            buf_puts(&b->text, "NULL, ");
    }
    sql_build_columns(b, "e", view_fields);
    buf_puts(&b->text,
             ", COALESCE(u.username, ''), COALESCE(u.display_name, ''),"
             " COALESCE(p.name, ''), COALESCE(p.owner_id, 0), COALESCE(w.id, 0),"
             " COALESCE(w.name, ''), COALESCE(p.is_archived OR w.is_archived, FALSE),"
             " CASE WHEN e.is_unmanaged THEN (SELECT COUNT(*) FROM trials n"
             "  WHERE n.experiment_id = e.id) ELSE e.trials END,"
             " t.id, t.best_metric,"
             " " LIVE_STATE_SQL("e", "a.experiment_id = e.id") " FROM experiments e");
    if (with_config)
        buf_puts(&b->text, " LEFT JOIN experiment_configs c ON c.id = e.id");
    buf_puts(&b->text,
             JOINS " LEFT JOIN trials t ON t.id = (SELECT b.id FROM trials b"
                   "  WHERE b.experiment_id = e.id AND b.best_rank IS NOT NULL"
                   "  ORDER BY b.best_rank, b.id LIMIT 1)");
}

static void read_view(struct db_query *q, struct arena *mem,
                      struct experiment_view *view)
{
    db_read(q, experiment_fields, &view->row, mem);
    db_read(q, view_fields, view, mem);
    view->username = db_col_str(q, mem);
    view->display_name = db_col_str(q, mem);
    view->project_name = db_col_str(q, mem);
    view->project_owner_id = db_col_i64(q);
    view->workspace_id = db_col_i64(q);
    view->workspace_name = db_col_str(q, mem);
    view->is_parent_archived = db_col_bool(q);
    view->num_trials = db_col_i64(q);
    view->best_trial_id = db_col_i64(q);
    view->has_best_metric = !db_col_is_null(q);
    view->best_metric = db_col_f64(q);
    view->live_state = (uint32_t)db_col_i64(q);
}

static const struct {
    const char *name;
    const char *key;
} sorts[] = {
    {"SORT_BY_UNSPECIFIED", "e.id"},
    {"SORT_BY_ID", "e.id"},
    {"SORT_BY_DESCRIPTION", "e.description"},
    {"SORT_BY_NAME", "e.name"},
    {"SORT_BY_START_TIME", "e.start_us"},
    {"SORT_BY_END_TIME", "e.end_us"},
    {"SORT_BY_STATE", "e.state"},
    {"SORT_BY_NUM_TRIALS", "e.trials"},
    {"SORT_BY_PROGRESS", "e.progress"},
    {"SORT_BY_USER", "u.username"},
    {"SORT_BY_FORKED_FROM", "e.parent_id"},
    {"SORT_BY_RESOURCE_POOL", "e.resource_pool"},
    {"SORT_BY_PROJECT_ID", "e.project_id"},
    {"SORT_BY_CHECKPOINT_SIZE", "e.checkpoint_size"},
    {"SORT_BY_CHECKPOINT_COUNT", "e.checkpoint_count"},
    {"SORT_BY_SEARCHER_METRIC_VAL", "t.best_metric IS NULL, t.best_metric"},
};

static const char *sort_key(const char *name)
{
    if (!name)
        return "e.id";
    for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
        if (!strcmp(sorts[i].name, name))
            return sorts[i].key;
    }
    return NULL;
}

/* In the JSON list a label is a string after '[' or ','.  Inside a string, neither is
 * ever followed by an unescaped quote. */
static void build_label(struct sql_build *b, const char *label)
{
    char *text = json_text(b->mem, json_new_str(b->mem, label));
    char *first = text ? arena_printf(b->mem, "[%s", text) : NULL;
    char *later = text ? arena_printf(b->mem, ",%s", text) : NULL;

    sql_build_str(b, " AND (REPLACE(e.labels, ", first, ", '') <> e.labels");
    sql_build_str(b, " OR REPLACE(e.labels, ", later, ", '') <> e.labels)");
}

static void build_bounds(struct sql_build *b, const struct experiment_query *query)
{
    const struct {
        const char *op;
        int64_t value;
    } bounds[] = {{">", query->id_gt},
                  {">=", query->id_gte},
                  {"<", query->id_lt},
                  {"<=", query->id_lte}};

    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        if (bounds[i].value)
            buf_printf(&b->text, " AND e.id %s %" PRId64, bounds[i].op,
                       bounds[i].value);
    }
    sql_build_ids(b, "e.id", &query->ids);
    sql_build_ids(b, "NOT e.id", &query->not_ids);
}

static void build_scope(struct sql_build *b, const struct scope *scope)
{
    if (scope->is_all)
        return;
    buf_puts(&b->text, " AND e.project_id IN (SELECT p.id FROM projects p"
                       " WHERE p.workspace_id IN (0");
    for (uint32_t i = 0; i < scope->count; i++)
        buf_printf(&b->text, ", %" PRId64, scope->workspace[i]);
    buf_puts(&b->text, "))");
}

static void build_where(struct sql_build *b, const struct experiment_query *query)
{
    buf_puts(&b->text, " WHERE 1 = 1");
    if (query->name && *query->name)
        sql_build_like(b, " AND LOWER(e.name) LIKE LOWER(", query->name,
                       ") ESCAPE '\\'");
    if (query->description && *query->description)
        sql_build_like(b, " AND LOWER(e.description) LIKE LOWER(", query->description,
                       ") ESCAPE '\\'");
    for (size_t i = 0; i < query->labels.count; i++)
        build_label(b, query->labels.at[i]);
    if (query->has_archived)
        buf_printf(&b->text, " AND e.is_archived = %s",
                   query->archived ? "TRUE" : "FALSE");
    experiment_build_states(b, "e.state", experiment_state_names, query->states,
                            LIVE_STATE_SQL("e", "a.experiment_id = e.id"));
    for (size_t i = 0; i < query->users.count; i++)
        sql_build_str(b, i ? ", " : " AND u.username IN (", query->users.at[i],
                      i + 1 < query->users.count ? "" : ")");
    sql_build_ids(b, "e.owner_id", &query->user_ids);
    build_bounds(b, query);
    if (query->project_id)
        buf_printf(&b->text, " AND e.project_id = %" PRId64, query->project_id);
    build_scope(b, &query->scope);
    if (query->hides_archived_spaces)
        buf_puts(&b->text, " AND NOT COALESCE(p.is_archived OR w.is_archived, FALSE)");
}

static det_status count_rows(struct db *db, const struct experiment_query *query,
                             struct arena *mem, int64_t *ret_total, struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);

    build_where(&b, query);
    CLEANUP(db_query_done)
    struct db_query q =
        sql_build_query(&b, db, "SELECT COUNT(*) FROM experiments e" JOINS, err);

    if (db_next(&q))
        *ret_total = db_col_i64(&q);
    return q.status;
}

static det_status views_get(struct db_query *q, int64_t count, struct arena *mem,
                            struct experiment_view **ret_rows, uint32_t *ret_count)
{
    struct experiment_view *rows =
        arena_array(mem, struct experiment_view, count ? (size_t)count : 1);
    uint32_t at = 0;

    if (!rows)
        return err_default(q->err, DET_NOMEM);
    while (at < count && db_next(q))
        read_view(q, mem, &rows[at++]);
    *ret_rows = rows;
    *ret_count = at;
    return q->status;
}

det_status store_experiment_list(struct db *db, struct experiment_query *query,
                                 struct arena *mem, struct experiment_view **ret_rows,
                                 uint32_t *ret_count, struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);
    const char *key = sort_key(query->sort);
    const char *direction = query->is_descending ? "DESC" : "ASC";
    int64_t total = 0;
    det_status st;

    if (!key)
        return err_set(err, DET_INVALID, "experiments cannot be sorted by '%s'",
                       query->sort);
    st = count_rows(db, query, mem, &total, err);
    if (st)
        return st;
    page_place(&query->page, total);
    build_view(&b, !query->without_config);
    build_where(&b, query);
    buf_printf(&b.text, " ORDER BY %s %s, e.id %s LIMIT %" PRId64 " OFFSET %" PRId64,
               key, direction, direction, query->page.end - query->page.start,
               query->page.start);
    CLEANUP(db_query_done) struct db_query q = sql_build_query(&b, db, "", err);

    return views_get(&q, query->page.end - query->page.start, mem, ret_rows, ret_count);
}

det_status store_experiment_get(struct db *db, int64_t id, struct arena *mem,
                                struct experiment_view *ret_row, struct err *err)
{
    CLEANUP(sql_build_done) struct sql_build b = SQL_BUILD_INIT(mem);
    struct experiment_view *view = NULL;
    uint32_t count = 0;
    det_status st;

    build_view(&b, true);
    buf_printf(&b.text, " WHERE e.id = %" PRId64, id);
    CLEANUP(db_query_done) struct db_query q = sql_build_query(&b, db, "", err);

    st = views_get(&q, 1, mem, &view, &count);
    if (st)
        return st;
    if (!count)
        return no_experiment(id, err);
    *ret_row = *view;
    return DET_OK;
}

det_status store_experiment_trial_ids(struct db *db, int64_t id, struct arena *mem,
                                      struct field_i64s *ret_ids, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_TRIALS], err);

    db_bind_i64(&q, id);
    return numbers_get(&q, mem, ret_ids);
}

det_status store_experiment_forks(struct db *db, int64_t id, struct arena *mem,
                                  struct field_i64s *ret_ids, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_FORKS], err);

    db_bind_i64(&q, id);
    return numbers_get(&q, mem, ret_ids);
}

det_status store_experiment_files(struct db *db, int64_t id, struct buf *ret_tgz,
                                  struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_FILES], err);
    const void *bytes;
    size_t len;

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status : no_experiment(id, err);
    bytes = db_col_blob(&q, &len);
    if (len)
        buf_add(ret_tgz, bytes, len);
    return ret_tgz->status ? err_default(err, ret_tgz->status) : q.status;
}

det_status store_experiment_best_metric(struct db *db, int64_t id, double *ret_metric,
                                        struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_BEST], err);

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND,
                                  "experiment %" PRId64 " has no validation yet", id);
    *ret_metric = db_col_f64(&q);
    return q.status;
}

static const struct field standing_fields[] = {
    FIELD_AS_ENUM(experiment_standing, state, experiment_state_names, NULL,
                  "its state"),
    FIELD(BOOL, experiment_standing, is_unmanaged, "unmanaged"),
    FIELD(BOOL, experiment_standing, is_archived, "archived"),
    FIELD(I64, experiment_standing, project_id, "its project"),
    FIELD_END,
};

det_status store_experiment_standing(struct db *db, int64_t id,
                                     struct experiment_standing *ret_standing,
                                     struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &experiment_sql[EXPERIMENT_STANDING], err);

    db_bind_i64(&q, id);
    if (!db_next(&q))
        return q.status ? q.status : no_experiment(id, err);
    db_read(&q, standing_fields, ret_standing, NULL);
    return q.status;
}
