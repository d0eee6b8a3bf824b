/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_peers.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "_average_peers_impl.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"

enum {
    CHUNK_BYTES = 1 << 19, /* measured: more leaves the cache, less costs calls */
    CHUNK_LEAST = 1 << 12,
    SPIN_US = 100,   /* then it sleeps */
    BRIEF_US = 2000, /* most ranks are not further apart */
    NAP_US = 20,
    LOOK_MS = 20,      /* how often a sleeping rank looks for ranks that died */
    GRACE_US = 100000, /* messages of a rank that is gone may still arrive */
};

/* Each stream uses three of four tags; the first of each four are for these. */
enum word_tag { TAG_LEAVE = 0, TAG_FAIL = 4, TAG_ADDRESS = 8, TAG_VERDICT = 12 };

int peers_tag(int stream, enum tag tag)
{
    return stream * 4 + (int)tag;
}

/* ---- waiting --------------------------------------------------------------------- */

struct patience {
    int64_t since_us;
    int64_t waited_us;
    bool has_said;
};

static void count_time(const struct peers *peers, struct patience *patience)
{
    int64_t now_us = clock_mono_us(peers->clock);

    if (!patience->since_us)
        patience->since_us = now_us;
    patience->waited_us = now_us - patience->since_us;
}

/* Sleeps rather than yields: since Linux 6.6, the scheduler charges a yield on a busy
 * machine as a used share, and the thread runs again a tick too late. */
static void rest_between_looks(const struct peers *peers, struct patience *patience,
                               int64_t spin_us)
{
    count_time(peers, patience);
    if (patience->waited_us > spin_us)
        clock_pause(peers->clock, NAP_US);
}

/* Tests whether all requests are done; if one is not, MPI changes none of them. */
static det_status test_requests(struct peers *peers, mpi_handle *requests, int count,
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

static det_status check_posted(struct peers *peers, int code, struct err *err)
{
    return mpi_check(&peers->mpi, code, "gradients cannot be sent", err);
}

det_status peers_send(struct peers *peers, const void *bytes, size_t len, int to,
                      int tag, mpi_handle *ret_request, struct err *err)
{
    int code;

    lock_take(&peers->lock);
    code = peers->mpi.isend(bytes, (int)len, peers->mpi.byte, to, tag, peers->comm,
                            ret_request);
    lock_give(&peers->lock);
    return check_posted(peers, code, err);
}

det_status peers_receive(struct peers *peers, void *bytes, size_t len, int from,
                         int tag, mpi_handle *ret_request, struct err *err)
{
    int code;

    lock_take(&peers->lock);
    code = peers->mpi.irecv(bytes, (int)len, peers->mpi.byte, from, tag, peers->comm,
                            ret_request);
    lock_give(&peers->lock);
    return check_posted(peers, code, err);
}

/* Forgets requests that are no longer waited for; their messages still arrive. */
static void drop_requests(struct peers *peers, mpi_handle *requests, int count)
{
    lock_take(&peers->lock);
    for (int i = 0; i < count; i++)
        if (requests[i] != peers->mpi.request_null) {
            (void)peers->mpi.free_request(&requests[i]);
            requests[i] = peers->mpi.request_null;
        }
    lock_give(&peers->lock);
}

/* Cancels receives, one for each rank: a later message is not written to their buffers,
 * which may be freed by then. */
static void withdraw_receives(struct peers *peers, mpi_handle *requests)
{
    lock_take(&peers->lock);
    for (int rank = 0; rank < peers->size; rank++)
        if (requests[rank] != peers->mpi.request_null)
            (void)peers->mpi.cancel(&requests[rank]);
    lock_give(&peers->lock);
    drop_requests(peers, requests, peers->size);
}

/* ---- missing ranks --------------------------------------------------------------- */

/* Writes "1, 3 and 2 more" for the missing ranks; returns their number. */
static int list_missing(const struct peers *peers, const bool *is_missing, char *text,
                        size_t size)
{
    int count = 0;
    size_t len = 0;

    text[0] = '\0';
    for (int rank = 0; rank < peers->size; rank++) {
        if (!is_missing[rank])
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

static bool may_notice(const struct peers *peers, const struct patience *patience)
{
    return !patience->has_said && peers->notice_us &&
           patience->waited_us >= peers->notice_us;
}

static void give_notice(const struct peers *peers, const bool *is_missing,
                        const char *what, struct patience *patience)
{
    char who[128];
    int count = list_missing(peers, is_missing, who, sizeof(who));

    patience->has_said = true;
    fprintf(stderr, "det: rank %d has waited %" PRId64 " s for rank%s %s to %s\n",
            peers->rank, patience->waited_us / 1000000, count == 1 ? "" : "s", who,
            what);
}

/* Names the ranks whose request is not done. */
static void notice_requests(const struct peers *peers, const mpi_handle *requests,
                            const char *what, struct patience *patience)
{
    bool is_missing[NUMBER_RANKS];

    if (!may_notice(peers, patience))
        return;
    for (int rank = 0; rank < peers->size; rank++)
        is_missing[rank] = requests[rank] != peers->mpi.request_null;
    give_notice(peers, is_missing, what, patience);
}

/* Tests each request on its own: a finished request becomes null, and null counts as
 * done. */
static det_status test_each(struct peers *peers, mpi_handle *requests, int count,
                            bool *ret_all, struct err *err)
{
    det_status st = DET_OK;

    *ret_all = true;
    for (int i = 0; !st && i < count; i++) {
        bool is_done = false;

        st = test_requests(peers, &requests[i], 1, &is_done, err);
        *ret_all = *ret_all && is_done;
    }
    return st;
}

/* Judges by the received messages and the shared memory. */
static enum rank_state state_of(const struct peers *peers, int rank)
{
    if (rank == peers->rank)
        return RANK_HERE;
    if (peers->leaving[peers->size + rank] == peers->mpi.request_null)
        return RANK_FAILED;
    if (peers->leaving[rank] == peers->mpi.request_null)
        return RANK_LEFT;
    return peers->shm.memory ? shm_rank_state(&peers->shm, rank) : RANK_HERE;
}

static det_status say_gone(const struct peers *peers, int rank, enum rank_state state,
                           struct err *err)
{
    if (state == RANK_LEFT)
        return err_set(err, DET_STATE,
                       "rank %d has ended its training and rank %d goes on: every rank "
                       "must train the same number of batches",
                       rank, peers->rank);
    return err_set(err, DET_STATE,
                   "rank %d %s while rank %d waited for its gradients: its own lines "
                   "say why",
                   rank, state == RANK_DIED ? "died" : "failed", peers->rank);
}

/* Fails if a rank has gone without answering one of the requests. Requests are ordered
 * by rank and may repeat that order. */
static det_status find_gone(struct peers *peers, mpi_handle *requests, int count,
                            struct err *err)
{
    bool all = false;
    det_status st = test_each(peers, peers->leaving, 2 * peers->size, &all, err);
    bool is_gone[NUMBER_RANKS];

    for (int rank = 0; !st && rank < peers->size; rank++)
        is_gone[rank] = state_of(peers, rank) != RANK_HERE;
    if (!st) /* its message may have come since we last looked */
        st = test_each(peers, requests, count, &all, err);
    for (int i = 0; !st && i < count; i++) {
        int rank = i % peers->size;

        if (is_gone[rank] && requests[i] != peers->mpi.request_null)
            st = say_gone(peers, rank, state_of(peers, rank), err);
    }
    return st;
}

det_status peers_wait_for(struct peers *peers, mpi_handle *requests, int count,
                          struct err *err)
{
    struct patience patience = {0};
    int64_t gone_us = 0;
    bool are_done = false;
    det_status st = test_requests(peers, requests, count, &are_done, err);

    while (!st && !are_done) {
        rest_between_looks(peers, &patience,
                           BRIEF_US); /* all ranks are here: it will not take long */
        if (patience.waited_us > BRIEF_US && find_gone(peers, requests, count, err)) {
            gone_us = gone_us ? gone_us : patience.waited_us;
            if (patience.waited_us - gone_us > GRACE_US)
                return find_gone(peers, requests, count, err);
        }
        st = test_requests(peers, requests, count, &are_done, err);
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
        return err_set(err, DET_UNSUPPORTED, "%d ranks cannot average; the limit is %d",
                       size, NUMBER_RANKS);
    return DET_OK;
}

/* Duplicates the communicator, and has errors returned instead of ending the
 * process. */
static det_status own_messages(struct peers *peers, struct err *err)
{
    int code = peers->mpi.comm_dup(peers->mpi.world, &peers->comm);

    if (!code)
        code = peers->mpi.set_handler(peers->comm, peers->mpi.errors_return);
    return mpi_check(&peers->mpi, code, "the ranks cannot be joined", err);
}

static det_status listen_for_leaving(struct peers *peers, struct err *err)
{
    size_t count = 2 * (size_t)peers->size;
    det_status st = DET_OK;

    peers->leaving = mem_array(count, sizeof(mpi_handle));
    peers->words = mem_array(count, 1);
    if (!peers->leaving || !peers->words)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < count; i++)
        peers->leaving[i] = peers->mpi.request_null;
    for (int i = 0; !st && i < 2 * peers->size; i++)
        if (i % peers->size != peers->rank)
            st = peers_receive(peers, &peers->words[i], 1, i % peers->size,
                               i < peers->size ? TAG_LEAVE : TAG_FAIL,
                               &peers->leaving[i], err);
    return st;
}

det_status peers_open(struct peers *peers, int rank, int size, struct err *err)
{
    det_status st = lock_init(&peers->lock, err);

    peers->process = getpid();
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

/* Every rank gets `len` bytes of every rank, ordered by rank. */
static det_status tell_all(struct peers *peers, void *all, size_t len, int tag,
                           struct err *err)
{
    mpi_handle *requests = mem_array(2 * (size_t)peers->size, sizeof(mpi_handle));
    char *place = all;
    const char *own = place + (size_t)peers->rank * len;
    det_status st = requests ? DET_OK : err_default(err, DET_NOMEM);

    for (int i = 0; !st && i < 2 * peers->size; i++)
        requests[i] = peers->mpi.request_null;
    for (int rank = 0; !st && rank < peers->size; rank++) {
        if (rank == peers->rank)
            continue;
        st = peers_receive(peers, place + (size_t)rank * len, len, rank, tag,
                           &requests[rank], err);
        if (!st)
            st = peers_send(peers, own, len, rank, tag, &requests[peers->size + rank],
                            err);
    }
    if (!st)
        st = peers_wait_for(peers, requests, 2 * peers->size, err);
    if (st && requests) {
        withdraw_receives(peers, requests);
        drop_requests(peers, requests + peers->size, peers->size);
    }
    mem_free(requests);
    return st;
}

/* If one rank cannot map the memory, it says so, and no rank uses it. */
det_status peers_share_memory(struct peers *peers, struct err *err)
{
    struct shm_address *addresses = mem_array((size_t)peers->size, sizeof(*addresses));
    char *can_enter = mem_array((size_t)peers->size, 1);
    bool all_can = true;
    det_status st = addresses && can_enter ? DET_OK : err_default(err, DET_NOMEM);

    if (!st) {
        bool has_begun =
            !shm_create(&peers->shm, peers->rank, peers->size,
                        2 * peers_chunk_bytes(peers), &addresses[peers->rank], NULL);

        st = tell_all(peers, addresses, sizeof(*addresses), TAG_ADDRESS, err);
        can_enter[peers->rank] =
            !st && has_begun && !shm_join(&peers->shm, addresses, NULL);
    }
    if (!st)
        st = tell_all(peers, can_enter, 1, TAG_VERDICT, err);
    for (int rank = 0; !st && rank < peers->size; rank++)
        all_can = all_can && can_enter[rank];
    if (!st && all_can)
        shm_close_file(&peers->shm);
    else
        shm_done(&peers->shm);
    if (st) /* the others would wait for us */
        peers_give_up(peers);
    mem_free(addresses);
    mem_free(can_enter);
    return st;
}

/* Failures are ignored: there is no other way to tell the other ranks. */
static det_status send_word(struct peers *peers, int tag)
{
    static const char word = 1;
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        mpi_handle request;

        if (rank == peers->rank)
            continue;
        st = peers_send(peers, &word, 1, rank, tag, &request, NULL);
        if (!st)
            drop_requests(peers, &request, 1);
    }
    return st;
}

/* Returns true if all ranks have left. */
static bool say_goodbye(struct peers *peers)
{
    struct patience patience = {0};
    bool are_gone = false;
    det_status st = send_word(peers, TAG_LEAVE);

    if (!st)
        st = test_each(peers, peers->leaving, peers->size, &are_gone, NULL);
    while (!st && !are_gone) {
        rest_between_looks(peers, &patience, SPIN_US);
        notice_requests(peers, peers->leaving, "end its training", &patience);
        st = test_each(peers, peers->leaving, peers->size, &are_gone, NULL);
    }
    return !st;
}

void peers_close(struct peers *peers, bool at_once)
{
    bool all_left;

    if (peers->process != getpid())
        return;
    if (peers->shm.memory)
        shm_set_state(&peers->shm, RANK_LEFT);
    all_left = !at_once && say_goodbye(peers);
    if (peers->leaving && peers->words) {
        withdraw_receives(peers, peers->leaving);
        withdraw_receives(peers, peers->leaving + peers->size);
    }
    if (all_left && peers->has_begun_mpi)
        (void)peers->mpi.finalize();
    shm_done(&peers->shm);
    mem_free(peers->leaving);
    mem_free(peers->words);
    peers->leaving = NULL;
    peers->words = NULL;
    lock_done(&peers->lock);
}

void peers_give_up(struct peers *peers)
{
    if (peers->process != getpid())
        return;
    if (peers->shm.memory)
        shm_set_state(&peers->shm, RANK_FAILED);
    (void)send_word(peers, TAG_FAIL);
}

/* ---- memory ---------------------------------------------------------------------- */

size_t peers_chunk_bytes(const struct peers *peers)
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
    scratch->requests = mem_array(PEERS_SETS * 2 * size, sizeof(mpi_handle));
    scratch->chunks = mem_array(2 * size, peers_chunk_bytes(peers));
    scratch->greetings = mem_array(size, sizeof(struct peers_greeting));
    if (scratch->requests && scratch->chunks && scratch->greetings)
        scratch->from =
            mem_array(size, sizeof(void *)); /* last: it marks that all is allocated */
    if (!scratch->from)
        return err_default(err, DET_NOMEM);
    for (size_t i = 0; i < PEERS_SETS * 2 * size; i++)
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

/* Tells the other ranks: they would wait for messages that this rank no longer
 * sends. */
det_status peers_break_up(struct peers *peers, struct peers_scratch *scratch,
                          det_status st, struct err *err)
{
    bool is_first = false;

    for (int set = 0; st && set < PEERS_SETS; set++) {
        withdraw_receives(peers, scratch->requests + (ptrdiff_t)set * 2 * peers->size);
        drop_requests(peers, scratch->requests + ((ptrdiff_t)set * 2 + 1) * peers->size,
                      peers->size);
    }
    lock_take(&peers->lock);
    if (st && !peers->is_broken) {
        is_first = peers->is_broken = true;
        peers->why.status = st;
        if (err)
            peers->why = *err;
    }
    lock_give(&peers->lock);
    if (is_first)
        peers_give_up(peers);
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

static det_status send_greeting(struct peers *peers, struct peers_scratch *scratch,
                                struct err *err)
{
    int tag = peers_tag(scratch->stream, TAG_GREETING);
    size_t len = sizeof(struct peers_greeting);
    const struct peers_greeting *own = &scratch->greetings[peers->rank];
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        if (rank == peers->rank)
            continue;
        st = peers_receive(peers, &scratch->greetings[rank], len, rank, tag,
                           &scratch->requests[rank], err);
        if (!st)
            st = peers_send(peers, own, len, rank, tag,
                            &scratch->requests[peers->size + rank], err);
    }
    return st;
}

static det_status await_greetings(struct peers *peers, struct peers_scratch *scratch,
                                  bool briefly, bool *ret_all_came, struct err *err)
{
    struct patience patience = {0};
    bool all = false;
    det_status st = test_each(peers, scratch->requests, peers->size, &all, err);

    while (!st && !all && !(briefly && patience.waited_us > BRIEF_US)) {
        rest_between_looks(peers, &patience, SPIN_US);
        if (patience.waited_us > BRIEF_US) {
            notice_requests(peers, scratch->requests, "average its gradients",
                            &patience);
            st = find_gone(peers, scratch->requests, peers->size, err);
        }
        if (!st)
            st = test_each(peers, scratch->requests, peers->size, &all, err);
    }
    *ret_all_came = !st && all;
    return *ret_all_came ? peers_wait_for(peers, scratch->requests + peers->size,
                                          peers->size, err)
                         : st;
}

/* ---- agreeing in shared memory --------------------------------------------------- */

static bool has_shm(const struct peers *peers, int stream)
{
    return peers->shm.memory && stream < SHM_STREAMS;
}

static void notice_in_shm(const struct peers *peers, int stream,
                          struct patience *patience)
{
    bool is_missing[NUMBER_RANKS];

    if (!may_notice(peers, patience))
        return;
    for (int rank = 0; rank < peers->size; rank++)
        is_missing[rank] = !shm_wait(&peers->shm, stream, rank, 0);
    give_notice(peers, is_missing, "average its gradients", patience);
}

/* Looks at all ranks, not only at the awaited one: it may be late because it waits for
 * a rank that has gone. */
static det_status find_gone_in_shm(const struct peers *peers, int stream,
                                   struct err *err)
{
    const struct shm *shm = &peers->shm;
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        enum rank_state state =
            rank == peers->rank ? RANK_HERE : shm_rank_state(shm, rank);

        if (state != RANK_HERE && !shm_wait(shm, stream, rank, 0))
            st = say_gone(peers, rank, state, err);
    }
    return st;
}

/* Waits for one rank; all ranks share the patience. */
static det_status wait_for_rank(struct peers *peers, int stream, int rank, bool briefly,
                                struct patience *patience, struct err *err)
{
    det_status st = DET_OK;

    while (!st &&
           !shm_wait(&peers->shm, stream, rank, briefly ? BRIEF_US / 1000 : LOOK_MS)) {
        count_time(peers, patience);
        st = find_gone_in_shm(peers, stream, err);
        if (briefly && patience->waited_us > BRIEF_US)
            break;
        notice_in_shm(peers, stream, patience);
    }
    return st;
}

static det_status wait_in_shm(struct peers *peers, struct peers_scratch *scratch,
                              bool briefly, bool *ret_all_came, struct err *err)
{
    struct patience patience = {.since_us = clock_mono_us(peers->clock)};
    int stream = scratch->stream;
    bool all = true;
    det_status st = DET_OK;

    for (int rank = 0; !st && all && rank < peers->size; rank++) {
        if (rank == peers->rank)
            continue;
        st = wait_for_rank(peers, stream, rank, briefly, &patience, err);
        all = !st && shm_wait(&peers->shm, stream, rank, 0);
        if (all)
            memcpy(&scratch->greetings[rank], shm_word(&peers->shm, stream, rank),
                   sizeof(scratch->greetings[rank]));
    }
    *ret_all_came = !st && all;
    return st;
}

/* After a failure, ranks that are a turn behind may still read the slot. */
void *peers_slot(struct peers *peers, int stream, size_t bytes)
{
    return has_shm(peers, stream) && bytes <= peers->shm.slot_bytes &&
                   !was_broken(peers, NULL)
               ? shm_slot(&peers->shm, stream)
               : NULL;
}

const void *peers_slot_of(const struct peers *peers, int stream, int rank)
{
    return shm_bytes(&peers->shm, stream, rank);
}

/* ---- agreeing, either way -------------------------------------------------------- */

static det_status compare_greetings(const struct peers *peers,
                                    const struct peers_greeting *all, struct err *err)
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
    scratch->stream = stream;
    scratch->is_in_shm = has_shm(peers, stream);
    if (scratch->is_in_shm) {
        shm_post(&peers->shm, stream, greeting, sizeof(*greeting));
        return DET_OK;
    }
    return peers_break_up(peers, scratch, send_greeting(peers, scratch, err), err);
}

det_status peers_listen(struct peers *peers, struct peers_scratch *scratch,
                        bool briefly, bool *ret_all_came, struct err *err)
{
    bool all = false;
    det_status st = scratch->is_in_shm
                        ? wait_in_shm(peers, scratch, briefly, &all, err)
                        : await_greetings(peers, scratch, briefly, &all, err);

    if (!st && all)
        st = compare_greetings(peers, scratch->greetings, err);
    *ret_all_came = all;
    return peers_break_up(peers, scratch, st, err);
}
