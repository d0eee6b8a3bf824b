/* SPDX-License-Identifier: Apache-2.0 */
#include "master/rm/run_user.h"

#include <string.h>

#include "data/json/json.h"
#include "master/master_impl.h"
#include "store/experiment/experiment.h"
#include "store/people/user.h"
#include "store/space/workspace.h"

static struct task_user linked_user(const struct user *user)
{
    return (struct task_user){.has_uid = true,
                              .uid = user->agent_uid,
                              .has_gid = true,
                              .gid = user->agent_gid,
                              .user = user->agent_user,
                              .group = user->agent_group};
}

static struct task_user configured_user(const struct json *config)
{
    const struct json *user = json_path(config, "security.default_task");

    return (struct task_user){.uid = json_i64(json_get(user, "uid"), 0),
                              .gid = json_i64(json_get(user, "gid"), 0),
                              .user = json_str(json_get(user, "user"), "root"),
                              .group = json_str(json_get(user, "group"), "root")};
}

/* "root" is the default name in a configuration that sets only numbers. */
static const char *name_of(int64_t number, const char *name)
{
    return number && name && !strcmp(name, "root") ? NULL : name;
}

det_status run_user_find(const struct master *master, struct db *db,
                         const struct user *starter, int64_t workspace_id,
                         struct arena *mem, struct run_user *ret_user, struct err *err)
{
    bool is_linked = starter->agent_user != NULL;
    struct task_user own =
        is_linked ? linked_user(starter) : configured_user(master->config);
    struct task_user user;
    bool is_set;
    det_status st =
        workspace_task_user(db, workspace_id, &own, mem, &user, &is_set, err);

    if (!st)
        *ret_user = (struct run_user){.uid = user.uid,
                                      .gid = user.gid,
                                      .user = name_of(user.uid, user.user),
                                      .group = name_of(user.gid, user.group),
                                      .is_chosen = is_linked || is_set};
    return st;
}

det_status run_user_of_experiment(const struct master *master, struct db *db,
                                  const struct experiment_view *view, struct arena *mem,
                                  struct run_user *ret_user, struct err *err)
{
    int64_t id = view->row.starter_id ? view->row.starter_id : view->row.owner_id;
    struct user starter;
    det_status st = store_user_get(db, id, mem, &starter, err);

    return st ? st
              : run_user_find(master, db, &starter, view->workspace_id, mem, ret_user,
                              err);
}

void run_user_write(struct json_writer *w, const struct run_user *user)
{
    if (!user->is_chosen && user->uid <= 0)
        return;
    jw_object(w, "user");
    jw_i64(w, "uid", user->uid);
    jw_i64(w, "gid", user->gid);
    jw_str(w, "name", user->user);
    jw_str(w, "group", user->group);
    if (user->is_chosen)
        jw_bool(w, "isLink", true);
    jw_end_object(w);
}
