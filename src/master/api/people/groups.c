/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - groups of users.
 *
 * In Determined every user owns a hidden group, "<id>DeterminedPersonalGroup", that holds the
 * user's roles.  Here a user has roles directly; the name stays reserved, so that no group
 * can pass for one. */
#include "master/api/people/groups.h"

#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/people/user_rules.h"
#include "master/api/render.h"
#include "master/request/request.h"
#include "store/page.h"
#include "store/people/group.h"
#include "store/people/user.h"
#include "wire/people_bodies.h"

enum { GROUPS_MOST = 500 };

struct group_state {
    int64_t id;
    const char *name; /* NULL: it stays */
    struct field_i64s add;
    struct field_i64s remove;
};

static det_status check_group_name(const char **name, struct arena *mem,
                                   struct err *err)
{
    det_status st = name_check("group", 1, name, mem, err);

    if (!st && strstr(*name, "DeterminedPersonalGroup"))
        return err_set(err, DET_INVALID,
                       "a group name must not contain 'DeterminedPersonalGroup': it is "
                       "reserved for the groups of single users");
    return st;
}

/* ---- reading --------------------------------------------------------------------- */

det_status groups_render(struct request *req, const char *key, int64_t id)
{
    struct group group;
    struct user *users;
    uint32_t count = 0;
    det_status st = store_group_get(req->db, id, &req->mem, &group, req->err);

    if (!st)
        st = store_user_list_of_group(req->db, id, &req->mem, &users, &count, req->err);
    if (st)
        return st;
    jw_object(&req->w, key);
    jw_i64(&req->w, "groupId", group.id);
    jw_str(&req->w, "name", group.name);
    jw_array(&req->w, "users");
    for (uint32_t i = 0; i < count; i++)
        render_user(&req->w, NULL, &users[i]);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status reply_group(struct request *req, int64_t id)
{
    det_status st;

    jw_object(&req->w, NULL);
    st = groups_render(req, "group", id);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_group(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : reply_group(req, id);
}

det_status api_search_groups(struct request *req)
{
    const struct search_groups_body *body = req->body;
    const struct group_query query = {.name = body->name, .user_id = body->user_id};
    struct page page = {.offset = body->offset, .limit = body->limit};
    struct group *groups;
    uint32_t count = 0;
    det_status st;

    if (body->limit < 1 || body->limit > GROUPS_MOST)
        return err_set(req->err, DET_INVALID,
                       "Bad request: limit is required and must be <= %d", GROUPS_MOST);
    st = store_group_list(req->db, &query, &req->mem, &groups, &count, req->err);
    if (!st)
        st = listing_cut_page(&page, count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "groups");
    for (int64_t i = page.start; i < page.end; i++) {
        jw_object(&req->w, NULL);
        jw_object(&req->w, "group");
        jw_i64(&req->w, "groupId", groups[i].id);
        jw_str(&req->w, "name", groups[i].name);
        jw_end_object(&req->w);
        jw_i64(&req->w, "numMembers", groups[i].members);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- changing -------------------------------------------------------------------- */

static det_status join_users(struct request *req, struct db *db,
                             const struct group_state *state, struct err *err)
{
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < state->add.count; i++) {
        struct user user;

        st = store_user_get(db, state->add.at[i], &req->mem, &user, err);
        if (!st)
            st = store_group_join(db, state->id, user.id, err);
        if (st == DET_EXISTS)
            return err_set(err, st, "user '%s' is a member of the group already",
                           user.username);
    }
    return st;
}

static det_status remove_users(struct db *db, const struct group_state *state,
                               struct err *err)
{
    bool was_any = false;
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < state->remove.count; i++) {
        bool was_member = false;

        st = store_group_leave(db, state->id, state->remove.at[i], &was_member, err);
        was_any = was_any || was_member;
    }
    if (!st && state->remove.count && !was_any)
        return err_set(err, DET_NOT_FOUND,
                       "none of these users is a member of the group");
    return st;
}

static det_status add_group(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct group_state *state = req->state;
    det_status st = store_group_add(db, state->name, &state->id, err);

    return st ? st : join_users(req, db, state, err);
}

static det_status change_group(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct group_state *state = req->state;
    struct admin_count before;
    struct group group;
    det_status st = store_group_get(db, state->id, &req->mem, &group, err);

    if (!st)
        st = admin_count_begin(req, db, &before, err);
    if (!st && state->name)
        st = store_group_rename(db, state->id, state->name, err);
    if (!st)
        st = join_users(req, db, state, err);
    if (!st)
        st = remove_users(db, state, err);
    return st ? st : admin_count_check(db, &before, err);
}

static det_status group_done(struct request *req)
{
    const struct group_state *state = req->state;

    return reply_group(req, state->id);
}

det_status api_create_group(struct request *req)
{
    const struct create_group_body *body = req->body;
    struct group_state *state = arena_new(&req->mem, struct group_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    state->name = body->name;
    state->add = body->add_users;
    st = check_group_name(&state->name, &req->mem, req->err);
    if (st)
        return st;
    req->state = state;
    return request_write(req, add_group, group_done);
}

det_status api_update_group(struct request *req)
{
    const struct update_group_body *body = req->body;
    struct group_state *state = arena_new(&req->mem, struct group_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = request_id(req, 0, &state->id);
    if (!st && body->group_id && body->group_id != state->id)
        return err_set(req->err, DET_INVALID,
                       "the body names group %" PRId64 ", the path group %" PRId64,
                       body->group_id, state->id);
    state->add = body->add_users;
    state->remove = body->remove_users;
    state->name = body->name && *body->name ? body->name : NULL;
    if (!st && state->name)
        st = check_group_name(&state->name, &req->mem, req->err);
    if (st)
        return st;
    req->state = state;
    return request_write(req, change_group, group_done);
}

static det_status drop_group(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct group_state *state = req->state;
    struct admin_count before;
    det_status st = admin_count_begin(req, db, &before, err);

    if (!st)
        st = store_group_drop(db, state->id, err);
    return st ? st : admin_count_check(db, &before, err);
}

det_status api_delete_group(struct request *req)
{
    struct group_state *state = arena_new(&req->mem, struct group_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = request_id(req, 0, &state->id);
    req->state = state;
    return st ? st : request_write(req, drop_group, NULL);
}

/* ---- many users, many groups ------------------------------------------------------ */

static det_status move_user(struct request *req, struct db *db, int64_t user_id,
                            struct err *err)
{
    const struct assign_groups_body *body = req->body;
    struct user user;
    struct group group;
    bool was_member;
    det_status st = store_user_get(db, user_id, &req->mem, &user, err);

    for (size_t i = 0; !st && i < body->add_groups.count; i++) {
        st = store_group_get(db, body->add_groups.at[i], &req->mem, &group, err);
        if (!st) /* out and in again: a member stays one */
            st = store_group_leave(db, group.id, user_id, &was_member, err);
        if (!st)
            st = store_group_join(db, group.id, user_id, err);
    }
    for (size_t i = 0; !st && i < body->remove_groups.count; i++) {
        st = store_group_get(db, body->remove_groups.at[i], &req->mem, &group, err);
        if (!st)
            st = store_group_leave(db, group.id, user_id, &was_member, err);
    }
    return st;
}

static det_status move_users(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct assign_groups_body *body = req->body;
    struct admin_count before;
    det_status st = admin_count_begin(req, db, &before, err);

    for (size_t i = 0; !st && i < body->user_ids.count; i++)
        st = move_user(req, db, body->user_ids.at[i], err);
    return st ? st : admin_count_check(db, &before, err);
}

det_status api_assign_groups(struct request *req)
{
    return request_write(req, move_users, NULL);
}
