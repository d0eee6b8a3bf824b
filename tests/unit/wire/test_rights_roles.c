/* SPDX-License-Identifier: Apache-2.0 */
/* test_rights_roles.c - nobody gives more than the giver has; own tokens; mode basic. */
#include "model/permission.h"
#include "tests/support/test.h"
#include "wire/rights.h"

#define BIT(name) (UINT64_C(1) << PERMISSION_##name)

static struct caller with_grants(const struct grants *grants)
{
    return (struct caller){.kind = CALLER_USER, .user_id = 7, .grants = grants};
}

TEST(a_role_is_given_only_by_somebody_who_may_do_all_of_it)
{
    const struct grant grant = {.workspace_id = 3,
                                .mask = BIT(ASSIGN_ROLES) | BIT(VIEW_WORKSPACE)};
    const struct grants grants = {
        .cluster = BIT(VIEW_PROJECT), .grant = &grant, .count = 1};
    struct caller caller = with_grants(&grants);

    CHECK(rights_may_give(&caller, BIT(VIEW_WORKSPACE), 3));
    CHECK(rights_may_give(&caller, BIT(VIEW_WORKSPACE) | BIT(VIEW_PROJECT), 3));
    CHECK(!rights_may_give(&caller, BIT(VIEW_WORKSPACE) | BIT(UPDATE_WORKSPACE), 3));
    CHECK(!rights_may_give(&caller, BIT(VIEW_WORKSPACE), 4));
    CHECK(!rights_may_give(&caller, BIT(VIEW_WORKSPACE), 0));
    CHECK(rights_may_give(&caller, BIT(VIEW_PROJECT), 0));
    CHECK(!rights_may_give(&caller, role_find(ROLE_WORKSPACE_ADMIN)->mask, 3));
}

TEST(in_mode_basic_administrators_give_all_roles_and_others_none)
{
    struct caller caller = with_grants(NULL);

    CHECK(!rights_may_give(&caller, BIT(VIEW_WORKSPACE), 3));
    caller.is_admin = true;
    CHECK(rights_may_give(&caller, role_find(ROLE_CLUSTER_ADMIN)->mask, 0));
}

TEST(the_rights_on_own_tokens_have_their_own_names)
{
    const struct grants grants = {.cluster = BIT(CREATE_TOKEN) | BIT(UPDATE_TOKEN)};
    struct caller caller = with_grants(&grants);
    struct rights_object own = {.kind = ROUTE_OBJECT_user, .owner_id = 7};
    struct rights_object other = {.kind = ROUTE_OBJECT_user, .owner_id = 8};
    struct rights_object own_token = {.kind = ROUTE_OBJECT_token, .owner_id = 7};
    struct rights_object other_token = {.kind = ROUTE_OBJECT_token, .owner_id = 8};
    const struct route *create = &routes[ROUTE_ID_create_token];
    const struct route *patch = &routes[ROUTE_ID_patch_token];

    CHECK_EQ(rights_decide(create, &caller, &own), RIGHTS_ALLOWED);
    CHECK_EQ(rights_decide(create, &caller, &other), RIGHTS_FORBIDDEN);
    CHECK_EQ(rights_decide(patch, &caller, &own_token), RIGHTS_ALLOWED);
    CHECK_EQ(rights_decide(patch, &caller, &other_token), RIGHTS_FORBIDDEN);
}

TEST(a_token_of_a_run_gives_nobody_lasting_access)
{
    static const enum route_id lasting[] = {
        ROUTE_ID_set_password,  ROUTE_ID_patch_user,           ROUTE_ID_patch_users,
        ROUTE_ID_create_user,   ROUTE_ID_create_token,         ROUTE_ID_patch_token,
        ROUTE_ID_create_group,  ROUTE_ID_update_group,         ROUTE_ID_delete_group,
        ROUTE_ID_assign_groups, ROUTE_ID_add_role_assignments,
    };
    struct caller run = {
        .kind = CALLER_USER, .user_id = 7, .is_admin = true, .run_of = 1};
    const struct rights_object self = {.kind = ROUTE_OBJECT_user, .owner_id = 7};
    const struct rights_object own = {.kind = ROUTE_OBJECT_experiment, .owner_id = 7};

    for (size_t i = 0; i < ARRAY_LEN(lasting); i++) {
        const struct route *row = &routes[lasting[i]];

        CHECK_EQ(rights_admit(row, &run), RIGHTS_FORBIDDEN);
        CHECK_EQ(rights_decide(row, &run, &self), RIGHTS_FORBIDDEN);
    }
    for (int i = 0; i < rights_field_rule_count; i++) {
        struct route row = routes[rights_field_rules[i].route];

        if (strcmp(rights_field_rules[i].field, "agentUserGroup"))
            continue;
        row.who = rights_field_rules[i].who;
        row.permission = rights_field_rules[i].permission;
        CHECK_EQ(rights_decide(&row, &run, &self), RIGHTS_FORBIDDEN);
    }
    CHECK_EQ(rights_decide(&routes[ROUTE_ID_kill_experiment], &run, &own),
             RIGHTS_ALLOWED);
    run.runs_other_code = true;
    CHECK_EQ(rights_decide(&routes[ROUTE_ID_kill_experiment], &run, &own),
             RIGHTS_FORBIDDEN);
    CHECK_EQ(rights_admit(&routes[ROUTE_ID_create_experiment], &run), RIGHTS_FORBIDDEN);
    CHECK_EQ(rights_decide(&routes[ROUTE_ID_get_experiment], &run, &own),
             RIGHTS_ALLOWED);
}

TEST(two_users_together_may_do_what_each_of_them_may)
{
    const struct grant few[] = {{1, BIT(VIEW_PROJECT) | BIT(VIEW_WORKSPACE)},
                                {2, BIT(VIEW_PROJECT)}};
    const struct grant other[] = {{1, BIT(VIEW_PROJECT)}, {3, BIT(UPDATE_PROJECT)}};
    const struct grants a = {BIT(UPDATE_PROJECT), few, 2};
    const struct grants b = {BIT(VIEW_WORKSPACE), other, 2};
    struct grant room[4];
    struct grants both = grants_meet(&a, &b, room);

    CHECK(grants_allow(&both, PERMISSION_VIEW_PROJECT, 1));
    CHECK(grants_allow(&both, PERMISSION_VIEW_WORKSPACE, 1));
    CHECK(!grants_allow(&both, PERMISSION_VIEW_PROJECT, 2));
    CHECK(grants_allow(&both, PERMISSION_UPDATE_PROJECT, 3));
    CHECK(!grants_allow(&both, PERMISSION_UPDATE_PROJECT, 1));
    CHECK(!grants_allow(&both, PERMISSION_VIEW_WORKSPACE, 0));
}

TEST(the_route_table_says_who_has_a_permission_in_mode_basic)
{
    CHECK_EQ(rights_in_basic(PERMISSION_VIEW_EXPERIMENT_METADATA), RIGHTS_OF_ALL);
    CHECK_EQ(rights_in_basic(PERMISSION_DELETE_EXPERIMENT), RIGHTS_OF_OWNER);
    CHECK_EQ(rights_in_basic(PERMISSION_ADMINISTRATE_USER), RIGHTS_OF_ADMINS);
    CHECK_EQ(rights_in_basic(PERMISSION_ADMINISTRATE_OAUTH), RIGHTS_NOT_USED);
}
