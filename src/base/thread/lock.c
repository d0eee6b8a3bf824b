/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - struct lock over a mutex that notices when one thread takes it twice.  On
 * executor_single all lanes share one thread, and this is the only sign of a lock that
 * is held while waiting. */
#include "base/thread/lock.h"

#include <assert.h>
#include <pthread.h>

#include "base/memory/mem.h"

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

/* Also for a lock that was never made: half-made objects clean up the same way. */
void lock_done(struct lock *lock)
{
    if (lock->impl)
        pthread_mutex_destroy(lock->impl);
    mem_free(lock->impl);
    lock->impl = NULL;
}

void lock_take(struct lock *lock)
{
    /* EDEADLK is a bug of the caller, which must not go on without the lock. */
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
