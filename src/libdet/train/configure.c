/* SPDX-License-Identifier: Apache-2.0 */
/* configure.c - merges the experiment's configuration with the options of the program.
 * The C loop, Keras and PyTorch all use it. */
#include <string.h>

#include "base/compiler.h"
#include "data/json/json.h"
#include "det/trainer.h"
#include "libdet/context.h"
#include "libdet/train/length.h"

/* Uses the configuration's value if it is valid; a plain number counts batches. */
static void prefer_config(det_length *length, const struct json *config,
                          const char *path)
{
    det_length said = length_read(json_path(config, path));

    if (said.unit == DET_NO_UNIT)
        said.unit = DET_BATCHES;
    if (said.count > 0)
        *length = said;
}

static int keep_of(const struct json *config, int otherwise)
{
    const char *policy = json_str(json_get(config, "checkpoint_policy"), "");

    if (!strcmp(policy, "best"))
        return DET_KEEP_BEST;
    if (!strcmp(policy, "all"))
        return DET_KEEP_ALL;
    return strcmp(policy, "none") ? otherwise : DET_KEEP_NONE;
}

static void merge_config(const det_context *context, det_trainer_options *merged)
{
    const struct json *config = context->config;
    int64_t records;

    prefer_config(&merged->max_length, config, "searcher.max_length");
    prefer_config(&merged->validation_period, config, "min_validation_period");
    prefer_config(&merged->checkpoint_period, config, "min_checkpoint_period");
    prefer_config(&merged->reporting_period, config, "scheduling_unit");
    merged->keep = keep_of(config, merged->keep);
    merged->initial_validation = json_bool(
        json_get(config, "perform_initial_validation"), merged->initial_validation);
    merged->larger_is_better = !json_bool(
        json_path(config, "searcher.smaller_is_better"), !merged->larger_is_better);
    if (!merged->records_per_batch)
        merged->records_per_batch =
            json_i64(json_get(context->hparams, "global_batch_size"), 0);
    records = json_i64(json_get(config, "records_per_epoch"), 0);
    if (!merged->batches_per_epoch && records > 0 && merged->records_per_batch > 0)
        merged->batches_per_epoch =
            MAX(records / merged->records_per_batch, INT64_C(1));
}

det_status det_trainer_configure(det_context *context, det_trainer_options *options)
{
    size_t size = options ? MIN(options->size, sizeof(*options)) : 0;
    det_trainer_options merged = {0};
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && size < sizeof(options->size))
        st = err_set(&err, DET_INVALID,
                     "the options of a trainer have a wrong size: set it to "
                     "sizeof(det_trainer_options)");
    if (st)
        return context_end(context, st, &err);
    memcpy(&merged, options, size);
    merge_config(context, &merged);
    memcpy(options, &merged, size); /* includes the caller's own size */
    return DET_OK;
}
