/* SPDX-License-Identifier: Apache-2.0 */
/* job_config.c - see job_config.h. */
#include "config/job_config.h"

#include <string.h>

#include "base/memory/arena.h"
#include "config/config_load.h"
#include "config/config_report.h"
#include "config/keys/key.h"
#include "config/keys/key_check.h"
#include "config/keys/key_complete.h"
#include "config/keys/key_tables.h"
#include "config/launcher.h"
#include "config/merge.h"
#include "config/normal_form.h"
#include "config/rules.h"
#include "config/translate.h"
#include "data/json/json.h"

static det_status no_memory(struct err *err)
{
    return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
}

/* A stored tree without one of the required members is damaged. */
static det_status read_out(const struct json *tree, const char *text,
                           struct job_config *ret_config, struct err *err)
{
    const struct json *resources = json_get(tree, "resources");
    struct job_config config = {
        .tree = tree,
        .json = text,
        .name = json_str(json_get(tree, "name"), NULL),
        .entrypoint = json_get(tree, "entrypoint"),
        .slots = json_i64(json_get(resources, "slots"), 1),
        .priority = json_i64(json_get(resources, "priority"), 0),
        .weight = 1,
        .is_single_node =
            json_bool(json_get(resources, "is_single_node"),
                      launcher_reach(json_get(tree, "entrypoint")) == REACH_ONE_NODE),
        .resource_pool = json_str(json_get(resources, "resource_pool"), ""),
        .preemption_timeout_s = json_i64(json_get(tree, "preemption_timeout"), 0),
        .environment_variables =
            json_path(tree, "environment.environment_variables.cpu"),
    };

    (void)json_number(json_get(resources, "weight"), &config.weight);
    if (!config.name || json_is_null(config.entrypoint))
        return err_set(err, DET_CORRUPT,
                       "the stored configuration is not complete: it needs name and "
                       "entrypoint");
    *ret_config = config;
    return DET_OK;
}

/* Merges the cluster's defaults for all tasks below the job; a job has fewer keys than
 * an experiment. */
static struct json *put_defaults(struct json *tree, const struct job_defaults *defaults,
                                 struct arena *mem, struct config_report *report)
{
    struct json *task =
        normal_form_task_defaults(defaults->task_container_defaults, mem);

    json_remove(task, "log_policies");
    normal_form_clear_places(task);
    config_translate(CONFIG_JOB, task, mem, report);
    normal_form_apply(task, mem);
    if (defaults->name)
        json_set(mem, task, "name", json_new_str(mem, defaults->name));
    return config_merge(mem, tree, task);
}

det_status job_config_load_tree(struct json *tree, const struct job_defaults *defaults,
                                struct arena *mem, struct config_report *report,
                                struct job_config *ret_config, struct err *err)
{
    struct key_table table = job_key_table();
    const char *json;
    det_status st;

    config_translate(CONFIG_JOB, tree, mem, report);
    normal_form_apply(tree, mem);
    if (tree->kind == JSON_OBJECT)
        tree = put_defaults(tree, defaults, mem, report);
    if (!tree || mem->has_failed)
        return no_memory(err);
    key_check(&table, tree, report);
    rules_check_job(tree, report);
    st = config_report_status(report, err);
    if (st)
        return st;
    tree = key_complete(&table, tree, mem);
    config_choose_pool(json_get(tree, "resources"), "slots", defaults->compute_pool,
                       defaults->aux_pool, mem);
    json = tree ? json_text(mem, tree) : NULL;
    if (!json || mem->has_failed)
        return no_memory(err);
    return read_out(tree, json, ret_config, err);
}

det_status job_config_load(const char *text, size_t len,
                           const struct job_defaults *defaults, struct arena *mem,
                           struct config_report *report, struct job_config *ret_config,
                           struct err *err)
{
    struct json *tree;
    det_status st = config_parse(text, len, report, &tree, err);

    return st ? st : job_config_load_tree(tree, defaults, mem, report, ret_config, err);
}

det_status job_config_open(const char *json, struct arena *mem,
                           struct job_config *ret_config, struct err *err)
{
    struct json *tree;
    det_status st = json_parse(json, strlen(json), mem, &tree, err);

    return st ? st : read_out(tree, json, ret_config, err);
}
