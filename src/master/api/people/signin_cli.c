/* SPDX-License-Identifier: Apache-2.0 */
/* signin_cli.c - sessions for the command line, allowed in the browser; see handover.h. */
#include <stdio.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/people/signin_session.h"
#include "master/request/client_address.h"
#include "master/signin/handover.h"
#include "master/signin/signin.h"
#include "wire/signin_bodies.h"

enum { VERIFIER_LEAST = 43, VERIFIER_MOST = 128, REDEEM_WAIT_S = 20 };

static struct handovers *handovers_of(const struct request *req)
{
    return signin_handovers(req->master->signin);
}

/* A waiting command is woken by this. */
static const char *wait_key(struct request *req, const char *user_code)
{
    return arena_printf(&req->mem, "signin %s", user_code);
}

/* ---- the loopback form ----------------------------------------------------------- */

det_status api_add_signin_code(struct request *req)
{
    const struct signin_code_body *body = req->body;
    char code[HANDOVER_CODE_TEXT];
    det_status st =
        handovers_add_code(handovers_of(req), req->caller.user_id, body->challenge,
                           master_now_us(req->master), code, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_str(&req->w, "code", code);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- the device form ------------------------------------------------------------- */

/* The name comes from anybody and is shown to a person: printable ASCII only. */
static void copy_host(char host[HANDOVER_HOST_TEXT], const char *given)
{
    size_t at = 0;

    for (; given && *given && at < HANDOVER_HOST_TEXT - 1; given++) {
        if (*given > ' ' && *given < 0x7F)
            host[at++] = *given;
    }
    host[at] = '\0';
}

det_status api_add_signin_device(struct request *req)
{
    const struct signin_device_body *body = req->body;
    struct handover_device device = {0};
    char address[NET_ADDRESS_TEXT];
    det_status st;

    client_address(req->master, req->x, address);
    snprintf(device.address, sizeof(device.address), "%s", address);
    copy_host(device.host, body->host);
    st = handovers_add_device(handovers_of(req), &device, body->challenge,
                              master_now_us(req->master), req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_str(&req->w, "code", device.code);
    jw_str(&req->w, "userCode", device.user_code);
    jw_i64(&req->w, "expiresIn", HANDOVER_DEVICE_S);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_signin_device(struct request *req)
{
    struct handover_device device;
    det_status st = handovers_find_device(
        handovers_of(req), req->arg[0], master_now_us(req->master), &device, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_str(&req->w, "userCode", device.user_code);
    jw_str(&req->w, "host", device.host);
    jw_str(&req->w, "address", device.address);
    jw_time(&req->w, "createdAt", device.created_us);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_decide_signin_device(struct request *req)
{
    const struct signin_decision_body *body = req->body;
    int64_t now_us = master_now_us(req->master);
    struct handover_device device;
    const char *key;
    det_status st = handovers_find_device(handovers_of(req), req->arg[0], now_us,
                                          &device, req->err);

    if (!st)
        st = handovers_decide(handovers_of(req), device.user_code,
                              body->is_allowed ? req->caller.user_id : 0, now_us,
                              req->err);
    if (st)
        return st;
    key = wait_key(req, device.user_code);
    if (key) /* otherwise the command asks again soon */
        waits_wake(req->master->waits, key);
    return DET_OK;
}

/* ---- redeeming ------------------------------------------------------------------- */

struct redeem_state {
    const char *code;
    const char *verifier;
    int64_t deadline_us;
    struct signin_person person;
};

static det_status write_session(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct redeem_state *state = req->state;

    return signin_session_write(req, &state->person, db, err);
}

static det_status reply_session(struct request *req)
{
    struct redeem_state *state = req->state;

    return signin_session_reply(req, &state->person, false);
}

static det_status look_at_code(struct request *req, struct handover_result *ret_result)
{
    struct redeem_state *state = req->state;

    return handovers_redeem(handovers_of(req), state->code, state->verifier,
                            master_now_us(req->master), ret_result, req->err);
}

/* The mark comes before the second look: a decision in between is not missed.  The first
 * look only learns for which key to wait. */
static det_status try_redeem(struct request *req)
{
    struct redeem_state *state = req->state;
    struct handover_result found;
    det_status st = look_at_code(req, &found);

    if (!st && !found.is_allowed) {
        const char *key = wait_key(req, found.user_code);
        uint64_t mark = key ? waits_mark(req->master->waits, key) : 0;

        st = key ? look_at_code(req, &found) : DET_NOMEM;
        if (!st && !found.is_allowed && !request_is_due(req, state->deadline_us))
            return request_wait(req, key, mark, state->deadline_us, try_redeem);
    }
    if (st)
        return st;
    state->person.user.id = found.user_id;
    if (found.is_allowed)
        return request_write(req, write_session, reply_session);
    jw_object(&req->w, NULL);
    jw_bool(&req->w, "isPending", true);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_redeem_signin(struct request *req)
{
    const struct signin_redeem_body *body = req->body;
    struct redeem_state *state = arena_new(&req->mem, struct redeem_state);
    size_t len = body->verifier ? strlen(body->verifier) : 0;

    if (!state)
        return DET_NOMEM;
    if (len < VERIFIER_LEAST || len > VERIFIER_MOST)
        return err_set(req->err, DET_INVALID,
                       "'verifier' must have %d to %d characters", VERIFIER_LEAST,
                       VERIFIER_MOST);
    state->code = body->code ? body->code : "";
    state->verifier = body->verifier;
    state->deadline_us = request_mono_us(req) + REDEEM_WAIT_S * INT64_C(1000000);
    req->state = state;
    return try_redeem(req);
}
