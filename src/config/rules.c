/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - see rules.h.
 *
 * A rule looks only at values of the right type; key_check() has reported the others. */
#include "config/rules.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/pattern.h"
#include "config/config_report.h"
#include "config/metric/metric_goal.h"
#include "config/signin_rules.h"
#include "data/json/json.h"
#include "data/text.h"
#include "model/experiment_text.h"

/* ---- checkpoint storage ---------------------------------------------------------- */

/* Relative without "..", or below `root`. */
static bool is_below(const char *path, const char *root)
{
    size_t len = strlen(root);

    while (len > 1 && root[len - 1] == '/')
        len--;
    if (path[0] != '/')
        return path_is_inside(path);
    if (strncmp(path, root, len) != 0)
        return false;
    path += len;
    if (*path && *path != '/' && len > 1)
        return false;
    while (*path == '/')
        path++;
    return !*path || path_is_inside(path);
}

static void check_shared_fs(const struct json *storage, struct config_report *report)
{
    const struct json *path = json_get(storage, "storage_path");
    const char *root = json_str(json_get(storage, "host_path"), NULL);

    if (!root || !json_str(path, NULL) || !path->string.len)
        return;
    if (!is_below(path->string.text, root))
        config_report_error(report, path, "checkpoint_storage.storage_path",
                            "found '%s'; expected a directory below host_path '%s'",
                            path->string.text, root);
}

static void check_bucket(const struct json *storage, struct config_report *report)
{
    const struct json *prefix = json_get(storage, "prefix");
    const char *text = json_str(prefix, "");

    while (*text == '/')
        text++;
    if (*text && !path_is_inside(text))
        config_report_error(report, prefix, "checkpoint_storage.prefix",
                            "found '%s'; expected a path without '..'",
                            prefix->string.text);
}

static void check_azure(const struct json *storage, struct config_report *report)
{
    bool has_string = !json_is_null(json_get(storage, "connection_string"));
    bool has_url = !json_is_null(json_get(storage, "account_url"));

    if (has_string == has_url)
        config_report_error(
            report, storage, "checkpoint_storage",
            "expected exactly one of connection_string and account_url");
    if (has_string && !json_is_null(json_get(storage, "credential")))
        config_report_error(report, json_get(storage, "credential"),
                            "checkpoint_storage.credential",
                            "goes with account_url, not with connection_string");
}

static void check_storage(const struct json *tree, struct config_report *report)
{
    const struct json *storage = json_get(tree, "checkpoint_storage");
    const char *type = json_str(json_get(storage, "type"), "");

    if (strcmp(type, "shared_fs") == 0)
        check_shared_fs(storage, report);
    else if (strcmp(type, "s3") == 0 || strcmp(type, "gcs") == 0)
        check_bucket(storage, report);
    else if (strcmp(type, "azure") == 0)
        check_azure(storage, report);
}

/* ---- the others ------------------------------------------------------------------ */

static void check_pattern(const struct json *pattern, struct config_report *report)
{
    CLEANUP(pattern_freep) struct pattern *compiled = NULL;
    const char *text = json_str(pattern, NULL);
    struct err err = {0};

    /* Ignores being out of memory: the next allocation reports it. */
    if (text && pattern_new(text, &compiled, &err) == DET_INVALID)
        config_report_error(report, pattern, "log_policies[].pattern", "%s", err.text);
}

/* More are refused by name: each would be compared with each line of output. */
enum { LOG_POLICIES_MOST = 30 };

static void check_log_policies(const struct json *policies,
                               struct config_report *report)
{
    if (json_first(policies) && policies->list.count > LOG_POLICIES_MOST) {
        config_report_error(report, policies, "log_policies",
                            "there are %zu; expected %d at most", policies->list.count,
                            LOG_POLICIES_MOST);
        return;
    }
    json_each(policy, policies) {
        const char *name = json_str(json_get(policy, "name"), NULL);
        bool is_whole = !json_is_null(json_get(policy, "pattern")) &&
                        !json_is_null(json_get(policy, "action"));

        check_pattern(json_get(policy, "pattern"), report);
        if (!name && !is_whole)
            config_report_error(report, policy, "log_policies",
                                "expected a name, or both pattern and action");
        for (const struct json *other = policy->next; name && other;
             other = other->next) {
            const char *theirs = json_str(json_get(other, "name"), "");

            if (strcmp(theirs, name) == 0)
                config_report_error(report, other, "log_policies",
                                    "log_policies have duplicated names: '%s'", name);
        }
    }
}

static void check_profiling(const struct json *tree, struct config_report *report)
{
    const struct json *end = json_path(tree, "profiling.end_after_batch");
    int64_t begin = json_i64(json_path(tree, "profiling.begin_on_batch"), 0);

    if (end && end->kind == JSON_INT && end->integer < begin)
        config_report_error(report, end, "profiling.end_after_batch",
                            "found %" PRId64
                            "; expected at least begin_on_batch, %" PRId64,
                            end->integer, begin);
}

static void check_max_slots(const struct json *tree, struct config_report *report)
{
    const struct json *most = json_path(tree, "resources.max_slots");
    int64_t slots = json_i64(json_path(tree, "resources.slots_per_trial"), 1);

    if (most && most->kind == JSON_INT && most->integer < slots)
        config_report_error(report, most, "resources.max_slots",
                            "found %" PRId64 "; expected at least slots_per_trial, "
                            "%" PRId64 ", or no trial could run",
                            most->integer, slots);
}

static void check_variables(const struct json *tree, struct config_report *report)
{
    const struct json *map = json_path(tree, "environment.environment_variables");
    const struct json *nvidia = json_get(map, "cuda");
    const struct json *amd = json_get(map, "rocm");

    json_each(list, map) {
        json_each(variable, list) {
            const char *text = json_str(variable, "");

            if (text[0] == '=')
                config_report_error(report, variable,
                                    "environment.environment_variables",
                                    "found '%s'; expected NAME=value", text);
        }
    }
    /* A plain list was copied for each type of device; that is not a wish for AMD's. */
    if (json_first(amd) && !json_equal(amd, nvidia))
        config_report_notice(report, amd, "environment.environment_variables.rocm",
                             "accepted, but has no effect: AMD GPUs are not built yet");
}

static void check_image(const struct json *tree, struct config_report *report)
{
    const struct json *image = json_path(tree, "environment.image");

    /* A value without a place in the file is the master's default. */
    if (image && image->line && image->kind != JSON_NULL)
        config_report_notice(
            report, image, "environment.image",
            "is kept, but tasks run directly on the host, not in a container");
}

/* The command line checks that the file exists: it has the folder. */
static void check_requirements(const struct json *tree, struct config_report *report)
{
    const struct json *file = json_path(tree, "environment.requirements");
    const char *path = json_str(file, NULL);

    if (path && !path_is_inside(path))
        config_report_error(
            report, file, "environment.requirements",
            "found '%s'; expected a file inside the folder with the code, "
            "such as requirements.txt",
            path);
}

static void check_text(const struct json *tree, const char *path, size_t most,
                       struct config_report *report)
{
    const struct json *value = json_path(tree, path);
    struct err err = {0};

    if (experiment_text_check("it", json_str(value, NULL), most, &err))
        config_report_error(report, value, path, "%s", err.text);
}

static void check_labels(const struct json *labels, struct config_report *report)
{
    struct err err = {0};

    if (experiment_labels_check(labels, &err))
        config_report_error(report, labels, "labels", "%s", err.text);
}

/* They are compared with the path of each new file. */
enum { KEEP_MOST = 30, KEEP_BYTES_MOST = 200 };

static void check_keep(const struct json *keep, struct config_report *report)
{
    if (json_first(keep) && keep->list.count > KEEP_MOST)
        config_report_error(report, keep, "keep", "there are %zu; expected %d at most",
                            keep->list.count, KEEP_MOST);
    json_each(pattern, keep) {
        const char *text = json_str(pattern, NULL);

        if (!text)
            continue;
        if (strlen(text) > KEEP_BYTES_MOST)
            config_report_error(report, pattern, "keep[]",
                                "has %zu bytes; expected %d at most", strlen(text),
                                KEEP_BYTES_MOST);
        else if (!path_is_inside(text[0] == '/' ? text + 1 : text))
            config_report_error(report, pattern, "keep[]",
                                "found '%s'; expected a pattern for files in the "
                                "working directory, such as *.pt or out/**",
                                text);
    }
}

void rules_check_job(const struct json *tree, struct config_report *report)
{
    check_text(tree, "name", EXPERIMENT_NAME_MOST, report);
    check_text(tree, "description", EXPERIMENT_DESCRIPTION_MOST, report);
    check_requirements(tree, report);
    check_variables(tree, report);
    check_image(tree, report);
}

static void check_hparams_size(const struct json *tree, struct config_report *report)
{
    const struct json *hparams = json_get(tree, "hyperparameters");
    struct err err = {0};

    if (experiment_hparams_check(hparams, &err))
        config_report_error(report, hparams, "hyperparameters", "%s", err.text);
}

static void check_metric(const struct json *tree, struct config_report *report)
{
    const struct json *searcher = json_get(tree, "searcher");
    const char *doubt = metric_goal_doubt(searcher, report->mem);

    if (doubt)
        config_report_notice(report, json_get(searcher, "metric"), "searcher.metric",
                             "%s", doubt);
}

void rules_check_experiment(const struct json *tree, struct config_report *report)
{
    rules_check_job(tree, report);
    check_text(tree, "searcher.metric", EXPERIMENT_NAME_MOST, report);
    check_labels(json_get(tree, "labels"), report);
    check_hparams_size(tree, report);
    check_keep(json_get(tree, "keep"), report);
    check_storage(tree, report);
    check_log_policies(json_get(tree, "log_policies"), report);
    check_profiling(tree, report);
    check_max_slots(tree, report);
    check_metric(tree, report);
}

/* ---- the master ------------------------------------------------------------------ */

static const struct json *pool_named(const struct json *pools, const char *name)
{
    json_each(pool, pools) {
        if (strcmp(json_str(json_get(pool, "pool_name"), ""), name) == 0)
            return pool;
    }
    return NULL;
}

static void check_default_pool(const struct json *tree, const char *path,
                               struct config_report *report)
{
    const struct json *pools = json_get(tree, "resource_pools");
    const struct json *named = json_path(tree, path);
    const char *name = json_str(named, "default");

    if (!pool_named(pools, name))
        config_report_error(report, named, path, "no resource pool '%s'", name);
}

/* A fair-share pool preempts in any case, so `true` promises nothing. */
static void check_scheduler(const struct json *scheduler, const char *path,
                            struct config_report *report)
{
    const struct json *preemption = json_get(scheduler, "preemption");

    if (!strcmp(json_str(json_get(scheduler, "type"), ""), "fair_share") &&
        json_bool(preemption, false))
        config_report_notice(report, preemption, path,
                             "accepted, but has no effect: a fair-share pool always "
                             "preempts");
}

void rules_check_master(const struct json *tree, struct config_report *report)
{
    const struct json *pools = json_get(tree, "resource_pools");
    const struct json *none =
        json_path(tree, "resource_manager.no_default_resource_pools");

    check_storage(tree, report);
    signin_rules_check(tree, report);
    check_log_policies(json_path(tree, "task_container_defaults.log_policies"), report);
    check_scheduler(json_path(tree, "resource_manager.scheduler"),
                    "resource_manager.scheduler.preemption", report);
    json_each(pool, pools) {
        const char *name = json_str(json_get(pool, "pool_name"), NULL);

        check_scheduler(json_get(pool, "scheduler"),
                        "resource_pools.scheduler.preemption", report);
        if (name && pool_named(pools, name) != pool)
            config_report_error(report, pool, "resource_pools",
                                "there are two pools named '%s'", name);
    }
    if (!json_first(pools) || json_bool(none, false))
        return;
    check_default_pool(tree, "resource_manager.default_aux_resource_pool", report);
    check_default_pool(tree, "resource_manager.default_compute_resource_pool", report);
}
