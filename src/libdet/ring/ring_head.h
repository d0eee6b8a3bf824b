/* SPDX-License-Identifier: Apache-2.0 */
/* ring_head.h - the head of a ring: the state that writers and the reader share.  Only
 * for libdet/ring.
 *
 *   DIR/head             struct ring_head, mapped by every process
 *   DIR/segment-N        struct ring_segment_head, then records; N counts from 1
 *
 * The *state* says which segment is being written, up to where, and the number of the
 * last record.  It has two slots: a put fills the unused one and then increments
 * `commits`, and at that moment the record exists.  So a writer that is killed leaves
 * either the old or the new state, and readers need no lock.  The checksum of a slot
 * also covers the count, so a flipped bit anywhere is noticed; the state is then
 * rebuilt from the segments.
 *
 * Single words are *sealed*: 48 bits and a checksum of 16 bits.
 *
 * Every process holds a shared lock on the head file while it is open.  A process that
 * finds itself alone takes the lock exclusively for a moment and repairs the head,
 * including the mutex in it.
 *
 * The reader may be root while the folder belongs to its task.  So the reader never
 * takes the mutex (its holder trusts pointers in the mapped memory), opens plain files
 * only, reads segments with io_read_at() instead of mapping them (a truncated file is
 * then an end, not a signal), guards its map of the head (base/io/map_guard.h), and limits
 * every number it reads. */
#ifndef LIBDET_RING_RING_HEAD_H
#define LIBDET_RING_RING_HEAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/thread/shared_lock.h"
#include "libdet/ring/ring.h"

enum { HEAD_BYTES = 4096, STATE_WORDS = 5 };
enum { REFUSALS = 8, REFUSAL_WORDS = RING_REFUSAL_TEXT / 8 };

struct ring_state {
    uint64_t segment;  /* 0: none yet */
    uint64_t base;     /* bytes of all segments before it */
    uint64_t offset;   /* where the next record goes */
    uint64_t capacity; /* bytes of the segment */
    uint64_t number;   /* of the last record */
};

struct ring_head_slot {
    _Atomic uint64_t word[STATE_WORDS];
    _Atomic uint64_t check;
    uint64_t rest[2];
};

/* A record that the master has refused, for the writer that waits for it. */
struct ring_head_refusal {
    _Atomic uint64_t number; /* sealed; 0 while the rest is being written */
    _Atomic uint64_t status;
    _Atomic uint64_t word[REFUSAL_WORDS]; /* the message, with its NUL */
};

/* Grouped into cache lines of 64 bytes by who writes them. */
struct ring_head {
    uint64_t magic;
    uint64_t format; /* sealed; 0: format 1, whose makers did not write it */
    uint64_t rest_of_magic[6];
    struct shared_lock lock;
    _Atomic uint64_t commits;  /* sealed; the last bit selects the slot */
    _Atomic uint64_t prepared; /* the segment that a writer has made, or makes, ahead */
    uint64_t rest_of_commits[6];
    struct ring_head_slot slot[2];
    /* Written by the reader; sealed. */
    _Atomic uint64_t stored; /* the master has stored everything up to this number */
    _Atomic uint64_t freed;  /* the base of the oldest segment that is not completely
                                stored */
    _Atomic uint64_t lost;   /* a segment that is gone: do not write to it */
    uint64_t rest_of_reader[5];
    _Atomic uint32_t sleeps;      /* the reader sleeps: wake it here */
    _Atomic uint32_t turned_away; /* puts that found the ring full, for a log message */
    /* Written by the reader: the last few, in turn. */
    struct ring_head_refusal refusal[REFUSALS];
};

struct ring_head_file {
    struct io_file *file;
    struct io_map map;
    struct ring_head *head; /* in the map */
    bool is_own; /* of the caller's own run: it may have any number of files */
};

/* Opens the head and repairs its content; makes what is missing, as far as `makes` says.
 * One that the caller may make with its folder is its own. */
det_status ring_head_open(struct io *io, const char *dir, enum ring_makes makes,
                          struct ring_head_file *ret_head, struct err *err);
/* The status and the sentence for a ring that is gone. */
det_status ring_head_is_gone(const char *dir, struct err *err);
/* Opens the head for reading only: locks, makes and repairs nothing.  A missing or
 * short file is not a failure: ring_head_is_whole() tells. */
det_status ring_head_look(struct io *io, const char *dir,
                          struct ring_head_file *ret_head, struct err *err);
void ring_head_close(struct ring_head_file *head);
/* Whether the file is still as long as its map, and was all the time. */
bool ring_head_is_whole(const struct ring_head_file *head);

/* Returns false if the state is damaged. */
bool ring_head_load(struct ring_head *head, struct ring_state *ret_state);
/* The caller must hold the mutex, or the file exclusively. */
void ring_head_commit(struct ring_head *head, const struct ring_state *state);
/* Rebuilds the state from the segments. */
det_status ring_head_find_state(struct io *io, const char *dir,
                                const struct ring_head_file *head,
                                struct ring_state *ret_state, struct err *err);

/* Overwrites a slot. */
void ring_head_refuse(struct ring_head_refusal *slot,
                      const struct ring_refusal *refusal);
/* Returns false if the slot is empty, damaged or being written. */
bool ring_head_refusal_load(const struct ring_head_refusal *slot,
                            struct ring_refusal *ret_refusal);

uint64_t ring_word_seal(uint64_t value);
bool ring_word_unseal(uint64_t word, uint64_t *ret_value);
/* Returns 0 for a damaged word. */
uint64_t ring_word_value(const _Atomic uint64_t *word);

#endif
