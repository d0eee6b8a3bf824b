/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - little-endian numbers at any address, for files and messages.  The put
 * functions return the place behind the number: fields can be written one after the
 * other. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline unsigned char *put_u32(unsigned char *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof(value));
    return to + sizeof(value);
}

static inline unsigned char *put_u64(unsigned char *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
    return to + sizeof(value);
}

static inline uint32_t get_u32(const unsigned char *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

static inline uint64_t get_u64(const unsigned char *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

/* For `bytes` up to 8. */
static inline uint64_t get_number(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, from, bytes);
    return le64toh(value);
}

#endif
