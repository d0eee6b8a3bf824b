/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - one API call, from the exchange to its answer.
 *
 * The dispatcher finds the route, checks where the call comes from and who makes it,
 * decodes query and body by the route's tables, and calls the handler on a worker.  A
 * handler writes its reply with `req->w` and returns; or it ends with one of the
 * functions below, which note how the request goes on; once the handler has returned,
 * it is handed there, and `then` (again a handler) is called when that is done:
 *
 *   request_write()  a job on the store's writer;
 *   request_event()  an event to the heart; request_events() several at once;
 *   request_move()   another lane;
 *   request_wait()   until a key is woken or a deadline passes;
 *   request_stream() a reply in pieces;
 *   request_relay()  whatever another server answers.
 *
 * A handler that returns an error has its sentence sent as the reply.  `req->err` and
 * `req->db` are there while a handler runs, not in between; what must survive goes into
 * `req->mem`. */
#ifndef MASTER_REQUEST_H
#define MASTER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/task.h"
#include "core/event.h"
#include "data/json.h"
#include "master/heart.h"
#include "master/master_impl.h"
#include "master/wait.h"
#include "net/net.h"
#include "store/store.h"
#include "wire/route.h"

struct request;

typedef det_status handler_fn(struct request *req);
/* A piece of a stream; runs on the worker lane with a reader; `*ret_more` as in net.h.
 * An error ends the stream with its sentence as the last record. */
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

/* Who calls. */
struct caller {
    int64_t user_id;
    const char *username;
    bool is_admin;
    int64_t session_id;     /* 0: not a user's session */
    int64_t allocation_id;  /* > 0: a task calls, with its own token */
    const char *allocation; /* its name */
    const char *task_id;
    int64_t trial_id;
    int64_t experiment_id;
};

enum { REQUEST_HEADERS = 12 }; /* with the end of the list */

struct request {
    struct master *master;
    struct net_exchange *x;
    const struct route *route;
    const char *arg[ROUTE_ARGS];
    const void *query; /* of the struct that the route names */
    const void *body;
    const struct json *tree; /* the body as it came; NULL: none */
    struct caller caller;
    bool is_known; /* the caller is who auth_knows() said */
    struct arena mem;
    struct buf out;
    struct json_writer w;                /* writes into `out` */
    const char *content_type;            /* NULL: JSON */
    int http_status;                     /* of a reply without an error; 200 */
    const char *header[REQUEST_HEADERS]; /* see request_header() */
    uint32_t headers;

    struct db *db;   /* a reader, while a handler runs */
    struct err *err; /* likewise */

    enum request_next next; /* where it goes when the handler returns */
    handler_fn *then;
    struct task task;
    struct lane *lane;       /* MOVE */
    struct request_job *job; /* WRITE */
    struct heart_item *item; /* EVENT, EVENTS */
    _Atomic size_t items;    /* of EVENTS: those that are not answered */
    struct waiter waiter;    /* WAIT, and streams */
    const char *wait_key;
    uint64_t wait_mark;
    int64_t wait_until_us;
    _Atomic bool is_gone;     /* the client left: nobody waits for the reply */
    bool is_committed;        /* what was asked for has happened */
    uint32_t tries;           /* to make an answer, after that */
    request_next_fn *stream;  /* STREAM */
    struct net_relay *relay;  /* RELAY */
    struct lane *stream_lane; /* NULL: the workers; see request_stream_on() */
    void *state;              /* the handler's own, in `mem`, between its parts */
    /* Called after each job of request_write() that was committed, on the writer lane:
     * must be short; NULL: nobody cares */
    void (*committed)(struct request *req);
    int64_t
        experiment_id; /* that the trial in the path is of, for tell.h; 0: unknown */
    void (*ended)(
        struct request *req); /* called once, last of all; NULL: nobody cares */
};

/* The numbers in the path: DET_INVALID when they are none. */
det_status request_id(struct request *req, int at, int64_t *ret_id);

/* One more header of the reply, or of the stream; errors go without.  Copies.  Without
 * memory for it the request fails, as with anything in `req->mem`. */
void request_header(struct request *req, const char *name, const char *value);

/* Whether a person looks at the reply: a browser that opens an address. */
bool request_wants_page(const struct net_exchange *x);

/* Path and query, as they came; NULL: no memory. */
const char *request_address(struct request *req);

/* A browser is to look there instead; without an address there was no memory. */
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
/* As many items, in `req->mem`, with their events; each has its status when `then` is
 * called.  They are one batch of the heart, or nearly. */
det_status request_events(struct request *req, struct heart_item *items, size_t count,
                          handler_fn *then);
det_status request_move(struct request *req, struct lane *lane, handler_fn *then);
/* Until `key` is woken (since `mark`) or `deadline_us` (monotonic clock) comes. */
det_status request_wait(struct request *req, const char *key, uint64_t mark,
                        int64_t deadline_us, handler_fn *then);
int64_t request_mono_us(const struct request *req);
/* Whether a wait until then is over: the time has come, or the client has left. */
bool request_is_due(const struct request *req, int64_t deadline_us);

det_status request_stream(struct request *req, request_next_fn *next);
/* The same on another lane, for bytes that are not records: no reader is at hand there,
 * and an error breaks the connection, so that nobody takes a part for the whole. */
det_status request_stream_on(struct request *req, struct lane *lane,
                             request_next_fn *next);
/* Hands the exchange on.  `to` lies in `req->mem`; its lane, done() and arg, which is
 * the request, are filled in here. */
det_status request_relay(struct request *req, struct net_relay *to);
/* Inside a request_next_fn: be called again once `key` is woken since `mark`. */
enum net_more request_stream_wait(struct request *req, const char *key, uint64_t mark);

/* Called by the network: how large the body may be that follows these headers.  Whoever
 * has no token of ours cannot make us hold more than a few kilobytes. */
size_t request_body_limit(void *master, const struct net_exchange *x);
/* Called by the network. */
void request_arrived(void *master, struct net_exchange *x);

/* {"error":{"code":..,"reason":..,"error":..}} */
void error_write(struct buf *out, det_status status, const char *text);

#endif
