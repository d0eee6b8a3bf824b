/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - people: sessions and accounts. */
#include <string.h>

#include "data/text.h"
#include "master/api/api.h"
#include "master/api/show.h"
#include "master/auth.h"
#include "store/views.h"
#include "wire/bodies.h"
#include "wire/queries.h"

enum { SESSION_DAYS = 7 };

/* ---- sessions -------------------------------------------------------------------- */

struct login_state {
    struct user user;
    const char *hash;
    struct session session;
};

static det_status write_session(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct login_state *login = req->state;
    det_status st;

    login->user.last_auth_us = login->session.created_us;
    st = store_user_put(db, &login->user, err);
    if (!st)
        st = store_session_add(db, &login->session, &login->session.id, err);
    return st;
}

static det_status login_done(struct request *req)
{
    struct login_state *login = req->state;

    jw_object(&req->w, NULL);
    jw_str(&req->w, "token",
           auth_token(req->master->auth, TOKEN_SESSION, login->session.id, &req->mem));
    show_user(&req->w, "user", &login->user);
    jw_end_object(&req->w);
    return DET_OK;
}

/* On the login lane: Argon2id takes its time, and its memory once. */
static det_status login_check(struct request *req)
{
    struct login_state *login = req->state;
    det_status st = password_check(&login->user, login->hash, req->err);

    if (st)
        return st;
    if (!login->user.is_active)
        return err_set(req->err, DET_FORBIDDEN, "user is not active");
    if (!login->user.password && !peer_is_owner(req->x))
        return err_set(req->err, DET_FORBIDDEN,
                       "user '%s' has no password yet, so only the user that runs this "
                       "master may log in as it, from the same machine; set one with "
                       "'det user change-password'",
                       login->user.username);
    login->session.user_id = login->user.id;
    login->session.created_us = master_now_us(req->master);
    login->session.expires_us =
        login->session.created_us + (int64_t)SESSION_DAYS * 86400 * 1000000;
    return request_write(req, write_session, login_done);
}

det_status api_login(struct request *req)
{
    const struct login_body *body = req->body;
    struct login_state *login = arena_new(&req->mem, struct login_state);
    det_status st;

    if (!body->username || !*body->username)
        return err_set(req->err, DET_INVALID, "the user name is missing");
    if (!login)
        return DET_NOMEM;
    login->hash = password_hash(body->password, body->is_hashed, &req->mem);
    if (!login->hash)
        return DET_NOMEM;
    st = store_user_named(req->db, body->username, &req->mem, &login->user, req->err);
    if (st == DET_NOT_FOUND || (!st && login->user.is_remote))
        return err_set(req->err, DET_UNAUTHENTICATED, "invalid credentials");
    if (st)
        return st;
    req->state = login;
    return request_move(req, req->master->logins, login_check);
}

static det_status drop_session(struct write_job *job, struct db *db, struct err *err)
{
    return store_session_drop(db, REQUEST_OF(job)->caller.session_id, err);
}

det_status api_logout(struct request *req)
{
    return request_write(req, drop_session, NULL);
}

/* ---- reading --------------------------------------------------------------------- */

static det_status reply_user(struct request *req, int64_t id)
{
    struct user user;
    det_status st = store_user_get(req->db, id, &req->mem, &user, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    show_user(&req->w, "user", &user);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_me(struct request *req)
{
    return reply_user(req, req->caller.user_id);
}

det_status api_get_user(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : reply_user(req, id);
}

det_status api_get_user_by_name(struct request *req)
{
    struct user user;
    det_status st = store_user_named(req->db, req->arg[0], &req->mem, &user, req->err);

    return st ? st : reply_user(req, user.id);
}

static bool is_wanted(const struct users_query *query, const struct user *user)
{
    if (query->has_active && query->active != user->is_active)
        return false;
    if (query->has_admin && query->admin != user->is_admin)
        return false;
    return !query->name || strcasestr(user->username, query->name);
}

det_status api_list_users(struct request *req)
{
    const struct users_query *query = req->query;
    struct page page = {.offset = query->offset, .limit = query->limit};
    struct user *users;
    uint32_t count;
    int64_t total = 0;
    det_status st = store_user_list(req->db, &req->mem, &users, &count, req->err);

    for (uint32_t i = 0; i < count && !st; i++)
        if (is_wanted(query, &users[i]))
            users[total++] = users[i];
    if (!st)
        st = page_cut(&page, total, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "users");
    for (int64_t i = page.start; i < page.end; i++)
        show_user(&req->w, NULL,
                  &users[is_descending(query->order_by) ? total - 1 - i : i]);
    jw_end_array(&req->w);
    show_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- changing -------------------------------------------------------------------- */

struct user_state {
    struct user user;
    const char *hash; /* NULL: the password stays */
    bool ends_sessions;
};

static det_status reply_changed(struct request *req)
{
    struct user_state *state = req->state;

    jw_object(&req->w, NULL);
    show_user(&req->w, "user", &state->user);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status add_user(struct write_job *job, struct db *db, struct err *err)
{
    struct user_state *state = REQUEST_OF(job)->state;

    return store_user_add(db, &state->user, &state->user.id, err);
}

static det_status put_user(struct write_job *job, struct db *db, struct err *err)
{
    struct user_state *state = REQUEST_OF(job)->state;
    det_status st = store_user_put(db, &state->user, err);

    if (!st && state->ends_sessions)
        st = store_sessions_drop_of(db, state->user.id, err);
    return st;
}

/* On the login lane. */
static det_status seal_and_write(struct request *req)
{
    struct user_state *state = req->state;
    det_status st = DET_OK;

    if (state->hash)
        st = password_seal(state->hash, &req->mem, &state->user.password, req->err);
    if (st)
        return st;
    state->user.modified_us = master_now_us(req->master);
    return request_write(req, state->user.id ? put_user : add_user, reply_changed);
}

static det_status check_name(const char *name, struct err *err)
{
    size_t len = name ? strlen(name) : 0;

    if (!len || len > 64 || strpbrk(name, " \t\r\n/"))
        return err_set(err, DET_INVALID,
                       "a user name has 1 to 64 characters, no spaces and no '/'");
    return DET_OK;
}

det_status api_create_user(struct request *req)
{
    const struct create_user_body *body = req->body;
    struct user_state *state = arena_new(&req->mem, struct user_state);
    det_status st = check_name(body->user.username, req->err);

    if (st)
        return st;
    if (!state)
        return DET_NOMEM;
    state->user = (struct user){
        .username = body->user.username,
        .display_name = body->user.display_name,
        .is_admin = body->user.has_admin && body->user.admin,
        .is_active = !body->user.has_active || body->user.active,
        .is_remote = body->user.remote,
    };
    state->hash = password_hash(body->password, body->is_hashed, &req->mem);
    if (!state->hash)
        return DET_NOMEM;
    req->state = state;
    return request_move(req, req->master->logins, seal_and_write);
}

/* Everybody may change their own display name and password; the rest is for
 * administrators (and for whoever runs the master). */
static det_status may_patch(struct request *req, int64_t id,
                            const struct patch_user_body *body)
{
    bool is_own = id == req->caller.user_id && !body->username && !body->has_admin &&
                  !body->has_active;

    if (is_own || req->caller.is_admin || peer_is_owner(req->x))
        return DET_OK;
    return err_set(req->err, DET_FORBIDDEN, "only an administrator may do this");
}

static det_status patch(struct request *req, int64_t id,
                        const struct patch_user_body *body)
{
    struct user_state *state = arena_new(&req->mem, struct user_state);
    det_status st = may_patch(req, id, body);

    if (!st && body->username)
        st = check_name(body->username, req->err);
    if (!st && !state)
        st = DET_NOMEM;
    if (!st)
        st = store_user_get(req->db, id, &req->mem, &state->user, req->err);
    if (st)
        return st;
    if (body->username)
        state->user.username = body->username;
    if (body->display_name)
        state->user.display_name = body->display_name;
    if (body->has_admin)
        state->user.is_admin = body->admin;
    if (body->has_active)
        state->user.is_active = body->active;
    state->ends_sessions = body->has_password || (body->has_active && !body->active);
    if (body->has_password) {
        state->hash = password_hash(body->password, body->is_hashed, &req->mem);
        if (!state->hash)
            return DET_NOMEM;
    }
    req->state = state;
    return request_move(req, req->master->logins, seal_and_write);
}

det_status api_patch_user(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : patch(req, id, req->body);
}

det_status api_set_password(struct request *req)
{
    struct patch_user_body body = {.has_password = true, .is_hashed = true};
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (st)
        return st;
    body.password = json_str(req->tree, NULL);
    if (!body.password)
        return err_set(req->err, DET_INVALID, "the body must be the new password");
    return patch(req, id, &body);
}
