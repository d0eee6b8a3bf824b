/* SPDX-License-Identifier: Apache-2.0 */
/* test_nomem.c - every call of a training program with memory running out at each of
 * its allocations: it fails with DET_NOMEM or succeeds, and the same call works when
 * there is memory again.  Other sweeps are beside the other tests: opening a context,
 * saving (test_context.c, test_checkpoint.c), data (test_data.c, test_data_workers.c,
 * test_record_file.c), events, ranks, the trainer and its loop, stopping, the client.
 */
#include <stdio.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "det/checkpoint.h"
#include "tests/unit/libdet/world.h"

enum { MANY = 200 }; /* metrics: more than fit on the stack */

typedef det_status call_fn(struct world *w, det_context *det);

/* ---- hyperparameters ------------------------------------------------------------- */

static det_status call_double(struct world *w, det_context *det)
{
    double value;

    (void)w;
    return det_hparam_double(det, "opt.betas[1]", &value);
}

static det_status call_int(struct world *w, det_context *det)
{
    int64_t value;

    (void)w;
    return det_hparam_int(det, "layers[1].units", &value);
}

static det_status call_bool(struct world *w, det_context *det)
{
    int value;

    (void)w;
    return det_hparam_bool(det, "on", &value);
}

static det_status call_string(struct world *w, det_context *det)
{
    const char *value;

    (void)w;
    return det_hparam_string(det, "name", &value);
}

static det_status call_type(struct world *w, det_context *det)
{
    enum det_type type;
    size_t count;

    (void)w;
    return det_hparam_type(det, "layers", &type, &count);
}

static det_status call_json(struct world *w, det_context *det)
{
    char text[500];

    (void)w;
    return det_hparam_json(det, "", text, sizeof(text), NULL);
}

/* ---- reports --------------------------------------------------------------------- */

static det_status call_report(struct world *w, det_context *det)
{
    char names[MANY][8];
    det_metric metrics[MANY];

    (void)w;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "m%d", i);
        metrics[i] = (det_metric){names[i], i};
    }
    return det_report(det, "mine", 1, metrics, MANY);
}

static det_status call_training(struct world *w, det_context *det)
{
    const det_metric metric = {"loss", 1};

    (void)w;
    return det_report_training(det, 1, &metric, 1);
}

static det_status call_validation(struct world *w, det_context *det)
{
    const det_metric metric = {"loss", 1};

    (void)w;
    return det_report_validation(det, 1, &metric, 1);
}

static det_status call_report_json(struct world *w, det_context *det)
{
    (void)w;
    return det_report_json(det, "training", 1, "{\"a\":[1,{\"b\":null}]}",
                           "[{\"a\":1}]");
}

static det_status call_progress(struct world *w, det_context *det)
{
    (void)w;
    return det_report_progress(det, 0.5);
}

static det_status call_status(struct world *w, det_context *det)
{
    (void)w;
    return det_set_status(det, "a \"word\"");
}

static det_status call_early_exit(struct world *w, det_context *det)
{
    (void)w;
    return det_report_early_exit(det, DET_EXIT_INVALID_HP);
}

static det_status call_alert(struct world *w, det_context *det)
{
    (void)w;
    return det_alert(det, DET_ALERT_WARN, "title", "and text");
}

/* Nobody reads the ring, so waiting always times out. */
static det_status call_flush(struct world *w, det_context *det)
{
    det_status st = det_flush(det, 0);

    (void)w;
    return st == DET_TIMEOUT ? DET_OK : st;
}

/* ---- checkpoints ----------------------------------------------------------------- */

static det_status call_store(struct world *w, det_context *det)
{
    char uuid[DET_UUID_SIZE];

    (void)w;
    return det_checkpoint_store(det, "/mine", 2, "{\"note\":\"mine\"}", uuid);
}

static det_status call_restore(struct world *w, det_context *det)
{
    char path[200];

    (void)w;
    return det_checkpoint_restore(det, NULL, 0, path, sizeof(path));
}

static det_status call_metadata(struct world *w, det_context *det)
{
    char text[500];

    (void)w;
    return det_checkpoint_metadata(det, NULL, text, sizeof(text), NULL);
}

static det_status call_begin_and_abort(struct world *w, det_context *det)
{
    det_checkpoint *checkpoint;
    det_status st = det_checkpoint_begin(det, 3, NULL, &checkpoint);

    (void)w;
    if (!st)
        det_checkpoint_abort(checkpoint);
    return st;
}

/* A failed copy leaves nothing, so the folder can be used again. */
static det_status call_download(struct world *w, det_context *det)
{
    det_status st = det_checkpoint_download(det, NULL, 0, "/to");

    if (!st)
        CHECK_OK(io_remove_tree(w->io, "/to", &test_err));
    CHECK(!world_has(w, "/to/weights"));
    return st;
}

/* ---- the sweep ------------------------------------------------------------------- */

static const struct {
    const char *name;
    call_fn *call;
} calls[] = {
    {"det_hparam_double", call_double},
    {"det_hparam_int", call_int},
    {"det_hparam_bool", call_bool},
    {"det_hparam_string", call_string},
    {"det_hparam_type", call_type},
    {"det_hparam_json", call_json},
    {"det_report", call_report},
    {"det_report_training", call_training},
    {"det_report_validation", call_validation},
    {"det_report_json", call_report_json},
    {"det_report_progress", call_progress},
    {"det_set_status", call_status},
    {"det_report_early_exit", call_early_exit},
    {"det_alert", call_alert},
    {"det_flush", call_flush},
    {"det_checkpoint_store", call_store},
    {"det_checkpoint_restore", call_restore},
    {"det_checkpoint_metadata", call_metadata},
    {"det_checkpoint_begin", call_begin_and_abort},
    {"det_checkpoint_download", call_download},
};

/* A context that has saved and reported something, and a folder of its own. */
static det_context *begin(struct world *w)
{
    det_context *det;

    world_make(w);
    det = world_open(w);
    CHECK_OK(io_mkdir(w->io, "/mine", true, &test_err));
    world_file(w, "/mine/weights", "123");
    CHECK_OK(det_checkpoint_store(det, "/mine", 1, NULL, NULL));
    return det;
}

/* Whether there was an n-th allocation. */
static bool survives(const char *name, call_fn *call, int64_t nth)
{
    struct world w;
    det_context *det = begin(&w);
    bool fired;
    det_status st;

    fault_arm(FAULT_MEMORY, nth);
    st = call(&w, det);
    fired = fault_disarm(FAULT_MEMORY);
    if (st && (!fired || st != DET_NOMEM))
        fail_msg("%s, allocation %d: %s", name, (int)nth, det_context_error(det));
    if (st)
        CHECK(*det_context_error(det));
    st = call(&w, det);
    if (st)
        fail_msg("%s again: %s", name, det_context_error(det));
    det_close(det);
    world_end(&w);
    return fired;
}

TEST(every_call_without_memory_says_so_and_works_when_there_is_some)
{
    int64_t fired = 0;

    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        for (int64_t nth = 1; survives(calls[i].name, calls[i].call, nth); nth++)
            fired++;
    CHECK(fired > (int64_t)ARRAY_LEN(calls));
}
