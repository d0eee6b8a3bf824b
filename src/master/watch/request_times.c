/* SPDX-License-Identifier: Apache-2.0 */
#include "master/watch/request_times.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "master/watch/meters.h"

enum { SLOW_LINES = 20 }; /* a second */

void request_enter_phase(struct request *req, enum request_phase phase)
{
    int64_t now_us = request_mono_us(req);

    req->phase_us[req->phase] += now_us - req->phase_since_us;
    req->phase_since_us = now_us;
    req->phase = phase;
}

const char *request_scope_object(const struct request *req)
{
    if (!req->route || !req->arg[0])
        return NULL;
    switch (req->route->object) {
    case ROUTE_OBJECT_none:
    case ROUTE_OBJECT_list:
    case ROUTE_OBJECT_named:
        return NULL;
    default:
        return route_object_names[req->route->object];
    }
}

static int64_t phase_ms(const struct request *req, enum request_phase phase)
{
    return req->phase_us[phase] / 1000;
}

/* In an overload every request is slow, and the log must not fill the disk.  A race of two
 * threads costs a line more. */
static bool may_log_slow(struct master *master, int64_t now_us)
{
    int64_t second = now_us / 1000000;

    if (atomic_exchange(&master->slow_second, second) != second)
        atomic_store(&master->slow_lines, 0);
    return atomic_fetch_add(&master->slow_lines, 1) < SLOW_LINES;
}

static void log_slow_request(struct request *req, int http_status, int64_t took_us)
{
    REQUEST_SCOPES(req);
    LOG_SCOPE("status", http_status);
    LOG_SCOPE("lane_ms", phase_ms(req, PHASE_LANE));
    LOG_SCOPE("handler_ms", phase_ms(req, PHASE_HANDLER));
    LOG_SCOPE("commit_ms", phase_ms(req, PHASE_COMMIT));
    log_warn("a request took %" PRId64 " ms", took_us / 1000);
}

void request_measure(struct request *req, int http_status)
{
    struct master *master = req->master;
    int64_t took_us = 0;

    if (req->is_measured)
        return;
    req->is_measured = true;
    request_enter_phase(req, PHASE_PARKED);
    for (int i = 0; i < PHASE_PARKED; i++)
        took_us += req->phase_us[i];
    meters_request(master->meters, req->route, http_status, took_us);
    if (!master->slow_request_us || took_us < master->slow_request_us)
        return;
    meters_add(master->meters, METER_SLOW_REQUESTS, 1);
    if (may_log_slow(master, req->phase_since_us))
        log_slow_request(req, http_status, took_us);
}

/* Somebody must act on 500; other errors are the caller's, or pass. */
void request_note_error(struct request *req, det_status status, const char *text)
{
    int http = det_status_http(status);
    REQUEST_SCOPES(req);
    LOG_SCOPE("status", http);

    meters_error(req->master->meters, status);
    log_line(http == 500 ? LOG_WARN : LOG_DEBUG, "a request failed: %s",
             text && *text ? text : det_status_text(status));
}
