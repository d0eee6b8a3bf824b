/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - the whole road of a job's configuration: from a text to what is used of it.
 */
#include <string.h>

#include "base/arena.h"
#include "config/config.h"
#include "config/forms.h"
#include "config/key.h"
#include "config/load.h"
#include "config/report.h"
#include "config/rules.h"
#include "config/translate.h"
#include "data/json.h"

static det_status no_memory(struct err *err)
{
    return err_set(err, DET_NOMEM, "%s", det_status_text(DET_NOMEM));
}

/* What is left out cannot be run without: a tree that lacks it is damaged. */
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
        .is_single_node = json_bool(json_get(resources, "is_single_node"), false),
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

/* The cluster's defaults for all tasks below what was written; a job knows fewer keys
 * than an experiment. */
static struct json *put_defaults(struct json *tree, const struct job_defaults *defaults,
                                 struct arena *mem, struct config_report *report)
{
    struct json *task = forms_of_task_defaults(defaults->task_container_defaults, mem);

    json_remove(task, "log_policies");
    forms_forget_places(task);
    config_translate(CONFIG_JOB, task, mem, report);
    forms_normalise(task, mem);
    if (defaults->name)
        json_set(mem, task, "name", json_new_str(mem, defaults->name));
    return config_merge(mem, tree, task);
}

det_status job_config_load_tree(struct json *tree, const struct job_defaults *defaults,
                                struct arena *mem, struct config_report *report,
                                struct job_config *ret_config, struct err *err)
{
    struct key_table table = job_table();
    const char *json;
    det_status st;

    config_translate(CONFIG_JOB, tree, mem, report);
    forms_normalise(tree, mem);
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
    det_status st = load_text(text, len, mem, report, &tree, err);

    return st ? st : job_config_load_tree(tree, defaults, mem, report, ret_config, err);
}

det_status job_config_open(const char *json, struct arena *mem,
                           struct job_config *ret_config, struct err *err)
{
    struct json *tree;
    det_status st = json_parse(json, strlen(json), mem, &tree, err);

    return st ? st : read_out(tree, json, ret_config, err);
}
