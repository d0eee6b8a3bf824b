/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - what a task's environment says, checked once: later code may rely on it. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "data/json.h"
#include "data/text.h"
#include "libdet/context.h"

enum { RENDEZVOUS_BYTES = 1 << 20 };

/* ---- variables ------------------------------------------------------------------- */

/* A copy, since programs change their environment; NULL when it is not set. */
static const char *optional(det_context *context, const char *name)
{
    return arena_strdup(&context->strings, context_variable(context, name));
}

static det_status required(det_context *context, const char *name,
                           const char **ret_text, struct err *err)
{
    *ret_text = optional(context, name);
    if (*ret_text)
        return DET_OK;
    if (context->strings.has_failed)
        return err_default(err, DET_NOMEM);
    return err_set(err, DET_INVALID,
                   "%s is not set, though DET_ALLOCATION_ID is: this task's "
                   "environment is not complete",
                   name);
}

/* A whole number of at least `least`; `fallback` where it is not set. */
static det_status number(const det_context *context, const char *name, int64_t least,
                         int64_t *value, struct err *err)
{
    const char *text = context_variable(context, name);

    if (text && (!parse_i64(text, value) || *value < least))
        return err_set(err, DET_INVALID,
                       "%s is '%s'; expected a whole number of at least %" PRId64, name,
                       text, least);
    return DET_OK;
}

static det_status required_number(const det_context *context, const char *name,
                                  int64_t *ret_value, struct err *err)
{
    if (!context_variable(context, name))
        return err_set(err, DET_INVALID,
                       "%s is not set, though DET_TASK_TYPE is TRIAL: this task's "
                       "environment is not complete",
                       name);
    return number(context, name, 0, ret_value, err);
}

/* An int with the name of the first variable that is set; `value` stays otherwise. */
static det_status small(const det_context *context, const char *const *names,
                        int64_t least, int *value, struct err *err)
{
    for (; *names; names++) {
        int64_t wide = *value;
        det_status st;

        if (!context_variable(context, *names))
            continue;
        st = number(context, *names, least, &wide, err);
        if (!st && wide > INT_MAX)
            st = err_set(err, DET_INVALID, "%s is %" PRId64 ", which is too much",
                         *names, wide);
        if (!st)
            *value = (int)wide;
        return st;
    }
    return DET_OK;
}

/* ---- texts ----------------------------------------------------------------------- */

det_status info_object(det_context *context, const char *what, const char *text,
                       const struct json **ret_object, struct err *err)
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

det_status info_parse(det_context *context, const char *hparams, const char *config,
                      struct err *err)
{
    det_info *info = &context->info;
    const struct json *data;
    det_status st =
        info_object(context, info->is_on_cluster ? "DET_HPARAMS" : "hparams", hparams,
                    &context->hparams, err);

    if (!st)
        st = info_object(context,
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

/* Among nodes: the supervisor has written it down; a file that is not there is that of
 * a single node. */
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

/* Among processes: what launchers set, whichever it was. */
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
    st = small(context, rank, 0, &info->rank, err);
    if (!st)
        st = small(context, world, 1, &info->world_size, err);
    if (!st)
        st = small(context, local_rank, 0, &info->local_rank, err);
    if (!st)
        st = small(context, local_size, 1, &info->local_size, err);
    return st ? st : read_nodes(context, err);
}

/* ---- all of it ------------------------------------------------------------------- */

static det_status read_task(det_context *context, struct err *err)
{
    det_info *info = &context->info;
    det_status st = required(context, "DET_MASTER", &info->master_url, err);

    if (!st)
        st = required(context, "DET_SESSION_TOKEN", &context->token, err);
    if (!st)
        st = required(context, "DET_TASK_ID", &info->task_id, err);
    if (!st)
        st = required(context, "DET_ALLOCATION_ID", &info->allocation_id, err);
    context->master_file = optional(context, "DET_MASTER_FILE");
    info->cluster_id = optional(context, "DET_CLUSTER_ID");
    info->agent_id = optional(context, "DET_AGENT_ID");
    info->task_type = optional(context, "DET_TASK_TYPE");
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
    det_status st = required(context, "DET_REPORT_RING", &context->ring_dir, err);

    if (!st)
        st = required_number(context, "DET_EXPERIMENT_ID", &info->experiment_id, err);
    if (!st)
        st = required_number(context, "DET_TRIAL_ID", &info->trial_id, err);
    if (!st)
        st = required_number(context, "DET_TRIAL_RUN_ID", &info->run_id, err);
    if (!st)
        st = required_number(context, "DET_TRIAL_SEED", &info->seed, err);
    if (!st)
        st = number(context, "DET_STEPS_COMPLETED", 0, &info->steps_completed, err);
    if (!st)
        st = required(context, "DET_HPARAMS", &hparams, err);
    if (!st)
        st = required(context, "DET_EXPERIMENT_CONFIG", &config, err);
    if (st)
        return st;
    info->latest_checkpoint = optional(context, "DET_LATEST_CHECKPOINT");
    context->notes_dir = optional(context, "DET_RUN_DIR");
    return info_parse(context, hparams, config, err);
}

/* A task that trains nothing: only its configuration, where it has one. */
static det_status read_job(det_context *context, struct err *err)
{
    const char *config = optional(context, "DET_TASK_CONFIG");

    if (context->strings.has_failed)
        return err_default(err, DET_NOMEM);
    return info_parse(context, "{}", config ? config : "{}", err);
}

det_status info_read(det_context *context, struct err *err)
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
