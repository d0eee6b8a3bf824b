/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/access.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/text.h"
#include "master/request/request.h"
#include "model/field.h"
#include "model/permission.h"
#include "store/people/grants.h"
#include "store/people/owner.h"
#include "store/people/user.h"

enum { OBJECT_MEMORY = 64 << 10 }; /* of one lookup: a stream makes many */

/* What is hidden gets the sentence of what does not exist (store/people/owner.h). */
static det_status refuse(struct request *req, const struct route *row,
                         enum rights_answer answer, enum route_object kind,
                         const char *name)
{
    switch (answer) {
    case RIGHTS_ALLOWED:
        return DET_OK;
    case RIGHTS_SIGN_IN:
        return err_set(req->err, DET_UNAUTHENTICATED, "token missing");
    case RIGHTS_FORBIDDEN:
        return err_set(req->err, DET_FORBIDDEN, "%s", rights_reason(row, &req->caller));
    case RIGHTS_HIDDEN:
        return err_set(req->err, DET_NOT_FOUND, "%s '%s' not found",
                       route_object_names[kind], name);
    }
    return err_default(req->err, DET_FORBIDDEN);
}

/* The record of a task or supervisor that a part of the path names, without a query. */
static bool is_own_part(const struct caller *caller, enum route_object kind,
                        const char *name)
{
    int64_t id = 0;
    struct rights_object object = {.kind = kind, .task_id = name};

    if (kind == ROUTE_OBJECT_allocation)
        object.allocation_id = caller->allocation && !strcmp(name, caller->allocation)
                                   ? caller->allocation_id
                                   : 0;
    else if (kind == ROUTE_OBJECT_trial && parse_i64(name, &id))
        object.trial_id = id;
    else if (kind == ROUTE_OBJECT_experiment && parse_i64(name, &id))
        object.experiment_id = id;
    return rights_is_own(caller, &object);
}

static bool is_run(const struct caller *caller)
{
    return caller->kind == CALLER_TASK || caller->kind == CALLER_SUPERVISOR;
}

/* Whether the roles of a caller about whom they decide are missing: auth.c loads them for the
 * row of the call, and a handler may check another row. */
static bool lacks_grants(const struct request *req, const struct route *row)
{
    return rights_acts_as_user(row, &req->caller) && !req->caller.grants &&
           req->master->is_rbac;
}

static det_status check_object(struct request *req, const struct route *row,
                               enum route_object kind, const char *name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(OBJECT_MEMORY);
    struct rights_object object = {.kind = kind};
    enum rights_answer answer = rights_admit(row, &req->caller);
    det_status st;

    if (answer == RIGHTS_ALLOWED && lacks_grants(req, row))
        answer = RIGHTS_FORBIDDEN;
    if (answer != RIGHTS_ALLOWED)
        return refuse(req, row, answer, kind, name);
    if (is_run(&req->caller) && is_own_part(&req->caller, kind, name))
        return DET_OK;
    if (!rights_need_owner(row, &req->caller) && !is_run(&req->caller))
        return DET_OK;
    st = store_owner_find(req->db, kind, name, &mem, &object, req->err);
    if (st == DET_NOT_FOUND && row->task != ROUTE_TASK_AS_USER && is_run(&req->caller))
        return refuse(req, row, RIGHTS_FORBIDDEN, kind,
                      name); /* tells a task nothing */
    return st ? st
              : refuse(req, row, rights_decide(row, &req->caller, &object), kind, name);
}

det_status access_check_call(struct request *req)
{
    const struct route *row = req->route;
    const struct rights_object nothing = {.kind = ROUTE_OBJECT_none};

    switch (row->object) {
    case ROUTE_OBJECT_none:
        req->is_access_open = true;
        return refuse(req, row, rights_decide(row, &req->caller, &nothing),
                      ROUTE_OBJECT_none, "");
    case ROUTE_OBJECT_list:
    case ROUTE_OBJECT_named:
        return refuse(req, row, rights_admit(row, &req->caller), ROUTE_OBJECT_none, "");
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
        break;
    }
    req->is_access_open = true;
    return check_object(req, row, row->object, req->arg[0]);
}

/* Looks under the name that the body is decoded by: json_find() prefers the exact spelling, so
 * a body with both "agentUserGroup" and "agent_user_group" has two answers. */
static bool has_field(const struct request *req, const char *name)
{
    const struct field *field = field_find(req->route->body, name);

    assert(field);
    return !json_is_null(json_find(req->tree, field ? field->name : name));
}

/* A field that needs more than its row is checked like a call of its own on the same object. */
det_status access_check_fields(struct request *req)
{
    const struct rights_object nothing = {.kind = ROUTE_OBJECT_none};
    det_status st = DET_OK;

    for (int i = 0; !st && i < rights_field_rule_count; i++) {
        const struct rights_field_rule *rule = &rights_field_rules[i];
        struct route row = *req->route;

        /* null is the same as absent, as everywhere in a body */
        if (rule->route != row.id || !has_field(req, rule->field))
            continue;
        row.who = rule->who;
        row.permission = rule->permission;
        st = row.object == ROUTE_OBJECT_none
                 ? refuse(req, &row, rights_decide(&row, &req->caller, &nothing),
                          ROUTE_OBJECT_none, "")
                 : check_object(req, &row, row.object, req->arg[0]);
    }
    return st;
}

det_status access_check(struct request *req, enum route_object kind, const char *name)
{
    return access_check_name_as(req, req->route->id, kind, name);
}

det_status access_check_id(struct request *req, enum route_object kind, int64_t id)
{
    return access_check_as(req, req->route->id, kind, id);
}

det_status access_check_as(struct request *req, enum route_id row,
                           enum route_object kind, int64_t id)
{
    char name[24];

    snprintf(name, sizeof(name), "%" PRId64, id);
    return access_check_name_as(req, row, kind, name);
}

det_status access_check_named(struct request *req, enum route_object kind, int64_t id,
                              const char *what, const char *name)
{
    det_status st = access_check_id(req, kind, id);

    return st == DET_NOT_FOUND ? err_set(req->err, st, "%s '%s' not found", what, name)
                               : st;
}

/* A bulk call answers for each object, so one refusal does not close the call. */
det_status access_check_name_as(struct request *req, enum route_id row,
                                enum route_object kind, const char *name)
{
    req->is_access_open = true;
    return check_object(req, &routes[row], kind, name);
}

det_status access_check_ids(struct request *req, enum route_object kind,
                            const struct field_i64s *ids)
{
    det_status st = DET_OK;

    req->is_access_open = true;
    for (size_t i = 0; !st && i < ids->count; i++)
        st = access_check_id(req, kind, ids->at[i]);
    return st;
}

void access_names_nothing(struct request *req)
{
    req->is_access_open = true;
}

/* ---- roles ------------------------------------------------------------------------ */

static bool is_allowed_on_cluster(const struct request *req)
{
    const struct rights_object nothing = {.kind = ROUTE_OBJECT_none};

    return rights_decide(req->route, &req->caller, &nothing) == RIGHTS_ALLOWED;
}

det_status access_check_role(struct request *req, const struct role *role,
                             int64_t workspace_id)
{
    det_status st = DET_OK;

    if (workspace_id)
        st = access_check_id(req, ROUTE_OBJECT_workspace, workspace_id);
    else if (!is_allowed_on_cluster(req))
        st = err_set(req->err, DET_FORBIDDEN, "%s",
                     rights_reason(req->route, &req->caller));
    if (!st && !rights_may_give(&req->caller, role->mask, workspace_id))
        st = err_set(req->err, DET_FORBIDDEN,
                     "the role %s allows more than you may do %s; ask an administrator",
                     role->name, workspace_id ? "in this workspace" : "on the cluster");
    req->is_access_open = req->is_access_open || !st;
    return st;
}

bool access_is_for_all(const struct request *req)
{
    return is_allowed_on_cluster(req);
}

det_status access_may(struct request *req, enum route_id row, const struct user *user,
                      bool *ret_may)
{
    const struct rights_object nothing = {.kind = ROUTE_OBJECT_none};
    struct grants grants;
    struct caller caller = req->caller;
    det_status st = DET_OK;

    if (caller.kind == CALLER_NOBODY) /* an open call that signs in */
        caller = (struct caller){
            .kind = CALLER_USER, .user_id = user->id, .is_admin = user->is_admin};
    if (req->master->is_rbac && !caller.grants) {
        st = store_grants_of(req->db, user->id, &req->mem, &grants, req->err);
        if (caller.is_admin)
            grants.cluster = UINT64_MAX;
        caller.grants = &grants;
    }
    if (!st)
        *ret_may = rights_decide(&routes[row], &caller, &nothing) == RIGHTS_ALLOWED;
    return st;
}

/* ---- lists ----------------------------------------------------------------------- */

det_status access_scope(struct request *req, struct scope *ret_scope)
{
    const struct grants *grants = req->caller.grants;
    enum permission permission = req->route->permission;
    int64_t *list;

    req->is_access_open = true;
    *ret_scope = (struct scope){0};
    if (!rights_acts_as_user(req->route, &req->caller))
        return DET_OK;
    ret_scope->is_all = true;
    if (!grants || grants_allow(grants, permission, 0))
        return DET_OK;
    list = arena_array(&req->mem, int64_t, grants->count + 1);
    if (!list)
        return err_default(req->err, DET_NOMEM);
    *ret_scope = (struct scope){.workspace = list};
    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->grant[i].mask >> permission & 1)
            list[ret_scope->count++] = grants->grant[i].workspace_id;
    return DET_OK;
}

/* A failed lookup hides the object. */
bool access_shows(struct request *req, enum route_object kind, const char *name)
{
    struct err *err = req->err;
    struct err ignored = {0};
    bool shows;

    req->is_access_open = true;
    req->err = &ignored;
    shows = !check_object(req, req->route, kind, name);
    req->err = err;
    return shows;
}

bool access_shows_id(struct request *req, enum route_object kind, int64_t id)
{
    char name[24];

    snprintf(name, sizeof(name), "%" PRId64, id);
    return access_shows(req, kind, name);
}

det_status access_assert_checked(struct request *req)
{
    if (!req->route || req->is_access_open)
        return DET_OK;
    return err_set(req->err, DET_FORBIDDEN,
                   "this call was not checked for permissions; please report this");
}
