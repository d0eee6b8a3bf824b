/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - one stream of a task's output between the pipe and the master.
 *
 * The supervisor's loop writes, its shipping lane reads; neither waits for the other.
 * Kept bytes are numbered from 0; the number of the next one is an *offset*.  They lie
 * in segment files, DIR/NAME.spool.<offset of the first byte, 20 digits>, which are
 * removed when the master has them.
 *
 *   segment  = record*
 *   record   = magic u32, length u32, time i64 (wall, us), offset u64, check u64, bytes
 *
 * all little-endian; `check` covers the header and the bytes, so a record that a crash
 * cut in two is recognised: the spool ends before it.  Nothing is synced: after a loss
 * of power the task is gone anyway.
 *
 * When more than the limit waits to be sent, or the disk is full, new output is dropped
 * and its lines are counted; the first line kept afterwards is preceded by one that
 * says how many are missing.  Dropped bytes have no offsets.  If the stream ends before
 * there is room again, that line waits in memory for the reader.
 *
 * Threading: one writer thread, one reader thread; a lock inside guards what they
 * share. */
#ifndef AGENT_TASK_OUTPUT_SPOOL_H
#define AGENT_TASK_OUTPUT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;
struct io;
struct spool;

enum { SPOOL_RECORD = 64 << 10 }; /* the most bytes in a record */

struct spool_config {
    struct io *io;          /* borrowed */
    const char *dir;        /* copied */
    const char *name;       /* "stdout"; copied */
    uint64_t limit_bytes;   /* 0: 1 GiB */
    uint64_t segment_bytes; /* 0: 16 MiB */
    bool only_looks;        /* removes nothing; to read a spool of another writer */
    uint64_t from;          /* with it: begins with the segment that has this offset */
};

/* Continues with the files that are there; everything after a damaged record is
 * removed. */
det_status spool_open(const struct spool_config *config, struct spool **ret_spool,
                      struct err *err);
void spool_close(struct spool *spool); /* keeps the files; NULL does nothing */

/* ---- the writer ------------------------------------------------------------------ */

/* Keeps or drops, but never fails.  At most SPOOL_RECORD bytes. */
void spool_write(struct spool *spool, int64_t time_us, const void *bytes, size_t len);
/* Nothing more will come. */
void spool_end(struct spool *spool, int64_t time_us);

/* ---- the reader ------------------------------------------------------------------ */

struct spool_record {
    uint64_t offset;
    int64_t time_us;
    size_t len;
};

/* Adds the bytes of the next record to `out`.  DET_NOT_FOUND: there is none now
 * (after spool_is_ended(): never).  DET_CORRUPT: it is damaged, or its file was removed. */
det_status spool_read(struct spool *spool, struct buf *out,
                      struct spool_record *ret_record, struct err *err);
uint64_t spool_next_offset(const struct spool *spool); /* what is read next */
/* The master has everything before `offset`. */
void spool_sent(struct spool *spool, uint64_t offset);
bool spool_is_ended(struct spool *spool);

/* Removes the files: the master has everything, and neither side will be used again. */
void spool_discard(struct spool *spool);

/* Any thread. */
uint64_t spool_end_offset(struct spool *spool);

#endif
