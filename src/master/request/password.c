/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/password.h"

#include <sodium.h>
#include <string.h>

#include "base/memory/arena.h"
#include "data/base64.h"
#include "store/people/user.h"

/* The seal of a password that nobody knows.  password_check() verifies against it when there
 * is no user or no password, so the time of an answer does not reveal which names exist. */
static const char dummy_seal[crypto_pwhash_STRBYTES] =
    "$argon2id$v=19$m=32768,t=3,p=1$nSUEUk9WAXSpRTQf+"
    "kCC2A$1jVJKHSt15Lg40CeHwF5onhiY6uvZbreqPcAxLqYEi8";

/* The salt that clients of this API put before a password. */
static const char client_salt[] = "GubPEmmotfiK9TMD6Zdw";

enum { SEAL_OPS = 3, SEAL_BYTES = 32 << 20 };

det_status password_check_length(const char *password, struct err *err)
{
    size_t count = 0;

    for (const char *at = password; *at; at++)
        count += ((unsigned char)*at & 0xc0) != 0x80; /* characters, not bytes */
    return count >= PASSWORD_LEAST
               ? DET_OK
               : err_set(err, DET_INVALID,
                         "a password must have at least %d characters", PASSWORD_LEAST);
}

det_status password_check_hash(const char *hash, struct err *err)
{
    size_t len = strspn(hash, "0123456789abcdefABCDEF");

    return len == 2 * crypto_hash_sha512_BYTES && !hash[len]
               ? DET_OK
               : err_set(
                     err, DET_INVALID,
                     "isHashed is true, but the password is not a salted SHA-512 in "
                     "hexadecimal digits; send the password itself with isHashed "
                     "false");
}

const char *password_hash(const char *password, bool is_hashed, struct arena *mem)
{
    unsigned char hash[crypto_hash_sha512_BYTES];
    crypto_hash_sha512_state state;
    char *text;

    if (is_hashed || !password || !*password)
        return password ? password : "";
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, (const unsigned char *)client_salt,
                              sizeof(client_salt) - 1);
    crypto_hash_sha512_update(&state, (const unsigned char *)password,
                              strlen(password));
    crypto_hash_sha512_final(&state, hash);
    text = arena_alloc(mem, 2 * sizeof(hash) + 1);
    if (text)
        hex_encode(text, hash, sizeof(hash));
    return text;
}

det_status password_seal(const char *hash, struct arena *mem, const char **ret_sealed,
                         struct err *err)
{
    char *sealed;

    if (!*hash) {
        *ret_sealed = NULL;
        return DET_OK;
    }
    sealed = arena_alloc(mem, crypto_pwhash_STRBYTES);
    if (!sealed || crypto_pwhash_str(sealed, hash, strlen(hash), SEAL_OPS, SEAL_BYTES))
        return err_default(err, DET_NOMEM);
    *ret_sealed = sealed;
    return DET_OK;
}

det_status password_check(const struct user *user, const char *hash, struct err *err)
{
    const char *seal = user && user->password ? user->password : dummy_seal;
    bool opens = *hash && !crypto_pwhash_str_verify(seal, hash, strlen(hash));
    bool fits = user && (user->password ? opens : !*hash);

    return fits ? DET_OK : err_set(err, DET_UNAUTHENTICATED, "invalid credentials");
}
