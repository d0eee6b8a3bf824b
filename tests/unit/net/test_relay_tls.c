/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of the relay once more, with clients that speak TLS: large bodies, events and
 * WebSockets.  Each test talks to a socket as before; a thread behind it speaks TLS. */
#include "tests/unit/net/test_relay.c"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "net/tls/tls_client_impl.h"
#include "tests/unit/net/tls_files.h"

struct wrapped {
    struct tls_client *tls;
    int inner; /* the test's */
    int outer; /* the server's */
    bool has_ended;
    bool has_left;
};

static void wait_ready(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};

    while (poll(&wait, 1, -1) < 0)
        continue;
}

/* From the server to the test.  Sets has_left at the end. */
static void pump_in(struct wrapped *w)
{
    char bytes[16384];
    ssize_t count;

    while ((count = tls_receive(w->tls, bytes, sizeof(bytes))) > 0) {
        if (send(w->inner, bytes, (size_t)count, MSG_NOSIGNAL) != count) {
            w->has_left = true;
            return;
        }
    }
    w->has_left = count == 0 || errno != EAGAIN;
}

/* From the test to the server.  The end of the test's half becomes TLS's goodbye. */
static void pump_out(struct wrapped *w)
{
    char bytes[16384];
    ssize_t count = recv(w->inner, bytes, sizeof(bytes), 0);
    struct iovec part = {bytes, count > 0 ? (size_t)count : 0};

    if (count <= 0) {
        w->has_ended = true;
        (void)w->tls->gnutls->bye(w->tls->session, GNUTLS_SHUT_WR);
        shutdown(w->outer, SHUT_WR);
        return;
    }
    while (part.iov_len) {
        ssize_t sent = tls_send(w->tls, &part, 1);

        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            w->has_left = true;
            return;
        }
        if (sent < 0) { /* a server that echoes waits until we read */
            wait_ready(w->outer, POLLOUT | POLLIN);
            pump_in(w);
            if (w->has_left)
                return;
            continue;
        }
        part.iov_base = (char *)part.iov_base + sent;
        part.iov_len -= (size_t)sent;
    }
}

static void *pump(void *arg)
{
    struct wrapped *w = arg;
    struct err err = {0};
    det_status st = tls_begin(w->tls, w->outer, &err);

    while (!st && (st = tls_shake(w->tls, &err)) == DET_BUSY) {
        wait_ready(w->outer, tls_events(w->tls));
        st = DET_OK;
    }
    w->has_left = st != DET_OK;
    while (!w->has_left) {
        struct pollfd ends[2] = {
            {.fd = w->outer, .events = POLLIN},
            {.fd = w->has_ended ? -1 : w->inner, .events = POLLIN},
        };

        if (poll(ends, 2, -1) < 0)
            continue;
        if (ends[1].revents)
            pump_out(w);
        if (ends[0].revents && !w->has_left)
            pump_in(w);
    }
    tls_client_free(w->tls);
    close(w->outer);
    close(w->inner);
    mem_free(w);
    return NULL;
}

/* The test's number now names one end of a pair; the thread has the other. */
static void wrap(int fd)
{
    struct wrapped *w = mem_new(struct wrapped);
    int pair[2];
    pthread_t thread;

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    CHECK_OK(tls_client_new(&(struct net_trust){.cert_file = place_cert_file},
                            "127.0.0.1", &w->tls, &test_err));
    w->outer = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    fcntl(w->outer, F_SETFL, O_NONBLOCK);
    w->inner = pair[1];
    CHECK(dup3(pair[0], fd, O_CLOEXEC) == fd);
    close(pair[0]);
    raw_wrapped.connection = w->outer;
    raw_wrapped.inner = w->inner;
    CHECK_EQ(pthread_create(&thread, NULL, pump, w), 0);
    pthread_detach(thread);
}

static char cert_file[TLS_PATH];
static char key_file[TLS_PATH];

__attribute__((constructor)) static void make_files(void)
{
    tls_make_folder();
    tls_make_pair(tls_path(cert_file, "cert.pem"), tls_path(key_file, "key.pem"));
    place_cert_file = cert_file;
    place_key_file = key_file;
    raw_wrap = wrap;
}
