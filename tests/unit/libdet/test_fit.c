/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - the training loop: what it calls and when; and a training that dies at
 * any batch and is run again ends with the same bits and the same curve as an
 * undisturbed one. */
#include "det/fit.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/rng.h"
#include "tests/unit/libdet/world.h"

enum { WEIGHTS = 8 };

/* A model whose every batch depends on all before it. */
struct model {
    double weight[WEIGHTS];
    int64_t dies_at;         /* the batch that fails; -1: none */
    int64_t enough_at;       /* 0: never */
    int64_t enough_valid_at; /* the same, in a validation */
    int64_t loads;
    int64_t trained;
    char story[4096];
};

static void tell(struct model *model, const char *word)
{
    size_t len = strlen(model->story);

    (void)snprintf(model->story + len, sizeof(model->story) - len, "%s ", word);
}

static det_status train_batch(void *self, det_fit *fit)
{
    struct model *model = self;
    double loss = 0;

    if (det_fit_batches(fit) == model->dies_at)
        return DET_FAILED;
    model->trained++;
    if (model->enough_at && det_fit_batches(fit) == model->enough_at)
        det_fit_stop(fit);
    for (int i = 0; i < WEIGHTS; i++) {
        double noise = det_fit_uniform(fit) - 0.5;

        model->weight[i] =
            0.9 * model->weight[i] + noise + 0.01 * (double)det_fit_epoch_position(fit);
        loss += model->weight[i] * model->weight[i];
    }
    return det_fit_metric(fit, "loss", loss);
}

static det_status evaluate_batch(void *self, det_fit *fit, int64_t batch)
{
    const struct model *model = self;

    return det_fit_metric(fit, "loss", model->weight[batch]);
}

static det_status save(void *self, det_checkpoint *checkpoint)
{
    struct model *model = self;

    tell(model, "save");
    return det_checkpoint_put(checkpoint, "weights", model->weight,
                              sizeof(model->weight));
}

static det_context *the_context; /* of the load below; tests are single-threaded */

static det_status load(void *self, const char *directory)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct model *model = self;
    char path[4200];
    det_status st;

    model->loads++;
    (void)snprintf(path, sizeof(path), "%s/weights", directory);
    st = io_read_file(the_context->world.io, path, &bytes, &test_err);
    if (st == DET_NOMEM)
        return st;
    CHECK_OK(st);
    CHECK_EQ(bytes.len, sizeof(model->weight));
    memcpy(model->weight, bytes.data, bytes.len);
    return DET_OK;
}

static det_status epoch_begin(void *self, det_fit *fit)
{
    (void)fit;
    tell(self, "epoch");
    return DET_OK;
}

/* Changes what is trained next, like a learning rate schedule. */
static det_status epoch_end(void *self, det_fit *fit)
{
    struct model *model = self;

    for (int i = 0; i < WEIGHTS; i++)
        model->weight[i] *= 0.5;
    (void)fit;
    return DET_OK;
}

static det_status validated(void *self, det_fit *fit, const det_metric *metrics,
                            size_t count)
{
    const struct model *model = self;

    if (model->enough_valid_at && det_fit_batches(fit) == model->enough_valid_at)
        det_fit_stop(fit);
    CHECK_EQ(count, 1);
    CHECK_STR(metrics[0].name, "loss");
    tell(self, "validated");
    return DET_OK;
}

static const det_trial trial = {
    .size = sizeof(trial),
    .train_batch = train_batch,
    .evaluate_batch = evaluate_batch,
    .evaluate_batches = 4,
    .save = save,
    .load = load,
    .epoch_begin = epoch_begin,
    .epoch_end = epoch_end,
    .validated = validated,
};

static const det_trainer_options options = {
    .size = sizeof(options),
    .max_length = {DET_EPOCHS, 3},
    .validation_period = {DET_EPOCHS, 1},
    .checkpoint_period = {DET_BATCHES, 4},
    .reporting_period = {DET_BATCHES, 3},
    .batches_per_epoch = 5,
};

static det_status fit(struct world *w, struct model *model)
{
    det_context *context = world_open(w);
    det_status st;

    the_context = context;
    st = det_fit_run(context, &trial, model, &options);
    det_close(context);
    return st;
}

static void world_begin(struct world *w)
{
    world_make(w);
    CHECK_OK(io_mkdir(w->io, "/task/run", true, &test_err));
}

/* Like the platform: runs it again from the latest checkpoint until it is complete. */
static void fit_through(struct world *w, struct model *model, int64_t dies_at)
{
    model->dies_at = dies_at;
    if (fit(w, model) == DET_OK)
        return;
    *model = (struct model){.dies_at = -1, .trained = model->trained};
    CHECK_OK(fit(w, model));
}

/* The training curve as text: the last report for each step, so repeated batches count
 * once. */
static void curve(struct world *w, struct buf *out)
{
    struct ring_reader *reader = world_reader(w, "/task/reports");
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char lines[64][64] = {{0}};

    for (;;) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
        struct report_metrics metrics;
        struct ring_batch batch;
        struct report report;
        size_t used;

        buf_clear(&bytes);
        CHECK_OK(ring_read(reader, 1, &bytes, &batch, &test_err));
        if (batch.first > batch.last)
            break;
        CHECK_OK(report_decode(bytes.data, bytes.len, &report, &used, &test_err));
        if (report.kind != REPORT_METRICS)
            continue;
        CHECK_OK(report_metrics_decode(report.payload, report.len, &mem, &metrics,
                                       &test_err));
        (void)snprintf(lines[metrics.steps * 2 + (*metrics.group == 'v')], 64,
                       "%.*s %d %a\n", (int)metrics.group_len, metrics.group,
                       (int)metrics.steps, metrics.value[0].number);
    }
    ring_reader_close(reader);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        buf_puts(out, lines[i]);
}

TEST(a_training_reports_validates_and_saves_when_it_is_due)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct model model = {.dies_at = -1};
    struct world w;

    world_begin(&w);
    CHECK_OK(fit(&w, &model));
    CHECK_EQ(model.trained, 15);
    CHECK_STR(model.story, "epoch save validated save epoch save validated epoch save "
                           "validated save ");
    curve(&w, &text);
    CHECK_HAS(text.data, "training 3 ");
    CHECK_HAS(text.data, "training 15 ");
    CHECK_HAS(text.data, "validation 10 ");
    CHECK_OK(fit(&w, &model)); /* it is complete: no batch is trained */
    CHECK_EQ(model.trained, 15);
    world_end(&w);
}

TEST(killed_at_any_batch_it_ends_with_the_same_bits_and_the_same_curve)
{
    CLEANUP(buf_done) struct buf calm = BUF_INIT;
    struct model undisturbed = {.dies_at = -1};
    struct world w;

    world_begin(&w);
    CHECK_OK(fit(&w, &undisturbed));
    curve(&w, &calm);
    world_end(&w);
    for (int64_t at = 0; at < 15; at++) {
        CLEANUP(buf_done) struct buf rough = BUF_INIT;
        struct model model = {0};

        world_begin(&w);
        fit_through(&w, &model, at);
        CHECK_EQ(model.loads, at >= 4); /* the first checkpoint */
        CHECK(!memcmp(model.weight, undisturbed.weight, sizeof(model.weight)));
        curve(&w, &rough);
        CHECK_STR(rough.data, calm.data);
        world_end(&w);
    }
}

/* Wherever memory runs out, the run fails or succeeds; the next one ends as if nothing
 * had happened.  `died_at`: where the run before died, from which this one continues.
 */
static bool survives_nomem(int64_t nth, int64_t died_at,
                           const struct model *undisturbed)
{
    struct model model = {.dies_at = died_at};
    struct world w;
    bool fired;
    det_status st;

    world_begin(&w);
    if (died_at >= 0)
        CHECK_EQ(fit(&w, &model), DET_FAILED);
    model = (struct model){.dies_at = -1};
    the_context = world_open(&w);
    fault_arm(FAULT_MEMORY, nth);
    st = det_fit_run(the_context, &trial, &model, &options);
    fired = fault_disarm(FAULT_MEMORY);
    if (st)
        CHECK_EQ(st, DET_NOMEM);
    CHECK(!st || (fired && *det_context_error(the_context)));
    det_close(the_context);
    if (st) {
        model = (struct model){.dies_at = -1};
        CHECK_OK(fit(&w, &model));
    }
    CHECK(!memcmp(model.weight, undisturbed->weight, sizeof(model.weight)));
    world_end(&w);
    return fired;
}

TEST(without_memory_a_training_stops_and_the_next_run_ends_with_the_same_bits)
{
    struct model undisturbed = {.dies_at = -1};
    struct world w;
    int64_t nth = 1;

    world_begin(&w);
    CHECK_OK(fit(&w, &undisturbed));
    world_end(&w);
    while (survives_nomem(nth, -1, &undisturbed))
        nth++;
    CHECK(nth > 50);
    nth = 1;
    while (survives_nomem(nth, 13, &undisturbed))
        nth++;
    CHECK(nth > 50);
}

TEST(the_configuration_decides_where_it_says_something)
{
    struct model model = {.dies_at = -1};
    struct world w;

    world_begin(&w);
    world_set(
        &w, "DET_EXPERIMENT_CONFIG",
        "{\"searcher\":{\"max_length\":{\"batches\":7},\"metric\":\"loss\"},"
        "\"min_checkpoint_period\":{\"batches\":0},"
        "\"checkpoint_storage\":{\"type\":\"shared_fs\",\"host_path\":\"/store\"}}");
    CHECK_OK(fit(&w, &model));
    CHECK_EQ(model.trained, 7);
    world_end(&w);
}

TEST(options_are_configured_and_the_rest_stays)
{
    det_trainer_options said = {.size = sizeof(said),
                                .max_length = {DET_BATCHES, 100},
                                .checkpoint_period = {DET_BATCHES, 3},
                                .records_per_batch = 0};
    struct world w;
    det_context *context;

    world_begin(&w);
    world_set(&w, "DET_EXPERIMENT_CONFIG",
              "{\"searcher\":{\"max_length\":{\"epochs\":7},\"metric\":\"loss\","
              "\"smaller_is_better\":false},\"min_validation_period\":5,"
              "\"checkpoint_policy\":\"all\",\"records_per_epoch\":96}");
    world_set(&w, "DET_HPARAMS", "{\"global_batch_size\":32}");
    context = world_open(&w);
    CHECK_OK(det_trainer_configure(context, &said));
    CHECK_EQ(said.max_length.unit, DET_EPOCHS);
    CHECK_EQ(said.max_length.count, 7);
    CHECK_EQ(said.validation_period.unit, DET_BATCHES);
    CHECK_EQ(said.validation_period.count, 5);
    CHECK_EQ(said.checkpoint_period.count, 3);
    CHECK_EQ(said.keep, DET_KEEP_ALL);
    CHECK(said.larger_is_better);
    CHECK_EQ(said.size, sizeof(said));

    /* of an older caller, with a shorter struct */
    said.size = offsetof(det_trainer_options, keep);
    said.keep = DET_KEEP_NONE;
    CHECK_OK(det_trainer_configure(context, &said));
    CHECK_EQ(said.keep, DET_KEEP_NONE);
    said.size = 0;
    CHECK_EQ(det_trainer_configure(context, &said), DET_INVALID);
    det_close(context);
    world_end(&w);
}

TEST(what_makes_no_sense_is_told)
{
    det_trial empty = {.size = sizeof(empty)};
    struct world w;
    det_context *context;

    world_begin(&w);
    context = world_open(&w);
    CHECK_EQ(det_fit_run(context, &empty, NULL, &options), DET_INVALID);
    CHECK_HAS(det_context_error(context), "train_batch");
    CHECK_EQ(det_fit_run(context, &trial, NULL, NULL), DET_INVALID);
    CHECK_HAS(det_context_error(context), "max_length");
    det_close(context);
    world_end(&w);
}

TEST(a_damaged_state_is_named)
{
    struct model model = {.dies_at = 9};
    struct world w;
    const char **names;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    bool is_found = false;

    world_begin(&w);
    CHECK_EQ(fit(&w, &model), DET_FAILED);
    CHECK_OK(io_list(w.io, "/store/below", &mem, &names, &test_err));
    for (; *names; names++) {
        char path[256];

        (void)snprintf(path, sizeof(path), "/store/below/%s/fit.det", *names);
        is_found = is_found || world_has(&w, path);
        world_file(&w, path, "random 0123456789abcdef\nnonsense\n");
    }
    CHECK(is_found);
    model.dies_at = -1;
    CHECK_EQ(fit(&w, &model), DET_CORRUPT); /* the manifest does not match */
    world_end(&w);
}

/* ---- checkpoints behind the training's back -------------------------------------- */

/* The disk is full from the second checkpoint on. */
static det_status save_then_full(void *self, det_checkpoint *checkpoint)
{
    struct model *model = self;

    if (strstr(model->story, "save"))
        io_memory_limit(the_context->world.io, 1);
    return save(self, checkpoint);
}

static det_status saved(void *self, det_fit *fit, const char *uuid)
{
    char word[64];

    (void)snprintf(word, sizeof(word), "saved@%d", (int)det_fit_batches(fit));
    CHECK_EQ(strlen(uuid), DET_UUID_SIZE - 1);
    tell(self, word);
    return DET_OK;
}

TEST(a_full_disk_ends_the_training_at_the_next_boundary_with_one_sentence)
{
    struct world calm, w;
    struct model undisturbed = {0}, model = {.dies_at = -1};
    det_trial full = trial;
    det_context *context;

    world_begin(&calm);
    fit_through(&calm, &undisturbed, -1);
    world_end(&calm);

    world_begin(&w);
    full.save = save_then_full;
    full.saved = saved;
    context = the_context = world_open(&w);
    CHECK_EQ(det_fit_run(context, &full, &model, &options), DET_FULL);
    CHECK_HAS(det_context_error(context), " was not saved: ");
    /* Saved after 4 and 5, collected after 5 and 6. */
    CHECK_EQ(model.trained, 6);
    CHECK_HAS(model.story, "saved@5");
    io_memory_limit(w.io, 0);
    det_close(context);

    memset(model.weight, 0, sizeof(model.weight));
    fit_through(&w, &model, -1); /* from the one before */
    CHECK_EQ(model.loads, 1);
    CHECK(!memcmp(model.weight, undisturbed.weight, sizeof(model.weight)));
    world_end(&w);
}

/* ---- enough ---------------------------------------------------------------------- */

static det_status fit_for(struct world *w, struct model *model, int64_t epochs)
{
    det_trainer_options longer = options;
    det_context *context = world_open(w);
    det_status st;

    longer.max_length.count = epochs;
    the_context = context;
    st = det_fit_run(context, &trial, model, &longer);
    det_close(context);
    return st;
}

TEST(a_training_that_had_enough_is_complete_when_it_is_run_again)
{
    struct model model = {.dies_at = -1, .enough_at = 6};
    struct world w;

    world_begin(&w);
    CHECK_OK(fit(&w, &model));
    CHECK_EQ(model.trained, 7);
    model.enough_at = 0;
    CHECK_OK(fit(&w, &model));
    CHECK_EQ(model.trained, 7);
    CHECK_EQ(model.loads, 1);

    CHECK_OK(fit_for(&w, &model, 4)); /* another length is another training */
    CHECK_EQ(model.trained, 20);
    world_end(&w);
}

TEST(that_it_had_enough_is_not_forgotten_when_it_is_killed_before_the_next_batch)
{
    struct model calm = {.dies_at = -1, .enough_valid_at = 5};
    struct model model = {.dies_at = 5, .enough_valid_at = 5};
    struct world w;

    world_begin(&w);
    CHECK_OK(fit(&w, &calm));
    CHECK_EQ(calm.trained, 6);
    world_end(&w);

    world_begin(&w);
    CHECK_EQ(fit(&w, &model), DET_FAILED);
    model = (struct model){.dies_at = -1, .trained = model.trained};
    CHECK_OK(fit(&w, &model)); /* saved after 5, after the call of det_fit_stop() */
    CHECK_EQ(model.trained, 6);
    CHECK(!memcmp(model.weight, calm.weight, sizeof(model.weight)));
    world_end(&w);
}
