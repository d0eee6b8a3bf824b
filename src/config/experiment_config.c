/* SPDX-License-Identifier: Apache-2.0 */
/* experiment_config.c - an experiment's configuration, from text to a typed struct.
 *
 * The steps for a submitted file:
 *
 *   parse, translate, normal forms        the file alone
 *   merge: file > template > task defaults > checkpoint storage
 *   check rows, hyperparameters, rules    all of it, so all problems are reported
 *   complete, read out                    only if there are no errors
 *
 * A stored configuration is complete already and is only read out. */
#include "config/experiment_config.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/hparams.h"
#include "config/keys/key.h"
#include "config/keys/key_check.h"
#include "config/keys/key_complete.h"
#include "config/keys/key_tables.h"
#include "config/launcher.h"
#include "config/merge.h"
#include "config/metric/metric_goal.h"
#include "config/normal_form.h"
#include "config/rules.h"
#include "config/translate.h"
#include "data/json/json.h"

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

/* If the user says nothing, the launch layer decides.  A program whose layer is unknown
 * may start one that uses a single agent. */
static void read_single_node(const struct json *said, struct experiment_config *config)
{
    enum launcher_reach reach = launcher_reach(config->entrypoint);

    if (!json_is_null(said)) {
        config->is_single_node = json_bool(said, false);
        return;
    }
    config->is_single_node = reach == REACH_ONE_NODE;
    config->prefers_single_node = reach == REACH_UNKNOWN;
}

static void read_resources(const struct json *tree, struct experiment_config *config)
{
    const struct json *resources = json_get(tree, "resources");

    config->slots_per_trial = read_u32(resources, "slots_per_trial");
    config->priority = read_u32(resources, "priority");
    config->max_slots = json_i64(json_get(resources, "max_slots"), -1);
    read_single_node(json_get(resources, "is_single_node"), config);
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

/* The directory below host_path; storage_path may also be the full path. */
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

/* A stored tree without one of the required members is damaged. */
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

/* Merges a copy of `base` below `over`; `base` may be NULL. */
static struct json *put_below(struct json *over, const struct json *base,
                              struct arena *mem, struct config_report *report)
{
    struct json *copy = json_is_null(base) ? NULL : json_copy(mem, base);

    if (!copy)
        return over;
    normal_form_clear_places(copy);
    config_translate(CONFIG_EXPERIMENT, copy, mem, report);
    normal_form_apply(copy, mem);
    return config_merge(mem, over, copy);
}

/* NULL: none. */
static struct json *storage_of(const struct json *storage, struct arena *mem)
{
    struct json *tree = storage ? json_new(mem, JSON_OBJECT) : NULL;

    if (tree)
        json_set(mem, tree, "checkpoint_storage", json_copy(mem, storage));
    return tree;
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

/* Defaults that are not in the table because they differ between experiments. */
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
    struct json *task =
        normal_form_task_defaults(defaults->task_container_defaults, mem);

    tree = put_below(tree, defaults->template_config, mem, report);
    if (tree)
        tree = put_below(tree, task, mem, report);
    if (tree)
        tree =
            put_below(tree, storage_of(defaults->workspace_storage, mem), mem, report);
    if (tree)
        tree = put_below(tree, storage_default(defaults, mem), mem, report);
    if (tree)
        tree = put_below(tree, own_defaults(defaults, mem), mem, report);
    return mem->has_failed ? NULL : tree;
}

/* ---- loading --------------------------------------------------------------------- */

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
    struct key_table table = experiment_key_table();

    normal_form_add_log_policies(tree, mem);
    tree = key_complete(&table, tree, mem);
    if (!tree)
        return NULL;
    normal_form_sort(json_get(tree, "data"));
    normal_form_sort(json_path(tree, "environment.ports"));
    return tree;
}

det_status experiment_config_load(const char *text, size_t len,
                                  const struct experiment_defaults *defaults,
                                  struct arena *mem, struct config_report *report,
                                  struct experiment_config *ret_config, struct err *err)
{
    struct json *tree;
    det_status st = config_parse(text, len, report, &tree, err);

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
    struct key_table table = experiment_key_table();
    const char *doubt;
    const char *json;
    det_status st;

    config_translate(CONFIG_EXPERIMENT, tree, mem, report);
    normal_form_apply(tree, mem);
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

    doubt = metric_goal_doubt(json_get(tree, "searcher"), mem);
    tree = complete(tree, mem);
    config_choose_pool(json_get(tree, "resources"), "slots_per_trial",
                       defaults->compute_pool, defaults->aux_pool, mem);
    json = tree ? json_text(mem, tree) : NULL;
    if (!json || mem->has_failed)
        return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
    st = read_out(tree, json, mem, ret_config, err);
    if (!st)
        ret_config->metric_doubt = doubt;
    return st;
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
