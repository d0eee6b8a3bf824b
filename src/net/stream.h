/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - bytes in both directions between two processes: TCP and Unix sockets.
 *
 * A small seam under protocols that are not HTTP.  Every stream is non-blocking inside:
 * the stream_try_*() functions do what is possible now, stream_wait() waits for several
 * streams at once, and the other functions use both with a deadline.  Deadlines are
 * monotonic times of clock_system; 0 means none.
 *
 * If the other side ends in any way, functions return DET_UNREACHABLE; bytes that it sent
 * before are received first.  FAULT_SEND and FAULT_RECEIVE strike here.
 *
 * Threads: one at a time per stream. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct stream {
    int fd; /* -1: none */
};
#define STREAM_NONE                                                                    \
    {                                                                                  \
        .fd = -1                                                                       \
    }

/* The address of a listener.  Strings are borrowed. */
struct stream_at {
    const char *name; /* of a Unix socket: a path, or '@' and a name that is in no
                         folder and vanishes with its listener; NULL: TCP */
    const char *host; /* NULL, to listen: every address of this machine */
    uint16_t port;    /* 0, to listen: any */
};
enum { STREAM_TEXT = 280 };
/* "10.0.0.7:12360", or the name. */
void stream_at_text(const struct stream_at *at, char text[STREAM_TEXT]);

/* DET_EXISTS: another process listens there.  `ret_port` (may be NULL) is the port in
 * use. */
det_status stream_listen(const struct stream_at *at, struct stream *ret_listener,
                         uint16_t *ret_port, struct err *err);
/* DET_BUSY: no connection is waiting. */
det_status stream_accept(struct stream *listener, struct stream *ret_stream,
                         struct err *err);
/* One attempt.  DET_UNREACHABLE: nobody listens there (yet).  DET_NOT_FOUND: the host is
 * unknown. */
det_status stream_connect(const struct stream_at *at, int64_t deadline_us,
                          struct stream *ret_stream, struct err *err);
void stream_close(struct stream *stream); /* a closed one is allowed */
/* Returns false if the other end is a process of another user on this machine. */
bool stream_is_same_user(const struct stream *stream);

/* Sends or receives as many bytes as possible without waiting; the count may be 0. */
det_status stream_try_send(struct stream *stream, const void *bytes, size_t len,
                           size_t *ret_count, struct err *err);
det_status stream_try_receive(struct stream *stream, void *bytes, size_t len,
                              size_t *ret_count, struct err *err);

/* Rows have the kernel's own type, so waiting needs no memory: fill them with
 * stream_row(), then look at `revents`.  DET_TIMEOUT: nothing happened. */
static inline struct pollfd stream_row(const struct stream *stream, short events)
{
    return (struct pollfd){.fd = stream->fd, .events = events};
}
det_status stream_wait(struct pollfd *rows, size_t count, int64_t deadline_us,
                       struct err *err);

/* All bytes, or a failure: DET_UNREACHABLE, DET_TIMEOUT. */
det_status stream_send(struct stream *stream, const void *bytes, size_t len,
                       int64_t deadline_us, struct err *err);
det_status stream_receive(struct stream *stream, void *bytes, size_t len,
                          int64_t deadline_us, struct err *err);

#endif
