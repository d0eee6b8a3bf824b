/* SPDX-License-Identifier: Apache-2.0 */
/* talk.h - calls to the master, as the agent and the supervisors make them: JSON out,
 * JSON in, one identity, one kept connection.
 *
 * A refusal comes back as the status the master meant, with its sentence; nobody there,
 * a stranger, or a master in trouble, as something that talk_may_retry() knows.  One
 * call at a time; talk_interrupt() and talk_resume() may come from any thread. */
#ifndef AGENT_TALK_H
#define AGENT_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

struct arena;
struct buf;
struct json;
struct talk;

/* The header lines that say who is calling, in front of the token. */
#define TALK_AGENT "Authorization: Bearer "
#define TALK_TASK  "Grpc-Metadata-x-allocation-token: Bearer "

/* Borrows the network; copies the rest.  `who` is one of the above.  DET_INVALID for an
 * address that is none, DET_UNSUPPORTED for https. */
det_status talk_new(struct net *net, const char *url, const char *who,
                    const char *token, struct talk **ret_talk, struct err *err);
void talk_free(struct talk *talk); /* NULL does nothing */
/* Before the first call: only what the master of this cluster says is believed.  NULL,
 * or never called: any cluster's master.  Whoever else answers at the address counts as
 * nobody: another program may have the port while the master is down. */
void talk_expect(struct talk *talk, const char *cluster);

struct talk_request {
    enum net_method method;
    const char *path;       /* "/api/v1/..." with its query */
    const struct buf *body; /* JSON; NULL: none.  One that failed fails the call */
    int64_t timeout_ms;     /* without a byte; 0: 30 s */
    size_t reply_limit;     /* bytes; 0: 64 MiB */
    bool is_bytes;          /* the body is no JSON but bytes as they are */
};

/* DET_OK: 2xx, and the reply's tree in `mem` (an empty reply is NULL).  DET_STATE: the
 * master says that what is reported on is over. */
det_status talk_call(struct talk *talk, const struct talk_request *request,
                     struct arena *mem, struct json **ret_reply, struct err *err);

/* Whether the same call may succeed later: nobody answered, or with 5xx. */
bool talk_may_retry(det_status status);

/* The call under way and all that follow end with DET_TIMEOUT, until resumed. */
void talk_interrupt(struct talk *talk);
void talk_resume(struct talk *talk);

/* How long to wait before the next attempt: doubles from 100 ms to 5 s. */
int64_t talk_backoff_us(uint32_t failures);

/* From any thread: the calls that follow go to another address; the one under way is
 * given up, so that it is tried again there.  Nothing happens when it is the same. */
det_status talk_move(struct talk *talk, const char *url, struct err *err);

/* The parts of the master's address; `url` without a trailing slash.  They live as long
 * as the talk is not moved. */
struct talk_address {
    const char *url; /* "http://host:port/path" */
    const char *host;
    uint16_t port;
};
struct talk_address talk_address(const struct talk *talk);

#endif
