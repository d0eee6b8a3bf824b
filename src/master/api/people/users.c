/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/users.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "master/api/api.h"
#include "master/api/people/agent_user.h"
#include "master/api/people/login_limit.h"
#include "master/api/people/signin_password.h"
#include "master/api/people/user_rules.h"
#include "master/api/render.h"
#include "master/request/access.h"
#include "master/request/auth.h"
#include "master/request/client_address.h"
#include "master/request/error_body.h"
#include "master/request/password.h"
#include "store/people/access_token.h"
#include "store/people/grants.h"
#include "store/people/role_assignment.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "store/store.h"
#include "wire/bodies.h"

enum { SESSION_DAYS = 7, USER_NAME_LEAST = 2 };

/* ---- sessions -------------------------------------------------------------------- */

struct login_state {
    bool is_known;    /* the user exists and has a local password */
    struct user user; /* as it was when its password was checked */
    const char *hash;
    bool is_counted; /* login_limit_end() must follow */
    struct login_decision decision;
    struct session session;
    const char *nonce;
};

static bool same_seal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* The user may have been changed or deactivated since its password was checked. */
static det_status recheck_user(struct db *db, struct login_state *login,
                               struct arena *mem, struct err *err)
{
    const char *checked = login->user.password;
    det_status st = store_user_get(db, login->user.id, mem, &login->user, err);

    if (st == DET_NOT_FOUND || (!st && !same_seal(checked, login->user.password)))
        return err_set(err, DET_UNAUTHENTICATED, "invalid credentials");
    if (!st && !login->user.is_active)
        return err_set(err, DET_FORBIDDEN, "user is not active");
    return st;
}

static det_status write_session(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct login_state *login = req->state;
    det_status st = recheck_user(db, login, &req->mem, err);

    login->user.last_auth_us = login->session.created_us;
    if (!st)
        st = store_user_seen(db, login->user.id, login->user.last_auth_us, err);
    if (!st)
        st = store_session_add(db, &login->session, &req->mem, &login->session.id,
                               &login->nonce, err);
    return st;
}

static void render_mask(struct json_writer *w, const char *key, uint64_t mask)
{
    jw_array(w, key);
    for (int i = 0; i < PERMISSION_COUNT; i++)
        if (mask >> i & 1)
            jw_str(w, NULL, permissions[i].name);
    jw_end_array(w);
}

/* {"cluster": ["VIEW_WORKSPACE", ...], "workspaces": {"2": [...]}} */
static void render_grants(struct request *req, const struct grants *grants)
{
    jw_object(&req->w, "permissions");
    render_mask(&req->w, "cluster", grants->cluster);
    jw_object(&req->w, "workspaces");
    for (uint32_t i = 0; i < grants->count; i++)
        render_mask(&req->w,
                    arena_printf(&req->mem, "%" PRId64, grants->grant[i].workspace_id),
                    grants->grant[i].mask);
    jw_end_object(&req->w);
    jw_end_object(&req->w);
}

/* What the WebUI offers the user.  The master decides by itself. */
static det_status render_rights(struct request *req, const struct user *user)
{
    struct grants grants = {0};
    bool may = false;
    det_status st = access_may(req, ROUTE_ID_create_user, user, &may);

    jw_bool(&req->w, "mayAdminister", !req->master->is_read_only && may);
    if (!req->master->is_rbac)
        jw_null(&req->w, "permissions"); /* owners and administrators decide */
    else if (!st)
        st = store_grants_of(req->db, user->id, &req->mem, &grants, req->err);
    if (!st && req->master->is_rbac)
        render_grants(req, &grants);
    return st;
}

static det_status login_done(struct request *req)
{
    struct login_state *login = req->state;
    det_status st;
    const char *token = auth_token(req->master->auth, TOKEN_SESSION, login->session.id,
                                   login->nonce, &req->mem);

    if (!token)
        return DET_NOMEM;
    auth_set_cookie(req, token, SESSION_DAYS * 86400);
    jw_object(&req->w, NULL);
    jw_str(&req->w, "token", token);
    render_user(&req->w, "user", &login->user);
    st = render_rights(req, &login->user);
    jw_end_object(&req->w);
    return st;
}

/* Never the password; control characters in the name must not make lines of their own. */
static void log_failed_login(const struct request *req, const char *why)
{
    const struct login_body *body = req->body;
    char address[NET_ADDRESS_TEXT];
    char name[65];
    size_t len = 0;

    for (const char *at = body->username; *at && len + 1 < sizeof(name); at++)
        name[len++] = (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at;
    name[len] = '\0';
    client_address(req->master, req->x, address);
    log_warn("a login as '%s' from %s failed: %s", name, address, why);
}

/* On the login lane, one at a time: Argon2id is slow and needs much memory. */
static det_status check_login(struct request *req)
{
    struct login_state *login = req->state;
    det_status st =
        password_check(login->is_known ? &login->user : NULL, login->hash, req->err);

    auth_login_end(req->master->auth, auth_turn_of_address(req));
    if (st)
        return st;
    if (!login->user.is_active)
        return err_set(req->err, DET_FORBIDDEN, "user is not active");
    if (!login->user.password &&
        !(req->master->is_loopback && auth_peer_is_owner(req->x)))
        return err_set(req->err, DET_FORBIDDEN,
                       "user '%s' has no password yet, so only the user that runs this "
                       "master may log in as it, from the same machine; set one with "
                       "'det user change-password'",
                       login->user.username);
    login->session.user_id = login->user.id;
    login->session.created_us = master_now_us(req->master);
    login->session.expires_us =
        login->session.created_us + (int64_t)SESSION_DAYS * 86400 * 1000000;
    return DET_OK;
}

/* A blank password is no guess, and costs no time: clients try it by themselves. */
static det_status limit_login(struct request *req, struct login_state *login)
{
    const struct login_body *body = req->body;
    char address[NET_ADDRESS_TEXT];

    if (!*login->hash)
        return DET_OK;
    client_address(req->master, req->x, address);
    login->decision = login_limit_begin(req->master->login_limit, address,
                                        body->username, request_mono_us(req));
    login->is_counted = login->decision.verdict != LOGIN_REFUSED;
    return login->is_counted ? DET_OK : DET_BUSY;
}

static void count_login(struct request *req, const struct login_state *login,
                        det_status st)
{
    const struct login_body *body = req->body;
    char address[NET_ADDRESS_TEXT];

    if (!login->is_counted)
        return;
    client_address(req->master, req->x, address);
    login_limit_end(req->master->login_limit, address, body->username, &login->decision,
                    !st                                                ? LOGIN_RIGHT
                    : st == DET_UNAUTHENTICATED || st == DET_FORBIDDEN ? LOGIN_WRONG
                                                                       : LOGIN_UNKNOWN,
                    request_mono_us(req));
}

/* 429, which says when to try again. */
static det_status reply_later(struct request *req, int64_t wait_us)
{
    int64_t seconds = (wait_us + 999999) / 1000000;

    request_header(req, "Retry-After",
                   arena_printf(&req->mem, "%lld", (long long)seconds));
    error_body_write(&req->out, DET_BUSY,
                     arena_printf(&req->mem,
                                  "too many wrong logins for this user from this "
                                  "address; try again in %lld s",
                                  (long long)seconds));
    req->http_status = 429;
    return DET_OK;
}

/* The directory has checked the password, or could not. */
static void directory_ended(struct request *req, void *login, det_status st)
{
    count_login(req, login, st);
    if (st)
        log_failed_login(req, req->err->text);
}

static det_status login_check(struct request *req)
{
    det_status st = check_login(req);

    count_login(req, req->state, st);
    if (!st)
        return request_write(req, write_session, login_done);
    if (st == DET_UNAUTHENTICATED || st == DET_FORBIDDEN)
        log_failed_login(req, req->err->text);
    return st;
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
    if (st && st != DET_NOT_FOUND)
        return st;
    login->is_known = !st && !login->user.is_remote;
    if (limit_login(req, login))
        return reply_later(req, login->decision.wait_us);
    if (signin_password_applies(req, body, st ? NULL : &login->user))
        return signin_password_begin(req, body, directory_ended, login);
    st = auth_login_begin(req->master->auth, auth_turn_of_address(req), req->err);
    if (st) {
        count_login(req, login, st);
        return st;
    }
    req->state = login;
    req->task.turn = auth_turn_of_name(req, body->username);
    return request_move(req,
                        login->decision.verdict == LOGIN_SLOW ? req->master->slow_logins
                                                              : req->master->logins,
                        login_check);
}

static det_status drop_session(struct write_job *job, struct db *db, struct err *err)
{
    return store_session_drop(db, REQUEST_OF(job)->caller.session_id, err);
}

static det_status logout_done(struct request *req)
{
    auth_set_cookie(req, "", 0);
    return DET_OK;
}

det_status api_logout(struct request *req)
{
    return request_write(req, drop_session, logout_done);
}

/* ---- reading --------------------------------------------------------------------- */

static det_status reply_user(struct request *req, int64_t id)
{
    struct user user;
    det_status st = store_user_get(req->db, id, &req->mem, &user, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    render_user(&req->w, "user", &user);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status users_render_caller(struct request *req)
{
    struct user user;
    det_status st =
        store_user_get(req->db, req->caller.user_id, &req->mem, &user, req->err);

    if (st)
        return st;
    render_user(&req->w, "user", &user);
    return render_rights(req, &user);
}

det_status api_get_me(struct request *req)
{
    det_status st;

    jw_object(&req->w, NULL);
    st = users_render_caller(req);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_auth_user(struct request *req)
{
    return api_get_me(req);
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

/* ---- changing -------------------------------------------------------------------- */

struct user_state {
    int64_t id; /* 0: a new one */
    struct patch_user_body change;
    const char *hash; /* NULL: the password stays */
    const char *sealed;
    struct user agent; /* the new identity of its tasks, if that is changed */
    struct user user;  /* new, or the result */
};

static det_status reply_changed(struct request *req)
{
    struct user_state *state = req->state;

    if (state->user.agent_user && req->master->on_link)
        req->master->on_link(req->master->fatal_arg);
    jw_object(&req->w, NULL);
    render_user(&req->w, "user", &state->user);
    jw_end_object(&req->w);
    return DET_OK;
}

static det_status add_user(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct user_state *state = req->state;
    det_status st = user_check_names(db, &state->user, true, true, &req->mem, err);

    state->user.password = state->sealed;
    if (!st)
        st = store_user_add(db, &state->user, &state->user.id, err);
    if (!st && state->user.is_admin)
        st = store_role_follow_admin(db, state->user.id, true, err);
    return st;
}

static void apply_change(struct user *user, const struct user_state *state)
{
    const struct patch_user_body *change = &state->change;

    if (change->username)
        user->username = change->username;
    if (change->display_name)
        user->display_name = change->display_name;
    if (change->has_admin)
        user->is_admin = change->admin;
    if (change->has_active)
        user->is_active = change->active;
    if (change->has_remote && change->remote != user->is_remote) {
        user->is_remote = change->remote;
        user->password = NULL; /* blank, unless the call brings one */
    }
    if (state->hash)
        user->password = state->sealed;
    if (agent_user_is_given(change->agent_user_group)) {
        user->agent_uid = state->agent.agent_uid;
        user->agent_gid = state->agent.agent_gid;
        user->agent_user = state->agent.agent_user;
        user->agent_group = state->agent.agent_group;
    }
}

/* What the user may become.  `before` is the row as it was. */
static det_status check_change(struct request *req, struct db *db,
                               const struct user *before, const struct user *user,
                               struct err *err)
{
    const struct user_state *state = req->state;
    const struct patch_user_body *change = &state->change;
    bool becomes_usable = (change->has_active && user->is_active) ||
                          (before->is_remote && !user->is_remote);

    if (user->is_remote && (change->has_password || change->username))
        return err_set(err, DET_INVALID,
                       "cannot set %s of remote user '%s'; another service manages it",
                       change->has_password ? "the password" : "the name",
                       before->username);
    if (becomes_usable && !user->password && !user->is_remote &&
        !req->master->is_loopback)
        return err_set(err, DET_STATE, "user '%s' has no password yet; set one first",
                       user->username);
    return user_check_names(db, user, change->username != NULL,
                            change->display_name != NULL, &req->mem, err);
}

/* What ends with the change: sessions, and with deactivation access tokens too. */
static det_status end_sessions(const struct user_state *state, struct db *db,
                               const struct user *user, struct err *err)
{
    const struct patch_user_body *change = &state->change;
    bool is_off = change->has_active && !change->active;
    det_status st = DET_OK;

    if (state->hash || is_off || (change->has_remote && change->remote))
        st = store_sessions_drop_of(db, user->id, err);
    if (!st && is_off)
        st = store_access_tokens_revoke_of(db, user->id, err);
    return st;
}

/* Changes the current row: another call may have changed it meanwhile. */
static det_status put_user(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct user_state *state = req->state;
    struct admin_count admins;
    struct user before;
    struct user user;
    det_status st = store_user_get(db, state->id, &req->mem, &before, err);

    if (!st)
        st = admin_count_begin(req, db, &admins, err);
    if (st)
        return st;
    user = before;
    apply_change(&user, state);
    st = check_change(req, db, &before, &user, err);
    user.modified_us = master_now_us(req->master);
    if (!st)
        st = store_user_put(db, &user, err);
    if (!st && state->change.has_admin)
        st = store_role_follow_admin(db, user.id, user.is_admin, err);
    if (!st)
        st = end_sessions(state, db, &user, err);
    if (!st)
        st = admin_count_check(db, &admins, err);
    state->user = user;
    return st;
}

/* On the login lane. */
static det_status seal_and_write(struct request *req)
{
    struct user_state *state = req->state;
    det_status st = DET_OK;

    if (state->hash)
        st = password_seal(state->hash, &req->mem, &state->sealed, req->err);
    if (st)
        return st;
    return request_write(req, state->id ? put_user : add_user, reply_changed);
}

/* Trims the names that are given. */
static det_status check_names(struct request *req, const char **username,
                              const char **display_name)
{
    det_status st = DET_OK;

    if (*username)
        st = user_name_check("user", USER_NAME_LEAST, username, &req->mem, req->err);
    if (!st && *display_name)
        st = user_name_check("display", 0, display_name, &req->mem, req->err);
    return st;
}

/* A client's hash hides the length of the password: clients check it.  Blank passwords are
 * allowed only if other machines cannot reach the master. */
static det_status hash_password(struct request *req, struct user_state *state,
                                const char *password, bool is_hashed)
{
    det_status st = DET_OK;

    if (password && *password)
        st = is_hashed ? password_check_hash(password, req->err)
                       : password_check_length(password, req->err);
    if (st)
        return st;
    state->hash = password_hash(password, is_hashed, &req->mem);
    if (!state->hash)
        return DET_NOMEM;
    if (!*state->hash && !req->master->is_loopback)
        return err_set(
            req->err, DET_INVALID,
            "the password must not be blank: this master can be reached from "
            "other machines");
    return DET_OK;
}

det_status api_create_user(struct request *req)
{
    const struct create_user_body *body = req->body;
    struct user_state *state = arena_new(&req->mem, struct user_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    state->user = (struct user){
        .username = body->user.username,
        .display_name = body->user.display_name,
        .is_admin = body->user.has_admin && body->user.admin,
        .is_active = !body->user.has_active || body->user.active,
        .is_remote = body->user.remote,
    };
    state->user.modified_us = master_now_us(req->master);
    st = check_names(req, &state->user.username, &state->user.display_name);
    if (!st && agent_user_is_given(body->user.agent_user_group))
        st = agent_user_read(body->user.agent_user_group, &state->user, req->err);
    if (!st && body->user.remote && body->password && *body->password)
        st = err_set(req->err, DET_INVALID, "cannot set password for remote user");
    if (!st && !body->user.remote)
        st = hash_password(req, state, body->password, body->is_hashed);
    if (st)
        return st;
    req->state = state;
    return request_move(req, req->master->logins, seal_and_write);
}

static det_status patch_user(struct request *req, int64_t id,
                             const struct patch_user_body *body)
{
    struct user_state *state = arena_new(&req->mem, struct user_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    st = store_user_get(req->db, id, &req->mem, &state->user, req->err);
    state->id = id;
    state->change = *body;
    if (!st)
        st = check_names(req, &state->change.username, &state->change.display_name);
    if (!st && agent_user_is_given(body->agent_user_group))
        st = agent_user_read(body->agent_user_group, &state->agent, req->err);
    if (!st && body->has_password)
        st = hash_password(req, state, body->password, body->is_hashed);
    if (st)
        return st;
    req->state = state;
    return request_move(req, req->master->logins, seal_and_write);
}

det_status api_patch_user(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : patch_user(req, id, req->body);
}

det_status api_set_password(struct request *req)
{
    struct patch_user_body body = {.has_password = true};
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (st)
        return st;
    body.password = json_str(req->tree, NULL);
    if (!body.password)
        return err_set(req->err, DET_INVALID, "the body must be the new password");
    return patch_user(req, id, &body);
}
