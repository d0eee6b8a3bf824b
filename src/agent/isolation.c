/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/isolation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/privileged.h"
#include "agent/task/spec.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "data/json/json.h"
#include "data/text.h"

static det_status read_storage_roots(const struct json *list, struct arena *mem,
                                     struct field_strs *ret_roots, struct err *err)
{
    size_t count = 0;
    const char **at;

    json_each(item, list)
        count++;
    at = arena_array(mem, const char *, count + 1);
    if (!at)
        return err_default(err, DET_NOMEM);
    count = 0;
    json_each(item, list)
        at[count++] = json_str(item, "");
    *ret_roots = (struct field_strs){at, count};
    return DET_OK;
}

/* One line, at the start: what, why, what to do. */
static det_status tell_missing(const struct isolation *isolation, const struct err *why,
                               struct err *err)
{
    static const char root[] = "let the agent's container or service mount and create "
                               "namespaces (CAP_SYS_ADMIN)";
    static const char user[] = "run the agent as root, or allow user namespaces "
                               "(sysctl kernel.unprivileged_userns_clone, "
                               "user.max_user_namespaces)";
    const char *remedy = geteuid() == 0 ? root : user;

    if (isolation->is_always)
        return err_set(err, DET_UNSUPPORTED,
                       "task_isolation is 'always', but %s; %s, or set it to 'auto'",
                       why->text, remedy);
    log_warn("tasks are not isolated from each other: %s; %s", why->text, remedy);
    return DET_OK;
}

static bool has_limit(const struct json *limits, const char *key)
{
    return !json_is_null(json_get(limits, key));
}

/* Without control groups there are only the limits that every process has. */
static void find_control_group(struct isolation *isolation, struct arena *mem)
{
    bool memory = has_limit(isolation->limits, "memory");
    bool processes = has_limit(isolation->limits, "processes");
    struct err why = {0};

    /* Also without limits: a group ends with all its processes. */
    if ((!memory && !processes) ||
        privileged_groups_begin(mem, true, &isolation->control_group, &why))
        (void)privileged_groups_begin(mem, false, &isolation->control_group, NULL);
    else
        isolation->has_group_limits = true;
    if ((!memory && !processes) || isolation->has_group_limits)
        return;
    log_warn("%s%s%s, because %s; give the agent a control group of its own (systemd: "
             "Delegate=yes)",
             memory
                 ? "the kernel limits the memory of each process only, and that of a "
                   "task is looked at twice a second (task_limits.memory)"
                 : "",
             memory && processes ? "; " : "",
             processes ? "all processes of a user count together, and none of root "
                         "(task_limits.processes)"
                       : "",
             why.text);
}

/* ---- keys ------------------------------------------------------------------------ */

enum { HIDDEN_MOST = 3 };

/* It may not exist yet, or be a link: the supervisor looks, for each task. */
static void hide(const char *path, struct field_strs *list)
{
    for (size_t i = 0; path && i < list->count; i++)
        if (path_under(path, list->at[i]))
            path = NULL;
    if (path && *path == '/')
        list->at[list->count++] = path;
}

/* Where this user's sessions are, or will be: a directory that appears later would be seen by
 * tasks that run already. */
static const char *place_of_sessions(struct io *io, struct arena *mem)
{
    const char *home = getenv("HOME");
    const char *dir = home ? arena_printf(mem, "%s/.config/determined", home) : NULL;

    if (dir && geteuid() != 0)
        (void)io_mkdir(io, dir, true, NULL);
    return dir;
}

/* The whole directory of a master's token, which also has the master's key and database. */
static const char *place_of_token(struct io *io, const char *file, struct arena *mem)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    const char *dir = slash ? arena_strndup(mem, file, (size_t)(slash - file)) : NULL;
    const char *key = dir ? arena_printf(mem, "%s/secret.key", dir) : NULL;
    struct io_stat stat;

    return key && io_stat(io, key, &stat, NULL) == DET_OK ? dir : file;
}

/* A task that has the user of its agent could read what belongs to that user: with these it
 * would be an agent, an administrator, or the person at this machine. */
static det_status find_hidden(const struct isolation_keys *keys, struct arena *mem,
                              struct field_strs *ret_hidden, struct err *err)
{
    struct field_strs list = {.at = arena_array(mem, const char *, HIDDEN_MOST)};

    if (!list.at)
        return err_default(err, DET_NOMEM);
    hide(place_of_token(keys->io, arena_strdup(mem, keys->token_file), mem), &list);
    hide(arena_strdup(mem, keys->data_dir), &list);
    hide(place_of_sessions(keys->io, mem), &list);
    *ret_hidden = list;
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

det_status isolation_find(const struct json *config, const struct isolation_keys *keys,
                          struct arena *mem, struct isolation *ret_isolation,
                          struct err *err)
{
    const char *mode = json_str(json_get(config, "task_isolation"), "auto");
    struct isolation isolation = {
        .is_always = strcmp(mode, "always") == 0,
        .is_never = strcmp(mode, "never") == 0,
        .bind_mount_roots = json_get(config, "bind_mount_roots"),
        .pass_environment = json_get(config, "pass_environment"),
        .limits = json_get(config, "task_limits"),
    };
    struct err why = {0};
    det_status st = read_storage_roots(json_get(config, "checkpoint_storage_roots"),
                                       mem, &isolation.storage_roots, err);

    if (!st && isolation.is_never)
        log_info("tasks are not isolated from each other, as configured "
                 "(task_isolation: never)");
    if (!st && !isolation.is_never) {
        isolation.is_possible = privileged_probe(&why) == DET_OK;
        if (!isolation.is_possible)
            st = tell_missing(&isolation, &why, err);
    }
    if (!st && keys && isolation.is_possible)
        st = find_hidden(keys, mem, &isolation.hidden, err);
    if (st)
        return st;
    find_control_group(&isolation, mem);
    *ret_isolation = isolation;
    return DET_OK;
}

static void set_copy(struct json *spec, const char *key, const struct json *value,
                     struct arena *mem)
{
    if (!json_is_null(value))
        json_set(mem, spec, key, json_copy(mem, value));
}

static void set_hidden(struct json *spec, const struct field_strs *hidden,
                       struct arena *mem)
{
    struct json *list = json_new(mem, JSON_ARRAY);

    for (size_t i = 0; list && i < hidden->count; i++)
        json_push(list, json_new_str(mem, hidden->at[i]));
    if (list)
        json_set(mem, spec, "hidden", list);
}

/* No namespace contains root, so whoever may submit owns this machine. */
static void tell_root(struct isolation *isolation, const struct task_spec *spec)
{
    if (isolation->has_told_root || !spec->is_shared || geteuid() != 0 ||
        spec->user.uid != 0)
        return;
    isolation->has_told_root = true;
    log_warn(
        "tasks run as root on this machine, so everybody who may submit one can do "
        "everything here; name another user in security.default_task of the "
        "master's configuration, or run the agent as another user");
}

det_status isolation_complete(struct isolation *isolation, struct json *spec,
                              struct arena *mem, struct err *err)
{
    struct task_spec read;
    det_status st = spec_read(spec, mem, &read, err);
    bool is_isolated;

    if (st)
        return st;
    is_isolated = isolation->is_possible && (isolation->is_always || read.is_shared ||
                                             (geteuid() == 0 && read.user.uid != 0));
    tell_root(isolation, &read);
    json_set(mem, spec, "isIsolated", json_new_bool(mem, is_isolated));
    set_copy(spec, "bindMountRoots", isolation->bind_mount_roots, mem);
    set_copy(spec, "passEnvironment", isolation->pass_environment, mem);
    set_copy(spec, "limits", isolation->limits, mem);
    if (isolation->control_group)
        json_set(mem, spec, "controlGroup",
                 json_new_str(mem, isolation->control_group));
    json_set(mem, spec, "hasGroupLimits",
             json_new_bool(mem, isolation->has_group_limits));
    set_hidden(spec, &isolation->hidden, mem);
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}
