/* SPDX-License-Identifier: Apache-2.0 */
/* signin_oidc.c - the two addresses of a sign-in through an OpenID Connect provider.
 *
 *   GET /oidc/login?return=PATH    to the provider, with a sealed cookie (flow.h)
 *   GET /oidc/callback?code&state  back from it: session cookie, and on to PATH
 *
 * A browser gets a page with the sentence when something fails, a program gets JSON; the
 * status is the same. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "master/api/api.h"
#include "master/api/people/signin_session.h"
#include "master/request/auth.h"
#include "master/signin/account.h"
#include "master/signin/flow.h"
#include "master/signin/oidc.h"
#include "master/signin/signin.h"
#include "wire/signin_bodies.h"

enum { COOKIE_NAME = 64 };

struct oidc_state {
    struct flow flow;
    const char *code;
    struct signin_person person;
};

/* ---- cookies --------------------------------------------------------------------- */

/* As with the session's cookie, several masters on one host have different names. */
static void name_cookie(const struct request *req, char name[COOKIE_NAME])
{
    const char *own = strrchr(auth_cookie(req->master->auth), '_');

    snprintf(name, COOKIE_NAME, "det_signin%s", own ? own : "");
}

/* SameSite is Lax, not Strict: the browser comes back from the provider's page. */
static void set_flow_cookie(struct request *req, const char *sealed, int seconds)
{
    char name[COOKIE_NAME];
    const char *value;

    name_cookie(req, name);
    value = arena_printf(
        &req->mem, "%s=%s; Path=/oidc/; HttpOnly; SameSite=Lax; Max-Age=%d%s", name,
        sealed, seconds, signin_is_secure(req->master->signin) ? "; Secure" : "");
    if (value)
        request_header(req, "Set-Cookie", value);
}

static const char *find_flow_cookie(struct request *req)
{
    const char *cookies = net_request_header(req->x, "Cookie");
    char name[COOKIE_NAME];
    size_t len;

    name_cookie(req, name);
    len = strlen(name);
    while (cookies && *cookies) {
        cookies += strspn(cookies, "; \t");
        if (!strncmp(cookies, name, len) && cookies[len] == '=')
            return arena_strndup(&req->mem, cookies + len + 1,
                                 strcspn(cookies + len + 1, "; \t"));
        cookies += strcspn(cookies, ";");
    }
    return NULL;
}

/* ---- failures -------------------------------------------------------------------- */

static void write_html(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("<>&\"'", *text))
            buf_printf(out, "&#%d;", *text);
        else
            buf_putc(out, *text);
    }
}

/* The sentence of req->err, for whoever opened the address. */
static det_status show_failure(struct request *req, det_status status)
{
    const char *text = req->err->text;

    log_info("a sign-in failed: %s", text);
    if (!request_wants_page(req->x) || req->mem.has_failed)
        return status;
    buf_clear(&req->out);
    req->headers = 0;
    req->header[0] = NULL;
    set_flow_cookie(req, "", 0);
    request_header(req, "Content-Security-Policy", "default-src 'none'");
    req->content_type = "text/html; charset=utf-8";
    req->http_status = det_status_http(status);
    buf_puts(&req->out, "<!doctype html><meta charset=utf-8><title>Sign-in failed"
                        "</title><h1>Sign-in failed</h1><p>");
    write_html(&req->out, text);
    buf_puts(&req->out,
             ".</p><p><a href=\"/det/login?stay=1\">Back to sign-in</a></p>\n");
    *req->err = (struct err){0};
    return DET_OK;
}

/* ---- to the provider ------------------------------------------------------------- */

static det_status redirect_to_provider(struct request *req)
{
    struct oidc_state *state = req->state;
    const char *sealed, *url;
    det_status st =
        oidc_login_url(signin_oidc(req->master->signin), &state->flow,
                       master_now_us(req->master), &req->mem, &url, req->err);

    signin_end(req->master->signin);
    if (st)
        return show_failure(req, st);
    sealed = flow_seal(&state->flow, signin_key(req->master->signin), &req->mem);
    if (!sealed)
        return DET_NOMEM;
    set_flow_cookie(req, sealed, FLOW_S);
    request_header(req, "Cache-Control", "no-store");
    return request_redirect(req, url);
}

static det_status check_enabled(struct request *req)
{
    if (signin_oidc(req->master->signin))
        return DET_OK;
    return err_set(req->err, DET_NOT_FOUND,
                   "this master has no identity provider; an administrator can "
                   "configure one with the key 'oidc'");
}

det_status api_oidc_login(struct request *req)
{
    const struct oidc_login_query *query = req->query;
    struct oidc_state *state = arena_new(&req->mem, struct oidc_state);
    const char *return_to =
        query->return_to && *query->return_to ? query->return_to : "/det/";
    det_status st = check_enabled(req);

    if (!st && !state)
        return DET_NOMEM;
    if (!st)
        st = flow_check_return(return_to, req->err);
    if (!st)
        st = flow_begin(master_now_us(req->master) / 1000000, return_to, &state->flow,
                        req->err);
    if (!st)
        st = signin_begin(req->master->signin, req->err);
    if (st)
        return show_failure(req, st);
    req->state = state;
    return request_move(req, signin_lane(req->master->signin), redirect_to_provider);
}

/* ---- back from it ---------------------------------------------------------------- */

static det_status show_page_of_user(struct request *req)
{
    struct oidc_state *state = req->state;
    const char *token = signin_session_token(req, &state->person);

    if (!token)
        return DET_NOMEM;
    req->caller.user_id = state->person.user.id; /* for the audit log */
    req->caller.username = state->person.user.username;
    signin_session_set_cookie(req, token);
    set_flow_cookie(req, "", 0);
    request_header(req, "Cache-Control", "no-store");
    return request_redirect(req, state->flow.return_to);
}

static det_status write_session(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct oidc_state *state = req->state;

    return signin_session_write(req, &state->person, db, err);
}

static det_status redeem_code(struct request *req)
{
    struct oidc_state *state = req->state;
    struct signin_person *person = &state->person;
    det_status st =
        oidc_finish(signin_oidc(req->master->signin), &state->flow, state->code,
                    master_now_us(req->master), &req->mem, &person->identity, req->err);

    signin_end(req->master->signin);
    if (!st)
        st = account_find(req->db, &person->identity, &req->mem, &person->user,
                          req->err);
    if (st)
        return show_failure(req, st);
    return request_write(req, write_session, show_page_of_user);
}

/* Whether this browser began the sign-in that comes back, and only once. */
static det_status check_flow(struct request *req,
                             const struct oidc_callback_query *query, struct flow *flow)
{
    struct signin *signin = req->master->signin;
    int64_t now_s = master_now_us(req->master) / 1000000;
    const char *sealed = find_flow_cookie(req);
    det_status st;

    if (!sealed)
        return err_set(req->err, DET_UNAUTHENTICATED,
                       "this browser did not begin a sign-in here, or it took longer "
                       "than %d minutes; begin again",
                       FLOW_S / 60);
    st = flow_open(sealed, signin_key(signin), now_s, &req->mem, flow, req->err);
    if (st)
        return st;
    if (!query->state || strlen(query->state) != strlen(flow->state) ||
        sodium_memcmp(query->state, flow->state, strlen(flow->state)))
        return err_set(req->err, DET_UNAUTHENTICATED,
                       "the sign-in that came back is not the one that this browser "
                       "began; begin again");
    if (!signin_use_flow(signin, flow, now_s))
        return err_set(req->err, DET_UNAUTHENTICATED,
                       "this sign-in was completed before; begin again");
    return oidc_check_issuer(signin_oidc(signin), query->iss, req->err);
}

static det_status check_answer(struct request *req,
                               const struct oidc_callback_query *query)
{
    if (query->error)
        return err_set(req->err, DET_UNAUTHENTICATED,
                       "the identity provider refused the sign-in: %.100s%s%.300s",
                       query->error, query->error_description ? ": " : "",
                       query->error_description ? query->error_description : "");
    if (!query->code || !*query->code)
        return err_set(req->err, DET_INVALID, "the identity provider sent no code");
    return DET_OK;
}

det_status api_oidc_callback(struct request *req)
{
    const struct oidc_callback_query *query = req->query;
    struct oidc_state *state = arena_new(&req->mem, struct oidc_state);
    det_status st = check_enabled(req);

    if (!st && !state)
        return DET_NOMEM;
    if (!st)
        st = check_flow(req, query, &state->flow);
    if (!st)
        st = check_answer(req, query);
    if (!st)
        st = signin_begin(req->master->signin, req->err);
    if (st)
        return show_failure(req, st);
    state->code = query->code;
    req->state = state;
    return request_move(req, signin_lane(req->master->signin), redeem_code);
}
