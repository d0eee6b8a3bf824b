/* SPDX-License-Identifier: Apache-2.0 */
/* _average_shm.h - memory that the ranks of one machine share: their greetings, and all
 * small gradients.
 *
 *     stream 0   [ rank 0: turn | word, bytes | word, bytes ] [ rank 1: ... ]
 *     stream 1   ...
 *
 * A rank writes its greeting (a word) and its bytes into its own place, and then
 * increments its turn. Other ranks sleep on that count and read the place directly:
 * posting takes one copy, reading none, and a waiting rank uses no processor.
 *
 * Everything exists twice and is used in turns. A rank that has posted turn n has read
 * all of turn n - 1, so turn n + 1 may overwrite it: no other agreement is needed.
 *
 * A slot takes about a megabyte divided by the number of other ranks
 * (peers_share_memory()). Larger gradients, and ranks of several machines, use MPI.
 *
 * One thread at a time per stream. The memory has no name; a rank that joins opens it
 * through the process of rank 0, and it disappears with the last of them. A rank that
 * leaves says so here, and the kernel reports a rank that dies. */
#ifndef AVERAGE_SHM_H
#define AVERAGE_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { SHM_STREAMS = 64, SHM_WORD = 64 /* bytes, at most */ };

struct shm {
    char *memory; /* NULL: no shared memory */
    size_t len;
    size_t slot_bytes; /* of one rank in one turn */
    int rank;
    int size;
    int file;  /* of rank 0, until all ranks have joined */
    int *ends; /* by rank: becomes readable when that process ends; -1: unknown */
};

/* Sent between the ranks by MPI before they can share memory. */
struct shm_address {
    uint64_t machine; /* identifies the kernel and its list of processes */
    uint64_t secret;  /* of rank 0: the memory begins with it */
    int64_t process;
    int64_t file; /* of rank 0; -1: it has none */
};

/* On rank 0 it also creates the memory: DET_NOMEM or DET_FAILED if it cannot. `shm` is
 * zeroed. */
det_status shm_create(struct shm *shm, int rank, int size, size_t slot_bytes,
                      struct shm_address *ret_address, struct err *err);
/* Opens the memory with the addresses of all ranks. DET_UNSUPPORTED if some are on
 * another machine or out of reach. */
det_status shm_join(struct shm *shm, const struct shm_address *addresses,
                    struct err *err);
/* After all ranks have joined. */
void shm_close_file(struct shm *shm);
void shm_done(struct shm *shm);

/* A rank sets its own state once, without waiting. */
enum rank_state { RANK_HERE, RANK_LEFT, RANK_FAILED, RANK_DIED };
void shm_set_state(const struct shm *shm, enum rank_state state);
enum rank_state shm_rank_state(const struct shm *shm, int rank);

/* Where this rank's bytes of its next turn go. */
void *shm_slot(const struct shm *shm, int stream);
/* Increments this rank's turn, with `word`, and wakes the ranks that wait for it. */
void shm_post(const struct shm *shm, int stream, const void *word, size_t len);
/* Whether another rank has reached this rank's turn. Sleeps for at most timeout_ms (0:
 * not at all), and may return early. */
bool shm_wait(const struct shm *shm, int stream, int rank, int timeout_ms);
/* Word and bytes of this rank's turn, which that rank has reached. Valid until the next
 * post. */
const void *shm_word(const struct shm *shm, int stream, int rank);
const void *shm_bytes(const struct shm *shm, int stream, int rank);

#endif
