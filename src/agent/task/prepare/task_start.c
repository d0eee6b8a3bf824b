/* SPDX-License-Identifier: Apache-2.0 */
/* task_start.c - see task_start.h.
 *
 * A step that fails because the master is away is run again by the lifecycle; so each
 * step may run twice.  Any other failure ends the run before the task started. */
#include "agent/task/prepare/task_start.h"

#include <unistd.h>

#include "agent/master_link.h"
#include "agent/task/prepare/child.h"
#include "agent/task/prepare/entrypoint.h"
#include "agent/task/prepare/env_entry.h"
#include "agent/task/prepare/task_layout.h"
#include "agent/task/prepare/task_view.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "data/json/json.h"

enum {
    CONTEXT_LIMIT = 1 << 30, /* of a reply with files, as base64 */
    RENDEZVOUS_MS = 15 * 60 * 1000,
    SMALL = 1 << 20,
};

/* A failure on this machine ends the run, whatever the same status would mean in a reply
 * of the master.  If the machine lacks something, the next run waits (core/retry.c). */
static det_status local_status(struct task_start *start, det_status status,
                               struct err *err)
{
    start->is_lacking = err_is_lack(status);
    if (start->is_lacking || master_link_may_retry(status)) {
        status = DET_FAILED;
        err->status = status;
    }
    return status;
}

/* ---- the steps, in order --------------------------------------------------------- */

static det_status find_user(struct task_start *start, struct err *err)
{
    return local_status(
        start, identity_find(&start->spec->user, &start->mem, &start->user, err), err);
}

static det_status fetch_files(struct task_start *start, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT((size_t)CONTEXT_LIMIT * 2);
    struct master_link_request request = {.method = NET_GET,
                                          .reply_limit = CONTEXT_LIMIT};
    struct json *reply;
    det_status status = local_status(
        start, task_layout_make(start->io, start->spec, start->dir, err), err);

    if (status || !start->spec->context)
        return status;
    request.path = master_link_path(&mem, "/api/v1/tasks/", start->spec->task_id,
                                    "/context_directory");
    if (!request.path)
        return err_default(err, DET_NOMEM);
    status = master_link_call(start->link, &request, &mem, &reply, err);
    if (status)
        return status;
    return local_status(start, task_layout_unpack(reply, start->dir, start->code, err),
                        err);
}

static det_status write_info(struct task_start *start, struct err *err)
{
    return local_status(
        start, task_layout_write_info(start->io, start->spec, start->dir, err), err);
}

/* The master answers when all nodes of the allocation have asked. */
static det_status meet_other_nodes(struct task_start *start, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL);
    const struct task_spec *spec = start->spec;
    struct master_link_request request = {.method = NET_GET,
                                          .timeout_ms = RENDEZVOUS_MS};
    const char *rest;
    struct json *reply = NULL;
    struct json *info = NULL;
    det_status status;

    if (spec->shares > 1 || spec->rank > 0) {
        rest = master_link_path(&mem, "/resources/", spec->container_id, "/rendezvous");
        request.path = rest ? master_link_path(&mem, "/api/v1/allocations/",
                                               spec->allocation, rest)
                            : NULL;
        if (!request.path)
            return err_default(err, DET_NOMEM);
        status = master_link_call(start->link, &request, &mem, &reply, err);
        if (status)
            return status;
        info = json_find(reply, "rendezvous_info");
        if (!info)
            return err_set(err, DET_INVALID,
                           "the master's reply to the rendezvous has no addresses");
    }
    status = task_layout_write_rendezvous(start->io, spec, info, start->dir, err);
    return local_status(start, status, err);
}

/* From here on the directories belong to the task's user: the supervisor never writes
 * into them again. */
static det_status hand_over(struct task_start *start, struct err *err)
{
    const struct env_entry entry = {.spec = start->spec, .who = &start->user};
    const struct task_view_config view = {.io = start->io,
                                          .spec = start->spec,
                                          .who = &start->user,
                                          .dir = start->dir,
                                          .program = start->program};
    det_status status = env_entry_prepare(start->io, &entry, err);

    if (!status)
        status = task_view_plan(&view, &start->mem, &start->view, &start->note, err);
    if (!status)
        status = identity_give(&start->user, start->dir, err);
    return local_status(start, status, err);
}

const struct start_step start_steps[START_STEPS] = {
    {.state = "PULLING"}, {.run = find_user},    {.run = fetch_files},
    {.run = write_info},  {.state = "STARTING"}, {.run = meet_other_nodes},
    {.run = hand_over},
};

/* ---- the command ----------------------------------------------------------------- */

static bool has_file(struct task_start *start, const char *name, struct arena *mem)
{
    char *path = task_dir_path(mem, start->dir, name);
    struct io_stat found;

    return path && io_stat(start->io, path, &found, NULL) == DET_OK;
}

/* Where `det task enter` makes an environment, it puts the right `python3` first on
 * PATH. */
static const char *python_of(const struct task_spec *spec)
{
    const char *variable = spec_variable(spec, "DET_PYTHON_EXECUTABLE");

    if (spec->python || !json_is_null(spec->requirements) || !variable)
        return "python3";
    return variable;
}

static det_status build_environment(struct task_start *start,
                                    struct child_config *config, struct arena *mem,
                                    struct err *err)
{
    const char *const *inherited;
    const char **environment;
    det_status status = identity_environment(
        config->who, (const char *const *)(uintptr_t)environ,
        &start->spec->pass_environment, config->directory, mem, &inherited, err);

    if (!status)
        status = task_layout_environment(start->spec, start->dir, start->program,
                                         inherited, mem, &environment, err);
    if (!status)
        config->environment = environment;
    return status;
}

/* The hooks, which lead to `det task enter`, which leads to the entrypoint. */
static det_status build_argv(struct task_start *start, struct child_config *config,
                             struct arena *mem, struct err *err)
{
    const struct env_entry entry = {.spec = start->spec,
                                    .dir = start->dir,
                                    .program = start->program,
                                    .code = start->code[0] ? start->code : NULL,
                                    .who = &start->user};
    struct entrypoint_hooks hooks = {0};
    const char **argv;
    const char *bash;
    det_status status = entrypoint_argv(start->spec->entrypoint, python_of(start->spec),
                                        mem, &argv, err);

    if (!status)
        status = env_entry_argv(&entry, argv, mem, &argv, err);
    if (status)
        return status;
    if (has_file(start, TASK_DIR_HOOK, mem))
        hooks.defaults = task_dir_path(mem, start->dir, TASK_DIR_HOOK);
    if (has_file(start, TASK_DIR_WORK "/startup-hook.sh", mem))
        hooks.own = "./startup-hook.sh";
    hooks.has_bash =
        child_find("bash", config->environment, mem, &bash, NULL) == DET_OK;
    status = entrypoint_behind_hooks(argv, &hooks, mem, &argv, err);
    if (!status)
        config->argv = argv;
    return status;
}

/* The first process of an isolated task is one more than the task's own. */
static det_status make_group(struct task_start *start, struct err *err)
{
    const struct task_limits *limits = &start->spec->limits;
    bool has_limits = start->spec->has_group_limits;
    det_status status;

    if (!start->spec->control_group)
        return DET_OK;
    start->group.has_limits = has_limits;
    start->group.memory = has_limits ? limits->memory : 0;
    start->group.processes =
        has_limits && limits->processes ? limits->processes + 1 : 0;
    status = privileged_group_make(start->spec->control_group, start->dir,
                                   &start->group, err);
    /* Without limits it only helps at the end, where marks do without (process_tree.h). */
    return has_limits ? status : DET_OK;
}

static struct child_config child_of(struct task_start *start, struct arena *mem)
{
    return (struct child_config){
        .directory = task_dir_path(mem, start->dir, TASK_DIR_WORK),
        .who = &start->user,
        .view = start->view,
        .limits = &start->spec->limits,
        .group = &start->group,
    };
}

det_status task_start_entrypoint(struct task_start *start, struct arena *mem,
                                 struct child *ret_child, struct err *err)
{
    struct child_config config = child_of(start, mem);
    det_status status;

    if (!config.directory)
        return err_default(err, DET_NOMEM);
    status = build_environment(start, &config, mem, err);
    if (!status)
        status = build_argv(start, &config, mem, err);
    if (!status)
        status = make_group(start, err);
    status = child_blame_machine(status, err);
    if (!status)
        status = child_start(&config, mem, ret_child, err);
    start->is_lacking = err_is_lack(status);
    return status;
}

det_status task_start_keeper(struct task_start *start, const char *const *paths,
                             struct arena *mem, struct child *ret_child,
                             struct err *err)
{
    static const char *const words[] = {"task", "keep", "--"};
    struct child_config config = child_of(start, mem);
    const char **argv;
    size_t count = 0;
    size_t at = 0;
    det_status status;

    while (paths[count])
        count++;
    argv = arena_array(mem, const char *, count + ARRAY_LEN(words) + 2);
    if (!config.directory || !argv)
        return err_default(err, DET_NOMEM);
    argv[at++] = start->program;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        argv[at++] = words[i];
    for (size_t i = 0; i < count; i++)
        argv[at++] = paths[i];
    argv[at] = NULL;
    config.argv = argv;
    status = build_environment(start, &config, mem, err);
    return status ? status : child_start(&config, mem, ret_child, err);
}
