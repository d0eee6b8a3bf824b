/* SPDX-License-Identifier: Apache-2.0 */
/* request_relay.c - a request that another server answers, for as long as its caller may ask.
 *
 * The bytes pass the master's code by, so nobody asks for the caller's session while they
 * flow, as a stream does for each piece.  Here a timer asks, and cuts the relay when the
 * session was closed or has expired, its user was deactivated, or the access token was
 * revoked.  It asks the store only if something was written that may have changed that.
 *
 * Two hold the request: the network until done(), and the timer while it is set or runs.
 * The last one frees it.  The leash's lock decides between done() and a timer that is set
 * again. */
#include <assert.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/thread/lock.h"
#include "master/request/auth.h"
#include "master/request/request_impl.h"

enum { LOOK_US = 1000 * 1000 };

static void drop_request(struct request *req, int holders)
{
    if (atomic_fetch_sub(&req->holders, holders) > holders)
        return;
    lock_done(&req->leash.lock);
    request_free(req);
}

/* False: the relay is over, and nobody sets the timer any more. */
static bool set_timer(struct request *req)
{
    bool is_over;

    lock_take(&req->leash.lock);
    is_over = req->is_gone;
    if (!is_over)
        lane_post_at(req->home, &req->task, request_mono_us(req) + LOOK_US);
    lock_give(&req->leash.lock);
    return !is_over;
}

static void look_at_session(struct work *work)
{
    struct request *req = CONTAINER_OF(work, struct request, task);

    if (!auth_watch_is_valid(req, &req->watch)) {
        log_info("the connection to task %s was closed: the session of %s has ended",
                 req->arg[0], req->caller.username);
        net_relay_cut(&req->leash);
        drop_request(req, 1);
    } else if (!set_timer(req)) {
        drop_request(req, 1);
    }
}

static void relay_done(void *arg)
{
    struct request *req = arg;
    bool was_set;

    lock_take(&req->leash.lock);
    req->is_gone = true;
    was_set = lane_cancel(req->home, &req->task);
    lock_give(&req->leash.lock);
    drop_request(req, was_set ? 2 : 1);
}

void request_relay_begin(struct request *req)
{
    req->task.run = look_at_session;
    req->holders = 2;
    (void)set_timer(req);
    net_relay(req->x, req->relay);
}

det_status request_relay(struct request *req, struct net_relay *to)
{
    det_status st = auth_watch_begin(req, &req->watch);

    if (!st)
        st = lock_init(&req->leash.lock, req->err);
    if (st)
        return st;
    assert(req->next == NEXT_REPLY);
    to->lane = req->home;
    to->turn = req->task.turn;
    to->leash = &req->leash;
    to->done = relay_done;
    to->arg = req;
    req->relay = to;
    req->next = NEXT_RELAY;
    return DET_OK;
}
