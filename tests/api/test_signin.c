/* SPDX-License-Identifier: Apache-2.0 */
/* Sign-in of a command line with a browser.  tests/e2e has providers and directories. */
#include "tests/api/script.h"

/* The example of RFC 7636. */
#define VERIFIER  "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define CHALLENGE "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
#define DEVICES   "/api/v1/det/signin/devices"
#define REDEEM    "/api/v1/det/signin/redeem"

TEST(a_device_gets_a_session_when_a_person_allows_it)
{
    static const struct step steps[] = {
        POST("begin", DEVICES,
             "{'challenge': '" CHALLENGE "', 'host': 'box\\u001b[31m'}", 200,
             "code?; userCode?; expiresIn=600", NOBODY),
        GET("look", DEVICES "/${begin.userCode}", 200,
            "host=box[31m; userCode=${begin.userCode}; createdAt?; code!"),
        GET("strangers", DEVICES "/${begin.userCode}", 401, NULL, NOBODY),
        POST("strangers do not decide", DEVICES "/${begin.userCode}",
             "{'isAllowed': true}", 401, NULL, NOBODY),
        POST("no decision", DEVICES "/${begin.userCode}", "{}", 400,
             "error.error~isAllowed"),
        POST("allow", DEVICES "/${begin.userCode}", "{'isAllowed': true}", 200, NULL),
        POST("once", DEVICES "/${begin.userCode}", "{'isAllowed': true}", 404, NULL),
        POST("redeem", REDEEM, "{'code': '${begin.code}', 'verifier': '" VERIFIER "'}",
             200, "user.username=determined; token?", NOBODY),
        POST("used", REDEEM, "{'code': '${begin.code}', 'verifier': '" VERIFIER "'}",
             401, "error.error~unknown, used or expired", NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_code_is_worth_nothing_without_its_verifier)
{
    static const struct step steps[] = {
        POST("no session", "/api/v1/det/signin/codes", "{'challenge': '" CHALLENGE "'}",
             401, NULL, NOBODY),
        POST("no challenge", "/api/v1/det/signin/codes", "{}", 400, NULL),
        POST("bad challenge", "/api/v1/det/signin/codes", "{'challenge': 'x'}", 400,
             "error.error~SHA-256"),
        POST("code", "/api/v1/det/signin/codes", "{'challenge': '" CHALLENGE "'}", 200,
             "code?"),
        POST("short", REDEEM, "{'code': '${code.code}', 'verifier': 'x'}", 400, NULL,
             NOBODY),
        POST("stolen", REDEEM, "{'code': '${code.code}', 'verifier': '" CHALLENGE "'}",
             401, NULL, NOBODY),
        POST("burnt", REDEEM, "{'code': '${code.code}', 'verifier': '" VERIFIER "'}",
             401, NULL, NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(a_refused_device_is_told_so)
{
    static const struct step steps[] = {
        POST("begin", DEVICES, "{'challenge': '" CHALLENGE "'}", 200, NULL, NOBODY),
        POST("refuse", DEVICES "/${begin.userCode}", "{'isAllowed': false}", 200, NULL),
        POST("told", REDEEM, "{'code': '${begin.code}', 'verifier': '" VERIFIER "'}",
             403, "error.error~refused", NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}

TEST(without_a_provider_there_is_no_sign_in_through_one)
{
    static const struct step steps[] = {
        GET("login", "/oidc/login", 404, "error.error~no identity provider", NOBODY),
        GET("callback", "/oidc/callback?code=a&state=b", 404,
            "error.error~no identity provider", NOBODY),
        GET("info", "/info", 200, "sso_providers#0; plain_passwords=false", NOBODY),
        GET("master", "/api/v1/master", 200, "ssoProviders#0; plainPasswords=false",
            NOBODY),
        END_STEPS};
    BED(bed, NULL);

    bed_play(bed, steps);
}
