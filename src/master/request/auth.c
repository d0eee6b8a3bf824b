/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/auth.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/allowance.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "data/base64.h"
#include "data/text.h"
#include "master/request/access.h"
#include "master/request/caller_cache.h"
#include "master/request/client_address.h"
#include "master/request/origin_guard.h"
#include "master/request/request.h"
#include "master/request/token.h"
#include "store/people/caller.h"
#include "store/people/grants.h"
#include "store/people/user.h"
#include "store/task/allocation.h"

#define COOKIE "auth"

enum {
    TOKEN_BYTES = 24, /* of an agent's token */
    AGENT_TOKEN_LEN = 2 * TOKEN_BYTES,
    TOKEN_MEMORY = 64 << 10,
    SECRET_FILE_MOST = 4096,
    COOKIE_DIGITS = 8,
    COOKIE_NAME = 16,
    COOKIE_TEXT = 256,
    LOGINS_WAITING = 1024,
    LOGINS_OF_ONE = 256, /* address */
};

struct auth {
    unsigned char key[crypto_auth_KEYBYTES];
    char agent_token[AGENT_TOKEN_LEN + 1];
    struct allowance logins; /* that wait, by address */
    struct caller_cache *callers;
    char cookie[COOKIE_NAME];
};

/* ---- files ----------------------------------------------------------------------- */

/* Reads a secret file, or creates it with random bytes. */
static det_status open_secret_file(struct io *io, const char *path, void *bytes,
                                   size_t len, struct err *err)
{
    CLEANUP(buf_done) struct buf have = BUF_LIMITED(SECRET_FILE_MOST);
    det_status st = io_read_kept(io, path, &have, err);

    if (st == DET_INVALID || st == DET_TOO_LARGE || (!st && have.len != len))
        return err_set(err, DET_CORRUPT,
                       "'%s' is not %zu bytes long; remove it to have a new one made",
                       path, len);
    if (!st) {
        memcpy(bytes, have.data, len);
        return DET_OK;
    }
    if (st != DET_NOT_FOUND)
        return st;
    st = rng_secret(bytes, len, err);
    return st ? st : io_replace(io, path, bytes, len, true, err);
}

/* A short token would be easy to guess, and anybody could use an empty one. */
static bool is_agent_token(const struct buf *text)
{
    size_t digits = text->data ? strspn(text->data, "0123456789abcdefABCDEF") : 0;

    return digits == AGENT_TOKEN_LEN &&
           digits + strspn(text->data + digits, "\r\n") == text->len;
}

static det_status open_agent_token_file(struct io *io, const char *path,
                                        struct auth *auth, struct err *err)
{
    CLEANUP(buf_done) struct buf have = BUF_LIMITED(SECRET_FILE_MOST);
    unsigned char bytes[TOKEN_BYTES];
    det_status st = io_read_kept(io, path, &have, err);

    if (st == DET_INVALID || st == DET_TOO_LARGE || (!st && !is_agent_token(&have)))
        return err_set(err, DET_CORRUPT,
                       "'%s' is not a line of %d hexadecimal digits; remove it to have "
                       "a new one made",
                       path, AGENT_TOKEN_LEN);
    if (!st) {
        memcpy(auth->agent_token, have.data, AGENT_TOKEN_LEN);
        return DET_OK; /* mem_new() has set the final 0 */
    }
    if (st != DET_NOT_FOUND)
        return st;
    st = rng_secret(bytes, sizeof(bytes), err);
    if (st)
        return st;
    hex_encode(auth->agent_token, bytes, sizeof(bytes));
    buf_clear(&have);
    buf_printf(&have, "%s\n", auth->agent_token);
    if (have.status)
        return err_default(err, have.status);
    return io_replace(io, path, have.data, have.len, true, err);
}

/* The digits are derived from the key, which stays the same as long as the data.  They do
 * not reveal it. */
static void name_cookie(struct auth *auth)
{
    static const unsigned char message[] = "the name of the cookie";
    unsigned char mac[crypto_auth_BYTES];
    char digits[COOKIE_DIGITS + 1];

    crypto_auth(mac, message, sizeof(message), auth->key);
    hex_encode(digits, mac, COOKIE_DIGITS / 2);
    snprintf(auth->cookie, sizeof(auth->cookie), COOKIE "_%s", digits);
}

det_status auth_new(struct io *io, const char *data_dir, struct auth **ret_auth,
                    struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(16384);
    const char *key_path = arena_printf(&mem, "%s/secret.key", data_dir);
    const char *token_path = arena_printf(&mem, "%s/agent.token", data_dir);
    struct auth *auth = mem_new(struct auth);
    det_status st = DET_OK;

    if (!auth || !key_path || !token_path)
        st = err_default(err, DET_NOMEM);
    else if (sodium_init() < 0)
        st = err_set(err, DET_FAILED, "libsodium cannot start");
    if (!st)
        st = open_secret_file(io, key_path, auth->key, sizeof(auth->key), err);
    if (!st)
        st = open_agent_token_file(io, token_path, auth, err);
    if (!st)
        st = caller_cache_new(&auth->callers, err);
    if (!st)
        name_cookie(auth);
    if (st) {
        auth_free(auth);
        return st;
    }
    auth->logins.most = LOGINS_WAITING;
    auth->logins.group_most = LOGINS_OF_ONE;
    *ret_auth = auth;
    return DET_OK;
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    caller_cache_free(auth->callers);
    sodium_memzero(auth, sizeof(*auth));
    mem_free(auth);
}

static bool same_text(const char *a, const char *b)
{
    size_t len = strlen(a);

    return len == strlen(b) && sodium_memcmp(a, b, len) == 0;
}

/* ---- tokens ---------------------------------------------------------------------- */

const char *auth_token(const struct auth *auth, enum token_kind kind, int64_t id,
                       const char *nonce, struct arena *mem)
{
    struct token token = {.kind = kind, .id = id};

    assert(strlen(nonce) < sizeof(token.nonce));
    memcpy(token.nonce, nonce, strlen(nonce));
    return token_write(auth->key, &token, mem);
}

/* ---- callers --------------------------------------------------------------------- */

static det_status refuse_caller(struct request *req, const char *why)
{
    return err_set(req->err, DET_UNAUTHENTICATED, "%s", why);
}

static det_status caller_by_session(struct request *req, const struct token *token,
                                    struct caller_view *ret_caller)
{
    det_status st =
        store_caller_by_session(req->db, token->id, &req->mem, ret_caller, req->err);

    if (st == DET_NOT_FOUND || (!st && strcmp(token->nonce, ret_caller->nonce)))
        return refuse_caller(req, "this session was closed; log in again");
    if (!st && ret_caller->is_revoked)
        return refuse_caller(req, "user access token revoked");
    if (!st && ret_caller->expires_us < master_now_us(req->master))
        return refuse_caller(req, "this session has expired; log in again");
    req->caller.kind = CALLER_USER;
    if (!st && !ret_caller->is_access_token)
        req->caller.session_id = token->id;
    return st;
}

/* Supervisors of runs that began before they had a token of their own use the task's. */
static enum caller_kind kind_of_run(const struct token *token)
{
    if (token->kind == TOKEN_SUPERVISOR ||
        (token->kind == TOKEN_TASK && !*token->nonce))
        return CALLER_SUPERVISOR;
    return token->kind == TOKEN_TASK ? CALLER_TASK : CALLER_USER;
}

static void fill_run(struct caller *caller, int64_t id, const struct caller_view *view)
{
    caller->allocation_id = id;
    caller->allocation = view->allocation;
    caller->task_id = view->task_id;
    caller->trial_id = view->trial_id;
    caller->experiment_id = view->experiment_id;
}

/* An administrator who continues another user's experiment runs that user's code. */
static void limit_admin(struct caller_view *view)
{
    view->is_admin = view->is_admin && view->user_id == view->owner_id;
}

/* The tokens of a run end with it.  Only its supervisor may still deliver what is left:
 * rights_after_end(), until it has reported its end.  That report it may repeat, because the
 * answer may have been lost. */
static det_status caller_by_allocation(struct request *req, const struct token *token,
                                       struct caller_view *ret_caller)
{
    det_status st =
        store_caller_by_allocation(req->db, token->id, &req->mem, ret_caller, req->err);

    if (st == DET_NOT_FOUND || (!st && strcmp(token->nonce, ret_caller->nonce)))
        return refuse_caller(req, "this task's allocation is gone");
    if (st)
        return st;
    req->caller.kind = kind_of_run(token);
    if (ret_caller->is_over && !rights_after_end(req->route, req->caller.kind))
        return refuse_caller(req, "this task's allocation is over");
    if (ret_caller->is_delivered && req->caller.kind == CALLER_SUPERVISOR &&
        !rights_may_repeat(req->route))
        return err_set(req->err, DET_FORBIDDEN,
                       "this supervisor's credential has ended: everything of its run "
                       "was delivered");
    req->caller.runs_other_code = ret_caller->user_id != ret_caller->owner_id;
    if (req->caller.kind == CALLER_USER)
        req->caller.run_of = token->id;
    else
        fill_run(&req->caller, token->id, ret_caller);
    limit_admin(ret_caller);
    return DET_OK;
}

/* A run of another user's code does what both may do, the user who started it and the owner
 * of the code. */
static det_status limit_grants(struct request *req, int64_t owner_id, struct arena *mem,
                               struct grants *grants)
{
    struct grants owners;
    struct grant *room;
    det_status st = store_grants_of(req->db, owner_id, mem, &owners, req->err);

    if (st)
        return st;
    room = arena_array(mem, struct grant, grants->count + owners.count + 1);
    if (!room)
        return err_default(req->err, DET_NOMEM);
    *grants = grants_meet(grants, &owners, room);
    return DET_OK;
}

/* Mode rbac.  An administrator may do everything in it too, so that nobody is locked out. */
static det_status read_grants(struct request *req, const struct caller_view *view,
                              struct arena *mem, struct grants *ret_grants)
{
    bool is_own = !view->owner_id || view->owner_id == view->user_id;
    det_status st = store_grants_of(req->db, view->user_id, mem, ret_grants, req->err);

    if (!st && !is_own)
        st = limit_grants(req, view->owner_id, mem, ret_grants);
    if (view->is_admin)
        ret_grants->cluster = UINT64_MAX;
    return st;
}

/* A task needs no grants to report about itself, so that it can be cached. */
static det_status load_grants(struct request *req, const struct caller_view *view)
{
    struct grants *grants;

    if (!req->master->is_rbac || !rights_acts_as_user(req->route, &req->caller))
        return DET_OK;
    grants = arena_new(&req->mem, struct grants);
    if (!grants)
        return err_default(req->err, DET_NOMEM);
    req->caller.grants = grants;
    return read_grants(req, view, &req->mem, grants);
}

/* *ret_expires_us: how long the result is valid if nothing is written. */
static det_status look_up_caller(struct request *req, const struct token *token,
                                 int64_t *ret_expires_us)
{
    bool is_session = token->kind == TOKEN_SESSION;
    struct caller_view view;
    det_status st = is_session ? caller_by_session(req, token, &view)
                               : caller_by_allocation(req, token, &view);

    if (st)
        return st;
    if (!view.is_active)
        return refuse_caller(req, "invalid credentials");
    req->caller.user_id = view.user_id;
    req->caller.username = view.username;
    req->caller.is_admin = view.is_admin;
    /* an ended allocation is looked up each time: some of its calls are still allowed */
    *ret_expires_us = is_session                          ? view.expires_us
                      : view.is_over || view.is_delivered ? 0
                                                          : INT64_MAX;
    return load_grants(req, &view);
}

static const char *bearer(const char *header)
{
    return header && !strncmp(header, "Bearer ", 7) ? header + 7 : NULL;
}

const char *auth_cookie(const struct auth *auth)
{
    return auth->cookie;
}

void auth_set_cookie(struct request *req, const char *token, int seconds)
{
    char value[COOKIE_TEXT];

    snprintf(value, sizeof(value),
             "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d",
             req->master->auth->cookie, token, seconds);
    request_header(req, "Set-Cookie", value);
}

bool auth_is_cookie(const char *pair)
{
    size_t digits;

    if (strncmp(pair, COOKIE, strlen(COOKIE)))
        return false;
    pair += strlen(COOKIE);
    digits = *pair == '_' ? strspn(pair + 1, "0123456789abcdef") : 0;
    pair += digits ? digits + 1 : 0;
    return pair[strspn(pair, " \t")] == '='; /* browsers trim names */
}

/* Finds the value in "a=1; auth=TOKEN; b=2".  Names and values of other cookies may contain
 * our name. */
static const char *find_cookie(const char *cookies, const char *name, struct arena *mem)
{
    size_t len = strlen(name);

    while (*cookies) {
        cookies += strspn(cookies, "; \t");
        if (!strncmp(cookies, name, len) && cookies[len] == '=')
            return arena_strndup(mem, cookies + len + 1,
                                 strcspn(cookies + len + 1, "; \t"));
        cookies += strcspn(cookies, ";");
    }
    return NULL;
}

static const char *cookie_token(const struct auth *auth, const struct net_exchange *x,
                                struct arena *mem)
{
    const char *cookies =
        origin_guard_is_cross_site(x) ? NULL : net_request_header(x, "Cookie");
    const char *token = cookies ? find_cookie(cookies, auth->cookie, mem) : NULL;

    return token || !cookies ? token : find_cookie(cookies, COOKIE, mem);
}

/* Supervisors use the first header, agents and users the second. */
static const char *header_token(const struct net_exchange *x)
{
    const char *token =
        bearer(net_request_header(x, "Grpc-Metadata-x-allocation-token"));

    return token ? token : bearer(net_request_header(x, "Authorization"));
}

static const char *find_token(const struct auth *auth, const struct net_exchange *x,
                              struct arena *mem)
{
    const char *token = header_token(x);

    return token ? token : cookie_token(auth, x, mem);
}

bool auth_has_signed_token(const struct auth *auth, const struct net_exchange *x)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TOKEN_MEMORY);
    const char *text = find_token(auth, x, &mem);
    struct token token;

    return text &&
           (same_text(text, auth->agent_token) || token_read(auth->key, text, &token));
}

bool auth_is_of_platform(const struct auth *auth, const struct net_exchange *x)
{
    const char *text = header_token(x);
    struct token token;

    return text &&
           (same_text(text, auth->agent_token) ||
            (token_read(auth->key, text, &token) && token.kind == TOKEN_SUPERVISOR));
}

/* The key is secret, so nobody can choose to share somebody else's turn. */
static uint32_t hash_turn(const struct auth *auth, const void *bytes, size_t len)
{
    unsigned char hash[crypto_shorthash_BYTES];
    uint32_t turn;

    static_assert(sizeof(auth->key) >= crypto_shorthash_KEYBYTES);
    crypto_shorthash(hash, bytes, len, auth->key);
    memcpy(&turn, hash, sizeof(turn));
    return turn;
}

uint32_t auth_turn_of_user(const struct auth *auth, int64_t user_id)
{
    return hash_turn(auth, &user_id, sizeof(user_id));
}

static uint32_t turn_of_address(const struct master *master,
                                const struct net_exchange *x)
{
    char address[NET_ADDRESS_TEXT];

    client_address(master, x, address);
    return hash_turn(master->auth, address, strlen(address));
}

/* False: the cache does not hold the caller. */
static bool find_turn(const struct master *master, const char *token, struct arena *mem,
                      uint32_t *ret_turn)
{
    struct caller caller;

    if (!token || !caller_cache_find(master->auth->callers, token,
                                     master_now_us(master), mem, &caller))
        return false;
    *ret_turn = auth_turn_of_user(master->auth, caller.user_id);
    return true;
}

uint32_t auth_turn(const struct master *master, const struct net_exchange *x,
                   struct arena *mem)
{
    const struct auth *auth = master->auth;
    const char *text = find_token(auth, x, mem);
    struct token token;
    uint32_t turn;

    if (find_turn(master, text, mem, &turn))
        return turn;
    return text && token_read(auth->key, text, &token)
               ? hash_turn(auth, text, strlen(text))
               : turn_of_address(master, x);
}

uint32_t auth_turn_of_body(const struct master *master, const struct net_exchange *x,
                           struct arena *mem)
{
    uint32_t turn;

    return find_turn(master, find_token(master->auth, x, mem), mem, &turn)
               ? turn
               : turn_of_address(master, x);
}

static bool has_agent_token(struct request *req)
{
    const char *text = bearer(net_request_header(req->x, "Authorization"));

    return text && same_text(text, req->master->auth->agent_token);
}

/* An agent may deliver the final logs and reports of a task that ran on it.  The task's own
 * token may be invalid by then, if the key changed or its owner became inactive. */
static det_status stand_in(struct request *req)
{
    struct allocation row;
    struct caller_view view;
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, &row, req->err);

    if (!st)
        st = store_caller_by_allocation(req->db, row.id, &req->mem, &view, req->err);
    if (st)
        return st;
    fill_run(&req->caller, row.id, &view);
    req->caller.user_id = view.user_id;
    req->caller.username = view.username;
    return DET_OK;
}

static det_status find_agent(struct request *req)
{
    req->caller.kind = CALLER_AGENT;
    return req->route->who == ROUTE_STAND_IN ? stand_in(req) : DET_OK;
}

static det_status find_caller(struct request *req)
{
    struct caller_cache *cache = req->master->auth->callers;
    uint64_t age =
        caller_cache_age(cache); /* before the lookup: a change during it counts */
    const char *text = find_token(req->master->auth, req->x, &req->mem);
    int64_t expires_us = 0;
    struct token token;
    det_status st;

    if (!text)
        return req->mem.has_failed ? err_default(req->err, DET_NOMEM)
                                   : refuse_caller(req, "token missing");
    if (!token_read(req->master->auth->key, text, &token))
        return refuse_caller(req, "invalid credentials");
    st = look_up_caller(req, &token, &expires_us);
    if (!st && !req->caller.grants) /* the cache has no room for them */
        caller_cache_keep(cache, text, age, expires_us, &req->caller);
    return st;
}

bool auth_find_cached(struct request *req)
{
    const char *token = find_token(req->master->auth, req->x, &req->mem);
    struct caller caller;

    if (!token || !caller_cache_find(req->master->auth->callers, token,
                                     master_now_us(req->master), &req->mem, &caller))
        return false;
    if (req->master->is_rbac && rights_acts_as_user(req->route, &caller))
        return false; /* its grants are not in the cache */
    req->caller = caller;
    return true;
}

det_status auth_watch_begin(struct request *req, struct auth_watch *ret_watch)
{
    const char *token = req->caller.acts_without_token
                            ? NULL
                            : find_token(req->master->auth, req->x, &req->mem);

    *ret_watch = (struct auth_watch){
        .token = arena_strdup(&req->mem, token)}; /* the headers go with the answer */
    return req->mem.has_failed ? err_default(req->err, DET_NOMEM) : DET_OK;
}

/* For a stream: whether the caller may still see what it reads, in mode rbac.  Roles that have
 * changed are taken over, and the call is checked again. */
static bool has_rights_still(struct request *req, const struct caller_view *view,
                             struct arena *mem)
{
    struct grants now = {0}, *kept;

    if (!req->caller.grants || read_grants(req, view, mem, &now) ||
        grants_are_same(req->caller.grants, &now))
        return true; /* a failed lookup: the next call tries again */
    kept = grants_copy(&now, &req->mem);
    req->caller.grants = kept ? kept : req->caller.grants;
    return kept && !access_check_call(req);
}

/* Whether the session or the allocation of a token is still valid. */
static bool is_token_valid(struct request *req, const char *text,
                           int64_t *ret_expires_us)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TOKEN_MEMORY);
    struct caller_view view = {0};
    struct token token;
    bool is_session;
    det_status st;

    if (!token_read(req->master->auth->key, text, &token))
        return false;
    is_session = token.kind == TOKEN_SESSION;
    st = is_session
             ? store_caller_by_session(req->db, token.id, &mem, &view, req->err)
             : store_caller_by_allocation(req->db, token.id, &mem, &view, req->err);
    if (st)
        return st != DET_NOT_FOUND; /* the lookup failed: the next call tries again */
    *ret_expires_us = is_session ? view.expires_us : INT64_MAX;
    if (!is_session)
        limit_admin(&view);
    return view.is_active && !view.is_revoked && !view.is_over &&
           !strcmp(view.nonce, token.nonce) &&
           *ret_expires_us >= master_now_us(req->master) &&
           has_rights_still(req, &view, &mem);
}

/* Of a request that may have no reader. */
static bool ask_store(struct request *req, struct auth_watch *watch)
{
    struct store *store = req->master->store;
    struct err err = {0};
    bool is_valid;

    if (req->db)
        return is_token_valid(req, watch->token, &watch->expires_us);
    if (store_reader_take(store, &req->db, &err))
        return true; /* the next call tries again */
    req->err = &err;
    is_valid = is_token_valid(req, watch->token, &watch->expires_us);
    store_reader_give(store, req->db);
    req->db = NULL;
    req->err = NULL;
    return is_valid;
}

bool auth_watch_is_valid(struct request *req, struct auth_watch *watch)
{
    uint64_t age = caller_cache_age(req->master->auth->callers);

    if (!watch->token ||
        (watch->age == age && watch->expires_us >= master_now_us(req->master)))
        return true;
    if (!ask_store(req, watch))
        return false;
    watch->age = age;
    return true;
}

void auth_drop_cache(struct auth *auth)
{
    caller_cache_forget(auth->callers);
}

/* A local caller of a read-only master reads as the first user, without a session. */
static det_status act_as_first_user(struct request *req)
{
    struct user user;
    det_status st = store_user_named(req->db, "determined", &req->mem, &user, req->err);

    if (st)
        return st;
    req->caller = (struct caller){
        .kind = CALLER_USER,
        .user_id = user.id,
        .username = user.username,
        .is_admin = true, /* sees everything, and cannot change anything */
        .acts_without_token = true,
    };
    return DET_OK;
}

/* A shared master isolates its tasks.  They may have its uid, and must not read the work of
 * others. */
static bool may_read_when_full(const struct request *req)
{
    return master_is_full(req->master) && !master_is_shared(req->master) &&
           auth_peer_is_owner(req->x);
}

det_status auth_find_user(struct request *req, bool *ret_is_signed_in)
{
    det_status st = auth_find_cached(req) ? DET_OK : find_caller(req);

    /* anonymous callers are allowed; a failed lookup is an error */
    if (st == DET_UNAUTHENTICATED &&
        ((req->master->is_read_only && auth_peer_is_owner(req->x)) ||
         may_read_when_full(req)))
        st = act_as_first_user(req);
    if (st && st != DET_UNAUTHENTICATED)
        return st;
    *ret_is_signed_in = !st && req->caller.kind == CALLER_USER;
    if (st)
        *req->err = (struct err){0};
    return DET_OK;
}

/* On a read-only master; see master_set_read_only().  The caller may send a cookie of
 * another master on this machine, because cookies ignore ports. */
static det_status check_reader(struct request *req)
{
    const struct route *route = req->route;
    det_status st;

    /* the WebUI's page and files need no caller and no query */
    if (route->method == ROUTE_GET && route->who == ROUTE_OPEN)
        return DET_OK;
    st = req->is_known || auth_find_cached(req) ? DET_OK : find_caller(req);
    if (st != DET_UNAUTHENTICATED)
        return st;
    if (route->method != ROUTE_GET)
        return err_set(req->err, DET_FORBIDDEN,
                       "this server is read-only: it shows runs recorded without a "
                       "master, and nothing can be changed or started here");
    if (!auth_peer_is_owner(req->x))
        return refuse_caller(req,
                             "only the user who started this server may read from it, "
                             "on the same machine");
    return act_as_first_user(req);
}

/* Nobody can sign in while the disk is full.  Whoever runs the master may read. */
static det_status check_reader_when_full(struct request *req, det_status status)
{
    const struct route *route = req->route;

    if (route->who > ROUTE_ADMIN || !may_read_when_full(req))
        return status;
    if (route->method != ROUTE_GET)
        return err_set(
            req->err, DET_FULL,
            "no space left on the disk of the master: everything can be read, "
            "and nothing changed until there is room");
    return act_as_first_user(req);
}

/* Who calls does not depend on what is called; whether that caller may call it is decided in
 * access.h. */
det_status auth_check(struct request *req)
{
    enum route_who who = req->route->who;
    det_status st;

    if (req->master->is_read_only)
        return check_reader(req);
    if (who == ROUTE_OPEN || req->is_known)
        return DET_OK;
    if (has_agent_token(req))
        return find_agent(req);
    st = auth_find_cached(req) ? DET_OK : find_caller(req);
    if (st == DET_UNAUTHENTICATED && master_is_full(req->master))
        return check_reader_when_full(req, st);
    if (st == DET_UNAUTHENTICATED && who == ROUTE_AGENT)
        return refuse_caller(req,
                             "wrong agent token; it is in the file agent.token of the "
                             "master's data directory");
    return st;
}

/* ---- logins --------------------------------------------------------------------- */

uint32_t auth_turn_of_address(const struct request *req)
{
    return turn_of_address(req->master, req->x);
}

uint32_t auth_turn_of_name(const struct request *req, const char *name)
{
    return auth_turn_of_address(req) ^ hash_turn(req->master->auth, name, strlen(name));
}

det_status auth_login_begin(struct auth *auth, uint32_t turn, struct err *err)
{
    if (allowance_take(&auth->logins, turn, 1))
        return DET_OK;
    return err_set(err, DET_BUSY, "too many logins at once; try again");
}

void auth_login_end(struct auth *auth, uint32_t turn)
{
    allowance_give(&auth->logins, turn, 1);
}

/* The socket of a proxy tells who runs the proxy, not who calls. */
static bool is_forwarded(const struct net_exchange *x)
{
    static const char *const signs[] = {"Forwarded", "X-Forwarded-For", "Via"};

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (net_request_header(x, signs[i]))
            return true;
    return false;
}

bool auth_peer_is_owner(const struct net_exchange *x)
{
    uint32_t uid;

    return !is_forwarded(x) && !origin_guard_is_foreign(x) && net_peer_is_loopback(x) &&
           net_peer_uid(x, &uid) && (uid == 0 || uid == (uint32_t)geteuid());
}
