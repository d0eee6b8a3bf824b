/* SPDX-License-Identifier: Apache-2.0 */
/* A training that waits for its data most of the time, and says nothing of a profiler:
 * the experiment's configuration does. */
#include <stdio.h>
#include <time.h>

#include "det/det.h"

enum { ITEMS = 20, DATA_MS = 100, STEP_MS = 5 };

static void take(long ms)
{
    struct timespec pause = {0, ms * 1000000};

    nanosleep(&pause, NULL);
}

static det_status make_item(void *arg, int64_t index, void *const *columns, char *error,
                            size_t error_size)
{
    (void)arg, (void)index, (void)columns, (void)error, (void)error_size;
    take(DATA_MS);
    return DET_OK;
}

static det_status train_batch(void *self, det_fit *fit)
{
    const det_batch *batch;
    det_status status = det_loader_next(self, &batch);

    take(STEP_MS);
    return status ? status : det_fit_metric(fit, "loss", 1);
}

static det_status evaluate(void *self, det_fit *fit)
{
    (void)self;
    return det_fit_metric(fit, "loss", 1);
}

int main(void)
{
    det_loader_options loading = {sizeof(loading)};
    det_trainer_options options = {sizeof(options)};
    det_sequence sequence = {sizeof(sequence)};
    det_trial trial = {sizeof(trial)};
    det_dataset *dataset;
    det_loader *loader;
    det_context *det;
    char error[256];

    if (det_init(NULL, &det))
        return 1;
    sequence.items = ITEMS;
    sequence.item = make_item;
    loading.batch_size = 1;
    loading.context = det;
    if (det_dataset_sequence(&sequence, &dataset, error, sizeof(error)) ||
        det_loader_new(dataset, &loading, &loader, error, sizeof(error))) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    options.max_length.unit = DET_BATCHES;
    options.max_length.count = ITEMS;
    trial.train_batch = train_batch;
    trial.evaluate = evaluate;
    if (det_fit_run(det, &trial, loader, &options)) {
        fprintf(stderr, "%s\n", det_context_error(det));
        return 1;
    }
    det_loader_free(loader);
    det_dataset_free(dataset);
    det_close(det);
    return 0;
}
