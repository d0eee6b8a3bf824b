/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: what they consist of, who has them, and what they allow in mode rbac. */
#include "tests/api/script.h"

static const char rbac[] = "security: {authz: {type: rbac}}\n";

/* A user with a password, logged in as OTHER. */
static void add_ann(struct bed *bed)
{
    static const struct step steps[] = {
        POST("ann", "/api/v1/users",
             "{'user': {'username': 'ann'}, 'password': 'Secret-Word-1'}", 200,
             "user.id=3", ADMIN),
        END_STEPS};

    bed_play(bed, steps);
    bed->other = bed_login(bed, "ann", "Secret-Word-1", 200);
}

#define ROLE_IN(role, workspace)                                                       \
    "{'role': {'roleId': " #role "}, 'scopeWorkspaceId': " #workspace "}"
#define ROLE_ON_CLUSTER(role) "{'role': {'roleId': " #role "}, 'scopeCluster': true}"
#define TO_USER(user, role)                                                            \
    "{'userRoleAssignments': [{'userId': " #user ", 'roleAssignment': " role "}]}"
#define TO_GROUP(group, role)                                                          \
    "{'groupRoleAssignments': [{'groupId': " group ", 'roleAssignment': " role "}]}"
#define ASSIGN   "/api/v1/roles/add-assignments"
#define UNASSIGN "/api/v1/roles/remove-assignments"

TEST(the_roles_are_fixed)
{
    static const struct step steps[] = {
        POST("all", "/api/v1/roles/search", "{'limit': 100}", 200,
             "roles#10; pagination.total=10; roles.0.name=ClusterAdmin; "
             "roles.0.scopeTypeMask.workspace=false; roles.0.permissions#60; "
             "roles.9.name=WorkspaceCreator"),
        POST("page", "/api/v1/roles/search", "{'limit': 2, 'offset': 1}", 200,
             "roles#2; roles.0.name=Editor; roles.0.scopeTypeMask.workspace=true; "
             "roles.0.permissions.0.id=PERMISSION_TYPE_CREATE_EXPERIMENT; "
             "roles.0.permissions.0.name=create experiment; "
             "roles.0.permissions.0.scopeTypeMask.workspace=true"),
        POST("no limit", "/api/v1/roles/search", "{}", 400, NULL),
        POST("for a workspace", "/api/v1/roles/search/by-assignability",
             "{'limit': 100, 'workspaceId': 1}", 200, "roles#6"),
        POST("for the cluster", "/api/v1/roles/search/by-assignability",
             "{'limit': 100}", 200, "roles#10"),
        POST("by ids", "/api/v1/roles/search/by-ids", "{'roleIds': [1, 4]}", 200,
             "roles#2; roles.0.role.name=ClusterAdmin; "
             "roles.0.userRoleAssignments#1; roles.0.userRoleAssignments.0.userId=1; "
             "roles.0.userRoleAssignments.0.roleAssignment.scopeCluster=true; "
             "roles.0.userRoleAssignments.0.roleAssignment.scopeWorkspaceId!; "
             "roles.1.userRoleAssignments#0"),
        POST("unknown", "/api/v1/roles/search/by-ids", "{'roleIds': [1, 77]}", 404,
             "error.error~77"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(roles_are_recorded_in_mode_basic_too)
{
    static const struct step steps[] = {
        POST("group", "/api/v1/groups", "{'name': 'readers', 'addUsers': [3]}", 200,
             NULL, ADMIN),
        POST("assign", ASSIGN, TO_USER(3, ROLE_IN(5, 1)), 200, NULL, ADMIN),
        POST("group role", ASSIGN, TO_GROUP("${group.group.groupId}", ROLE_IN(4, 1)),
             200, NULL, ADMIN),
        POST("cluster role", ASSIGN,
             TO_GROUP("${group.group.groupId}", ROLE_ON_CLUSTER(3)), 200, NULL, ADMIN),
        POST("twice", ASSIGN, TO_USER(3, ROLE_IN(5, 1)), 409, NULL, ADMIN),
        GET("summary", "/api/v1/permissions/summary", 200,
            "roles#3; assignments#3; assignments.0.roleId=3; "
            "assignments.0.scopeCluster=true; assignments.0.scopeWorkspaceIds#0; "
            "assignments.1.roleId=4; assignments.1.scopeCluster=false; "
            "assignments.1.scopeWorkspaceIds.0=1",
            OTHER),
        GET("of the user", "/api/v1/roles/search/by-user/3", 200,
            "roles#3; roles.2.role.name=Editor; roles.2.userRoleAssignments#1; "
            "roles.1.groupRoleAssignments#1"),
        GET("of nobody", "/api/v1/roles/search/by-user/99", 404, NULL),
        GET("of the group", "/api/v1/roles/search/by-group/${group.group.groupId}", 200,
            "roles#2; assignments#2"),
        GET("of no group", "/api/v1/roles/search/by-group/99", 404, NULL),
        GET("of the workspace", "/api/v1/roles/workspace/1", 200,
            "groups#1; groups.0.users#1; usersAssignedDirectly#1; assignments#2"),
        GET("by name", "/api/v1/roles/workspace/1?name=EAD", 200,
            "groups#1; usersAssignedDirectly#0; assignments#1"),
        GET("of no workspace", "/api/v1/roles/workspace/99", 404, NULL),
        POST("remove", UNASSIGN, TO_USER(3, ROLE_IN(5, 1)), 200, NULL, ADMIN),
        POST("remove again", UNASSIGN, TO_USER(3, ROLE_IN(5, 1)), 404, NULL, ADMIN),
        DELETE("the group goes", "/api/v1/groups/${group.group.groupId}", 200, NULL,
               ADMIN),
        GET("with its roles", "/api/v1/roles/search/by-user/3", 200, "roles#0"),
        END_STEPS};
    BED(bed, NULL);

    add_ann(bed);
    bed_play(bed, steps);
}

TEST(bad_assignments_are_refused_and_change_nothing)
{
    static const struct step steps[] = {
        POST("nothing", ASSIGN, "{}", 400,
             "error.error=must specify at least one group or user assignment", ADMIN),
        POST("unknown role", ASSIGN, TO_USER(2, ROLE_IN(77, 1)), 404, "error.error~77",
             ADMIN),
        POST("unknown user", ASSIGN, TO_USER(99, ROLE_IN(5, 1)), 404, NULL, ADMIN),
        POST("unknown group", ASSIGN, TO_GROUP("99", ROLE_IN(5, 1)), 404, NULL, ADMIN),
        POST("unknown workspace", ASSIGN, TO_USER(2, ROLE_IN(5, 99)), 404, NULL, ADMIN),
        POST("global", ASSIGN, TO_USER(2, ROLE_IN(1, 1)), 400,
             "error.error~a global-only permission cannot be assigned to a local scope",
             ADMIN),
        POST("both", ASSIGN,
             TO_USER(2, "{'role': {'roleId': 5}, 'scopeWorkspaceId': 1,"
                        " 'scopeCluster': true}"),
             400, NULL, ADMIN),
        POST("neither", ASSIGN,
             TO_USER(2, "{'role': {'roleId': 5}, 'scopeCluster': false}"), 400, NULL,
             ADMIN),
        POST("one of two", ASSIGN,
             "{'userRoleAssignments': [{'userId': 2, 'roleAssignment': " ROLE_IN(
                 5, 1) "}, {'userId': 99, 'roleAssignment': " ROLE_IN(5, 1) "}]}",
             404, NULL, ADMIN),
        POST("not an administrator", ASSIGN, TO_USER(2, ROLE_ON_CLUSTER(1)), 403, NULL),
        POST("not to remove", UNASSIGN, TO_USER(1, ROLE_ON_CLUSTER(1)), 403, NULL),
        GET("still none", "/api/v1/roles/search/by-user/2", 200, "roles#0"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- mode rbac ------------------------------------------------------------------------- */

TEST(a_filter_does_not_tell_whether_a_hidden_workspace_exists)
{
    static const struct step steps[] = {
        POST("hidden", "/api/v1/workspaces", "{'name': 'w'}", 200, "workspace.id=2",
             ADMIN),
        GET("there", "/api/v1/tensorboards?workspaceId=2", 404,
            "error.error=workspace '2' not found, please check your permissions."),
        GET("not there", "/api/v1/tensorboards?workspaceId=9", 404,
            "error.error=workspace '9' not found, please check your permissions."),
        END_STEPS};
    BED(bed, rbac);

    bed_play(bed, steps);
}

TEST(a_workspace_administrator_gives_roles_there_but_no_more_than_it_has)
{
    static const struct step steps[] = {
        GET("mode", "/api/v1/master", 200, "rbacEnabled=true"),
        POST("before", ASSIGN, TO_USER(2, ROLE_IN(4, 1)), 404, NULL, OTHER),
        POST("make", ASSIGN, TO_USER(3, ROLE_IN(2, 1)), 200, NULL, ADMIN),
        POST("editor", ASSIGN, TO_USER(2, ROLE_IN(5, 1)), 200, NULL, OTHER),
        POST("equal", ASSIGN, TO_USER(2, ROLE_IN(2, 1)), 200, NULL, OTHER),
        POST("taken back", UNASSIGN, TO_USER(2, ROLE_IN(2, 1)), 200, NULL, OTHER),
        POST("cluster", ASSIGN, TO_USER(3, ROLE_ON_CLUSTER(4)), 403, NULL, OTHER),
        POST("escalation", ASSIGN, TO_USER(3, ROLE_ON_CLUSTER(1)), 403, NULL, OTHER),
        POST("editor gives nothing", ASSIGN, TO_USER(2, ROLE_IN(4, 1)), 403, NULL),
        POST("groups are for administrators", "/api/v1/groups", "{'name': 'x'}", 403,
             NULL, OTHER),
        POST("as are users", "/api/v1/users", "{'user': {'username': 'eve'}}", 403,
             NULL, OTHER),
        GET("by role", "/api/v1/users?roleIdAssignedDirectlyToUser=2", 200,
            "users#1; users.0.username=ann"),
        END_STEPS};
    BED(bed, rbac);

    add_ann(bed);
    bed_play(bed, steps);
}

/* A role that holds ASSIGN_ROLES and less than the one to give does not exist among the fixed
 * ones, so the rule itself is tested in tests/unit/wire. */

TEST(the_last_cluster_administrator_keeps_the_role)
{
    static const struct step steps[] = {
        POST("role", UNASSIGN, TO_USER(1, ROLE_ON_CLUSTER(1)), 400,
             "error.error~ClusterAdmin", ADMIN),
        PATCH("off", "/api/v1/users/1", "{'active': false}", 400,
              "error.error~no active administrator", ADMIN),
        POST("group", "/api/v1/groups", "{'name': 'roots', 'addUsers': [2]}", 200, NULL,
             ADMIN),
        POST("by group", ASSIGN, TO_GROUP("${group.group.groupId}", ROLE_ON_CLUSTER(1)),
             200, NULL, ADMIN),
        POST("now", UNASSIGN, TO_USER(1, ROLE_ON_CLUSTER(1)), 200, NULL, ADMIN),
        GET("demoted", "/api/v1/users/1", 200, "user.admin=false", ADMIN),
        POST("no right left", ASSIGN, TO_USER(1, ROLE_ON_CLUSTER(1)), 403, NULL, ADMIN),
        PUT("leaving", "/api/v1/groups/${group.group.groupId}", "{'removeUsers': [2]}",
            400, "error.error~no active administrator"),
        DELETE("the group", "/api/v1/groups/${group.group.groupId}", 400, NULL),
        PATCH("all groups", "/api/v1/users/assignments",
              "{'userIds': [2], 'removeGroups': [${group.group.groupId}]}", 400, NULL),
        GET("may administer", "/api/v1/me", 200,
            "mayAdminister=true; user.admin=false"),
        GET("may not", "/api/v1/me", 200, "mayAdminister=false", ADMIN),
        END_STEPS};
    BED(bed, rbac);

    bed_play(bed, steps);
}

/* A reader of a workspace who follows a log there; what comes after the role has gone is not for
 * it.  The second role shows that a change that takes nothing away does not end the stream. */
TEST(a_stream_ends_with_the_role_that_opened_it)
{
    static const struct step before[] = {
        POST("viewer", ASSIGN, TO_USER(3, ROLE_IN(4, 1)), 200, NULL, ADMIN),
        POST("editor", ASSIGN, TO_USER(2, ROLE_IN(5, 1)), 200, NULL, ADMIN), END_STEPS};
    static const struct step more[] = {
        POST("another", ASSIGN, TO_USER(3, ROLE_ON_CLUSTER(3)), 200, NULL, ADMIN),
        END_STEPS};
    static const struct step less[] = {
        POST("no viewer", UNASSIGN, TO_USER(3, ROLE_IN(4, 1)), 200, NULL, ADMIN),
        END_STEPS};
    BED(bed, rbac);
    struct agent agent = {0};
    struct pending *stream;
    struct share share;
    struct reply reply;

    add_ann(bed);
    bed_play(bed, before);
    agent_join(&agent, bed, "a1", 1);
    (void)create(bed, config_single);
    share = agent_run(&agent);
    share_log(&share, "first");
    stream = bed_begin(
        bed, OTHER, NET_GET,
        bed_fill(bed, "/api/v1/tasks/${share.task_id}/logs?follow=true", false), NULL);
    bed_await_bytes(stream);
    bed_play(bed, more);
    share_log(&share, "second");
    bed_await_text(stream, "second");
    bed_play(bed, less);
    share_log(&share, "third");
    reply = bed_end(bed, stream);
    CHECK_EQ(reply.status, 200);
    CHECK_HAS(reply.text, "second");
    CHECK(!strstr(reply.text, "third"));
}

/* What a user may not see does not exist for the user. */
TEST(hidden_and_unknown_objects_get_the_same_answer)
{
    static const struct step steps[] = {
        POST("e", "/api/v1/experiments", "{'config': $[single]}", 200, NULL, ADMIN),
        GET("hidden workspace", "/api/v1/workspaces/1", 404,
            "error.error~workspace '1' not found", OTHER),
        GET("unknown workspace", "/api/v1/workspaces/99", 404,
            "error.error~workspace '99' not found", OTHER),
        GET("hidden project", "/api/v1/projects/1", 404,
            "error.error~project '1' not found", OTHER),
        GET("unknown project", "/api/v1/projects/99", 404,
            "error.error~project '99' not found", OTHER),
        POST("hidden experiment", "/api/v1/experiments/1/kill", NULL, 404,
             "error.error~experiment '1' not found", OTHER),
        POST("unknown experiment", "/api/v1/experiments/99/kill", NULL, 404,
             "error.error~experiment '99' not found", OTHER),
        POST("many", "/api/v1/projects/-1/experiments/kill",
             "{'experimentIds': [1, 99]}", 200,
             "results.0.error~experiment '1' not found; "
             "results.1.error~experiment '99' not found",
             OTHER),
        POST("a filter finds nothing", "/api/v1/projects/-1/experiments/kill",
             "{'filters': {}}", 200, "results#0", OTHER),
        GET("columns", "/api/v1/projects/1/columns", 404, NULL, OTHER),
        END_STEPS};
    BED(bed, "security: {authz: {type: rbac}}\nlaunch_error: false\n");

    add_ann(bed);
    bed_play(bed, steps);
}

TEST(the_caller_is_told_what_the_roles_allow)
{
    static const struct step steps[] = {
        GET("nothing", "/api/v1/master", 200,
            "permissions.cluster#0; permissions.workspaces#0", OTHER),
        POST("viewer", ASSIGN, TO_USER(3, ROLE_IN(4, 1)), 200, NULL, ADMIN),
        POST("creator", ASSIGN, TO_USER(3, ROLE_ON_CLUSTER(3)), 200, NULL, ADMIN),
        GET("something", "/api/v1/master", 200,
            "permissions.cluster#3; permissions.workspaces#1; "
            "permissions.workspaces.1#11",
            OTHER),
        END_STEPS};
    static const struct step basic[] = {
        GET("mode basic", "/api/v1/master", 200, "user?; permissions!"), END_STEPS};
    BED(bed, rbac);
    BED(other, NULL);

    add_ann(bed);
    bed_play(bed, steps);
    bed_play(other, basic);
}

/* ---- who may what, and why -------------------------------------------------------------- */

TEST(an_administrator_sees_who_may_do_what_and_why)
{
    static const struct step steps[] = {
        POST("group", "/api/v1/groups", "{'name': 'readers', 'addUsers': [2]}", 200,
             NULL, ADMIN),
        POST("viewer", ASSIGN, TO_GROUP("${group.group.groupId}", ROLE_IN(4, 1)), 200,
             NULL, ADMIN),
        POST("creator", ASSIGN, TO_USER(2, ROLE_ON_CLUSTER(3)), 200, NULL, ADMIN),
        GET("access", "/api/v1/det/workspaces/1/access", 200,
            "mode=rbac; users#2; users.0.user.username=admin; "
            "users.0.reasons.0.kind=administrator; users.0.reasons.1.kind=role; "
            "users.0.reasons.1.roleName=ClusterAdmin; "
            "users.0.reasons.1.scopeCluster=true; users.1.user.username=determined; "
            "users.1.reasons#2; users.1.reasons.0.roleName=WorkspaceCreator; "
            "users.1.reasons.1.kind=group; users.1.reasons.1.groupName=readers; "
            "users.1.reasons.1.scopeCluster=false; users.1.permissions#11",
            ADMIN),
        GET("not a viewer", "/api/v1/det/workspaces/1/access", 403, NULL),
        GET("hidden", "/api/v1/det/workspaces/1/access", 404, NULL, OTHER),
        GET("unknown", "/api/v1/det/workspaces/99/access", 404, NULL, ADMIN),
        END_STEPS};
    BED(bed, rbac);

    add_ann(bed);
    bed_play(bed, steps);
}

TEST(in_mode_basic_owners_and_administrators_are_the_reasons)
{
    static const struct step steps[] = {
        GET("mode", "/api/v1/master", 200, "rbacEnabled=false"),
        GET("access", "/api/v1/det/workspaces/1/access", 200,
            "mode=basic; users#2; users.0.reasons.0.kind=administrator; "
            "users.1.reasons.0.kind=user",
            ADMIN),
        GET("not for users", "/api/v1/det/workspaces/1/access", 403, NULL), END_STEPS};
    struct json *permissions;
    bool may_view = false;
    bool may_update = false;
    BED(bed, NULL);

    bed_play(bed, steps);
    permissions = json_at(bed->vars, "access.users.1.permissions");
    json_each(one, permissions) {
        may_view = may_view || !strcmp(json_str(one, ""),
                                       "PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA");
        may_update = may_update ||
                     !strcmp(json_str(one, ""), "PERMISSION_TYPE_UPDATE_EXPERIMENT");
    }
    CHECK(may_view);
    CHECK(!may_update);
    CHECK_STR(bed_get(bed, "access.users.1.ownPermissions.0"),
              "PERMISSION_TYPE_UPDATE_EXPERIMENT");
}
