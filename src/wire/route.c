/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/route.h"

#include <string.h>

#include "base/arena.h"
#include "data/text.h"
#include "model/field.h"
#include "wire/bodies.h"
#include "wire/queries.h"

const struct route routes[ROUTE_COUNT] = {
#define ROUTE(id_, method_, path_, auth_, query_, body_, reply_, summary_)             \
    {.id = ROUTE_ID_##id_,                                                             \
     .name = #id_,                                                                     \
     .method = ROUTE_##method_,                                                        \
     .path = path_,                                                                    \
     .auth = ROUTE_##auth_,                                                            \
     .query = query_##_fields,                                                         \
     .query_size = sizeof(struct query_),                                              \
     .body = body_##_fields,                                                           \
     .body_size = sizeof(struct body_),                                                \
     .reply = reply_,                                                                  \
     .summary = summary_},
#include "wire/route_list.h"
#undef ROUTE
};

const char *const route_method_names[] = {"GET",   "POST",   "PUT",
                                          "PATCH", "DELETE", NULL};
const char *const route_auth_names[] = {"anybody", "user",  "task",
                                        "admin",   "agent", NULL};

/* ---- finding ------------------------------------------------------------------------
 * A path is compared part by part.  A row that matches with fewer variable parts wins.
 */

struct span {
    const char *at;
    size_t len;
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

/* The number of variable parts, or -1 when the path is another. */
static int match_path(const char *pattern, const char *path,
                      struct span arg[ROUTE_ARGS])
{
    int args = 0;

    for (;;) {
        struct span want = next_part(&pattern);
        struct span have = next_part(&path);

        if (!want.len && !have.len)
            return args;
        if (!want.len || !have.len)
            return -1;
        if (want.at[0] == '{' && args < ROUTE_ARGS)
            arg[args++] = have;
        else if (want.len != have.len || memcmp(want.at, have.at, want.len) != 0)
            return -1;
    }
}

static det_status fill_match(const struct route *route, const struct span *arg,
                             int args, struct arena *mem, struct route_match *ret_match)
{
    struct route_match match = {.route = route};

    for (int i = 0; i < args; i++) {
        match.arg[i] = url_decode(mem, arg[i].at, arg[i].len, false);
        if (!match.arg[i])
            return DET_NOMEM;
    }
    *ret_match = match;
    return DET_OK;
}

/* False: they differ before the first variable part, as nearly all rows do, by a few
 * characters.  Where a path has more slashes than it needs, or ends, match_path() has
 * to say. */
static bool may_match(const char *pattern, const char *path)
{
    while (*pattern == *path && *pattern) {
        pattern++;
        path++;
    }
    return *pattern == '{' || *pattern == *path || *path == '/' || !*path;
}

det_status route_find(enum route_method method, const char *path, struct arena *mem,
                      struct route_match *ret_match, struct err *err)
{
    const struct route *best = NULL;
    struct span best_arg[ROUTE_ARGS];
    int best_args = ROUTE_ARGS + 1;
    bool is_known = false;

    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        struct span arg[ROUTE_ARGS];
        int args = may_match(routes[i].path, path)
                       ? match_path(routes[i].path, path, arg)
                       : -1;

        if (args < 0)
            continue;
        is_known = true;
        if (routes[i].method != method || args >= best_args)
            continue;
        best = &routes[i];
        best_args = args;
        memcpy(best_arg, arg, sizeof(arg));
    }
    if (best)
        return fill_match(best, best_arg, best_args, mem, ret_match);
    if (is_known)
        return err_set(err, DET_UNSUPPORTED, "'%s' does not take %s", path,
                       route_method_names[method]);
    return err_set(err, DET_NOT_FOUND, "there is nothing at '%s'; see /docs", path);
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
        if (st && st != DET_NOT_FOUND) /* what we do not know is ignored, as ever */
            return st;
        query += len + (query[len] == '&');
    }
    return DET_OK;
}
