/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - reads and checks the variables of a task once; later code may rely on
 * them. */
#include "libdet/environment.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "data/text.h"
#include "libdet/context.h"

enum { RENDEZVOUS_BYTES = 1 << 20 };

/* ---- variables ------------------------------------------------------------------- */

/* Returns a copy, because programs may change their environment; NULL if it is not set.
 */
static const char *copy_variable(det_context *context, const char *name)
{
    return arena_strdup(&context->strings, context_variable(context, name));
}

static det_status need_variable(det_context *context, const char *name,
                                const char **ret_text, struct err *err)
{
    *ret_text = copy_variable(context, name);
    if (*ret_text)
        return DET_OK;
    if (context->strings.has_failed)
        return err_default(err, DET_NOMEM);
    return err_set(err, DET_INVALID,
                   "%s is not set, though DET_ALLOCATION_ID is: this task's "
                   "environment is not complete",
                   name);
}

/* Reads a whole number of at least `least`; `value` stays if the variable is not set.
 */
static det_status read_number(const det_context *context, const char *name,
                              int64_t least, int64_t *value, struct err *err)
{
    const char *text = context_variable(context, name);

    if (text && (!parse_i64(text, value) || *value < least))
        return err_set(err, DET_INVALID,
                       "%s is '%s'; expected a whole number of at least %" PRId64, name,
                       text, least);
    return DET_OK;
}

static det_status need_number(const det_context *context, const char *name,
                              int64_t *ret_value, struct err *err)
{
    if (!context_variable(context, name))
        return err_set(err, DET_INVALID,
                       "%s is not set, though DET_TASK_TYPE is TRIAL: this task's "
                       "environment is not complete",
                       name);
    return read_number(context, name, 0, ret_value, err);
}

/* Reads an int from the first variable that is set; `value` stays if none is. */
static det_status read_int(const det_context *context, const char *const *names,
                           int64_t least, int *value, struct err *err)
{
    for (; *names; names++) {
        int64_t wide = *value;
        det_status st;

        if (!context_variable(context, *names))
            continue;
        st = read_number(context, *names, least, &wide, err);
        if (!st && wide > INT_MAX)
            st = err_set(err, DET_INVALID, "%s is %" PRId64 ", which is too much",
                         *names, wide);
        if (!st)
            *value = (int)wide;
        return st;
    }
    return DET_OK;
}

/* ---- JSON texts ------------------------------------------------------------------ */

det_status environment_parse_object(det_context *context, const char *what,
                                    const char *text, const struct json **ret_object,
                                    struct err *err)
{
    struct json *tree;
    det_status st = json_parse(text, strlen(text), &context->strings, &tree, err);

    if (st == DET_NOMEM)
        return st;
    if (st)
        return err_prefix(err, "%s is not JSON", what);
    if (tree->kind != JSON_OBJECT)
        return err_set(err, DET_INVALID, "%s is %s; expected a JSON object", what,
                       json_kind_name(tree->kind));
    *ret_object = tree;
    return DET_OK;
}

det_status environment_parse_config(det_context *context, const char *hparams,
                                    const char *config, struct err *err)
{
    det_info *info = &context->info;
    const struct json *data;
    det_status st = environment_parse_object(
        context, info->is_on_cluster ? "DET_HPARAMS" : "hparams", hparams,
        &context->hparams, err);

    if (!st)
        st = environment_parse_object(context,
                                      !info->is_on_cluster ? "config"
                                      : info->is_trial     ? "DET_EXPERIMENT_CONFIG"
                                                           : "DET_TASK_CONFIG",
                                      config, &context->config, err);
    if (st)
        return st;
    data = json_get(context->config, "data");
    info->hparams = hparams;
    info->config = config;
    info->data = data ? json_text(&context->strings, data) : "{}";
    return context->strings.has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

static det_status read_slots(det_context *context, struct err *err)
{
    const char *text = context_variable(context, "DET_SLOT_IDS");
    struct json *list;
    int64_t *ids;
    size_t count = 0;
    det_status st;

    if (!text)
        return DET_OK;
    st = json_parse(text, strlen(text), &context->strings, &list, NULL);
    if (st == DET_NOMEM)
        return err_default(err, st);
    if (st || list->kind != JSON_ARRAY)
        return err_set(err, DET_INVALID, "DET_SLOT_IDS is '%s'; expected a JSON list",
                       text);
    ids = arena_array(&context->strings, int64_t, list->list.count + 1);
    if (!ids)
        return err_default(err, DET_NOMEM);
    json_each(item, list)
        ids[count++] = json_i64(item, 0);
    context->info.slot_ids = ids;
    context->info.slot_count = count;
    return DET_OK;
}

/* ---- ranks ----------------------------------------------------------------------- */

/* The supervisor writes a file about the nodes; without it there is one node. */
static det_status read_nodes(det_context *context, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(RENDEZVOUS_BYTES);
    const char *run = context_variable(context, "DET_RUN_DIR");
    const char *path;
    struct json *tree;
    const struct json *nodes;
    det_status st;

    if (!run)
        return DET_OK;
    path = arena_printf(&context->strings, "%s/info/rendezvous.json", run);
    if (!path)
        return err_default(err, DET_NOMEM);
    st = io_read_file(context->world.io, path, &text, err);
    if (st == DET_NOT_FOUND)
        return DET_OK;
    if (!st)
        st = json_parse(text.data, text.len, &context->strings, &tree, err);
    if (st)
        return err_prefix(err, "'%s'", path);
    nodes = json_get(tree, "container_addrs");
    if (nodes && nodes->kind == JSON_ARRAY && nodes->list.count)
        context->info.node_count = (int)nodes->list.count;
    context->info.node_rank = (int)json_i64(json_get(tree, "container_rank"), 0);
    return DET_OK;
}

/* The names that the different launchers set. */
static det_status read_ranks(det_context *context, struct err *err)
{
    static const char *const rank[] = {"RANK", "OMPI_COMM_WORLD_RANK", NULL};
    static const char *const world[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", NULL};
    static const char *const local_rank[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                             NULL};
    static const char *const local_size[] = {"LOCAL_WORLD_SIZE", "LOCAL_SIZE",
                                             "OMPI_COMM_WORLD_LOCAL_SIZE", NULL};
    det_info *info = &context->info;
    det_status st;

    info->world_size = info->local_size = info->node_count = 1;
    st = read_int(context, rank, 0, &info->rank, err);
    if (!st)
        st = read_int(context, world, 1, &info->world_size, err);
    if (!st)
        st = read_int(context, local_rank, 0, &info->local_rank, err);
    if (!st)
        st = read_int(context, local_size, 1, &info->local_size, err);
    return st ? st : read_nodes(context, err);
}

/* ---- reading all of it ----------------------------------------------------------- */

static det_status read_task(det_context *context, struct err *err)
{
    det_info *info = &context->info;
    det_status st = need_variable(context, "DET_MASTER", &info->master_url, err);

    if (!st)
        st = need_variable(context, "DET_SESSION_TOKEN", &context->token, err);
    if (!st)
        st = need_variable(context, "DET_TASK_ID", &info->task_id, err);
    if (!st)
        st = need_variable(context, "DET_ALLOCATION_ID", &info->allocation_id, err);
    context->master_file = copy_variable(context, "DET_MASTER_FILE");
    info->cluster_id = copy_variable(context, "DET_CLUSTER_ID");
    info->agent_id = copy_variable(context, "DET_AGENT_ID");
    info->task_type = copy_variable(context, "DET_TASK_TYPE");
    if (!info->task_type)
        info->task_type = "TRIAL";
    if (!st)
        st = read_slots(context, err);
    return st ? st : read_ranks(context, err);
}

static det_status read_trial(det_context *context, struct err *err)
{
    det_info *info = &context->info;
    const char *hparams, *config;
    det_status st = need_variable(context, "DET_REPORT_RING", &context->ring_dir, err);

    if (!st)
        st = need_number(context, "DET_EXPERIMENT_ID", &info->experiment_id, err);
    if (!st)
        st = need_number(context, "DET_TRIAL_ID", &info->trial_id, err);
    if (!st)
        st = need_number(context, "DET_TRIAL_RUN_ID", &info->run_id, err);
    if (!st)
        st = need_number(context, "DET_TRIAL_SEED", &info->seed, err);
    if (!st)
        st =
            read_number(context, "DET_STEPS_COMPLETED", 0, &info->steps_completed, err);
    if (!st)
        st = read_number(context, "DET_MAX_METRIC_NAMES", 0, &context->names_most, err);
    if (!st)
        st = need_variable(context, "DET_HPARAMS", &hparams, err);
    if (!st)
        st = need_variable(context, "DET_EXPERIMENT_CONFIG", &config, err);
    if (st)
        return st;
    info->latest_checkpoint = copy_variable(context, "DET_LATEST_CHECKPOINT");
    context->notes_dir = copy_variable(context, "DET_RUN_DIR");
    return environment_parse_config(context, hparams, config, err);
}

/* A generic job has only a configuration, and that is optional. */
static det_status read_job(det_context *context, struct err *err)
{
    const char *config = copy_variable(context, "DET_TASK_CONFIG");

    if (context->strings.has_failed)
        return err_default(err, DET_NOMEM);
    return environment_parse_config(context, "{}", config ? config : "{}", err);
}

det_status environment_read(det_context *context, struct err *err)
{
    det_status st;

    context->info.is_on_cluster = 1;
    st = read_task(context, err);
    if (st)
        return st;
    context->info.is_trial = strcmp(context->info.task_type, "TRIAL") == 0;
    st = context->info.is_trial ? read_trial(context, err) : read_job(context, err);
    if (!st && context->strings.has_failed)
        st = err_default(err, DET_NOMEM);
    return st;
}
