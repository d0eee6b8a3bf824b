/* SPDX-License-Identifier: Apache-2.0 */
#include "master/rm/run_user.h"

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "master/master_impl.h"
#include "store/space/workspace.h"
#include "store/task/run_user.h"

enum { NOTE_MEMORY = 1 << 20 };

static struct task_user linked_user(const struct run_origin *origin)
{
    return (struct task_user){.has_uid = true,
                              .uid = origin->uid,
                              .has_gid = true,
                              .gid = origin->gid,
                              .user = origin->user,
                              .group = origin->group};
}

static struct task_user configured_user(const struct json *config)
{
    const struct json *user = json_path(config, "security.default_task");

    return (struct task_user){.uid = json_i64(json_get(user, "uid"), 0),
                              .gid = json_i64(json_get(user, "gid"), 0),
                              .user = json_str(json_get(user, "user"), "root"),
                              .group = json_str(json_get(user, "group"), "root")};
}

/* "root" is the default name in a configuration that sets only numbers; it is not that of
 * another number. */
static const char *name_of(int64_t number, const char *name)
{
    return number && name && !strcmp(name, "root") ? NULL : name;
}

/* A link or a workspace also names root; the configuration does not, by default. */
static det_status make_text(const struct task_user *user, bool is_link,
                            struct arena *mem, const char **ret_text, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    *ret_text = "";
    if (!is_link && user->uid <= 0)
        return DET_OK;
    jw_object(&w, NULL);
    jw_i64(&w, "uid", user->uid);
    jw_i64(&w, "gid", user->gid);
    jw_str(&w, "name", name_of(user->uid, user->user));
    jw_str(&w, "group", name_of(user->gid, user->group));
    if (is_link)
        jw_bool(&w, "isLink", true);
    jw_end_object(&w);
    *ret_text = out.status ? NULL : arena_strdup(mem, out.data);
    return *ret_text ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status configured_text(const struct master *master, struct arena *mem,
                                  const char **ret_text, struct err *err)
{
    struct task_user user = configured_user(master->config);

    return make_text(&user, false, mem, ret_text, err);
}

/* As a run would have it now. */
static det_status current_text(struct master *master, struct db *db,
                               int64_t allocation_id, struct arena *mem,
                               const char **ret_text, struct err *err)
{
    struct run_origin origin;
    struct task_user own, user;
    bool is_set = false;
    det_status st = store_run_origin(db, allocation_id, mem, &origin, err);

    if (st)
        return st;
    own = origin.user ? linked_user(&origin) : configured_user(master->config);
    st = workspace_task_user(db, origin.workspace_id, &own, mem, &user, &is_set, err);
    return st ? st : make_text(&user, origin.user || is_set, mem, ret_text, err);
}

det_status run_user_note(struct master *master, struct db *db, int64_t allocation_id,
                         struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(NOTE_MEMORY);
    const char *text = NULL;
    det_status st = current_text(master, db, allocation_id, &mem, &text, err);

    if (st == DET_NOT_FOUND) { /* a run without an owner: its specification fails */
        *err = (struct err){0};
        return DET_OK;
    }
    return st ? st : store_run_user_note(db, allocation_id, text, err);
}

det_status run_user_find(struct master *master, struct db *db, int64_t allocation_id,
                         struct arena *mem, const char **ret_text, struct err *err)
{
    det_status st = store_run_user_of(db, allocation_id, mem, ret_text, err);

    return st || *ret_text
               ? st
               : current_text(master, db, allocation_id, mem, ret_text, err);
}

det_status run_user_of_checkpoint(struct master *master, struct db *db,
                                  const char *uuid, struct arena *mem,
                                  const char **ret_text, struct err *err)
{
    det_status st = store_run_user_of_checkpoint(db, uuid, mem, ret_text, err);

    return st || *ret_text ? st : configured_text(master, mem, ret_text, err);
}

det_status run_user_of_trial(struct master *master, struct db *db, int64_t trial_id,
                             int64_t run_id, struct arena *mem, const char **ret_text,
                             struct err *err)
{
    det_status st = store_run_user_of_trial(db, trial_id, run_id, mem, ret_text, err);

    return st || *ret_text ? st : configured_text(master, mem, ret_text, err);
}

void run_user_write(struct json_writer *w, const char *text)
{
    if (*text)
        jw_raw(w, "user", text);
}

det_status run_user_number(const char *text, struct arena *mem,
                           struct run_user_number *ret_number, struct err *err)
{
    struct json *tree = NULL;
    det_status st = *text ? json_parse(text, strlen(text), mem, &tree, err) : DET_OK;

    if (!st)
        *ret_number = (struct run_user_number){json_i64(json_get(tree, "uid"), 0),
                                               json_i64(json_get(tree, "gid"), 0)};
    return st;
}
