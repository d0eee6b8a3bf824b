/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/request_stream.h"

#include <assert.h>

#include "base/log.h"
#include "master/request/auth.h"
#include "master/request/error_body.h"
#include "master/request/request_impl.h"
#include "master/request/waits.h"

static void wake_stream(struct waiter *waiter)
{
    net_stream_wake(CONTAINER_OF(waiter, struct request, waiter)->x);
}

det_status request_stream(struct request *req, request_next_fn *next)
{
    assert(req->next == NEXT_REPLY);
    req->stream = next;
    req->next = NEXT_STREAM;
    return auth_watch_begin(req, &req->watch);
}

det_status request_stream_on(struct request *req, struct lane *lane,
                             request_next_fn *next)
{
    req->stream_lane = lane;
    return request_stream(req, next);
}

enum net_more request_stream_wait(struct request *req, const char *key, uint64_t mark)
{
    req->wait_key = key;
    req->wait_mark = mark;
    return key ? NET_WAIT : NET_END;
}

/* Bytes are not records: an error is logged and closes the connection. */
static enum net_more next_bytes(struct request *req, struct buf *out)
{
    enum net_more more = NET_END;
    struct err err = {0};
    det_status st;

    if (!auth_watch_is_valid(req, &req->watch)) {
        out->status = DET_UNAUTHENTICATED;
        return NET_END;
    }
    req->err = &err;
    st = req->stream(req, out, &more);
    req->err = NULL;
    if (!st)
        return more;
    log_warn("the answer to %s was cut off: %s", net_request_path(req->x), err.text);
    out->status = st;
    return NET_END;
}

static enum net_more next_records(struct request *req, struct buf *out)
{
    struct store *store = req->master->store;
    enum net_more more = NET_END;
    struct err err = {0};
    det_status st = store_reader_take(store, &req->db, &err);

    req->err = &err;
    if (!st) {
        if (auth_watch_is_valid(req, &req->watch))
            st = req->stream(req, out, &more);
        store_reader_give(store, req->db);
    }
    req->db = NULL;
    req->err = NULL;
    if (!st)
        return more;
    error_body_write_stream(out, st, err.text);
    return NET_END;
}

enum net_more request_stream_next(void *arg, struct buf *out)
{
    struct request *req = arg;

    (void)waits_leave(req->master->waits, &req->waiter);
    for (;;) {
        enum net_more more =
            req->stream_lane ? next_bytes(req, out) : next_records(req, out);

        if (more != NET_WAIT || out->len)
            return more == NET_WAIT ? NET_MORE : more;
        if (req->master->is_stopping)
            return NET_END;
        req->waiter.wake = wake_stream;
        req->waiter.parked = NULL;
        if (waits_park(req->master->waits, req->wait_key, &req->waiter, req->wait_mark))
            return NET_WAIT;
    }
}

void request_stream_done(void *arg)
{
    struct request *req = arg;

    (void)waits_leave(req->master->waits, &req->waiter);
    request_free(req);
}
