/* SPDX-License-Identifier: Apache-2.0 */
/* user_list.c - the list of users, and one change to many of them. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/people/user_rules.h"
#include "master/api/render.h"
#include "master/request/request.h"
#include "store/engine/db.h"
#include "store/page.h"
#include "store/people/access_token.h"
#include "store/people/role_assignment.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "wire/people_bodies.h"

/* ---- order ---------------------------------------------------------------------------- */

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static const char *shown_name(const struct user *user)
{
    return user->display_name && *user->display_name ? user->display_name
                                                     : user->username;
}

static int by_id(const struct user *a, const struct user *b)
{
    return compare_i64(a->id, b->id);
}

static int by_display_name(const struct user *a, const struct user *b)
{
    return strcasecmp(a->display_name ? a->display_name : "",
                      b->display_name ? b->display_name : "");
}

static int by_username(const struct user *a, const struct user *b)
{
    return strcasecmp(a->username, b->username);
}

static int by_shown_name(const struct user *a, const struct user *b)
{
    return strcasecmp(shown_name(a), shown_name(b));
}

static int by_admin(const struct user *a, const struct user *b)
{
    return a->is_admin - b->is_admin;
}

static int by_active(const struct user *a, const struct user *b)
{
    return a->is_active - b->is_active;
}

static int by_remote(const struct user *a, const struct user *b)
{
    return a->is_remote - b->is_remote;
}

static int by_modified(const struct user *a, const struct user *b)
{
    return compare_i64(a->modified_us, b->modified_us);
}

static int by_last_auth(const struct user *a, const struct user *b)
{
    return compare_i64(a->last_auth_us, b->last_auth_us);
}

static const struct user_order {
    const char *name;
    int (*compare)(const struct user *a, const struct user *b);
} user_orders[] = {
    {"SORT_BY_UNSPECIFIED", by_id},     {"SORT_BY_DISPLAY_NAME", by_display_name},
    {"SORT_BY_USER_NAME", by_username}, {"SORT_BY_ADMIN", by_admin},
    {"SORT_BY_ACTIVE", by_active},      {"SORT_BY_MODIFIED_TIME", by_modified},
    {"SORT_BY_NAME", by_shown_name},    {"SORT_BY_LAST_AUTH_TIME", by_last_auth},
    {"SORT_BY_REMOTE", by_remote},
};

struct user_sort {
    const struct user_order *order;
    bool is_descending;
};

static int compare_users(const void *a, const void *b, void *arg)
{
    const struct user_sort *sort = arg;
    int sign = sort->order->compare(a, b);

    if (!sign)
        return by_id(a, b);
    return sort->is_descending ? -sign : sign;
}

static det_status sort_users(const struct request *req, struct user *users,
                             size_t count)
{
    const struct users_query *query = req->query;
    const char *name = query->sort_by ? query->sort_by : user_orders[0].name;
    struct user_sort sort = {.is_descending = listing_is_descending(query->order_by)};

    for (size_t i = 0; i < ARRAY_LEN(user_orders); i++)
        if (!strcmp(user_orders[i].name, name))
            sort.order = &user_orders[i];
    if (!sort.order)
        return err_set(req->err, DET_INVALID, "users cannot be sorted by '%s'", name);
    qsort_r(users, count, sizeof(*users), compare_users, &sort);
    return DET_OK;
}

/* ---- filters -------------------------------------------------------------------------- */

static bool is_wanted(const struct users_query *query, const struct user *user)
{
    if (query->has_active && query->active != user->is_active)
        return false;
    if (query->has_admin && query->admin != user->is_admin)
        return false;
    return !query->name || strcasestr(user->username, query->name) ||
           (user->display_name && strcasestr(user->display_name, query->name));
}

/* Keeps the users that have one of the roles themselves. */
static det_status keep_with_roles(struct request *req, struct user *users,
                                  int64_t *total)
{
    const struct users_query *query = req->query;
    const struct field_i64s *wanted = &query->role_id_assigned_directly_to_user;
    int64_t kept = 0;
    det_status st = DET_OK;

    for (int64_t i = 0; !st && i < *total; i++) {
        struct role_assignment *rows;
        uint32_t count = 0;
        bool has_role = false;

        st = store_role_list(req->db, ROLES_OF_USER, users[i].id, &req->mem, &rows,
                             &count, req->err);
        for (uint32_t k = 0; k < count; k++)
            for (size_t r = 0; r < wanted->count; r++)
                has_role = has_role || (rows[k].user_id == users[i].id &&
                                        rows[k].role_id == wanted->at[r]);
        if (has_role)
            users[kept++] = users[i];
    }
    *total = kept;
    return st;
}

det_status api_list_users(struct request *req)
{
    const struct users_query *query = req->query;
    bool by_role = query->role_id_assigned_directly_to_user.count > 0;
    struct page page = {.offset = query->offset, .limit = query->limit};
    struct user *users;
    uint32_t count = 0;
    int64_t total = 0;
    det_status st;

    if (by_role && !req->master->is_rbac)
        return err_set(req->err, DET_INVALID,
                       "cannot filter by role id. RBAC must be enabled.");
    st = store_user_list(req->db, &req->mem, &users, &count, req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (is_wanted(query, &users[i]))
            users[total++] = users[i];
    if (!st && by_role)
        st = keep_with_roles(req, users, &total);
    if (!st)
        st = sort_users(req, users, (size_t)total);
    if (!st)
        st = listing_cut_page(&page, total, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "users");
    for (int64_t i = page.start; i < page.end; i++)
        render_user(&req->w, NULL, &users[i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- many at once ---------------------------------------------------------------------- */

struct bulk_state {
    const char **error; /* by position; NULL: it worked */
};

/* A user that cannot be changed has an error of its own; the others are changed. */
static det_status set_active(struct request *req, struct db *db, int64_t id,
                             struct err *err)
{
    const struct patch_users_body *body = req->body;
    struct admin_count before;
    struct user user;
    det_status st = store_user_get(db, id, &req->mem, &user, err);

    if (!st)
        st = admin_count_begin(req, db, &before, err);
    if (st)
        return st;
    if (body->activate && !user.password && !user.is_remote &&
        !req->master->is_loopback)
        return err_set(err, DET_STATE, "user '%s' has no password yet; set one first",
                       user.username);
    user.is_active = body->activate;
    user.modified_us = master_now_us(req->master);
    st = store_user_put(db, &user, err);
    if (!st && !user.is_active)
        st = store_sessions_drop_of(db, id, err);
    if (!st && !user.is_active)
        st = store_access_tokens_revoke_of(db, id, err);
    return st ? st : admin_count_check(db, &before, err);
}

static bool is_about_one_user(det_status st)
{
    return st == DET_NOT_FOUND || st == DET_STATE;
}

static det_status set_all_active(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct patch_users_body *body = req->body;
    struct bulk_state *state = req->state;
    det_status st = DET_OK;

    for (size_t i = 0; !st && i < body->user_ids.count; i++) {
        struct err own = {0};

        st = db_save(db, err);
        if (st)
            return st;
        st = set_active(req, db, body->user_ids.at[i], &own);
        if (!st) {
            st = db_release(db, err);
            continue;
        }
        db_undo(db);
        if (!is_about_one_user(st))
            return err_set(err, st, "%s", own.text);
        state->error[i] = arena_strdup(&req->mem, own.text);
        st = state->error[i] ? DET_OK : err_default(err, DET_NOMEM);
    }
    return st;
}

static det_status bulk_done(struct request *req)
{
    const struct patch_users_body *body = req->body;
    const struct bulk_state *state = req->state;

    jw_object(&req->w, NULL);
    jw_array(&req->w, "results");
    for (size_t i = 0; i < body->user_ids.count; i++) {
        jw_object(&req->w, NULL);
        jw_i64(&req->w, "id", body->user_ids.at[i]);
        jw_str(&req->w, "error", state->error[i] ? state->error[i] : "");
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_patch_users(struct request *req)
{
    const struct patch_users_body *body = req->body;
    struct bulk_state *state = arena_new(&req->mem, struct bulk_state);

    if (!body->has_activate)
        return err_set(req->err, DET_INVALID,
                       "say what to change: activate must be true or false");
    if (state)
        state->error = arena_array(&req->mem, const char *, body->user_ids.count + 1);
    if (!state || !state->error)
        return DET_NOMEM;
    req->state = state;
    return request_write(req, set_all_active, bulk_done);
}
