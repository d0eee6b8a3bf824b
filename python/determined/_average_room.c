/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_room.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "_average_number.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shared.h"

enum { PAGE = 4096, LINE = 64 };

/* At the beginning. */
struct hall {
    uint64_t secret;
    _Alignas(LINE) _Atomic uint32_t fate[NUMBER_RANKS];
};

/* What a rank has in a stream; behind it, from the next page on, its two slots. */
struct place {
    _Alignas(LINE) _Atomic uint32_t turn; /* told so often */
    _Atomic uint32_t sleepers;            /* others, on `turn` */
    _Alignas(LINE) char words[2][ROOM_WORD];
};

static size_t pages(size_t len)
{
    return (len + PAGE - 1) / PAGE * PAGE;
}

static size_t place_len(const struct room *room)
{
    return pages(sizeof(struct place)) + 2 * room->slot_bytes;
}

static struct hall *hall_of(const struct room *room)
{
    return (struct hall *)(void *)room->memory;
}

static struct place *place_of(const struct room *room, int stream, int rank)
{
    size_t number = (size_t)stream * (size_t)room->size + (size_t)rank;

    return (struct place *)(void *)(room->memory + pages(sizeof(struct hall)) +
                                    number * place_len(room));
}

/* ---- joining --------------------------------------------------------------------- */

/* The same on two ranks that can open each other's files: one kernel, one list of
 * processes.  0: it cannot be found out. */
static uint64_t this_machine(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    struct stat list;
    char boot[64];
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t len = file < 0 ? -1 : read(file, boot, sizeof(boot));

    if (file >= 0)
        close(file);
    if (len <= 0 || stat("/proc/self/ns/pid", &list))
        return 0;
    for (ssize_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)boot[i]) * UINT64_C(0x100000001b3);
    return (hash ^ list.st_ino) * UINT64_C(0x100000001b3);
}

static det_status map(struct room *room, int file, struct err *err)
{
    void *memory = mmap(NULL, room->len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (memory == MAP_FAILED)
        return err_errno(err, errno, "cannot map the memory of all ranks");
    room->memory = memory;
    return DET_OK;
}

/* Sparse: a page is there once somebody has written to it. */
static det_status make_memory(struct room *room, struct room_card *card,
                              struct err *err)
{
    det_status st = rng_secret(&card->secret, sizeof(card->secret), err);

    if (st)
        return st;
    room->file = memfd_create("det-average", MFD_CLOEXEC);
    if (room->file < 0 || ftruncate(room->file, (off_t)room->len))
        return err_errno(err, errno, "cannot make the memory of all ranks");
    st = map(room, room->file, err);
    if (!st)
        hall_of(room)->secret = card->secret;
    return st;
}

det_status room_begin(struct room *room, int rank, int size, size_t slot_bytes,
                      struct room_card *ret_card, struct err *err)
{
    struct room_card card = {
        .machine = this_machine(), .process = getpid(), .file = -1};
    det_status st = DET_OK;

    *room = (struct room){
        .slot_bytes = pages(slot_bytes), .rank = rank, .size = size, .file = -1};
    room->len = pages(sizeof(struct hall)) +
                (size_t)ROOM_STREAMS * (size_t)size * place_len(room);
    room->ends = mem_array((size_t)size, sizeof(*room->ends));
    if (!room->ends)
        return err_default(err, DET_NOMEM);
    for (int i = 0; i < size; i++)
        room->ends[i] = -1;
    if (!rank)
        st = make_memory(room, &card, err);
    card.file = st ? -1 : room->file;
    *ret_card = card;
    return st;
}

static det_status open_memory(struct room *room, const struct room_card *first,
                              struct err *err)
{
    char path[64];
    det_status st;
    int file;

    (void)snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)first->process,
                   (long long)first->file);
    file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return err_errno(err, errno, "cannot open the memory of all ranks");
    st = map(room, file, err);
    close(file); /* the mapping stays */
    if (!st && hall_of(room)->secret != first->secret)
        st = err_set(err, DET_UNSUPPORTED, "the memory of all ranks is not theirs");
    return st;
}

det_status room_enter(struct room *room, const struct room_card *cards, struct err *err)
{
    det_status st = DET_OK;

    for (int rank = 0; rank < room->size; rank++)
        if (!cards[rank].machine || cards[rank].machine != cards[0].machine ||
            cards[0].file < 0)
            return err_set(err, DET_UNSUPPORTED, "rank %d is on another machine", rank);
    if (!room->memory)
        st = open_memory(room, &cards[0], err);
    for (int rank = 0; !st && rank < room->size; rank++)
        if (rank !=
            room->rank) /* where the kernel has no such call, deaths show later */
            room->ends[rank] =
                (int)syscall(SYS_pidfd_open, (pid_t)cards[rank].process, 0);
    return st;
}

void room_close_door(struct room *room)
{
    if (room->file >= 0)
        close(room->file);
    room->file = -1;
}

void room_done(struct room *room)
{
    if (!room->ends)
        return;
    room_close_door(room);
    for (int rank = 0; rank < room->size; rank++)
        if (room->ends[rank] >= 0)
            close(room->ends[rank]);
    if (room->memory)
        munmap(room->memory, room->len);
    mem_free(room->ends);
    *room = (struct room){.file = -1};
}

/* ---- turns ----------------------------------------------------------------------- */

static uint32_t own_turn(const struct room *room, int stream)
{
    return atomic_load_explicit(&place_of(room, stream, room->rank)->turn,
                                memory_order_relaxed);
}

static char *slot_at(const struct room *room, int stream, int rank, uint32_t turn)
{
    return (char *)place_of(room, stream, rank) + pages(sizeof(struct place)) +
           (turn & 1) * room->slot_bytes;
}

void *room_slot(const struct room *room, int stream)
{
    return slot_at(room, stream, room->rank, own_turn(room, stream) + 1);
}

/* Whoever counts itself among the sleepers before it looks at the turn for the last
 * time is seen here, or sees the new turn. */
void room_tell(const struct room *room, int stream, const void *word, size_t len)
{
    struct place *place = place_of(room, stream, room->rank);
    uint32_t turn = own_turn(room, stream) + 1;

    memcpy(place->words[turn & 1], word, len);
    atomic_store(&place->turn, turn);
    if (atomic_load(&place->sleepers))
        shared_wake(&place->turn);
}

/* A rank is at most one turn ahead. */
static bool has_reached(uint32_t theirs, uint32_t ours)
{
    return (int32_t)(theirs - ours) >= 0;
}

bool room_hear(const struct room *room, int stream, int rank, int timeout_ms)
{
    struct place *place = place_of(room, stream, rank);
    uint32_t ours = own_turn(room, stream);
    uint32_t theirs = atomic_load(&place->turn);

    if (has_reached(theirs, ours) || !timeout_ms)
        return has_reached(theirs, ours);
    atomic_fetch_add(&place->sleepers, 1);
    theirs = atomic_load(&place->turn);
    if (!has_reached(theirs, ours) && !hall_of(room)->fate[rank])
        shared_wait(&place->turn, theirs, timeout_ms);
    atomic_fetch_sub(&place->sleepers, 1);
    return has_reached(atomic_load(&place->turn), ours);
}

const void *room_word(const struct room *room, int stream, int rank)
{
    return place_of(room, stream, rank)->words[own_turn(room, stream) & 1];
}

const void *room_bytes(const struct room *room, int stream, int rank)
{
    return slot_at(room, stream, rank, own_turn(room, stream));
}

/* ---- who is gone ----------------------------------------------------------------- */

/* The first word counts: who failed leaves, too. */
void room_say(const struct room *room, enum room_fate fate)
{
    uint32_t here = ROOM_HERE;

    (void)atomic_compare_exchange_strong(&hall_of(room)->fate[room->rank], &here,
                                         (uint32_t)fate);
    for (int stream = 0; stream < ROOM_STREAMS; stream++) {
        struct place *place = place_of(room, stream, room->rank);

        if (atomic_load(&place->sleepers))
            shared_wake(&place->turn);
    }
}

enum room_fate room_fate(const struct room *room, int rank)
{
    struct pollfd end = {.fd = room->ends[rank], .events = POLLIN};
    uint32_t fate = atomic_load(&hall_of(room)->fate[rank]);

    if (fate)
        return (enum room_fate)fate;
    return end.fd >= 0 && poll(&end, 1, 0) == 1 ? ROOM_DIED : ROOM_HERE;
}
