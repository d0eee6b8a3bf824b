/* SPDX-License-Identifier: Apache-2.0 */
/* bench_events.c - what an event for TensorBoard costs: ns of each, from the first call
 * until all of them are written.
 *
 *   bench_events scalars DIR COUNT        one number each
 *   bench_events histograms DIR COUNT     1,000 values each, to be counted
 *   bench_events pictures DIR COUNT       the PNG file that events.py gives on standard
 * input */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "det/det.h"

enum { VALUES = 1000, PICTURE_MOST = 1 << 20 };

static det_context *det;

static void must(det_status status)
{
    if (!status)
        return;
    fprintf(stderr, "bench_events: %s\n", det_context_error(det));
    exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_scalars(det_events *events, long count)
{
    for (long i = 0; i < count; i++)
        must(det_events_scalar(events, "train/loss", i, 1.0 / (double)(i + 1)));
}

static void write_histograms(det_events *events, long count)
{
    static double values[VALUES];

    for (int i = 0; i < VALUES; i++)
        values[i] = (double)(i * 7919 % VALUES) / VALUES;
    for (long i = 0; i < count; i++)
        must(det_events_histogram(events, "weights", i, values, VALUES));
}

static void write_pictures(det_events *events, long count)
{
    static char png[PICTURE_MOST];
    size_t len = fread(png, 1, sizeof(png), stdin);

    for (long i = 0; i < count; i++)
        must(det_events_png(events, "picture", i, png, len));
}

int main(int argc, char **argv)
{
    det_init_options options = {.size = sizeof(options), .flags = DET_INIT_QUIET};
    det_events *events;
    long count;
    double begun;

    if (argc != 4)
        return 2;
    options.directory = argv[2];
    count = strtol(argv[3], NULL, 10);
    if (det_init(&options, &det))
        return 1;
    begun = now_s();
    must(det_events_open(det, argv[2], NULL, &events));
    if (!strcmp(argv[1], "scalars"))
        write_scalars(events, count);
    else if (!strcmp(argv[1], "histograms"))
        write_histograms(events, count);
    else
        write_pictures(events, count);
    must(det_events_close(events));
    printf("%.1f\n", (now_s() - begun) * 1e9 / (double)count);
    det_close(det);
    return 0;
}
