/* SPDX-License-Identifier: Apache-2.0 */
/* _average_peers.h - the ranks that average, and how they compute the mean of a vector.
 *
 * Each rank owns a slice of the vector. It receives the others' parts of its slice,
 * computes the means in the order of ranks and sends them to all. It works in chunks
 * that stay in the cache, and receives the next chunk while it sums one:
 *
 *     rank 0   [ slice 0 | slice 1 ]        every element travels twice, whatever the
 *                   ^  \     |              number of ranks, and is summed once, by its
 *                   |   \    v              owner: all ranks get the same bits
 *     rank 1   [ slice 0 | slice 1 ]
 *
 * A small vector is sent to all ranks at once, and every rank computes the same means.
 * Ranks of one machine put it into shared memory instead (_average_shm.h).
 *
 * Open MPI's own MPI_Allreduce is slower at nearly every size that
 * tests/bench/bench_average.c measures: 25 million floats on two ranks take it 2.1 to 3.1
 * times as long, because it has no such pipeline (docs/PERFORMANCE.md).
 *
 * First, all ranks tell each other what they are about to average. If they do not match
 * (another model, another step, a rank that has left), the call fails on every rank, in
 * the same call, with a sentence. No rank waits for bytes that never come, or for a
 * rank that has left, failed or died: the others fail within about a tenth of a second,
 * also in the middle of an exchange. A rank that leaves or fails says so in the shared
 * memory and by a message; the kernel's descriptor of a process shows that it died. Each `stream` (an optimizer) has its own
 * messages, so two threads can train two models.
 *
 * Threading: any thread, one at a time per stream. One thread at a time enters MPI, and
 * no call of MPI blocks. */
#ifndef AVERAGE_PEERS_H
#define AVERAGE_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "_average_mpi.h"
#include "_average_number.h"
#include "_average_shm.h"
#include "base/clock.h"
#include "base/thread/lock.h"

enum { PEERS_STREAMS = 1 << 20 }; /* streams are numbered from 0 */

struct peers {
    struct mpi mpi;
    const struct clock *clock;
    mpi_handle comm;
    struct lock lock; /* held around every call of MPI; guards the members below */
    int rank;
    int size;
    int64_t process; /* that joined: its forked children are not ranks */
    int64_t
        notice_us; /* after so long, a line says which ranks are missing; 0: never */
    mpi_handle *leaving; /* by rank: receives "I leave"; then, again by rank,
                          * "I failed"; null: received */
    char *words;         /* their buffers */
    struct shm shm;      /* if all ranks are on one machine; see peers_share_memory() */
    bool has_begun_mpi;  /* and so finalizes it */
    bool is_broken;      /* with `why`: no further call can succeed */
    struct err why;
};

/* Describes what a rank is about to average; equal on all ranks except for the last two
 * members. */
struct peers_greeting {
    uint64_t tensors;
    uint64_t bytes;
    uint64_t signature;  /* of shapes, types and options */
    uint64_t rows;       /* each rank's own: see peers_gather() */
    uint64_t is_in_slot; /* all its bytes: see peers_slot() */
};

/* One stream's memory; zeroed at first. */
struct peers_scratch {
    mpi_handle *requests; /* two for each rank, in three sets */
    char *chunks;         /* from each rank, twice */
    struct peers_greeting *greetings;
    const void **from;
    int stream;
    bool is_in_shm; /* the greeting was posted there */
};

/* Joins the ranks. The caller sets `mpi`, `clock`, `notice_us` and `has_begun_mpi`; the
 * rest is zero. All ranks call it together. DET_INVALID if MPI's ranks are not the
 * expected ones. */
det_status peers_open(struct peers *peers, int rank, int size, struct err *err);
/* Maps shared memory if all ranks are on one machine. All ranks call it together, after
 * they joined; if it fails on one rank, it fails on all. */
det_status peers_share_memory(struct peers *peers, struct err *err);
/* Tells the others that this rank averages no more, and waits until they say the same;
 * `at_once`: does not wait. Neither this nor peers_give_up() does anything in a forked
 * child. */
void peers_close(struct peers *peers, bool at_once);
/* Tells the others that this rank failed, and changes nothing else. */
void peers_give_up(struct peers *peers);

void peers_scratch_done(struct peers_scratch *scratch);

/* peers_greet() tells the others what this rank is about to average; peers_listen()
 * waits for their greetings. With `briefly` it waits for a moment only, *ret_all_came
 * may be false, and the caller calls it again. If the greetings do not match, or a rank
 * has left, the call fails on every rank. */
det_status peers_greet(struct peers *peers, struct peers_scratch *scratch, int stream,
                       const struct peers_greeting *greeting, struct err *err);
det_status peers_listen(struct peers *peers, struct peers_scratch *scratch,
                        bool briefly, bool *ret_all_came, struct err *err);

/* Where this rank can put bytes before it greets, so they travel with its greeting;
 * and, after all greetings came, the bytes of each rank. NULL if they are too many, if
 * the ranks share no memory, or after a failure. */
void *peers_slot(struct peers *peers, int stream, size_t bytes);
const void *peers_slot_of(const struct peers *peers, int stream, int rank);

/* `into` gets the means of all ranks' `from`, which may be the same place. Only after
 * all greetings came. */
struct peers_vector {
    const void *from;
    void *into;
    size_t count;
    enum number kind;
};
det_status peers_average(struct peers *peers, struct peers_scratch *scratch, int stream,
                         const struct peers_vector *vector, struct err *err);

/* The rows that a rank, or all ranks together, announced. Only after all greetings
 * came. */
size_t peers_rows(const struct peers *peers, const struct peers_scratch *scratch,
                  int rank);
size_t peers_all_rows(const struct peers *peers, const struct peers_scratch *scratch);
/* Whether every rank announced that all its bytes are in its slot. Only after all
 * greetings came. */
bool peers_all_in_slots(const struct peers *peers, const struct peers_scratch *scratch);

/* `into` gets the rows of all ranks, in the order of ranks. */
det_status peers_gather(struct peers *peers, struct peers_scratch *scratch, int stream,
                        const void *from, void *into, size_t row_bytes,
                        struct err *err);

#endif
