/* SPDX-License-Identifier: Apache-2.0 */
/* master_link.h - calls of the agent and the supervisors to the master: JSON out, JSON
 * in, one identity, one kept connection.
 *
 * A refusal is returned as the status that the master meant, with its sentence.  If
 * nothing answers, or a stranger, or a master in trouble, master_link_may_retry() is
 * true for the status.  One call at a time; master_link_interrupt() and
 * master_link_resume() may be called from any thread. */
#ifndef AGENT_MASTER_LINK_H
#define AGENT_MASTER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

struct arena;
struct buf;
struct json;
struct master_link;

/* Header lines that identify the caller; the token follows. */
#define LINK_AGENT "Authorization: Bearer "
#define LINK_TASK  "Grpc-Metadata-x-allocation-token: Bearer "

/* Borrows the network; copies the rest.  `who` is one of the above.  DET_INVALID:
 * `url` is not an address. */
det_status master_link_new(struct net *net, const char *url, const char *who,
                           const char *token, struct master_link **ret_link,
                           struct err *err);
void master_link_free(struct master_link *link); /* NULL does nothing */
/* To be called before the first call: only replies of this cluster's master are
 * believed.  NULL, or never called: any master's. */
void master_link_expect(struct master_link *link, const char *cluster);
/* To be called before the first call: by which certificate the master is known at an
 * https:// address, as trust_from_words().  Never called: by the machine's
 * authorities. */
det_status master_link_trust(struct master_link *link, const char *cert_file,
                             const char *cert_name, struct err *err);

struct master_link_request {
    enum net_method method;
    const char *path;       /* "/api/v1/..." with its query */
    const struct buf *body; /* JSON; NULL: none.  One that failed fails the call */
    int64_t timeout_ms;     /* without a byte; 0: 30 s */
    size_t reply_limit;     /* bytes; 0: 64 MiB */
    bool is_bytes;          /* the body is not JSON */
};

/* `before`, the percent-encoded `name`, `after`; NULL: no memory. */
const char *master_link_path(struct arena *mem, const char *before, const char *name,
                             const char *after);

/* DET_OK: 2xx, and the reply's tree in `mem` (NULL for an empty reply).  DET_STATE:
 * the master says that the run is over. */
det_status master_link_call(struct master_link *link,
                            const struct master_link_request *request,
                            struct arena *mem, struct json **ret_reply,
                            struct err *err);

/* Whether the same call may succeed later: no answer, or 5xx. */
bool master_link_may_retry(det_status status);

/* The current call and all later ones end with DET_TIMEOUT, until resumed. */
void master_link_interrupt(struct master_link *link);
void master_link_resume(struct master_link *link);

/* How long to wait before the next attempt: doubles from 100 ms to 5 s. */
int64_t master_link_backoff_us(uint32_t failures);

/* From any thread: later calls go to another address; the current one is
 * interrupted, so its caller repeats it there.  Does nothing if the address is the
 * same. */
/* `cert_file` is as in master_link_trust(); NULL: as before. */
det_status master_link_move(struct master_link *link, const char *url,
                            const char *cert_file, struct err *err);

/* The parts of the master's address; `url` has no trailing slash.  Valid until the
 * link is moved. */
struct master_link_address {
    const char *url; /* "http://host:port/path" */
    const char *host;
    uint16_t port;
    bool is_tls;
};
struct master_link_address master_link_address(const struct master_link *link);

#endif
