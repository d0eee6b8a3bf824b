/* SPDX-License-Identifier: Apache-2.0 */
#include "store/nonce.h"

#include "base/rng.h"
#include "data/base64.h"

det_status nonce_make(char nonce[NONCE_TEXT], struct err *err)
{
    unsigned char bytes[NONCE_BYTES];
    det_status st = rng_secret(bytes, sizeof(bytes), err);

    if (!st)
        hex_encode(nonce, bytes, sizeof(bytes));
    return st;
}
