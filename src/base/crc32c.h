/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h - the checksum of files and messages.  It finds every flipped bit and every
 * burst up to 32 bits, and most processors compute it for eight bytes in one
 * instruction. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli) of the bytes; `crc` is 0, or the checksum of the bytes in
 * front. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t len);
/* The same on any processor. */
uint32_t crc32c_plain(uint32_t crc, const void *bytes, size_t len);

#endif
