/* SPDX-License-Identifier: Apache-2.0 */
/* rights.h - who may call what: one pure decision over the columns of the route table.
 *
 * A row of route_list.h says
 *
 *   who         OPEN        anybody who reaches the port
 *               USER        every user
 *               PERSON      a user with a session: no access token, and no task, because what
 *                           they start here would outlive them
 *               SELF        the user in the path (for changes in a session, not by an access
 *                           token), or an administrator
 *               OWNER       the owner of the object, or an administrator
 *               ADMIN       an administrator
 *               SUPERVISOR  the supervisor of the allocation in the path
 *               STAND_IN    likewise, or an agent in its place
 *               CLOSING     the supervisor's last call, which it may repeat: the others
 *                           it may not make after it
 *               AGENT       an agent
 *   object      what the first variable part of the path names.  `none`: nothing with an
 *               owner.  `list`: the reply holds many, and the handler shows those of
 *               access_scope().  `named`: the body or query names them, and the handler
 *               passes each to access_check(); a call that did not is not answered.
 *   permission  in mode rbac: what the caller needs in the object's workspace, or on the
 *               cluster if it has none.  It takes the place of OWNER and ADMIN; SELF stays.
 *   task        whether a task may call: NO; OWN: for its own records; AS_USER: with the
 *               rights of the user who started it.
 *
 * Rows without a rule cannot exist: every column is written out, and what no case below
 * allows is refused.  In mode basic every user may look at everything; in mode rbac an object
 * that the caller may not see does not exist for the caller (DET_NOT_FOUND).
 *
 * A few fields of a body need more than their row does: rights_field_rules.  What
 * changes accounts, groups, roles and tokens, or the Unix user of a workspace, is not for a
 * run's DET_USER_TOKEN, although its user may call it: nobody keeps access after the run. */
#ifndef WIRE_RIGHTS_H
#define WIRE_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/permission.h"
#include "wire/route.h"

enum caller_kind {
    CALLER_NOBODY,
    CALLER_USER,       /* a session, an access token, or DET_USER_TOKEN */
    CALLER_TASK,       /* DET_SESSION_TOKEN, while its allocation lives */
    CALLER_SUPERVISOR, /* the supervisor of a task */
    CALLER_AGENT,
};

struct caller {
    enum caller_kind kind;
    int64_t user_id;
    const char *username;
    bool is_admin;
    bool acts_without_token;     /* reads as the first user: see auth.c */
    const struct grants *grants; /* mode rbac; NULL: mode basic */
    int64_t session_id;     /* 0: not a person's session; an access token has none */
    int64_t allocation_id;  /* of a task or supervisor, and the rest too */
    const char *allocation; /* its name */
    const char *task_id;
    int64_t trial_id;
    int64_t experiment_id;
    int64_t run_of;       /* DET_USER_TOKEN: the allocation it lives with */
    bool runs_other_code; /* ... and the experiment is another user's */
};

/* Fields that do not apply are 0. */
struct rights_object {
    enum route_object kind;
    int64_t owner_id;
    int64_t co_owner_id; /* of a project: the owner of its workspace */
    int64_t workspace_id;
    int64_t experiment_id;
    int64_t trial_id;
    int64_t allocation_id;
    const char *task_id;
    bool is_job; /* a task or allocation that is not a trial's */
};

enum rights_answer {
    RIGHTS_ALLOWED,
    RIGHTS_SIGN_IN,   /* the caller is unknown: 401 */
    RIGHTS_FORBIDDEN, /* 403 */
    RIGHTS_HIDDEN,    /* 404 */
};

/* Whether such a caller may call at all.  For rows of `named` and `list` objects, and before
 * an object is looked up. */
enum rights_answer rights_admit(const struct route *row, const struct caller *caller);
/* Whether the caller may do what the row does to `object`. */
enum rights_answer rights_decide(const struct route *row, const struct caller *caller,
                                 const struct rights_object *object);
/* Whether the caller makes this call with the rights of a user.  Only then do its grants decide;
 * they need not be there for other calls. */
bool rights_acts_as_user(const struct route *row, const struct caller *caller);
/* Whether rights_decide() looks at the object's owner or workspace for this caller.  If not,
 * the ids in the path are enough. */
bool rights_need_owner(const struct route *row, const struct caller *caller);
/* Whether the row is for supervisors, whoever else may call it. */
bool rights_is_for_supervisor(const struct route *row);
/* Whether a caller of that kind may still call after its run has ended.  Only the supervisor
 * may, to deliver what is left. */
bool rights_after_end(const struct route *row, enum caller_kind kind);
/* Whether it may call this even after it has delivered everything. */
bool rights_may_repeat(const struct route *row);
/* Whether a task or supervisor is the one that the object belongs to. */
bool rights_is_own(const struct caller *caller, const struct rights_object *object);
/* Whether the caller may do everything that `mask` allows, so that assigning such a role gives
 * nobody more than the caller has.  workspace_id 0: on the cluster. */
bool rights_may_give(const struct caller *caller, uint64_t mask, int64_t workspace_id);
/* Who has a permission in mode basic, by the rows that need it: the strictest decides. */
enum rights_basic {
    RIGHTS_NOT_USED,           /* no call needs it */
    RIGHTS_OF_ALL,             /* every user */
    RIGHTS_OF_OWNER,           /* every user, for the user's own objects */
    RIGHTS_OF_WORKSPACE_OWNER, /* the owner of the workspace or project */
    RIGHTS_OF_ADMINS,
};
enum rights_basic rights_in_basic(enum permission permission);
/* Why a call was refused, in one sentence; static text. */
const char *rights_reason(const struct route *row, const struct caller *caller);

/* Fields of a body that need more than the row of their call. */
struct rights_field_rule {
    enum route_id route;
    const char *field; /* as in the body, "agentUserGroup" */
    enum route_who who;
    enum permission permission;
};
extern const struct rights_field_rule rights_field_rules[];
extern const int rights_field_rule_count;

#endif
