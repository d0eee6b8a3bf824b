/* SPDX-License-Identifier: Apache-2.0 */
/* experiment.c - an experiment's configuration, from text to a typed struct.
 *
 * The road of a submitted file:
 *
 *   parse, translate, normal forms        the file alone
 *   merge: file > template > task defaults > checkpoint storage
 *   check rows, hyperparameters, rules    everything, before anything is refused
 *   complete, read out                    only what passed
 *
 * A stored configuration is complete already and is only read out. */
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "config/config.h"
#include "config/forms.h"
#include "config/hparams.h"
#include "config/key.h"
#include "config/load.h"
#include "config/report.h"
#include "config/rules.h"
#include "config/translate.h"
#include "data/json.h"

/* ---- reading out ----------------------------------------------------------------- */

static uint32_t read_u32(const struct json *tree, const char *path)
{
    int64_t value = json_i64(json_path(tree, path), 0);

    return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

static const struct json *not_null(const struct json *value)
{
    return json_is_null(value) ? NULL : value;
}

static void read_resources(const struct json *tree, struct experiment_config *config)
{
    const struct json *resources = json_get(tree, "resources");

    config->slots_per_trial = read_u32(resources, "slots_per_trial");
    config->priority = read_u32(resources, "priority");
    config->max_slots = json_i64(json_get(resources, "max_slots"), -1);
    config->is_single_node = json_bool(json_get(resources, "is_single_node"), false);
    config->resource_pool = json_str(json_get(resources, "resource_pool"), "");
    if (!json_number(json_get(resources, "weight"), &config->weight))
        config->weight = 1;
}

static void read_searcher(const struct json *tree, struct experiment_config *config)
{
    const struct json *searcher = json_get(tree, "searcher");

    config->searcher = searcher;
    config->searcher_name = json_str(json_get(searcher, "name"), NULL);
    config->metric = json_str(json_get(searcher, "metric"), NULL);
    config->smaller_is_better =
        json_bool(json_get(searcher, "smaller_is_better"), true);
    config->source_trial_id = json_i64(json_get(searcher, "source_trial_id"), 0);
    config->source_checkpoint_uuid =
        json_str(json_get(searcher, "source_checkpoint_uuid"), NULL);
}

/* The directory below host_path, which storage_path may also name in full. */
static const char *shared_directory(const struct json *storage, struct arena *mem)
{
    const char *root = json_str(json_get(storage, "host_path"), NULL);
    const char *below = json_str(json_get(storage, "storage_path"), "");

    if (!root || !below[0])
        return root;
    return below[0] == '/' ? below : arena_printf(mem, "%s/%s", root, below);
}

static void read_storage(const struct json *tree, struct arena *mem,
                         struct experiment_config *config)
{
    const struct json *storage = json_get(tree, "checkpoint_storage");
    const char *type = json_str(json_get(storage, "type"), "");

    if (strcmp(type, "directory") == 0) {
        config->storage_kind = STORAGE_DIRECTORY;
        config->storage_directory = json_str(json_get(storage, "container_path"), NULL);
    } else if (strcmp(type, "shared_fs") == 0) {
        config->storage_kind = STORAGE_SHARED_FS;
        config->storage_directory = shared_directory(storage, mem);
    }

    config->checkpoint_storage = storage;
    config->save_experiment_best = read_u32(storage, "save_experiment_best");
    config->save_trial_best = read_u32(storage, "save_trial_best");
    config->save_trial_latest = read_u32(storage, "save_trial_latest");
}

/* What is left out cannot be run without: a tree that lacks it is damaged. */
static det_status read_out(const struct json *tree, const char *text, struct arena *mem,
                           struct experiment_config *ret_config, struct err *err)
{
    struct experiment_config config = {
        .tree = tree,
        .json = text,
        .name = json_str(json_get(tree, "name"), NULL),
        .description = json_str(json_get(tree, "description"), NULL),
        .labels = json_get(tree, "labels"),
        .entrypoint = not_null(json_get(tree, "entrypoint")),
        .hyperparameters = json_get(tree, "hyperparameters"),
        .seed = read_u32(tree, "reproducibility.experiment_seed"),
        .trial_seed = json_i64(json_path(tree, "reproducibility.trial_seed"), -1),
        .max_restarts = read_u32(tree, "max_restarts"),
        .preemption_timeout_s = json_i64(json_get(tree, "preemption_timeout"), -1),
        .log_retention_days =
            json_i64(json_path(tree, "retention_policy.log_retention_days"), -2),
        .environment_variables =
            json_path(tree, "environment.environment_variables.cpu"),
        .log_policies = json_get(tree, "log_policies"),
        .project = json_str(json_get(tree, "project"), ""),
        .workspace = json_str(json_get(tree, "workspace"), ""),
    };

    read_resources(tree, &config);
    read_searcher(tree, &config);
    read_storage(tree, mem, &config);
    if (mem->has_failed)
        return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
    if (!config.name || !config.searcher_name || !config.hyperparameters ||
        !json_str(json_get(config.checkpoint_storage, "type"), NULL))
        return err_set(err, DET_CORRUPT,
                       "the stored configuration is not complete: it needs name, "
                       "searcher, hyperparameters and checkpoint_storage");
    *ret_config = config;
    return DET_OK;
}

/* ---- merging --------------------------------------------------------------------- */

/* `base` below `over`, as if it had been written there; NULL `base`: nothing to do. */
static struct json *put_below(struct json *over, const struct json *base,
                              struct arena *mem, struct config_report *report)
{
    struct json *copy = json_is_null(base) ? NULL : json_copy(mem, base);

    if (!copy)
        return over;
    forms_forget_places(copy);
    config_translate(CONFIG_EXPERIMENT, copy, mem, report);
    forms_normalise(copy, mem);
    return config_merge(mem, over, copy);
}

static struct json *storage_default(const struct experiment_defaults *defaults,
                                    struct arena *mem)
{
    struct json *tree = json_new(mem, JSON_OBJECT);
    struct json *storage;

    if (defaults->checkpoint_storage) {
        storage = json_copy(mem, defaults->checkpoint_storage);
        json_set(mem, tree, "checkpoint_storage", storage);
    } else if (defaults->checkpoint_directory) {
        storage = json_set(mem, tree, "checkpoint_storage", json_new(mem, JSON_OBJECT));
        json_set(mem, storage, "type", json_new_str(mem, "shared_fs"));
        json_set(mem, storage, "host_path",
                 json_new_str(mem, defaults->checkpoint_directory));
    }
    return tree;
}

/* The leaves that no table knows: they differ from one experiment to the next. */
static struct json *own_defaults(const struct experiment_defaults *defaults,
                                 struct arena *mem)
{
    struct json *tree = json_new(mem, JSON_OBJECT);
    struct json *seed =
        json_set(mem, tree, "reproducibility", json_new(mem, JSON_OBJECT));

    json_set(mem, seed, "experiment_seed", json_new_i64(mem, defaults->seed));
    if (defaults->name)
        json_set(mem, tree, "name", json_new_str(mem, defaults->name));
    return tree;
}

/* NULL: out of memory. */
static struct json *merge_all(struct json *tree,
                              const struct experiment_defaults *defaults,
                              struct arena *mem, struct config_report *report)
{
    struct json *task = forms_of_task_defaults(defaults->task_container_defaults, mem);

    tree = put_below(tree, defaults->template_config, mem, report);
    if (tree)
        tree = put_below(tree, task, mem, report);
    if (tree)
        tree = put_below(tree, storage_default(defaults, mem), mem, report);
    if (tree)
        tree = put_below(tree, own_defaults(defaults, mem), mem, report);
    return mem->has_failed ? NULL : tree;
}

/* ---- the road -------------------------------------------------------------------- */

static void check_hparams(struct json *tree, struct arena *mem,
                          struct config_report *report)
{
    const char *searcher = json_str(json_path(tree, "searcher.name"), "");
    struct json *hparams = json_get(tree, "hyperparameters");

    if (!hparams || hparams->kind != JSON_OBJECT)
        return;
    hparams = hparams_check(hparams, strcmp(searcher, "grid") == 0, mem, report);
    json_set(mem, tree, "hyperparameters", hparams);
}

static struct json *complete(struct json *tree, struct arena *mem)
{
    struct key_table table = experiment_table();

    forms_add_log_policies(tree, mem);
    tree = key_complete(&table, tree, mem);
    if (!tree)
        return NULL;
    forms_sort(json_get(tree, "data"));
    forms_sort(json_path(tree, "environment.ports"));
    return tree;
}

det_status experiment_config_load(const char *text, size_t len,
                                  const struct experiment_defaults *defaults,
                                  struct arena *mem, struct config_report *report,
                                  struct experiment_config *ret_config, struct err *err)
{
    struct json *tree;
    det_status st = load_text(text, len, mem, report, &tree, err);

    return st ? st
              : experiment_config_load_tree(tree, defaults, mem, report, ret_config,
                                            err);
}

det_status experiment_config_load_tree(struct json *tree,
                                       const struct experiment_defaults *defaults,
                                       struct arena *mem, struct config_report *report,
                                       struct experiment_config *ret_config,
                                       struct err *err)
{
    struct key_table table = experiment_table();
    const char *json;
    det_status st;

    config_translate(CONFIG_EXPERIMENT, tree, mem, report);
    forms_normalise(tree, mem);
    if (tree->kind == JSON_OBJECT)
        tree = merge_all(tree, defaults, mem, report);
    if (!tree || mem->has_failed)
        return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));

    key_check(&table, tree, report);
    check_hparams(tree, mem, report);
    rules_check_experiment(tree, report);
    st = config_report_status(report, err);
    if (st)
        return st;

    tree = complete(tree, mem);
    json = tree ? json_text(mem, tree) : NULL;
    if (!json || mem->has_failed)
        return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
    return read_out(tree, json, mem, ret_config, err);
}

det_status experiment_config_open(const char *json, size_t len, struct arena *mem,
                                  struct experiment_config *ret_config, struct err *err)
{
    struct json *tree;
    const char *text;
    det_status st;

    st = json_parse(json, len, mem, &tree, err);
    if (st)
        return st;
    text = arena_strndup(mem, json, len);
    if (!text)
        return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
    return read_out(tree, text, mem, ret_config, err);
}
