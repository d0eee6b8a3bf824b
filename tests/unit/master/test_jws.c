/* SPDX-License-Identifier: Apache-2.0 */
/* jws.h: tokens signed here with real keys, and everything that must not pass for one. */
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/base64.h"
#include "data/json/json.h"
#include "master/signin/jws.h"
#include "tests/support/test.h"

static struct arena mem = ARENA_INIT(16 << 20);

struct signer {
    gnutls_privkey_t key;
    bool is_ec;
    char jwk[2048]; /* the public half */
};

static void add_number(struct buf *out, const char *name, const gnutls_datum_t *number)
{
    buf_printf(out, ",\"%s\":\"", name);
    base64url_encode(out, number->data, number->size);
    buf_puts(out, "\"");
}

static struct signer new_signer(bool is_ec, unsigned bits, const char *id)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct signer signer = {.is_ec = is_ec};
    gnutls_datum_t a, b;
    gnutls_pubkey_t half;

    CHECK_EQ(gnutls_privkey_init(&signer.key), 0);
    CHECK_EQ(gnutls_privkey_generate(
                 signer.key, is_ec ? GNUTLS_PK_ECDSA : GNUTLS_PK_RSA,
                 is_ec ? GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1) : bits, 0),
             0);
    CHECK_EQ(gnutls_pubkey_init(&half), 0);
    CHECK_EQ(gnutls_pubkey_import_privkey(half, signer.key, 0, 0), 0);
    buf_printf(&out, "{\"kty\":\"%s\",\"kid\":\"%s\"", is_ec ? "EC" : "RSA", id);
    if (is_ec) {
        gnutls_ecc_curve_t curve;

        CHECK_EQ(gnutls_pubkey_export_ecc_raw(half, &curve, &a, &b), 0);
        buf_puts(&out, ",\"crv\":\"P-256\"");
    } else {
        CHECK_EQ(gnutls_pubkey_export_rsa_raw(half, &a, &b), 0);
    }
    add_number(&out, is_ec ? "x" : "n", &a);
    add_number(&out, is_ec ? "y" : "e", &b);
    buf_puts(&out, "}");
    CHECK_OK(out.status);
    snprintf(signer.jwk, sizeof(signer.jwk), "%s", out.data);
    gnutls_free(a.data);
    gnutls_free(b.data);
    gnutls_pubkey_deinit(half);
    return signer;
}

/* A number of exactly 32 bytes: DER drops leading zeros and adds others. */
static void put_fixed(unsigned char *to, const gnutls_datum_t *number)
{
    size_t skip = number->size > 32 ? number->size - 32 : 0;

    memset(to, 0, 32);
    memcpy(to + 32 - (number->size - skip), number->data + skip, number->size - skip);
}

static const char *sign(const struct signer *signer, const char *header,
                        const char *payload)
{
    CLEANUP(buf_done) struct buf token = BUF_INIT;
    gnutls_datum_t text, made, r, s;
    unsigned char plain[64];

    base64url_encode(&token, header, strlen(header));
    buf_puts(&token, ".");
    base64url_encode(&token, payload, strlen(payload));
    text = (gnutls_datum_t){(unsigned char *)token.data, (unsigned)token.len};
    CHECK_EQ(gnutls_privkey_sign_data(signer->key, GNUTLS_DIG_SHA256, 0, &text, &made),
             0);
    buf_puts(&token, ".");
    if (signer->is_ec) {
        CHECK_EQ(gnutls_decode_rs_value(&made, &r, &s), 0);
        put_fixed(plain, &r);
        put_fixed(plain + 32, &s);
        base64url_encode(&token, plain, sizeof(plain));
        gnutls_free(r.data);
        gnutls_free(s.data);
    } else {
        base64url_encode(&token, made.data, made.size);
    }
    gnutls_free(made.data);
    return arena_strdup(&mem, token.data);
}

static struct json *key_set(const char *first, const char *second)
{
    const char *text = arena_printf(&mem, "{\"keys\":[%s%s%s]}", first,
                                    second ? "," : "", second ? second : "");
    struct json *tree;

    CHECK_OK(json_parse(text, strlen(text), &mem, &tree, &test_err));
    return tree;
}

static struct err why;

static det_status verify(const char *token, const struct json *keys)
{
    struct json *claims = NULL;
    det_status st;

    why = (struct err){0};
    st = jws_verify(token, keys, &mem, &claims, &why);
    CHECK(st ? !claims : claims != NULL); /* nothing is returned on failure */
    return st;
}

TEST(a_token_with_a_good_signature_returns_its_claims)
{
    struct signer rsa = new_signer(false, 2048, "r1");
    struct signer ec = new_signer(true, 0, "e1");
    struct json *keys = key_set(rsa.jwk, ec.jwk);
    struct json *claims;

    CHECK_OK(
        jws_verify(sign(&rsa, "{\"alg\":\"RS256\",\"kid\":\"r1\"}", "{\"sub\":\"a\"}"),
                   keys, &mem, &claims, &test_err));
    CHECK_STR(json_str(json_get(claims, "sub"), ""), "a");
    for (int i = 0; i < 20; i++) /* some signatures have leading zeros */
        CHECK_OK(jws_verify(
            sign(&ec, "{\"alg\":\"ES256\",\"kid\":\"e1\"}", "{\"sub\":\"b\"}"), keys,
            &mem, &claims, &test_err));
    CHECK_STR(json_str(json_get(claims, "sub"), ""), "b");
    /* without a key id, the type of key decides, if there is only one */
    CHECK_OK(verify(sign(&ec, "{\"alg\":\"ES256\"}", "{}"), keys));
    gnutls_privkey_deinit(rsa.key);
    gnutls_privkey_deinit(ec.key);
}

TEST(a_token_changed_after_signing_is_refused)
{
    struct signer rsa = new_signer(false, 2048, "r1");
    struct json *keys = key_set(rsa.jwk, NULL);
    char *token = arena_strdup(
        &mem, sign(&rsa, "{\"alg\":\"RS256\",\"kid\":\"r1\"}", "{\"sub\":\"anna\"}"));
    size_t len = strlen(token);

    CHECK_OK(verify(token, keys));
    /* every 7th letter; the last letter of a part may hold unused bits, but strictness
     * about these does not matter */
    for (size_t i = 0; i + 2 < len; i += 7) {
        char was = token[i];

        if (was == '.' || token[i + 1] == '.')
            continue;
        token[i] = was == 'A' ? 'B' : 'A';
        CHECK(verify(token, keys) != DET_OK);
        token[i] = was;
    }
    gnutls_privkey_deinit(rsa.key);
}

TEST(unsigned_tokens_and_shared_secrets_are_refused)
{
    static const struct {
        const char *header;
        const char *says;
    } rows[] = {
        {"{\"alg\":\"none\"}", "not signed"},
        {"{\"alg\":\"None\"}", "not signed"},
        {"{}", "not signed"},
        {"{\"alg\":7}", "not signed"},
        {"{\"alg\":\"HS256\"}", "'HS256'"},
        {"{\"alg\":\"HS256\",\"kid\":\"r1\"}", "'HS256'"},
        {"{\"alg\":\"RS512\"}", "'RS512'"},
        {"{\"alg\":\"RS256\",\"crit\":[\"exp\"]}", "extensions"},
        {"[]", "three parts"},
    };
    struct signer rsa = new_signer(false, 2048, "r1");
    struct json *keys = key_set(rsa.jwk, NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *token = arena_strdup(&mem, sign(&rsa, rows[i].header, "{}"));

        CHECK_EQ(verify(token, keys), DET_UNAUTHENTICATED);
        CHECK_HAS(why.text, rows[i].says);
        strrchr(token, '.')[1] = '\0';
        CHECK_EQ(verify(token, keys), DET_UNAUTHENTICATED);
    }
    gnutls_privkey_deinit(rsa.key);
}

/* The classic forgery: HMAC with the public key as its secret. */
TEST(an_hmac_made_with_the_public_key_is_refused)
{
    struct signer rsa = new_signer(false, 2048, "r1");
    CLEANUP(buf_done) struct buf token = BUF_INIT;
    unsigned char sum[32];

    base64url_encode(&token, "{\"alg\":\"HS256\",\"kid\":\"r1\"}", 26);
    buf_puts(&token, ".");
    base64url_encode(&token, "{\"sub\":\"admin\"}", 15);
    CHECK_EQ(gnutls_hmac_fast(GNUTLS_MAC_SHA256, rsa.jwk, strlen(rsa.jwk), token.data,
                              token.len, sum),
             0);
    buf_puts(&token, ".");
    base64url_encode(&token, sum, sizeof(sum));
    CHECK_EQ(verify(token.data, key_set(rsa.jwk, NULL)), DET_UNAUTHENTICATED);
    gnutls_privkey_deinit(rsa.key);
}

TEST(a_key_that_is_not_published_is_reported_apart)
{
    struct signer mine = new_signer(false, 2048, "r1");
    struct signer other = new_signer(false, 2048, "r1");
    struct signer small = new_signer(false, 1024, "r1");
    static const char header[] = "{\"alg\":\"RS256\",\"kid\":\"r1\"}";
    struct json *keys = key_set(mine.jwk, NULL);

    CHECK_EQ(verify(sign(&mine, "{\"alg\":\"RS256\",\"kid\":\"r2\"}", "{}"), keys),
             DET_NOT_FOUND);
    CHECK_EQ(verify(sign(&mine, "{\"alg\":\"ES256\",\"kid\":\"r1\"}", "{}"), keys),
             DET_NOT_FOUND);
    /* the right id with another key is a forgery, and no newer set helps */
    CHECK_EQ(verify(sign(&other, header, "{}"), keys), DET_UNAUTHENTICATED);
    CHECK_EQ(verify(sign(&mine, header, "{}"), key_set("{}", NULL)), DET_NOT_FOUND);
    /* two keys of one type, and no id: the token must say which */
    CHECK_EQ(
        verify(sign(&mine, "{\"alg\":\"RS256\"}", "{}"), key_set(mine.jwk, other.jwk)),
        DET_UNAUTHENTICATED);
    /* a key that can be broken */
    CHECK_EQ(verify(sign(&small, header, "{}"), key_set(small.jwk, NULL)),
             DET_UNAUTHENTICATED);
    gnutls_privkey_deinit(mine.key);
    gnutls_privkey_deinit(other.key);
    gnutls_privkey_deinit(small.key);
}

TEST(text_that_is_not_a_token_is_refused)
{
    static const char *const rows[] = {
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        "eyJhbGciOiJSUzI1NiJ9..",
        "eyJhbGciOiJSUzI1NiJ9.e30.!!",
        "eyJhbGciOiJSUzI1NiJ9.e30=.AA",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        CHECK_EQ(verify(rows[i], key_set("{}", NULL)) == DET_OK, false);
}
