/* SPDX-License-Identifier: Apache-2.0 */
/* ring_reader.h - the reader of a ring (ring.h). */
#ifndef LIBDET_RING_RING_READER_H
#define LIBDET_RING_RING_READER_H

#include "libdet/ring/ring.h"

struct buf;
struct ring_reader;

/* Opens the reader.  It starts after the last stored record or, if that is unknown,
 * with the oldest record.  Makes the directory and the head if no writer has done so,
 * unless `only_looks` is set.  The caller ensures that there is only one reader at a
 * time, besides those that only look.  For a task of another user the caller hands the
 * directory over before the task starts. */
det_status ring_reader_open(const struct ring_config *config,
                            struct ring_reader **ret_reader, struct err *err);
void ring_reader_close(struct ring_reader *reader);

struct ring_batch {
    uint64_t first; /* numbers, inclusive; first > last: nothing new */
    uint64_t last;
    uint32_t damaged; /* lost records between them: their checksum was wrong, or
                         their file is gone.  May be all of them */
};
/* Appends the next records to `out` unchanged, up to `max_bytes` but at least one.
 * Their numbers follow one another, except for lost records.  A failure changes neither
 * `out` nor the position. */
det_status ring_read(struct ring_reader *reader, size_t max_bytes, struct buf *out,
                     struct ring_batch *ret_batch, struct err *err);
/* Notes that the master has stored everything up to `number`, at most up to what was
 * read so far, and removes segments that hold nothing else. */
det_status ring_stored(struct ring_reader *reader, uint64_t number, struct err *err);
/* Notes that the master has refused a record, for the writer that waits for it.  Call
 * it before ring_stored() with that number. */
void ring_refuse(struct ring_reader *reader, uint64_t number, det_status status,
                 const char *text);
/* Starts reading again after the last stored record, because a batch was refused or
 * lost. */
void ring_rewind(struct ring_reader *reader);
/* Whether the head was truncated.  Records are then found by looking at all segments, and
 * the writers hear no more of what was stored. */
bool ring_is_cut(const struct ring_reader *reader);
/* The number of puts that found the ring or the disk full, for a log message. */
uint32_t ring_turned_away(const struct ring_reader *reader);
/* Sleeps until a record is put, and a few milliseconds more for those that follow, or
 * until `timeout_ms` has passed (-1: no limit). ring_wake() ends it at once.  Does not
 * sleep while there is something to read, nor in a memory file system. */
void ring_wait(struct ring_reader *reader, int timeout_ms);
void ring_wake(struct ring_reader *reader); /* any thread */

#endif
