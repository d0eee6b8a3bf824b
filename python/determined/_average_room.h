/* SPDX-License-Identifier: Apache-2.0 */
/* _average_room.h - memory that the ranks of one machine share: what they are about to
 * average, and all of it that is small.
 *
 *     stream 0   [ rank 0: turn | word, bytes | word, bytes ] [ rank 1: ... ]
 *     stream 1   ...
 *
 * A rank writes what it has to say (a word) and its bytes at its own place, and then
 * counts its turn on.  Others sleep on that count and read the place where it lies:
 * telling takes one copy, hearing none, and nobody needs a processor to wait.
 *
 * There are two of everything, used in turns.  Whoever has told its turn n has read all
 * of turn n - 1, so that n + 1 may be written over it: no other agreement is needed.
 *
 * Only what a stream's calls say in order is kept apart: in a stream one thread at a
 * time.  The memory has no name; whoever joins opens it through the process of the
 * first rank, and it is gone with the last of them.  A rank that leaves says so here,
 * and of one that dies the kernel tells. */
#ifndef AVERAGE_ROOM_H
#define AVERAGE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ROOM_STREAMS = 64, ROOM_WORD = 64 /* bytes, at most */ };

struct room {
    char *memory; /* NULL: there is no room */
    size_t len;
    size_t slot_bytes; /* of a rank in a turn */
    int rank;
    int size;
    int file;  /* of the first rank, until all have joined */
    int *ends; /* by rank: becomes readable when that process ends; -1: it does not */
};

/* What a rank tells the others before there is a room, by other means. */
struct room_card {
    uint64_t machine; /* of the kernel, and of the numbers of its processes */
    uint64_t secret;  /* the first rank's: the memory begins with it */
    int64_t process;
    int64_t file; /* the first rank's; -1: it has none */
};

/* The first rank's makes the memory, too: DET_NOMEM or DET_FAILED when it cannot.
 * `room` is zeroed. */
det_status room_begin(struct room *room, int rank, int size, size_t slot_bytes,
                      struct room_card *ret_card, struct err *err);
/* Opens the memory with the cards of all ranks.  DET_UNSUPPORTED when some are on
 * another machine or out of reach. */
det_status room_enter(struct room *room, const struct room_card *cards,
                      struct err *err);
/* All have entered. */
void room_close_door(struct room *room);
void room_done(struct room *room);

/* What becomes of a rank.  What it says itself it says once, without waiting for
 * anybody. */
enum room_fate { ROOM_HERE, ROOM_LEFT, ROOM_FAILED, ROOM_DIED };
void room_say(const struct room *room, enum room_fate fate);
enum room_fate room_fate(const struct room *room, int rank);

/* Where this rank's bytes of its next turn go. */
void *room_slot(const struct room *room, int stream);
/* Counts this rank's turn on, with `word`; who sleeps for it wakes. */
void room_tell(const struct room *room, int stream, const void *word, size_t len);
/* Whether another rank has reached this rank's turn.  Sleeps for it, at most so long
 * (0: not at all), and may return early. */
bool room_hear(const struct room *room, int stream, int rank, int timeout_ms);
/* Of this rank's turn, which that rank has reached.  Valid until the next turn is
 * told. */
const void *room_word(const struct room *room, int stream, int rank);
const void *room_bytes(const struct room *room, int stream, int rank);

#endif
