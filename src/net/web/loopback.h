/* SPDX-License-Identifier: Apache-2.0 */
/* loopback.h - a command waits on a port of this computer for the browser that comes back
 * from a sign-in (RFC 8252, section 7.3).
 *
 * It answers one request at a time and knows one address, /?code=...&state=... or
 * /?error=...&state=...  Other programs of this computer may call, too: only the state that
 * the command sent counts. */
#ifndef NET_WEB_LOOPBACK_H
#define NET_WEB_LOOPBACK_H

#include <stdint.h>

#include "base/err.h"

struct arena;

struct loopback {
    int fd; /* -1: not open */
    int port;
};

det_status loopback_open(struct loopback *loopback, struct err *err);
/* Does nothing if it is not open. */
void loopback_done(struct loopback *loopback);
/* Waits for the code, in `mem`.  DET_TIMEOUT; DET_FORBIDDEN: the person refused. */
det_status loopback_wait(const struct loopback *loopback, const char *state,
                         int64_t timeout_s, struct arena *mem, const char **ret_code,
                         struct err *err);

#endif
