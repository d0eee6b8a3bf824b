/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ring.c - what a report costs the thread that trains.
 *
 *   bench_ring DIRECTORY      a report of five numbers and one clock_gettime(), in ns
 *
 * The clock is read for every report, as libdet does; another process drains the ring
 * meanwhile, as a supervisor does.  In turns with the bare clock, and the median of the
 * rounds, since a machine's speed changes from second to second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "libdet/ring/ring.h"
#include "libdet/ring/ring_reader.h"

enum { ROUNDS = 201, REPORTS = 5000, VALUES = 5, BATCH_BYTES = 256 * 1024 };

static void must(det_status status, const struct err *err)
{
    if (status) {
        fprintf(stderr, "bench_ring: %s\n", err->text);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* In a process of its own, until all have come. */
static int drain_all(const struct ring_config *config)
{
    struct ring_reader *reader;
    struct buf out = BUF_INIT;
    struct ring_batch batch = {0};
    struct err err;

    must(ring_reader_open(config, &reader, &err), &err);
    while (batch.last < (uint64_t)ROUNDS * REPORTS) {
        buf_clear(&out);
        must(ring_read(reader, BATCH_BYTES, &out, &batch, &err), &err);
        must(ring_stored(reader, batch.last, &err), &err);
        if (batch.damaged)
            return 1;
        if (batch.first > batch.last)
            ring_wait(reader, -1);
    }
    buf_done(&out);
    ring_reader_close(reader);
    return 0;
}

static double clock_round(void)
{
    int64_t sum = 0;
    double from = now_ns();

    for (int i = 0; i < REPORTS; i++)
        sum += clock_wall_us(&clock_system);
    /* So that the loop stays. */
    if (sum == 42)
        printf("\n");
    return (now_ns() - from) / REPORTS;
}

static double put_round(struct ring *ring, int64_t *steps)
{
    static const char *const names[VALUES] = {"loss", "accuracy", "lr", "grad_norm",
                                              "seconds"};
    struct report_value value[VALUES];
    struct report_metrics metrics = {
        .group = "training", .group_len = 8, .count = VALUES, .value = value};
    struct err err;
    double from = now_ns();

    for (int i = 0; i < REPORTS; i++) {
        for (int v = 0; v < VALUES; v++)
            value[v] = (struct report_value){.name = names[v],
                                             .name_len = strlen(names[v]),
                                             .number = 0.6931471805 * i + v};
        metrics.steps = ++*steps;
        must(ring_put_metrics(ring, 1, clock_wall_us(&clock_system), &metrics, &err),
             &err);
    }
    return (now_ns() - from) / REPORTS;
}

static int compare(const void *a, const void *b)
{
    const double *one = a;
    const double *other = b;

    return (*one > *other) - (*one < *other);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    struct ring_config config = {io_system(), argc > 1 ? argv[1] : "", 0, 0};
    double put[ROUNDS];
    double clock[ROUNDS];
    double ratio[ROUNDS];
    struct ring *ring;
    int64_t steps = 0;
    struct err err;
    pid_t drain;
    int code = 1;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_ring DIRECTORY\n");
        return 2;
    }
    drain = fork();
    if (drain == 0)
        _exit(drain_all(&config));
    must(ring_open(&config, &ring, &err), &err);
    for (int i = 0; i < ROUNDS; i++) {
        clock[i] = clock_round();
        put[i] = put_round(ring, &steps);
        ratio[i] = put[i] / clock[i];
    }
    if (drain < 0 || waitpid(drain, &code, 0) < 0 || code != 0) {
        fprintf(stderr, "bench_ring: not all records came through\n");
        return 1;
    }
    printf("%.1f %.1f %.2f\n", median(put), median(clock), median(ratio));
    ring_close(ring);
    must(io_remove_tree(io_system(), argv[1], &err), &err);
    return 0;
}
