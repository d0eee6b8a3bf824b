/* SPDX-License-Identifier: Apache-2.0 */
#include "store/space/project.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "base/rng.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/engine/row.h"
#include "store/experiment/experiment.h"
#include "store/experiment/local_number.h"
#include "store/setting.h"
#include "store/space/workspace.h"
#include "store/sql_tables.h"

#define VIEW                                                                           \
    "SELECT p.id, p.workspace_id, p.name, p.description, p.project_key, p.owner_id,"   \
    "  p.is_archived, p.is_immutable, p.created_us, p.state, p.error, p.notes,"        \
    "  COALESCE(u.username, ''), w.name, w.owner_id, w.is_archived, w.state,"          \
    "  (SELECT COUNT(*) FROM experiments e WHERE e.project_id = p.id),"                \
    "  (SELECT COUNT(*) FROM experiments e WHERE e.project_id = p.id"                  \
    "   AND e.state = 'ACTIVE'),"                                                      \
    "  (SELECT COALESCE(SUM(e.trials), 0) FROM experiments e"                          \
    "   WHERE e.project_id = p.id) +"                                                  \
    "  (SELECT COUNT(*) FROM experiments e JOIN trials t ON t.experiment_id = e.id"    \
    "   WHERE e.is_unmanaged AND e.project_id = p.id AND e.trials = 0),"               \
    "  (SELECT COALESCE(MAX(e.start_us), 0) FROM experiments e"                        \
    "   WHERE e.project_id = p.id)"                                                    \
    " FROM projects p JOIN workspaces w ON w.id = p.workspace_id"                      \
    " LEFT JOIN users u ON u.id = p.owner_id"

enum {
    PROJECT_ADD,
    PROJECT_PUT,
    PROJECT_GET,
    PROJECT_BY_KEY,
    PROJECT_NAMED,
    PROJECT_LIST,
    PROJECT_LIST_OF,
    PROJECT_PLACES,
    PROJECT_HAS_KEY,
    PROJECT_VISIT,
    PROJECT_VISITED,
    PROJECT_OF,
    PROJECT_TAKE,
};

static const struct sql project_sql[] = {
    SQL(PROJECT_ADD, "INSERT INTO projects (id, workspace_id, name, description,"
                     "  project_key, owner_id, is_archived, is_immutable, created_us,"
                     "  state, error, notes)"
                     " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"),
    SQL(PROJECT_PUT, "UPDATE projects SET workspace_id = $2, name = $3,"
                     "  description = $4, project_key = $5, owner_id = $6,"
                     "  is_archived = $7, is_immutable = $8, created_us = $9,"
                     "  state = $10, error = $11, notes = $12"
                     " WHERE id = $1"),
    SQL(PROJECT_GET, VIEW " WHERE p.id = $1"),
    SQL(PROJECT_BY_KEY, VIEW " WHERE p.project_key = $1"),
    SQL(PROJECT_NAMED, VIEW " WHERE p.workspace_id = $1 AND p.name = $2"),
    SQL(PROJECT_LIST, VIEW " ORDER BY p.id"),
    SQL(PROJECT_LIST_OF, VIEW " WHERE p.workspace_id = $1 ORDER BY p.id"),
    SQL(PROJECT_PLACES, "SELECT p.id, p.workspace_id, p.is_archived OR w.is_archived"
                        "  FROM projects p JOIN workspaces w ON w.id = p.workspace_id"
                        " ORDER BY p.id"),
    SQL(PROJECT_HAS_KEY, "SELECT id FROM projects WHERE project_key = $1"),
    SQL(PROJECT_VISIT, "INSERT INTO project_visits (project_id, user_id, visited_us)"
                       " VALUES ($1, $2, $3)"
                       " ON CONFLICT (user_id, project_id) DO UPDATE SET"
                       "  visited_us = excluded.visited_us"),
    SQL(PROJECT_VISITED, VIEW " JOIN project_visits v ON v.project_id = p.id"
                              " WHERE v.user_id = $1"
                              " ORDER BY v.visited_us DESC, p.id DESC LIMIT $2"),
    SQL(PROJECT_OF, "SELECT project_id, is_archived FROM experiments WHERE id = $1"),
    SQL(PROJECT_TAKE, "UPDATE experiments SET project_id = $2"
                      " WHERE id = $1 AND project_id <> $2"),
};
const struct sql_table project_sql_table = SQL_TABLE(project_sql);

static const struct field project_fields[] = {
    FIELD(I64, project, id, "its number"),
    FIELD(I64, project, workspace_id, "its workspace"),
    FIELD(STR, project, name, "its name"),
    FIELD(STR, project, description, "its description"),
    FIELD(STR, project, project_key, "its short name"),
    FIELD(I64, project, owner_id, "its owner"),
    FIELD(BOOL, project, is_archived, "archived"),
    FIELD(BOOL, project, is_immutable, "cannot be changed"),
    FIELD(I64, project, created_us, "when it was made"),
    FIELD(STR, project, state, "DELETING, DELETE_FAILED or nothing"),
    FIELD(STR, project, error, "why it could not be deleted"),
    FIELD(STR, project, notes, "its notes"),
    FIELD_END,
};

/* ---- keys ------------------------------------------------------------------------ */

det_status project_read_key(const char *text, char key[PROJECT_KEY_MOST + 1],
                            struct err *err)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len && len <= PROJECT_KEY_MOST; i++) {
        if (!isalnum((unsigned char)text[i]) || (unsigned char)text[i] >= 0x80)
            len = 0;
        else
            key[i] = (char)toupper((unsigned char)text[i]);
    }
    if (!len || len > PROJECT_KEY_MOST)
        return err_set(err, DET_INVALID,
                       "project key '%s' must consist of 1 to %d letters or digits",
                       text, PROJECT_KEY_MOST);
    key[len] = '\0';
    return DET_OK;
}

static det_status find_key(struct db *db, const char *key, int64_t *ret_id,
                           struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_HAS_KEY], err);

    db_bind_str(&q, key);
    *ret_id = db_next(&q) ? db_col_i64(&q) : 0;
    return q.status;
}

/* The first three letters or digits of the name, then random ones. */
static det_status make_key(struct db *db, const char *name,
                           char key[PROJECT_KEY_MOST + 1], struct err *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    enum { FROM_NAME = 3, TRIES = 200 };
    size_t start = 0;

    for (; *name && start < FROM_NAME; name++)
        if ((unsigned char)*name < 0x80 && isalnum((unsigned char)*name))
            key[start++] = (char)toupper((unsigned char)*name);
    for (int i = 0; i < TRIES; i++) {
        size_t from = i < TRIES / 2 ? start : 0;
        unsigned char random[PROJECT_KEY_MOST];
        int64_t taken = 0;
        det_status st = rng_secret(random, sizeof(random), err);

        for (size_t at = from; at < PROJECT_KEY_MOST; at++)
            key[at] = letters[random[at] % (sizeof(letters) - 1)];
        key[PROJECT_KEY_MOST] = '\0';
        if (!st)
            st = find_key(db, key, &taken, err);
        if (st || !taken)
            return st;
    }
    return err_set(err, DET_FULL, "no free project key was found; give one");
}

/* ---- rows ------------------------------------------------------------------------ */

static det_status put_row(struct db *db, int sql, const struct project *row,
                          struct err *err)
{
    int64_t taken = 0;
    det_status st = find_key(db, row->project_key, &taken, err);

    if (st)
        return st;
    if (taken && taken != row->id)
        return err_set(err, DET_EXISTS, "project key %s is already in use",
                       row->project_key);
    st = row_put(db, &project_sql[sql], project_fields, row, err);
    if (st == DET_EXISTS)
        return err_set(err, st, "there is a project '%s' in this workspace already",
                       row->name);
    return st;
}

det_status store_project_add(struct db *db, const struct project *row, int64_t *ret_id,
                             struct err *err)
{
    struct project added = *row;
    char key[PROJECT_KEY_MOST + 1];
    det_status st = store_number_next(db, "store.project", 1, &added.id, err);

    added.id += SPACE_FIRST; /* which the migration made */
    if (!st && !added.project_key) {
        st = make_key(db, added.name, key, err);
        added.project_key = key;
    }
    if (!st)
        st = put_row(db, PROJECT_ADD, &added, err);
    if (!st)
        *ret_id = added.id;
    return st;
}

static det_status no_project(int64_t id, struct err *err)
{
    return err_set(err, DET_NOT_FOUND, "project '%" PRId64 "' not found", id);
}

det_status store_project_put(struct db *db, const struct project *row, struct err *err)
{
    det_status st = put_row(db, PROJECT_PUT, row, err);

    return !st && !db_changes(db) ? no_project(row->id, err) : st;
}

/* ---- views ----------------------------------------------------------------------- */

static void read_view(struct db_query *q, struct arena *mem, struct project_view *view)
{
    db_read(q, project_fields, &view->row, mem);
    view->username = db_col_str(q, mem);
    view->workspace_name = db_col_str(q, mem);
    view->workspace_owner_id = db_col_i64(q);
    view->workspace_is_archived = db_col_bool(q);
    view->workspace_state = db_col_str(q, mem);
    view->num_experiments = db_col_i64(q);
    view->num_active = db_col_i64(q);
    view->num_runs = db_col_i64(q);
    view->last_start_us = db_col_i64(q);
}

/* DET_NOT_FOUND without a sentence if there is no row. */
static det_status get_one(struct db_query *q, struct arena *mem,
                          struct project_view *ret_view)
{
    struct project_view view = {0};

    if (!db_next(q))
        return q->status ? q->status : DET_NOT_FOUND;
    read_view(q, mem, &view);
    if (!q->status)
        *ret_view = view;
    return q->status;
}

det_status store_project_get(struct db *db, int64_t id, struct arena *mem,
                             struct project_view *ret_view, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_GET], err);
    det_status st;

    db_bind_i64(&q, id);
    st = get_one(&q, mem, ret_view);
    return st == DET_NOT_FOUND ? no_project(id, err) : st;
}

det_status store_project_by_key(struct db *db, const char *key, struct arena *mem,
                                struct project_view *ret_view, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_BY_KEY], err);
    det_status st;

    db_bind_str(&q, key);
    st = get_one(&q, mem, ret_view);
    return st == DET_NOT_FOUND ? err_set(err, st, "project '%s' not found", key) : st;
}

det_status store_project_named(struct db *db, int64_t workspace_id, const char *name,
                               struct arena *mem, struct project_view *ret_view,
                               struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_NAMED], err);
    det_status st;

    db_bind_i64(&q, workspace_id);
    db_bind_str(&q, name);
    st = get_one(&q, mem, ret_view);
    return st == DET_NOT_FOUND ? err_set(err, st, "project '%s' not found", name) : st;
}

static det_status get_all(struct db_query *q, struct arena *mem,
                          struct project_view **ret_views, uint32_t *ret_count)
{
    VEC(struct project_view) rows = {0};
    bool has_room = true;

    while (has_room && db_next(q)) {
        struct project_view view = {0};

        read_view(q, mem, &view);
        has_room = vec_push(&rows, view);
    }
    *ret_count = (uint32_t)rows.count;
    *ret_views = arena_array(mem, struct project_view, rows.count + 1);
    for (size_t i = 0; *ret_views && i < rows.count; i++)
        (*ret_views)[i] = rows.at[i];
    vec_done(&rows);
    if (!q->status && (!has_room || !*ret_views))
        return err_default(q->err, DET_NOMEM);
    return q->status;
}

det_status store_project_list(struct db *db, int64_t workspace_id, struct arena *mem,
                              struct project_view **ret_views, uint32_t *ret_count,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q =
        db_query(db, &project_sql[workspace_id ? PROJECT_LIST_OF : PROJECT_LIST], err);

    if (workspace_id)
        db_bind_i64(&q, workspace_id);
    return get_all(&q, mem, ret_views, ret_count);
}

static const struct field place_fields[] = {
    FIELD(I64, project_place, id, "its number"),
    FIELD(I64, project_place, workspace_id, "its workspace"),
    FIELD(BOOL, project_place, is_archived, "archived"),
    FIELD_END,
};

det_status store_project_places(struct db *db, struct arena *mem,
                                struct project_place **ret_places, uint32_t *ret_count,
                                struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_PLACES], err);
    struct row_list rows = {0};
    det_status st = rows_get(&q, place_fields, sizeof(**ret_places), mem, &rows);

    *ret_places = rows.at;
    *ret_count = rows.count;
    return st;
}

det_status store_project_visit(struct db *db, int64_t id, int64_t user_id,
                               int64_t now_us, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_VISIT], err);

    db_bind_i64(&q, id);
    db_bind_i64(&q, user_id);
    db_bind_i64(&q, now_us);
    return db_run(&q);
}

det_status store_project_visited(struct db *db, int64_t user_id, int64_t limit,
                                 struct arena *mem, struct project_view **ret_views,
                                 uint32_t *ret_count, struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_VISITED], err);

    db_bind_i64(&q, user_id);
    db_bind_i64(&q, limit);
    return get_all(&q, mem, ret_views, ret_count);
}

/* ---- experiments ----------------------------------------------------------------- */

bool project_is_archived(const struct project_view *view)
{
    return view->row.is_archived || view->workspace_is_archived;
}

det_status project_check_open(const struct project_view *view, struct err *err)
{
    if (project_is_archived(view))
        return err_set(err, DET_STATE,
                       "project (%" PRId64
                       ") is archived and cannot add new experiments",
                       view->row.id);
    if (*view->row.state || *view->workspace_state)
        return err_set(err, DET_STATE,
                       "project (%" PRId64
                       ") is being deleted and cannot add new experiments",
                       view->row.id);
    return DET_OK;
}

/* Whether the experiment may leave its project. */
static det_status check_leave(struct db *db, int64_t experiment_id, struct arena *mem,
                              struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_OF], err);
    struct project_view from;
    int64_t id;
    bool is_archived;
    det_status st;

    db_bind_i64(&q, experiment_id);
    if (!db_next(&q))
        return q.status ? q.status
                        : err_set(err, DET_NOT_FOUND,
                                  "experiment '%" PRId64 "' not found", experiment_id);
    id = db_col_i64(&q);
    is_archived = db_col_bool(&q);
    if (is_archived)
        return err_set(err, DET_STATE,
                       "experiment (%" PRId64 ") is archived and cannot be moved",
                       experiment_id);
    st = store_project_get(db, id, mem, &from, err);
    if (!st && project_is_archived(&from))
        return err_set(err, DET_STATE,
                       "project (%" PRId64
                       ") is archived and cannot have experiments moved from it",
                       id);
    if (!st && *from.row.state)
        return err_set(err, DET_STATE,
                       "project (%" PRId64
                       ") is being deleted and cannot have experiments moved from it",
                       id);
    return st;
}

det_status store_project_take(struct db *db, int64_t id, int64_t experiment_id,
                              struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16 << 20);
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &project_sql[PROJECT_TAKE], err);
    struct project_view to;
    det_status st = check_leave(db, experiment_id, &mem, err);

    if (!st)
        st = store_project_get(db, id, &mem, &to, err);
    if (!st)
        st = project_check_open(&to, err);
    if (st)
        return st;
    db_bind_i64(&q, experiment_id);
    db_bind_i64(&q, id);
    st = db_run(&q);
    if (!st && db_changes(db)) /* it was elsewhere */
        st = local_number_move(db, experiment_id, id, err);
    return st;
}
