/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - shows the audit log (request/audit.h). */
#include "store/people/audit.h"

#include <string.h>

#include "data/time.h"
#include "master/api/api.h"
#include "wire/queries.h"

enum { DEFAULT_LIMIT = 100, MOST = 1000 };

/* "experiment", or "experiment 3". */
static det_status read_object(struct request *req, const char *text,
                              struct audit_filter *filter)
{
    const char *space = strchr(text, ' ');

    filter->object_kind =
        arena_strndup(&req->mem, text, space ? (size_t)(space - text) : strlen(text));
    filter->object_id = space ? space + 1 : NULL;
    return filter->object_kind ? DET_OK : DET_NOMEM;
}

static det_status read_filter(struct request *req, struct audit_filter *filter)
{
    const struct audit_query *query = req->query;

    *filter =
        (struct audit_filter){.username = query->user,
                              .action = query->action,
                              .before = query->before,
                              .limit = query->limit ? query->limit : DEFAULT_LIMIT};
    if (filter->limit < 1 || filter->limit > MOST || filter->before < 0)
        return err_set(req->err, DET_INVALID,
                       "limit must be from 1 to %d, and before not below 0", MOST);
    if (query->since && !time_parse(query->since, &filter->since_us))
        return err_set(req->err, DET_INVALID,
                       "since is '%s'; expected a time like 2026-11-15T10:00:00Z",
                       query->since);
    return query->object ? read_object(req, query->object, filter) : DET_OK;
}

static void render_row(struct json_writer *w, const struct audit *row)
{
    jw_object(w, NULL);
    jw_i64(w, "id", row->id);
    jw_time(w, "time", row->time_us);
    jw_i64(w, "userId", row->user_id);
    jw_str(w, "username", row->username);
    jw_str(w, "action", row->action);
    jw_str(w, "objectKind", row->object_kind);
    jw_str(w, "objectId", row->object_id);
    jw_str(w, "address", row->address);
    jw_i64(w, "status", row->status);
    jw_str(w, "detail", row->detail);
    jw_end_object(w);
}

det_status api_list_audit(struct request *req)
{
    struct audit_filter filter;
    struct audit *rows = NULL;
    uint32_t count = 0;
    det_status st = read_filter(req, &filter);

    if (!st)
        st = store_audit_list(req->db, &filter, &req->mem, &rows, &count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "entries");
    for (uint32_t i = 0; i < count; i++)
        render_row(&req->w, &rows[i]);
    jw_end_array(&req->w);
    if (count == filter.limit) /* where the next page begins */
        jw_i64(&req->w, "next", rows[count - 1].id);
    else
        jw_null(&req->w, "next");
    jw_end_object(&req->w);
    return DET_OK;
}
