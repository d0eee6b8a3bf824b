/* SPDX-License-Identifier: Apache-2.0 */
/* roster_view.c - see roster_view.h. */
#include "store/roster/roster_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory/arena.h"
#include "model/experiment_text.h"
#include "model/field.h"
#include "store/engine/db.h"
#include "store/sql_tables.h"

enum { ROSTER_VIEW };

static const struct sql roster_view_sql[] = {
    SQL(ROSTER_VIEW,
        "SELECT e.id, e.state, SUBSTR(e.name, 1, 1024), SUBSTR(e.description, 1, 300),"
        "  LENGTH(e.description), LENGTH(e.notes),"
        "  CASE WHEN LENGTH(e.labels) > 100000 THEN '[]' ELSE e.labels END,"
        "  e.owner_id,"
        "  COALESCE(u.username, ''), e.start_us, e.end_us, e.paused_us, "
        "e.paused_since_us, e.progress,"
        "  CASE WHEN e.is_unmanaged THEN (SELECT COUNT(*) FROM trials n"
        "   WHERE n.experiment_id = e.id) ELSE e.trials END,"
        "  COALESCE(e.searcher_type, ''), SUBSTR(COALESCE(e.searcher_metric, ''), 1, "
        "1024),"
        "  e.smaller_is_better, COALESCE(t.id, 0), COALESCE(e.resource_pool, ''),"
        "  e.is_archived, e.is_unmanaged, e.parent_id, e.checkpoint_size,"
        "  e.checkpoint_count, e.priority, e.project_id, COALESCE(p.name, ''),"
        "  COALESCE(w.id, 0), COALESCE(w.name, ''), t.best_metric,"
        "  CASE WHEN e.is_unmanaged AND e.state = 'ACTIVE' THEN 4"
        "   WHEN e.state = 'ACTIVE' THEN COALESCE((SELECT MAX(CASE a.state"
        "   WHEN 'RUNNING' THEN 4 WHEN 'STARTING' THEN 3 WHEN 'PULLING' THEN 2"
        "   ELSE 1 END) FROM allocations a WHERE a.experiment_id = e.id"
        "   AND a.state <> 'TERMINATED'), 1) ELSE 0 END"
        " FROM experiments e LEFT JOIN users u ON u.id = e.owner_id"
        " LEFT JOIN projects p ON p.id = e.project_id"
        " LEFT JOIN workspaces w ON w.id = p.workspace_id"
        " LEFT JOIN trials t ON t.id = (SELECT b.id FROM trials b"
        "  WHERE b.experiment_id = e.id AND b.best_rank IS NOT NULL"
        "  ORDER BY b.best_rank, b.id LIMIT 1)"
        " WHERE e.id = $1"),
};
const struct sql_table roster_view_sql_table = SQL_TABLE(roster_view_sql);
_Static_assert(ROSTER_DESCRIPTION == 300, "the statement above says it too");
/* Older versions took longer texts; a row of such must not spoil the page. */
_Static_assert(EXPERIMENT_NAME_MOST == 1024, "the statement above says it too");

static const struct field view_fields[] = {
    FIELD(I64, roster_view, id, "its number"),
    FIELD_AS_ENUM(roster_view, state, experiment_state_names, NULL, "its state"),
    FIELD(STR, roster_view, name, "its name"),
    FIELD(STR, roster_view, description, "its first characters"),
    FIELD(I64, roster_view, description_length, "characters"),
    FIELD(I64, roster_view, notes_length, "characters"),
    FIELD(JSON, roster_view, labels, "its labels"),
    FIELD(I64, roster_view, owner_id, "its owner"),
    FIELD(STR, roster_view, username, "their name"),
    FIELD(I64, roster_view, start_us, "when it began"),
    FIELD(I64, roster_view, end_us, "when it ended"),
    FIELD(I64, roster_view, paused_us, "how long it was paused, before"),
    FIELD(I64, roster_view, paused_since_us, "since when it is; 0: it is not"),
    FIELD(F64, roster_view, progress, "its progress"),
    FIELD(I64, roster_view, trials, "its number of trials"),
    FIELD(STR, roster_view, searcher_type, "its search method"),
    FIELD(STR, roster_view, searcher_metric, "the searcher's metric"),
    FIELD(BOOL, roster_view, smaller_is_better, "whether a smaller metric is better"),
    FIELD(I64, roster_view, best_trial_id, "its best trial"),
    FIELD(STR, roster_view, resource_pool, "where it runs"),
    FIELD(BOOL, roster_view, is_archived, "archived"),
    FIELD(BOOL, roster_view, is_unmanaged, "unmanaged"),
    FIELD(I64, roster_view, parent_id, "what it was forked from"),
    FIELD(I64, roster_view, checkpoint_size, "bytes"),
    FIELD(I64, roster_view, checkpoint_count, "its checkpoints"),
    FIELD(I64, roster_view, priority, "lower first"),
    FIELD(I64, roster_view, project_id, "its project"),
    FIELD(STR, roster_view, project_name, "the name of that"),
    FIELD(I64, roster_view, workspace_id, "its workspace"),
    FIELD(STR, roster_view, workspace_name, "the name of that"),
    FIELD_END,
};

det_status store_roster_view(struct db *db, int64_t id, struct arena *mem,
                             struct roster_view *ret_view, bool *ret_found,
                             struct err *err)
{
    CLEANUP(db_query_done)
    struct db_query q = db_query(db, &roster_view_sql[ROSTER_VIEW], err);
    struct roster_view view = {0};

    db_bind_i64(&q, id);
    *ret_found = db_next(&q);
    if (!*ret_found)
        return q.status;
    db_read(&q, view_fields, &view, mem);
    view.has_best_metric = !db_col_is_null(&q);
    view.best_metric = db_col_f64(&q);
    view.live_state = (uint32_t)db_col_i64(&q);
    if (!q.status)
        *ret_view = view;
    return q.status;
}
