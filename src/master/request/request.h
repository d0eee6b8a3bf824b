/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - one API call, from the exchange to its answer.
 *
 * dispatch.h prepares the request and calls its handler on a worker.  A handler writes its
 * reply with `req->w` and returns, or it ends with one of these functions, which note the
 * next step.  When the handler has returned, the request goes there; `then`, again a
 * handler, is called when the step is done:
 *
 *   request_write()  a job on the store's writer;
 *   request_event()  an event to the heart; request_events() several at once;
 *   request_move()   another lane;
 *   request_wait()   until a key is woken or a deadline passes;
 *   request_stream() a reply in pieces (request_stream.h);
 *   request_relay()  the answer of another server.
 *
 * If a handler returns an error, its sentence is the reply.  `req->err` and `req->db` are
 * set only while a handler runs.  Everything that must survive goes into `req->mem`. */
#ifndef MASTER_REQUEST_REQUEST_H
#define MASTER_REQUEST_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/thread/executor.h"
#include "core/event.h"
#include "data/json/json.h"
#include "master/heart/heart.h"
#include "master/master_impl.h"
#include "master/request/auth.h"
#include "master/request/waits.h"
#include "net/net.h"
#include "store/store.h"
#include "wire/rights.h"
#include "wire/route.h"

struct audit;
struct request;

typedef det_status handler_fn(struct request *req);
/* Makes one piece of a stream, on the worker lane, with a reader; `*ret_more` as in net.h.
 * An error ends the stream; its sentence is the last record. */
typedef det_status request_next_fn(struct request *req, struct buf *out,
                                   enum net_more *ret_more);

enum request_next {
    NEXT_REPLY,
    NEXT_WRITE,
    NEXT_EVENT,
    NEXT_EVENTS,
    NEXT_MOVE,
    NEXT_WAIT,
    NEXT_STREAM,
    NEXT_RELAY,
};

/* What a request waits for; see watch/request_times.h. */
enum request_phase {
    PHASE_LANE, /* its turn on a lane */
    PHASE_HANDLER,
    PHASE_COMMIT, /* the writer or the heart, with their queues */
    PHASE_PARKED, /* the caller asked to wait, or the answer is under way */
    PHASES,
};

enum { REQUEST_HEADERS = 12 }; /* with the end of the list */

struct request {
    struct master *master;
    struct net_exchange *x;
    const struct route *route;
    const char *arg[ROUTE_ARGS];
    const void *query;       /* the struct that the route names */
    const void *body;        /* likewise */
    const struct json *tree; /* the body before decoding; NULL: none */
    struct caller caller;
    uint64_t number; /* its id, together with the master's */
    enum request_phase phase;
    int64_t phase_since_us; /* monotonic */
    int64_t phase_us[PHASES];
    bool is_measured;    /* the meters have its latency */
    bool borrows_body;   /* strings of `tree` are in the body */
    bool is_known;       /* auth_find_cached() has filled `caller` */
    bool is_access_open; /* every object of this call was checked (access.h) */
    struct arena mem;
    struct buf out;
    struct json_writer w;                /* writes into `out` */
    const char *content_type;            /* NULL: JSON */
    int http_status;                     /* of a successful reply; 200 */
    const char *header[REQUEST_HEADERS]; /* see request_header() */
    uint32_t headers;

    struct db *db;   /* a reader, while a handler runs */
    struct err *err; /* likewise */

    enum request_next next; /* the step after the handler has returned */
    handler_fn *then;
    struct work task;
    struct lane *home;       /* where its handlers run */
    struct lane *lane;       /* MOVE */
    struct request_job *job; /* WRITE */
    struct heart_item *item; /* EVENT, EVENTS */
    _Atomic size_t items;    /* EVENTS: the number not answered yet */
    struct waiter waiter;    /* WAIT, and streams */
    const char *wait_key;
    uint64_t wait_mark;
    int64_t wait_until_us;
    _Atomic bool is_gone;    /* the client left: nobody waits for the reply */
    bool is_committed;       /* a write or an event of this request was committed */
    uint32_t tries;          /* of the answer, after that */
    request_next_fn *stream; /* STREAM */
    struct auth_watch
        watch; /* of its caller: streams and relays end with the session */
    struct net_relay *relay;  /* RELAY */
    struct net_leash leash;   /* of it */
    _Atomic int holders;      /* RELAY: the network, and who watches the session */
    struct lane *stream_lane; /* NULL: its home; see request_stream_on() */
    void *state;              /* the handler's own, in `mem` */
    /* Called on the writer lane after each commit of a request_write() job.  Must be
     * short.  May be NULL. */
    void (*committed)(struct request *req);
    const char *dropped_detail; /* audit_detail() of a body that was dropped; or NULL */
    const struct audit *audit;  /* the row that is written before the answer */
    struct write_job audit_job; /* ... with it */
    det_status answer;          /* the answer that waits for it */
    const char *answer_text;
    int64_t
        experiment_id; /* of the trial in the path, for change_notes.h; 0: unknown */
    void (*ended)(struct request *req); /* called once, at the very end; may be NULL */
};

/* The number in a part of the path; DET_INVALID if it is not a number. */
det_status request_id(struct request *req, int at, int64_t *ret_id);

/* A buffer that counts for the caller's part of the master's memory; limit 0: none of its
 * own. */
struct buf request_buf(const struct request *req, size_t limit);

/* Frees a large body that was read, before the request waits for a commit.  Afterwards the
 * FIELD_TREE parts of req->body must not be used. */
void request_drop_body(struct request *req);

/* Adds a header to the reply or stream; error replies have none.  Copies.  If memory is
 * short, the request fails, as with anything in `req->mem`. */
void request_header(struct request *req, const char *name, const char *value);

/* Whether a browser opens this address as a page. */
bool request_wants_page(const struct net_exchange *x);

/* Path and query, unchanged; NULL: no memory. */
const char *request_address(struct request *req);

/* Redirects a browser to `to`; NULL means that memory was short. */
det_status request_redirect(struct request *req, const char *to);

/* A write job that knows its request. */
struct request_job {
    struct write_job job;
    write_fn *run;
    struct request *req;
};
#define REQUEST_OF(write_job_)                                                         \
    (CONTAINER_OF((write_job_), struct request_job, job)->req)

/* `then` NULL: an empty reply. */
det_status request_write(struct request *req, write_fn *run, handler_fn *then);
det_status request_event(struct request *req, const struct core_event *event,
                         handler_fn *then);
/* `items` are in `req->mem` with their events.  Each has its status when `then` is called.
 * The heart applies them in one batch, or nearly. */
det_status request_events(struct request *req, struct heart_item *items, size_t count,
                          handler_fn *then);
det_status request_move(struct request *req, struct lane *lane, handler_fn *then);
/* Waits until `key` is woken (since `mark`) or `deadline_us` (monotonic clock) passes. */
det_status request_wait(struct request *req, const char *key, uint64_t mark,
                        int64_t deadline_us, handler_fn *then);
int64_t request_mono_us(const struct request *req);
/* Whether a wait is over: the deadline has passed, or the client has left. */
bool request_is_due(const struct request *req, int64_t deadline_us);

/* Relays the exchange to another server, for as long as the caller's session lasts.  `to` is
 * in `req->mem`; this function sets its lane, leash, done() and arg. */
det_status request_relay(struct request *req, struct net_relay *to);
#endif
