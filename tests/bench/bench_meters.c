/* SPDX-License-Identifier: Apache-2.0 */
/* bench_meters.c - what metrics and the fields of the log cost a report of metrics.
 *
 * Prints nanoseconds of processor time for everything that one report adds: its number, its
 * phases, its scopes, its latency and two counters.  The best of ten rounds, since the machine
 * may be busy with other things. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "master/watch/meters.h"
#include "master/watch/request_times.h"

enum { CALLS = 1000000, ROUNDS = 10 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void call_handler(struct request *req)
{
    REQUEST_SCOPES(req);
    meters_add(req->master->meters, METER_REPORTS_RECEIVED, 1);
}

/* As dispatch.c and request.c do it. */
static void watch_report(struct master *master)
{
    struct request req = {
        .master = master, .route = &routes[ROUTE_ID_report_metrics], .arg = {"123456"}};

    req.number = ++master->requests;
    req.phase_since_us = request_mono_us(&req);
    request_enter_phase(&req, PHASE_HANDLER);
    call_handler(&req);
    request_enter_phase(&req, PHASE_COMMIT);
    meters_add(master->meters, METER_REPORTS_STORED, 1);
    request_measure(&req, 200);
}

int main(void)
{
    static struct meters meters;
    struct master master = {.meters = &meters, .short_id = "01234567"};
    double best = 1e9;

    if (executor_threads_new(&clock_system, &master.exec, NULL))
        return 1;
    for (int round = 0; round < ROUNDS; round++) {
        double begun = now_ns();

        for (int i = 0; i < CALLS; i++)
            watch_report(&master);
        begun = (now_ns() - begun) / CALLS;
        best = begun < best ? begun : best;
    }
    printf("%.1f ns\n", best);
    executor_free(master.exec);
    return 0;
}
