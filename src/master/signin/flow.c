/* SPDX-License-Identifier: Apache-2.0 */
/* flow.c - see flow.h.
 *
 * Sealed: base64url of a nonce and the XSalsa20-Poly1305 box around the members, each ended
 * by a NUL. */
#include "master/signin/flow.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "data/base64.h"

enum { SECRET_BYTES = 32, SEALED_MOST = 4000 };
_Static_assert(FLOW_KEY_BYTES == crypto_secretbox_KEYBYTES, "the key of a box");

static void encode_secret(const unsigned char bytes[SECRET_BYTES],
                          char text[FLOW_SECRET_TEXT])
{
    sodium_bin2base64(text, FLOW_SECRET_TEXT, bytes, SECRET_BYTES,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

det_status flow_begin(int64_t now_s, const char *return_to, struct flow *ret_flow,
                      struct err *err)
{
    unsigned char random[3][SECRET_BYTES];
    det_status st = rng_secret(random, sizeof(random), err);

    if (st)
        return st;
    *ret_flow = (struct flow){.expires_s = now_s + FLOW_S, .return_to = return_to};
    encode_secret(random[0], ret_flow->state);
    encode_secret(random[1], ret_flow->nonce);
    encode_secret(random[2], ret_flow->verifier);
    return DET_OK;
}

void flow_challenge(const char *verifier, char challenge[FLOW_SECRET_TEXT])
{
    unsigned char sum[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(sum, (const unsigned char *)verifier, strlen(verifier));
    encode_secret(sum, challenge);
}

const char *flow_seal(const struct flow *flow, const unsigned char key[FLOW_KEY_BYTES],
                      struct arena *mem)
{
    CLEANUP(buf_done) struct buf plain = BUF_INIT;
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    unsigned char *box;

    buf_add(&plain, flow->state, sizeof(flow->state));
    buf_add(&plain, flow->nonce, sizeof(flow->nonce));
    buf_add(&plain, flow->verifier, sizeof(flow->verifier));
    buf_put_u64(&plain, (uint64_t)flow->expires_s);
    buf_puts(&plain, flow->return_to);
    if (plain.status)
        return NULL;
    box = arena_alloc(mem, crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES +
                               plain.len);
    if (!box || rng_secret(box, crypto_secretbox_NONCEBYTES, NULL))
        return NULL;
    crypto_secretbox_easy(box + crypto_secretbox_NONCEBYTES,
                          (const unsigned char *)plain.data, plain.len, box, key);
    base64url_encode(&text, box,
                     crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES +
                         plain.len);
    return text.status ? NULL : arena_strdup(mem, text.data);
}

/* The box holds what flow_seal() wrote: its sizes are known. */
static void read_members(const unsigned char *plain, size_t len, struct arena *mem,
                         struct flow *flow)
{
    memcpy(flow->state, plain, FLOW_SECRET_TEXT);
    memcpy(flow->nonce, plain + FLOW_SECRET_TEXT, FLOW_SECRET_TEXT);
    memcpy(flow->verifier, plain + 2 * FLOW_SECRET_TEXT, FLOW_SECRET_TEXT);
    plain += 3 * FLOW_SECRET_TEXT;
    len -= 3 * FLOW_SECRET_TEXT;
    flow->expires_s = (int64_t)get_u64(plain);
    flow->return_to = arena_strndup(mem, (const char *)plain + 8, len - 8);
}

det_status flow_open(const char *sealed, const unsigned char key[FLOW_KEY_BYTES],
                     int64_t now_s, struct arena *mem, struct flow *ret_flow,
                     struct err *err)
{
    CLEANUP(buf_done) struct buf box = BUF_LIMITED(SEALED_MOST);
    const size_t around = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
    const unsigned char *bytes;
    unsigned char plain[SEALED_MOST];

    if (strlen(sealed) > SEALED_MOST ||
        base64url_decode(&box, sealed, strlen(sealed), NULL) ||
        box.len < around + 3 * FLOW_SECRET_TEXT + sizeof(uint64_t))
        return err_set(err, DET_UNAUTHENTICATED,
                       "this sign-in was not begun here; begin again");
    bytes = (const unsigned char *)box.data;
    if (crypto_secretbox_open_easy(plain, bytes + crypto_secretbox_NONCEBYTES,
                                   box.len - crypto_secretbox_NONCEBYTES, bytes, key))
        return err_set(err, DET_UNAUTHENTICATED,
                       "this sign-in was begun before the master started, or by "
                       "somebody else; begin again");
    read_members(plain, box.len - around, mem, ret_flow);
    if (!ret_flow->return_to)
        return err_default(err, DET_NOMEM);
    if (ret_flow->expires_s < now_s)
        return err_set(err, DET_UNAUTHENTICATED,
                       "this sign-in took longer than %d minutes; begin again",
                       FLOW_S / 60);
    return DET_OK;
}

/* Browsers read "//host", "/\host" and control characters in between as another host. */
det_status flow_check_return(const char *path, struct err *err)
{
    bool is_ours = path[0] == '/' && path[1] != '/' && path[1] != '\\' &&
                   strlen(path) <= FLOW_RETURN_MOST;

    for (const char *at = path; is_ours && *at; at++)
        is_ours = *at > ' ' && *at < 0x7F && *at != '\\';
    if (is_ours)
        return DET_OK;
    return err_set(err, DET_INVALID,
                   "'%.100s' is not a path of this master; a sign-in returns only to "
                   "its own pages",
                   path);
}
