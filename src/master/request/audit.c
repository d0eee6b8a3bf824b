/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/audit.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "master/request/client_address.h"
#include "master/request/request.h"
#include "model/field.h"
#include "store/people/audit.h"
#include "wire/bodies.h"

enum { REPLY_MOST = 256 << 10, TEXT_MOST = 120, DETAIL_MOST = 400 };

/* ---- which calls ------------------------------------------------------------------ */

static bool is_login(const struct request *req)
{
    return req->route->id == ROUTE_ID_login;
}

/* Also the return from an identity provider, a GET that opens a session. */
static bool is_sign_in(const struct request *req)
{
    return is_login(req) || req->route->id == ROUTE_ID_oidc_callback;
}

static bool is_wanted(const struct request *req, int http)
{
    const struct route *route = req->route;

    if (!route || route->method == ROUTE_ANY)
        return false;
    if (http == 403 || (is_sign_in(req) && http == 401))
        return true;
    /* a task may call the others, and its reports are many */
    return req->is_committed && (route->method != ROUTE_GET || is_sign_in(req)) &&
           route->task != ROUTE_TASK_OWN &&
           (req->caller.kind == CALLER_USER || req->caller.kind == CALLER_NOBODY);
}

/* ---- texts ------------------------------------------------------------------------ */

/* A short copy on one line; "" for NULL. */
static const char *clean_text(struct arena *mem, const char *text)
{
    char *copy =
        arena_strndup(mem, text ? text : "", text ? strnlen(text, TEXT_MOST) : 0);

    for (char *at = copy; at && *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    return copy;
}

static const char *caller_name(struct request *req)
{
    const struct login_body *login = is_login(req) ? req->body : NULL;

    if (login)
        return clean_text(&req->mem, login->username);
    if (req->caller.username || !req->caller.allocation)
        return clean_text(&req->mem, req->caller.username);
    return arena_printf(&req->mem, "task %s", req->caller.allocation);
}

/* ---- the object ------------------------------------------------------------------- */

/* A call without an object in its path may have made one: {"experiment": {"id": 3, ...}}. */
static void find_made_object(struct request *req, struct audit *row)
{
    struct json *tree;

    if (req->content_type || req->out.len > REPLY_MOST || req->out.status ||
        json_parse(req->out.data, req->out.len, &req->mem, &tree, NULL) ||
        tree->kind != JSON_OBJECT)
        return;
    json_each(item, tree) {
        const struct json *id = json_get(item, "id");

        if (item->kind != JSON_OBJECT || json_is_null(id))
            continue;
        row->object_kind = clean_text(&req->mem, item->key);
        row->object_id =
            id->kind == JSON_STRING
                ? clean_text(&req->mem, json_str(id, ""))
                : arena_printf(&req->mem, "%lld", (long long)json_i64(id, 0));
        return;
    }
}

/* "/api/v1/agents/{id}/disable" is about an "agent". */
static const char *kind_in_path(struct request *req)
{
    const char *path = req->route->path;
    const char *end = strchr(path, '{');
    const char *from;
    size_t len;

    if (!end || end < path + 2)
        return "";
    end--;
    for (from = end; from > path && from[-1] != '/'; from--)
        continue;
    len = (size_t)(end - from);
    return arena_strndup(&req->mem, from, len - (len && from[len - 1] == 's'));
}

static void find_object(struct request *req, struct audit *row, int http)
{
    switch (req->route->object) {
    case ROUTE_OBJECT_none:
    case ROUTE_OBJECT_list:
    case ROUTE_OBJECT_named:
        if (req->arg[0]) {
            row->object_kind = kind_in_path(req);
            row->object_id = clean_text(&req->mem, req->arg[0]);
        } else if (http < 300) {
            find_made_object(req, row);
        }
        break;
    case ROUTE_OBJECT_user:
    case ROUTE_OBJECT_experiment:
    case ROUTE_OBJECT_trial:
    case ROUTE_OBJECT_checkpoint:
    case ROUTE_OBJECT_allocation:
    case ROUTE_OBJECT_task:
    case ROUTE_OBJECT_workspace:
    case ROUTE_OBJECT_project:
    case ROUTE_OBJECT_group:
    case ROUTE_OBJECT_token:
        row->object_kind = route_object_names[req->route->object];
        row->object_id = clean_text(&req->mem, req->arg[0]);
        break;
    }
}

/* ---- the detail ------------------------------------------------------------------- */

static bool is_id_field(const char *name)
{
    size_t len = strlen(name);

    return (len >= 2 && !strcasecmp(name + len - 2, "id")) ||
           (len >= 3 && !strcasecmp(name + len - 3, "ids"));
}

/* "experimentIds=[1,2], archive": values only of ids, which are no secrets. */
const char *audit_detail(struct request *req)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    if (!req->tree || req->tree->kind != JSON_OBJECT || is_login(req) ||
        !req->route->body)
        return "";
    json_each(item, req->tree) {
        if (!field_find(req->route->body, item->key) || item->kind == JSON_NULL)
            continue;
        buf_printf(&out, "%s%s", out.len ? ", " : "", item->key);
        if (is_id_field(item->key)) {
            buf_puts(&out, "=");
            json_write(&out, item);
        }
        if (out.len > DETAIL_MOST) {
            buf_cut(&out, DETAIL_MOST);
            break;
        }
    }
    return out.status ? NULL : arena_strndup(&req->mem, out.data, out.len);
}

const struct audit *audit_row(struct request *req, int http)
{
    char address[NET_ADDRESS_TEXT];
    struct audit *row;

    if (!is_wanted(req, http))
        return NULL;
    row = arena_new(&req->mem, struct audit);
    if (!row)
        return NULL;
    client_address(req->master, req->x, address);
    *row = (struct audit){.time_us = master_now_us(req->master),
                          .user_id = req->caller.user_id,
                          .username = caller_name(req),
                          .action = req->route->name,
                          .object_kind = "",
                          .object_id = "",
                          .address = arena_strdup(&req->mem, address),
                          .status = http,
                          .detail = req->dropped_detail ? req->dropped_detail
                                                        : audit_detail(req)};
    find_object(req, row, http);
    return row->username && row->address && row->detail && row->object_id ? row : NULL;
}
