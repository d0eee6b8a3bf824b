/* SPDX-License-Identifier: Apache-2.0 */
/* route.c - see route.h. */
#include "wire/route.h"

#include <assert.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/url.h"
#include "model/field.h"
#include "wire/bodies.h"
#include "wire/job_bodies.h"
#include "wire/page_bodies.h"
#include "wire/people_bodies.h"
#include "wire/queries.h"
#include "wire/signin_bodies.h"
#include "wire/space_bodies.h"

const struct route routes[ROUTE_COUNT] = {
#define ROUTE(id_, file_, method_, path_, who_, object_, permission_, task_, lane_,    \
              query_, body_, reply_, summary_)                                         \
    {.id = ROUTE_ID_##id_,                                                             \
     .name = #id_,                                                                     \
     .file = file_,                                                                    \
     .method = ROUTE_##method_,                                                        \
     .path = path_,                                                                    \
     .who = ROUTE_##who_,                                                              \
     .object = ROUTE_OBJECT_##object_,                                                 \
     .permission = PERMISSION_##permission_,                                           \
     .task = ROUTE_TASK_##task_,                                                       \
     .lane = ROUTE_LANE_##lane_,                                                       \
     .query = query_##_fields,                                                         \
     .query_size = sizeof(struct query_),                                              \
     .body = body_##_fields,                                                           \
     .body_size = sizeof(struct body_),                                                \
     .reply = reply_,                                                                  \
     .summary = summary_},
#include "wire/route_list.h"
#undef ROUTE
};

const char *const route_method_names[] = {"GET",    "POST", "PUT", "PATCH",
                                          "DELETE", "ANY",  NULL};
const char *const route_who_names[] = {"anybody", "user",  "person",     "self",
                                       "owner",   "admin", "supervisor", "stand-in",
                                       "closing", "agent", NULL};
const char *const route_object_names[] = {
    "none",      "user",    "experiment", "trial", "checkpoint", "allocation", "task",
    "workspace", "project", "group",      "token", "list",       "named",      NULL};
const char *const route_task_names[] = {"no", "own", "as user", NULL};

/* ---- finding ---------------------------------------------------------------------
 *
 * A path is compared part by part.  Of the rows that match, one that names all parts
 * wins over one that ends in {name...}, then the one with more literal parts. */

struct span {
    const char *at;
    size_t len;
};

struct found {
    struct span arg[ROUTE_ARGS];
    int args;
    int literals;
    bool has_rest;
};

static struct span next_part(const char **path)
{
    struct span part;

    while (**path == '/')
        (*path)++;
    part.at = *path;
    part.len = strcspn(*path, "/");
    *path += part.len;
    return part;
}

static bool is_rest(struct span part)
{
    return part.len > 5 && part.at[0] == '{' &&
           !memcmp(part.at + part.len - 4, "...}", 4);
}

/* Everything after the slash. */
static struct span rest_of(const char *path)
{
    path += *path == '/';
    return (struct span){path, strlen(path)};
}

/* False: the path does not match. */
static bool match_path(const char *pattern, const char *path, struct found *found)
{
    *found = (struct found){0};
    for (;;) {
        struct span want = next_part(&pattern);
        struct span have;

        assert(found->args < ROUTE_ARGS || want.at[0] != '{');
        if (is_rest(want)) {
            found->arg[found->args++] = rest_of(path);
            found->has_rest = true;
            return true;
        }
        have = next_part(&path);
        if (!want.len && !have.len)
            return true;
        if (!want.len || !have.len)
            return false;
        if (want.at[0] == '{')
            found->arg[found->args++] = have;
        else if (want.len == have.len && !memcmp(want.at, have.at, want.len))
            found->literals++;
        else
            return false;
    }
}

static bool is_better(const struct found *a, const struct found *b)
{
    return a->has_rest != b->has_rest ? b->has_rest : a->literals > b->literals;
}

static det_status fill_match(const struct route *route, const struct found *found,
                             struct arena *mem, struct route_match *ret_match)
{
    struct route_match match = {.route = route};

    for (int i = 0; i < found->args; i++) {
        match.arg[i] = url_decode(mem, found->arg[i].at, found->arg[i].len, false);
        if (!match.arg[i])
            return DET_NOMEM;
    }
    *ret_match = match;
    return DET_OK;
}

/* False: they differ before the first variable part.  This excludes nearly all rows
 * after a few characters.  match_path() decides about paths with double or final
 * slashes. */
static bool may_match(const char *pattern, const char *path)
{
    while (*pattern == *path && *pattern) {
        pattern++;
        path++;
    }
    return *pattern == '{' || *pattern == *path || *path == '/' || !*path;
}

static bool takes(const struct route *route, enum route_method method)
{
    return route->method == method || route->method == ROUTE_ANY;
}

det_status route_find(enum route_method method, const char *path, struct arena *mem,
                      struct route_match *ret_match, struct err *err)
{
    const struct route *best = NULL;
    struct found best_found = {0};
    bool is_known = false;

    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        struct found found;

        if (!may_match(routes[i].path, path) ||
            !match_path(routes[i].path, path, &found))
            continue;
        is_known = true;
        if (!takes(&routes[i], method) || (best && !is_better(&found, &best_found)))
            continue;
        best = &routes[i];
        best_found = found;
    }
    if (best)
        return fill_match(best, &best_found, mem, ret_match);
    if (is_known)
        return err_set(err, DET_UNSUPPORTED, "'%s' does not take %s", path,
                       route_method_names[method]);
    return err_set(err, DET_NOT_FOUND, "there is nothing at '%s'; see /docs/calls",
                   path);
}

det_status route_read_query(const struct route *route, const char *query,
                            struct arena *mem, void *record, struct err *err)
{
    while (*query) {
        size_t len = strcspn(query, "&");
        const char *eq = memchr(query, '=', len);
        size_t key_len = eq ? (size_t)(eq - query) : len;
        char *key = url_decode(mem, query, key_len, true);
        char *value = eq ? url_decode(mem, eq + 1, len - key_len - 1, true)
                         : arena_strdup(mem, "");
        det_status st;

        if (!key || !value)
            return err_default(err, DET_NOMEM);
        st = fields_read_text(route->query, key, value, mem, record, err);
        if (st && st != DET_NOT_FOUND) /* unknown parameters are ignored */
            return st;
        query += len + (query[len] == '&');
    }
    return DET_OK;
}
