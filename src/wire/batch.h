/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the body of POST /api/v1/allocations/{id}/reports: a head, then records of a
 * ring (wire/report.h), unchanged.
 *
 *   head = magic u32 "DETR", source u32, count u32, 0 u32, first u64, last u64
 *
 * A batch stands for all numbers from `first` to `last`.  A number that is missing in
 * between was damaged before it was sent and will never come.  So the master can tell a
 * gap (another batch is missing) from a loss.  A batch without records says that all its
 * numbers are lost.  It stands for at most BATCH_NUMBERS_MOST numbers; a larger loss takes
 * several batches.  Little-endian; pure. */
#ifndef WIRE_BATCH_H
#define WIRE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { BATCH_HEAD = 32, BATCH_RECORDS_MOST = 1 << 16, BATCH_NUMBERS_MOST = 1 << 24 };

struct batch_head {
    uint32_t source; /* the rank of the sending node */
    uint32_t count;  /* records */
    uint64_t first;  /* numbers, inclusive, from 1 */
    uint64_t last;
};

/* Writes BATCH_HEAD bytes. */
void batch_head_encode(const struct batch_head *head, void *to);
/* DET_INVALID: the bytes are not a batch, or its head contradicts itself. */
det_status batch_head_decode(const void *bytes, size_t len, struct batch_head *ret_head,
                             struct err *err);

#endif
