/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - a convolutional network learns to read digits that the program draws
 * itself.
 *
 * The training loop is libdet's: it reports, validates, saves, resumes and stops.  This
 * file tells it what a batch is, what the model's state is, and where the data comes
 * from:
 *
 *   draw.c   a picture is a function of a seed and a number: nothing is downloaded
 *   net.c    the network, forwards and backwards, over BLAS
 *
 * Killed at any moment and resumed, it ends with the same bits:
 *
 *   det resume-proof digits.yaml . */
#include <det/det.h>

#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "net.h"

enum { FILTERS_MOST = 64, BATCH_MOST = 1024 };
enum { HELD_OUT = 1000, HELD_OUT_BATCH = 100 }; /* pictures that are never trained on */

/* ---- data --------------------------------------------------------------------------
 */

struct paper {
    uint64_t seed;
    int64_t first; /* the number of its first picture */
    float noise;
};

/* Called by the loader, from threads of its own: draws while the network trains. */
static det_status draw(void *arg, int64_t index, void *const *columns, char *error,
                       size_t error_size)
{
    const struct paper *paper = (const struct paper *)arg;
    int *label = (int *)columns[1];

    (void)error;
    (void)error_size;
    *label = draw_digit(paper->seed, paper->first + index, paper->noise,
                        (float *)columns[0]);
    return DET_OK;
}

struct data {
    struct paper paper;
    det_dataset *dataset;
    det_loader *loader;
};

static int data_open(struct data *data, int64_t items, int64_t batch_size, int shuffle)
{
    static const det_column columns[] = {{"picture", NULL, PIXELS * sizeof(float)},
                                         {"label", NULL, sizeof(int)}};
    det_sequence sequence = {0};
    det_loader_options options = {0};
    char error[256] = "";

    sequence.size = sizeof(sequence);
    options.size = sizeof(options);
    sequence.items = items;
    sequence.columns = columns;
    sequence.column_count = 2;
    sequence.item = draw;
    sequence.arg = &data->paper;
    options.batch_size = batch_size;
    options.shuffle = shuffle;
    options.seed = data->paper.seed;
    options.drop_last = 1;
    options.workers = 1;
    if (det_dataset_sequence(&sequence, &data->dataset, error, sizeof(error)) ==
            DET_OK &&
        det_loader_new(data->dataset, &options, &data->loader, error, sizeof(error)) ==
            DET_OK)
        return 1;
    fprintf(stderr, "ERROR: %s\n", error);
    return 0;
}

static void data_close(struct data *data)
{
    det_loader_free(data->loader);
    det_dataset_free(data->dataset);
}

/* Batch number `position`, wherever the loader is. */
static det_status data_batch(struct data *data, int64_t position,
                             const det_batch **ret_batch)
{
    det_status status = DET_OK;

    if (det_loader_position(data->loader) != position)
        status = det_loader_seek(data->loader, position);
    if (status == DET_OK)
        status = det_loader_next(data->loader, ret_batch);
    if (status != DET_OK)
        fprintf(stderr, "ERROR: %s\n", det_loader_error(data->loader));
    return status;
}

/* ---- the trial ---------------------------------------------------------------------
 */

struct reader {
    struct net net;
    struct data training;
    struct data held_out;
    double lr;
    double momentum;
};

static struct net_score look(struct reader *reader, const det_batch *batch, int learns)
{
    return net_look(&reader->net, (const float *)batch->columns[0].data,
                    (const int *)batch->columns[1].data, (int)batch->count, learns);
}

static det_status report(det_fit *fit, const struct net_score *score)
{
    det_status status = det_fit_metric(fit, "loss", score->loss);

    return status == DET_OK ? det_fit_metric(fit, "accuracy", score->right) : status;
}

static det_status train_batch(void *self, det_fit *fit)
{
    struct reader *reader = (struct reader *)self;
    const det_batch *batch;
    struct net_score score;
    det_status status = data_batch(&reader->training, det_fit_batches(fit), &batch);

    if (status != DET_OK)
        return status;
    score = look(reader, batch, 1);
    net_step(&reader->net, (int)batch->count, (float)reader->lr,
             (float)reader->momentum);
    return report(fit, &score);
}

static det_status evaluate_batch(void *self, det_fit *fit, int64_t number)
{
    struct reader *reader = (struct reader *)self;
    const det_batch *batch;
    struct net_score score;
    det_status status = data_batch(&reader->held_out, number, &batch);

    if (status != DET_OK)
        return status;
    score = look(reader, batch, 0);
    return report(fit, &score);
}

/* Weights and momentum lie one behind the other. */
static det_status save(void *self, det_checkpoint *checkpoint)
{
    const struct net *net = &((struct reader *)self)->net;

    return det_checkpoint_put(checkpoint, "network", net->weight,
                              2 * net->count * sizeof(float));
}

static det_status load(void *self, const char *directory)
{
    struct net *net = &((struct reader *)self)->net;
    char path[4096];
    size_t got = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/network", directory);
    file = fopen(path, "rb");
    if (file) {
        got = fread(net->weight, sizeof(float), 2 * net->count, file);
        fclose(file);
    }
    if (got == 2 * net->count)
        return DET_OK;
    fprintf(stderr, "ERROR: '%s' is not a network of this size\n", path);
    return DET_CORRUPT;
}

/* ---- putting it together -----------------------------------------------------------
 */

static int run(det_context *det, struct reader *reader)
{
    det_trainer_options periods = {0};
    det_trial trial = {0};
    det_status status;

    periods.size = sizeof(periods);
    trial.size = sizeof(trial);
    trial.train_batch = train_batch;
    trial.evaluate_batch = evaluate_batch;
    trial.evaluate_batches = HELD_OUT / HELD_OUT_BATCH;
    trial.save = save;
    trial.load = load;
    periods.max_length.unit =
        DET_EPOCHS; /* where no configuration says something else */
    periods.max_length.count = 4;
    periods.batches_per_epoch = det_loader_epoch_batches(reader->training.loader);
    status = det_fit_run(det, &trial, reader, &periods);
    if (status != DET_OK)
        fprintf(stderr, "ERROR: %s\n", det_context_error(det));
    return status == DET_OK;
}

static int begin(det_context *det, struct reader *reader)
{
    uint64_t seed = (uint64_t)det_get_info(det)->seed;
    int64_t filters, batch_size, pictures;
    double noise;

    if (det_hparam_double(det, "lr", &reader->lr) != DET_OK ||
        det_hparam_double(det, "momentum", &reader->momentum) != DET_OK ||
        det_hparam_double(det, "noise", &noise) != DET_OK ||
        det_hparam_int(det, "filters", &filters) != DET_OK ||
        det_hparam_int(det, "pictures", &pictures) != DET_OK ||
        det_hparam_int(det, "global_batch_size", &batch_size) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", det_context_error(det));
        return 0;
    }
    if (filters < 1 || filters > FILTERS_MOST || batch_size < 1 ||
        batch_size > BATCH_MOST) {
        fprintf(stderr, "ERROR: filters must be 1 to %d, global_batch_size 1 to %d\n",
                FILTERS_MOST, BATCH_MOST);
        return 0;
    }
    if (!net_init(&reader->net, (int)filters)) {
        fprintf(stderr, "ERROR: no memory for %d filters\n", (int)filters);
        return 0;
    }
    net_begin(&reader->net, seed);
    reader->training.paper.seed = reader->held_out.paper.seed = seed;
    reader->training.paper.noise = reader->held_out.paper.noise = (float)noise;
    reader->training.paper.first = HELD_OUT;
    return data_open(&reader->training, pictures, batch_size, 1) &&
           data_open(&reader->held_out, HELD_OUT, HELD_OUT_BATCH, 0);
}

int main(void)
{
    char error[512] = "";
    det_init_options options = {0};
    struct reader reader;
    det_context *det;
    int is_fine;

    options.size = sizeof(options);
    memset(&reader, 0, sizeof(reader));
    setvbuf(stdout, NULL, _IOLBF, 0);
    options.error = error;
    options.error_size = sizeof(error);
    options.hparams =
        "{\"lr\": 0.02, \"momentum\": 0.9, \"filters\": 6, \"noise\": 0.5,"
        " \"pictures\": 4096, \"global_batch_size\": 32}"; /* off a cluster */
    if (det_init(&options, &det) != DET_OK) {
        fprintf(stderr, "ERROR: %s\n", error);
        return 1;
    }
    is_fine = begin(det, &reader) && run(det, &reader);
    data_close(&reader.training);
    data_close(&reader.held_out);
    net_done(&reader.net);
    det_close(det);
    return !is_fine;
}
