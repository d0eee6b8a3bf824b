/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/task/prepare/task_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "agent/task/prepare/identity.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "data/json/json.h"
#include "data/text.h"

struct plan {
    const struct task_view_config *config;
    struct arena *mem;
    VEC(struct privileged_bind) binds;
    VEC(struct privileged_cover) covers;
    struct err *err;
};

/* ---- paths below /tmp ------------------------------------------------------------ */

static bool is_directory(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static det_status add_bind(struct plan *plan, const struct privileged_bind *bind)
{
    return vec_push(&plan->binds, *bind) ? DET_OK : err_default(plan->err, DET_NOMEM);
}

static det_status make_in_tmp(struct plan *plan, const char *below)
{
    const char *path =
        arena_printf(plan->mem, "%s/" TASK_DIR_TMP "/%s", plan->config->dir, below);

    return path ? io_mkdir(plan->config->io, path, false, plan->err)
                : err_default(plan->err, DET_NOMEM);
}

/* With a directory above it, or by itself. */
static bool is_kept(struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->binds.count; i++) {
        const char *kept = arena_printf(plan->mem, "/%s", plan->binds.at[i].below);

        if (kept && path_under(path, kept))
            return true;
    }
    return false;
}

/* Files that the task writes there would disappear with it. */
static bool is_lost(struct plan *plan, const char *path)
{
    return path && path_under(path, "/tmp") && !is_kept(plan, path);
}

/* Keeps a directory that the private /tmp would cover; does nothing for others.
 * `is_users`: the user chose it. */
static det_status keep_path(struct plan *plan, const char *path, bool is_users)
{
    const char *below = path ? path_under(path, "/tmp") : NULL;
    struct privileged_bind bind = {.root = "/",
                                   .below = path ? path + 1 : "",
                                   .target = below,
                                   .is_below_tmp = true,
                                   .is_users = is_users};
    det_status st;

    if (!below || !*below || !is_directory(path) || is_kept(plan, path))
        return DET_OK;
    st = make_in_tmp(plan, below);
    return st ? st : add_bind(plan, &bind);
}

static const char *parent_of(const char *path, struct arena *mem)
{
    const char *slash = strrchr(path, '/');

    return slash && slash > path ? arena_strndup(mem, path, (size_t)(slash - path))
                                 : "/";
}

/* The folder above that of the program also holds its libraries. */
static const char *installation_of(const char *program, struct arena *mem)
{
    const char *folder = parent_of(program, mem);
    const char *above = folder ? parent_of(folder, mem) : NULL;

    return above && strcmp(above, "/tmp") != 0 && strcmp(above, "/") != 0 ? above
                                                                          : folder;
}

/* Storage that does not exist yet would be made in the private /tmp, and be lost. */
static det_status keep_storage(struct plan *plan)
{
    const struct task_view_config *config = plan->config;
    const struct field_strs *roots = &config->spec->storage_roots;
    const char *own = config->spec->storage_directory;
    det_status st = DET_OK;

    for (size_t i = 0; i < roots->count && !st; i++)
        st = keep_path(plan, roots->at[i], false);
    if (st || !is_lost(plan, own))
        return st;
    if (!config->who->is_other)
        st = io_mkdir(config->io, own, false, plan->err);
    if (!st)
        st = keep_path(plan, own, true);
    if (st || !is_lost(plan, own))
        return st;
    return err_set(
        plan->err, DET_NOT_FOUND,
        "the checkpoint storage '%s' is below /tmp, which is private to this "
        "task, and does not exist: create it first",
        own);
}

static det_status keep_paths(struct plan *plan)
{
    const struct task_view_config *config = plan->config;
    const char *home = config->who->is_other ? config->who->home : getenv("HOME");
    det_status st = keep_path(plan, home, true);

    if (!st)
        st = keep_storage(plan);
    if (!st)
        st = keep_path(plan, installation_of(config->program, plan->mem), false);
    if (!st)
        st = keep_path(plan, config->spec->envs, false);
    if (!st)
        st = keep_path(plan, parent_of(config->dir, plan->mem), false);
    return st;
}

/* ---- covers ---------------------------------------------------------------------- */

static const char *real_path(struct plan *plan, const char *path)
{
    char real[PATH_MAX];

    return path && realpath(path, real) ? arena_strdup(plan->mem, real) : NULL;
}

/* Keeps a directory that the cover would hide; does nothing for others. */
static det_status keep_in_cover(struct plan *plan, int number, const char *path)
{
    const char *real = real_path(plan, path);
    const char *below =
        real ? path_under(real, plan->covers.at[number - 1].path) : NULL;
    struct privileged_bind bind = {
        .root = "/", .below = real ? real + 1 : "", .target = below, .cover = number};

    for (size_t i = 0; below && i < plan->binds.count; i++)
        if (plan->binds.at[i].cover == number &&
            path_under(below, plan->binds.at[i].target))
            return DET_OK;
    if (!below || !*below || !is_directory(real))
        return DET_OK;
    return add_bind(plan, &bind);
}

static det_status keep_needed(struct plan *plan, int number)
{
    const struct task_view_config *config = plan->config;
    const struct task_spec *spec = config->spec;
    const char *own = spec->storage_directory;
    const char *needed[] = {spec->envs, parent_of(config->dir, plan->mem),
                            installation_of(config->program, plan->mem), own,
                            getenv("HOME")};
    det_status st = DET_OK;

    /* otherwise it could not be made any more */
    if (own && own[0] == '/' && path_under(own, plan->covers.at[number - 1].path))
        st = io_mkdir(config->io, own, false, plan->err);
    for (size_t i = 0; i < spec->storage_roots.count && !st; i++)
        st = keep_in_cover(plan, number, spec->storage_roots.at[i]);
    for (size_t i = 0; i < ARRAY_LEN(needed) && !st; i++)
        st = keep_in_cover(plan, number, needed[i]);
    return st;
}

static bool is_covered(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->covers.count; i++)
        if (path_under(path, plan->covers.at[i].path))
            return true;
    return false;
}

/* The keys of the agent's user, from a task that has the same user.  A private /tmp covers
 * what is below it and was not kept. */
static det_status plan_covers(struct plan *plan)
{
    const struct task_view_config *config = plan->config;
    const struct field_strs *hidden = &config->spec->hidden;
    const char *blank = task_dir_path(plan->mem, config->dir, TASK_DIR_HIDDEN);
    det_status st = blank ? DET_OK : err_default(plan->err, DET_NOMEM);

    if (!st && hidden->count)
        st = io_replace(config->io, blank, "", 0, true, plan->err);
    for (size_t i = 0; i < hidden->count && !st; i++) {
        struct privileged_cover cover = {.path = real_path(plan, hidden->at[i])};

        if (!cover.path || is_lost(plan, cover.path) || is_covered(plan, cover.path))
            continue;
        cover.is_file = !is_directory(cover.path);
        if (!vec_push(&plan->covers, cover))
            return err_default(plan->err, DET_NOMEM);
        if (!cover.is_file)
            st = keep_needed(plan, (int)plan->covers.count);
    }
    return st;
}

/* ---- bind mounts ----------------------------------------------------------------- */

static const char *roots_text(struct plan *plan)
{
    const struct field_strs *roots = &plan->config->spec->bind_mount_roots;
    const char *text = roots->count ? roots->at[0] : "none";

    for (size_t i = 1; text && i < roots->count; i++)
        text = arena_printf(plan->mem, "%s, %s", text, roots->at[i]);
    return text ? text : "";
}

static det_status find_source(struct plan *plan, const char *path,
                              struct privileged_bind *bind)
{
    const struct field_strs *roots = &plan->config->spec->bind_mount_roots;

    for (size_t i = 0; i < roots->count; i++) {
        bind->root = roots->at[i];
        bind->below = path_under(path, bind->root);
        if (bind->below)
            return DET_OK;
    }
    return err_set(plan->err, DET_FORBIDDEN,
                   "the bind mount of '%s' is not below a directory that this agent "
                   "allows (bind_mount_roots: %s)",
                   path, roots_text(plan));
}

static det_status find_target(struct plan *plan, const char *path,
                              struct privileged_bind *bind)
{
    const char *below = path_under(path, "/tmp");
    const char *inside;
    det_status st = DET_OK;

    bind->target = path;
    if (path[0] != '/') {
        if (!path_is_inside(path))
            return err_set(plan->err, DET_INVALID,
                           "the bind mount's container_path '%s' leads out of the work "
                           "directory",
                           path);
        inside =
            arena_printf(plan->mem, "%s/" TASK_DIR_WORK "/%s", plan->config->dir, path);
        bind->target = inside;
        return inside ? io_mkdir(plan->config->io, inside, false, plan->err)
                      : err_default(plan->err, DET_NOMEM);
    }
    if (below && *below && plan->config->spec->is_isolated) {
        bind->target = below;
        bind->is_below_tmp = true;
        return make_in_tmp(plan, below);
    }
    if (!is_directory(path))
        st = err_set(plan->err, DET_NOT_FOUND,
                     "the bind mount's container_path '%s' does not exist on this "
                     "machine: create the directory, or choose a path in the work "
                     "directory",
                     path);
    return st;
}

static det_status plan_bind_mounts(struct plan *plan)
{
    const struct json *list = plan->config->spec->bind_mounts;
    det_status st = DET_OK;

    if (json_is_null(list))
        return DET_OK;
    json_each(item, list) {
        struct privileged_bind bind = {
            .is_users = true,
            .is_late = true,
            .is_read_only = json_bool(json_find(item, "read_only"), false)};

        st = find_source(plan, json_str(json_find(item, "host_path"), ""), &bind);
        if (!st)
            st = find_target(plan, json_str(json_find(item, "container_path"), ""),
                             &bind);
        if (!st)
            st = add_bind(plan, &bind);
        if (st)
            break;
    }
    return st;
}

/* ---- the plan -------------------------------------------------------------------- */

/* The machine's (empty) PRIVILEGED_RUN and the mount points in DIR/run.  Missing
 * directories are not mounted on. */
static void make_run_points(const struct task_view_config *config, struct arena *mem)
{
    const char *work = task_dir_path(mem, config->dir, TASK_DIR_RUN "/workdir");
    const char *train = task_dir_path(mem, config->dir, TASK_DIR_RUN "/train");
    const char *model = task_dir_path(mem, config->dir, TASK_DIR_RUN "/train/model");

    if (!work || !train || !model)
        return;
    if (geteuid() == 0)
        (void)mkdir(PRIVILEGED_RUN, 0755);
    (void)mkdir(work, 0700);
    (void)mkdir(train, 0700);
    (void)!symlink("../workdir", model);
}

static det_status fill_view(struct plan *plan, struct privileged_view *view)
{
    const struct task_view_config *config = plan->config;
    const struct task_spec *spec = config->spec;
    det_status st = DET_OK;

    if (spec->is_isolated) {
        const char *slash = strrchr(config->dir, '/');

        view->is_isolated = true;
        view->is_in_user_namespace = geteuid() != 0;
        view->tasks = parent_of(config->dir, plan->mem);
        view->name = slash ? slash + 1 : config->dir;
        st = make_in_tmp(plan, "");
        if (!st)
            st = keep_paths(plan);
        if (!st && !config->who->is_other)
            st = plan_covers(plan);
    }
    if (!st)
        st = plan_bind_mounts(plan);
    if (!st && plan->binds.count) {
        view->binds = arena_array(plan->mem, struct privileged_bind, plan->binds.count);
        if (!view->binds)
            return err_default(plan->err, DET_NOMEM);
        memcpy(view->binds, plan->binds.at, plan->binds.count * sizeof(*view->binds));
        view->bind_count = plan->binds.count;
    }
    if (!st && plan->covers.count) {
        view->covers =
            arena_array(plan->mem, struct privileged_cover, plan->covers.count);
        if (!view->covers)
            return err_default(plan->err, DET_NOMEM);
        memcpy(view->covers, plan->covers.at,
               plan->covers.count * sizeof(*view->covers));
        view->cover_count = plan->covers.count;
    }
    return st;
}

static bool wants_bind_mounts(const struct task_spec *spec)
{
    return !json_is_null(spec->bind_mounts) && json_first(spec->bind_mounts);
}

det_status task_view_plan(const struct task_view_config *config, struct arena *mem,
                          struct privileged_view **ret_view, const char **ret_note,
                          struct err *err)
{
    const struct task_spec *spec = config->spec;
    struct plan plan = {.config = config, .mem = mem, .err = err};
    struct privileged_view *view = arena_new(mem, struct privileged_view);
    det_status st;

    if (!view)
        return err_default(err, DET_NOMEM);
    *ret_note = NULL;
    make_run_points(config, mem);
    if (geteuid() != 0 && !spec->is_isolated) {
        *ret_view = NULL;
        if (wants_bind_mounts(spec))
            return err_set(err, DET_UNSUPPORTED,
                           "bind_mounts need an agent that runs as root, or one with "
                           "task_isolation: always");
        if (spec->shm_size > 0)
            *ret_note =
                "resources.shm_size is not applied: this agent does not isolate "
                "tasks, so /dev/shm is the machine's";
        return DET_OK;
    }
    *view = (struct privileged_view){
        .dir = config->dir, .uid = geteuid(), .gid = getegid()};
    view->shm_bytes = (uint64_t)MAX(spec->shm_size, (int64_t)0);
    if (!view->shm_bytes && spec->is_isolated)
        view->shm_bytes = (uint64_t)MAX(spec->shm_default, (int64_t)0);
    st = fill_view(&plan, view);
    vec_done(&plan.binds);
    vec_done(&plan.covers);
    if (!st)
        *ret_view = view;
    return st;
}
