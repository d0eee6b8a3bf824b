/* SPDX-License-Identifier: Apache-2.0 */
/* id_token.c - see id_token.h. */
#include "master/signin/id_token.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"

enum { SUBJECT_MOST = 255 };

static det_status refuse_claim(struct err *err, const char *name, const char *why)
{
    return err_set(err, DET_UNAUTHENTICATED,
                   "the ID token is not for this sign-in: '%s' %s", name, why);
}

static bool is_text(const struct json *value, const char *text)
{
    return value && value->kind == JSON_STRING && strlen(text) == value->string.len &&
           !strcmp(value->string.text, text);
}

static det_status check_issuer(const struct json *claims,
                               const struct id_token_want *want, struct err *err)
{
    if (is_text(json_get(claims, "iss"), want->issuer))
        return DET_OK;
    return err_set(err, DET_UNAUTHENTICATED,
                   "the ID token was issued by '%.200s', not by '%.200s'",
                   json_str(json_get(claims, "iss"), ""), want->issuer);
}

static det_status check_audience(const struct json *claims,
                                 const struct id_token_want *want, struct err *err)
{
    const struct json *audience = json_get(claims, "aud");
    const struct json *party = json_get(claims, "azp");
    bool is_for_us = is_text(audience, want->client_id);
    size_t count = 1;

    if (audience && audience->kind == JSON_ARRAY) {
        count = audience->list.count;
        json_each(one, audience) {
            is_for_us = is_for_us || is_text(one, want->client_id);
        }
    }
    if (!is_for_us)
        return refuse_claim(err, "aud", "names another client");
    if (party ? !is_text(party, want->client_id) : count > 1)
        return refuse_claim(err, "azp", "names another client, or is missing");
    return DET_OK;
}

/* False: absent, or not a number. */
static bool read_seconds(const struct json *claims, const char *name, double *ret_s)
{
    const struct json *value = json_get(claims, name);

    return value && (value->kind == JSON_INT || value->kind == JSON_REAL) &&
           json_number(value, ret_s);
}

static det_status check_times(const struct json *claims,
                              const struct id_token_want *want, struct err *err)
{
    double now_s = (double)want->now_s;
    double at_s;

    if (!read_seconds(claims, "exp", &at_s))
        return refuse_claim(err, "exp", "is missing");
    if (!(at_s > now_s - ID_TOKEN_SKEW_S))
        return refuse_claim(err, "exp", "has passed; sign in again");
    if (json_get(claims, "nbf") &&
        (!read_seconds(claims, "nbf", &at_s) || !(at_s <= now_s + ID_TOKEN_SKEW_S)))
        return refuse_claim(err, "nbf", "lies in the future; compare the clocks");
    if (!read_seconds(claims, "iat", &at_s))
        return refuse_claim(err, "iat", "is missing");
    if (!(at_s <= now_s + ID_TOKEN_SKEW_S) || !(at_s >= now_s - ID_TOKEN_OLDEST_S))
        return refuse_claim(err, "iat",
                            "is not close to the current time; compare the "
                            "clocks");
    return DET_OK;
}

/* Binds the access token to this ID token: the left half of its SHA-256. */
static det_status check_access_token(const struct json *claims,
                                     const struct id_token_want *want, struct err *err)
{
    CLEANUP(buf_done) struct buf half = BUF_INIT;
    const struct json *given = json_get(claims, "at_hash");
    unsigned char sum[crypto_hash_sha256_BYTES];

    if (!given || !want->access_token)
        return DET_OK;
    crypto_hash_sha256(sum, (const unsigned char *)want->access_token,
                       strlen(want->access_token));
    base64url_encode(&half, sum, sizeof(sum) / 2);
    if (half.status)
        return err_default(err, half.status);
    if (!is_text(given, half.data))
        return refuse_claim(err, "at_hash", "does not match the access token");
    return DET_OK;
}

static det_status check_subject(const struct json *claims, struct err *err)
{
    const struct json *subject = json_get(claims, "sub");
    size_t len = subject && subject->kind == JSON_STRING ? subject->string.len : 0;

    if (!len || len > SUBJECT_MOST || strlen(subject->string.text) != len)
        return refuse_claim(err, "sub", "is missing or too long");
    return DET_OK;
}

det_status id_token_check(const struct json *claims, const struct id_token_want *want,
                          struct err *err)
{
    det_status st = check_issuer(claims, want, err);

    if (!st)
        st = check_audience(claims, want, err);
    if (!st)
        st = check_times(claims, want, err);
    if (!st && !is_text(json_get(claims, "nonce"), want->nonce))
        st = refuse_claim(err, "nonce", "is not the one that was sent");
    if (!st)
        st = check_access_token(claims, want, err);
    if (!st)
        st = check_subject(claims, err);
    return st;
}
