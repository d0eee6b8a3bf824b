/* SPDX-License-Identifier: Apache-2.0 */
/* jws.c - see jws.h.
 *
 *   HEADER.PAYLOAD.SIGNATURE     each in base64url
 *   |---- signed ----|
 *
 * Nothing of the payload is returned before the signature over it was verified. */
#include "master/signin/jws.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "net/tls/gnutls.h"

enum { RSA_LEAST = 256, RSA_MOST = 1024, EC_BYTES = 32 }; /* bytes of a number */

det_status jws_check_library(struct err *err)
{
    const struct gnutls *gnutls;

    return gnutls_load(&gnutls, err);
}

/* ---- algorithms ------------------------------------------------------------------ */

struct bytes {
    unsigned char *at;
    unsigned int len;
};

typedef int import_key_fn(const struct gnutls *gnutls, gnutls_pubkey_t key,
                          const struct json *jwk, struct arena *mem);

struct algorithm {
    const char *name;  /* "RS256" */
    const char *type;  /* `kty` of its keys */
    const char *curve; /* `crv` of its keys; NULL: none */
    gnutls_sign_algorithm_t sign;
    import_key_fn *import;
};

static bool decode_part(const char *text, size_t len, struct arena *mem,
                        struct bytes *ret_bytes)
{
    CLEANUP(buf_done) struct buf out = BUF_LIMITED(JWS_MOST);

    if (!len || base64url_decode(&out, text, len, NULL))
        return false;
    ret_bytes->at = arena_alloc(mem, out.len + 1);
    if (!ret_bytes->at)
        return false;
    memcpy(ret_bytes->at, out.data, out.len);
    ret_bytes->len = (unsigned int)out.len;
    return true;
}

/* A number of a JWK, without leading zeros. */
static bool read_number(const struct json *jwk, const char *name, struct arena *mem,
                        struct bytes *ret_number)
{
    const char *text = json_str(json_get(jwk, name), NULL);

    if (!text || !decode_part(text, strlen(text), mem, ret_number))
        return false;
    while (ret_number->len && !*ret_number->at) {
        ret_number->at++;
        ret_number->len--;
    }
    return ret_number->len > 0;
}

static int import_rsa(const struct gnutls *gnutls, gnutls_pubkey_t key,
                      const struct json *jwk, struct arena *mem)
{
    struct bytes modulus, exponent;
    gnutls_datum_t m, e;

    if (!read_number(jwk, "n", mem, &modulus) || !read_number(jwk, "e", mem, &exponent))
        return GNUTLS_E_INVALID_REQUEST;
    if (modulus.len < RSA_LEAST || modulus.len > RSA_MOST)
        return GNUTLS_E_INSUFFICIENT_SECURITY;
    m = (gnutls_datum_t){modulus.at, modulus.len};
    e = (gnutls_datum_t){exponent.at, exponent.len};
    return gnutls->pubkey_import_rsa_raw(key, &m, &e);
}

static int import_ec(const struct gnutls *gnutls, gnutls_pubkey_t key,
                     const struct json *jwk, struct arena *mem)
{
    struct bytes x, y;
    gnutls_datum_t first, second;

    if (!read_number(jwk, "x", mem, &x) || !read_number(jwk, "y", mem, &y) ||
        x.len > EC_BYTES || y.len > EC_BYTES)
        return GNUTLS_E_INVALID_REQUEST;
    first = (gnutls_datum_t){x.at, x.len};
    second = (gnutls_datum_t){y.at, y.len};
    return gnutls->pubkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_SECP256R1, &first,
                                         &second);
}

static const struct algorithm algorithms[] = {
    {"RS256", "RSA", NULL, GNUTLS_SIGN_RSA_SHA256, import_rsa},
    {"ES256", "EC", "P-256", GNUTLS_SIGN_ECDSA_SHA256, import_ec},
};

/* ---- keys ------------------------------------------------------------------------ */

struct parts {
    const struct algorithm *algorithm;
    const char *key_id; /* NULL: the token names none */
    gnutls_datum_t signed_text;
    struct bytes payload;
    struct bytes signature;
};

static bool is_or_absent(const struct json *value, const char *text)
{
    return json_is_null(value) || !strcmp(json_str(value, ""), text);
}

static bool key_fits(const struct json *jwk, const struct parts *parts)
{
    const struct algorithm *algorithm = parts->algorithm;
    const char *id = json_str(json_get(jwk, "kid"), NULL);

    if (strcmp(json_str(json_get(jwk, "kty"), ""), algorithm->type) ||
        !is_or_absent(json_get(jwk, "use"), "sig") ||
        !is_or_absent(json_get(jwk, "alg"), algorithm->name))
        return false;
    if (algorithm->curve &&
        strcmp(json_str(json_get(jwk, "crv"), ""), algorithm->curve))
        return false;
    return !parts->key_id || (id && !strcmp(id, parts->key_id));
}

/* ES256 signs with two plain numbers; the library expects them in DER. */
static bool verify_signature(const struct gnutls *gnutls, gnutls_pubkey_t key,
                             const struct parts *parts)
{
    gnutls_datum_t plain = {parts->signature.at, parts->signature.len};
    gnutls_datum_t der = {0};
    gnutls_datum_t r, s;
    int result;

    if (!parts->algorithm->curve)
        return gnutls->pubkey_verify_data2(key, parts->algorithm->sign, 0,
                                           &parts->signed_text, &plain) >= 0;
    if (plain.size != 2 * EC_BYTES)
        return false;
    r = (gnutls_datum_t){plain.data, EC_BYTES};
    s = (gnutls_datum_t){plain.data + EC_BYTES, EC_BYTES};
    if (gnutls->encode_rs_value(&der, &r, &s) < 0)
        return false;
    result = gnutls->pubkey_verify_data2(key, parts->algorithm->sign, 0,
                                         &parts->signed_text, &der);
    (*gnutls->free)(der.data);
    return result >= 0;
}

static bool opens_with(const struct gnutls *gnutls, const struct json *jwk,
                       const struct parts *parts, struct arena *mem)
{
    gnutls_pubkey_t key;
    bool opens;

    if (gnutls->pubkey_init(&key) < 0)
        return false;
    opens = parts->algorithm->import(gnutls, key, jwk, mem) >= 0 &&
            verify_signature(gnutls, key, parts);
    gnutls->pubkey_deinit(key);
    return opens;
}

/* ---- tokens ---------------------------------------------------------------------- */

static det_status refuse_token(struct err *err, const char *why)
{
    return err_set(err, DET_UNAUTHENTICATED,
                   "the identity provider sent an ID token that %s", why);
}

static det_status read_header(const struct json *header, struct parts *parts,
                              struct err *err)
{
    const char *name = json_str(json_get(header, "alg"), "");

    parts->key_id = json_str(json_get(header, "kid"), NULL);
    if (json_get(header, "crit"))
        return refuse_token(err, "has extensions that this master does not know");
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        if (!strcmp(name, algorithms[i].name))
            parts->algorithm = &algorithms[i];
    }
    if (parts->algorithm)
        return DET_OK;
    if (!strcasecmp(name, "none") || !*name)
        return refuse_token(err, "is not signed");
    return err_set(err, DET_UNAUTHENTICATED,
                   "the identity provider sent an ID token signed with '%.20s'; let it "
                   "sign with RS256 or ES256",
                   name);
}

static det_status split_token(const char *token, struct arena *mem, struct parts *parts,
                              struct err *err)
{
    static const char malformed[] = "is not a signed token of three parts";
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;
    struct bytes header;
    struct json *tree;

    if (strlen(token) > JWS_MOST || !second || strchr(second + 1, '.') ||
        !decode_part(token, (size_t)(first - token), mem, &header) ||
        !decode_part(first + 1, (size_t)(second - first - 1), mem, &parts->payload))
        return refuse_token(err, malformed);
    if (json_parse((char *)header.at, header.len, mem, &tree, NULL) ||
        tree->kind != JSON_OBJECT)
        return refuse_token(err, malformed);
    parts->signed_text = (gnutls_datum_t){(unsigned char *)(uintptr_t)token,
                                          (unsigned int)(second - token)};
    if (read_header(tree, parts, err))
        return DET_UNAUTHENTICATED;
    if (!decode_part(second + 1, strlen(second + 1), mem, &parts->signature))
        return refuse_token(err, "is not signed");
    return DET_OK;
}

/* A token without a key id fits only a set with a single key of its type. */
static det_status verify_parts(const struct parts *parts, const struct json *key_set,
                               struct arena *mem, struct err *err)
{
    const struct gnutls *gnutls;
    size_t fitting = 0;
    bool opens = false;
    det_status st = gnutls_load(&gnutls, err);

    if (st)
        return st;
    json_each(jwk, json_get(key_set, "keys")) {
        if (!key_fits(jwk, parts))
            continue;
        fitting++;
        opens = opens || opens_with(gnutls, jwk, parts, mem);
    }
    if (!fitting)
        return err_set(err, DET_NOT_FOUND,
                       "the identity provider signed an ID token with a key that it "
                       "does not publish ('%.60s')",
                       parts->key_id ? parts->key_id : "");
    if (!parts->key_id && fitting > 1)
        return refuse_token(err, "does not say which of several keys signed it");
    return opens ? DET_OK : refuse_token(err, "has a wrong signature");
}

det_status jws_verify(const char *token, const struct json *key_set, struct arena *mem,
                      struct json **ret_claims, struct err *err)
{
    struct parts parts = {0};
    struct json *claims;
    det_status st = split_token(token, mem, &parts, err);

    if (!st)
        st = verify_parts(&parts, key_set, mem, err);
    if (mem->has_failed)
        return err_default(err, DET_NOMEM);
    if (st)
        return st;
    if (json_parse((char *)parts.payload.at, parts.payload.len, mem, &claims, NULL) ||
        claims->kind != JSON_OBJECT)
        return refuse_token(err, "contains no JSON object");
    *ret_claims = claims;
    return DET_OK;
}
