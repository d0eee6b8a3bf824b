/* SPDX-License-Identifier: Apache-2.0 */
/* _average_exchange.c - the exchange itself, after all ranks have agreed: averages
 * vectors and gathers rows. */
#include <string.h>

#include "_average_peers_impl.h"

enum {
    SLICE_UNIT = 64,       /* elements; slices begin at cache lines */
    PIECE_BYTES = 1 << 28, /* MPI counts bytes in an int */
};

/* ---- averaging ------------------------------------------------------------------- */

struct exchange {
    struct peers *peers;
    struct peers_scratch *scratch;
    const struct peers_vector *vector;
    int stream;
    size_t unit;  /* bytes of an element */
    size_t share; /* elements of a slice */
    size_t chunk; /* elements of a chunk */
};

/* Returns where chunk `round` of a rank's slice begins, and its length; in elements. */
static size_t chunk_at(const struct exchange *x, int rank, size_t round,
                       size_t *ret_len)
{
    size_t end = MIN(((size_t)rank + 1) * x->share, x->vector->count);
    size_t at = (size_t)rank * x->share + round * x->chunk;

    *ret_len = at < end ? MIN(end - at, x->chunk) : 0;
    return at;
}

static char *came_from(const struct exchange *x, int rank, size_t round)
{
    size_t slot = (round & 1) * (size_t)x->peers->size + (size_t)rank;

    return x->scratch->chunks + slot * x->chunk * x->unit;
}

/* Sets of requests: parts of even and of odd rounds, means. */
static mpi_handle *part_requests(const struct exchange *x, size_t round)
{
    return x->scratch->requests + (round & 1) * 2 * (size_t)x->peers->size;
}

static mpi_handle *mean_requests(const struct exchange *x)
{
    return x->scratch->requests + 4 * (size_t)x->peers->size;
}

/* Sends our parts of the others' chunks, and posts receives for their parts of ours. */
static det_status send_parts(const struct exchange *x, size_t round, struct err *err)
{
    int size = x->peers->size;
    int own = x->peers->rank;
    mpi_handle *requests = part_requests(x, round);
    int tag = peers_tag(x->stream, TAG_PART);
    size_t own_len;
    det_status st = DET_OK;

    (void)chunk_at(x, own, round, &own_len);
    for (int rank = 0; !st && rank < size; rank++) {
        size_t len;
        size_t at = chunk_at(x, rank, round, &len);

        if (rank == own)
            continue;
        if (own_len)
            st = peers_receive(x->peers, came_from(x, rank, round), own_len * x->unit,
                               rank, tag, &requests[rank], err);
        if (!st && len)
            st = peers_send(x->peers, (const char *)x->vector->from + at * x->unit,
                            len * x->unit, rank, tag, &requests[size + rank], err);
    }
    return st;
}

static void make_means(const struct exchange *x, size_t round)
{
    int own = x->peers->rank;
    size_t len;
    size_t at = chunk_at(x, own, round, &len);

    for (int rank = 0; rank < x->peers->size; rank++)
        x->scratch->from[rank] = came_from(x, rank, round);
    x->scratch->from[own] = (const char *)x->vector->from + at * x->unit;
    number_mean((char *)x->vector->into + at * x->unit, x->scratch->from,
                x->peers->size, len, x->vector->kind);
}

static det_status send_means(const struct exchange *x, size_t round, struct err *err)
{
    int size = x->peers->size;
    int own = x->peers->rank;
    char *into = x->vector->into;
    int tag = peers_tag(x->stream, TAG_MEAN);
    size_t own_len;
    size_t own_at = chunk_at(x, own, round, &own_len);
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < size; rank++) {
        size_t len;
        size_t at = chunk_at(x, rank, round, &len);

        if (rank == own)
            continue;
        if (len)
            st = peers_receive(x->peers, into + at * x->unit, len * x->unit, rank, tag,
                               &mean_requests(x)[rank], err);
        if (!st && own_len)
            st = peers_send(x->peers, into + own_at * x->unit, own_len * x->unit, rank,
                            tag, &mean_requests(x)[size + rank], err);
    }
    return st;
}

static det_status exchange_chunks(const struct exchange *x, struct err *err)
{
    size_t rounds = (x->share + x->chunk - 1) / x->chunk;
    int count = 2 * x->peers->size;
    det_status st = send_parts(x, 0, err);

    for (size_t round = 0; !st && round < rounds; round++) {
        if (round + 1 < rounds)
            st = send_parts(x, round + 1, err);
        if (!st)
            st = peers_wait_for(x->peers, part_requests(x, round), count, err);
        if (st)
            break;
        make_means(x, round);
        st = peers_wait_for(x->peers, mean_requests(x), count,
                            err); /* of the round before */
        if (!st)
            st = send_means(x, round, err);
    }
    return st ? st : peers_wait_for(x->peers, mean_requests(x), count, err);
}

/* Every rank sends everything to every other rank and makes all means itself, from the
 * same numbers in the same order: one message instead of two in sequence. */
static det_status exchange_at_once(const struct exchange *x, struct err *err)
{
    int size = x->peers->size;
    size_t bytes = x->vector->count * x->unit;
    mpi_handle *requests = x->scratch->requests;
    int tag = peers_tag(x->stream, TAG_PART);
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < size; rank++) {
        char *place =
            x->scratch->chunks + (size_t)rank * 2 * peers_chunk_bytes(x->peers);

        x->scratch->from[rank] = rank == x->peers->rank ? x->vector->from : place;
        if (rank == x->peers->rank)
            continue;
        st = peers_receive(x->peers, place, bytes, rank, tag, &requests[rank], err);
        if (!st)
            st = peers_send(x->peers, x->vector->from, bytes, rank, tag,
                            &requests[size + rank], err);
    }
    if (!st)
        st = peers_wait_for(x->peers, requests, 2 * size, err);
    if (!st)
        number_mean(x->vector->into, x->scratch->from, size, x->vector->count,
                    x->vector->kind);
    return st;
}

det_status peers_average(struct peers *peers, struct peers_scratch *scratch, int stream,
                         const struct peers_vector *vector, struct err *err)
{
    size_t unit = number_size(vector->kind);
    size_t share = (vector->count + (size_t)peers->size - 1) / (size_t)peers->size;
    struct exchange x = {
        .peers = peers,
        .scratch = scratch,
        .vector = vector,
        .stream = stream,
        .unit = unit,
        .share = (share + SLICE_UNIT - 1) / SLICE_UNIT * SLICE_UNIT,
        .chunk = peers_chunk_bytes(peers) / unit,
    };

    if (!vector->count)
        return DET_OK;
    if (vector->count * unit <= 2 * peers_chunk_bytes(peers))
        return peers_break_up(peers, scratch, exchange_at_once(&x, err), err);
    return peers_break_up(peers, scratch, exchange_chunks(&x, err), err);
}

/* ---- gathering ------------------------------------------------------------------- */

size_t peers_rows(const struct peers *peers, const struct peers_scratch *scratch,
                  int rank)
{
    (void)peers;
    return (size_t)scratch->greetings[rank].rows;
}

size_t peers_all_rows(const struct peers *peers, const struct peers_scratch *scratch)
{
    size_t rows = 0;

    for (int rank = 0; rank < peers->size; rank++)
        rows += peers_rows(peers, scratch, rank);
    return rows;
}

bool peers_all_in_slots(const struct peers *peers, const struct peers_scratch *scratch)
{
    bool all = true;

    for (int rank = 0; rank < peers->size; rank++)
        all = all && scratch->greetings[rank].is_in_slot;
    return all;
}

/* Length of the piece of a rank's rows that begins at `at`. */
static size_t piece_len(size_t bytes, size_t at)
{
    return at < bytes ? MIN(bytes - at, (size_t)PIECE_BYTES) : 0;
}

/* The rows of all ranks, on their way. */
struct gather {
    struct peers *peers;
    struct peers_scratch *scratch;
    const char *from;
    char *into;
    size_t row_bytes;
    int tag;
};

static size_t bytes_of_rank(const struct gather *gather, int rank)
{
    return peers_rows(gather->peers, gather->scratch, rank) * gather->row_bytes;
}

/* Sends one of our pieces to all ranks and receives one piece from each. */
static det_status gather_pieces(const struct gather *gather, size_t at, struct err *err)
{
    struct peers *peers = gather->peers;
    mpi_handle *requests = gather->scratch->requests;
    size_t own = piece_len(bytes_of_rank(gather, peers->rank), at);
    char *place = gather->into;
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        size_t theirs = piece_len(bytes_of_rank(gather, rank), at);

        if (rank != peers->rank && theirs)
            st = peers_receive(peers, place + at, theirs, rank, gather->tag,
                               &requests[rank], err);
        if (!st && rank != peers->rank && own)
            st = peers_send(peers, gather->from + at, own, rank, gather->tag,
                            &requests[peers->size + rank], err);
        place += bytes_of_rank(gather, rank);
    }
    return st ? st : peers_wait_for(peers, requests, 2 * peers->size, err);
}

det_status peers_gather(struct peers *peers, struct peers_scratch *scratch, int stream,
                        const void *from, void *into, size_t row_bytes, struct err *err)
{
    struct gather gather = {.peers = peers,
                            .scratch = scratch,
                            .from = from,
                            .into = into,
                            .row_bytes = row_bytes,
                            .tag = peers_tag(stream, TAG_PART)};
    size_t before = 0;
    size_t most = 0;
    det_status st = DET_OK;

    for (int rank = 0; rank < peers->size; rank++) {
        before += rank < peers->rank ? bytes_of_rank(&gather, rank) : 0;
        most = MAX(most, bytes_of_rank(&gather, rank));
    }
    if (peers_rows(peers, scratch, peers->rank))
        memcpy(gather.into + before, from, bytes_of_rank(&gather, peers->rank));
    for (size_t at = 0; !st && at < most; at += PIECE_BYTES)
        st = gather_pieces(&gather, at, err);
    return peers_break_up(peers, scratch, st, err);
}
