/* SPDX-License-Identifier: Apache-2.0 */
/* log_add.h - adding lines to the log of a task.
 *
 * A chunk is one row: task, first and last line number, times, and a blob of at most
 * 64 KB of lines.  Small chunks are merged into large ones beside the traffic
 * (log_compact.h).  The last lines of a task are found by key, however many there are.
 *
 * Every function takes a connection: a write job's to write, a reader to read. */
#ifndef STORE_LOG_LOG_ADD_H
#define STORE_LOG_LOG_ADD_H

#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;
struct db;
struct log_line;

/* A batch of one sender.  With `sender` (allocation, rank and stream), the batch
 * carries the offset of its first byte in that stream and the offset after its last.
 * Bytes below the sender's mark are skipped, so each line is stored once.  A batch that
 * begins above it stores nothing: what is between will come first. */
struct log_batch {
    const char *task_id;
    const struct log_line *line;
    uint32_t count;
    const char *sender; /* NULL: no offsets */
    int64_t offset;
    int64_t end_offset;
    /* What the sender's next line shows now, while it is being rewritten; NULL: it has
     * no such line.  It is no line of the log before it has ended (store_log_live()). */
    const struct log_line *live;
};
/* *ret_stored: lines added. */
det_status store_log_add(struct db *db, const struct log_batch *batch,
                         struct arena *mem, uint32_t *ret_stored, struct err *err);
/* The offset at which that sender should go on; 0: nothing is stored yet. */
det_status store_log_offset(struct db *db, const char *sender, int64_t *ret_offset,
                            struct err *err);
/* The senders of that allocation will send no more: what their rewritten lines showed
 * last becomes lines of the log. */
det_status store_log_settle(struct db *db, const char *task_id, const char *allocation,
                            struct err *err);
/* The values that filters can have: {"agentIds":[..],"rankIds":[..],...}. */
det_status store_log_fields(struct db *db, const char *task_id, struct buf *ret_json,
                            struct err *err);

#endif
