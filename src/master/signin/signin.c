/* SPDX-License-Identifier: Apache-2.0 */
/* signin.c - see signin.h. */
#include "master/signin/signin.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "master/master_impl.h"
#include "master/signin/directory.h"
#include "master/signin/flow.h"
#include "master/signin/handover.h"
#include "master/signin/oidc.h"
#include "net/web/web_call.h"

enum { WAITING_MOST = 64, USED_FLOWS = 1024, SECRET_FILE_MOST = 4096 };

struct used_flow {
    char state[FLOW_SECRET_TEXT];
    int64_t expires_s;
};

struct signin {
    const struct json *config;
    const char *login_url; /* where browsers begin; NULL: no provider */
    struct web *web;
    struct oidc *oidc;
    struct directory *directory;
    struct handovers *handovers;
    struct lane *lane;
    unsigned char key[FLOW_KEY_BYTES];
    _Atomic int waiting;
    struct lock lock; /* guards what follows */
    struct used_flow used[USED_FLOWS];
    uint32_t next_used;
};

/* ---- configuration --------------------------------------------------------------- */

static const char *text_of(const struct json *map, const char *key)
{
    return json_str(json_get(map, key), "");
}

/* A secret is in the configuration, or in a file that it names; a line break at the end of
 * the file does not count. */
static det_status read_secret(struct master *master, const struct json *map,
                              const char *key, const char *file_key,
                              const char **ret_secret, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = BUF_LIMITED(SECRET_FILE_MOST);
    const char *path = text_of(map, file_key);
    det_status st;

    *ret_secret = text_of(map, key);
    if (!*path)
        return DET_OK;
    st = io_read_file(master->io, path, &bytes, err);
    if (st)
        return err_prefix(err, "%s", file_key);
    while (bytes.len && strchr("\r\n", bytes.data[bytes.len - 1]))
        buf_cut(&bytes, bytes.len - 1);
    *ret_secret = arena_strdup(&master->mem, bytes.data);
    return *ret_secret ? DET_OK : err_default(err, DET_NOMEM);
}

static const char *join_words(struct arena *mem, const struct json *list)
{
    const char *joined = "";

    json_each(word, list) {
        joined =
            arena_printf(mem, "%s%s%s", joined, *joined ? " " : "", json_str(word, ""));
        if (!joined)
            return NULL;
    }
    return joined;
}

/* The address of one of our paths, as browsers see it. */
static const char *address_of(struct arena *mem, const char *base, const char *path)
{
    size_t len = strlen(base);

    while (len && base[len - 1] == '/')
        len--;
    return arena_printf(mem, "%.*s%s", (int)len, base, path);
}

static det_status open_oidc(struct master *master, struct signin *signin,
                            struct err *err)
{
    const struct json *map = json_get(master->config, "oidc");
    const char *ca_file = json_str(json_get(map, "ca_file"), NULL);
    struct oidc_config config = {
        .provider = text_of(map, "provider"),
        .issuer = text_of(map, "idp_sso_url"),
        .client_id = text_of(map, "client_id"),
        .redirect_uri = address_of(&master->mem, text_of(map, "idp_recipient_url"),
                                   "/oidc/callback"),
        .scopes = join_words(&master->mem, json_get(map, "scopes")),
        .name_claim = text_of(map, "authentication_claim"),
        .groups_claim = text_of(map, "groups_attribute_name"),
        .display_claim = text_of(map, "display_name_attribute_name"),
        .admin_group = text_of(map, "admin_group"),
        .ca_file = ca_file && *ca_file ? ca_file : NULL,
        .may_provision = json_bool(json_get(map, "auto_provision_users"), false),
        .is_stopping = &master->is_stopping,
    };
    det_status st;

    if (!json_bool(json_get(map, "enabled"), false))
        return DET_OK;
    signin->login_url =
        address_of(&master->mem, text_of(map, "idp_recipient_url"), "/oidc/login");
    if (!config.redirect_uri || !config.scopes || !signin->login_url)
        return err_default(err, DET_NOMEM);
    st = read_secret(master, map, "client_secret", "client_secret_file",
                     &config.client_secret, err);
    if (!st)
        st = web_new(&signin->web, err);
    if (!st)
        st = oidc_new(&config, signin->web, &signin->oidc, err);
    return st;
}

static det_status open_directory(struct master *master, struct signin *signin,
                                 struct err *err)
{
    const struct json *map = json_get(master->config, "ldap");
    struct directory_config config = {
        .url = text_of(map, "url"),
        .starts_tls = json_bool(json_get(map, "start_tls"), false),
        .ca_file = text_of(map, "ca_file"),
        .bind_dn = text_of(map, "bind_dn"),
        .user_base = text_of(map, "user_base"),
        .user_filter = text_of(map, "user_filter"),
        .display_name_attribute = text_of(map, "display_name_attribute"),
        .group_base = text_of(map, "group_base"),
        .group_filter = text_of(map, "group_filter"),
        .group_attribute = text_of(map, "group_attribute"),
        .admin_group = text_of(map, "admin_group"),
        .may_provision = json_bool(json_get(map, "auto_provision_users"), false),
        .timeout_s = json_i64(json_get(map, "timeout"), 5),
    };
    det_status st;

    if (!json_bool(json_get(map, "enabled"), false))
        return DET_OK;
    st = read_secret(master, map, "bind_password", "bind_password_file",
                     &config.bind_password, err);
    if (!st && *config.bind_dn && !*config.bind_password)
        st =
            err_set(err, DET_INVALID,
                    "ldap.bind_dn needs ldap.bind_password or ldap.bind_password_file: "
                    "a directory takes a bind without a password as anonymous");
    return st ? st : directory_new(&config, &signin->directory, err);
}

/* ---- life ------------------------------------------------------------------------ */

det_status signin_new(struct master *master, struct signin **ret_signin,
                      struct err *err)
{
    struct signin *signin = mem_new(struct signin);
    det_status st =
        signin ? lock_init(&signin->lock, err) : err_default(err, DET_NOMEM);

    if (!st)
        st = rng_secret(signin->key, sizeof(signin->key), err);
    if (!st)
        st = handovers_new(&signin->handovers, err);
    if (!st)
        st = open_oidc(master, signin, err);
    if (!st)
        st = open_directory(master, signin, err);
    if (!st)
        st = lane_new(master->exec, "signin", SIGNIN_THREADS, &signin->lane, err);
    if (st) {
        signin_free(signin);
        return st;
    }
    signin->config = master->config;
    *ret_signin = signin;
    return DET_OK;
}

void signin_free(struct signin *signin)
{
    if (!signin)
        return;
    directory_free(signin->directory);
    oidc_free(signin->oidc);
    web_free(signin->web);
    handovers_free(signin->handovers);
    lock_done(&signin->lock);
    mem_free(signin);
}

/* ---- the parts ------------------------------------------------------------------- */

struct oidc *signin_oidc(const struct signin *signin)
{
    return signin->oidc;
}

const struct directory *signin_directory(const struct signin *signin)
{
    return signin->directory;
}

struct handovers *signin_handovers(const struct signin *signin)
{
    return signin->handovers;
}

struct lane *signin_lane(const struct signin *signin)
{
    return signin->lane;
}

const unsigned char *signin_key(const struct signin *signin)
{
    return signin->key;
}

bool signin_is_secure(const struct signin *signin)
{
    const char *url = json_str(json_path(signin->config, "oidc.idp_recipient_url"), "");

    return !strncasecmp(url, "https://", 8);
}

det_status signin_begin(struct signin *signin, struct err *err)
{
    if (atomic_fetch_add(&signin->waiting, 1) < WAITING_MOST)
        return DET_OK;
    atomic_fetch_sub(&signin->waiting, 1);
    return err_set(err, DET_BUSY, "too many sign-ins at once; try again");
}

void signin_end(struct signin *signin)
{
    atomic_fetch_sub(&signin->waiting, 1);
}

/* The oldest entry makes room.  The provider refuses a code that was used, too. */
bool signin_use_flow(struct signin *signin, const struct flow *flow, int64_t now_s)
{
    bool is_new = true;

    lock_take(&signin->lock);
    for (size_t i = 0; is_new && i < USED_FLOWS; i++)
        is_new = signin->used[i].expires_s < now_s ||
                 strcmp(signin->used[i].state, flow->state) != 0;
    if (is_new) {
        struct used_flow *used = &signin->used[signin->next_used++ % USED_FLOWS];

        memcpy(used->state, flow->state, sizeof(used->state));
        used->expires_s = flow->expires_s;
    }
    lock_give(&signin->lock);
    return is_new;
}

/* ---- what clients see ------------------------------------------------------------ */

void signin_render(const struct signin *signin, struct json_writer *w,
                   bool is_snake_case)
{
    const struct json *map = json_get(signin->config, "oidc");

    jw_array(w, is_snake_case ? "sso_providers" : "ssoProviders");
    if (signin->oidc) {
        jw_object(w, NULL);
        jw_str(w, "name", text_of(map, "provider"));
        jw_str(w, is_snake_case ? "sso_url" : "ssoUrl", signin->login_url);
        jw_str(w, "type", "OIDC");
        jw_bool(w, is_snake_case ? "always_redirect" : "alwaysRedirect",
                json_bool(json_get(map, "always_redirect"), false));
        jw_end_object(w);
    }
    jw_end_array(w);
    /* Clients hash passwords; a directory needs the password itself. */
    jw_bool(w, is_snake_case ? "plain_passwords" : "plainPasswords",
            signin->directory != NULL);
}
