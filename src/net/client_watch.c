/* SPDX-License-Identifier: Apache-2.0 */
/* client_watch.c - one thread with an epoll set watches the sockets of suspended
 * connections.
 *
 * libmicrohttpd takes the descriptor of a suspended connection out of its own set, so it
 * notices only after resuming that the client has left.  We watch each socket for
 * EPOLLRDHUP alone: bytes that arrive early (a pipelined request) wake nobody.
 *
 * The difficulty is an event for an entry that is removed at the same moment.  Events
 * carry the entry's address.  If the thread took an event from the kernel before a
 * removal, the address would point at freed memory after it.  Therefore the thread waits
 * without taking events (the set is level-triggered: a ready event stays ready).  It then
 * takes one event at a time under the lock that also guards adding and removing:
 *
 *   1. an event taken under the lock belongs to an entry that is in the set;
 *   2. `calling` is the entry whose function runs; client_watch_remove() waits for it.
 *
 * This needs no table, no generation counters and no allocation per entry. */
#include "net/client_watch.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/memory/mem.h"
#include "net/net_thread.h"

struct client_watch {
    int epoll_fd;
    int stop_fd; /* in the set, with a NULL entry */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t called;
    const struct client_watch_entry *calling;
};

/* Takes the next event and calls its function.  Returns false when told to stop. */
static bool client_watch_step(struct client_watch *watch)
{
    struct client_watch_entry *entry;
    struct epoll_event event;
    client_watch_fn *fn;

    pthread_mutex_lock(&watch->lock);
    if (epoll_wait(watch->epoll_fd, &event, 1, 0) != 1) {
        pthread_mutex_unlock(&watch->lock);
        return true; /* the entry was removed meanwhile */
    }
    entry = event.data.ptr;
    if (!entry) {
        pthread_mutex_unlock(&watch->lock);
        return false;
    }
    epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, entry->fd, NULL);
    entry->fd = -1;
    fn = entry->fn;
    watch->calling = entry;
    pthread_mutex_unlock(&watch->lock);

    fn(entry); /* may free it */

    pthread_mutex_lock(&watch->lock);
    watch->calling = NULL;
    pthread_cond_broadcast(&watch->called);
    pthread_mutex_unlock(&watch->lock);
    return true;
}

static void *client_watch_run(void *arg)
{
    struct client_watch *watch = arg;
    struct epoll_event ignored;

    pthread_setname_np(pthread_self(), "net-watch");
    do {
        while (epoll_wait(watch->epoll_fd, &ignored, 1, -1) < 0 && errno == EINTR)
            ;
    } while (client_watch_step(watch));
    return NULL;
}

static void client_watch_close(struct client_watch *watch)
{
    if (watch->epoll_fd >= 0)
        close(watch->epoll_fd);
    if (watch->stop_fd >= 0)
        close(watch->stop_fd);
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->called);
    mem_free(watch);
}

det_status client_watch_new(struct client_watch **ret_watch, struct err *err)
{
    struct epoll_event stop = {.events = EPOLLIN};
    struct client_watch *watch = mem_new(struct client_watch);
    int code = 0;

    if (!watch)
        return err_default(err, DET_NOMEM);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->called, NULL);
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->epoll_fd < 0 || watch->stop_fd < 0 ||
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->stop_fd, &stop) != 0)
        code = errno;
    if (!code)
        code = net_thread_start(&watch->thread, client_watch_run, watch);
    if (code) {
        client_watch_close(watch);
        return err_errno(err, code, "cannot watch connections");
    }
    *ret_watch = watch;
    return DET_OK;
}

void client_watch_free(struct client_watch *watch)
{
    if (!watch)
        return;
    eventfd_write(watch->stop_fd, 1);
    pthread_join(watch->thread, NULL);
    client_watch_close(watch);
}

void client_watch_add(struct client_watch *watch, struct client_watch_entry *entry,
                      int fd, client_watch_fn *fn)
{
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = entry};

    pthread_mutex_lock(&watch->lock);
    assert(entry->fd < 0);
    entry->fn = fn;
    entry->fd = epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? fd : -1;
    pthread_mutex_unlock(&watch->lock);
}

void client_watch_remove(struct client_watch *watch, struct client_watch_entry *entry)
{
    pthread_mutex_lock(&watch->lock);
    if (entry->fd >= 0)
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, entry->fd, NULL);
    entry->fd = -1;
    while (watch->calling == entry && !pthread_equal(pthread_self(), watch->thread))
        pthread_cond_wait(&watch->called, &watch->lock);
    pthread_mutex_unlock(&watch->lock);
}
