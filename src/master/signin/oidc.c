/* SPDX-License-Identifier: Apache-2.0 */
/* oidc.c - see oidc.h. */
#include "master/signin/oidc.h"

#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/url.h"
#include "master/signin/flow.h"
#include "master/signin/id_token.h"
#include "master/signin/identity.h"
#include "master/signin/jws.h"
#include "net/web/web_call.h"

#define CACHE_US      INT64_C(3600000000)
#define KEYS_PAUSE_US INT64_C(30000000)

enum { CALL_MS = 10000, REPLY_MOST = 1 << 20 };

/* A document of the provider, as text. */
struct document {
    char *text; /* NULL: none yet */
    int64_t at_us;
};

struct oidc {
    struct oidc_config config;
    const struct web *web;
    bool allows_http; /* the provider is on this machine */
    struct lock lock; /* guards what follows */
    struct document discovery;
    struct document keys;
};

/* ---- life ------------------------------------------------------------------------ */

det_status oidc_new(const struct oidc_config *config, const struct web *web,
                    struct oidc **ret_oidc, struct err *err)
{
    struct oidc *oidc = mem_new(struct oidc);
    det_status st = oidc ? lock_init(&oidc->lock, err) : err_default(err, DET_NOMEM);

    if (!st)
        st = jws_check_library(err);
    if (st) {
        oidc_free(oidc);
        return st;
    }
    oidc->config = *config;
    oidc->web = web;
    /* The rules of the configuration allow http for a provider on this machine only. */
    oidc->allows_http = !strncasecmp(config->issuer, "http://", 7);
    *ret_oidc = oidc;
    return DET_OK;
}

void oidc_free(struct oidc *oidc)
{
    if (!oidc)
        return;
    mem_free(oidc->discovery.text);
    mem_free(oidc->keys.text);
    lock_done(&oidc->lock);
    mem_free(oidc);
}

/* ---- calls to the provider ------------------------------------------------------- */

static det_status parse_object(const struct oidc *oidc, const struct buf *body,
                               const char *what, struct arena *mem,
                               struct json **ret_tree, struct err *err)
{
    if (json_parse(body->data, body->len, mem, ret_tree, NULL) ||
        (*ret_tree)->kind != JSON_OBJECT)
        return err_set(err, DET_UNREACHABLE,
                       "%s answered with %s that is not a JSON object",
                       oidc->config.provider, what);
    return DET_OK;
}

static det_status call_provider(const struct oidc *oidc, struct web_request *request,
                                int *ret_status, struct buf *body, struct err *err)
{
    request->allows_http = oidc->allows_http;
    request->ca_file = oidc->config.ca_file;
    request->timeout_ms = CALL_MS;
    request->is_stopping = oidc->config.is_stopping;
    if (web_call(oidc->web, request, ret_status, body, err))
        return err_prefix(err, "%s does not answer", oidc->config.provider);
    return DET_OK;
}

/* A GET that must succeed. */
static det_status fetch_object(const struct oidc *oidc, const char *url,
                               const char *const *headers, struct arena *mem,
                               struct buf *body, struct json **ret_tree,
                               struct err *err)
{
    struct web_request request = {.url = url, .headers = headers};
    int status;
    det_status st = call_provider(oidc, &request, &status, body, err);

    if (st)
        return st;
    if (status != 200)
        return err_set(err, DET_UNREACHABLE, "%s answered with status %d to '%.200s'",
                       oidc->config.provider, status, url);
    return parse_object(oidc, body, "a document", mem, ret_tree, err);
}

/* With a copy in `mem`; false: none that is young enough. */
static bool find_cached(struct oidc *oidc, const struct document *document,
                        int64_t newer_than_us, struct arena *mem,
                        struct json **ret_tree)
{
    const char *text = NULL;

    lock_take(&oidc->lock);
    if (document->text && document->at_us > newer_than_us)
        text = arena_strdup(mem, document->text);
    lock_give(&oidc->lock);
    return text && !json_parse(text, strlen(text), mem, ret_tree, NULL);
}

static void keep_document(struct oidc *oidc, struct document *document,
                          const struct buf *body, int64_t now_us)
{
    char *copy = mem_strdup(body->data);

    if (!copy)
        return; /* it is fetched again next time */
    lock_take(&oidc->lock);
    mem_free(document->text);
    *document = (struct document){copy, now_us};
    lock_give(&oidc->lock);
}

/* ---- discovery ------------------------------------------------------------------- */

static det_status check_endpoint(const struct oidc *oidc, const struct json *discovery,
                                 const char *name, struct err *err)
{
    const char *url = json_str(json_get(discovery, name), "");

    if (!strncasecmp(url, "https://", 8) ||
        (oidc->allows_http && !strncasecmp(url, "http://", 7)))
        return DET_OK;
    return err_set(err, DET_UNAUTHENTICATED,
                   "the discovery document of %s has no '%s' that begins with https://",
                   oidc->config.provider, name);
}

/* A provider that names another issuer could speak for that one. */
static det_status check_discovery(const struct oidc *oidc, const struct json *discovery,
                                  struct err *err)
{
    static const char *const endpoints[] = {"authorization_endpoint", "token_endpoint",
                                            "jwks_uri"};
    const char *issuer = json_str(json_get(discovery, "issuer"), "");
    det_status st = DET_OK;

    if (strcmp(issuer, oidc->config.issuer))
        return err_set(err, DET_UNAUTHENTICATED,
                       "the provider at '%.200s' says that it is '%.200s'; an "
                       "administrator must check oidc.idp_sso_url",
                       oidc->config.issuer, issuer);
    for (size_t i = 0; !st && i < ARRAY_LEN(endpoints); i++)
        st = check_endpoint(oidc, discovery, endpoints[i], err);
    if (!st && json_get(discovery, "userinfo_endpoint"))
        st = check_endpoint(oidc, discovery, "userinfo_endpoint", err);
    return st;
}

static det_status discover(struct oidc *oidc, int64_t now_us, struct arena *mem,
                           struct json **ret_discovery, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(REPLY_MOST);
    const char *issuer = oidc->config.issuer;
    size_t len = strlen(issuer);
    const char *url;
    det_status st;

    if (find_cached(oidc, &oidc->discovery, now_us - CACHE_US, mem, ret_discovery))
        return DET_OK;
    url = arena_printf(mem, "%.*s/.well-known/openid-configuration",
                       (int)(issuer[len - 1] == '/' ? len - 1 : len), issuer);
    if (!url)
        return err_default(err, DET_NOMEM);
    st = fetch_object(oidc, url, NULL, mem, &body, ret_discovery, err);
    if (!st)
        st = check_discovery(oidc, *ret_discovery, err);
    if (!st)
        keep_document(oidc, &oidc->discovery, &body, now_us);
    return st;
}

static det_status get_keys(struct oidc *oidc, const struct json *discovery,
                           int64_t now_us, int64_t newer_than_us, struct arena *mem,
                           struct json **ret_keys, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(REPLY_MOST);
    det_status st;

    if (find_cached(oidc, &oidc->keys, newer_than_us, mem, ret_keys))
        return DET_OK;
    st = fetch_object(oidc, json_str(json_get(discovery, "jwks_uri"), ""), NULL, mem,
                      &body, ret_keys, err);
    if (!st)
        keep_document(oidc, &oidc->keys, &body, now_us);
    return st;
}

/* ---- to the provider ------------------------------------------------------------- */

static void add_parameter(struct buf *out, const char *name, const char *value)
{
    if (out->len)
        buf_putc(out, '&');
    buf_printf(out, "%s=", name);
    url_encode(out, value);
}

det_status oidc_login_url(struct oidc *oidc, const struct flow *flow, int64_t now_us,
                          struct arena *mem, const char **ret_url, struct err *err)
{
    CLEANUP(buf_done) struct buf query = BUF_INIT;
    char challenge[FLOW_SECRET_TEXT];
    struct json *discovery;
    const char *endpoint;
    det_status st = discover(oidc, now_us, mem, &discovery, err);

    if (st)
        return st;
    flow_challenge(flow->verifier, challenge);
    add_parameter(&query, "response_type", "code");
    add_parameter(&query, "client_id", oidc->config.client_id);
    add_parameter(&query, "redirect_uri", oidc->config.redirect_uri);
    add_parameter(&query, "scope", oidc->config.scopes);
    add_parameter(&query, "state", flow->state);
    add_parameter(&query, "nonce", flow->nonce);
    add_parameter(&query, "code_challenge", challenge);
    add_parameter(&query, "code_challenge_method", "S256");
    endpoint = json_str(json_get(discovery, "authorization_endpoint"), "");
    *ret_url = query.status
                   ? NULL
                   : arena_printf(mem, "%s%c%s", endpoint,
                                  strchr(endpoint, '?') ? '&' : '?', query.data);
    return *ret_url ? DET_OK : err_default(err, DET_NOMEM);
}

det_status oidc_check_issuer(const struct oidc *oidc, const char *issuer,
                             struct err *err)
{
    if (!issuer || !strcmp(issuer, oidc->config.issuer))
        return DET_OK;
    return err_set(err, DET_UNAUTHENTICATED,
                   "the browser came back from '%.200s', not from '%.200s'", issuer,
                   oidc->config.issuer);
}

/* ---- back from it ---------------------------------------------------------------- */

static bool lists(const struct json *array, const char *text)
{
    json_each(one, array) {
        if (!strcmp(json_str(one, ""), text))
            return true;
    }
    return false;
}

/* RFC 6749 asks for the encoding of a form inside the Basic header. */
static const char *form_encode(struct arena *mem, const char *text)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    url_encode(&out, text);
    return out.status ? NULL : arena_strdup(mem, out.data);
}

/* By Basic authentication, unless the provider takes only the form. */
static det_status authenticate_client(const struct oidc *oidc,
                                      const struct json *discovery, struct arena *mem,
                                      struct web_request *request, struct buf *form,
                                      struct err *err)
{
    const struct json *methods =
        json_get(discovery, "token_endpoint_auth_methods_supported");
    bool has_secret = *oidc->config.client_secret != '\0';

    if (has_secret && (!methods || lists(methods, "client_secret_basic"))) {
        request->user = form_encode(mem, oidc->config.client_id);
        request->password = form_encode(mem, oidc->config.client_secret);
        return request->user && request->password ? DET_OK
                                                  : err_default(err, DET_NOMEM);
    }
    add_parameter(form, "client_id", oidc->config.client_id);
    if (has_secret)
        add_parameter(form, "client_secret", oidc->config.client_secret);
    return DET_OK;
}

static det_status redeem_code(const struct oidc *oidc, const struct json *discovery,
                              const struct flow *flow, const char *code,
                              struct arena *mem, struct json **ret_tokens,
                              struct err *err)
{
    static const char *const headers[] = {"Accept: application/json", NULL};
    CLEANUP(buf_done) struct buf form = BUF_INIT;
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(REPLY_MOST);
    struct web_request request = {
        .url = json_str(json_get(discovery, "token_endpoint"), ""), .headers = headers};
    int status;
    det_status st;

    add_parameter(&form, "grant_type", "authorization_code");
    add_parameter(&form, "code", code);
    add_parameter(&form, "redirect_uri", oidc->config.redirect_uri);
    add_parameter(&form, "code_verifier", flow->verifier);
    st = authenticate_client(oidc, discovery, mem, &request, &form, err);
    if (!st && form.status)
        st = err_default(err, form.status);
    if (st)
        return st;
    request.form = form.data;
    st = call_provider(oidc, &request, &status, &body, err);
    if (!st && status >= 500)
        st = err_set(err, DET_UNREACHABLE, "%s answered with status %d",
                     oidc->config.provider, status);
    if (!st)
        st = parse_object(oidc, &body, "a reply", mem, ret_tokens, err);
    if (!st && status != 200)
        st = err_set(err, DET_UNAUTHENTICATED,
                     "%s refused the sign-in: %.100s; begin again",
                     oidc->config.provider,
                     json_str(json_get(*ret_tokens, "error"), "no reason given"));
    return st;
}

/* A key that is not in our copy may be new: looks again, but not for every token. */
static det_status verify_token(struct oidc *oidc, const struct json *discovery,
                               const char *token, int64_t now_us, struct arena *mem,
                               struct json **ret_claims, struct err *err)
{
    struct json *keys;
    det_status st =
        get_keys(oidc, discovery, now_us, now_us - CACHE_US, mem, &keys, err);

    if (!st)
        st = jws_verify(token, keys, mem, ret_claims, err);
    if (st != DET_NOT_FOUND)
        return st;
    st = get_keys(oidc, discovery, now_us, now_us - KEYS_PAUSE_US, mem, &keys, err);
    if (!st)
        st = jws_verify(token, keys, mem, ret_claims, err);
    if (st == DET_NOT_FOUND && err)
        err->status = DET_UNAUTHENTICATED;
    return st == DET_NOT_FOUND ? DET_UNAUTHENTICATED : st;
}

/* ---- who it is ------------------------------------------------------------------- */

/* Some providers put only `sub` into the ID token; their userinfo has the rest. */
static det_status add_user_info(const struct oidc *oidc, const struct json *discovery,
                                const struct json *tokens, struct arena *mem,
                                struct json *claims, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(REPLY_MOST);
    const char *url = json_str(json_get(discovery, "userinfo_endpoint"), NULL);
    const char *access = json_str(json_get(tokens, "access_token"), NULL);
    const char *headers[] = {NULL, NULL};
    struct json *info;
    det_status st;

    if (!url || !access || strpbrk(access, "\r\n"))
        return DET_OK;
    headers[0] = arena_printf(mem, "Authorization: Bearer %s", access);
    if (!headers[0])
        return err_default(err, DET_NOMEM);
    st = fetch_object(oidc, url, headers, mem, &body, &info, err);
    if (st)
        return st;
    if (strcmp(json_str(json_get(info, "sub"), ""),
               json_str(json_get(claims, "sub"), "")))
        return err_set(err, DET_UNAUTHENTICATED,
                       "%s describes another person than the one who signed in",
                       oidc->config.provider);
    json_each(member, info) {
        if (!json_get(claims, member->key))
            json_set(mem, claims, member->key, json_copy(mem, member));
    }
    return mem->has_failed ? err_default(err, DET_NOMEM) : DET_OK;
}

static const char *find_name(const struct oidc *oidc, const struct json *claims)
{
    const char *name = oidc->config.name_claim;
    const char *found;

    if (*name)
        found = json_str(json_get(claims, name), NULL);
    else
        found = json_str(json_get(claims, "preferred_username"), NULL);
    if (found || *name)
        return found;
    return json_str(json_get(claims, "email"), NULL);
}

static bool has_everything(const struct oidc *oidc, const struct json *claims)
{
    return find_name(oidc, claims) &&
           (!*oidc->config.groups_claim || json_get(claims, oidc->config.groups_claim));
}

static det_status read_groups(const struct oidc *oidc, const struct json *claims,
                              struct arena *mem, struct identity *identity,
                              struct err *err)
{
    const struct json *groups =
        *oidc->config.groups_claim ? json_get(claims, oidc->config.groups_claim) : NULL;
    const char **names = arena_array(mem, const char *, IDENTITY_GROUPS_MOST);

    if (!names)
        return err_default(err, DET_NOMEM);
    identity->has_groups = groups && groups->kind == JSON_ARRAY;
    json_each(group, identity->has_groups ? groups : NULL) {
        const char *name = json_str(group, NULL);

        if (identity->group_count == IDENTITY_GROUPS_MOST)
            return err_set(err, DET_INVALID,
                           "%s lists more than %d groups; let it send only those of "
                           "this cluster",
                           oidc->config.provider, IDENTITY_GROUPS_MOST);
        if (name && *name)
            names[identity->group_count++] = name;
    }
    identity->groups = names;
    return DET_OK;
}

static det_status read_identity(const struct oidc *oidc, const struct json *claims,
                                struct arena *mem, struct identity *ret_identity,
                                struct err *err)
{
    const char *name = find_name(oidc, claims);
    const char *claim = *oidc->config.name_claim ? oidc->config.name_claim
                                                 : "preferred_username' or 'email";
    bool is_email = name && name == json_str(json_get(claims, "email"), NULL);

    if (!name || !identity_name_is_valid(name))
        return err_set(err, DET_FORBIDDEN,
                       "%s sent no usable '%s': a user name has 2 to %d ASCII "
                       "characters, no spaces and no '/'",
                       oidc->config.provider, claim, IDENTITY_NAME_MOST);
    if (is_email && !json_bool(json_get(claims, "email_verified"), true))
        return err_set(err, DET_FORBIDDEN, "%s has not verified the address '%s'",
                       oidc->config.provider, name);
    *ret_identity = (struct identity){
        .source = oidc->config.provider,
        .issuer = oidc->config.issuer,
        .subject = json_str(json_get(claims, "sub"), ""),
        .username = name,
        .display_name =
            *oidc->config.display_claim
                ? json_str(json_get(claims, oidc->config.display_claim), NULL)
                : NULL,
        .may_provision = oidc->config.may_provision,
    };
    if (read_groups(oidc, claims, mem, ret_identity, err))
        return err ? err->status : DET_INVALID;
    identity_set_admin(ret_identity, oidc->config.admin_group);
    return DET_OK;
}

det_status oidc_finish(struct oidc *oidc, const struct flow *flow, const char *code,
                       int64_t now_us, struct arena *mem, struct identity *ret_identity,
                       struct err *err)
{
    struct json *discovery, *tokens, *claims;
    struct id_token_want want = {.issuer = oidc->config.issuer,
                                 .client_id = oidc->config.client_id,
                                 .nonce = flow->nonce,
                                 .now_s = now_us / 1000000};
    const char *token;
    det_status st = discover(oidc, now_us, mem, &discovery, err);

    if (!st)
        st = redeem_code(oidc, discovery, flow, code, mem, &tokens, err);
    if (st)
        return st;
    token = json_str(json_get(tokens, "id_token"), NULL);
    want.access_token = json_str(json_get(tokens, "access_token"), NULL);
    if (!token)
        return err_set(err, DET_UNAUTHENTICATED,
                       "%s sent no ID token; its client needs the scope 'openid'",
                       oidc->config.provider);
    st = verify_token(oidc, discovery, token, now_us, mem, &claims, err);
    if (!st)
        st = id_token_check(claims, &want, err);
    if (!st && !has_everything(oidc, claims))
        st = add_user_info(oidc, discovery, tokens, mem, claims, err);
    return st ? st : read_identity(oidc, claims, mem, ret_identity, err);
}
