/* SPDX-License-Identifier: Apache-2.0 */
/* _average_peers.h - the ranks that average, and how a vector becomes their mean.
 *
 * Each rank owns a slice of the vector.  It gets the others' parts of its slice, makes
 * the means in the order of ranks and sends them to all; in chunks that stay in the
 * cache, the next one on its way while one is summed:
 *
 *     rank 0   [ slice 0 | slice 1 ]        every element travels twice, whatever the
 *                   ^  \     |              number of ranks, and is summed once, by its
 *                   |   \    v              owner: all ranks get the same bits
 *     rank 1   [ slice 0 | slice 1 ]
 *
 * A small vector goes to everybody at once, and everybody makes the same means; between
 * ranks of one machine it lies in memory that they share (_average_room.h).
 *
 * With 25 million floats and two ranks this takes a third of the time of Open MPI's own
 * MPI_Allreduce, which has no such pipeline, and the division is free.
 *
 * Before that, all ranks tell each other what they are about to average.  Ranks that do
 * not fit (another model, another step, one that has left) make the call fail on every
 * one of them, in the same call, with a sentence; nobody waits for bytes that never
 * come, or from a rank that has left, failed or died since.  Each `stream` (an
 * optimizer) has messages of its own, so that two models can be trained by two threads.
 *
 * Threading: any thread, one at a time in a stream.  MPI itself is entered by one
 * thread at a time, and never waited for inside. */
#ifndef AVERAGE_PEERS_H
#define AVERAGE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "_average_mpi.h"
#include "_average_number.h"
#include "_average_room.h"
#include "base/clock.h"
#include "base/task.h"

enum { PEERS_STREAMS = 1 << 20 }; /* streams are numbered from 0 */

struct peers {
    struct mpi mpi;
    const struct clock *clock;
    mpi_handle comm;
    struct lock lock; /* around every call of MPI, and what is below */
    int rank;
    int size;
    int64_t process;     /* that joined: its children are no rank */
    int64_t notice_us;   /* after so long a line says who is missing; 0: never */
    mpi_handle *leaving; /* by rank: waits for its word that it leaves, and behind all
                          * these for that it failed; null: it did */
    char *words;         /* those words */
    struct room room;    /* where all ranks are on one machine; see peers_share() */
    bool has_begun_mpi;  /* and so ends it */
    bool is_broken;      /* with `why`: no further call can succeed */
    struct err why;
};

/* What a rank is about to average; equal on all, but for the last two. */
struct peers_greeting {
    uint64_t tensors;
    uint64_t bytes;
    uint64_t signature;  /* of shapes, types and options */
    uint64_t rows;       /* each rank's own: see peers_gather() */
    uint64_t is_in_slot; /* all that it has: see peers_slot() */
};

/* One stream's memory; zeroed at first. */
struct peers_scratch {
    mpi_handle *requests; /* two for each rank, in three sets */
    char *chunks;         /* what came from each rank, twice */
    struct peers_greeting *greetings;
    const void **from;
    int stream;
    bool is_in_room; /* what is on its way was told there */
};

/* Joins; `mpi`, `clock`, `notice_us` and `has_begun_mpi` are set, the rest is zero. All
 * ranks call it together.  DET_INVALID when MPI's ranks are not the expected ones. */
det_status peers_open(struct peers *peers, int rank, int size, struct err *err);
/* Ranks of one machine get memory that they share; others do without.  All ranks call
 * it together, after they joined; when it fails on one it fails on all. */
det_status peers_share(struct peers *peers, struct err *err);
/* Tells the others that this rank averages no more, and waits until they say the same;
 * at once: waits for nobody.  Neither this nor peers_give_up() does anything in a child
 * that was forked since. */
void peers_close(struct peers *peers, bool at_once);
/* Tells the others that this rank failed, and leaves everything as it is. */
void peers_give_up(struct peers *peers);

void peers_scratch_done(struct peers_scratch *scratch);

/* Tells the others what this rank is about to average; then waits for what they are
 * about to.  `briefly`: not for long, and then *ret_all_came may be false, and it is
 * called again.  When they do not fit, or one has left, the call fails on every rank.
 */
det_status peers_greet(struct peers *peers, struct peers_scratch *scratch, int stream,
                       const struct peers_greeting *greeting, struct err *err);
det_status peers_listen(struct peers *peers, struct peers_scratch *scratch,
                        bool briefly, bool *ret_all_came, struct err *err);

/* Where bytes can be put before this rank greets, so that they travel with its
 * greeting; once all came, those of each rank.  NULL: they are too many, or ranks share
 * no memory, or something failed before. */
void *peers_slot(struct peers *peers, int stream, size_t bytes);
const void *peers_slot_of(const struct peers *peers, int stream, int rank);

/* `into` gets the means of all ranks' `from`, which may be the same place.  When
 * all came. */
struct peers_vector {
    const void *from;
    void *into;
    size_t count;
    enum number kind;
};
det_status peers_average(struct peers *peers, struct peers_scratch *scratch, int stream,
                         const struct peers_vector *vector, struct err *err);

/* How many rows a rank, or all of them, said it has.  When all came. */
size_t peers_rows(const struct peers *peers, const struct peers_scratch *scratch,
                  int rank);
size_t peers_all_rows(const struct peers *peers, const struct peers_scratch *scratch);
/* Whether each rank said that all it has is in its slot.  When all came. */
bool peers_all_in_slots(const struct peers *peers, const struct peers_scratch *scratch);

/* `into` gets the rows of all ranks, in the order of ranks. */
det_status peers_gather(struct peers *peers, struct peers_scratch *scratch, int stream,
                        const void *from, void *into, size_t row_bytes,
                        struct err *err);

#endif
