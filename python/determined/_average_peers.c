/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_peers.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

enum {
    CHUNK_BYTES = 1 << 19, /* measured: more leaves the cache, less costs calls */
    CHUNK_LEAST = 1 << 12,
    SLICE_UNIT = 64, /* elements; slices begin at cache lines */
    SETS = 3,        /* of requests: a receive from each rank, and a send to each */
    SPIN_US = 100,   /* then it sleeps */
    BRIEF_US = 2000, /* most ranks are not further apart */
    NAP_US = 20,
    PIECE_BYTES = 1 << 28, /* MPI counts bytes in an int */
};

enum tag { TAG_LEAVE, TAG_GREETING, TAG_PART, TAG_MEAN };

static int tag_of(int stream, enum tag tag)
{
    return stream * 4 + (int)tag;
}

/* ---- waiting --------------------------------------------------------------------- */

struct patience {
    int64_t since_us;
    int64_t waited_us;
    bool has_said;
};

/* Sleeps rather than yields: who yields on a busy machine is taken to have had its
 * share, and is let in again a tick too late; so says the scheduler of Linux since 6.6.
 */
static void rest(const struct peers *peers, struct patience *patience, int64_t spin_us)
{
    int64_t now_us = clock_mono_us(peers->clock);

    if (!patience->since_us)
        patience->since_us = now_us;
    patience->waited_us = now_us - patience->since_us;
    if (patience->waited_us > spin_us)
        clock_pause(peers->clock, NAP_US);
}

/* Whether all of them are done; none is touched unless all are. */
static det_status test(struct peers *peers, mpi_handle *requests, int count,
                       bool *ret_are_done, struct err *err)
{
    int are_done = 0;
    int code;

    lock_take(&peers->lock);
    code = peers->mpi.testall(count, requests, &are_done, NULL);
    lock_give(&peers->lock);
    *ret_are_done = are_done != 0;
    return mpi_check(&peers->mpi, code, "gradients did not arrive", err);
}

static det_status wait_for(struct peers *peers, mpi_handle *requests, int count,
                           struct err *err)
{
    struct patience patience = {0};
    bool are_done = false;
    det_status st = test(peers, requests, count, &are_done, err);

    while (!st && !are_done) {
        rest(peers, &patience, BRIEF_US); /* all are here: it will not be long */
        st = test(peers, requests, count, &are_done, err);
    }
    return st;
}

static det_status post(struct peers *peers, int code, struct err *err)
{
    return mpi_check(&peers->mpi, code, "gradients cannot be sent", err);
}

static det_status send(struct peers *peers, const void *bytes, size_t len, int to,
                       int tag, mpi_handle *ret_request, struct err *err)
{
    int code;

    lock_take(&peers->lock);
    code = peers->mpi.isend(bytes, (int)len, peers->mpi.byte, to, tag, peers->comm,
                            ret_request);
    lock_give(&peers->lock);
    return post(peers, code, err);
}

static det_status receive(struct peers *peers, void *bytes, size_t len, int from,
                          int tag, mpi_handle *ret_request, struct err *err)
{
    int code;

    lock_take(&peers->lock);
    code = peers->mpi.irecv(bytes, (int)len, peers->mpi.byte, from, tag, peers->comm,
                            ret_request);
    lock_give(&peers->lock);
    return post(peers, code, err);
}

/* What nobody waits for any more: it still arrives. */
static void drop(struct peers *peers, mpi_handle *requests, int count)
{
    lock_take(&peers->lock);
    for (int i = 0; i < count; i++)
        if (requests[i] != peers->mpi.request_null) {
            (void)peers->mpi.free_request(&requests[i]);
            requests[i] = peers->mpi.request_null;
        }
    lock_give(&peers->lock);
}

/* Of receives, one for each rank: what comes later is not written to their places,
 * which may be freed then. */
static void withdraw(struct peers *peers, mpi_handle *requests)
{
    lock_take(&peers->lock);
    for (int rank = 0; rank < peers->size; rank++)
        if (requests[rank] != peers->mpi.request_null)
            (void)peers->mpi.cancel(&requests[rank]);
    lock_give(&peers->lock);
    drop(peers, requests, peers->size);
}

/* ---- those that are missing ------------------------------------------------------ */

/* "1, 3 and 2 more" of the ranks whose request is still there; how many those are. */
static int missing(const struct peers *peers, const mpi_handle *requests, char *text,
                   size_t size)
{
    int count = 0;
    size_t len = 0;

    text[0] = '\0';
    for (int rank = 0; rank < peers->size; rank++) {
        if (requests[rank] == peers->mpi.request_null)
            continue;
        if (count < 8)
            len += (size_t)snprintf(text + len, size - len, "%s%d", count ? ", " : "",
                                    rank);
        count++;
    }
    if (count > 8)
        snprintf(text + len, size - len, " and %d more", count - 8);
    return count;
}

static void give_notice(const struct peers *peers, const mpi_handle *requests,
                        const char *what, struct patience *patience)
{
    int64_t waited_us = patience->waited_us;
    char who[128];
    int count;

    if (patience->has_said || !peers->notice_us || waited_us < peers->notice_us)
        return;
    patience->has_said = true;
    count = missing(peers, requests, who, sizeof(who));
    fprintf(stderr, "det: rank %d has waited %" PRId64 " s for rank%s %s to %s\n",
            peers->rank, waited_us / 1000000, count == 1 ? "" : "s", who, what);
}

/* Each request on its own: what is done becomes null, and null is done. */
static det_status test_each(struct peers *peers, mpi_handle *requests, bool *ret_all,
                            struct err *err)
{
    det_status st = DET_OK;

    *ret_all = true;
    for (int rank = 0; !st && rank < peers->size; rank++) {
        bool is_done = false;

        st = test(peers, &requests[rank], 1, &is_done, err);
        *ret_all = *ret_all && is_done;
    }
    return st;
}

/* ---- joining and leaving --------------------------------------------------------- */

static det_status check_ranks(struct peers *peers, int rank, int size, struct err *err)
{
    int code = peers->mpi.comm_rank(peers->mpi.world, &peers->rank);

    if (!code)
        code = peers->mpi.comm_size(peers->mpi.world, &peers->size);
    if (code)
        return mpi_check(&peers->mpi, code, "cannot ask MPI for its ranks", err);
    if (peers->rank != rank || peers->size != size)
        return err_set(err, DET_INVALID,
                       "this is rank %d of %d for the training and %d of %d for MPI: "
                       "start the ranks with 'det launch mpi'",
                       rank, size, peers->rank, peers->size);
    if (size > NUMBER_RANKS)
        return err_set(err, DET_UNSUPPORTED, "%d ranks cannot average; at most %d do",
                       size, NUMBER_RANKS);
    return DET_OK;
}

/* A communicator of our own, whose errors come back. */
static det_status own_messages(struct peers *peers, struct err *err)
{
    int code = peers->mpi.comm_dup(peers->mpi.world, &peers->comm);

    if (!code)
        code = peers->mpi.set_handler(peers->comm, peers->mpi.errors_return);
    return mpi_check(&peers->mpi, code, "the ranks cannot be joined", err);
}

static det_status listen_for_leaving(struct peers *peers, struct err *err)
{
    det_status st = DET_OK;

    peers->leaving = mem_array((size_t)peers->size, sizeof(mpi_handle));
    peers->word = mem_array((size_t)peers->size, 1);
    if (!peers->leaving || !peers->word)
        return err_default(err, DET_NOMEM);
    for (int rank = 0; rank < peers->size; rank++)
        peers->leaving[rank] = peers->mpi.request_null;
    for (int rank = 0; !st && rank < peers->size; rank++)
        if (rank != peers->rank)
            st = receive(peers, &peers->word[rank], 1, rank, tag_of(0, TAG_LEAVE),
                         &peers->leaving[rank], err);
    return st;
}

det_status peers_open(struct peers *peers, int rank, int size, struct err *err)
{
    det_status st = lock_init(&peers->lock, err);

    if (st)
        return st;
    st = check_ranks(peers, rank, size, err);
    if (!st)
        st = own_messages(peers, err);
    if (!st)
        st = listen_for_leaving(peers, err);
    if (st)
        peers_close(peers, true);
    return st;
}

/* A word that cannot be sent is not missed: who leaves has no other way to say so. */
static void say_goodbye(struct peers *peers)
{
    static const char word = 1;
    struct patience patience = {0};
    bool are_gone = false;
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        mpi_handle request;

        if (rank == peers->rank)
            continue;
        st = send(peers, &word, 1, rank, tag_of(0, TAG_LEAVE), &request, NULL);
        if (!st)
            drop(peers, &request, 1);
    }
    if (!st)
        st = test_each(peers, peers->leaving, &are_gone, NULL);
    while (!st && !are_gone) {
        rest(peers, &patience, SPIN_US);
        give_notice(peers, peers->leaving, "end its training", &patience);
        st = test_each(peers, peers->leaving, &are_gone, NULL);
    }
    if (!st && peers->has_begun_mpi)
        (void)peers->mpi.finalize();
}

void peers_close(struct peers *peers, bool at_once)
{
    if (!at_once)
        say_goodbye(peers);
    if (peers->leaving && peers->word)
        withdraw(peers, peers->leaving);
    mem_free(peers->leaving);
    mem_free(peers->word);
    peers->leaving = NULL;
    peers->word = NULL;
    lock_done(&peers->lock);
}

/* ---- memory ---------------------------------------------------------------------- */

static size_t chunk_bytes(const struct peers *peers)
{
    size_t others = (size_t)MAX(peers->size - 1, 1);

    return MAX((size_t)CHUNK_BYTES / others, (size_t)CHUNK_LEAST);
}

static det_status fill_scratch(const struct peers *peers, struct peers_scratch *scratch,
                               struct err *err)
{
    size_t size = (size_t)peers->size;

    if (scratch->from)
        return DET_OK;
    peers_scratch_done(scratch);
    scratch->requests = mem_array(SETS * 2 * size, sizeof(mpi_handle));
    scratch->chunks = mem_array(2 * size, chunk_bytes(peers));
    scratch->greetings = mem_array(size, sizeof(struct peers_greeting));
    if (scratch->requests && scratch->chunks && scratch->greetings)
        scratch->from = mem_array(size, sizeof(void *)); /* last: all is there */
    if (!scratch->from)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < SETS * 2 * size; i++)
        scratch->requests[i] = peers->mpi.request_null;
    return DET_OK;
}

void peers_scratch_done(struct peers_scratch *scratch)
{
    mem_free(scratch->requests);
    mem_free(scratch->chunks);
    mem_free(scratch->greetings);
    mem_free(scratch->from);
    *scratch = (struct peers_scratch){0};
}

/* ---- agreeing -------------------------------------------------------------------- */

/* After a failure no rank can be relied upon any more: what has not come is not
 * awaited, and the first sentence stays. */
static det_status break_up(struct peers *peers, struct peers_scratch *scratch,
                           det_status st, struct err *err)
{
    for (int set = 0; st && set < SETS; set++) {
        withdraw(peers, scratch->requests + (ptrdiff_t)set * 2 * peers->size);
        drop(peers, scratch->requests + ((ptrdiff_t)set * 2 + 1) * peers->size,
             peers->size);
    }
    lock_take(&peers->lock);
    if (st && !peers->is_broken) {
        peers->is_broken = true;
        peers->why.status = st;
        if (err)
            peers->why = *err;
    }
    lock_give(&peers->lock);
    return st;
}

static det_status was_broken(struct peers *peers, struct err *err)
{
    det_status st;

    lock_take(&peers->lock);
    st = peers->is_broken ? err_set(err, peers->why.status, "%s", peers->why.text)
                          : DET_OK;
    lock_give(&peers->lock);
    return st;
}

static det_status greet(struct peers *peers, struct peers_scratch *scratch, int stream,
                        struct err *err)
{
    int tag = tag_of(stream, TAG_GREETING);
    size_t len = sizeof(struct peers_greeting);
    const struct peers_greeting *own = &scratch->greetings[peers->rank];
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        if (rank == peers->rank)
            continue;
        st = receive(peers, &scratch->greetings[rank], len, rank, tag,
                     &scratch->requests[rank], err);
        if (!st)
            st = send(peers, own, len, rank, tag,
                      &scratch->requests[peers->size + rank], err);
    }
    return st;
}

/* A rank that left and did not greet before it did. */
static det_status look_for_the_gone(struct peers *peers, mpi_handle *greetings,
                                    struct err *err)
{
    bool all = false;
    det_status st = test_each(peers, peers->leaving, &all, err);

    /* its greeting may have come since we last looked */
    if (!st)
        st = test_each(peers, greetings, &all, err);
    for (int rank = 0; !st && rank < peers->size; rank++)
        if (rank != peers->rank && peers->leaving[rank] == peers->mpi.request_null &&
            greetings[rank] != peers->mpi.request_null)
            st = err_set(
                err, DET_STATE,
                "rank %d has ended its training and rank %d goes on: every rank "
                "must train the same number of batches",
                rank, peers->rank);
    return st;
}

static det_status await_greetings(struct peers *peers, struct peers_scratch *scratch,
                                  bool briefly, bool *ret_all_came, struct err *err)
{
    struct patience patience = {0};
    bool all = false;
    det_status st = test_each(peers, scratch->requests, &all, err);

    while (!st && !all && !(briefly && patience.waited_us > BRIEF_US)) {
        rest(peers, &patience, SPIN_US);
        if (patience.waited_us > BRIEF_US) {
            give_notice(peers, scratch->requests, "average its gradients", &patience);
            st = look_for_the_gone(peers, scratch->requests, err);
        }
        if (!st)
            st = test_each(peers, scratch->requests, &all, err);
    }
    *ret_all_came = !st && all;
    return *ret_all_came
               ? wait_for(peers, scratch->requests + peers->size, peers->size, err)
               : st;
}

static det_status compare(const struct peers *peers, const struct peers_greeting *all,
                          struct err *err)
{
    const struct peers_greeting *first = &all[0];

    for (int rank = 1; rank < peers->size; rank++) {
        const struct peers_greeting *other = &all[rank];

        if (other->tensors != first->tensors || other->bytes != first->bytes)
            return err_set(err, DET_STATE,
                           "rank %d averages %" PRIu64 " gradients of %" PRIu64
                           " bytes and rank 0 %" PRIu64 " of %" PRIu64
                           ": every rank must train the same model",
                           rank, other->tensors, other->bytes, first->tensors,
                           first->bytes);
        if (other->signature != first->signature)
            return err_set(err, DET_STATE,
                           "the gradients of rank %d have other shapes or types than "
                           "those of rank 0: every rank must train the same model",
                           rank);
    }
    return DET_OK;
}

det_status peers_greet(struct peers *peers, struct peers_scratch *scratch, int stream,
                       const struct peers_greeting *greeting, struct err *err)
{
    det_status st = was_broken(peers, err);

    if (!st)
        st = fill_scratch(peers, scratch, err);
    if (st)
        return st;
    scratch->greetings[peers->rank] = *greeting;
    return break_up(peers, scratch, greet(peers, scratch, stream, err), err);
}

det_status peers_listen(struct peers *peers, struct peers_scratch *scratch,
                        bool briefly, bool *ret_all_came, struct err *err)
{
    bool all = false;
    det_status st = await_greetings(peers, scratch, briefly, &all, err);

    if (!st && all)
        st = compare(peers, scratch->greetings, err);
    *ret_all_came = all;
    return break_up(peers, scratch, st, err);
}

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

/* Where chunk `round` of a rank's slice begins, and how long it is; in elements. */
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
static mpi_handle *parts(const struct exchange *x, size_t round)
{
    return x->scratch->requests + (round & 1) * 2 * (size_t)x->peers->size;
}

static mpi_handle *means(const struct exchange *x)
{
    return x->scratch->requests + 4 * (size_t)x->peers->size;
}

/* Our part of the others' chunks leaves; theirs of ours is awaited. */
static det_status send_parts(const struct exchange *x, size_t round, struct err *err)
{
    int size = x->peers->size;
    int own = x->peers->rank;
    mpi_handle *requests = parts(x, round);
    int tag = tag_of(x->stream, TAG_PART);
    size_t own_len;
    det_status st = DET_OK;

    (void)chunk_at(x, own, round, &own_len);
    for (int rank = 0; !st && rank < size; rank++) {
        size_t len;
        size_t at = chunk_at(x, rank, round, &len);

        if (rank == own)
            continue;
        if (own_len)
            st = receive(x->peers, came_from(x, rank, round), own_len * x->unit, rank,
                         tag, &requests[rank], err);
        if (!st && len)
            st = send(x->peers, (const char *)x->vector->from + at * x->unit,
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
    int tag = tag_of(x->stream, TAG_MEAN);
    size_t own_len;
    size_t own_at = chunk_at(x, own, round, &own_len);
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < size; rank++) {
        size_t len;
        size_t at = chunk_at(x, rank, round, &len);

        if (rank == own)
            continue;
        if (len)
            st = receive(x->peers, into + at * x->unit, len * x->unit, rank, tag,
                         &means(x)[rank], err);
        if (!st && own_len)
            st = send(x->peers, into + own_at * x->unit, own_len * x->unit, rank, tag,
                      &means(x)[size + rank], err);
    }
    return st;
}

static det_status run(const struct exchange *x, struct err *err)
{
    size_t rounds = (x->share + x->chunk - 1) / x->chunk;
    int count = 2 * x->peers->size;
    det_status st = send_parts(x, 0, err);

    for (size_t round = 0; !st && round < rounds; round++) {
        if (round + 1 < rounds)
            st = send_parts(x, round + 1, err);
        if (!st)
            st = wait_for(x->peers, parts(x, round), count, err);
        if (st)
            break;
        make_means(x, round);
        st = wait_for(x->peers, means(x), count, err); /* of the round before */
        if (!st)
            st = send_means(x, round, err);
    }
    return st ? st : wait_for(x->peers, means(x), count, err);
}

/* Everybody sends everything to everybody and makes the means himself, from the same
 * numbers in the same order: one message instead of two behind one another. */
static det_status run_at_once(const struct exchange *x, struct err *err)
{
    int size = x->peers->size;
    size_t bytes = x->vector->count * x->unit;
    mpi_handle *requests = x->scratch->requests;
    int tag = tag_of(x->stream, TAG_PART);
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < size; rank++) {
        char *place = x->scratch->chunks + (size_t)rank * 2 * chunk_bytes(x->peers);

        x->scratch->from[rank] = rank == x->peers->rank ? x->vector->from : place;
        if (rank == x->peers->rank)
            continue;
        st = receive(x->peers, place, bytes, rank, tag, &requests[rank], err);
        if (!st)
            st = send(x->peers, x->vector->from, bytes, rank, tag,
                      &requests[size + rank], err);
    }
    if (!st)
        st = wait_for(x->peers, requests, 2 * size, err);
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
        .chunk = chunk_bytes(peers) / unit,
    };

    if (!vector->count)
        return DET_OK;
    if (vector->count * unit <= 2 * chunk_bytes(peers))
        return break_up(peers, scratch, run_at_once(&x, err), err);
    return break_up(peers, scratch, run(&x, err), err);
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

/* The piece of a rank's rows that begins at `at`. */
static size_t piece_len(size_t bytes, size_t at)
{
    return at < bytes ? MIN(bytes - at, (size_t)PIECE_BYTES) : 0;
}

/* One rank's rows on their way. */
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

/* One piece of ours to everybody, and of everybody's to its place. */
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
            st = receive(peers, place + at, theirs, rank, gather->tag, &requests[rank],
                         err);
        if (!st && rank != peers->rank && own)
            st = send(peers, gather->from + at, own, rank, gather->tag,
                      &requests[peers->size + rank], err);
        place += bytes_of_rank(gather, rank);
    }
    return st ? st : wait_for(peers, requests, 2 * peers->size, err);
}

det_status peers_gather(struct peers *peers, struct peers_scratch *scratch, int stream,
                        const void *from, void *into, size_t row_bytes, struct err *err)
{
    struct gather gather = {.peers = peers,
                            .scratch = scratch,
                            .from = from,
                            .into = into,
                            .row_bytes = row_bytes,
                            .tag = tag_of(stream, TAG_PART)};
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
    return break_up(peers, scratch, st, err);
}
