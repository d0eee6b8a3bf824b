/* SPDX-License-Identifier: Apache-2.0 */
/* star.h - a chief, and one connection from every other rank to it.
 *
 *   worker  ->  chief    head(operation, number, len) bytes
 *   chief   ->  worker   head(operation, number, len) result     when all have called
 *                        head(REFUSED, status, number) message   this operation failed
 *                        head(ABORT, status, number) message     the star is broken
 *   either  ->  other    head(LEAVE)                             closed in order
 *
 * Every operation is one round trip, even if its result flows one way, so all ranks
 * learn the same in the same operation.  The chief compares each incoming head with its
 * own call, and notices closed connections while it waits; the first problem becomes
 * the error of all ranks.  Invariants:
 *
 *   1. between two operations the connections are empty, or hold ABORT or LEAVE;
 *   2. until the bytes of all ranks have arrived, the chief sends nothing but ABORT: a
 *      worker that receives something while it sends stops sending and reads;
 *   3. a broken star stays broken, with one error; a result reaches all living ranks or
 *      none, except if the chief dies while it answers;
 *   4. a connection that closes during the answer is reported in the next operation.
 *
 * Joining (star_join.c): the chief sends a nonce; the worker answers with its rank, its
 * own nonce and a MAC over both; the chief proves itself the same way.  A stranger
 * without the key gets no further and delays no rank: the chief handles all connections
 * at the same time.  When all ranks have joined the chief closes the listener and sends
 * START.
 *
 * The key is derived from the task's session (distributed.c) and is never sent.
 *
 * A star has no thread: a rank that is not in an operation hears nothing.  A rank that
 * cannot go on breaks the star with its own message (det_distributed_fail()), whatever
 * the other ranks are doing.
 *
 * Threads: one at a time. */
#ifndef LIBDET_RANKS_STAR_H
#define LIBDET_RANKS_STAR_H

#include "base/err.h"
#include "det/distributed.h"
#include "net/stream.h"

enum star_kind {
    STAR_BARRIER = 1,
    STAR_GATHER,
    STAR_ALLGATHER,
    STAR_BROADCAST,
    STAR_OPERATIONS,
    STAR_LOCAL = 0x10, /* added if one star serves all ranks and the local ranks */
    STAR_START = 0x20,
    STAR_REFUSED,
    STAR_ABORT,
    STAR_LEAVE,
};

enum {
    STAR_HEAD = 24,
    STAR_KEY = 32,
    STAR_SCRATCH = 1 << 16,
    STAR_SENTENCE = 512,
};

struct star_config {
    int rank;
    int size;
    const char *word;    /* the name of its ranks: "rank", "local rank" */
    struct stream_at at; /* borrowed while joining */
    unsigned char key[STAR_KEY];
    int64_t join_deadline_us;
    int64_t timeout_ms; /* 0: none */
    size_t limit_bytes;
    /* Called now and then while waiting; a value other than 0 ends the wait.  May be
     * NULL. */
    int (*interrupted)(void *arg);
    void *interrupted_arg;
};

struct star_head {
    uint32_t kind;
    uint32_t status; /* of REFUSED and ABORT; of an operation, 1: no bytes follow */
    uint64_t number;
    uint64_t len;
};

/* The other end of a connection, and what it sent in this operation. */
struct star_peer {
    struct stream stream;
    unsigned char head[STAR_HEAD];
    size_t head_got;
    bool has_all;
    bool is_dropped; /* its bytes are not kept */
    char *bytes;     /* owned */
    size_t len;
    size_t got;
    size_t sent; /* of the answer */
};

struct star {
    struct star_config config;
    struct star_peer *peers; /* chief: by rank, its own first; worker: the chief */
    struct pollfd *rows;     /* one per peer */
    det_part *parts;         /* of the last operation */
    char *block;             /* owned: a result in one piece */
    char *scratch;
    uint64_t number;   /* of operations */
    struct err broken; /* DET_OK: not broken */
    bool has_told;     /* the peers were told that it is broken */
    bool is_interrupted;
    bool has_word;      /* a worker that must tell why it is broken */
    uint64_t sum;       /* bytes of this operation so far */
    struct err refused; /* why this operation is refused; DET_OK: it is not */
};

/* Joins, and returns when all ranks have joined; a star of one rank needs no network.
 * star_done() may also be called for a star that is all zero. */
det_status star_join(struct star *star, const struct star_config *config,
                     struct err *err);
/* `is_quiet`: for a forked child, which must send nothing. */
void star_done(struct star *star, bool is_quiet);

/* Ends the star for all: every rank gets this error in its current or next operation.
 */
void star_fail(struct star *star, const struct err *why);

/* Runs one operation.  `ret_parts` points to `size` parts, for a broadcast to one, or
 * is NULL if this rank gets nothing. */
det_status star_run(struct star *star, uint32_t kind, const det_part *own,
                    const det_part **ret_parts, struct err *err);

#endif
