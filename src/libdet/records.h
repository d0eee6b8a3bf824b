/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - the file of records, as it lies on disk.
 *
 *   header      64 bytes: "det-recs", version, records in a block, number of records,
 *               where the directory is, length of the file, zeroes, CRC-32C of all that
 *   records     each filled up with zeroes to a multiple of 8 bytes
 *   block       after every RECORDS_BLOCK records, and after the last: 16 bytes for
 * each of them, which are its offset, its length and its CRC-32C
 *   ...         records and blocks in turn
 *   directory   8 bytes for each block: where it is
 *
 * All numbers are little-endian.  A record is found in two steps, wherever it is, and
 * nothing of the file need be read before; a writer keeps one block and the directory
 * in memory, two bytes for a thousand records.  A record's checksum begins with its
 * number, offset and length, so that it also vouches for the entries that led to it: a
 * damaged block or directory leads to a record that does not match.
 *
 * On disk: this never changes but with the version. */
#ifndef LIBDET_RECORDS_H
#define LIBDET_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/crc32c.h"

#define RECORDS_MAGIC "det-recs"

enum {
    RECORDS_VERSION = 1,
    RECORDS_HEADER = 64,
    RECORDS_CRC_AT = 60,
    RECORDS_BLOCK = 4096,
    RECORDS_ENTRY = 16,
    RECORDS_ALIGN = 8,
};

static inline void records_put(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t records_get(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline uint64_t records_padded(uint64_t len)
{
    return (len + RECORDS_ALIGN - 1) / RECORDS_ALIGN * RECORDS_ALIGN;
}

/* Of a record's number and place; its padded bytes follow. */
static inline uint32_t records_seed(uint64_t index, uint64_t offset, uint64_t len)
{
    unsigned char place[24];

    records_put(place, index, 8);
    records_put(place + 8, offset, 8);
    records_put(place + 16, len, 8);
    return crc32c(0, place, sizeof(place));
}

#endif
