/* SPDX-License-Identifier: Apache-2.0 */
/* nonce.h - the random digits that every token holds.
 *
 * A token names a row by its number.  Numbers come back when a backup is restored, random
 * digits do not: a token whose digits differ from its row's opens nothing. */
#ifndef STORE_NONCE_H
#define STORE_NONCE_H

#include "base/err.h"

enum { NONCE_BYTES = 16, NONCE_TEXT = 2 * NONCE_BYTES + 1 };

/* Hexadecimal digits. */
det_status nonce_make(char nonce[NONCE_TEXT], struct err *err);

#endif
