/* SPDX-License-Identifier: Apache-2.0 */
/* acceptor.c - accepts connections and closes overdue ones.
 *
 * libmicrohttpd would stop to accept when its limit is reached or the descriptors are used
 * up, and early clients would block later ones.  Here a new connection takes the place of one
 * that rests (seats.h). */
#include "net/accept/acceptor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory/mem.h"
#include "net/accept/seats.h"
#include "net/net_addr.h"
#include "net/net_thread.h"

enum {
    SWEEP_MS = 1000,
    PAUSE_MS = 50, /* before accept() is tried again without descriptors */
    AT_ONCE = 64,  /* accepted before the deadlines are looked at */
    WARN_US = 60 * 1000000,
};

struct acceptor {
    struct acceptor_config config;
    int stop_fd;
    pthread_t thread;
    int64_t swept_us;
    int64_t warned_us;
};

static void acceptor_admit(struct acceptor *a, int fd, const struct sockaddr *from,
                           socklen_t size)
{
    struct net_addr address = {0};

    (void)net_addr_from(from, &address);
    if (seats_take(a->config.seats, fd, &address)) {
        a->config.accepted(a->config.arg, fd, from, size);
        return;
    }
    if (a->config.refusal) /* best effort: the socket's buffer is empty */
        (void)!send(fd, a->config.refusal, strlen(a->config.refusal),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

/* There is no descriptor for the next connection, which stays readable in poll(). */
static void acceptor_make_room(struct acceptor *a)
{
    struct pollfd stop = {a->stop_fd, POLLIN, 0};

    if (seats_shed(a->config.seats))
        seats_wait(a->config.seats, 1);
    else
        (void)poll(&stop, 1, PAUSE_MS);
}

/* Returns false if nobody waits, or nobody can be accepted now. */
static bool accept_one(struct acceptor *a)
{
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof(from);
    int fd;

    seats_wait(a->config.seats, SEATS_LEAVING);
    fd = accept4(a->config.fd, (struct sockaddr *)&from, &size,
                 SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        acceptor_admit(a, fd, (struct sockaddr *)&from, size);
        return true;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        acceptor_make_room(a);
        return false;
    }
    return errno == EINTR || errno == ECONNABORTED;
}

static void acceptor_sweep(struct acceptor *a)
{
    int64_t now_us = clock_mono_us(&clock_system);
    char address[NET_ADDRESS_TEXT];
    uint32_t count;

    if (now_us - a->swept_us < SWEEP_MS * 1000)
        return;
    a->swept_us = now_us;
    count = seats_sweep(a->config.seats, address);
    if (!count || !a->config.turned_away ||
        (a->warned_us && now_us - a->warned_us < WARN_US))
        return;
    a->warned_us = now_us;
    a->config.turned_away(a->config.arg, count, address);
}

static void *acceptor_run(void *arg)
{
    struct acceptor *a = arg;
    struct pollfd fds[] = {{a->config.fd, POLLIN, 0}, {a->stop_fd, POLLIN, 0}};

    pthread_setname_np(pthread_self(), "net-accept");
    while (!(fds[1].revents & POLLIN)) {
        for (int i = 0; i < AT_ONCE && accept_one(a); i++)
            ;
        acceptor_sweep(a);
        (void)poll(fds, 2, SWEEP_MS);
    }
    return NULL;
}

det_status acceptor_new(const struct acceptor_config *config,
                        struct acceptor **ret_acceptor, struct err *err)
{
    struct acceptor *a = mem_new(struct acceptor);
    int code = 0;

    if (!a)
        return err_default(err, DET_NOMEM);
    a->config = *config;
    a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->stop_fd < 0)
        code = errno;
    if (!code)
        code = net_thread_start(&a->thread, acceptor_run, a);
    if (code) {
        if (a->stop_fd >= 0)
            close(a->stop_fd);
        mem_free(a);
        return err_errno(err, code, "cannot accept connections");
    }
    *ret_acceptor = a;
    return DET_OK;
}

void acceptor_free(struct acceptor *a)
{
    if (!a)
        return;
    eventfd_write(a->stop_fd, 1);
    pthread_join(a->thread, NULL);
    close(a->config.fd);
    close(a->stop_fd);
    mem_free(a);
}
