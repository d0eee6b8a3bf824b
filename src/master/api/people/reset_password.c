/* SPDX-License-Identifier: Apache-2.0 */
/* reset_password.c - a new password for a user who forgot it, without a session.
 *
 * Who can write into the data directory owns the master.  `det user reset-password` puts a
 * file there, reset-TICKET, with the user's name and the hash of the new password; the call
 * names the ticket, 32 random digits.  The file is removed before it is used, so a ticket
 * serves once.  Nothing secret travels, and nothing secret stays. */
#include <string.h>

#include "base/io/io.h"
#include "base/log.h"
#include "master/api/api.h"
#include "master/api/render.h"
#include "master/request/password.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "store/store.h"
#include "wire/bodies.h"

enum { TICKET_LEN = 32, TICKET_FILE = 4096 };

struct reset_state {
    const char *username;
    const char *sealed;
    struct user user; /* the result */
};

static det_status write_password(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct reset_state *state = req->state;
    det_status st = store_user_named(db, state->username, &req->mem, &state->user, err);

    /* The way back in when the service that signs a remote user in is gone. */
    state->user.is_remote = false;
    state->user.password = state->sealed;
    state->user.modified_us = master_now_us(req->master);
    if (!st)
        st = store_user_put(db, &state->user, err);
    if (!st)
        st = store_sessions_drop_of(db, state->user.id, err);
    return st;
}

static det_status reply_reset(struct request *req)
{
    struct reset_state *state = req->state;

    log_info("the password of '%s' was reset by the owner of the data directory",
             state->user.username);
    jw_object(&req->w, NULL);
    render_user(&req->w, "user", &state->user);
    jw_end_object(&req->w);
    return DET_OK;
}

/* Reads the file and removes it. */
static det_status take_ticket(struct request *req, const char *ticket,
                              const struct json **ret_tree)
{
    CLEANUP(buf_done) struct buf text = BUF_LIMITED(TICKET_FILE);
    const char *path =
        arena_printf(&req->mem, "%s/reset-%s", req->master->data_dir, ticket);
    struct json *tree;
    det_status st;

    if (!path)
        return DET_NOMEM;
    st = io_read_plain(req->master->io, path, &text, req->err);
    if (st == DET_NOT_FOUND)
        return err_set(req->err, DET_FORBIDDEN,
                       "there is no such ticket in the master's data directory");
    if (!st)
        st = io_remove(req->master->io, path, req->err);
    if (!st)
        st = json_parse(text.data, text.len, &req->mem, &tree, req->err);
    if (!st)
        *ret_tree = tree;
    return st;
}

/* On the login lane: it reads a file, and Argon2id is slow. */
static det_status seal_and_write(struct request *req)
{
    const struct reset_password_body *body = req->body;
    struct reset_state *state = req->state;
    const struct json *tree = NULL;
    const char *hash;
    det_status st = take_ticket(req, body->ticket, &tree);

    if (st)
        return st;
    state->username = json_str(json_get(tree, "username"), "");
    hash = json_str(json_get(tree, "password"), "");
    st = password_check_hash(hash, req->err);
    if (!st)
        st = password_seal(hash, &req->mem, &state->sealed, req->err);
    return st ? st : request_write(req, write_password, reply_reset);
}

det_status api_reset_password(struct request *req)
{
    const struct reset_password_body *body = req->body;

    if (strlen(body->ticket) != TICKET_LEN ||
        strspn(body->ticket, "0123456789abcdef") != TICKET_LEN)
        return err_set(req->err, DET_INVALID, "a ticket has %d hexadecimal digits",
                       TICKET_LEN);
    req->state = arena_new(&req->mem, struct reset_state);
    if (!req->state)
        return DET_NOMEM;
    return request_move(req, req->master->logins, seal_and_write);
}
