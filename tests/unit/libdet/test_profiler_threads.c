/* SPDX-License-Identifier: Apache-2.0 */
/* test_profiler_threads.c - the profiler with a real thread on the real machine:
 * switched by several threads at once, used meanwhile, and forked. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/io.h"
#include "det/det.h"
#include "tests/support/test.h"

enum { ROUNDS = 20, MARKS = 2000, THREADS = 3 };

static det_context *open_in(char *dir)
{
    det_init_options options = {.size = sizeof(options)};
    det_context *det;

    CHECK(mkdtemp(dir));
    unsetenv("DET_ALLOCATION_ID");
    options.directory = dir;
    CHECK_OK(det_init(&options, &det));
    return det;
}

static void end_in(det_context *det, const char *dir)
{
    det_close(det);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}

static const det_profiler_options often = {
    .size = sizeof(often), .interval_ms = 100, .samples_per_report = 1};

TEST(on_off_and_on_again_leaves_no_thread_behind)
{
    char dir[] = "/tmp/det-profiler-XXXXXX";
    det_context *det = open_in(dir);

    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(det_profiler_on(det, &often));
        CHECK_OK(det_profiler_on(det, NULL));
        CHECK_OK(det_profiler_off(det));
    }
    CHECK_OK(det_profiler_on(det, NULL));
    end_in(det, dir);
}

static void *mark(void *det)
{
    for (int i = 0; i < MARKS; i++) {
        det_timing timing;

        det_timing_begin(det, &timing);
        det_timing_end(det, &timing, (enum det_timing_kind)(i % 5));
    }
    return NULL;
}

static void *turn_on_and_off(void *det)
{
    intptr_t failures = 0;

    for (int i = 0; i < ROUNDS; i++)
        failures += det_profiler_on(det, &often) || det_profiler_off(det);
    return (void *)failures;
}

TEST(threads_may_mark_and_switch_at_the_same_time)
{
    char dir[] = "/tmp/det-profiler-XXXXXX";
    det_context *det = open_in(dir);
    pthread_t marker[THREADS], switcher[THREADS];
    void *failures;

    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&marker[i], NULL, mark, det), 0);
        CHECK_EQ(pthread_create(&switcher[i], NULL, turn_on_and_off, det), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(marker[i], NULL);
        pthread_join(switcher[i], &failures);
        CHECK_NULL(failures);
    }
    end_in(det, dir);
}

static int child_says(det_context *det)
{
    det_timing timing;

    det_timing_begin(det, &timing);
    det_timing_end(det, &timing, DET_TIMING_STEP);
    if (timing.begun_us != -1 || det_profiler_on(det, NULL) != DET_STATE ||
        det_profiler_off(det) != DET_STATE)
        return 1;
    det_close(det);
    return 0;
}

TEST(a_forked_child_measures_nothing_and_its_parent_goes_on)
{
    char dir[] = "/tmp/det-profiler-XXXXXX";
    det_context *det = open_in(dir);
    int status;
    pid_t pid;

    CHECK_OK(det_profiler_on(det, &often));
    pid = fork();
    if (pid == 0)
        _exit(child_says(det));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(det_profiler_off(det));
    CHECK_OK(det_profiler_on(det, &often));
    end_in(det, dir);
}
