/* SPDX-License-Identifier: Apache-2.0 */
/* map_guard.c - a table of maps that the handler of SIGBUS can read without a lock.
 *
 * `start` is set last and cleared first, so a row with a start is complete.  The process has
 * one handler, hence one table. */
#include "base/io/map_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum { GUARDS = 256 };

static struct guard {
    _Atomic bool is_taken;
    _Atomic bool is_broken;
    _Atomic uintptr_t start; /* 0: not guarded (yet) */
    _Atomic size_t len;
} guards[GUARDS];

static struct guard *find_guard(uintptr_t address)
{
    for (size_t i = 0; i < GUARDS; i++) {
        uintptr_t start = atomic_load(&guards[i].start);

        if (start && address >= start && address - start < atomic_load(&guards[i].len))
            return &guards[i];
    }
    return NULL;
}

/* Only calls that are safe in a handler: atomics, mmap, signal and raise. */
static void replace_map(int number, siginfo_t *info, void *context UNUSED)
{
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct guard *guard = info->si_code > 0 ? find_guard(address) : NULL;
    void *place = guard ? (void *)atomic_load(&guard->start) : NULL;

    if (!place || mmap(place, atomic_load(&guard->len), PROT_READ | PROT_WRITE,
                       MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != place) {
        signal(number, SIG_DFL);
        raise(number); /* pending until we return */
    } else {
        atomic_store(&guard->is_broken, true);
    }
    errno = saved;
}

void map_guard_install(void)
{
    struct sigaction action = {.sa_sigaction = replace_map, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

det_status map_guard_add(const struct io_map *map, struct err *err)
{
    for (size_t i = 0; i < GUARDS; i++) {
        if (atomic_exchange(&guards[i].is_taken, true))
            continue;
        atomic_store(&guards[i].is_broken, false);
        atomic_store(&guards[i].len, map->len);
        atomic_store(&guards[i].start, (uintptr_t)map->data);
        return DET_OK;
    }
    return err_set(err, DET_BUSY, "%d files are mapped already, which is the limit",
                   GUARDS);
}

void map_guard_remove(const struct io_map *map)
{
    struct guard *guard = map->data ? find_guard((uintptr_t)map->data) : NULL;

    if (!guard)
        return;
    atomic_store(&guard->start, 0);
    atomic_store(&guard->is_taken, false);
}

bool map_guard_is_broken(const struct io_map *map)
{
    const struct guard *guard = map->data ? find_guard((uintptr_t)map->data) : NULL;

    return guard && atomic_load(&guard->is_broken);
}
