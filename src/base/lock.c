/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - struct lock over a mutex that notices being taken twice by one thread: on
 * exec_single, where all lanes share a thread, that is the only sign of a lock held
 * while waiting. */
#include <assert.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/task.h"

det_status lock_init(struct lock *lock, struct err *err)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t *mutex = mem_new(pthread_mutex_t);

    if (!mutex)
        return err_default(err, DET_NOMEM);
    /* None of these can fail with glibc for a plain attribute. */
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(mutex, &kind);
    pthread_mutexattr_destroy(&kind);
    lock->impl = mutex;
    return DET_OK;
}

/* Fine for a lock that was never made, so that half-made objects clean up alike. */
void lock_done(struct lock *lock)
{
    if (lock->impl)
        pthread_mutex_destroy(lock->impl);
    mem_free(lock->impl);
    lock->impl = NULL;
}

void lock_take(struct lock *lock)
{
    /* EDEADLK is a bug of the caller and must not go on without the lock. */
    int code = pthread_mutex_lock(lock->impl);

    assert(code == 0);
    (void)code;
}

void lock_give(struct lock *lock)
{
    int code = pthread_mutex_unlock(lock->impl);

    assert(code == 0);
    (void)code;
}

uintptr_t thread_self(void)
{
    return (uintptr_t)pthread_self();
}
