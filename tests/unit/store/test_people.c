/* SPDX-License-Identifier: Apache-2.0 */
/* test_people.c - groups, role assignments and what they allow. */
#include "model/permission.h"
#include "store/people/grants.h"
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
