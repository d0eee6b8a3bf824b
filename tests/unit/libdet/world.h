/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - the surroundings of a task in memory, for tests of contexts: files, clock,
 * environment. */
#ifndef TESTS_UNIT_LIBDET_WORLD_H
#define TESTS_UNIT_LIBDET_WORLD_H

#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "libdet/context.h"
#include "libdet/ring/ring_reader.h"
#include "tests/support/test.h"

struct variable {
    const char *name;
    const char *value;
};

struct world {
    struct io *io;
    struct clock_manual clock;
    struct context_world at;
    struct variable variable[40];
};

static inline const char *world_variable(void *arg, const char *name)
{
    const struct world *w = arg;

    for (const struct variable *v = w->variable; v->name; v++)
        if (!strcmp(v->name, name))
            return v->value;
    return NULL;
}

/* NULL unsets it. */
static inline void world_set(struct world *w, const char *name, const char *value)
{
    struct variable *v = w->variable;

    while (v->name && strcmp(v->name, name) != 0)
        v++;
    *v = (struct variable){name, value};
}

/* As the supervisor does before the task begins. */
static inline void world_make_ring(struct world *w)
{
    struct ring_config config = {.io = w->io, .dir = "/task/reports"};
    struct ring_reader *reader;

    CHECK_OK(ring_reader_open(&config, &reader, &test_err));
    ring_reader_close(reader);
}

/* Trial 7 of experiment 3, in its second run. */
static inline void world_make(struct world *w)
{
    static const struct variable task[] = {
        {"DET_MASTER", "http://127.0.0.1:8080"},
        {"DET_SESSION_TOKEN", "secret"},
        {"DET_ALLOCATION_ID", "3.abc.2"},
        {"DET_TASK_ID", "3.abc"},
        {"DET_CLUSTER_ID", "0badcafe-0000"},
        {"DET_AGENT_ID", "a1"},
        {"DET_TASK_TYPE", "TRIAL"},
        {"DET_SLOT_IDS", "[2,3]"},
        {"DET_EXPERIMENT_ID", "3"},
        {"DET_TRIAL_ID", "7"},
        {"DET_TRIAL_RUN_ID", "2"},
        {"DET_TRIAL_SEED", "99"},
        {"DET_STEPS_COMPLETED", "40"},
        {"DET_HPARAMS",
         "{\"lr\":0.5,\"n\":3,\"whole\":4.0,\"on\":true,\"name\":\"sgd\","
         "\"a.b\":1,\"opt\":{\"lr\":0.25,\"betas\":[0.9,0.999]},"
         "\"layers\":[{\"units\":8},{\"units\":16}],\"none\":null}"},
        {"DET_EXPERIMENT_CONFIG",
         "{\"data\":{\"url\":\"x\"},\"checkpoint_storage\":{\"type\":\"shared_fs\","
         "\"host_path\":\"/store\",\"storage_path\":\"below\"}}"},
        {"DET_REPORT_RING", "/task/reports"},
        {"DET_RUN_DIR", "/task/run"},
    };

    memset(w, 0, sizeof(*w));
    CHECK_OK(io_memory_new(&w->io, &test_err));
    world_make_ring(w);
    clock_manual_init(&w->clock, 1700000000000000);
    w->at = (struct context_world){
        .io = w->io, .clock = &w->clock.clock, .variable = world_variable, .arg = w};
    memcpy(w->variable, task, sizeof(task));
}

static inline void world_end(struct world *w)
{
    io_free(w->io);
}

static inline det_context *world_open(struct world *w)
{
    det_init_options options = {.size = sizeof(options), .flags = DET_INIT_QUIET};
    det_context *context;

    CHECK_OK(context_open(&w->at, &options, &context, &test_err));
    return context;
}

/* Puts bytes into a file. */
static inline void world_file(struct world *w, const char *path, const char *text)
{
    CHECK_OK(io_replace(w->io, path, text, strlen(text), false, &test_err));
}

static inline bool world_has(struct world *w, const char *path)
{
    struct io_stat found;

    return io_stat(w->io, path, &found, NULL) == DET_OK;
}

/* The next record of the ring; the payload lies in `bytes`. */
static inline struct report world_next(struct ring_reader *reader, struct buf *bytes)
{
    struct ring_batch batch;
    struct report report;
    size_t used;

    buf_clear(bytes);
    CHECK_OK(ring_read(reader, 1, bytes, &batch, &test_err));
    CHECK_EQ(batch.first, batch.last);
    CHECK_OK(report_decode(bytes->data, bytes->len, &report, &used, &test_err));
    return report;
}

static inline struct ring_reader *world_reader(struct world *w, const char *dir)
{
    struct ring_config config = {.io = w->io, .dir = dir};
    struct ring_reader *reader;

    CHECK_OK(ring_reader_open(&config, &reader, &test_err));
    return reader;
}

#endif
