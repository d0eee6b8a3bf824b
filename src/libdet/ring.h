/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - reports between the training process and whoever sends them.
 *
 * Many writers (threads and processes of one task), one reader (its supervisor; off a
 * cluster, a thread of the library).  A writer copies a record into a file that is
 * mapped into its memory and returns: *accepted* means that the bytes are in that file
 * and will be read even when the writer is killed the moment after.  Nothing is synced:
 * who loses the machine loses the task with it.
 *
 * The ring is a directory of segments of records (wire/report.h), and a small head file
 * that everybody maps: a lock that survives the death of its holder, the number and the
 * place of the next record, what the reader was told is stored, and whether the reader
 * sleeps.  Segments are allocated before they are mapped, so that a full disk is a
 * status and never a signal; a segment is removed when all of it was stored.
 *
 * Beyond the limit, or on a full disk, ring_put() says DET_BUSY at once and keeps what
 * is there. */
#ifndef LIBDET_RING_H
#define LIBDET_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/report.h"

struct buf;
struct io;
struct ring;
struct ring_reader;

struct ring_config {
    struct io *io;          /* borrowed */
    const char *dir;        /* copied; made when it is not there */
    uint64_t limit_bytes;   /* of what waits to be sent; 0: 256 MiB */
    uint64_t segment_bytes; /* 0: 1 MiB */
    bool only_looks;        /* a reader that changes nothing, also where it could mend:
                               for ring_read() and ring_reader_close() only */
};

/* ---- writers --------------------------------------------------------------------- */

det_status ring_open(const struct ring_config *config, struct ring **ret_ring,
                     struct err *err);
void ring_close(struct ring *ring); /* NULL does nothing */

/* Numbers and keeps it; report->number is ignored.  Any thread, any process.
 * DET_BUSY: the ring is full, or the disk, or a process that was stopped in the middle
 * of a put holds it (then after a second); `err` says which.  DET_TOO_LARGE: it never
 * fits. */
det_status ring_put(struct ring *ring, const struct report *report, struct err *err);
/* The same for metrics, encoded in place. */
det_status ring_put_metrics(struct ring *ring, uint32_t run, int64_t time_us,
                            const struct report_metrics *metrics, struct err *err);
/* The number of the last record that was accepted, and of the last that was stored. */
void ring_numbers(struct ring *ring, uint64_t *ret_accepted, uint64_t *ret_stored);

enum { RING_REFUSAL_TEXT = 240 };
struct ring_refusal {
    uint64_t number; /* of the record */
    det_status status;
    char text[RING_REFUSAL_TEXT];
    uint32_t others; /* how many more there are */
};
/* The first record behind `after` that this handle has put and the master has refused;
 * *ret_last is the last one.  Only the last few refusals of a ring are remembered, and
 * of which process a record was only for the last few of each: what came before counts
 * as its own.  Call it once the records are stored.  False: none was refused. */
bool ring_refused(struct ring *ring, uint64_t after, struct ring_refusal *ret_refusal,
                  uint64_t *ret_last);
/* True in a process that was forked from the one that opened it: puts give DET_STATE
 * there, and ring_close() takes nothing from the parent.  Costs no system call. */
bool ring_is_inherited(const struct ring *ring);

/* ---- the reader ------------------------------------------------------------------ */

/* Begins behind what was stored, or, where that is not known, with the oldest record
 * that is there.  Works also when no writer ever came: it makes the directory and the
 * head, unless it only looks. One reader at a time (the caller sees to it), but for
 * those that only look.  A task of another user is given
 * the directory with all that is in it before it starts. */
det_status ring_reader_open(const struct ring_config *config,
                            struct ring_reader **ret_reader, struct err *err);
void ring_reader_close(struct ring_reader *reader);

struct ring_batch {
    uint64_t first; /* numbers, inclusive; first > last: nothing new */
    uint64_t last;
    uint32_t damaged; /* how many between them are lost: their check failed, or they
                         were in a file that is gone.  All may be: nothing is added */
};
/* Adds the next records to `out` as they are, up to `max_bytes` (but at least one),
 * each with the number that follows, but for those that are lost.  A failure leaves
 * both where they were. */
det_status ring_read(struct ring_reader *reader, size_t max_bytes, struct buf *out,
                     struct ring_batch *ret_batch, struct err *err);
/* The master has everything up to `number` (of those that were read): segments with
 * nothing else in them are removed. */
det_status ring_stored(struct ring_reader *reader, uint64_t number, struct err *err);
/* The master has refused it for good: whoever waits for it is to know.  Before it is
 * said to be stored. */
void ring_refuse(struct ring_reader *reader, uint64_t number, det_status status,
                 const char *text);
/* Reading begins again behind what was stored (a batch was refused or lost). */
void ring_rewind(struct ring_reader *reader);
/* How many puts found the ring, or the disk, full: for a sentence in a log. */
uint32_t ring_turned_away(const struct ring_reader *reader);
/* Sleeps until something is put, and a few milliseconds more for what follows it, or
 * until `timeout_ms` passes (-1: never); ring_wake() ends it at once.  Does not sleep
 * while there is something left to read, nor in a memory file system. */
void ring_wait(struct ring_reader *reader, int timeout_ms);
void ring_wake(struct ring_reader *reader); /* any thread */

#endif
