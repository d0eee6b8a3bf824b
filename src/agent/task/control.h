/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the socket over which a supervisor is told what to do.
 *
 * DIR/control is a datagram socket: one word a message, with what belongs to it behind
 * a blank, and "ok" comes back.  It is addressed through a descriptor of DIR, since a
 * socket's path may have only 108 bytes. It is private, whatever DIR is. */
#ifndef AGENT_TASK_CONTROL_H
#define AGENT_TASK_CONTROL_H

#include <stdint.h>

#include "base/err.h"

enum control_word {
    CONTROL_NONE,
    CONTROL_PING,
    CONTROL_TERM,   /* end: SIGTERM now, SIGKILL 10 s later */
    CONTROL_KILL,   /* end: SIGKILL to the whole tree */
    CONTROL_MASTER, /* the master is at another address: the argument */
};

enum { CONTROL_TEXT = 2048 }; /* of a message, with its end */

/* Replaces a socket that an earlier life left.  The descriptor never blocks. */
det_status control_listen(const char *dir, int *ret_fd, struct err *err);
/* The next word, answered, and its argument in `ret_argument` ("": none); CONTROL_NONE:
 * there is none now.  Unknown ones are answered with "unknown" and skipped. */
enum control_word control_next(int fd, char ret_argument[CONTROL_TEXT]);

/* DET_UNREACHABLE: nobody listens; DET_TIMEOUT: no answer in time; DET_UNSUPPORTED: the
 * supervisor is older than the word. */
det_status control_send(const char *dir, enum control_word word, int timeout_ms,
                        struct err *err);
/* The same with an argument; NULL: none. */
det_status control_tell(const char *dir, enum control_word word, const char *argument,
                        int timeout_ms, struct err *err);

#endif
