/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - see batch.h. */
#include "wire/batch.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"

#define MAGIC UINT32_C(0x52544544) /* "DETR" */

void batch_head_encode(const struct batch_head *head, void *to)
{
    unsigned char *at = to;

    put_u32(at, MAGIC);
    put_u32(at + 4, head->source);
    put_u32(at + 8, head->count);
    put_u32(at + 12, 0);
    put_u64(at + 16, head->first);
    put_u64(at + 24, head->last);
}

det_status batch_head_decode(const void *bytes, size_t len, struct batch_head *ret_head,
                             struct err *err)
{
    const unsigned char *at = bytes;
    struct batch_head head;

    if (len < BATCH_HEAD || get_u32(at) != MAGIC)
        return err_set(err, DET_INVALID, "the body is not a batch of reports");
    head = (struct batch_head){get_u32(at + 4), get_u32(at + 8), get_u64(at + 16),
                               get_u64(at + 24)};
    if (head.count > BATCH_RECORDS_MOST)
        return err_set(err, DET_TOO_LARGE,
                       "the batch has %" PRIu32 " reports; at most %d go into one",
                       head.count, BATCH_RECORDS_MOST);
    if (!head.first || head.last < head.first || head.last > INT64_MAX ||
        head.count > head.last - head.first + 1)
        return err_set(err, DET_INVALID,
                       "the batch cannot have %" PRIu32 " reports from %" PRIu64
                       " to %" PRIu64,
                       head.count, head.first, head.last);
    if (head.last - head.first >= BATCH_NUMBERS_MOST)
        return err_set(err, DET_INVALID,
                       "the batch claims the reports %" PRIu64 " to %" PRIu64
                       "; it may claim at most %d",
                       head.first, head.last, BATCH_NUMBERS_MOST);
    *ret_head = head;
    return DET_OK;
}
