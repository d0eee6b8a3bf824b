/* SPDX-License-Identifier: Apache-2.0 */
/* record_file.h - the format of a file of records, and its reader.
 *
 *   header      64 bytes: "det-recs", version, records per block, number of records,
 *               offset of the directory, length of the file, zeroes, CRC-32C of these
 *   records     each padded with zeroes to a multiple of 8 bytes
 *   block       after every RECORD_FILE_BLOCK records, and after the last: 16 bytes per
 *               record, which are its offset, its length and its CRC-32C
 *   ...         records and blocks in turn
 *   directory   8 bytes per block: its offset
 *
 * All numbers are little-endian.  Any record is found in two steps, without reading the
 * rest of the file.  A writer keeps one block and the directory in memory: two bytes
 * per thousand records.  The checksum of a record also covers its number, offset and
 * length, so damage to the block or the directory that led to it is noticed, too.
 *
 * The format changes only together with its version. */
#ifndef LIBDET_DATA_RECORD_FILE_H
#define LIBDET_DATA_RECORD_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/err.h"
#include "det/data.h"

struct io;

#define RECORD_FILE_MAGIC "det-recs"

enum {
    RECORD_FILE_VERSION = 1,
    RECORD_FILE_HEADER = 64,
    RECORD_FILE_CRC_AT = 60,
    RECORD_FILE_BLOCK = 4096,
    RECORD_FILE_ENTRY = 16,
    RECORD_FILE_ALIGN = 8,
};

static inline void record_file_put(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t record_file_get(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline uint64_t record_file_padded(uint64_t len)
{
    return (len + RECORD_FILE_ALIGN - 1) / RECORD_FILE_ALIGN * RECORD_FILE_ALIGN;
}

/* The checksum of a record's number and place; its padded bytes follow. */
static inline uint32_t record_file_seed(uint64_t index, uint64_t offset, uint64_t len)
{
    unsigned char place[24];

    record_file_put(place, index, 8);
    record_file_put(place + 8, offset, 8);
    record_file_put(place + 16, len, 8);
    return crc32c(0, place, sizeof(place));
}

/* As det_dataset_records(), in a given file system. */
det_status record_file_open(struct io *io, const char *path, det_dataset **ret_dataset,
                            struct err *err);
/* Prefetches: record `next` will be read in a moment, and `soon` after some others; -1:
 * none.  The data set must hold records. */
void record_file_prefetch(const det_dataset *dataset, int64_t soon, int64_t next);

#endif
