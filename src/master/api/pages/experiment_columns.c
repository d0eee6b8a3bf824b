/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_columns.c - the columns of the table of experiments, for the query line, and
 * its rows in groups (store/roster/roster_group.h). */
#include <string.h>

#include "master/api/api.h"
#include "master/api/pages/experiment_table.h"
#include "model/table_query.h"
#include "store/roster/roster_group.h"
#include "store/roster/roster_view.h"
#include "wire/queries.h"

enum { GROUP_PAGE_MOST = 1000, VIEW_MEMORY = 1 << 20 };

void table_render_cell(struct json_writer *w, const char *key,
                       const struct query_cell *cell)
{
    switch (cell->kind) {
    case QUERY_CELL_NUMBER:
        jw_real(w, key, cell->number);
        break;
    case QUERY_CELL_TEXT:
        jw_strn(w, key, cell->text, cell->len);
        break;
    case QUERY_CELL_NONE:
        jw_null(w, key);
        break;
    }
}

/* ---- columns --------------------------------------------------------------------- */

det_status api_experiment_columns(struct request *req)
{
    struct roster_column_list list = {0};
    const struct field_i64s *projects = NULL;
    struct json_writer *w = &req->w;
    det_status st = table_projects(req, req->query, ROSTER_ALL, &projects);

    if (!st)
        st = store_roster_columns(req->master->store, req->db, projects, &req->mem,
                                  &list, req->err);
    if (st)
        return st;
    jw_object(w, NULL);
    jw_array(w, "columns");
    for (size_t i = 0; i < list.count; i++) {
        const struct roster_column_view *view = &list.at[i];

        jw_object(w, NULL);
        jw_str(w, "name", view->name);
        jw_str(w, "kind", query_kind_names[view->kind]);
        if (view->count >= 0)
            jw_i64(w, "count", view->count);
        if (view->has_range) {
            jw_real(w, "min", view->min);
            jw_real(w, "max", view->max);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_bool(w, "isCut", list.is_cut);
    jw_end_object(w);
    return DET_OK;
}

/* ---- groups ---------------------------------------------------------------------- */

static det_status check_parameters(const struct find_experiments_query *in,
                                   struct err *err)
{
    if (in->columns || in->values)
        return err_set(err, DET_INVALID,
                       "columns and values are for experiments, not for groups; leave "
                       "them out, or leave out by");
    return DET_OK;
}

static void render_stats(struct json_writer *w, const struct roster_group *group,
                         size_t count)
{
    jw_array(w, "stats");
    for (size_t i = 0; i < count; i++) {
        const struct roster_stat *stat = &group->stats[i];

        jw_object(w, NULL);
        jw_i64(w, "count", stat->count);
        if (stat->count) {
            jw_real(w, "mean", stat->mean);
            jw_real(w, "deviation", roster_stat_deviation(stat));
            jw_real(w, "min", stat->min);
            jw_real(w, "max", stat->max);
        }
        jw_end_object(w);
    }
    jw_end_array(w);
}

/* The roster holds names folded; one experiment of the group says how its name is
 * written. */
static det_status render_name(struct request *req, int64_t id)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(VIEW_MEMORY);
    struct roster_view view;
    bool is_there;
    det_status st = store_roster_view(req->db, id, &mem, &view, &is_there, req->err);

    if (!st)
        jw_str(&req->w, NULL, is_there ? view.name : "");
    return st;
}

static det_status render_group(struct request *req, const struct roster_group *group)
{
    const struct find_experiments_query *in = req->query;
    struct json_writer *w = &req->w;
    det_status st = DET_OK;

    jw_object(w, NULL);
    jw_array(w, "values");
    for (size_t i = 0; i < in->by.count && !st; i++)
        if (!strcmp(in->by.at[i], "name"))
            st = render_name(req, group->example);
        else
            table_render_cell(w, NULL, &group->cells[i]);
    jw_end_array(w);
    jw_i64(w, "count", group->count);
    jw_i64(w, "example", group->example);
    render_stats(w, group, in->metrics.count);
    jw_end_object(w);
    return st;
}

det_status table_render_groups(struct request *req, const struct roster_query *query)
{
    const struct find_experiments_query *in = req->query;
    struct roster_query page = *query;
    struct roster_grouping grouping = {.by = in->by, .metrics = in->metrics};
    struct roster_groups groups = {0};
    const char *sort = in->sort && *in->sort ? in->sort : "-count";
    det_status st = check_parameters(in, req->err);

    grouping.is_descending = *sort == '-';
    grouping.sort = sort + grouping.is_descending;
    if (page.limit < 0 || page.limit > GROUP_PAGE_MOST)
        page.limit = GROUP_PAGE_MOST;
    if (!st)
        st = store_roster_groups(req->master->store, req->db, &page, &grouping,
                                 &req->mem, &groups, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "groups");
    for (size_t i = 0; i < groups.count && !st; i++)
        st = render_group(req, groups.at[i]);
    jw_end_array(&req->w);
    jw_i64(&req->w, "total", groups.total);
    jw_i64(&req->w, "matches", groups.matches);
    jw_end_object(&req->w);
    return st;
}
