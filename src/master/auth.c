/* SPDX-License-Identifier: Apache-2.0 */
#include "master/auth.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/text.h"
#include "master/known.h"
#include "master/request.h"
#include "store/views.h"

/* Made like any other, of a password that nobody knows: checked against where there is
 * none, so that how long an answer takes does not tell which names exist. */
static const char nobodys_seal[crypto_pwhash_STRBYTES] =
    "$argon2id$v=19$m=32768,t=3,p=1$nSUEUk9WAXSpRTQf+"
    "kCC2A$1jVJKHSt15Lg40CeHwF5onhiY6uvZbreqPcAxLqYEi8";

/* The salt that clients of this API have always put before a password. */
static const char client_salt[] = "GubPEmmotfiK9TMD6Zdw";

#define COOKIE "auth"

enum {
    TOKEN_BYTES = 24, /* of an agent's token */
    AGENT_TOKEN_LEN = 2 * TOKEN_BYTES,
    SEAL_OPS = 3,
    SEAL_BYTES = 32 << 20,
    TOKEN_MEMORY = 64 << 10,
    COOKIE_DIGITS = 8,
    COOKIE_NAME = 16,
    LOGINS_WAITING = 64, /* at most: a check takes a tenth of a second */
};

struct auth {
    unsigned char key[crypto_auth_KEYBYTES];
    char agent_token[AGENT_TOKEN_LEN + 1];
    _Atomic int logins_waiting;
    struct known *known;
    char cookie[COOKIE_NAME];
};

/* ---- files ----------------------------------------------------------------------- */

/* The bytes of a secret file; made with fresh ones when it is not there. */
static det_status secret_file(struct io *io, const char *path, void *bytes, size_t len,
                              struct err *err)
{
    CLEANUP(buf_done) struct buf have = BUF_INIT;
    det_status st = io_read_file(io, path, &have, err);

    if (!st && have.len != len)
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

/* A short one would be easy to guess, an empty one would be everybody's. */
static bool is_agent_token(const struct buf *text)
{
    size_t digits = text->data ? strspn(text->data, "0123456789abcdefABCDEF") : 0;

    return digits == AGENT_TOKEN_LEN &&
           digits + strspn(text->data + digits, "\r\n") == text->len;
}

static det_status agent_token_file(struct io *io, const char *path, struct auth *auth,
                                   struct err *err)
{
    CLEANUP(buf_done) struct buf have = BUF_INIT;
    unsigned char bytes[TOKEN_BYTES];
    det_status st = io_read_file(io, path, &have, err);

    if (!st && !is_agent_token(&have))
        return err_set(err, DET_CORRUPT,
                       "'%s' is not a line of %d hexadecimal digits; remove it to have "
                       "a new one made",
                       path, AGENT_TOKEN_LEN);
    if (!st) {
        memcpy(auth->agent_token, have.data, AGENT_TOKEN_LEN);
        return DET_OK; /* the 0 behind it is there */
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

/* Of the key, which is the same for the life of the data: digits that tell nothing. */
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
        st = secret_file(io, key_path, auth->key, sizeof(auth->key), err);
    if (!st)
        st = agent_token_file(io, token_path, auth, err);
    if (!st)
        st = known_new(&auth->known, err);
    if (!st)
        name_cookie(auth);
    if (st) {
        mem_free(auth);
        return st;
    }
    *ret_auth = auth;
    return DET_OK;
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    known_free(auth->known);
    sodium_memzero(auth, sizeof(*auth));
    mem_free(auth);
}

/* ---- tokens ---------------------------------------------------------------------- */

enum { MAC_TEXT = 2 * crypto_auth_BYTES + 1 };

static void token_mac(const struct auth *auth, char kind, int64_t id,
                      char text[MAC_TEXT])
{
    unsigned char mac[crypto_auth_BYTES];
    char message[32];
    int len = snprintf(message, sizeof(message), "%c%" PRId64, kind, id);

    crypto_auth(mac, (const unsigned char *)message, (unsigned long long)len,
                auth->key);
    hex_encode(text, mac, sizeof(mac));
}

const char *auth_token(const struct auth *auth, enum token_kind kind, int64_t id,
                       struct arena *mem)
{
    char mac[MAC_TEXT];

    token_mac(auth, (char)kind, id, mac);
    return arena_printf(mem, "%c%" PRId64 ".%s", (char)kind, id, mac);
}

static bool same_text(const char *a, const char *b)
{
    size_t len = strlen(a);

    return len == strlen(b) && sodium_memcmp(a, b, len) == 0;
}

/* The kind and number of a token that is really ours. */
static bool token_open(const struct auth *auth, const char *token, char *ret_kind,
                       int64_t *ret_id)
{
    const char *dot = strchr(token, '.');
    char number[24];
    char mac[MAC_TEXT];
    size_t len = dot ? (size_t)(dot - token) : 0;

    if (len < 2 || len > sizeof(number))
        return false;
    memcpy(number, token + 1, len - 1);
    number[len - 1] = '\0';
    if (!parse_i64(number, ret_id))
        return false;
    if (token[0] != TOKEN_SESSION && token[0] != TOKEN_USER && token[0] != TOKEN_TASK)
        return false;
    token_mac(auth, token[0], *ret_id, mac);
    *ret_kind = token[0];
    return same_text(mac, dot + 1);
}

/* ---- callers --------------------------------------------------------------------- */

static det_status refuse(struct request *req, const char *why)
{
    return err_set(req->err, DET_UNAUTHENTICATED, "%s", why);
}

static det_status caller_by_session(struct request *req, int64_t id,
                                    struct caller_view *ret_caller)
{
    det_status st =
        store_caller_by_session(req->db, id, &req->mem, ret_caller, req->err);

    if (st == DET_NOT_FOUND)
        return refuse(req, "this session was closed; log in again");
    if (!st && ret_caller->expires_us < master_now_us(req->master))
        return refuse(req, "this session has expired; log in again");
    req->caller.session_id = id;
    return st;
}

/* A task may still tell how it ended and what it had printed when its allocation is
 * over, and its supervisor may ask, to be told so; its own token only, which is held to
 * its own task.  Its reports are refused then, but by their handler, so that its
 * supervisor hears why. */
static bool is_last_word(char kind, enum route_id id)
{
    return kind == TOKEN_TASK &&
           (id == ROUTE_ID_share_logs || id == ROUTE_ID_share_exit ||
            id == ROUTE_ID_report_batch || id == ROUTE_ID_share_state ||
            id == ROUTE_ID_share_alive);
}

static det_status caller_by_allocation(struct request *req, char kind, int64_t id,
                                       struct caller_view *ret_caller)
{
    det_status st =
        store_caller_by_allocation(req->db, id, &req->mem, ret_caller, req->err);

    if (st == DET_NOT_FOUND)
        return refuse(req, "this task's allocation is gone");
    if (!st && ret_caller->is_over && !is_last_word(kind, req->route->id))
        return refuse(req, "this task's allocation is over");
    if (!st && kind == TOKEN_TASK) {
        req->caller.allocation_id = id;
        req->caller.allocation = ret_caller->allocation;
        req->caller.task_id = ret_caller->task_id;
        req->caller.trial_id = ret_caller->trial_id;
        req->caller.experiment_id = ret_caller->experiment_id;
    }
    return st;
}

/* *ret_expires_us: until when the answer holds if nothing is written. */
static det_status look_up(struct request *req, char kind, int64_t id,
                          int64_t *ret_expires_us)
{
    struct caller_view view;
    det_status st = kind == TOKEN_SESSION ? caller_by_session(req, id, &view)
                                          : caller_by_allocation(req, kind, id, &view);

    if (st)
        return st;
    if (!view.is_active)
        return refuse(req, "invalid credentials");
    req->caller.user_id = view.user_id;
    req->caller.username = view.username;
    req->caller.is_admin = view.is_admin;
    /* what is over is looked up each time: some calls are refused then, some are not */
    *ret_expires_us = kind == TOKEN_SESSION ? view.expires_us
                      : view.is_over        ? 0
                                            : INT64_MAX;
    return DET_OK;
}

static const char *bearer(const char *header)
{
    return header && !strncmp(header, "Bearer ", 7) ? header + 7 : NULL;
}

/* A browser sends the cookie along whoever makes it call, but says who that is, where
 * it is not a page of ours or the person at its address bar.  SameSite keeps other
 * machines' pages from it, this those that another port of the same machine serves.
 * Following a link (a navigation) shows the answer to nobody but the person. */
static bool is_foreign(const struct net_exchange *x)
{
    const char *site = net_request_header(x, "Sec-Fetch-Site");
    const char *mode = net_request_header(x, "Sec-Fetch-Mode");
    bool is_link =
        net_request_method(x) == NET_GET && mode && !strcmp(mode, "navigate");

    return site && strcmp(site, "same-origin") && strcmp(site, "none") && !is_link;
}

const char *auth_cookie(const struct auth *auth)
{
    return auth->cookie;
}

bool auth_is_cookie(const char *pair)
{
    size_t digits;

    if (strncmp(pair, COOKIE, strlen(COOKIE)))
        return false;
    pair += strlen(COOKIE);
    digits = *pair == '_' ? strspn(pair + 1, "0123456789abcdef") : 0;
    pair += digits ? digits + 1 : 0;
    return pair[strspn(pair, " \t")] == '='; /* browsers cut names */
}

/* Of "a=1; auth=TOKEN; b=2": other cookies may end in our name, or hold it. */
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
    const char *cookies = is_foreign(x) ? NULL : net_request_header(x, "Cookie");
    const char *token = cookies ? find_cookie(cookies, auth->cookie, mem) : NULL;

    return token || !cookies ? token : find_cookie(cookies, COOKIE, mem);
}

static const char *find_token(const struct auth *auth, const struct net_exchange *x,
                              struct arena *mem)
{
    const char *token =
        bearer(net_request_header(x, "Grpc-Metadata-x-allocation-token"));

    if (!token)
        token = bearer(net_request_header(x, "Authorization"));
    return token ? token : cookie_token(auth, x, mem);
}

bool auth_is_ours(const struct auth *auth, const struct net_exchange *x)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TOKEN_MEMORY);
    const char *token = find_token(auth, x, &mem);
    char kind;
    int64_t id;

    return token &&
           (same_text(token, auth->agent_token) || token_open(auth, token, &kind, &id));
}

/* Whose thing a path names: a task may only touch its own. */
static det_status check_own(struct request *req)
{
    const struct caller *c = &req->caller;
    const struct {
        const char *prefix;
        const char *text; /* what the first variable part must be, or */
        int64_t number;
    } rules[] = {
        {"/api/v1/trials/{", NULL, c->trial_id},
        {"/api/v1/runs/{", NULL, c->trial_id},
        {"/api/v1/experiments/{", NULL, c->experiment_id},
        {"/api/v1/allocations/{", c->allocation, 0},
        {"/api/v1/det/allocations/{", c->allocation, 0},
        {"/api/v1/tasks/{", c->task_id, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        int64_t number = -1;

        if (strncmp(req->route->path, rules[i].prefix, strlen(rules[i].prefix)))
            continue;
        if (rules[i].text
                ? !strcmp(rules[i].text, req->arg[0])
                : parse_i64(req->arg[0], &number) && number == rules[i].number)
            return DET_OK;
        return err_set(req->err, DET_FORBIDDEN,
                       "a task's token opens only its own task");
    }
    return DET_OK;
}

static det_status check_agent(struct request *req)
{
    const char *token = bearer(net_request_header(req->x, "Authorization"));

    if (!token || !same_text(token, req->master->auth->agent_token))
        return refuse(req, "wrong agent token; it is in the file agent.token of the "
                           "master's data directory");
    return DET_OK;
}

/* What a task had to say when it ended may also come from the agent it ran on: its own
 * token may be no good any more, when the key was changed or its owner is inactive. */
static det_status stand_in(struct request *req)
{
    struct allocation row;
    struct caller_view view;
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, &row, req->err);

    if (!st)
        st = caller_by_allocation(req, TOKEN_TASK, row.id, &view);
    if (st)
        return st;
    req->caller.user_id = view.user_id;
    req->caller.username = view.username;
    return DET_OK;
}

static bool is_stand_in(struct request *req)
{
    const char *token = bearer(net_request_header(req->x, "Authorization"));

    return token && same_text(token, req->master->auth->agent_token) &&
           (req->route->id == ROUTE_ID_share_logs ||
            req->route->id == ROUTE_ID_report_batch);
}

static det_status find_caller(struct request *req)
{
    struct known *known = req->master->auth->known;
    uint64_t age = known_age(known); /* before the look: what changes later counts */
    const char *token = find_token(req->master->auth, req->x, &req->mem);
    int64_t expires_us = 0;
    char kind;
    int64_t id;
    det_status st;

    if (!token)
        return req->mem.has_failed ? err_default(req->err, DET_NOMEM)
                                   : refuse(req, "token missing");
    if (!token_open(req->master->auth, token, &kind, &id))
        return refuse(req, "invalid credentials");
    st = look_up(req, kind, id, &expires_us);
    if (!st)
        known_keep(known, token, age, expires_us, &req->caller);
    return st;
}

bool auth_knows(struct request *req)
{
    const char *token = find_token(req->master->auth, req->x, &req->mem);

    return token && known_find(req->master->auth->known, token,
                               master_now_us(req->master), &req->mem, &req->caller);
}

det_status auth_hold(struct request *req, struct auth_hold *ret_hold)
{
    bool needs_none = req->master->is_read_only && !req->caller.session_id;
    const char *token =
        needs_none ? NULL : find_token(req->master->auth, req->x, &req->mem);

    *ret_hold = (struct auth_hold){
        .token = arena_strdup(&req->mem, token)}; /* headers go with the answer */
    return req->mem.has_failed ? err_default(req->err, DET_NOMEM) : DET_OK;
}

/* What became of the session or the allocation behind a token. */
static bool is_still_good(struct request *req, const char *token,
                          int64_t *ret_expires_us)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TOKEN_MEMORY);
    struct caller_view view = {0};
    char kind;
    int64_t id;
    det_status st;

    if (!token_open(req->master->auth, token, &kind, &id))
        return false;
    *ret_expires_us = INT64_MAX;
    st = kind == TOKEN_SESSION
             ? store_caller_by_session(req->db, id, &mem, &view, req->err)
             : store_caller_by_allocation(req->db, id, &mem, &view, req->err);
    if (st)
        return st != DET_NOT_FOUND; /* not known: it is asked again */
    if (kind == TOKEN_SESSION)
        *ret_expires_us = view.expires_us;
    return view.is_active && (kind == TOKEN_SESSION || !view.is_over) &&
           *ret_expires_us >= master_now_us(req->master);
}

bool auth_holds(struct request *req, struct auth_hold *hold)
{
    uint64_t age = known_age(req->master->auth->known);

    if (!hold->token ||
        (hold->age == age && hold->expires_us >= master_now_us(req->master)))
        return true;
    if (!is_still_good(req, hold->token, &hold->expires_us))
        return false;
    hold->age = age;
    return true;
}

void auth_forget(struct auth *auth)
{
    known_forget(auth->known);
}

/* Whoever may look without a session does so as the first user. */
static det_status be_first_user(struct request *req)
{
    struct user user;
    det_status st = store_user_named(req->db, "determined", &req->mem, &user, req->err);

    if (st)
        return st;
    req->caller = (struct caller){.user_id = user.id, .username = user.username};
    return DET_OK;
}

det_status auth_find_user(struct request *req, bool *ret_is_signed_in)
{
    det_status st = auth_knows(req) ? DET_OK : find_caller(req);

    /* to be nobody is no failure here; not to know is one */
    if (st == DET_UNAUTHENTICATED && req->master->is_read_only && peer_is_owner(req->x))
        st = be_first_user(req);
    if (st && st != DET_UNAUTHENTICATED)
        return st;
    *ret_is_signed_in = !st && !req->caller.allocation_id;
    if (st)
        *req->err = (struct err){0};
    return DET_OK;
}

/* A master that only shows; see master_set_read_only().  A cookie may be there that
 * another master on this machine has given: they go by host, not by port. */
static det_status check_reader(struct request *req)
{
    const struct route *route = req->route;
    det_status st;

    /* the page and its files need nobody, and so nothing of the database */
    if (route->method == ROUTE_GET && route->auth == ROUTE_OPEN)
        return DET_OK;
    st = req->is_known || auth_knows(req) ? DET_OK : find_caller(req);
    if (st != DET_UNAUTHENTICATED)
        return st;
    if (route->method != ROUTE_GET)
        return err_set(req->err, DET_FORBIDDEN,
                       "these are runs without a master, which are only shown: nothing "
                       "can be changed or started here");
    if (!peer_is_owner(req->x))
        return refuse(req, "only the user who shows these runs may look at them, from "
                           "the same machine");
    return be_first_user(req);
}

det_status auth_check(struct request *req)
{
    enum route_auth auth = req->route->auth;
    det_status st;

    if (req->master->is_read_only)
        return check_reader(req);
    if (auth == ROUTE_OPEN)
        return DET_OK;
    if (auth == ROUTE_AGENT)
        return check_agent(req);
    if (is_stand_in(req))
        return stand_in(req);
    st = req->is_known || auth_knows(req) ? DET_OK : find_caller(req);
    if (st)
        return st;
    if (req->caller.allocation_id && auth != ROUTE_TASK)
        return err_set(req->err, DET_FORBIDDEN, "this call is not for a task's token");
    if (auth == ROUTE_ADMIN && !req->caller.is_admin && !peer_is_owner(req->x))
        return err_set(req->err, DET_FORBIDDEN, "only an administrator may do this");
    return req->caller.allocation_id ? check_own(req) : DET_OK;
}

/* ---- passwords ------------------------------------------------------------------- */

const char *password_hash(const char *password, bool is_hashed, struct arena *mem)
{
    unsigned char hash[crypto_hash_sha512_BYTES];
    crypto_hash_sha512_state state;
    char *text;

    if (is_hashed || !password || !*password)
        return password ? password : "";
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, (const unsigned char *)client_salt,
                              sizeof(client_salt) - 1);
    crypto_hash_sha512_update(&state, (const unsigned char *)password,
                              strlen(password));
    crypto_hash_sha512_final(&state, hash);
    text = arena_alloc(mem, 2 * sizeof(hash) + 1);
    if (text)
        hex_encode(text, hash, sizeof(hash));
    return text;
}

det_status password_seal(const char *hash, struct arena *mem, const char **ret_sealed,
                         struct err *err)
{
    char *sealed;

    if (!*hash) {
        *ret_sealed = NULL;
        return DET_OK;
    }
    sealed = arena_alloc(mem, crypto_pwhash_STRBYTES);
    if (!sealed || crypto_pwhash_str(sealed, hash, strlen(hash), SEAL_OPS, SEAL_BYTES))
        return err_default(err, DET_NOMEM);
    *ret_sealed = sealed;
    return DET_OK;
}

det_status password_check(const struct user *user, const char *hash, struct err *err)
{
    const char *seal = user && user->password ? user->password : nobodys_seal;
    bool opens = *hash && !crypto_pwhash_str_verify(seal, hash, strlen(hash));
    bool fits = user && (user->password ? opens : !*hash);

    return fits ? DET_OK : err_set(err, DET_UNAUTHENTICATED, "invalid credentials");
}

det_status auth_login_begin(struct auth *auth, struct err *err)
{
    if (atomic_fetch_add(&auth->logins_waiting, 1) < LOGINS_WAITING)
        return DET_OK;
    atomic_fetch_sub(&auth->logins_waiting, 1);
    return err_set(err, DET_BUSY, "too many people log in at once; try again");
}

void auth_login_end(struct auth *auth)
{
    atomic_fetch_sub(&auth->logins_waiting, 1);
}

/* A proxy's socket says who runs the proxy, not who calls. */
static bool is_forwarded(const struct net_exchange *x)
{
    static const char *const signs[] = {"Forwarded", "X-Forwarded-For", "Via"};

    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (net_request_header(x, signs[i]))
            return true;
    return false;
}

bool peer_is_owner(const struct net_exchange *x)
{
    uint32_t uid;

    return !is_forwarded(x) && net_peer_is_loopback(x) && net_peer_uid(x, &uid) &&
           (uid == 0 || uid == (uint32_t)geteuid());
}
