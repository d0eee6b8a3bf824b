/* SPDX-License-Identifier: Apache-2.0 */
/* ID tokens, and sealed cookies of a sign-in: bytes that anybody may send. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/json/json.h"
#include "master/signin/flow.h"
#include "master/signin/id_token.h"
#include "master/signin/jws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The public key of RFC 7515, appendix A.3, and an RSA key that is too small to count. */
static const char keys[] =
    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\","
    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
    "{\"kty\":\"RSA\",\"kid\":\"r\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}";

/* The claims are taken from the payload as if the signature were right. */
static void check_claims(const char *text, struct arena *mem)
{
    static const struct id_token_want want = {
        .issuer = "i", .client_id = "c", .nonce = "n", .access_token = "a"};
    struct json *claims;

    if (!json_parse(text, strlen(text), mem, &claims, NULL))
        (void)id_token_check(claims, &want, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char key[FLOW_KEY_BYTES] = {1};
    struct arena mem = ARENA_INIT(16 << 20);
    char *text = arena_strndup(&mem, (const char *)data, size);
    struct json *set, *claims;
    struct flow flow;

    if (text && !json_parse(keys, sizeof(keys) - 1, &mem, &set, NULL)) {
        if (!jws_verify(text, set, &mem, &claims, NULL))
            abort(); /* no fuzzer finds a signature */
        if (!flow_open(text, key, 0, &mem, &flow, NULL))
            abort();
        (void)flow_check_return(text, NULL);
        check_claims(text, &mem);
    }
    arena_done(&mem);
    return 0;
}
