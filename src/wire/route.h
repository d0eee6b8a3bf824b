/* SPDX-License-Identifier: Apache-2.0 */
/* route.h - every call the master answers, one row each.
 *
 * A row has method, path, who may call, the field tables of query and body (structs in
 * queries.h and bodies.h) and one line of summary.  Dispatch (master/api), the page
 * under /docs/calls, the OpenAPI document and the meta-tests use the rows.
 *
 * To add a call: a row in route_list.h; structs and tables in bodies.[ch] or
 * queries.[ch] if it takes any; and a function api_<id>() in the file that the row
 * names. */
#ifndef WIRE_ROUTE_H
#define WIRE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/permission.h"

struct arena;
struct field;

enum route_method {
    ROUTE_GET,
    ROUTE_POST,
    ROUTE_PUT,
    ROUTE_PATCH,
    ROUTE_DELETE,
    ROUTE_ANY, /* all methods, also those that no other row has */
};

/* The columns of rights.h, which explains them. */
enum route_who {
    ROUTE_OPEN,
    ROUTE_USER,
    ROUTE_PERSON,
    ROUTE_SELF,
    ROUTE_OWNER,
    ROUTE_ADMIN,
    ROUTE_SUPERVISOR,
    ROUTE_STAND_IN,
    ROUTE_CLOSING,
    ROUTE_AGENT,
};

enum route_object {
    ROUTE_OBJECT_none,
    ROUTE_OBJECT_user,
    ROUTE_OBJECT_experiment,
    ROUTE_OBJECT_trial,
    ROUTE_OBJECT_checkpoint,
    ROUTE_OBJECT_allocation,
    ROUTE_OBJECT_task,
    ROUTE_OBJECT_workspace,
    ROUTE_OBJECT_project,
    ROUTE_OBJECT_group,
    ROUTE_OBJECT_token,
    ROUTE_OBJECT_list,
    ROUTE_OBJECT_named,
};

enum route_task {
    ROUTE_TASK_NO,
    ROUTE_TASK_OWN,
    ROUTE_TASK_AS_USER,
};

/* The threads of the handler. */
enum route_lane {
    ROUTE_LANE_WORKER,
    ROUTE_LANE_QUICK, /* the one that received the call, if it is small and its caller cached */
    ROUTE_LANE_LIFE, /* agents and supervisors prove that they live: nothing else runs there */
    ROUTE_LANE_HEAVY, /* large configurations and files, one after the other */
};

enum route_id {
#define ROUTE(id, ...) ROUTE_ID_##id,
#include "wire/route_list.h"
#undef ROUTE
    ROUTE_COUNT,
};

struct route {
    enum route_id id;
    const char *name; /* "get_trial" */
    const char *file; /* "experiments/trials": src/master/api/<file>.c handles it */
    enum route_method method;
    /* With {names} for its variable parts.  The last may be {name...}: the rest of the
     * path, with its slashes, or "". */
    const char *path;
    enum route_who who;
    enum route_object object;
    enum permission permission;
    enum route_task task;
    enum route_lane lane;
    const struct field *query; /* NULL: none */
    size_t query_size;
    const struct field *body; /* NULL: none, or the handler reads the tree itself */
    size_t body_size;
    const char *reply; /* the reply, in words */
    const char *summary;
};

extern const struct route routes[ROUTE_COUNT];
extern const char *const route_method_names[];
extern const char *const route_who_names[];    /* "owner" */
extern const char *const route_object_names[]; /* "experiment" */
extern const char *const route_task_names[];   /* "own" */

enum { ROUTE_ARGS = 4 };

struct route_match {
    const struct route *route;
    const char *arg[ROUTE_ARGS]; /* the variable parts, decoded */
};

/* DET_NOT_FOUND: no such path.  DET_UNSUPPORTED: the path exists, but not with this
 * method.  `path` is percent-encoded, without the query. */
det_status route_find(enum route_method method, const char *path, struct arena *mem,
                      struct route_match *ret_match, struct err *err);

/* Fills `record` (zeroed, query_size bytes) from a query string. */
det_status route_read_query(const struct route *route, const char *query,
                            struct arena *mem, void *record, struct err *err);

#endif
