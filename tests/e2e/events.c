/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - a program that writes one of every kind of event, as a user would.
 *
 *   events DIR             a run of 50 steps
 *   events DIR STEP        the same run goes on at STEP after it was killed, and is
 *                          killed again: it ends without a close
 *
 * read_events.py knows what it writes. */
#include <det/det.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static det_context *det;

static void must(det_status status)
{
    if (status == DET_OK)
        return;
    fprintf(stderr, "events: %s\n", det_context_error(det));
    exit(1);
}

static void write_picture(det_events *events)
{
    static unsigned char pixels[30 * 20 * 3];
    det_image image;
    int i;

    for (i = 0; i < 30 * 20 * 3; i++)
        pixels[i] = (unsigned char)(i * 5);
    memset(&image, 0, sizeof(image));
    image.size = sizeof(image);
    image.pixels = pixels;
    image.width = 30;
    image.height = 20;
    image.channels = 3;
    must(det_events_image(events, "pictures/steps", 2, &image));
    image.width = 10; /* the left part, in grey */
    image.channels = 1;
    image.stride = 90;
    must(det_events_image(events, "pictures/grey", 2, &image));
}

static void write_histograms(det_events *events)
{
    static const det_bucket buckets[2] = {{0, 1, 3}, {1, 4, 5}};
    static double values[1000];
    static float floats[1000];
    double none = NAN;
    int i;

    for (i = 0; i < 1000; i++)
        floats[i] = (float)(values[i] = i);
    must(det_events_histogram(events, "weights", 1, values, 1000));
    must(det_events_histogram_f32(events, "weights", 2, floats, 1000));
    must(det_events_buckets(events, "given", 1, buckets, 2));
    must(det_events_histogram(events, "none", 1, &none, 1));
}

static void write_run(det_events *events)
{
    det_metric both[2] = {{"eval/accuracy", 0.75}, {"eval/loss", 0}};
    int step;

    both[1].value = INFINITY;
    must(det_events_hparams(events, NULL, "group 1"));
    for (step = 0; step < 50; step++)
        must(det_events_scalar(events, "train/loss", step, 1.0 / (1 + step)));
    must(det_events_scalars(events, 50, both, 2));
    must(det_events_text(events, "note", 3, "**bold** and \xc3\xbc"));
    write_histograms(events);
    write_picture(events);
    must(det_events_end(events, DET_RUN_SUCCEEDED));
}

int main(int argc, char **argv)
{
    det_events_options options;
    det_events *events;
    int step;

    if (argc < 2 || det_init(NULL, &det) != DET_OK)
        return 2;
    memset(&options, 0, sizeof(options));
    options.size = sizeof(options);
    options.resume_step = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    must(det_events_open(det, argv[1], &options, &events));
    printf("%s\n", det_events_path(events));
    if (!options.resume_step) {
        write_run(events);
        must(det_events_close(events));
    } else {
        for (step = (int)options.resume_step; step < 45; step++)
            must(det_events_scalar(events, "train/loss", step, 2));
        must(det_events_flush(events));
        must(det_events_scalar(events, "train/loss", 45, 2));
    }
    fflush(stdout);
    if (options.resume_step)
        abort();
    det_close(det);
    return 0;
}
