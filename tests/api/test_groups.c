/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of users, the list of users, and the settings of one. */
#include "base/compiler.h"
#include "tests/api/script.h"

#define ADD_ANN                                                                        \
    POST("ann", "/api/v1/users",                                                       \
         "{'user': {'username': 'ann', 'displayName': 'Ann Example'},"                 \
         " 'password': 'Secret-Word-1'}",                                              \
         200, "user.id=3; user.agentUserGroup!", ADMIN)

TEST(administrators_keep_groups_and_everybody_reads_them)
{
    static const struct step steps[] = {
        ADD_ANN,
        POST("add", "/api/v1/groups", "{'name': ' readers ', 'addUsers': [2]}", 200,
             "group.name=readers; group.users#1; group.users.0.username=determined",
             ADMIN),
        POST("twice", "/api/v1/groups", "{'name': 'readers'}", 409,
             "error.error~duplicate record", ADMIN),
        POST("no administrator", "/api/v1/groups", "{'name': 'mine'}", 403, NULL),
        POST("unknown user", "/api/v1/groups", "{'name': 'x', 'addUsers': [99]}", 404,
             NULL, ADMIN),
        POST("all or nothing", "/api/v1/groups/search", "{'name': 'x', 'limit': 5}",
             200, "groups#0; pagination.total=0"),
        GET("read", "/api/v1/groups/${add.group.groupId}", 200, "group.users#1"),
        GET("unknown", "/api/v1/groups/99", 404, NULL),
        GET("no number", "/api/v1/groups/readers", 400, NULL),
        PUT("change", "/api/v1/groups/${add.group.groupId}",
            "{'groupId': ${add.group.groupId}, 'name': 'editors', 'addUsers': [3],"
            " 'removeUsers': [2]}",
            200, "group.name=editors; group.users#1; group.users.0.username=ann",
            ADMIN),
        PUT("twice a member", "/api/v1/groups/${add.group.groupId}",
            "{'addUsers': [3]}", 409, NULL, ADMIN),
        PUT("no member", "/api/v1/groups/${add.group.groupId}", "{'removeUsers': [2]}",
            404, "error.error~none of these users", ADMIN),
        PUT("another group", "/api/v1/groups/${add.group.groupId}", "{'groupId': 99}",
            400, NULL, ADMIN),
        PUT("no right", "/api/v1/groups/${add.group.groupId}", "{'addUsers': [2]}", 403,
            NULL),
        PUT("unknown to change", "/api/v1/groups/99", "{'name': 'x'}", 404, NULL,
            ADMIN),
        POST("of ann", "/api/v1/groups/search", "{'userId': 3, 'limit': 500}", 200,
             "groups#1; groups.0.group.name=editors; groups.0.numMembers=1"),
        POST("of another", "/api/v1/groups/search", "{'userId': 2, 'limit': 500}", 200,
             "groups#0"),
        POST("no limit", "/api/v1/groups/search", "{}", 400,
             "error.error=Bad request: limit is required and must be <= 500"),
        POST("too many", "/api/v1/groups/search", "{'limit': 501}", 400, NULL),
        DELETE("not yours", "/api/v1/groups/${add.group.groupId}", 403, NULL),
        DELETE("away", "/api/v1/groups/${add.group.groupId}", 200, NULL, ADMIN),
        DELETE("away again", "/api/v1/groups/${add.group.groupId}", 404, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_group_has_a_proper_name)
{
    static const char *const names[] = {
        "",
        "   ",
        "a\\nb",
        "a\\u009b2Jb",
        "..\\\\etc",
        "../etc",
        "..",
        "a/b",
        "3DeterminedPersonalGroup",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    BED(bed, NULL);

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *body = arena_printf(&bed->mem, "{\"name\": \"%s\"}", names[i]);
        struct reply reply = bed_call(bed, ADMIN, NET_POST, "/api/v1/groups", body);

        CHECK_EQ(reply.status, 400);
    }
    CHECK_HAS(
        bed_call(bed, ADMIN, NET_POST, "/api/v1/groups/search", "{\"limit\": 9}").text,
        "\"groups\":[]"); /* none was added */
}

TEST(users_join_and_leave_many_groups_at_once)
{
    static const struct step steps[] = {
        ADD_ANN,
        POST("a", "/api/v1/groups", "{'name': 'a', 'addUsers': [2]}", 200, NULL, ADMIN),
        POST("b", "/api/v1/groups", "{'name': 'b', 'addUsers': [2]}", 200, NULL, ADMIN),
        PATCH("not yours", "/api/v1/users/assignments", "{'userIds': [2]}", 403, NULL),
        PATCH("move", "/api/v1/users/assignments",
              "{'userIds': [2, 3], 'addGroups': [${a.group.groupId}],"
              " 'removeGroups': [${b.group.groupId}]}",
              200, NULL, ADMIN),
        GET("all in", "/api/v1/groups/${a.group.groupId}", 200, "group.users#2"),
        GET("all out", "/api/v1/groups/${b.group.groupId}", 200, "group.users#0"),
        PATCH(
            "unknown group", "/api/v1/users/assignments",
            "{'userIds': [2], 'removeGroups': [${a.group.groupId}], 'addGroups': [99]}",
            404, NULL, ADMIN),
        GET("nothing changed", "/api/v1/groups/${a.group.groupId}", 200,
            "group.users#2"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

/* ---- users ----------------------------------------------------------------------------- */

TEST(the_list_of_users_is_sorted_and_filtered)
{
    static const struct step steps[] = {
        ADD_ANN,
        GET("by name", "/api/v1/users?sortBy=SORT_BY_USER_NAME&orderBy=ORDER_BY_DESC",
            200,
            "users.0.username=determined; users.1.username=ann; "
            "users.2.username=admin"),
        GET("by admin", "/api/v1/users?sortBy=SORT_BY_ADMIN&orderBy=ORDER_BY_DESC", 200,
            "users.0.username=admin; users.1.id=2; users.2.id=3"),
        GET("by shown name", "/api/v1/users?sortBy=SORT_BY_NAME", 200,
            "users.0.username=admin; users.1.username=ann"),
        GET("unknown order", "/api/v1/users?sortBy=SORT_BY_AGE", 400,
            "error.error~SORT_BY_AGE"),
        GET("by display name", "/api/v1/users?name=EXAMPLE", 200,
            "users#1; users.0.id=3"),
        GET("by role", "/api/v1/users?roleIdAssignedDirectlyToUser=1", 400,
            "error.error=cannot filter by role id. RBAC must be enabled."),
        GET("the caller", "/api/v1/auth/user", 200, "user.username=determined"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(names_of_users_are_checked)
{
    static const struct step steps[] = {
        ADD_ANN,
        POST("too short", "/api/v1/users", "{'user': {'username': 'a'}}", 400, NULL,
             ADMIN),
        POST("trimmed", "/api/v1/users", "{'user': {'username': '  bob b$ '}}", 200,
             "user.username=bob b$", ADMIN),
        GET("by its path", "/api/v1/users/bob%20b$/by-username", 200, "user.id=4"),
        POST("umlaut", "/api/v1/users", "{'user': {'username': 'j\\u00f6rg'}}", 400,
             "error.error~non-ASCII", ADMIN),
        POST("control", "/api/v1/users", "{'user': {'username': 'ab\\tc'}}", 400, NULL,
             ADMIN),
        POST("path", "/api/v1/users", "{'user': {'username': '../etc'}}", 400, NULL,
             ADMIN),
        POST("long", "/api/v1/users",
             "{'user': {'username': "
             "'12345678901234567890123456789012345678901234567890123456789012345'}}",
             400, "error.error~2 to 64 characters", ADMIN),
        POST("admin", "/api/v1/users", "{'user': {'username': 'ADMIN'}}", 400,
             "error.error=Non-admin user cannot be renamed 'admin'", ADMIN),
        POST("determined", "/api/v1/users", "{'user': {'username': 'Determined'}}", 400,
             NULL, ADMIN),
        PATCH("display admin", "/api/v1/users/3", "{'displayName': 'Admin'}", 400, NULL,
              ADMIN),
        PATCH("another's name", "/api/v1/users/3", "{'displayName': 'BOB B$'}", 400,
              "error.error~is the name of user 'bob b$'", ADMIN),
        PATCH("another's display name", "/api/v1/users/4",
              "{'displayName': 'ann example'}", 400, NULL, ADMIN),
        PATCH("cleared", "/api/v1/users/3", "{'displayName': ''}", 200,
              "user.displayName=", ADMIN),
        PATCH("own name", "/api/v1/users/2", "{'displayName': 'D'}", 200,
              "user.displayName=D"),
        PATCH("own login", "/api/v1/users/2", "{'username': 'dana'}", 200,
              "user.username=dana"),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(the_last_administrator_stays)
{
    static const struct step steps[] = {
        PATCH("off", "/api/v1/users/1", "{'active': false}", 400,
              "error.error~no active administrator", ADMIN),
        PATCH("demoted", "/api/v1/users/1", "{'admin': false}", 400, NULL, ADMIN),
        PATCH("remote, and no service signs in", "/api/v1/users/1", "{'remote': true}",
              400, "error.error~who can sign in", ADMIN),
        PATCH("in bulk", "/api/v1/users", "{'userIds': [1, 2, 99], 'activate': false}",
              200,
              "results#3; results.0.error~no active administrator; results.1.error=; "
              "results.2.error~not found",
              ADMIN),
        GET("still there", "/api/v1/me", 200, "user.admin=true; user.active=true",
            ADMIN),
        GET("the other is off", "/api/v1/me", 401, NULL),
        PATCH("no change", "/api/v1/users", "{'userIds': [1]}", 400, NULL, ADMIN),
        PATCH("on again", "/api/v1/users", "{'userIds': [2], 'activate': true}", 200,
              "results.0.error=", ADMIN),
        PATCH("another", "/api/v1/users/2", "{'admin': true}", 200, "user.admin=true",
              ADMIN),
        PATCH("now it works", "/api/v1/users/1", "{'admin': false}", 200,
              "user.admin=false", ADMIN),
        PATCH("no longer", "/api/v1/users", "{'userIds': [2], 'activate': false}", 403,
              NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(remote_users_have_no_password_here)
{
    static const struct step steps[] = {
        POST("with a password", "/api/v1/users",
             "{'user': {'username': 'far', 'remote': true}, 'password': "
             "'Secret-Word-1'}",
             400, "error.error=cannot set password for remote user", ADMIN),
        POST("far", "/api/v1/users", "{'user': {'username': 'far', 'remote': true}}",
             200, "user.remote=true; user.id=3", ADMIN),
        POST("login", "/api/v1/auth/login", "{'username': 'far', 'password': ''}", 401,
             NULL, NOBODY),
        PATCH("password", "/api/v1/users/3", "{'password': 'Secret-Word-1'}", 400, NULL,
              ADMIN),
        PATCH("rename", "/api/v1/users/3", "{'username': 'near'}", 400, NULL, ADMIN),
        PATCH("local", "/api/v1/users/3",
              "{'remote': false, 'password': 'Secret-Word-1'}", 200,
              "user.remote=false", ADMIN),
        POST("local login", "/api/v1/auth/login",
             "{'username': 'far', 'password': 'Secret-Word-1'}", 200, NULL, NOBODY),
        PATCH("remote", "/api/v1/users/3", "{'remote': true}", 200, "user.remote=true",
              ADMIN),
        POST("no more", "/api/v1/auth/login",
             "{'username': 'far', 'password': 'Secret-Word-1'}", 401, NULL, NOBODY),
        PATCH("not yourself", "/api/v1/users/2", "{'remote': true}", 403, NULL),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(settings_belong_to_their_user)
{
    static const struct step steps[] = {
        POST("put", "/api/v1/users/setting",
             "{'settings': [{'key': 'rows', 'storagePath': 'table', 'value': '20'},"
             " {'key': 'theme', 'value': 'dark'}]}",
             200, NULL),
        GET("mine", "/api/v1/users/setting", 200,
            "settings#2; settings.0.key=theme; settings.0.storagePath=; "
            "settings.1.value=20"),
        GET("not yours", "/api/v1/users/setting", 200, "settings#0", ADMIN),
        POST("replace", "/api/v1/users/setting",
             "{'settings': [{'key': 'rows', 'storagePath': 'table', 'value': '50'},"
             " {'key': 'theme'}]}",
             200, NULL),
        GET("replaced", "/api/v1/users/setting", 200,
            "settings#1; settings.0.value=50"),
        POST("no key", "/api/v1/users/setting", "{'settings': [{'value': '1'}]}", 400,
             NULL),
        POST("empty key", "/api/v1/users/setting", "{'settings': [{'key': ''}]}", 400,
             NULL),
        POST("reset", "/api/v1/users/setting/reset", NULL, 200, NULL),
        GET("gone", "/api/v1/users/setting", 200, "settings#0"),
        GET("nobody", "/api/v1/users/setting", 401, NULL, NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}
