/* SPDX-License-Identifier: Apache-2.0 */
/* gone.c - one thread and an epoll set of its own, over the sockets of suspended
 * connections.
 *
 * libmicrohttpd takes the descriptor of a suspended connection out of its own set, and
 * so learns only after resuming that nobody is there.  Here each is watched for
 * EPOLLRDHUP alone: bytes that arrive early (a pipelined request) do not wake anybody.
 *
 * The difficulty is an event for a watch that is being removed at the same moment.
 * Events carry the watch's address, so an event taken from the kernel before a removal
 * would point at freed memory afterwards.  Therefore the thread waits without taking
 * (the set is level-triggered: a ready event stays ready), and takes one event at a
 * time under the lock under which watches are added and removed:
 *
 *   1. an event taken under the lock belongs to a watch that is in the set;
 *   2. `calling` is the watch whose function runs; gone_remove() waits until it is not.
 *
 * No table, no generation counters, no allocation for a watch. */
#include "net/gone.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

struct gone {
    int epoll_fd;
    int stop_fd; /* in the set with a NULL watch */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t called;
    const struct gone_watch *calling;
};

/* Takes the next event and calls its function; false when told to stop. */
static bool gone_step(struct gone *gone)
{
    struct gone_watch *watch;
    struct epoll_event event;
    gone_fn *fn;

    pthread_mutex_lock(&gone->lock);
    if (epoll_wait(gone->epoll_fd, &event, 1, 0) != 1) {
        pthread_mutex_unlock(&gone->lock);
        return true; /* it was removed meanwhile */
    }
    watch = event.data.ptr;
    if (!watch) {
        pthread_mutex_unlock(&gone->lock);
        return false;
    }
    epoll_ctl(gone->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
    fn = watch->fn;
    gone->calling = watch;
    pthread_mutex_unlock(&gone->lock);

    fn(watch); /* may free it */

    pthread_mutex_lock(&gone->lock);
    gone->calling = NULL;
    pthread_cond_broadcast(&gone->called);
    pthread_mutex_unlock(&gone->lock);
    return true;
}

static void *gone_run(void *arg)
{
    struct gone *gone = arg;
    struct epoll_event ignored;

    pthread_setname_np(pthread_self(), "net-gone");
    do {
        while (epoll_wait(gone->epoll_fd, &ignored, 1, -1) < 0 && errno == EINTR)
            ;
    } while (gone_step(gone));
    return NULL;
}

/* Signals are for the program's own threads. */
static int thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all;
    sigset_t old;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    code = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}

static void gone_close(struct gone *gone)
{
    if (gone->epoll_fd >= 0)
        close(gone->epoll_fd);
    if (gone->stop_fd >= 0)
        close(gone->stop_fd);
    pthread_mutex_destroy(&gone->lock);
    pthread_cond_destroy(&gone->called);
    mem_free(gone);
}

det_status gone_new(struct gone **ret_gone, struct err *err)
{
    struct epoll_event stop = {.events = EPOLLIN};
    struct gone *gone = mem_new(struct gone);
    int code = 0;

    if (!gone)
        return err_default(err, DET_NOMEM);
    pthread_mutex_init(&gone->lock, NULL);
    pthread_cond_init(&gone->called, NULL);
    gone->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    gone->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (gone->epoll_fd < 0 || gone->stop_fd < 0 ||
        epoll_ctl(gone->epoll_fd, EPOLL_CTL_ADD, gone->stop_fd, &stop) != 0)
        code = errno;
    if (!code)
        code = thread_start(&gone->thread, gone_run, gone);
    if (code) {
        gone_close(gone);
        return err_errno(err, code, "cannot watch connections");
    }
    *ret_gone = gone;
    return DET_OK;
}

void gone_free(struct gone *gone)
{
    if (!gone)
        return;
    eventfd_write(gone->stop_fd, 1);
    pthread_join(gone->thread, NULL);
    gone_close(gone);
}

void gone_add(struct gone *gone, struct gone_watch *watch, int fd, gone_fn *fn)
{
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = watch};

    pthread_mutex_lock(&gone->lock);
    watch->fn = fn;
    watch->fd = epoll_ctl(gone->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? fd : -1;
    pthread_mutex_unlock(&gone->lock);
}

void gone_remove(struct gone *gone, struct gone_watch *watch)
{
    pthread_mutex_lock(&gone->lock);
    if (watch->fd >= 0)
        epoll_ctl(gone->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
    while (gone->calling == watch && !pthread_equal(pthread_self(), gone->thread))
        pthread_cond_wait(&gone->called, &gone->lock);
    pthread_mutex_unlock(&gone->lock);
}
