/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit_ranks.c - the loop over several ranks: one curve, one checkpoint, one end; a
 * failure of one rank reaches all. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "det/fit.h"
#include "libdet/context.h"
#include "libdet/ring/ring_reader.h"
#include "tests/unit/libdet/ranks.h"
#include "wire/report.h"

enum { SIZE = 4, EVALUATED = 6 };

/* Each rank adds its own random number; the weight is the sum over all. */
struct model {
    struct rank *rank;
    const char *directory;
    det_trainer_options options;
    double weight;
    double validation; /* the last */
    int64_t dies_at;   /* -1: never */
    int64_t stops_at;
    int busy_saves; /* the number of saves that fail with DET_BUSY */
    int64_t trained;
    int builds, saves, validations, evaluated;
    char uuid[DET_UUID_SIZE];
    char error[512];
};

static det_status build(void *self, det_fit *fit)
{
    struct model *model = self;

    model->builds++;
    return det_fit_group(fit) == model->options.group && model->trained == 0
               ? DET_OK
               : DET_FAILED;
}

static det_status train_batch(void *self, det_fit *fit)
{
    struct model *model = self;
    double own = det_fit_uniform(fit), sum = 0;
    const det_part *parts;
    det_status st;

    if (det_fit_batches(fit) == model->dies_at)
        return DET_FULL;
    if (det_fit_batches(fit) == model->stops_at)
        det_fit_stop(fit);
    st = det_distributed_allgather(det_fit_group(fit), &own, sizeof(own), &parts);
    if (st)
        return st;
    for (int i = 0; i < model->rank->options.ranks.size; i++)
        sum += *(const double *)parts[i].data;
    model->weight = 0.5 * model->weight + sum;
    model->trained++;
    return det_fit_metric(fit, "loss", own);
}

static det_status evaluate_batch(void *self, det_fit *fit, int64_t batch)
{
    struct model *model = self;

    model->evaluated++;
    return det_fit_metric(fit, "error", model->weight + (double)batch);
}

static det_status save(void *self, det_checkpoint *checkpoint)
{
    struct model *model = self;

    model->saves++;
    if (model->busy_saves-- > 0)
        return DET_BUSY;
    return det_checkpoint_put(checkpoint, "weight", &model->weight,
                              sizeof(model->weight));
}

static det_status load(void *self, const char *directory)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct model *model = self;
    char path[512];
    det_status st;

    (void)snprintf(path, sizeof(path), "%s/weight", directory);
    st = io_read_file(io_system(), path, &bytes, NULL);
    if (!st && bytes.len == sizeof(model->weight))
        memcpy(&model->weight, bytes.data, bytes.len);
    return st;
}

static det_status validated(void *self, det_fit *fit, const det_metric *metrics,
                            size_t count)
{
    struct model *model = self;

    (void)fit;
    model->validations++;
    model->validation = count == 1 ? metrics[0].value : -1;
    return DET_OK;
}

static det_status saved(void *self, det_fit *fit, const char *uuid)
{
    struct model *model = self;

    (void)fit;
    (void)snprintf(model->uuid, sizeof(model->uuid), "%s", uuid);
    return DET_OK;
}

static const det_trial trial = {
    .size = sizeof(trial),
    .build = build,
    .train_batch = train_batch,
    .evaluate_batch = evaluate_batch,
    .evaluate_batches = EVALUATED,
    .save = save,
    .load = load,
    .validated = validated,
    .saved = saved,
};

/* Like a program: rank 0 starts the run, the others follow. */
static void fit(struct rank *rank)
{
    struct model *model = rank->arg;
    det_init_options options = {.size = sizeof(options),
                                .flags = rank->options.ranks.rank ? DET_INIT_FOLLOW : 0,
                                .directory = model->directory,
                                .config = "{\"searcher\":{\"metric\":\"error\"}}",
                                .error = model->error,
                                .error_size = sizeof(model->error)};
    det_context *context;

    if (rank->options.ranks.rank)
        EXPECT(rank, !det_distributed_barrier(rank->group));
    rank->last = det_init(&options, &context);
    EXPECT(rank, !rank->last);
    if (!rank->options.ranks.rank)
        EXPECT(rank, !det_distributed_barrier(rank->group));
    if (rank->last)
        return;
    model->options.group = rank->group;
    rank->last = det_fit_run(context, &trial, model, &model->options);
    (void)snprintf(model->error, sizeof(model->error), "%s",
                   det_context_error(context));
    det_close(context);
}

static const det_trainer_options usual = {
    .size = sizeof(usual),
    .max_length = {DET_BATCHES, 12},
    .validation_period = {DET_BATCHES, 6},
    .checkpoint_period = {DET_BATCHES, 4},
    .reporting_period = {DET_BATCHES, 3},
};

static void make(struct rank *ranks, struct model *models, const char *directory)
{
    ranks_init(ranks, SIZE, 1, 0);
    for (int i = 0; i < SIZE; i++) {
        models[i] = (struct model){.rank = &ranks[i],
                                   .directory = directory,
                                   .options = usual,
                                   .dies_at = -1,
                                   .stops_at = -1};
        ranks[i].arg = &models[i];
    }
}

static void end(struct rank *ranks)
{
    ranks_close(ranks, SIZE);
}

static void remove_all(const char *directory)
{
    CHECK_OK(io_remove_tree(io_system(), directory, &test_err));
}

/* The reports as lines, each step of a group once. */
static void curve(const char *directory, struct buf *out)
{
    char path[256];
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    struct ring_config config = {.io = io_system(), .dir = path};
    struct ring_reader *reader;

    (void)snprintf(path, sizeof(path), "%s/reports", directory);
    CHECK_OK(ring_reader_open(&config, &reader, &test_err));
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
        buf_printf(out, "%.*s %d %.*s %d\n", (int)metrics.group_len, metrics.group,
                   (int)metrics.steps, (int)metrics.value[0].name_len,
                   metrics.value[0].name, (int)metrics.count);
    }
    ring_reader_close(reader);
}

TEST(ranks_have_one_curve_one_checkpoint_and_the_same_numbers)
{
    char directory[] = "/tmp/det-fit-XXXXXX";
    CLEANUP(buf_done) struct buf lines = BUF_INIT;
    struct model models[SIZE];
    struct rank ranks[SIZE];
    int saves = 0, evaluated = 0;

    CHECK(mkdtemp(directory));
    make(ranks, models, directory);
    ranks_run(ranks, SIZE, fit);
    ranks_check(ranks, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_EQ(ranks[i].last, DET_OK);
        CHECK_EQ(models[i].trained, 12);
        CHECK_EQ(models[i].builds, 1);
        CHECK_EQ(models[i].validations, 2);
        CHECK(!memcmp(&models[i].weight, &models[0].weight, sizeof(double)));
        CHECK(!memcmp(&models[i].validation, &models[0].validation, sizeof(double)));
        CHECK_STR(models[i].uuid, models[0].uuid);
        saves += models[i].saves;
        evaluated += models[i].evaluated;
    }
    CHECK(models[0].uuid[0]);
    /* each batch of the validation was evaluated once, by one rank */
    CHECK_EQ(evaluated, 2 * EVALUATED);
    CHECK(models[0].validation > models[0].weight + 2.49 &&
          models[0].validation < models[0].weight + 2.51);
    CHECK_EQ(saves, SIZE * models[0].saves);
    curve(directory, &lines);
    CHECK_STR(lines.data, "training 3 loss 1\ntraining 6 loss 1\nvalidation 6 error 1\n"
                          "training 9 loss 1\ntraining 12 loss 1\n"
                          "validation 12 error 1\n");
    end(ranks);
    remove_all(directory);
}

TEST(a_rank_that_fails_takes_all_with_it_and_the_next_run_ends_with_the_same_bits)
{
    char calm[] = "/tmp/det-fit-XXXXXX";
    struct model undisturbed[SIZE];
    struct rank ranks[SIZE];

    setenv("DET_TRIAL_SEED", "7", 1);
    CHECK(mkdtemp(calm));
    make(ranks, undisturbed, calm);
    ranks_run(ranks, SIZE, fit);
    end(ranks);
    remove_all(calm);
    for (int64_t at = 0; at < 12; at += 3) {
        char rough[] = "/tmp/det-fit-XXXXXX";
        struct model models[SIZE];
        int victim = (int)(at / 3);

        CHECK(mkdtemp(rough));
        make(ranks, models, rough);
        models[victim].dies_at = at;
        ranks_run(ranks, SIZE, fit); /* the others are in the model's own allgather */
        for (int i = 0; i < SIZE; i++)
            CHECK_EQ(ranks[i].last, DET_FULL);
        end(ranks);
        make(ranks, models, rough);
        ranks_run(ranks, SIZE, fit);
        ranks_check(ranks, SIZE);
        for (int i = 0; i < SIZE; i++) {
            CHECK_EQ(ranks[i].last, DET_OK);
            CHECK(!memcmp(&models[i].weight, &undisturbed[i].weight, sizeof(double)));
        }
        end(ranks);
        remove_all(rough);
    }
    unsetenv("DET_TRIAL_SEED");
}

static det_status fail_to_evaluate(void *self, det_fit *fit, int64_t batch)
{
    const struct model *model = self;

    (void)fit;
    (void)batch;
    return model->rank->options.ranks.rank == 2 ? DET_FULL : DET_OK;
}

static void fit_that_fails(struct rank *rank)
{
    struct model *model = rank->arg;
    det_trial failing = trial;
    det_init_options options = {.size = sizeof(options), .directory = model->directory};
    det_context *context;

    failing.evaluate_batch = fail_to_evaluate;
    rank->last = det_init(&options, &context);
    EXPECT(rank, !rank->last);
    if (rank->last)
        return;
    model->options.group = rank->group;
    rank->last = det_fit_run(context, &failing, model, &model->options);
    (void)snprintf(model->error, sizeof(model->error), "%s",
                   det_context_error(context));
    det_close(context);
}

TEST(what_one_fails_with_is_told_to_all_with_its_rank)
{
    char directory[] = "/tmp/det-fit-XXXXXX";
    struct model models[SIZE];
    struct rank ranks[SIZE];

    CHECK(mkdtemp(directory));
    make(ranks, models, directory);
    ranks_run(ranks, SIZE, fit_that_fails);
    for (int i = 0; i < SIZE; i++) {
        CHECK_EQ(ranks[i].last, DET_FULL);
        CHECK_EQ(models[i].trained, 6);
        if (i != 2)
            CHECK_STR(models[i].error, "rank 2: no space left on the disk");
    }
    end(ranks);
    remove_all(directory);
}

TEST(whoever_has_had_enough_stops_all_at_the_same_batch)
{
    for (int who = 0; who < SIZE; who += 3) {
        char directory[] = "/tmp/det-fit-XXXXXX";
        struct model models[SIZE];
        struct rank ranks[SIZE];

        CHECK(mkdtemp(directory));
        make(ranks, models, directory);
        models[who].stops_at = 4;
        ranks_run(ranks, SIZE, fit);
        ranks_check(ranks, SIZE);
        for (int i = 0; i < SIZE; i++) {
            CHECK_EQ(ranks[i].last, DET_OK);
            CHECK_EQ(models[i].trained, 5);
            CHECK(models[i].uuid[0]);
        }
        end(ranks);
        make(ranks, models, directory); /* it is complete */
        ranks_run(ranks, SIZE, fit);
        ranks_check(ranks, SIZE);
        for (int i = 0; i < SIZE; i++) {
            CHECK_EQ(ranks[i].last, DET_OK);
            CHECK_EQ(models[i].trained, 0);
        }
        end(ranks);
        remove_all(directory);
    }
}

TEST(a_save_for_which_one_rank_has_no_room_now_is_left_out_by_all)
{
    char directory[] = "/tmp/det-fit-XXXXXX";
    struct model models[SIZE];
    struct rank ranks[SIZE];

    CHECK(mkdtemp(directory));
    make(ranks, models, directory);
    models[1].busy_saves = 1;
    ranks_run(ranks, SIZE, fit);
    ranks_check(ranks, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CHECK_EQ(ranks[i].last, DET_OK);
        CHECK_EQ(models[i].trained, 12);
        CHECK_EQ(models[i].saves, models[0].saves);
        CHECK_STR(models[i].uuid, models[0].uuid);
    }
    end(ranks);
    remove_all(directory);
}

TEST(ranks_that_begin_elsewhere_are_told_so)
{
    char directory[] = "/tmp/det-fit-XXXXXX";
    char other[] = "/tmp/det-fit-XXXXXX";
    struct model models[SIZE];
    struct rank ranks[SIZE];

    CHECK(mkdtemp(directory));
    CHECK(mkdtemp(other));
    make(ranks, models, directory);
    ranks_run(ranks, SIZE, fit);
    end(ranks);
    make(ranks, models, other);
    models[1].directory = directory;
    ranks_run(ranks, SIZE, fit);
    for (int i = 0; i < SIZE; i++) {
        CHECK_EQ(ranks[i].last, DET_STATE);
        CHECK_HAS(models[i].error,
                  "rank 1 has trained 12 batches where rank 0 has trained 0");
    }
    end(ranks);
    remove_all(directory);
    remove_all(other);
}

/* ---- stopping -------------------------------------------------------------------- */

struct asking {
    det_context context; /* only its flag is used */
    int mode;
    int answer;
};

static void ask(struct rank *rank)
{
    struct asking *asking = rank->arg;

    rank->last = det_distributed_preempted(rank->group, &asking->context, asking->mode,
                                           &asking->answer);
}

static void ask_all(struct rank *ranks, struct asking *asking, int mode, int who)
{
    ranks_init(ranks, SIZE, 1, 0);
    for (int i = 0; i < SIZE; i++) {
        memset(&asking[i], 0, sizeof(asking[i]));
        atomic_store(&asking[i].context.is_preempted, i == who);
        asking[i].mode = mode;
        asking[i].answer = -1;
        ranks[i].arg = &asking[i];
    }
    ranks_run(ranks, SIZE, ask);
    ranks_close(ranks, SIZE);
}

TEST(who_asks_whether_to_stop_hears_what_the_mode_says)
{
    struct rank ranks[SIZE];
    static struct asking asking[SIZE];

    for (int who = 0; who < 2; who++) {
        ask_all(ranks, asking, DET_WORKERS_ASK_CHIEF, who);
        for (int i = 0; i < SIZE; i++)
            CHECK_EQ(asking[i].answer, who == 0);
        ask_all(ranks, asking, DET_WORKERS_ASK_MASTER, who);
        for (int i = 0; i < SIZE; i++)
            CHECK_EQ(asking[i].answer, i == who);
        ask_all(ranks, asking, DET_CHIEF_ONLY, who);
        CHECK_EQ(asking[0].answer, who == 0);
        for (int i = 1; i < SIZE; i++) {
            CHECK_EQ(ranks[i].last, DET_STATE);
            CHECK_HAS(ranks[i].error, "only rank 0 may ask");
        }
    }
    ask_all(ranks, asking, 7, 0);
    CHECK_EQ(ranks[0].last, DET_INVALID);
    CHECK_OK(det_distributed_preempted(NULL, &asking[0].context, DET_CHIEF_ONLY,
                                       &asking[0].answer));
    CHECK_EQ(asking[0].answer, 1);
}
