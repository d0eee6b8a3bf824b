/* SPDX-License-Identifier: Apache-2.0 */
/* shared_lock.c - a robust mutex of the C library, the kernel's futex, and a page that
 * the kernel clears in a forked child.
 *
 * The kernel knows the mutex through a list that each thread keeps.  When a thread dies
 * while it holds the mutex, the next thread that takes it is told and goes on. */
#include "base/thread/shared_lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct shared_lock),
               "a mutex fits into a shared lock");

static pthread_mutex_t *mutex_of(struct shared_lock *lock)
{
    return (pthread_mutex_t *)(void *)lock->words;
}

void shared_lock_reset(struct shared_lock *lock)
{
    struct shared_lock fresh = {0};
    pthread_mutexattr_t kind;

    /* None of these can fail with these arguments on Linux. */
    (void)pthread_mutexattr_init(&kind);
    (void)pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
    (void)pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    (void)pthread_mutex_init(mutex_of(&fresh), &kind);
    (void)pthread_mutexattr_destroy(&kind);
    /* A free mutex holds no address: a copy is as good. */
    memcpy(lock, &fresh, sizeof(fresh));
}

static struct timespec after_ms(int timeout_ms)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* The thread sanitizer knows every way to take a mutex except with a monotonic
 * deadline, and must be told; without the sanitizer these are NULL. */
void __tsan_mutex_pre_lock(void *at, unsigned flags) __attribute__((weak));
void __tsan_mutex_post_lock(void *at, unsigned flags, int depth) __attribute__((weak));
enum { TSAN_TRIES = 1 << 4, TSAN_FAILED = 1 << 5 };

static int lock_within(pthread_mutex_t *mutex, int timeout_ms)
{
    struct timespec until = after_ms(timeout_ms);
    int code;

    if (__tsan_mutex_pre_lock)
        __tsan_mutex_pre_lock(mutex, TSAN_TRIES);
    code = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
    if (__tsan_mutex_post_lock)
        __tsan_mutex_post_lock(
            mutex, code && code != EOWNERDEAD ? TSAN_TRIES | TSAN_FAILED : TSAN_TRIES,
            0);
    return code;
}

bool shared_lock_take(struct shared_lock *lock, int timeout_ms)
{
    int code = pthread_mutex_trylock(mutex_of(lock));

    if (code == EBUSY)
        code = lock_within(mutex_of(lock), timeout_ms);
    if (code == EOWNERDEAD)
        code = pthread_mutex_consistent(mutex_of(lock));
    return code == 0;
}

void shared_lock_give(struct shared_lock *lock)
{
    (void)pthread_mutex_unlock(mutex_of(lock));
}

/* Not FUTEX_PRIVATE_FLAG: the other side is another process. */
void shared_wait(_Atomic uint32_t *word, uint32_t value, int timeout_ms)
{
    struct timespec most = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, timeout_ms < 0 ? NULL : &most,
                  NULL, 0);
}

void shared_wake(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void *shared_memory_new(size_t len)
{
    void *memory = fault_strikes(FAULT_MEMORY)
                       ? MAP_FAILED
                       : mmap(NULL, len, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void shared_memory_free(void *memory, size_t len)
{
    if (memory)
        munmap(memory, len);
}

/* Not the process id: getting it is a system call, and ids are used again. */
det_status fork_mark_init(struct fork_mark *mark, struct err *err)
{
    size_t len = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *page = fault_strikes(FAULT_MEMORY)
                         ? MAP_FAILED
                         : mmap(NULL, len, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return err_default(err, DET_NOMEM);
    if (madvise(page, len, MADV_WIPEONFORK)) {
        int code = errno;

        munmap(page, len);
        return err_errno(err, code, "cannot mark memory for forks");
    }
    *page = 1;
    mark->is_ours = page;
    return DET_OK;
}

void fork_mark_done(struct fork_mark *mark)
{
    if (mark->is_ours)
        munmap((void *)(uintptr_t)mark->is_ours, (size_t)sysconf(_SC_PAGESIZE));
    mark->is_ours = NULL;
}
