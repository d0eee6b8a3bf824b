/* SPDX-License-Identifier: Apache-2.0 */
/* test_data_workers.c - loaders with worker threads or processes: the same batches for
 * any number of them; the error of a function, or the death of its process, comes with
 * its batch; closing, forking and running out of memory in between. */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/thread/executor.h"
#include "libdet/data/loader.h"
#include "libdet/data/record_file.h"
#include "tests/support/test.h"
#include "tests/unit/libdet/data_world.h"

/* ---- sequences ------------------------------------------------------------------- */

TEST(the_same_order_for_any_number_of_workers)
{
    static const int workers[] = {0, 1, 2, 5, 16};
    struct maker maker = {.fails_at = -1};

    for (int by_batch = 0; by_batch < 2; by_batch++) {
        det_dataset *dataset = sequence_of(&maker, 100, by_batch);
        int64_t story[120] = {0};

        for (size_t w = 0; w < ARRAY_LEN(workers); w++) {
            det_loader_options options = options_of(7, 8, workers[w]);
            det_loader *loader = loader_of(dataset, &options);
            const det_batch *batch;
            int at = 0;

            while ((batch = next(loader)) != NULL) {
                check_made(batch);
                if (w == 0)
                    story[at] = batch->indices[0];
                CHECK_EQ(batch->indices[0], story[at++]);
            }
            CHECK_EQ(at, 120);
            det_loader_free(loader);
        }
        det_dataset_free(dataset);
    }
}

/* The batch that holds `item`, according to a loader without failures. */
static int64_t batch_with(int64_t items, const det_loader_options *options,
                          int64_t item)
{
    det_dataset *dataset = range_of(items);
    det_loader *loader = loader_of(dataset, options);
    int64_t found = -1;

    while (found < 0) {
        const det_batch *batch = next(loader);

        for (int64_t i = 0; i < batch->count; i++)
            if (batch->indices[i] == item)
                found = batch->position;
    }
    det_loader_free(loader);
    det_dataset_free(dataset);
    return found;
}

TEST(what_a_function_says_comes_out_with_its_item_and_can_be_tried_again)
{
    for (int workers = 0; workers < 4; workers++) {
        struct maker maker = {.fails_at = 61, .failures_left = 2};
        det_loader_options options = options_of(8, 2, workers);
        det_dataset *dataset = sequence_of(&maker, 100, false);
        det_loader *loader = loader_of(dataset, &options);
        int64_t bad = batch_with(100, &options, 61);
        const det_batch *batch = NULL;

        for (int64_t i = 0; i < bad; i++)
            check_made(next(loader));
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(det_loader_next(loader, &batch), DET_IO);
            CHECK_STR(det_loader_error(loader), "item 61: the camera is off");
            CHECK_EQ(det_loader_position(loader), bad);
        }
        while ((batch = next(loader)) != NULL)
            check_made(batch);
        atomic_store(&maker.failures_left, 1000);
        CHECK_OK(det_loader_seek(loader, bad));
        CHECK_EQ(det_loader_next(loader, &batch), DET_IO);
        CHECK_OK(det_loader_seek(loader, bad + 1));
        CHECK_EQ(next(loader)->position, bad + 1);
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
}

TEST(what_a_function_for_batches_says_comes_out_with_the_batch)
{
    struct maker maker = {.fails_at = 5, .failures_left = 1};
    det_loader_options options = options_of(4, 1, 0);
    det_dataset *dataset = sequence_of(&maker, 8, true);
    det_loader *loader;
    const det_batch *batch;

    options.shuffle = 0;
    loader = loader_of(dataset, &options);
    check_made(next(loader));
    CHECK_EQ(det_loader_next(loader, &batch), DET_IO);
    CHECK_STR(det_loader_error(loader), "batch 1, from item 4 on: the camera is off");
    check_made(next(loader));
    det_loader_free(loader);
    det_dataset_free(dataset);
}

TEST(workers_go_no_further_than_they_may)
{
    struct maker maker = {.fails_at = -1};
    det_loader_options options = options_of(1, 1, 2);
    det_dataset *dataset = sequence_of(&maker, 100, false);
    struct clock_manual clock;
    struct executor *exec;
    det_loader *loader;
    const det_batch *batch;

    clock_manual_init(&clock, 0);
    CHECK_OK(executor_single_new(&clock, 5, &exec, &test_err));
    options.prefetch = 4;
    CHECK_OK(loader_open(dataset, &options, exec, &loader, &test_err));
    CHECK_EQ(atomic_load(&maker.calls), 0); /* a seek may come first */
    for (int i = 1; i < 90; i++) {
        CHECK_OK(det_loader_next(loader, &batch));
        while (executor_pump(exec))
            ;
        CHECK_EQ(atomic_load(&maker.calls), i + 4);
        check_made(batch);
    }
    det_loader_free(loader);
    executor_free(exec);
    det_dataset_free(dataset);
}

/* The loader is unusable in the child; its data set is not. */
static int child_says(det_loader *loader, det_dataset *dataset)
{
    det_loader_options options = options_of(4, 1, 0);
    const det_batch *batch;
    det_loader *own;

    if (det_loader_next(loader, &batch) != DET_STATE ||
        det_loader_seek(loader, 0) != DET_STATE ||
        !strstr(det_loader_error(loader), "forked"))
        return 1;
    det_loader_free(loader);
    if (det_loader_new(dataset, &options, &own, NULL, 0) ||
        det_loader_next(own, &batch) || batch->count != 4)
        return 2;
    det_loader_free(own);
    return 0;
}

/* ---- worker processes ------------------------------------------------------------ */

TEST(worker_processes_give_what_threads_give)
{
    for (int workers = 1; workers < 4; workers++) {
        struct maker maker = {.fails_at = -1};
        det_loader_options threads = options_of(7, 3, 0);
        det_loader_options processes = processes_of(7, 3, workers);
        det_dataset *dataset = sequence_of(&maker, 100, workers == 2);
        det_loader *a = loader_of(dataset, &threads);
        det_loader *b = loader_of(dataset, &processes);
        const det_batch *batch;

        while ((batch = next(a)) != NULL) {
            const det_batch *other = next(b);

            check_made(other);
            CHECK_EQ(other->position, batch->position);
            CHECK_EQ(other->count, batch->count);
            CHECK(!memcmp(other->indices, batch->indices, (size_t)batch->count * 8));
            CHECK_EQ((uintptr_t)other->columns[1].data % 64, 0);
        }
        CHECK_NULL(next(b));
        for (int64_t at = 44; at >= 0; at -= 5) {
            CHECK_OK(det_loader_seek(b, at));
            check_made(next(b));
            CHECK_EQ(det_loader_position(b), at + 1);
        }
        det_loader_free(a);
        det_loader_free(b);
        det_dataset_free(dataset);
    }
}

TEST(worker_processes_show_arrays_shuffled_or_not)
{
    static struct table table;
    det_column columns[3];

    fill_table(&table, columns);
    for (int shuffle = 0; shuffle < 2; shuffle++) {
        det_loader_options options = processes_of(33, 1, 2);
        det_dataset *dataset;
        det_loader *loader;
        const det_batch *batch;

        options.shuffle = shuffle;
        CHECK_OK(det_dataset_arrays(columns, 3, MOST, &dataset, NULL, 0));
        loader = loader_of(dataset, &options);
        while ((batch = next(loader)) != NULL)
            check_rows(batch, &table);
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
}

/* Fails for item 61, and ends or kills its process for 62 and 63. */
static det_status deadly_item(void *arg, int64_t index, void *const *columns,
                              char *error, size_t error_size)
{
    struct maker *maker = arg;

    if (index == 62)
        _exit(3);
    if (index == 63)
        raise(SIGKILL);
    return make_item(maker, index, columns, error, error_size);
}

TEST(a_worker_process_that_dies_fails_its_batch_and_no_other)
{
    struct maker maker = {.fails_at = 61, .failures_left = 100000};
    det_sequence sequence = {.size = sizeof(sequence),
                             .items = 100,
                             .columns = maker_columns,
                             .column_count = 2,
                             .item = deadly_item,
                             .arg = &maker};
    det_loader_options options = processes_of(1, 1, 2);
    det_dataset *dataset;
    det_loader *loader;
    const det_batch *batch;

    options.shuffle = 0;
    CHECK_OK(det_dataset_sequence(&sequence, &dataset, NULL, 0));
    loader = loader_of(dataset, &options);
    for (int64_t i = 0; i < 100; i++) {
        if (i < 61 || i > 63) {
            check_made(next(loader));
            continue;
        }
        CHECK_EQ(det_loader_next(loader, &batch), i == 61 ? DET_IO : DET_FAILED);
        CHECK_HAS(det_loader_error(loader), i == 61   ? "item 61: the camera is off"
                                            : i == 62 ? "ended with status 3"
                                                      : "was killed by signal 9");
        CHECK_HAS(det_loader_error(loader), i == 61   ? "item 61"
                                            : i == 62 ? "batch 62"
                                                      : "batch 63");
        CHECK_OK(det_loader_seek(loader, i + 1));
    }
    CHECK_NULL(next(loader));
    det_loader_free(loader);
    det_dataset_free(dataset);
}

TEST(worker_processes_leave_when_the_loader_does_and_are_inert_after_a_fork)
{
    struct maker maker = {.fails_at = -1};
    det_loader_options options = processes_of(4, 0, 3);
    det_dataset *dataset = sequence_of(&maker, 100, false);
    det_loader *loader = loader_of(dataset, &options);
    int status;
    pid_t pid;

    check_made(next(loader));
    pid = fork();
    if (pid == 0)
        _exit(child_says(loader, dataset));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    for (int i = 0; i < 20; i++)
        check_made(next(loader));
    det_loader_free(loader);
    CHECK_EQ(waitpid(-1, &status, WNOHANG), -1); /* no child is left */
    det_dataset_free(dataset);
}

TEST(worker_processes_without_memory_or_for_records_are_refused)
{
    struct io *io = records_in_memory();
    det_loader_options options = processes_of(4, 1, 2);
    det_dataset *dataset;
    det_loader *loader = NULL;

    CHECK_OK(record_file_open(io, "/set", &dataset, &test_err));
    CHECK_EQ(loader_open(dataset, &options, NULL, &loader, &test_err), DET_INVALID);
    CHECK_HAS(test_err.text, "different lengths");
    det_dataset_free(dataset);
    io_free(io);
    EACH_ALLOCATION_FAILS() {
        struct maker maker = {.fails_at = -1};
        int64_t armed = fault_state.left[FAULT_MEMORY];
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        dataset = sequence_of(&maker, 10, false);
        fault_state.left[FAULT_MEMORY] = armed;
        loader = NULL;
        st = loader_open(dataset, &options, NULL, &loader, &test_err);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
}

/* ---- closing, forks, memory, options --------------------------------------------- */

TEST(closing_in_the_middle_joins_the_workers)
{
    for (int taken = 0; taken < 20; taken++) {
        struct maker maker = {.fails_at = -1};
        det_loader_options options = options_of(3, 0, 4);
        det_dataset *dataset = sequence_of(&maker, 1000, false);
        det_loader *loader = loader_of(dataset, &options);

        for (int i = 0; i < taken; i++)
            check_made(next(loader));
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
    det_loader_free(NULL);
    det_dataset_free(NULL);
}

TEST(after_a_fork_the_child_is_inert_and_the_parent_goes_on)
{
    for (int workers = 0; workers < 3; workers++) {
        struct maker maker = {.fails_at = -1};
        det_loader_options options = options_of(4, 0, workers);
        det_dataset *dataset = sequence_of(&maker, 100, false);
        det_loader *loader = loader_of(dataset, &options);
        int status;
        pid_t pid;

        check_made(next(loader));
        pid = fork();
        if (pid == 0)
            _exit(child_says(loader, dataset));
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
        for (int i = 0; i < 50; i++)
            check_made(next(loader));
        det_loader_free(loader);
        det_dataset_free(dataset);
    }
}

/* Everything runs on one thread, so the fault strikes the workers too. */
static det_status short_story(struct executor *exec)
{
    struct maker maker = {.fails_at = -1};
    det_loader_options options = options_of(4, 1, exec ? 2 : 0);
    det_sequence sequence = {.size = sizeof(sequence),
                             .items = 10,
                             .columns = maker_columns,
                             .column_count = 2,
                             .item = make_item,
                             .arg = &maker};
    det_dataset *dataset = NULL;
    det_loader *loader = NULL;
    const det_batch *batch = NULL;
    det_status st = det_dataset_sequence(&sequence, &dataset, NULL, 0);

    if (!st)
        st = loader_open(dataset, &options, exec, &loader, &test_err);
    while (!st) {
        st = det_loader_next(loader, &batch);
        if (!st && !batch)
            break;
        if (!st)
            check_made(batch);
    }
    if (st && loader) { /* a retry continues where it failed */
        CHECK_EQ(det_loader_next(loader, &batch), DET_OK);
        check_made(batch);
    }
    det_loader_free(loader);
    det_dataset_free(dataset);
    return st;
}

TEST(without_memory_it_is_told_and_the_next_try_goes_on)
{
    EACH_ALLOCATION_FAILS() {
        det_status st = short_story(NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
    EACH_ALLOCATION_FAILS() {
        int64_t armed = fault_state.left[FAULT_MEMORY];
        struct clock_manual clock;
        struct executor *exec;
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        clock_manual_init(&clock, 0);
        CHECK_OK(executor_single_new(&clock, 5, &exec, &test_err));
        fault_state.left[FAULT_MEMORY] = armed;
        st = short_story(exec);
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        executor_free(exec);
    }
}
