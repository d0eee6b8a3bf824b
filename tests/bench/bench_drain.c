/* SPDX-License-Identifier: Apache-2.0 */
/* bench_drain.c - from the ring to durable rows.
 *
 *   bench_drain DIR PORT ALLOCATION TOKEN FIRST COUNT      reports a second
 *
 * A thread puts COUNT reports of five numbers into the ring in DIR, with the steps from
 * FIRST on, as fast as it can; a supervisor's drain sends them to the master at PORT.
 * The time ends when the master has said that it has the last of them.  The ring stays:
 * the next round goes on in it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/master_link.h"
#include "agent/task/ring_drain.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/thread/executor.h"
#include "libdet/ring/ring.h"
#include "net/net.h"
#include "net/net_system.h"

enum { VALUES = 5 };

struct round {
    struct ring *ring;
    int64_t first;
    int64_t count;
    struct gate *over;
    struct ring_drain *drain;
};

static void must(det_status status, const struct err *err)
{
    if (status) {
        fprintf(stderr, "bench_drain: %s\n", err->text);
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The training thread. */
static void *put_all(void *arg)
{
    static const char *const names[VALUES] = {"loss", "accuracy", "lr", "grad_norm",
                                              "seconds"};
    struct round *round = arg;
    struct report_value value[VALUES];
    struct report_metrics metrics = {.group = "training",
                                     .group_len = strlen("training"),
                                     .count = VALUES,
                                     .value = value};
    struct err err;

    for (int64_t i = 0; i < round->count; i++) {
        for (int k = 0; k < VALUES; k++)
            value[k] = (struct report_value){.name = names[k],
                                             .name_len = strlen(names[k]),
                                             .number = (double)(i + k) * 0.618};
        metrics.steps = round->first + i;
        must(ring_put_metrics(round->ring, 1, clock_wall_us(&clock_system), &metrics,
                              &err),
             &err);
    }
    return NULL;
}

static void on_change(void *arg)
{
    struct round *round = arg;
    char text[ERR_TEXT_SIZE];

    while (ring_drain_take_note(round->drain, text))
        fprintf(stderr, "bench_drain: %s\n", text);
    if (ring_drain_is_over(round->drain))
        gate_open(round->over);
}

int main(int argc, char **argv)
{
    struct ring_config ring = {.io = io_system(), .dir = argc > 1 ? argv[1] : NULL};
    struct ring_drain_config drain = {.io = io_system(), .on_change = on_change};
    struct round round = {0};
    struct executor *exec;
    struct net *net;
    pthread_t writer;
    char url[64];
    struct err err;
    double from;

    if (argc != 7) {
        fprintf(stderr, "bench_drain DIR PORT ALLOCATION TOKEN FIRST COUNT\n");
        return 2;
    }
    round.first = strtoll(argv[5], NULL, 10);
    round.count = strtoll(argv[6], NULL, 10);
    snprintf(url, sizeof(url), "http://127.0.0.1:%s", argv[2]);
    must(executor_threads_new(&clock_system, &exec, &err), &err);
    must(net_system_new(exec, &net, &err), &err);
    must(ring_open(&ring, &round.ring, &err), &err);
    must(gate_new(exec, &round.over, &err), &err);
    drain.exec = exec;
    drain.dir = argv[1];
    drain.allocation = argv[3];
    drain.arg = &round;
    must(lane_new(exec, "drain", 1, &drain.lane, &err), &err);
    must(master_link_new(net, url, LINK_TASK, argv[4], &drain.link, &err), &err);
    must(ring_drain_new(&drain, &round.drain, &err), &err);

    from = now_s();
    ring_drain_start(round.drain);
    if (pthread_create(&writer, NULL, put_all, &round))
        return 1;
    pthread_join(writer, NULL);
    ring_drain_end(round.drain);
    gate_wait(round.over, 0);
    printf("%.0f\n", (double)round.count / (now_s() - from));
    must(ring_drain_outcome(round.drain, &err), &err);
    return 0;
}
