/* SPDX-License-Identifier: Apache-2.0 */
/* ring_segment.h - the files that hold the records of a ring. */
#ifndef LIBDET_RING_RING_SEGMENT_H
#define LIBDET_RING_RING_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"

struct io;
struct io_file;

enum { SEGMENT_HEADER = 64 };
/* The rest of a larger file is not read: it may have holes, and thus any size. */
#define SEGMENT_MOST (UINT64_C(64) << 20)
/* Writers leave an empty segment or two: one made ahead, one that was renamed.  Whoever makes larger
 * ones in a row wants the reader to search for ever. */
#define SEGMENTS_BARREN  (2 * SEGMENT_MOST)
#define RING_NUMBER_MOST ((UINT64_C(1) << 48) - 1)

struct ring_segment_head {
    uint64_t magic;
    uint64_t index;
    uint64_t base;
    uint64_t first; /* the number of its first record */
    uint64_t check;
};

void ring_segment_head_fill(struct ring_segment_head *to, uint64_t index, uint64_t base,
                            uint64_t first);
bool ring_segment_head_is_whole(const struct ring_segment_head *head);
void ring_segment_path(struct buf *ret_path, const char *dir, uint64_t index);

/* An open segment, for reading.  All zero: none is open. */
struct ring_segment {
    struct io_file *file;
    uint64_t index;
    uint64_t size;
    struct ring_segment_head head; /* valid if has_head */
    bool has_head;
    struct buf window; /* the part of the file that was read last */
    uint64_t window_at;
};

struct ring_segment_range {
    uint64_t at;    /* where to look; moves behind each record found */
    uint64_t bound; /* where records end */
    uint64_t least; /* the wanted numbers */
    uint64_t most;
};

struct ring_segment_record {
    const char *bytes; /* borrowed until the next is read */
    size_t size;
    uint64_t number;
};

/* DET_NOT_FOUND: there is no such file, or it has become another segment meanwhile
 * (then all its records were stored). */
det_status ring_segment_open(struct io *io, const char *dir, uint64_t index,
                             struct ring_segment *ret_segment, struct err *err);
void ring_segment_close(struct ring_segment *segment);
/* DET_CORRUPT, because there were more than SEGMENTS_BARREN bytes. */
det_status ring_segments_barren(const char *dir, struct err *err);

/* Reads size and head of an open segment again.  Fails in the same way. */
det_status ring_segment_look(struct ring_segment *segment, struct err *err);
/* Forgets the bytes read so far: writers may have changed them. */
void ring_segment_forget(struct ring_segment *segment);
/* Finds the next complete record in the range, and skips everything else.
 * DET_NOT_FOUND: there is none. */
det_status ring_segment_next(struct ring_segment *segment,
                             struct ring_segment_range *range,
                             struct ring_segment_record *ret_record, struct err *err);
/* Finds the first segment after `index`; 0: none.  DET_CORRUPT: the folder has more files
 * than a ring of a task ever has, and is not one of our own (`is_own`). */
det_status ring_segment_after(struct io *io, const char *dir, uint64_t index,
                              bool is_own, uint64_t *ret_index, struct err *err);

#endif
