/* SPDX-License-Identifier: Apache-2.0 */
/* test_profiler.c - the profiler on a simulated machine, whose clock jumps to the next
 * sample. */
#include "det/profiler.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory/arena.h"
#include "det/data.h"
#include "det/fit.h"
#include "libdet/profile/profiler.h"
#include "tests/unit/libdet/nvml.h"
#include "tests/unit/libdet/world.h"

#define STORAGE                                                                        \
    "\"checkpoint_storage\":{\"type\":\"shared_fs\",\"host_path\":\"/store\"}"
#define SECONDS(n) ((int64_t)(n)*1000000)

struct machine {
    struct world w;
    struct executor *exec;
    struct ring_reader *reader;
    struct buf bytes;
    struct arena mem;
};

/* Simulates `second` seconds: each is 100 ticks on two processors, of which a quarter
 * was busy; 4 reads of 8 sectors; 1000 bytes sent, 500 received. */
static void turn(struct machine *m, int64_t second)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "cpu  %" PRId64 " 0 0 %" PRId64 " 0 0 0 0\n",
                   50 * second, 150 * second);
    world_file(&m->w, "/proc/stat", text);
    (void)snprintf(text, sizeof(text),
                   "8 0 sda %" PRId64 " 0 %" PRId64 " 0 0 0 0 0 0 0 0\n", 4 * second,
                   32 * second);
    world_file(&m->w, "/proc/diskstats", text);
    (void)snprintf(text, sizeof(text),
                   "eth0: %" PRId64 " 0 0 0 0 0 0 0 %" PRId64 " 0 0 0 0 0 0 0\n",
                   500 * second, 1000 * second);
    world_file(&m->w, "/proc/net/dev", text);
    world_file(&m->w, "/proc/meminfo", "MemAvailable: 2 kB\n");
}

static void machine_make(struct machine *m)
{
    memset(m, 0, sizeof(*m));
    world_make(&m->w);
    world_set(&m->w, "DET_NVML_LIBRARY", "libthere-is-no-such-library.so");
    CHECK_OK(executor_single_new(&m->w.clock, 7, &m->exec, &test_err));
    m->w.at.exec = m->exec;
    CHECK_OK(io_mkdir(m->w.io, "/proc/net", false, &test_err));
    CHECK_OK(io_mkdir(m->w.io, "/task/run", true, &test_err));
    turn(m, 0);
    m->bytes = (struct buf)BUF_INIT;
    m->mem = (struct arena)ARENA_INIT(1 << 20);
}

static void machine_end(struct machine *m)
{
    if (m->reader)
        ring_reader_close(m->reader);
    arena_done(&m->mem);
    buf_done(&m->bytes);
    executor_free(m->exec);
    world_end(&m->w);
}

/* Takes samples; the machine does something before each. */
static void pass(struct machine *m, int64_t from, int64_t seconds)
{
    for (int64_t i = 1; i <= seconds; i++) {
        turn(m, from + i);
        if (!executor_pump(m->exec))
            break;
    }
}

/* The first reading only serves for comparison. */
static void turn_on(struct machine *m, det_context *det)
{
    CHECK_OK(det_profiler_on(det, NULL));
    CHECK(executor_pump(m->exec));
}

/* The group and values of the next report; "" if there is none. */
static const char *next(struct machine *m)
{
    struct report_metrics metrics;
    struct ring_batch batch;
    struct report report;
    size_t used;

    if (!m->reader)
        m->reader = world_reader(&m->w, "/task/reports");
    buf_clear(&m->bytes);
    CHECK_OK(ring_read(m->reader, 1, &m->bytes, &batch, &test_err));
    if (batch.first > batch.last)
        return "";
    CHECK_OK(report_decode(m->bytes.data, m->bytes.len, &report, &used, &test_err));
    if (report.kind != REPORT_METRICS)
        return next(m);
    CHECK_OK(report_metrics_decode(report.payload, report.len, &m->mem, &metrics,
                                   &test_err));
    CHECK_EQ(report.run, 2);
    if (metrics.steps >= 0)
        return next(m);
    CHECK_EQ(metrics.count, 1);
    CHECK_EQ(metrics.value[0].type, REPORT_JSON);
    return arena_printf(&m->mem, "%.*s %.*s %.*s", (int)metrics.group_len,
                        metrics.group, (int)metrics.value[0].name_len,
                        metrics.value[0].name, (int)metrics.value[0].json_len,
                        metrics.value[0].json);
}

static size_t count_reports(struct machine *m, const char *group)
{
    size_t count = 0;
    const char *line;

    while (*(line = next(m)))
        count += !strncmp(line, group, strlen(group));
    return count;
}

static void open_configured(struct machine *m, const char *config, unsigned flags,
                            det_context **ret_det)
{
    det_init_options options = {.size = sizeof(options), .flags = flags};

    world_set(&m->w, "DET_EXPERIMENT_CONFIG", config);
    CHECK_OK(context_open(&m->w.at, &options, ret_det, &test_err));
}

/* ---- what is reported ------------------------------------------------------------ */

TEST(ten_samples_are_one_report_of_each_group_under_the_agents_name)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    det = world_open(&m.w);
    turn_on(&m, det);
    pass(&m, 0, 9);
    CHECK_STR(next(&m), "");
    pass(&m, 9, 1);
    CHECK_STR(next(&m), "cpu a1 {\"cpu_util_simple\":25}");
    CHECK_STR(next(&m), "memory a1 {\"memory_free\":2048}");
    CHECK_STR(next(&m), "disk a1 {\"disk_iops\":4,\"disk_throughput_read\":16384,"
                        "\"disk_throughput_write\":0}");
    CHECK_STR(next(&m), "network a1 {\"net_throughput_recv\":500,"
                        "\"net_throughput_sent\":1000}");
    CHECK_STR(next(&m), "");
    det_close(det);
    machine_end(&m);
}

TEST(disks_say_how_full_they_are)
{
    struct machine m;
    det_context *det;
    const char *line;

    machine_make(&m);
    CHECK_OK(io_mkdir(m.w.io, "/store/below", false, &test_err));
    io_memory_limit(m.w.io, 64 << 20);
    det = world_open(&m.w);
    turn_on(&m, det);
    pass(&m, 0, 10);
    do
        line = next(&m);
    while (*line && strncmp(line, "disk", 4) != 0);
    CHECK_HAS(line, ",\"/\":{\"disk_util\":");
    CHECK(!strstr(line, "/store")); /* it is the same disk */
    det_close(det);
    machine_end(&m);
}

TEST(gpus_are_reported_by_their_uuids)
{
    struct machine m;
    det_context *det;
    const char *line;

    machine_make(&m);
    world_set(&m.w, "DET_NVML_LIBRARY", nvml_path());
    world_set(&m.w, "CUDA_VISIBLE_DEVICES", "GPU-b,GPU-a");
    det = world_open(&m.w);
    turn_on(&m, det);
    pass(&m, 0, 5);
    setenv("FAKE_NVML", "memory:1", 1); /* from now on */
    pass(&m, 5, 5);
    setenv("FAKE_NVML", "util", 1);
    pass(&m, 10, 1);
    CHECK_OK(det_profiler_off(det));
    unsetenv("FAKE_NVML");
    do
        line = next(&m);
    while (*line && strncmp(line, "gpu", 3) != 0);
    CHECK_STR(line, "gpu a1 {\"GPU-a\":{\"gpu_util\":40,\"gpu_free_memory\":600},"
                    "\"GPU-b\":{\"gpu_util\":90,\"gpu_free_memory\":100}}");
    do
        line = next(&m);
    while (*line && strncmp(line, "gpu", 3) != 0);
    CHECK_HAS(line, "\"GPU-a\":{\"gpu_free_memory\":600}");
    det_close(det);
    machine_end(&m);
}

TEST(a_machine_that_says_nothing_is_reported_with_nothing)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    CHECK_OK(io_remove_tree(m.w.io, "/proc", &test_err));
    CHECK_OK(io_mkdir(m.w.io, "/proc/net", false, &test_err));
    det = world_open(&m.w);
    CHECK_OK(det_profiler_on(det, NULL));
    for (int i = 0; i < 100; i++)
        CHECK(executor_pump(m.exec));
    CHECK_OK(det_profiler_off(det));
    CHECK_STR(next(&m), "");
    det_close(det);
    machine_end(&m);
}

/* ---- on and off ------------------------------------------------------------------ */

TEST(off_reports_what_there_is_and_nothing_follows)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    det = world_open(&m.w);
    CHECK_OK(det_profiler_off(det)); /* it is off already */
    turn_on(&m, det);
    pass(&m, 0, 3);
    CHECK_STR(next(&m), "");
    CHECK_OK(det_profiler_off(det));
    CHECK_STR(next(&m), "cpu a1 {\"cpu_util_simple\":25}");
    while (*next(&m))
        ;
    CHECK(!executor_pump(m.exec)); /* nothing is due */
    CHECK_OK(det_profiler_off(det));
    CHECK_STR(next(&m), "");
    det_close(det);
    machine_end(&m);
}

TEST(on_again_goes_on_with_the_new_options)
{
    det_profiler_options often = {
        .size = sizeof(often), .interval_ms = 500, .samples_per_report = 2};
    struct machine m;
    det_context *det;

    machine_make(&m);
    det = world_open(&m.w);
    CHECK_OK(det_profiler_on(det, NULL));
    CHECK_OK(det_profiler_on(det, &often));
    CHECK(executor_pump(m.exec));
    pass(&m, 0, 4);
    CHECK_OK(det_profiler_off(det)); /* just after a report: nothing is left to
                                        report */
    CHECK_EQ(count_reports(&m, "memory"), 2);
    turn_on(&m, det);
    pass(&m, 4, 10);
    det_close(det);
    CHECK_EQ(count_reports(&m, "memory"), 1);
    machine_end(&m);
}

TEST(the_end_of_the_context_is_its_end_too)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    det = world_open(&m.w);
    turn_on(&m, det);
    pass(&m, 0, 2);
    det_close(det);
    CHECK(!executor_pump(m.exec));
    CHECK_EQ(count_reports(&m, "cpu"), 1);
    machine_end(&m);
}

TEST(options_that_make_no_sense_are_refused_in_a_sentence)
{
    det_profiler_options options = {.size = sizeof(options), .interval_ms = 99};
    struct machine m;
    det_context *det;

    machine_make(&m);
    det = world_open(&m.w);
    CHECK_EQ(det_profiler_on(det, &options), DET_INVALID);
    CHECK_HAS(det_context_error(det), "interval_ms is 99; expected 100");
    options.interval_ms = 0;
    options.samples_per_report = -1;
    CHECK_EQ(det_profiler_on(det, &options), DET_INVALID);
    CHECK_HAS(det_context_error(det), "samples_per_report is -1");
    options.size = 0;
    CHECK_EQ(det_profiler_on(det, &options), DET_INVALID);
    options.size = sizeof(options) + 1;
    CHECK_EQ(det_profiler_on(det, &options), DET_INVALID);
    CHECK_EQ(det_profiler_on(NULL, NULL), DET_INVALID);
    CHECK_EQ(det_profiler_off(NULL), DET_INVALID);
    CHECK(!executor_pump(m.exec));
    det_close(det);
    machine_end(&m);
}

TEST(only_the_first_process_of_a_machine_measures)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    world_set(&m.w, "RANK", "3");
    world_set(&m.w, "WORLD_SIZE", "4");
    world_set(&m.w, "LOCAL_RANK", "1");
    det = world_open(&m.w);
    CHECK_OK(det_profiler_on(det, NULL));
    CHECK(!executor_pump(m.exec));
    CHECK_OK(det_profiler_off(det));
    det_close(det);
    machine_end(&m);
}

TEST(what_is_no_trial_has_no_profiler)
{
    struct machine m;
    det_context *det;
    det_timing timing;

    machine_make(&m);
    world_set(&m.w, "DET_TASK_TYPE", "COMMAND");
    world_set(&m.w, "DET_TRIAL_ID", NULL);
    world_set(&m.w, "DET_TRIAL_RUN_ID", NULL);
    det = world_open(&m.w);
    CHECK_EQ(det_profiler_on(det, NULL), DET_STATE);
    CHECK_EQ(det_profiler_off(det), DET_STATE);
    det_timing_begin(det, &timing);
    det_timing_end(det, &timing, DET_TIMING_STEP);
    det_close(det);
    machine_end(&m);
}

/* ---- the configuration ----------------------------------------------------------- */

TEST(the_configuration_turns_it_on)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    open_configured(&m, "{" STORAGE ",\"profiling\":{\"enabled\":true}}", 0, &det);
    CHECK(executor_pump(m.exec));
    clock_manual_advance(&m.w.clock, 1000); /* a training may be short */
    CHECK_OK(det_profiler_off(det));
    CHECK(count_reports(&m, "memory") == 1);
    det_close(det);
    machine_end(&m);
}

TEST(quiet_contexts_and_other_configurations_leave_it_off)
{
    det_profiler_options configured = {.size = sizeof(configured),
                                       .flags = DET_PROFILER_CONFIGURED};
    struct machine m;
    det_context *det;

    machine_make(&m);
    open_configured(&m, "{" STORAGE ",\"profiling\":{\"enabled\":true}}",
                    DET_INIT_QUIET, &det);
    CHECK(!executor_pump(m.exec));
    CHECK_OK(det_profiler_on(det, &configured)); /* for a quiet context */
    CHECK(executor_pump(m.exec));
    CHECK_OK(det_profiler_on(det, &configured)); /* it goes on as it is */
    CHECK_STR(next(&m), "");
    while (*next(&m))
        ;
    ring_reader_close(m.reader);
    m.reader = NULL;
    det_close(det);
    open_configured(&m, "{" STORAGE ",\"profiling\":{\"enabled\":false}}",
                    DET_INIT_QUIET, &det);
    CHECK_OK(det_profiler_on(det, &configured));
    CHECK(!executor_pump(m.exec));
    det_close(det);
    machine_end(&m);
}

TEST(only_the_batches_of_the_configuration_are_measured)
{
    det_profiler_options configured = {.size = sizeof(configured),
                                       .flags = DET_PROFILER_CONFIGURED};
    det_metric loss = {"loss", 1};
    struct machine m;
    det_context *det;

    machine_make(&m); /* it begins from a checkpoint of 40 batches */
    open_configured(&m,
                    "{" STORAGE ",\"profiling\":{\"enabled\":true,"
                    "\"begin_on_batch\":50,\"end_after_batch\":60}}",
                    DET_INIT_QUIET, &det);
    CHECK_OK(det_profiler_on(det, &configured));
    pass(&m, 0, 20);
    CHECK_STR(next(&m), "");
    CHECK_OK(det_report_training(det, 50, &loss, 1));
    pass(&m, 20, 5);
    CHECK_OK(det_report_training(det, 61, &loss, 1));
    pass(&m, 25, 5);
    CHECK_EQ(count_reports(&m, "memory"), 1);
    CHECK(!executor_pump(m.exec)); /* nothing more will come */
    CHECK_OK(det_profiler_off(det));
    CHECK_STR(next(&m), "");
    det_close(det);
    machine_end(&m);
}

/* ---- timings --------------------------------------------------------------------- */

static void timed(struct machine *m, det_context *det, enum det_timing_kind kind,
                  int64_t us)
{
    det_timing timing;

    det_timing_begin(det, &timing);
    clock_manual_advance(&m->w.clock, us);
    det_timing_end(det, &timing, kind);
}

static const char *timing_report(struct machine *m)
{
    const char *line;

    do
        line = next(m);
    while (*line && strncmp(line, "timing", 6) != 0);
    return line;
}

TEST(timings_add_up_between_two_reports_and_a_step_leaves_out_its_wait_for_data)
{
    struct machine m;
    det_context *det;
    det_timing step;

    machine_make(&m);
    det = world_open(&m.w);
    timed(&m, det, DET_TIMING_DATA, 1000000); /* it is off */
    turn_on(&m, det);
    det_timing_begin(det, &step);
    timed(&m, det, DET_TIMING_DATA, 250000);
    clock_manual_advance(&m.w.clock, 500000);
    det_timing_end(det, &step, DET_TIMING_STEP);
    timed(&m, det, DET_TIMING_VALIDATE, 200000);
    timed(&m, det, DET_TIMING_VALIDATE, 50000);
    timed(&m, det, (enum det_timing_kind)99, 0);
    CHECK_OK(det_profiler_off(det));
    CHECK_STR(timing_report(&m), "timing a1 {\"seconds\":1,\"data\":{\"seconds\":0.25,"
                                 "\"count\":1},\"step\":{\"seconds\":0.5,\"count\":1},"
                                 "\"validate\":{\"seconds\":0.25,\"count\":2}}");
    det_close(det);
    machine_end(&m);
}

TEST(what_was_begun_while_it_was_off_does_not_count)
{
    struct machine m;
    det_context *det;
    det_timing timing;

    machine_make(&m);
    det = world_open(&m.w);
    det_timing_begin(det, &timing);
    turn_on(&m, det);
    det_timing_end(det, &timing, DET_TIMING_STEP);
    det_timing_begin(NULL, &timing);
    det_timing_end(NULL, &timing, DET_TIMING_STEP);
    CHECK_OK(det_profiler_off(det));
    CHECK_STR(timing_report(&m), "");
    det_close(det);
    machine_end(&m);
}

/* A model that takes 30 ms per batch, 10 of them in its loader, 40 ms per validation
 * and 20 ms per save. */
struct slow {
    struct machine *m;
    det_loader *loader;
};

static det_status make_item(void *arg, int64_t index, void *const *columns, char *error,
                            size_t error_size)
{
    struct slow *slow = arg;

    (void)index, (void)columns, (void)error, (void)error_size;
    clock_manual_advance(&slow->m->w.clock, 10000);
    return DET_OK;
}

static det_status train_slowly(void *self, det_fit *fit)
{
    struct slow *slow = self;
    const det_batch *batch;

    CHECK_OK(det_loader_next(slow->loader, &batch));
    clock_manual_advance(&slow->m->w.clock, 20000);
    return det_fit_metric(fit, "loss", 1);
}

static det_status evaluate_slowly(void *self, det_fit *fit)
{
    struct slow *slow = self;

    clock_manual_advance(&slow->m->w.clock, 40000);
    return det_fit_metric(fit, "loss", 1);
}

static det_status save_slowly(void *self, det_checkpoint *checkpoint)
{
    struct slow *slow = self;

    clock_manual_advance(&slow->m->w.clock, 20000);
    return det_checkpoint_put(checkpoint, "x", "x", 1);
}

TEST(the_loop_and_the_loader_time_themselves)
{
    static const det_trial trial = {.size = sizeof(trial),
                                    .train_batch = train_slowly,
                                    .evaluate = evaluate_slowly,
                                    .save = save_slowly};
    static const det_trainer_options options = {.size = sizeof(options),
                                                .max_length = {DET_BATCHES, 10}};
    det_loader_options loading = {.size = sizeof(loading), .batch_size = 1};
    struct machine m;
    struct slow slow = {.m = &m};
    det_sequence sequence = {
        .size = sizeof(sequence), .items = 100, .item = make_item, .arg = &slow};
    det_dataset *dataset;
    det_context *det;
    const char *line;

    machine_make(&m);
    world_set(&m.w, "DET_STEPS_COMPLETED", "0");
    det = world_open(&m.w);
    loading.context = det;
    CHECK_OK(det_dataset_sequence(&sequence, &dataset, NULL, 0));
    CHECK_OK(det_loader_new(dataset, &loading, &slow.loader, NULL, 0));
    turn_on(&m, det);
    CHECK_OK(det_fit_run(det, &trial, &slow, &options));
    CHECK_OK(det_profiler_off(det));
    line = timing_report(&m);
    CHECK_HAS(line, "\"data\":{\"seconds\":0.1,\"count\":10}");
    CHECK_HAS(line, "\"step\":{\"seconds\":0.2,\"count\":10}");
    CHECK_HAS(line, "\"report\":{\"seconds\":0,");
    CHECK_HAS(line, "\"checkpoint\":{\"seconds\":0.02,\"count\":1}");
    CHECK_HAS(line, "\"validate\":{\"seconds\":0.04,\"count\":1}");
    det_loader_free(slow.loader);
    det_dataset_free(dataset);
    det_close(det);
    machine_end(&m);
}

/* ---- when things go wrong -------------------------------------------------------- */

TEST(a_ring_without_room_costs_the_reports_and_nothing_else)
{
    struct machine m;
    det_context *det;

    machine_make(&m);
    det = world_open(&m.w);
    /* Nobody reads, and the disk is full: as with a master that is away for a long
     * time. */
    io_memory_limit(m.w.io, 1);
    CHECK_OK(det_profiler_on(det, NULL));
    for (int i = 0; i < 200; i++)
        CHECK(executor_pump(m.exec));
    CHECK_OK(det_profiler_off(det));
    io_memory_limit(m.w.io, 0);
    turn_on(&m, det);
    pass(&m, 0, 10);
    CHECK(count_reports(&m, "cpu") >= 1);
    det_close(det);
    machine_end(&m);
}

TEST(without_memory_it_does_not_begin_or_leaves_out_what_it_cannot_report)
{
    EACH_ALLOCATION_FAILS() {
        int64_t armed = fault_state.left[FAULT_MEMORY];
        struct machine m;
        det_context *det;
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        machine_make(&m);
        world_set(&m.w, "DET_NVML_LIBRARY", nvml_path());
        det = world_open(&m.w);
        fault_state.left[FAULT_MEMORY] = armed;
        st = det_profiler_on(det, NULL);
        if (st)
            CHECK_EQ(st, DET_NOMEM);
        for (int i = 0; i < 40 && executor_pump(m.exec); i++)
            ;
        CHECK_OK(det_profiler_off(det));
        det_close(det);
        machine_end(&m);
    }
}
