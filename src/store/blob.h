/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - reading and writing packed bytes.
 *
 * Reading is sticky: past the end every read returns 0 and sets `is_bad`; check it once
 * at the end.  Numbers are little-endian, varints have seven bits per byte, signed
 * varints are zigzag. */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory/buf.h"

struct blob {
    const unsigned char *at;
    const unsigned char *end;
    bool is_bad;
};

#define BLOB_INIT(bytes, len)                                                          \
    {                                                                                  \
        .at = (const unsigned char *)(bytes),                                          \
        .end = (const unsigned char *)(bytes) + (len)                                  \
    }

static inline uint64_t blob_varint(struct blob *blob)
{
    uint64_t value = 0;

    for (unsigned shift = 0; blob->at < blob->end && shift < 64; shift += 7) {
        unsigned char byte = *blob->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    blob->is_bad = true;
    return 0;
}

static inline int64_t blob_zigzag(struct blob *blob)
{
    uint64_t value = blob_varint(blob);

    return (int64_t)(value >> 1 ^ -(value & 1));
}

/* The next `len` bytes, borrowed; NULL if there are fewer. */
static inline const void *blob_bytes(struct blob *blob, uint64_t len)
{
    const void *bytes = blob->at;

    if (len > (uint64_t)(blob->end - blob->at)) {
        blob->is_bad = true;
        blob->at = blob->end;
        return NULL;
    }
    blob->at += len;
    return bytes;
}

static inline double blob_f64(struct blob *blob)
{
    const void *bytes = blob_bytes(blob, 8);
    double value = 0;

    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline void buf_put_zigzag(struct buf *buf, int64_t value)
{
    buf_put_varint(buf, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline void buf_put_f64(struct buf *buf, double value)
{
    buf_add(buf, &value, sizeof(value));
}

/* A length and the bytes. */
static inline void buf_put_bytes(struct buf *buf, const void *bytes, size_t len)
{
    buf_put_varint(buf, len);
    buf_add(buf, bytes, len);
}

#endif
