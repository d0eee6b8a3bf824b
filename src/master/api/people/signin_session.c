/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/people/signin_session.h"

#include <stdio.h>

#include "base/log.h"
#include "master/api/people/users.h"
#include "master/request/auth.h"
#include "master/request/request.h"
#include "master/signin/account.h"

enum { SESSION_DAYS = 7 };

static det_status find_user(struct db *db, struct signin_person *person,
                            struct request *req, struct err *err)
{
    int64_t now_us = master_now_us(req->master);
    det_status st;

    if (person->identity.source)
        return account_write(db, &person->identity, now_us, &req->mem, &person->user,
                             err);
    st = store_user_get(db, person->user.id, &req->mem, &person->user, err);
    if (!st && !person->user.is_active)
        return err_set(err, DET_FORBIDDEN, "user is not active");
    return st;
}

det_status signin_session_write(struct request *req, struct signin_person *person,
                                struct db *db, struct err *err)
{
    int64_t now_us = master_now_us(req->master);
    det_status st = find_user(db, person, req, err);

    if (st)
        return st;
    person->session = (struct session){.user_id = person->user.id,
                                       .created_us = now_us,
                                       .expires_us = now_us + (int64_t)SESSION_DAYS *
                                                                  86400 * 1000000};
    st = store_user_seen(db, person->user.id, now_us, err);
    if (!st)
        st = store_session_add(db, &person->session, &req->mem, &person->session.id,
                               &person->nonce, err);
    return st;
}

const char *signin_session_token(struct request *req,
                                 const struct signin_person *person)
{
    return auth_token(req->master->auth, TOKEN_SESSION, person->session.id,
                      person->nonce, &req->mem);
}

void signin_session_set_cookie(struct request *req, const char *token)
{
    auth_set_cookie(req, token, SESSION_DAYS * 86400);
}

det_status signin_session_reply(struct request *req, const struct signin_person *person,
                                bool sets_cookie)
{
    const char *token = signin_session_token(req, person);
    det_status st;

    if (!token)
        return DET_NOMEM;
    if (sets_cookie)
        signin_session_set_cookie(req, token);
    req->caller = (struct caller){.kind = CALLER_USER,
                                  .user_id = person->user.id,
                                  .username = person->user.username,
                                  .is_admin = person->user.is_admin,
                                  .session_id = person->session.id};
    jw_object(&req->w, NULL);
    jw_str(&req->w, "token", token);
    st = users_render_caller(req);
    jw_end_object(&req->w);
    return st;
}
