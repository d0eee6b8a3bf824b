/* SPDX-License-Identifier: Apache-2.0 */
/* star.h - a chief, and one connection from every other rank to it.
 *
 *   worker  ->  chief    head(operation, number, len) bytes
 *   chief   ->  worker   head(operation, number, len) result        when all have come
 *                        head(REFUSED, status, number) sentence     this one failed
 *                        head(ABORT, status, number) sentence       the star is broken
 *   either  ->  other    head(LEAVE)                                closed in order
 *
 * Every operation is one round, also those whose result flows one way: so everybody
 * learns the same, in the same operation.  The chief compares each head with its own
 * call as it comes in, and looks for ends of connections as long as it waits; the first
 * thing that is wrong becomes the sentence of all.  Invariants:
 *
 *   1. between two operations the connections are empty, or hold ABORT or LEAVE;
 *   2. the chief says nothing before everybody's bytes are in, but ABORT: a worker that
 *      hears something while it still sends stops sending and listens;
 *   3. a star that is broken stays so, with one sentence; results go to all who live
 * or, but for a chief who dies while it answers, to nobody;
 *   4. an end noticed while answering is told in the next operation.
 *
 * Joining (star_join.c): the chief greets with a nonce; the worker answers with its
 * rank, a nonce of its own and a MAC over both; the chief proves itself the same way.
 * Who does not know the key gets no further, and holds up nobody: all that knock are
 * heard at the same time.  When all are there the listener goes, and START is sent.
 *
 * Threads: one at a time. */
#ifndef LIBDET_STAR_H
#define LIBDET_STAR_H

#include "base/err.h"
#include "det/distributed.h"
#include "net/stream.h"

enum star_kind {
    STAR_BARRIER = 1,
    STAR_GATHER,
    STAR_ALLGATHER,
    STAR_BROADCAST,
    STAR_OPERATIONS,
    STAR_LOCAL = 0x10, /* added where the nodes' star is the same as the node's */
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
    const char *word;    /* what its ranks are called: "rank", "local rank" */
    struct stream_at at; /* borrowed while joining */
    unsigned char key[STAR_KEY];
    int64_t join_deadline_us;
    int64_t timeout_ms; /* 0: none */
    size_t limit_bytes;
    /* Asked now and then while it waits; other than 0: this rank wants to wait no
     * longer.  NULL: it always does. */
    int (*interrupted)(void *arg);
    void *interrupted_arg;
};

struct star_head {
    uint32_t kind;
    uint32_t status; /* of REFUSED and ABORT; of an operation 1: the bytes stay away */
    uint64_t number;
    uint64_t len;
};

/* The other end of a connection, and what came of it in this operation. */
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
    struct pollfd *rows;     /* as many */
    det_part *parts;         /* of the last operation */
    char *block;             /* owned: a result in one piece */
    char *scratch;
    uint64_t number;   /* of operations */
    struct err broken; /* DET_OK: it is whole */
    bool has_told;     /* the other ends that it is broken */
    bool is_interrupted;
    bool has_word;      /* a worker that has to say why it is broken */
    uint64_t sum;       /* bytes of this operation so far */
    struct err refused; /* this operation; DET_OK: it is not */
};

/* Joins, and returns when all ranks are there; a star of one needs no network.
 * star_done() also of one that is zero. */
det_status star_join(struct star *star, const struct star_config *config,
                     struct err *err);
/* `is_quiet`: a forked child, which says nothing to anybody. */
void star_done(struct star *star, bool is_quiet);

/* Ends it for all: everybody gets this sentence in the operation that they are in, or
 * call next. */
void star_fail(struct star *star, const struct err *why);

/* One operation.  `ret_parts` points at `size` parts, of a broadcast at one, or is NULL
 * where there is nothing to give. */
det_status star_run(struct star *star, uint32_t kind, const det_part *own,
                    const det_part **ret_parts, struct err *err);

#endif
