/* SPDX-License-Identifier: Apache-2.0 */
/* net_thread.h - starts threads of the network; signals are blocked in them, because the
 * program's own threads handle them. */
#ifndef NET_NET_THREAD_H
#define NET_NET_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Threads that start between these two block all signals. */
static inline void net_signals_block(sigset_t *ret_old)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, ret_old);
}

static inline void net_signals_restore(const sigset_t *old)
{
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* Returns 0 or an errno. */
static inline int net_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t old;
    int code;

    net_signals_block(&old);
    code = pthread_create(thread, NULL, run, arg);
    net_signals_restore(&old);
    return code;
}

#endif
