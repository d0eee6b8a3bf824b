/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensorboard_reports.c - metrics as event files: which ones, where, and that a
 * report never fails because of them. */
#include "libdet/report/tensorboard_reports.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/memory/arena.h"
#include "tests/unit/libdet/world.h"

#define OFFLINE "/run/tensorboard"
#define CLUSTER "/store/below/0badcafe-0000/tensorboard/experiment/3/trial/7"

static det_context *open_with_board(struct world *w)
{
    det_init_options options = {.size = sizeof(options),
                                .flags = DET_INIT_QUIET | DET_INIT_TENSORBOARD};
    det_context *context;

    CHECK_OK(context_open(&w->at, &options, &context, &test_err));
    return context;
}

static void offline(struct world *w)
{
    world_make(w);
    world_set(w, "DET_ALLOCATION_ID", "");
    world_set(w, "DET_OFFLINE_DIR", "/run");
}

static det_status report(det_context *det, const char *group, const char *name,
                         int64_t steps)
{
    det_metric metric = {name, 0.5};

    return det_report(det, group, steps, &metric, 1);
}

/* How often a text is in the files of a directory. */
static int occurrences(struct world *w, const char *dir, const char *text)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    int count = 0;

    if (io_list(w->io, dir, &mem, &names, NULL))
        return -1;
    for (; *names; names++) {
        CLEANUP(buf_done) struct buf bytes = BUF_INIT;
        char path[256];
        const char *at;

        (void)snprintf(path, sizeof(path), "%s/%s", dir, *names);
        CHECK_OK(io_read_file(w->io, path, &bytes, &test_err));
        for (at = bytes.data; (at = memmem(at, (size_t)(bytes.data + bytes.len - at),
                                           text, strlen(text)));
             at++)
            count++;
    }
    return count;
}

TEST(curves_of_training_and_validation_are_written_and_nothing_else)
{
    struct world w;
    det_context *det;

    offline(&w);
    det = open_with_board(&w);
    CHECK_OK(report(det, "training", "loss", 1));
    CHECK_OK(report(det, "training", "loss", 2));
    CHECK_OK(report(det, "validation", "error", 2));
    CHECK_OK(report(det, "mine", "thing", 2));
    CHECK_OK(report(det, "training", "stepless", -1));
    CHECK_OK(det_report_json(det, "training", 3, "{\"word\":\"x\",\"acc\":1}", NULL));
    det_close(det);
    CHECK_EQ(occurrences(&w, OFFLINE, "training/loss"), 2);
    CHECK_EQ(occurrences(&w, OFFLINE, "validation/error"), 1);
    CHECK_EQ(occurrences(&w, OFFLINE, "training/acc"), 1);
    CHECK_EQ(occurrences(&w, OFFLINE, "thing"), 0);
    CHECK_EQ(occurrences(&w, OFFLINE, "stepless"), 0);
    CHECK_EQ(occurrences(&w, OFFLINE, "word"), 0);
    world_end(&w);
}

TEST(in_a_task_they_lie_where_the_checkpoints_do)
{
    struct world w;
    det_context *det;

    world_make(&w);
    det = open_with_board(&w);
    CHECK_STR(det_tensorboard_directory(det), CLUSTER);
    CHECK_OK(report(det, "training", "loss", 41));
    det_close(det);
    CHECK_EQ(occurrences(&w, CLUSTER, "training/loss"), 1);
    world_end(&w);
}

TEST(a_run_that_reports_nothing_or_did_not_ask_leaves_no_files)
{
    struct world w;

    offline(&w);
    det_close(open_with_board(&w));
    CHECK_EQ(occurrences(&w, OFFLINE, ""), -1);
    world_end(&w);
}

TEST(a_storage_that_cannot_be_had_costs_the_curves_and_no_report)
{
    struct world w;
    det_context *det;

    world_make(&w);
    world_set(&w, "DET_EXPERIMENT_CONFIG",
              "{\"checkpoint_storage\":{\"type\":\"s3\"}}");
    det = open_with_board(&w);
    CHECK(!det_tensorboard_directory(det));
    CHECK_HAS(det_context_error(det),
              "checkpoint_storage.type 's3' is not implemented");
    CHECK_OK(report(det, "training", "loss", 41));
    det_close(det);
    world_end(&w);
}

TEST(without_memory_for_curves_a_report_is_accepted_and_the_end_is_quiet)
{
    bool fired = true;

    for (int64_t nth = 1; fired; nth++) {
        struct world w;
        det_context *det;
        det_status st;

        offline(&w);
        det = open_with_board(&w);
        CHECK_OK(report(det, "mine", "first", 1)); /* the ring has its segment now */
        fault_arm(FAULT_MEMORY, nth);
        st = report(det, "training", "loss", 1);
        det_close(det);
        fired = fault_disarm(FAULT_MEMORY);
        CHECK_OK(st);
        if (!fired)
            CHECK_EQ(occurrences(&w, OFFLINE, "training/loss"), 1);
        world_end(&w);
    }
}
