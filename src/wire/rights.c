/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/rights.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

const struct rights_field_rule rights_field_rules[] = {
    {ROUTE_ID_patch_user, "admin", ROUTE_ADMIN, PERMISSION_ADMINISTRATE_USER},
    {ROUTE_ID_patch_user, "active", ROUTE_ADMIN, PERMISSION_ADMINISTRATE_USER},
    {ROUTE_ID_patch_user, "remote", ROUTE_ADMIN, PERMISSION_ADMINISTRATE_USER},
    {ROUTE_ID_patch_user, "agentUserGroup", ROUTE_ADMIN, PERMISSION_ADMINISTRATE_USER},
    {ROUTE_ID_create_workspace, "agentUserGroup", ROUTE_ADMIN,
     PERMISSION_SET_WORKSPACE_AGENT_USER_GROUP},
    {ROUTE_ID_patch_workspace, "agentUserGroup", ROUTE_ADMIN,
     PERMISSION_SET_WORKSPACE_AGENT_USER_GROUP},
    {ROUTE_ID_patch_workspace, "name", ROUTE_OWNER, PERMISSION_UPDATE_WORKSPACE},
    {ROUTE_ID_patch_workspace, "checkpointStorageConfig", ROUTE_OWNER,
     PERMISSION_SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG},
    {ROUTE_ID_patch_workspace, "defaultComputeResourcePool", ROUTE_USER,
     PERMISSION_SET_WORKSPACE_DEFAULT_RESOURCE_POOL},
    {ROUTE_ID_patch_workspace, "defaultAuxResourcePool", ROUTE_USER,
     PERMISSION_SET_WORKSPACE_DEFAULT_RESOURCE_POOL},
};
const int rights_field_rule_count =
    (int)(sizeof(rights_field_rules) / sizeof(rights_field_rules[0]));

/* ---- callers that are not users ---------------------------------------------------- */

bool rights_is_for_supervisor(const struct route *row)
{
    return row->who == ROUTE_SUPERVISOR || row->who == ROUTE_STAND_IN ||
           row->who == ROUTE_CLOSING;
}

bool rights_may_repeat(const struct route *row)
{
    return row->who == ROUTE_CLOSING;
}

bool rights_after_end(const struct route *row, enum caller_kind kind)
{
    return kind == CALLER_SUPERVISOR && rights_is_for_supervisor(row);
}

static bool is_for_agent(const struct route *row)
{
    return row->who == ROUTE_AGENT || row->who == ROUTE_STAND_IN;
}

static bool is_same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

bool rights_is_own(const struct caller *caller, const struct rights_object *object)
{
    switch (object->kind) {
    case ROUTE_OBJECT_none:
        return true;
    case ROUTE_OBJECT_user:
        return false;
    case ROUTE_OBJECT_experiment:
        return object->experiment_id && object->experiment_id == caller->experiment_id;
    case ROUTE_OBJECT_trial:
    case ROUTE_OBJECT_checkpoint:
        return object->trial_id && object->trial_id == caller->trial_id;
    case ROUTE_OBJECT_allocation:
        return object->allocation_id && object->allocation_id == caller->allocation_id;
    case ROUTE_OBJECT_task:
        return is_same(object->task_id, caller->task_id);
    case ROUTE_OBJECT_workspace:
    case ROUTE_OBJECT_project:
    case ROUTE_OBJECT_group:
    case ROUTE_OBJECT_token:
    case ROUTE_OBJECT_list:
    case ROUTE_OBJECT_named:
        return false;
    }
    return false;
}

/* ---- users ---------------------------------------------------------------------- */

/* Calls and fields that give somebody access for longer than a run lasts. */
static bool is_for_people(const struct route *row)
{
    static const enum permission lasting[] = {
        PERMISSION_ADMINISTRATE_USER,  PERMISSION_UPDATE_GROUP,
        PERMISSION_ASSIGN_ROLES,       PERMISSION_CREATE_TOKEN,
        PERMISSION_CREATE_OTHER_TOKEN, PERMISSION_UPDATE_TOKEN,
        PERMISSION_ADMINISTRATE_TOKEN, PERMISSION_SET_WORKSPACE_AGENT_USER_GROUP,
    };

    for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
        if (row->permission == lasting[i])
            return row->method != ROUTE_GET;
    return false;
}

/* A run's DET_USER_TOKEN acts as the user who started it, but not against that user: it
 * gets nothing that outlives the run, and a program of somebody else only looks. */
static bool may_run(const struct route *row, const struct caller *caller)
{
    if (!caller->run_of)
        return true;
    if (is_for_people(row))
        return false;
    return !caller->runs_other_code ||
           (row->method == ROUTE_GET && row->who == ROUTE_USER);
}

static bool is_owner(const struct caller *caller, const struct rights_object *object)
{
    return caller->user_id && (object->owner_id == caller->user_id ||
                               object->co_owner_id == caller->user_id);
}

static bool is_person(const struct caller *caller)
{
    return caller->session_id != 0;
}

/* An access token shows what is its user's, but does not change the account: otherwise
 * whoever found one could set a password and stay when the token has ended. */
static bool is_self(const struct route *row, const struct caller *caller,
                    const struct rights_object *object)
{
    return is_owner(caller, object) && (row->method == ROUTE_GET || is_person(caller));
}

static bool may_basic(const struct route *row, const struct caller *caller,
                      const struct rights_object *object)
{
    switch (row->who) {
    case ROUTE_OPEN:
    case ROUTE_USER:
        return true;
    case ROUTE_PERSON:
        return is_person(caller);
    case ROUTE_SELF:
        return caller->is_admin || is_self(row, caller, object);
    case ROUTE_OWNER:
        return caller->is_admin || is_owner(caller, object);
    case ROUTE_ADMIN:
        return caller->is_admin;
    case ROUTE_SUPERVISOR:
    case ROUTE_STAND_IN:
    case ROUTE_CLOSING:
    case ROUTE_AGENT:
        return false;
    }
    return false;
}

struct permission_pair {
    enum permission of_row;
    enum permission instead;
};

/* The rights on a task of an experiment are those on the experiment; the rights on a job have
 * their own names. */
static const struct permission_pair job_pairs[] = {
    {PERMISSION_CREATE_EXPERIMENT, PERMISSION_CREATE_NSC},
    {PERMISSION_VIEW_EXPERIMENT_METADATA, PERMISSION_VIEW_NSC},
    {PERMISSION_VIEW_EXPERIMENT_ARTIFACTS, PERMISSION_VIEW_NSC},
    {PERMISSION_UPDATE_EXPERIMENT, PERMISSION_UPDATE_NSC},
    {PERMISSION_UPDATE_EXPERIMENT_METADATA, PERMISSION_UPDATE_NSC},
    {PERMISSION_DELETE_EXPERIMENT, PERMISSION_UPDATE_NSC},
};
/* So have the rights on one's own access tokens. */
static const struct permission_pair own_pairs[] = {
    {PERMISSION_CREATE_OTHER_TOKEN, PERMISSION_CREATE_TOKEN},
    {PERMISSION_VIEW_OTHER_TOKEN, PERMISSION_VIEW_TOKEN},
    {PERMISSION_ADMINISTRATE_TOKEN, PERMISSION_UPDATE_TOKEN},
};

static enum permission pair_find(const struct permission_pair *pairs, size_t count,
                                 enum permission permission)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].of_row == permission)
            return pairs[i].instead;
    return permission;
}

static enum permission permission_on(enum permission permission,
                                     const struct caller *caller,
                                     const struct rights_object *object)
{
    if (object->is_job)
        return pair_find(job_pairs, sizeof(job_pairs) / sizeof(job_pairs[0]),
                         permission);
    if (is_owner(caller, object))
        return pair_find(own_pairs, sizeof(own_pairs) / sizeof(own_pairs[0]),
                         permission);
    return permission;
}

/* What one needs to know that the object exists. */
static enum permission permission_to_see(const struct rights_object *object)
{
    switch (object->kind) {
    case ROUTE_OBJECT_experiment:
    case ROUTE_OBJECT_trial:
    case ROUTE_OBJECT_checkpoint:
    case ROUTE_OBJECT_allocation:
    case ROUTE_OBJECT_task:
        return object->is_job ? PERMISSION_VIEW_NSC
                              : PERMISSION_VIEW_EXPERIMENT_METADATA;
    case ROUTE_OBJECT_workspace:
        return PERMISSION_VIEW_WORKSPACE;
    case ROUTE_OBJECT_project:
        return PERMISSION_VIEW_PROJECT;
    case ROUTE_OBJECT_none:
    case ROUTE_OBJECT_user:
    case ROUTE_OBJECT_group:
    case ROUTE_OBJECT_token:
    case ROUTE_OBJECT_list:
    case ROUTE_OBJECT_named:
        return PERMISSION_NONE; /* everybody knows */
    }
    return PERMISSION_NONE;
}

static bool may_rbac(const struct route *row, const struct caller *caller,
                     const struct rights_object *object)
{
    enum permission permission = row->permission;
    enum route_who who = row->who;

    if (who == ROUTE_SUPERVISOR || who == ROUTE_STAND_IN || who == ROUTE_CLOSING ||
        who == ROUTE_AGENT)
        return false;
    if (who == ROUTE_PERSON && !is_person(caller))
        return false;
    if (who == ROUTE_SELF && is_self(row, caller, object))
        return true;
    if (permission == PERMISSION_NONE) /* a row for users has one, or is for all */
        return who == ROUTE_OPEN || who == ROUTE_USER || who == ROUTE_PERSON;
    return grants_allow(caller->grants, permission_on(permission, caller, object),
                        object->workspace_id);
}

static enum rights_answer decide_user(const struct route *row,
                                      const struct caller *caller,
                                      const struct rights_object *object)
{
    enum permission see = permission_to_see(object);

    if (!may_run(row, caller))
        return RIGHTS_FORBIDDEN;
    if (caller->grants ? may_rbac(row, caller, object) : may_basic(row, caller, object))
        return RIGHTS_ALLOWED;
    if (caller->grants && see != PERMISSION_NONE &&
        !grants_allow(caller->grants, see, object->workspace_id))
        return RIGHTS_HIDDEN;
    return RIGHTS_FORBIDDEN;
}

bool rights_may_give(const struct caller *caller, uint64_t mask, int64_t workspace_id)
{
    if (!caller->grants)
        return caller->is_admin;
    for (int i = 0; i < PERMISSION_COUNT; i++)
        if ((mask >> i & 1) &&
            !grants_allow(caller->grants, (enum permission)i, workspace_id))
            return false;
    return true;
}

enum rights_basic rights_in_basic(enum permission permission)
{
    enum rights_basic need = RIGHTS_NOT_USED;

    for (int i = 0; i < ROUTE_COUNT; i++) {
        const struct route *row = &routes[i];
        enum rights_basic one = RIGHTS_OF_ALL;

        if (row->permission != permission)
            continue;
        if (row->who == ROUTE_ADMIN)
            one = RIGHTS_OF_ADMINS;
        else if (row->who == ROUTE_OWNER || row->who == ROUTE_SELF)
            one = row->object == ROUTE_OBJECT_workspace ||
                          row->object == ROUTE_OBJECT_project
                      ? RIGHTS_OF_WORKSPACE_OWNER
                      : RIGHTS_OF_OWNER;
        if (one > need)
            need = one;
    }
    return need;
}

/* ---- the decision --------------------------------------------------------------- */

enum rights_answer rights_decide(const struct route *row, const struct caller *caller,
                                 const struct rights_object *object)
{
    bool may;

    if (row->who == ROUTE_OPEN)
        return RIGHTS_ALLOWED;
    switch (caller->kind) {
    case CALLER_NOBODY:
        return RIGHTS_SIGN_IN;
    case CALLER_USER:
        return decide_user(row, caller, object);
    case CALLER_TASK:
        if (row->task == ROUTE_TASK_AS_USER)
            return decide_user(row, caller, object);
        may = row->task == ROUTE_TASK_OWN && rights_is_own(caller, object);
        return may ? RIGHTS_ALLOWED : RIGHTS_FORBIDDEN;
    case CALLER_SUPERVISOR:
        may = (rights_is_for_supervisor(row) || row->task == ROUTE_TASK_OWN) &&
              rights_is_own(caller, object);
        return may ? RIGHTS_ALLOWED : RIGHTS_FORBIDDEN;
    case CALLER_AGENT:
        return is_for_agent(row) ? RIGHTS_ALLOWED : RIGHTS_FORBIDDEN;
    }
    return RIGHTS_FORBIDDEN;
}

static enum rights_answer admit_user(const struct route *row,
                                     const struct caller *caller)
{
    bool may = false;

    switch (row->who) {
    case ROUTE_OPEN:
    case ROUTE_USER:
    case ROUTE_SELF:
    case ROUTE_OWNER:
        may = true;
        break;
    case ROUTE_PERSON:
        may = is_person(caller);
        break;
    case ROUTE_ADMIN:
        may = caller->grants || caller->is_admin;
        break;
    case ROUTE_SUPERVISOR:
    case ROUTE_STAND_IN:
    case ROUTE_CLOSING:
    case ROUTE_AGENT:
        break;
    }
    return may && may_run(row, caller) ? RIGHTS_ALLOWED : RIGHTS_FORBIDDEN;
}

enum rights_answer rights_admit(const struct route *row, const struct caller *caller)
{
    bool may = false;

    if (row->who == ROUTE_OPEN)
        return RIGHTS_ALLOWED;
    switch (caller->kind) {
    case CALLER_NOBODY:
        return RIGHTS_SIGN_IN;
    case CALLER_USER:
        return admit_user(row, caller);
    case CALLER_TASK:
        may = row->task != ROUTE_TASK_NO;
        break;
    case CALLER_SUPERVISOR:
        may = rights_is_for_supervisor(row) || row->task == ROUTE_TASK_OWN;
        break;
    case CALLER_AGENT:
        may = is_for_agent(row);
        break;
    }
    return may ? RIGHTS_ALLOWED : RIGHTS_FORBIDDEN;
}

bool rights_acts_as_user(const struct route *row, const struct caller *caller)
{
    return caller->kind == CALLER_USER ||
           (caller->kind == CALLER_TASK && row->task == ROUTE_TASK_AS_USER);
}

bool rights_need_owner(const struct route *row, const struct caller *caller)
{
    if (!rights_acts_as_user(row, caller) || row->who == ROUTE_OPEN)
        return false;
    if (caller->grants)
        return row->permission != PERMISSION_NONE;
    return (row->who == ROUTE_SELF || row->who == ROUTE_OWNER) && !caller->is_admin;
}

/* In mode rbac, for callers who lack a permission. */
static const char *reason_rbac(const struct route *row)
{
    if (row->permission < PERMISSION_COUNT &&
        permissions[row->permission].is_cluster_only)
        return "user does not have permission; ask an administrator of the cluster for "
               "a role that allows it; on your own machine use 'det -u admin ...'";
    return "user does not have permission; ask an administrator of the workspace for a "
           "role that allows it; on your own machine use 'det -u admin ...'";
}

/* Of callers that are not persons; NULL: the row decides. */
static const char *reason_of_kind(const struct route *row, const struct caller *caller)
{
    if (caller->kind == CALLER_TASK || caller->kind == CALLER_SUPERVISOR)
        return row->task == ROUTE_TASK_NO && !rights_is_for_supervisor(row)
                   ? "this call is not for a task's token"
                   : "a task's token opens only its own task";
    if (caller->kind == CALLER_AGENT)
        return "this call is not for the agents' token";
    if (caller->run_of && is_for_people(row))
        return "a task's token gives nobody lasting access; sign in for this";
    if (!may_run(row, caller))
        return "the user who started this run is not the owner of its code, so its "
               "token may only read";
    return NULL;
}

const char *rights_reason(const struct route *row, const struct caller *caller)
{
    const char *reason = reason_of_kind(row, caller);

    if (reason)
        return reason;
    if (row->who == ROUTE_PERSON || (row->who == ROUTE_SELF && !is_person(caller)))
        return "only a person's own session may do this, not an access token or a "
               "task; sign in with 'det user login'";
    switch (row->who) {
    case ROUTE_SUPERVISOR:
    case ROUTE_STAND_IN:
    case ROUTE_CLOSING:
        return "only the supervisor of the task may do this";
    case ROUTE_AGENT:
        return "only an agent may do this, with the token in the file agent.token of "
               "the "
               "master's data directory";
    case ROUTE_OPEN:
    case ROUTE_USER:
    case ROUTE_PERSON:
        break;
    case ROUTE_SELF:
    case ROUTE_ADMIN:
        if (!caller->grants)
            return "only an administrator may do this; ask one, or on your own machine "
                   "use 'det -u admin ...'";
        break;
    case ROUTE_OWNER:
        if (!caller->grants)
            return "only the owner or an administrator may do this; ask one of them, "
                   "or "
                   "on your own machine use 'det -u admin ...'";
        break;
    }
    return caller->grants ? reason_rbac(row) : "user does not have permission";
}
