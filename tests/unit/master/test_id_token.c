/* SPDX-License-Identifier: Apache-2.0 */
/* id_token.h: each claim, right and wrong. */
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "master/signin/id_token.h"
#include "tests/support/test.h"

static struct arena mem = ARENA_INIT(1 << 20);

#define GOOD                                                                           \
    "\"iss\":\"https://idp\",\"aud\":\"det\",\"exp\":1600,\"iat\":1000,"               \
    "\"nonce\":\"n\",\"sub\":\"42\""

static const struct id_token_want want = {
    .issuer = "https://idp",
    .client_id = "det",
    .nonce = "n",
    .access_token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y",
    .now_s = 1000};

/* The members of `changed` replace those of the good token; null removes one. */
static det_status check(const char *changed, struct err *err)
{
    const char *text = "{" GOOD "}";
    struct json *claims, *changes;

    changed = arena_printf(&mem, "{%s}", changed);
    CHECK_OK(json_parse(text, strlen(text), &mem, &claims, &test_err));
    CHECK_OK(json_parse(changed, strlen(changed), &mem, &changes, &test_err));
    json_each(change, changes) {
        if (change->kind == JSON_NULL)
            CHECK(json_remove(claims, change->key) || true);
        else
            json_set(&mem, claims, change->key, json_copy(&mem, change));
    }
    return id_token_check(claims, &want, err);
}

TEST(a_token_for_this_sign_in_is_accepted)
{
    static const char *const rows[] = {
        "",
        "\"aud\":[\"det\"]",
        "\"aud\":[\"other\",\"det\"],\"azp\":\"det\"",
        "\"azp\":\"det\"",
        "\"exp\":941",
        "\"iat\":1060,\"nbf\":1060",
        "\"at_hash\":\"77QmUPtjPfzWtF2AnpK9RQ\"", /* the example of the specification */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_OK(check(rows[i], &test_err));
}

TEST(a_token_for_anything_else_is_refused_by_the_name_of_the_claim)
{
    static const struct {
        const char *changed;
        const char *says;
    } rows[] = {
        {"\"iss\":\"https://idp/\"", "issued by 'https://idp/', not by 'https://idp'"},
        {"\"iss\":null", "issued by"},
        {"\"iss\":[\"https://idp\"]", "issued by"},
        {"\"aud\":\"other\"", "'aud'"},
        {"\"aud\":null", "'aud'"},
        {"\"aud\":[]", "'aud'"},
        {"\"aud\":{\"det\":\"det\"}", "'aud'"},
        {"\"aud\":[\"det\",\"other\"]", "'azp'"},
        {"\"azp\":\"other\"", "'azp'"},
        {"\"exp\":940", "'exp'"},
        {"\"exp\":null", "'exp'"},
        {"\"exp\":\"1600\"", "'exp'"},
        {"\"nbf\":1061", "'nbf'"},
        {"\"iat\":1061", "'iat'"},
        {"\"iat\":399", "'iat'"},
        {"\"iat\":null", "'iat'"},
        {"\"nonce\":\"m\"", "'nonce'"},
        {"\"nonce\":null", "'nonce'"},
        {"\"nonce\":\"n\\u0000m\"", "'nonce'"},
        {"\"at_hash\":\"wrong\"", "'at_hash'"},
        {"\"at_hash\":7", "'at_hash'"},
        {"\"sub\":null", "'sub'"},
        {"\"sub\":\"\"", "'sub'"},
        {"\"sub\":42", "'sub'"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};

        CHECK_EQ(check(rows[i].changed, &err), DET_UNAUTHENTICATED);
        CHECK_HAS(err.text, rows[i].says);
    }
}
