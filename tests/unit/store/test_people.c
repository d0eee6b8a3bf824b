/* SPDX-License-Identifier: Apache-2.0 */
/* test_people.c - groups, role assignments and what they allow. */
#include "model/permission.h"
#include "store/people/access_token.h"
#include "store/people/grants.h"
#include "store/people/group.h"
#include "store/people/role_assignment.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "store/people/user_setting.h"
#include "tests/unit/store/world.h"

static void assign(struct world *w, int64_t role, int64_t user, int64_t group,
                   int64_t workspace)
{
    CHECK_OK(db_exec(w->db,
                     arena_printf(&w->mem,
                                  "INSERT INTO role_assignments (role_id, user_id,"
                                  " group_id, workspace_id) VALUES (%d, %d, %d, %d)",
                                  (int)role, (int)user, (int)group, (int)workspace),
                     &test_err));
}

static struct grants grants_of(struct world *w, int64_t user_id)
{
    struct grants grants = {.count = 99};

    CHECK_OK(store_grants_of(w->db, user_id, &w->mem, &grants, &test_err));
    return grants;
}

TEST(a_user_without_assignments_may_nothing)
{
    struct world w;
    struct grants grants;

    world_init(&w, true);
    assign(&w, ROLE_CLUSTER_ADMIN, 8, 0, 0);
    grants = grants_of(&w, 7);
    CHECK_EQ(grants.cluster, 0);
    CHECK_EQ(grants.count, 0);
    world_done(&w);
}

TEST(grants_add_up_over_own_assignments_and_those_of_groups)
{
    struct world w;
    struct grants grants;

    world_init(&w, true);
    CHECK_OK(db_exec(w.db,
                     "INSERT INTO user_groups (id, name) VALUES (3, 'a'), (7, 'b');"
                     "INSERT INTO group_members (group_id, user_id) VALUES (3, 7)",
                     &test_err));
    assign(&w, 4, 7, 0, 5); /* Viewer in 5 */
    assign(&w, 5, 0, 3, 5); /* Editor in 5, by the group */
    assign(&w, 2, 7, 0, 6);
    assign(&w, 3, 0, 3, 0);                  /* WorkspaceCreator */
    assign(&w, ROLE_CLUSTER_ADMIN, 0, 7, 0); /* a group with the number of the user */
    grants = grants_of(&w, 7);
    CHECK_EQ(grants.count, 2);
    CHECK_EQ(grants.cluster, role_find(3)->mask);
    CHECK_EQ(grants.grant[0].workspace_id, 5);
    CHECK_EQ(grants.grant[0].mask, role_find(4)->mask | role_find(5)->mask);
    CHECK(grants_allow(&grants, PERMISSION_UPDATE_EXPERIMENT, 5));
    CHECK(grants_allow(&grants, PERMISSION_ASSIGN_ROLES, 6));
    CHECK(!grants_allow(&grants, PERMISSION_ASSIGN_ROLES, 5));
    CHECK(!grants_allow(&grants, PERMISSION_UPDATE_EXPERIMENT, 7));
    CHECK(!grants_allow(&grants, PERMISSION_UPDATE_EXPERIMENT, 0));
    CHECK(grants_allow(&grants, PERMISSION_CREATE_WORKSPACE, 0));
    world_done(&w);
}

TEST(a_role_that_is_unknown_here_allows_nothing)
{
    struct world w;
    struct grants grants;

    world_init(&w, true);
    assign(&w, 77, 7, 0, 0);
    assign(&w, 78, 7, 0, 2);
    grants = grants_of(&w, 7);
    CHECK_EQ(grants.cluster, 0);
    CHECK_EQ(grants.count, 1);
    CHECK_EQ(grants.grant[0].mask, 0);
    world_done(&w);
}

/* ---- groups -------------------------------------------------------------------------- */

static int64_t add_user(struct world *w, const char *name, bool is_admin)
{
    struct user user = {.username = name, .is_admin = is_admin, .is_active = true};
    int64_t id = 0;

    CHECK_OK(store_user_add(w->db, &user, &id, &test_err));
    return id;
}

TEST(a_group_has_members_once_and_leaves_nothing_behind)
{
    struct world w;
    struct group group;
    struct group *groups;
    struct user *users;
    struct group_query query = {0};
    uint32_t count = 0;
    bool was_member = false;
    int64_t ann, bob, id, other;

    world_init(&w, true);
    ann = add_user(&w, "ann", false);
    bob = add_user(&w, "bob", false);
    CHECK_OK(store_group_add(w.db, "readers", &id, &test_err));
    CHECK_EQ(store_group_add(w.db, "readers", &other, &test_err), DET_EXISTS);
    CHECK_HAS(test_err.text, "duplicate record");
    CHECK_OK(store_group_add(w.db, "writers", &other, &test_err));
    CHECK_EQ(store_group_rename(w.db, other, "readers", &test_err), DET_EXISTS);
    CHECK_EQ(store_group_rename(w.db, 99, "x", &test_err), DET_NOT_FOUND);
    CHECK_OK(store_group_join(w.db, id, bob, &test_err));
    CHECK_OK(store_group_join(w.db, id, ann, &test_err));
    CHECK_EQ(store_group_join(w.db, id, ann, &test_err), DET_EXISTS);
    CHECK_OK(store_group_get(w.db, id, &w.mem, &group, &test_err));
    CHECK_STR(group.name, "readers");
    CHECK_EQ(group.members, 2);
    CHECK_OK(store_user_list_of_group(w.db, id, &w.mem, &users, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_STR(users[0].username, "ann");
    query.user_id = bob;
    CHECK_OK(store_group_list(w.db, &query, &w.mem, &groups, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_EQ(groups[0].members, 2);
    query = (struct group_query){.name = "writers"};
    CHECK_OK(store_group_list(w.db, &query, &w.mem, &groups, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_EQ(groups[0].id, other);
    CHECK_OK(store_group_leave(w.db, id, ann, &was_member, &test_err));
    CHECK(was_member);
    CHECK_OK(store_group_leave(w.db, id, ann, &was_member, &test_err));
    CHECK(!was_member);
    assign(&w, 5, 0, id, 1);
    CHECK_OK(store_group_drop(w.db, id, &test_err));
    CHECK_EQ(store_group_drop(w.db, id, &test_err), DET_NOT_FOUND);
    CHECK_EQ(count_of(w.db, "group_members"), 0);
    CHECK_EQ(count_of(w.db, "role_assignments"), 0);
    world_done(&w);
}

/* ---- roles --------------------------------------------------------------------------- */

TEST(a_role_is_assigned_once_and_listed_by_what_it_concerns)
{
    struct role_assignment row = {.role_id = 5, .user_id = 7, .workspace_id = 3};
    struct role_assignment *rows;
    struct world w;
    uint32_t count = 0;

    world_init(&w, true);
    CHECK_OK(store_role_assign(w.db, &row, &test_err));
    CHECK_EQ(store_role_assign(w.db, &row, &test_err), DET_EXISTS);
    CHECK_OK(store_role_assign_creator(w.db, 3, 8, &test_err));
    assign(&w, 4, 0, 2, 3);
    assign(&w, 4, 0, 2, 0);
    CHECK_OK(db_exec(w.db,
                     "INSERT INTO group_members (group_id, user_id) VALUES (2, 8)",
                     &test_err));
    CHECK_OK(store_role_list(w.db, ROLES_OF_USER, 8, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 3);
    CHECK_EQ(rows[0].role_id, ROLE_WORKSPACE_ADMIN);
    CHECK_EQ(rows[1].workspace_id, 0);
    CHECK_OK(
        store_role_list(w.db, ROLES_OF_GROUP, 2, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_OK(
        store_role_list(w.db, ROLES_IN_WORKSPACE, 3, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 3);
    CHECK_OK(store_role_list(w.db, ROLES_BY_ROLE, 5, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_EQ(rows[0].user_id, 7);
    CHECK_OK(store_role_unassign(w.db, &row, &test_err));
    CHECK_EQ(store_role_unassign(w.db, &row, &test_err), DET_NOT_FOUND);
    CHECK_OK(store_roles_drop_of_workspace(w.db, 3, &test_err));
    CHECK_EQ(count_of(w.db, "role_assignments"), 1);
    world_done(&w);
}

TEST(administrators_are_counted_by_the_flag_or_by_the_role)
{
    struct world w;
    struct user user;
    int64_t ann, bob;
    const struct admin_rule basic = {.is_rbac = false};
    const struct admin_rule rbac = {.is_rbac = true};
    const struct admin_rule anywhere = {.counts_remote = true};
    int64_t count = -1;

    world_init(&w, true);
    ann = add_user(&w, "ann", true);
    bob = add_user(&w, "bob", false);
    CHECK_OK(store_user_count_admins(w.db, &basic, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_OK(store_user_count_admins(w.db, &rbac, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_OK(db_exec(w.db,
                     "INSERT INTO group_members (group_id, user_id) VALUES (2, 2)",
                     &test_err));
    CHECK_EQ(bob, 2);
    assign(&w, ROLE_CLUSTER_ADMIN, 0, 2, 0);
    assign(&w, ROLE_CLUSTER_ADMIN, bob, 0, 0);
    CHECK_OK(store_user_count_admins(w.db, &rbac, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_OK(store_user_get(w.db, ann, &w.mem, &user, &test_err));
    user.is_remote = true;
    CHECK_OK(store_user_put(w.db, &user, &test_err));
    CHECK_OK(store_user_count_admins(w.db, &basic, &count, &test_err));
    CHECK_EQ(count, 0);
    CHECK_OK(store_user_count_admins(w.db, &anywhere, &count, &test_err));
    CHECK_EQ(count, 1);
    user.is_active = false;
    CHECK_OK(store_user_put(w.db, &user, &test_err));
    CHECK_OK(store_user_count_admins(w.db, &basic, &count, &test_err));
    CHECK_EQ(count, 0);
    CHECK_OK(store_user_count_admins(w.db, &rbac, &count, &test_err));
    CHECK_EQ(count, 1);
    world_done(&w);
}

TEST(a_display_name_clashes_with_names_of_others_in_any_case)
{
    struct world w;
    const char *other = NULL;
    int64_t ann, bob;

    world_init(&w, true);
    ann = add_user(&w, "Ann", false);
    bob = add_user(&w, "bob", false);
    CHECK_OK(store_user_clash(w.db, bob, "aNN", &w.mem, &other, &test_err));
    CHECK_STR(other, "Ann");
    CHECK_OK(store_user_clash(w.db, ann, "aNN", &w.mem, &other, &test_err));
    CHECK(!other);
    world_done(&w);
}

/* ---- tokens and settings --------------------------------------------------------------- */

TEST(logins_end_but_access_tokens_stay_until_they_are_revoked)
{
    struct session row = {.created_us = 1,
                          .expires_us = 5,
                          .is_access_token = true,
                          .description = "robot"};
    struct access_token *rows;
    struct access_token found;
    struct world w;
    const char *nonce = NULL;
    uint32_t count = 0;
    int64_t id = 0;

    world_init(&w, true);
    row.user_id = add_user(&w, "ann", false);
    (void)add_user(&w, "bob", false);
    CHECK_OK(store_session_add(w.db, &row, &w.mem, &id, &nonce, &test_err));
    CHECK_OK(store_session_drop(w.db, id, &test_err));
    CHECK_OK(store_sessions_drop_of(w.db, row.user_id, &test_err));
    CHECK_OK(store_sessions_expire(w.db, 100, &test_err));
    CHECK_OK(store_access_token_list(w.db, 0, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_STR(rows[0].username, "ann");
    CHECK_STR(rows[0].description, "robot");
    CHECK_OK(store_access_token_list(w.db, 2, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 0);
    CHECK_OK(store_access_tokens_revoke_of(w.db, row.user_id, &test_err));
    CHECK_OK(store_access_token_get(w.db, id, &w.mem, &found, &test_err));
    CHECK(found.is_revoked);
    CHECK_EQ(store_access_token_get(w.db, 99, &w.mem, &found, &test_err),
             DET_NOT_FOUND);
    CHECK_STR(test_err.text, "Token with id: {99} not found");
    world_done(&w);
}

TEST(a_setting_is_replaced_and_removed)
{
    struct user_setting row = {
        .user_id = 7, .storage_path = "a", .key = "k", .value = "1"};
    struct user_setting *rows;
    struct world w;
    uint32_t count = 0;

    world_init(&w, true);
    CHECK_OK(store_user_setting_put(w.db, &row, &test_err));
    row.value = "2";
    CHECK_OK(store_user_setting_put(w.db, &row, &test_err));
    row.key = "l";
    CHECK_OK(store_user_setting_put(w.db, &row, &test_err));
    CHECK_OK(store_user_setting_list(w.db, 7, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 2);
    CHECK_STR(rows[0].value, "2");
    row.value = NULL;
    CHECK_OK(store_user_setting_put(w.db, &row, &test_err));
    CHECK_OK(store_user_setting_list(w.db, 7, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 1);
    CHECK_OK(store_user_settings_drop(w.db, 7, &test_err));
    CHECK_OK(store_user_setting_list(w.db, 7, &w.mem, &rows, &count, &test_err));
    CHECK_EQ(count, 0);
    world_done(&w);
}
