/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - decides as whom a client calls.  The first row that applies counts:
 *
 *   a token in the options                     used as it is
 *   a task                                     DET_SESSION_TOKEN
 *   a user in the options, or DET_USER with
 *   DET_PASS                                   the stored session, else a login
 *   inside a task                              DET_USER_TOKEN
 *   DET_USER alone                             the stored session, else a login
 *   the user who logged in last                the stored session, else a login
 *   otherwise                                  `determined` with a blank password */
#include <stdlib.h>
#include <string.h>

#include "data/json/json.h"
#include "libdet/client/auth.h"
#include "libdet/client/client_impl.h"

#define FIRST_USER "determined"

enum { SCRATCH = 4 << 20 };

static const char *read_variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static det_status use_token(det_client *client, const char *format_of,
                            const char *token)
{
    client->header = arena_printf(&client->strings, "%s: Bearer %s", format_of, token);
    return client->header ? DET_OK : err_default(&client->err, DET_NOMEM);
}

static det_status use_session(det_client *client, const char *token)
{
    return use_token(client, "Authorization", token);
}

/* ---- logging in ------------------------------------------------------------------ */

static void write_login(struct buf *body, const char *user, const char *password,
                        bool is_plain)
{
    struct json_writer w = JSON_WRITER(body);
    char hash[AUTH_HASH_TEXT];

    auth_hash(password, hash);
    jw_object(&w, NULL);
    jw_str(&w, "username", user);
    jw_str(&w, "password", is_plain ? password : hash);
    jw_bool(&w, "isHashed", !is_plain);
    jw_end_object(&w);
}

/* Whether the master checks passwords with a directory, which needs the password itself.  A
 * master that does not say so gets a hash. */
static bool wants_plain_password(det_client *client)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf answer = BUF_LIMITED(SCRATCH);
    struct net_call call = {.method = NET_GET, .path = "/info"};
    struct net_reply reply = {.body = &answer};
    struct json *tree;
    bool wants;

    call.timeout_ms = client->timeout_ms;
    wants = !client_exchange(client, &call, &reply) &&
            !json_parse(answer.data, answer.len, &mem, &tree, NULL) &&
            json_bool(json_get(tree, "plain_passwords"), false);
    memset(&client->err, 0, sizeof(client->err));
    return wants;
}

static bool is_safe_for_passwords(const det_client *client)
{
    const char *host = client->url.host;

    return client->url.is_tls || !strcmp(host, "localhost") || !strcmp(host, "::1") ||
           !strncmp(host, "127.", 4);
}

static det_status post_login(det_client *client, const char *user, const char *password,
                             struct arena *mem, const char **ret_token)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    CLEANUP(buf_done) struct buf answer = BUF_LIMITED(SCRATCH);
    struct net_call call = {.method = NET_POST, .path = "/api/v1/auth/login"};
    struct net_reply reply = {.body = &answer};
    struct json *tree;
    bool is_plain;
    det_status st;

    client->header = NULL;
    is_plain = *password && wants_plain_password(client);
    if (is_plain && !is_safe_for_passwords(client))
        return err_set(&client->err, DET_FORBIDDEN,
                       "the master at %s needs the password itself, for its directory, "
                       "and the connection is not encrypted; use its https:// address",
                       client->address);
    write_login(&body, user, password, is_plain);
    if (body.status)
        return err_default(&client->err, body.status);
    call.body = body.data;
    call.body_len = body.len;
    call.timeout_ms = client->timeout_ms;
    st = client_exchange(client, &call, &reply);
    if (!st)
        st = json_parse(answer.data, answer.len, mem, &tree, &client->err);
    if (st)
        return st;
    *ret_token = json_str(json_get(tree, "token"), NULL);
    if (!*ret_token)
        return err_set(&client->err, DET_FAILED,
                       "the answer to a login at %s contains no token",
                       client->address);
    return DET_OK;
}

static struct auth_place place_of(const det_client *client)
{
    return (struct auth_place){client->world.io, client->auth_path, client->address};
}

/* Storing may fail (a home that is not writable): the login is still valid. */
static void remember_token(det_client *client, const char *token, bool activates)
{
    struct auth_place place = place_of(client);
    struct auth_change change = {
        .user = client->user, .token = token, .activates = activates};

    if (*client->auth_path)
        (void)auth_store(&place, &change, NULL);
}

static det_status log_in(det_client *client, const char *password, bool activates)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    const char *token;
    det_status st = post_login(client, client->user, password, &mem, &token);

    if (!st)
        st = use_session(client, token);
    if (st)
        return st;
    client->is_from_file = false;
    remember_token(client, token, activates);
    return DET_OK;
}

/* ---- beginning ------------------------------------------------------------------- */

/* Whether the master cannot store a session, because its disk is full.  It lets whoever
 * runs it read without one, and tells everybody else what is missing.  Forgets the error if
 * so. */
static bool is_disk_full(det_client *client)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf answer = BUF_LIMITED(SCRATCH);
    struct net_call call = {.method = NET_GET, .path = "/health"};
    struct net_reply reply = {.body = &answer};
    struct err before = client->err;
    struct json *tree;
    bool is_full;

    call.timeout_ms = client->timeout_ms;
    is_full = !client_exchange(client, &call, &reply) &&
              !json_parse(answer.data, answer.len, &mem, &tree, NULL) &&
              !strcmp(json_str(json_get(tree, "database"), ""), "read-only");
    client->err = is_full ? (struct err){0} : before;
    return is_full;
}

/* Tries the password that is known, or a blank one. */
static det_status log_in_quietly(det_client *client)
{
    const char *env_user = read_variable("DET_USER");
    const char *password = client->password;
    bool is_known = password != NULL;
    det_status st;

    if (!password && env_user && !strcmp(env_user, client->user))
        password = getenv("DET_PASS");
    is_known = password != NULL;
    st = log_in(client, password ? password : "", false);
    if (st == DET_BUSY && is_disk_full(client)) {
        client->header = NULL;
        return DET_OK;
    }
    if (st == DET_UNAUTHENTICATED && !is_known)
        return err_set(&client->err, DET_UNAUTHENTICATED,
                       "user '%s' is not logged in at %s", client->user,
                       client->address);
    return st;
}

/* `name` NULL: the user who logged in last, else the first user of every cluster. */
static det_status find_remembered(det_client *client, const char *name,
                                  struct arena *mem, struct auth_session *session)
{
    struct auth_place place = place_of(client);
    det_status st;

    *session = (struct auth_session){.user = name ? name : FIRST_USER};
    if (!*client->auth_path)
        return DET_OK;
    st = auth_load(&place, name, mem, session, &client->err);
    if (!st && !session->user)
        st = auth_load(&place, FIRST_USER, mem, session, &client->err);
    return st;
}

static det_status use_remembered(det_client *client, const char *name)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    struct auth_session session;
    det_status st = find_remembered(client, name, &mem, &session);

    if (st)
        return st;
    client->user = arena_strdup(&client->strings, session.user);
    if (!client->user)
        return err_default(&client->err, DET_NOMEM);
    if (!session.token)
        return log_in_quietly(client);
    client->is_from_file = true;
    return use_session(client, session.token);
}

static det_status begin_as_task(det_client *client)
{
    const char *token = read_variable("DET_SESSION_TOKEN");

    if (!token)
        return err_set(&client->err, DET_INVALID,
                       "DET_SESSION_TOKEN is not set: this only works inside a task");
    return use_token(client, "Grpc-Metadata-x-allocation-token", token);
}

static det_status begin_as_user(det_client *client)
{
    if (client->token)
        return use_session(client, client->token);
    if (client->user)
        return use_remembered(client, client->user);
    if (read_variable("DET_USER") && getenv("DET_PASS"))
        return use_remembered(client, read_variable("DET_USER"));
    if (read_variable("DET_USER_TOKEN")) {
        if (read_variable("DET_USER"))
            client->user = arena_strdup(&client->strings, read_variable("DET_USER"));
        return use_session(client, read_variable("DET_USER_TOKEN"));
    }
    return use_remembered(client, read_variable("DET_USER"));
}

det_status session_begin(det_client *client)
{
    if (client->header || client->identity == DET_AS_NOBODY)
        return DET_OK;
    if (client->identity == DET_AS_TASK)
        return begin_as_task(client);
    return begin_as_user(client);
}

det_status session_renew(det_client *client)
{
    client->is_from_file = false;
    client->header = NULL;
    remember_token(client, NULL, false);
    return log_in_quietly(client);
}

/* ---- login and logout ------------------------------------------------------------ */

det_status det_login(det_client *client, const char *user, const char *password)
{
    memset(&client->err, 0, sizeof(client->err));
    if (!user || !*user)
        return err_set(&client->err, DET_INVALID, "a login needs the name of a user");
    client->user = arena_strdup(&client->strings, user);
    if (!client->user)
        return err_default(&client->err, DET_NOMEM);
    return log_in(client, password ? password : "", true);
}

det_status client_adopt_session(det_client *client, const char *user, const char *token)
{
    det_status st;

    memset(&client->err, 0, sizeof(client->err));
    client->user = arena_strdup(&client->strings, user);
    if (!client->user)
        return err_default(&client->err, DET_NOMEM);
    st = use_session(client, token);
    if (!st)
        remember_token(client, token, true);
    return st;
}

det_status det_logout(det_client *client)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SCRATCH);
    CLEANUP(buf_done) struct buf answer = BUF_LIMITED(SCRATCH);
    struct auth_session session = {0};
    struct net_call call = {.method = NET_POST, .path = "/api/v1/auth/logout"};
    struct net_reply reply = {.body = &answer};
    det_status st;

    memset(&client->err, 0, sizeof(client->err));
    st =
        find_remembered(client, client->user ? client->user : read_variable("DET_USER"),
                        &mem, &session);
    if (!st && !session.token)
        st = err_set(&client->err, DET_NOT_FOUND, "no user is logged in at %s",
                     client->address);
    if (!st)
        st = use_session(client, session.token);
    if (st)
        return st;
    client->user = arena_strdup(&client->strings, session.user);
    if (!client->user)
        return err_default(&client->err, DET_NOMEM);
    /* If the master no longer knows the session, that is fine too. */
    st = client_exchange(client, &call, &reply);
    remember_token(client, NULL, false);
    client->header = NULL;
    if (st == DET_UNAUTHENTICATED) {
        memset(&client->err, 0, sizeof(client->err));
        st = DET_OK;
    }
    return st;
}
