/* SPDX-License-Identifier: Apache-2.0 */
/* bench_profiler.c - what measuring costs, and what there is to be measured.
 *
 *   bench_profiler share DIR SECONDS     processor time of the profiler at its usual
 *                                        interval, in percent of one core
 *   bench_profiler marks DIR COUNT       ns of a timing (begin and end), of the same
 *                                        while it is off, and of two clock readings
 *   bench_profiler gpus [COUNT]          what NVIDIA's library says here, COUNT times,
 *                                        a second apart */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/compiler.h"
#include "base/thread/executor.h"
#include "det/det.h"
#include "libdet/profile/gpu.h"

static det_context *det;

static void must(det_status status)
{
    if (!status)
        return;
    fprintf(stderr, "bench_profiler: %s\n", det_context_error(det));
    exit(1);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double used_s(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void rest(time_t seconds)
{
    struct timespec pause = {seconds, 0};

    nanosleep(&pause, NULL);
}

/* The process does nothing else meanwhile: all it uses is the profiler's. */
static void measure_share(long seconds)
{
    double begun, used;

    must(det_profiler_on(det, NULL));
    rest(1);
    begun = now_s();
    used = used_s();
    rest(seconds);
    used = used_s() - used;
    printf("%.5f\n", 100 * used / (now_s() - begun));
    must(det_profiler_off(det));
}

static double time_marks(long count)
{
    double begun = now_s();

    for (long i = 0; i < count; i++) {
        det_timing timing;

        det_timing_begin(det, &timing);
        det_timing_end(det, &timing, DET_TIMING_STEP);
    }
    return (now_s() - begun) * 1e9 / (double)count;
}

static double time_clock(long count)
{
    double begun = now_s();

    for (long i = 0; i < count; i++) {
        (void)now_s();
        (void)now_s();
    }
    return (now_s() - begun) * 1e9 / (double)count;
}

static void measure_marks(long count)
{
    double off = time_marks(count), on;

    must(det_profiler_on(det, NULL));
    on = time_marks(count);
    printf("%.2f %.2f %.2f\n", on, off, time_clock(count));
    must(det_profiler_off(det));
}

/* In a thread like the profiler's, whose stack is small. */
struct look {
    struct work task;
    struct gate *gate;
    long count;
};

static void show(const struct gpu_sample *sample)
{
    printf("  %s:", sample->uuid);
    if (sample->has_util)
        printf(" gpu_util %.0f %%", sample->util_percent);
    if (sample->has_memory)
        printf(" gpu_free_memory %.0f bytes", sample->free_bytes);
    printf("\n");
}

static void look_at_gpus(struct work *task)
{
    static struct gpu_sample sample[GPUS_MOST];
    struct look *look = CONTAINER_OF(task, struct look, task);
    struct gpus *gpus = NULL;
    double begun = now_s();

    (void)gpus_open(getenv("DET_NVML_LIBRARY"), getenv("CUDA_VISIBLE_DEVICES"), &gpus,
                    NULL);
    printf("opened in %.1f ms\n", (now_s() - begun) * 1e3);
    if (!gpus)
        printf("no GPUs: no NVIDIA library, no driver, or none is visible\n");
    for (long i = 0; gpus && i < look->count; i++) {
        size_t found;

        if (i)
            rest(1);
        begun = now_s();
        found = gpus_read(gpus, sample);
        printf("read %zu in %.3f ms\n", found, (now_s() - begun) * 1e3);
        for (size_t k = 0; k < found; k++)
            show(&sample[k]);
    }
    gpus_close(gpus);
    gate_open(look->gate);
}

static int show_gpus(long count)
{
    struct look look = {.task = WORK_INIT(look_at_gpus), .count = count};
    struct executor *exec;
    struct lane *lane;

    if (executor_threads_new(&clock_system, &exec, NULL) ||
        lane_new(exec, "det-profiler", 1, &lane, NULL) ||
        gate_new(exec, &look.gate, NULL))
        return 1;
    lane_post(lane, &look.task);
    (void)gate_wait(look.gate, 0);
    executor_free(exec);
    gate_free(look.gate);
    return 0;
}

int main(int argc, char **argv)
{
    det_init_options options = {.size = sizeof(options), .flags = DET_INIT_QUIET};

    if (argc >= 2 && !strcmp(argv[1], "gpus"))
        return show_gpus(argc > 2 ? strtol(argv[2], NULL, 10) : 3);
    if (argc != 4)
        return 2;
    options.directory = argv[2];
    if (det_init(&options, &det))
        return 1;
    if (!strcmp(argv[1], "share"))
        measure_share(strtol(argv[3], NULL, 10));
    else
        measure_marks(strtol(argv[3], NULL, 10));
    det_close(det);
    return 0;
}
