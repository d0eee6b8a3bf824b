/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/signin_password.h"

#include "master/api/people/signin_session.h"
#include "master/request/request.h"
#include "master/signin/account.h"
#include "master/signin/directory.h"
#include "master/signin/signin.h"
#include "wire/bodies.h"

struct password_state {
    const char *username;
    const char *password;
    signin_ended_fn *ended;
    void *arg;
    struct signin_person person;
};

bool signin_password_applies(struct request *req, const struct login_body *body,
                             const struct user *user)
{
    return signin_directory(req->master->signin) && !body->is_hashed &&
           (!user || user->is_remote);
}

static det_status reply_session(struct request *req)
{
    struct password_state *state = req->state;

    return signin_session_reply(req, &state->person, true);
}

static det_status write_session(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct password_state *state = req->state;

    return signin_session_write(req, &state->person, db, err);
}

static det_status ask_directory(struct request *req)
{
    struct password_state *state = req->state;
    struct signin_person *person = &state->person;
    det_status st =
        directory_check(signin_directory(req->master->signin), state->username,
                        state->password, &req->mem, &person->identity, req->err);

    signin_end(req->master->signin);
    if (!st)
        st = account_find(req->db, &person->identity, &req->mem, &person->user,
                          req->err);
    state->ended(req, state->arg, st);
    if (st)
        return st;
    return request_write(req, write_session, reply_session);
}

det_status signin_password_begin(struct request *req, const struct login_body *body,
                                 signin_ended_fn *ended, void *arg)
{
    struct password_state *state = arena_new(&req->mem, struct password_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    state->username = body->username;
    state->password = body->password ? body->password : "";
    state->ended = ended;
    state->arg = arg;
    st = signin_begin(req->master->signin, req->err);
    if (st) {
        ended(req, arg, st);
        return st;
    }
    req->state = state;
    return request_move(req, signin_lane(req->master->signin), ask_directory);
}
