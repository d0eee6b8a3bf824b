/* SPDX-License-Identifier: Apache-2.0 */
#include "_average_shm.h"

#include <assert.h>
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
#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/shared_lock.h"

enum { PAGE = 4096, LINE = 64 };

/* At the beginning of the memory. */
struct shm_header {
    uint64_t secret;
    _Alignas(LINE) _Atomic uint32_t state[NUMBER_RANKS];
};

/* The place of a rank in a stream. Its two slots begin at the next page. */
struct place {
    _Alignas(LINE) _Atomic uint32_t turn; /* how often it has posted */
    _Atomic uint32_t sleepers;            /* other ranks that wait for `turn` */
    _Alignas(LINE) char words[2][SHM_WORD];
};

static size_t whole_pages(size_t len)
{
    return (len + PAGE - 1) / PAGE * PAGE;
}

static size_t place_len(const struct shm *shm)
{
    return whole_pages(sizeof(struct place)) + 2 * shm->slot_bytes;
}

static struct shm_header *header_of(const struct shm *shm)
{
    return (struct shm_header *)(void *)shm->memory;
}

static struct place *place_of(const struct shm *shm, int stream, int rank)
{
    size_t number = (size_t)stream * (size_t)shm->size + (size_t)rank;

    assert(stream >= 0 && stream < SHM_STREAMS && rank >= 0 && rank < shm->size);
    return (struct place *)(void *)(shm->memory +
                                    whole_pages(sizeof(struct shm_header)) +
                                    number * place_len(shm));
}

/* ---- joining --------------------------------------------------------------------- */

/* Equal on two ranks that can open each other's files: the same kernel and the same
 * list of processes. 0 if unknown. */
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

static det_status map_memory(struct shm *shm, int file, struct err *err)
{
    void *memory = mmap(NULL, shm->len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (memory == MAP_FAILED)
        return err_errno(err, errno, "cannot map the shared memory of the ranks");
    shm->memory = memory;
    return DET_OK;
}

/* The file is sparse: a page exists after the first write to it. */
static det_status make_memory(struct shm *shm, struct shm_address *address,
                              struct err *err)
{
    det_status st = rng_secret(&address->secret, sizeof(address->secret), err);

    if (st)
        return st;
    shm->file = memfd_create("det-average", MFD_CLOEXEC);
    if (shm->file < 0 || ftruncate(shm->file, (off_t)shm->len))
        return err_errno(err, errno, "cannot create the shared memory of the ranks");
    st = map_memory(shm, shm->file, err);
    if (!st)
        header_of(shm)->secret = address->secret;
    return st;
}

det_status shm_create(struct shm *shm, int rank, int size, size_t slot_bytes,
                      struct shm_address *ret_address, struct err *err)
{
    struct shm_address address = {
        .machine = this_machine(), .process = getpid(), .file = -1};
    det_status st = DET_OK;

    *shm = (struct shm){
        .slot_bytes = whole_pages(slot_bytes), .rank = rank, .size = size, .file = -1};
    shm->len = whole_pages(sizeof(struct shm_header)) +
               (size_t)SHM_STREAMS * (size_t)size * place_len(shm);
    shm->ends = mem_array((size_t)size, sizeof(*shm->ends));
    if (!shm->ends)
        return err_default(err, DET_NOMEM);
    for (int i = 0; i < size; i++)
        shm->ends[i] = -1;
    if (!rank)
        st = make_memory(shm, &address, err);
    address.file = st ? -1 : shm->file;
    *ret_address = address;
    return st;
}

static det_status open_memory(struct shm *shm, const struct shm_address *first,
                              struct err *err)
{
    char path[64];
    det_status st;
    int file;

    (void)snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)first->process,
                   (long long)first->file);
    file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return err_errno(err, errno, "cannot open the shared memory of the ranks");
    st = map_memory(shm, file, err);
    close(file); /* the mapping stays */
    if (!st && header_of(shm)->secret != first->secret)
        st = err_set(err, DET_UNSUPPORTED, "the shared memory belongs to other ranks");
    return st;
}

det_status shm_join(struct shm *shm, const struct shm_address *addresses,
                    struct err *err)
{
    det_status st = DET_OK;

    for (int rank = 0; rank < shm->size; rank++)
        if (!addresses[rank].machine ||
            addresses[rank].machine != addresses[0].machine || addresses[0].file < 0)
            return err_set(err, DET_UNSUPPORTED, "rank %d is on another machine", rank);
    if (!shm->memory)
        st = open_memory(shm, &addresses[0], err);
    for (int rank = 0; !st && rank < shm->size; rank++)
        if (rank !=
            shm->rank) /* without this call in the kernel, a death is noticed later */
            shm->ends[rank] =
                (int)syscall(SYS_pidfd_open, (pid_t)addresses[rank].process, 0);
    return st;
}

void shm_close_file(struct shm *shm)
{
    if (shm->file >= 0)
        close(shm->file);
    shm->file = -1;
}

void shm_done(struct shm *shm)
{
    if (!shm->ends)
        return;
    shm_close_file(shm);
    for (int rank = 0; rank < shm->size; rank++)
        if (shm->ends[rank] >= 0)
            close(shm->ends[rank]);
    if (shm->memory)
        munmap(shm->memory, shm->len);
    mem_free(shm->ends);
    *shm = (struct shm){.file = -1};
}

/* ---- turns ----------------------------------------------------------------------- */

static uint32_t own_turn(const struct shm *shm, int stream)
{
    return atomic_load_explicit(&place_of(shm, stream, shm->rank)->turn,
                                memory_order_relaxed);
}

static char *slot_at(const struct shm *shm, int stream, int rank, uint32_t turn)
{
    return (char *)place_of(shm, stream, rank) + whole_pages(sizeof(struct place)) +
           (turn & 1) * shm->slot_bytes;
}

void *shm_slot(const struct shm *shm, int stream)
{
    return slot_at(shm, stream, shm->rank, own_turn(shm, stream) + 1);
}

/* A rank that counts itself among the sleepers before its last look at the turn is seen
 * here, or it sees the new turn. */
void shm_post(const struct shm *shm, int stream, const void *word, size_t len)
{
    struct place *place = place_of(shm, stream, shm->rank);
    uint32_t turn = own_turn(shm, stream) + 1;

    assert(len <= SHM_WORD);
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

bool shm_wait(const struct shm *shm, int stream, int rank, int timeout_ms)
{
    struct place *place = place_of(shm, stream, rank);
    uint32_t ours = own_turn(shm, stream);
    uint32_t theirs = atomic_load(&place->turn);

    if (has_reached(theirs, ours) || !timeout_ms)
        return has_reached(theirs, ours);
    atomic_fetch_add(&place->sleepers, 1);
    theirs = atomic_load(&place->turn);
    if (!has_reached(theirs, ours) && !header_of(shm)->state[rank])
        shared_wait(&place->turn, theirs, timeout_ms);
    atomic_fetch_sub(&place->sleepers, 1);
    return has_reached(atomic_load(&place->turn), ours);
}

const void *shm_word(const struct shm *shm, int stream, int rank)
{
    return place_of(shm, stream, rank)->words[own_turn(shm, stream) & 1];
}

const void *shm_bytes(const struct shm *shm, int stream, int rank)
{
    return slot_at(shm, stream, rank, own_turn(shm, stream));
}

/* ---- who is gone ----------------------------------------------------------------- */

/* The first state counts: a rank that failed also leaves. */
void shm_set_state(const struct shm *shm, enum rank_state state)
{
    uint32_t here = RANK_HERE;

    (void)atomic_compare_exchange_strong(&header_of(shm)->state[shm->rank], &here,
                                         (uint32_t)state);
    for (int stream = 0; stream < SHM_STREAMS; stream++) {
        struct place *place = place_of(shm, stream, shm->rank);

        if (atomic_load(&place->sleepers))
            shared_wake(&place->turn);
    }
}

enum rank_state shm_rank_state(const struct shm *shm, int rank)
{
    struct pollfd end = {.fd = shm->ends[rank], .events = POLLIN};
    uint32_t state = atomic_load(&header_of(shm)->state[rank]);

    if (state)
        return (enum rank_state)state;
    return end.fd >= 0 && poll(&end, 1, 0) == 1 ? RANK_DIED : RANK_HERE;
}
