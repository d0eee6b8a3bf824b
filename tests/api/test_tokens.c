/* SPDX-License-Identifier: Apache-2.0 */
/* Access tokens: sessions for programs. */
#include "base/compiler.h"
#include "tests/api/script.h"

static const int64_t DAY_US = 86400LL * 1000000;

/* From here on OTHER speaks with the token of the step `name`. */
static void speak_with(struct bed *bed, const char *name)
{
    bed->other = arena_strdup(&bed->mem,
                              bed_get(bed, arena_printf(&bed->mem, "%s.token", name)));
}

static int status_of(struct bed *bed, const char *path)
{
    return bed_call(bed, OTHER, NET_GET, path, NULL).status;
}

TEST(a_token_acts_as_its_user_until_it_is_revoked)
{
    static const struct step create[] = {
        POST("robot", "/api/v1/tokens",
             "{'userId': 2, 'description': 'nightly', 'lifespan': '48h'}", 200,
             "token?; tokenId?", ADMIN),
        END_STEPS};
    static const struct step use[] = {
        GET("who", "/api/v1/me", 200, "user.username=determined", OTHER),
        GET("list", "/api/v1/tokens", 200,
            "tokenInfo#1; tokenInfo.0.description=nightly; tokenInfo.0.userId=2; "
            "tokenInfo.0.tokenType=TOKEN_TYPE_ACCESS_TOKEN; tokenInfo.0.revoked=false; "
            "tokenInfo.0.expiry?; tokenInfo.0.createdAt?; tokenInfo.0.token!",
            ADMIN),
        POST("no session from it", "/api/v1/det/signin/codes",
             "{'challenge': 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'}", 403,
             "error.error~own session", OTHER),
        POST("logout", "/api/v1/auth/logout", NULL, 200, NULL, OTHER),
        GET("still valid", "/api/v1/me", 200, NULL, OTHER),
        PATCH("password", "/api/v1/users/2", "{'password': 'New-Word-22'}", 200, NULL),
        GET("survives a password", "/api/v1/me", 200, NULL, OTHER),
        PATCH("not yours", "/api/v1/tokens/${robot.tokenId}", "{'setRevoked': true}",
              403, NULL, OTHER),
        PATCH("describe", "/api/v1/tokens/${robot.tokenId}", "{'description': 'daily'}",
              200, "tokenInfo.description=daily; tokenInfo.revoked=false", ADMIN),
        PATCH("revoke", "/api/v1/tokens/${robot.tokenId}", "{'setRevoked': true}", 200,
              "tokenInfo.description=daily; tokenInfo.revoked=true", ADMIN),
        GET("revoked", "/api/v1/me", 401, "error.error~revoked", OTHER),
        PATCH("inactive", "/api/v1/tokens/${robot.tokenId}", "{'description': 'x'}",
              400, "error.error~unable to update inactive token with ID", ADMIN),
        GET("not listed", "/api/v1/tokens", 200, "tokenInfo#0", ADMIN),
        GET("listed", "/api/v1/tokens?showInactive=true", 200,
            "tokenInfo#1; tokenInfo.0.revoked=true", ADMIN),
        PATCH("unknown", "/api/v1/tokens/99", "{'setRevoked': true}", 404,
              "error.error~99", ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, create);
    speak_with(bed, "robot");
    bed_play(bed, use);
}

TEST(lifespans_are_limited)
{
    static const struct {
        const char *lifespan;
        int status;
    } cases[] = {{"720h", 200},
                 {"-1", 200},
                 {"", 200},
                 {"1h30m", 200},
                 {"721h", 400},
                 {"-2", 400},
                 {"-1h", 400},
                 {"0", 400},
                 {"30", 400},
                 {"30d", 400},
                 {"soon", 400},
                 {"1e9h", 400},
                 {"99999999999999h", 400}};
    BED(bed, NULL);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *body = arena_printf(
            &bed->mem, "{\"userId\": 1, \"lifespan\": \"%s\"}", cases[i].lifespan);
        struct reply reply = bed_call(bed, ADMIN, NET_POST, "/api/v1/tokens", body);

        CHECK_EQ(reply.status, cases[i].status);
    }
}

TEST(a_token_expires)
{
    static const struct step steps[] = {
        POST("short", "/api/v1/tokens", "{'userId': 2, 'lifespan': '1h'}", 200, NULL,
             ADMIN),
        POST("usual", "/api/v1/tokens", "{'userId': 1}", 200, NULL, ADMIN), END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
    speak_with(bed, "short");
    bed->wall_offset_us = 3600LL * 1000000 - 10 * 1000000;
    CHECK_EQ(status_of(bed, "/api/v1/me"), 200);
    bed->wall_offset_us = 3600LL * 1000000 + 10 * 1000000;
    CHECK_EQ(status_of(bed, "/api/v1/me"), 401);
    speak_with(bed, "usual");
    bed->wall_offset_us = 30 * DAY_US - 60 * 1000000LL;
    CHECK_EQ(status_of(bed, "/api/v1/me"), 200);
    CHECK_EQ(status_of(bed, "/api/v1/tokens"), 200);
    bed->wall_offset_us = 30 * DAY_US + 60 * 1000000LL;
    CHECK_EQ(status_of(bed, "/api/v1/me"), 401);
}

TEST(an_expired_token_stays_in_the_list_after_a_restart)
{
    static const struct step create[] = {POST("short", "/api/v1/tokens",
                                              "{'userId': 1, 'lifespan': '1h'}", 200,
                                              NULL, ADMIN),
                                         END_STEPS};
    static const struct step look[] = {
        GET("none", "/api/v1/tokens", 200, "tokenInfo#0", ADMIN),
        GET("one", "/api/v1/tokens?showInactive=true", 200,
            "tokenInfo#1; tokenInfo.0.revoked=false", ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, create);
    bed->wall_offset_us = 2LL * 3600 * 1000000;
    bed_restart(bed);
    bed_play(bed, look);
}

TEST(deactivation_revokes_tokens)
{
    static const struct step steps[] = {
        POST("robot", "/api/v1/tokens", "{'userId': 2}", 200, NULL, ADMIN),
        PATCH("off", "/api/v1/users/2", "{'active': false}", 200, NULL, ADMIN),
        POST("for nobody", "/api/v1/tokens", "{'userId': 2}", 400,
             "error.error~is not active", ADMIN),
        PATCH("on", "/api/v1/users/2", "{'active': true}", 200, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
    speak_with(bed, "robot");
    CHECK_EQ(status_of(bed, "/api/v1/me"), 401);
}

TEST(users_see_their_own_tokens_and_only_administrators_make_them)
{
    static const struct step steps[] = {
        POST("own", "/api/v1/tokens", "{'userId': 2}", 403, NULL),
        POST("another's", "/api/v1/tokens", "{'userId': 1}", 403, NULL),
        POST("a", "/api/v1/tokens", "{'userId': 1, 'description': 'b'}", 200, NULL,
             ADMIN),
        POST("b", "/api/v1/tokens", "{'userId': 2, 'description': 'a'}", 200, NULL,
             ADMIN),
        POST("unknown user", "/api/v1/tokens", "{'userId': 99}", 404, NULL, ADMIN),
        POST("control", "/api/v1/tokens", "{'userId': 1, 'description': 'a\\u001bb'}",
             400, NULL, ADMIN),
        GET("mine", "/api/v1/tokens", 200, "tokenInfo#1; tokenInfo.0.userId=2"),
        GET("mine by name", "/api/v1/tokens?username=determined", 200, "tokenInfo#1"),
        GET("yours", "/api/v1/tokens?username=admin", 403, NULL),
        GET("nobody's", "/api/v1/tokens?username=eve", 404, NULL),
        GET("all", "/api/v1/tokens", 200, "tokenInfo#2; pagination.total=2", ADMIN),
        GET("sorted", "/api/v1/tokens?sortBy=SORT_BY_DESCRIPTION", 200,
            "tokenInfo.0.description=a", ADMIN),
        GET("backwards",
            "/api/v1/tokens?sortBy=SORT_BY_USER_ID&orderBy=ORDER_BY_DESC&limit=1", 200,
            "tokenInfo#1; tokenInfo.0.userId=2", ADMIN),
        GET("by id", "/api/v1/tokens?tokenIds=${a.tokenId}", 200,
            "tokenInfo#1; tokenInfo.0.userId=1", ADMIN),
        GET("unknown order", "/api/v1/tokens?sortBy=SORT_BY_COLOUR", 400, NULL, ADMIN),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(in_mode_rbac_a_token_creator_makes_tokens_for_itself)
{
    static const struct step steps[] = {
        POST("before", "/api/v1/tokens", "{'userId': 2}", 403, NULL),
        POST("role", "/api/v1/roles/add-assignments",
             "{'userRoleAssignments': [{'userId': 2, 'roleAssignment':"
             " {'role': {'roleId': 10}, 'scopeCluster': true}}]}",
             200, NULL, ADMIN),
        POST("own", "/api/v1/tokens", "{'userId': 2}", 200, NULL),
        POST("another's", "/api/v1/tokens", "{'userId': 1}", 403, NULL),
        POST("admin's", "/api/v1/tokens", "{'userId': 1}", 200, NULL, ADMIN),
        GET("own list", "/api/v1/tokens", 200, "tokenInfo#1; tokenInfo.0.userId=2"),
        PATCH("not another's", "/api/v1/tokens/${admin's.tokenId}",
              "{'setRevoked': true}", 403, NULL),
        PATCH("own revoked", "/api/v1/tokens/${own.tokenId}", "{'setRevoked': true}",
              200, "tokenInfo.revoked=true"),
        END_STEPS};
    BED(bed, "security: {authz: {type: rbac}}\n");

    bed_play(bed, steps);
}
