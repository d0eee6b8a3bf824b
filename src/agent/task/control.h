/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - the socket over which a supervisor gets its commands.
 *
 * DIR/control is a datagram socket.  A message is one word, then a blank and an
 * argument if the word takes one; the supervisor answers "ok".  The socket is addressed
 * through a descriptor of DIR, because a socket's path is limited to 108 bytes.  Only
 * its owner may write to it, whatever the mode of DIR.
 *
 * CONTROL_MASTER is one step of a chain: a master that comes back at another address
 * tells its agent, the agent tells the supervisors, and each supervisor tells its task,
 * in a file that libdet reads before each call (runfile_moved() in
 * libdet/client/runfile.h). */
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

/* Replaces the socket of an earlier supervisor.  The descriptor never blocks. */
det_status control_listen(const char *dir, int *ret_fd, struct err *err);
/* Answers and returns the next word, with its argument in `ret_argument` ("": none);
 * CONTROL_NONE: no message is waiting.  Unknown words are answered with "unknown"
 * and skipped. */
enum control_word control_next(int fd, char ret_argument[CONTROL_TEXT]);

/* DET_UNREACHABLE: no supervisor listens; DET_TIMEOUT: no answer in time;
 * DET_UNSUPPORTED: the supervisor is older than the word. */
det_status control_send(const char *dir, enum control_word word, int timeout_ms,
                        struct err *err);
/* The same with an argument; NULL: none. */
det_status control_tell(const char *dir, enum control_word word, const char *argument,
                        int timeout_ms, struct err *err);

#endif
