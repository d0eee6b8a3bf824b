/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_peers.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "_average_peers_impl.h"
#include "base/mem.h"

enum {
    CHUNK_BYTES = 1 << 19, /* measured: more leaves the cache, less costs calls */
    CHUNK_LEAST = 1 << 12,
    SPIN_US = 100,   /* then it sleeps */
    BRIEF_US = 2000, /* most ranks are not further apart */
    NAP_US = 20,
    LOOK_MS = 20,      /* so often who sleeps looks for those that died */
    GRACE_US = 100000, /* what one that is gone has sent may still be on its way */
};

/* A stream uses three of four numbers; the first of the four are for these. */
enum word_tag { TAG_LEAVE = 0, TAG_FAIL = 4, TAG_CARD = 8, TAG_VERDICT = 12 };

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

/* Sleeps rather than yields: who yields on a busy machine is taken to have had its
 * share, and is let in again a tick too late; so says the scheduler of Linux since 6.6.
 */
static void rest(const struct peers *peers, struct patience *patience, int64_t spin_us)
{
    count_time(peers, patience);
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

static det_status post(struct peers *peers, int code, struct err *err)
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
    return post(peers, code, err);
}

det_status peers_receive(struct peers *peers, void *bytes, size_t len, int from,
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

/* "1, 3 and 2 more" of the ranks that are missing; how many those are. */
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

/* Of the ranks whose request is still there. */
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

/* Each request on its own: what is done becomes null, and null is done. */
static det_status test_each(struct peers *peers, mpi_handle *requests, int count,
                            bool *ret_all, struct err *err)
{
    det_status st = DET_OK;

    *ret_all = true;
    for (int i = 0; !st && i < count; i++) {
        bool is_done = false;

        st = test(peers, &requests[i], 1, &is_done, err);
        *ret_all = *ret_all && is_done;
    }
    return st;
}

/* By the words that have come. */
static enum room_fate fate_of(const struct peers *peers, int rank)
{
    if (rank == peers->rank)
        return ROOM_HERE;
    if (peers->leaving[peers->size + rank] == peers->mpi.request_null)
        return ROOM_FAILED;
    if (peers->leaving[rank] == peers->mpi.request_null)
        return ROOM_LEFT;
    return peers->room.memory ? room_fate(&peers->room, rank) : ROOM_HERE;
}

static det_status say_gone(const struct peers *peers, int rank, enum room_fate fate,
                           struct err *err)
{
    if (fate == ROOM_LEFT)
        return err_set(err, DET_STATE,
                       "rank %d has ended its training and rank %d goes on: every rank "
                       "must train the same number of batches",
                       rank, peers->rank);
    return err_set(err, DET_STATE,
                   "rank %d %s while rank %d waited for its gradients: its own lines "
                   "say why",
                   rank, fate == ROOM_DIED ? "died" : "failed", peers->rank);
}

/* A rank that is gone, and of which one of the requests (of rank 0, 1, ..., and again)
 * has not been answered before it went. */
static det_status look_for_the_gone(struct peers *peers, mpi_handle *requests,
                                    int count, struct err *err)
{
    bool all = false;
    det_status st = test_each(peers, peers->leaving, 2 * peers->size, &all, err);
    bool is_gone[NUMBER_RANKS];

    for (int rank = 0; !st && rank < peers->size; rank++)
        is_gone[rank] = fate_of(peers, rank) != ROOM_HERE;
    if (!st) /* what it sent may have come since we last looked */
        st = test_each(peers, requests, count, &all, err);
    for (int i = 0; !st && i < count; i++) {
        int rank = i % peers->size;

        if (is_gone[rank] && requests[i] != peers->mpi.request_null)
            st = say_gone(peers, rank, fate_of(peers, rank), err);
    }
    return st;
}

det_status peers_wait_for(struct peers *peers, mpi_handle *requests, int count,
                          struct err *err)
{
    struct patience patience = {0};
    int64_t gone_us = 0;
    bool are_done = false;
    det_status st = test(peers, requests, count, &are_done, err);

    while (!st && !are_done) {
        rest(peers, &patience, BRIEF_US); /* all are here: it will not be long */
        if (patience.waited_us > BRIEF_US &&
            look_for_the_gone(peers, requests, count, err)) {
            gone_us = gone_us ? gone_us : patience.waited_us;
            if (patience.waited_us - gone_us > GRACE_US)
                return look_for_the_gone(peers, requests, count, err);
        }
        st = test(peers, requests, count, &are_done, err);
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

/* Everybody gets the `len` bytes of everybody, by rank. */
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
        withdraw(peers, requests);
        drop(peers, requests + peers->size, peers->size);
    }
    mem_free(requests);
    return st;
}

/* Whoever cannot enter says so, and then nobody does. */
det_status peers_share(struct peers *peers, struct err *err)
{
    struct room_card *cards = mem_array((size_t)peers->size, sizeof(*cards));
    char *can_enter = mem_array((size_t)peers->size, 1);
    bool all_can = true;
    det_status st = cards && can_enter ? DET_OK : err_default(err, DET_NOMEM);

    if (!st) {
        bool has_begun =
            !room_begin(&peers->room, peers->rank, peers->size,
                        2 * peers_chunk_bytes(peers), &cards[peers->rank], NULL);

        st = tell_all(peers, cards, sizeof(*cards), TAG_CARD, err);
        can_enter[peers->rank] =
            !st && has_begun && !room_enter(&peers->room, cards, NULL);
    }
    if (!st)
        st = tell_all(peers, can_enter, 1, TAG_VERDICT, err);
    for (int rank = 0; !st && rank < peers->size; rank++)
        all_can = all_can && can_enter[rank];
    if (!st && all_can)
        room_close_door(&peers->room);
    else
        room_done(&peers->room);
    if (st) /* the others would wait for the rest */
        peers_give_up(peers);
    mem_free(cards);
    mem_free(can_enter);
    return st;
}

/* A word that cannot be sent is not missed: who sends it has no other way to say so. */
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
            drop(peers, &request, 1);
    }
    return st;
}

/* True: all have. */
static bool say_goodbye(struct peers *peers)
{
    struct patience patience = {0};
    bool are_gone = false;
    det_status st = send_word(peers, TAG_LEAVE);

    if (!st)
        st = test_each(peers, peers->leaving, peers->size, &are_gone, NULL);
    while (!st && !are_gone) {
        rest(peers, &patience, SPIN_US);
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
    if (peers->room.memory)
        room_say(&peers->room, ROOM_LEFT);
    all_left = !at_once && say_goodbye(peers);
    if (peers->leaving && peers->words) {
        withdraw(peers, peers->leaving);
        withdraw(peers, peers->leaving + peers->size);
    }
    if (all_left && peers->has_begun_mpi)
        (void)peers->mpi.finalize();
    room_done(&peers->room);
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
    if (peers->room.memory)
        room_say(&peers->room, ROOM_FAILED);
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
        scratch->from = mem_array(size, sizeof(void *)); /* last: all is there */
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

/* The others are told: they would wait for what this rank does not send any more. */
det_status peers_break_up(struct peers *peers, struct peers_scratch *scratch,
                          det_status st, struct err *err)
{
    bool is_first = false;

    for (int set = 0; st && set < PEERS_SETS; set++) {
        withdraw(peers, scratch->requests + (ptrdiff_t)set * 2 * peers->size);
        drop(peers, scratch->requests + ((ptrdiff_t)set * 2 + 1) * peers->size,
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

static det_status greet(struct peers *peers, struct peers_scratch *scratch,
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
        rest(peers, &patience, SPIN_US);
        if (patience.waited_us > BRIEF_US) {
            notice_requests(peers, scratch->requests, "average its gradients",
                            &patience);
            st = look_for_the_gone(peers, scratch->requests, peers->size, err);
        }
        if (!st)
            st = test_each(peers, scratch->requests, peers->size, &all, err);
    }
    *ret_all_came = !st && all;
    return *ret_all_came ? peers_wait_for(peers, scratch->requests + peers->size,
                                          peers->size, err)
                         : st;
}

/* ---- agreeing in the room -------------------------------------------------------- */

static bool has_room(const struct peers *peers, int stream)
{
    return peers->room.memory && stream < ROOM_STREAMS;
}

static void notice_room(const struct peers *peers, int stream,
                        struct patience *patience)
{
    bool is_missing[NUMBER_RANKS];

    if (!may_notice(peers, patience))
        return;
    for (int rank = 0; rank < peers->size; rank++)
        is_missing[rank] = !room_hear(&peers->room, stream, rank, 0);
    give_notice(peers, is_missing, "average its gradients", patience);
}

/* Any of them, not only the one that is waited for: that one may be late because it
 * waits for the one that is gone. */
static det_status look_around(const struct peers *peers, int stream, struct err *err)
{
    const struct room *room = &peers->room;
    det_status st = DET_OK;

    for (int rank = 0; !st && rank < peers->size; rank++) {
        enum room_fate fate = rank == peers->rank ? ROOM_HERE : room_fate(room, rank);

        if (fate != ROOM_HERE && !room_hear(room, stream, rank, 0))
            st = say_gone(peers, rank, fate, err);
    }
    return st;
}

/* One rank; all of them share the patience. */
static det_status hear_one(struct peers *peers, int stream, int rank, bool briefly,
                           struct patience *patience, struct err *err)
{
    det_status st = DET_OK;

    while (!st && !room_hear(&peers->room, stream, rank,
                             briefly ? BRIEF_US / 1000 : LOOK_MS)) {
        count_time(peers, patience);
        st = look_around(peers, stream, err);
        if (briefly && patience->waited_us > BRIEF_US)
            break;
        notice_room(peers, stream, patience);
    }
    return st;
}

static det_status hear_all(struct peers *peers, struct peers_scratch *scratch,
                           bool briefly, bool *ret_all_came, struct err *err)
{
    struct patience patience = {.since_us = clock_mono_us(peers->clock)};
    int stream = scratch->stream;
    bool all = true;
    det_status st = DET_OK;

    for (int rank = 0; !st && all && rank < peers->size; rank++) {
        if (rank == peers->rank)
            continue;
        st = hear_one(peers, stream, rank, briefly, &patience, err);
        all = !st && room_hear(&peers->room, stream, rank, 0);
        if (all)
            memcpy(&scratch->greetings[rank], room_word(&peers->room, stream, rank),
                   sizeof(scratch->greetings[rank]));
    }
    *ret_all_came = !st && all;
    return st;
}

/* After a failure a slot may still be read by ranks that are a turn behind. */
void *peers_slot(struct peers *peers, int stream, size_t bytes)
{
    return has_room(peers, stream) && bytes <= peers->room.slot_bytes &&
                   !was_broken(peers, NULL)
               ? room_slot(&peers->room, stream)
               : NULL;
}

const void *peers_slot_of(const struct peers *peers, int stream, int rank)
{
    return room_bytes(&peers->room, stream, rank);
}

/* ---- agreeing, either way -------------------------------------------------------- */

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
    scratch->stream = stream;
    scratch->is_in_room = has_room(peers, stream);
    if (scratch->is_in_room) {
        room_tell(&peers->room, stream, greeting, sizeof(*greeting));
        return DET_OK;
    }
    return peers_break_up(peers, scratch, greet(peers, scratch, err), err);
}

det_status peers_listen(struct peers *peers, struct peers_scratch *scratch,
                        bool briefly, bool *ret_all_came, struct err *err)
{
    bool all = false;
    det_status st = scratch->is_in_room
                        ? hear_all(peers, scratch, briefly, &all, err)
                        : await_greetings(peers, scratch, briefly, &all, err);

    if (!st && all)
        st = compare(peers, scratch->greetings, err);
    *ret_all_came = all;
    return peers_break_up(peers, scratch, st, err);
}
