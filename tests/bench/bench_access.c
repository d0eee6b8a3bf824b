/* SPDX-License-Identifier: Apache-2.0 */
/* bench_access.c - what the check of rights costs a report of metrics.
 *
 * Prints nanoseconds of processor time: of access_check_call() for a task and its own trial, and
 * of the same loop without the check.  The best of ten rounds each, since the machine may be busy
 * with other things. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "master/request/access.h"
#include "master/request/request.h"

enum { CALLS = 1000000, ROUNDS = 10 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static det_status no_check(struct request *req)
{
    req->is_access_open = true;
    return DET_OK;
}

static double time_of(det_status (*volatile check)(struct request *req))
{
    struct err err = {0};
    struct request req = {
        .route = &routes[ROUTE_ID_report_metrics],
        .arg = {"123456"},
        .err = &err,
        .caller = {.kind = CALLER_TASK, .user_id = 7, .trial_id = 123456}};
    double begun = now_ns();

    for (int i = 0; i < CALLS; i++)
        if (check(&req)) {
            fprintf(stderr, "bench_access: %s\n", err.text);
            exit(1);
        }
    return (now_ns() - begun) / CALLS;
}

int main(void)
{
    double with = 1e9, without = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        double a = time_of(access_check_call), b = time_of(no_check);

        with = a < with ? a : with;
        without = b < without ? b : without;
    }
    printf("%.1f ns with the check, %.1f ns without\n", with, without);
    return 0;
}
