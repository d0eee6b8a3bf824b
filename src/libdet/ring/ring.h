/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - reports between the training process and the process that sends them.
 *
 * Many writers (threads and processes of one task), one reader (its supervisor; the
 * command line for an offline run).  A writer copies a record into a mapped file and
 * returns: *accepted* means that the bytes are in that file and will be read even if
 * the writer is killed a moment later.  Nothing is synced: if the machine is lost, so
 * is the task.
 *
 * The ring is a directory of segments that hold records (wire/report.h), and a small
 * head file that all processes map.  The head holds a lock that survives the death of
 * its holder, the number and position of the next record, how far the master has stored
 * the records, and whether the reader sleeps.  The space of a segment is allocated
 * before it is mapped, so a full disk is a status and never a signal.  A segment is
 * removed when all of it is stored.
 *
 * If the limit is reached or the disk is full, ring_put() returns DET_BUSY at once and
 * keeps what is there. ring_reader.h has the reader's side. */
#ifndef LIBDET_RING_RING_H
#define LIBDET_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/report.h"

struct io;
struct ring;

/* What is made if it is missing.  The ring of a task is made before the task begins: one that
 * is gone was removed, and nobody would read a new one in its place. */
enum ring_makes {
    RING_MAKES_ALL,
    RING_MAKES_HEAD,    /* but not its folder: for the reader */
    RING_MAKES_NOTHING, /* for writers in a task */
};

struct ring_config {
    struct io *io;          /* borrowed */
    const char *dir;        /* copied */
    uint64_t limit_bytes;   /* of records that wait to be sent; 0: 256 MiB */
    uint64_t segment_bytes; /* 0: 1 MiB */
    bool only_looks;        /* for a reader that changes nothing and repairs nothing:
                               only ring_read() and ring_reader_close() may follow */
    enum ring_makes makes;
};

/* DET_NOT_FOUND: it is missing, and must not be made. */
det_status ring_open(const struct ring_config *config, struct ring **ret_ring,
                     struct err *err);
void ring_close(struct ring *ring); /* NULL does nothing */

/* Numbers a record and keeps it; ignores report->number.  Any thread, any process.
 * DET_BUSY: the ring or the disk is full, or a process that was stopped in the middle
 * of a put holds the lock (after waiting one second); `err` says which.  DET_TOO_LARGE:
 * the record can never fit.  DET_NOT_FOUND: the ring's folder was removed. */
det_status ring_put(struct ring *ring, const struct report *report, struct err *err);
/* The same for metrics, which are encoded in place. */
det_status ring_put_metrics(struct ring *ring, uint32_t run, int64_t time_us,
                            const struct report_metrics *metrics, struct err *err);
/* The numbers of the last accepted and of the last stored record. */
void ring_numbers(struct ring *ring, uint64_t *ret_accepted, uint64_t *ret_stored);

enum { RING_REFUSAL_TEXT = 240 };
struct ring_refusal {
    uint64_t number; /* of the record */
    det_status status;
    char text[RING_REFUSAL_TEXT];
    uint32_t others; /* the number of further refusals */
};
/* Finds the first record after `after` that was put through this handle and that the
 * master has refused; *ret_last is the last one.  A ring remembers only its last few
 * refusals, and a handle only the last few numbers of its own records: older refusals
 * count as its own.  Call it once the records are stored.  Returns false if none was
 * refused. */
bool ring_refused(struct ring *ring, uint64_t after, struct ring_refusal *ret_refusal,
                  uint64_t *ret_last);
/* Returns true in a process that was forked from the one that opened the ring: puts
 * return DET_STATE there, and ring_close() leaves the parent's ring alone.  Needs no
 * system call. */
bool ring_is_inherited(const struct ring *ring);

#endif
