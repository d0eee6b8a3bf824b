/* SPDX-License-Identifier: Apache-2.0 */
/* ring_impl.h - what writers and the reader of a ring share; only for libdet/ring*.c.
 *
 *   DIR/head             struct head, mapped by everybody
 *   DIR/segment-N        struct segment_head, then records; N counts from 1
 *
 * The *state* says which segment is written to, how far, and the number of the last
 * record.  There are two slots for it; a put fills the one that is not in use and then
 * counts `commits` up, which is the moment at which the record is there.  So whoever is
 * killed leaves the old state or the new one, readers need no lock, and each slot has a
 * check that covers the count as well: a flipped bit anywhere in it is seen, and the
 * state is then found again by reading the segments.
 *
 * Words that stand alone are *sealed*: 48 bits and a check of 16.
 *
 * Everybody holds the head file's shared lock for as long as it is open.  Who finds
 * nobody there holds it alone for a moment and puts the head in order: so damage that
 * was done to it at rest is mended, the lock's included.
 *
 * The reader may be root, and the folder its task's: it never takes the lock (its
 * holder trusts pointers in the mapped memory), opens plain files only, reads segments
 * by io_read_at() rather than through a map (a file cut short is then an end and no
 * signal), and believes no number without a limit. */
#ifndef LIBDET_RING_IMPL_H
#define LIBDET_RING_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/shared.h"
#include "libdet/ring.h"

enum { SEGMENT_HEADER = 64, HEAD_BYTES = 4096, STATE_WORDS = 5 };
enum { REFUSALS = 8, REFUSAL_WORDS = RING_REFUSAL_TEXT / 8 };
/* A larger file is not read to its end: it may have holes, and so be of any size. */
#define SEGMENT_MOST     (UINT64_C(64) << 20)
#define RING_NUMBER_MOST ((UINT64_C(1) << 48) - 1)

/* ---- the head -------------------------------------------------------------------- */

struct ring_state {
    uint64_t segment;  /* 0: none yet */
    uint64_t base;     /* bytes of all segments before it */
    uint64_t offset;   /* where the next record goes */
    uint64_t capacity; /* bytes of the segment */
    uint64_t number;   /* of the last record */
};

struct head_slot {
    _Atomic uint64_t word[STATE_WORDS];
    _Atomic uint64_t check;
    uint64_t rest[2];
};

/* A record that the master has refused, for whoever waits for it. */
struct head_refusal {
    _Atomic uint64_t number; /* sealed; 0 while the rest is being written */
    _Atomic uint64_t status;
    _Atomic uint64_t word[REFUSAL_WORDS]; /* the sentence, with its NUL */
};

/* In lines of 64 bytes by who writes them. */
struct head {
    uint64_t magic;
    uint64_t rest_of_magic[7];
    struct shared_lock lock;
    _Atomic uint64_t commits;  /* sealed; its last bit says which slot */
    _Atomic uint64_t prepared; /* the segment that somebody made, or makes, ahead */
    uint64_t rest_of_commits[6];
    struct head_slot slot[2];
    /* The reader's: sealed. */
    _Atomic uint64_t stored; /* the number up to which the master has all */
    _Atomic uint64_t freed;  /* the base of the oldest segment that is not all stored */
    _Atomic uint64_t lost;   /* a segment that is gone: not to be written to any more */
    uint64_t rest_of_reader[5];
    _Atomic uint32_t sleeps;      /* the reader does: wake it here */
    _Atomic uint32_t turned_away; /* puts that found it full; only to be told of */
    /* The reader's: the last few, in turn. */
    struct head_refusal refusal[REFUSALS];
};

struct head_file {
    struct io_file *file;
    struct io_map map;
    struct head *head; /* in the map */
};

/* Makes the directory, the file and its content where they are missing or damaged. */
det_status head_open(struct io *io, const char *dir, struct head_file *ret_head,
                     struct err *err);
/* As it is, for reading only; nothing is locked, made or mended.  One that is missing
 * or too short is no failure: head_is_whole() says so. */
det_status head_look(struct io *io, const char *dir, struct head_file *ret_head,
                     struct err *err);
void head_close(struct head_file *head);
/* Whether it is still as long as it is mapped. */
bool head_is_whole(const struct head_file *head);

/* False: it is damaged. */
bool head_load(struct head *head, struct ring_state *ret_state);
/* One at a time: who holds the lock, or the file alone. */
void head_commit(struct head *head, const struct ring_state *state);
/* What the segments say. */
det_status head_find_state(struct io *io, const char *dir, const struct head *head,
                           struct ring_state *ret_state, struct err *err);

/* Fills a slot; what was in it is forgotten. */
void head_refuse(struct head_refusal *slot, const struct ring_refusal *refusal);
/* False: it is empty, damaged or just being written. */
bool head_refusal_load(const struct head_refusal *slot,
                       struct ring_refusal *ret_refusal);

uint64_t word_seal(uint64_t value);
bool word_unseal(uint64_t word, uint64_t *ret_value);
/* 0 for a damaged one. */
uint64_t word_value(const _Atomic uint64_t *word);

/* ---- segments -------------------------------------------------------------------- */

struct segment_head {
    uint64_t magic;
    uint64_t index;
    uint64_t base;
    uint64_t first; /* the number that its first record has */
    uint64_t check;
};

void segment_head_fill(struct segment_head *to, uint64_t index, uint64_t base,
                       uint64_t first);
bool segment_head_is_whole(const struct segment_head *head);
void segment_path(struct buf *ret_path, const char *dir, uint64_t index);

/* One that is read.  Zeroed: none is open. */
struct segment {
    struct io_file *file;
    uint64_t index;
    uint64_t size;
    struct segment_head head; /* as it was found; see has_head */
    bool has_head;
    struct buf window; /* the part of the file that was read last */
    uint64_t window_at;
};

struct segment_range {
    uint64_t at;    /* where to look, moved behind what was found */
    uint64_t bound; /* where records end */
    uint64_t least; /* numbers that are wanted */
    uint64_t most;
};

struct segment_record {
    const char *bytes; /* borrowed until the next is read */
    size_t size;
    uint64_t number;
};

/* DET_NOT_FOUND: there is no such file, or it became another segment's meanwhile (then
 * all that was in it was stored). */
det_status segment_open(struct io *io, const char *dir, uint64_t index,
                        struct segment *ret_segment, struct err *err);
void segment_close(struct segment *segment);
/* What an open one is like by now; the same. */
det_status segment_look(struct segment *segment, struct err *err);
/* What was read is forgotten: others may have written meanwhile. */
void segment_forget(struct segment *segment);
/* The next whole record in the range, over whatever else lies in between.
 * DET_NOT_FOUND: there is none. */
det_status segment_next(struct segment *segment, struct segment_range *range,
                        struct segment_record *ret_record, struct err *err);
/* The first segment there is behind `index`; 0: none. */
det_status segment_after(struct io *io, const char *dir, uint64_t index,
                         uint64_t *ret_index, struct err *err);

#endif
