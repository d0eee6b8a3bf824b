/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c - access tokens: sessions for programs, with a description and an expiry. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/duration.h"
#include "data/json/json.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/request/access.h"
#include "master/request/auth.h"
#include "master/request/request.h"
#include "store/page.h"
#include "store/people/access_token.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "wire/people_bodies.h"

/* "No limit" is a hundred years: every token ends, and times stay printable. */
enum { DESCRIPTION_MOST = 1024, UNLIMITED_DAYS = 36500 };
static const int64_t DAY_US = 86400LL * 1000000;

static void render_token(struct json_writer *w, const char *key,
                         const struct access_token *row)
{
    jw_object(w, key);
    jw_i64(w, "id", row->id);
    jw_i64(w, "userId", row->user_id);
    jw_str(w, "username", row->username);
    jw_time(w, "expiry", row->expires_us);
    jw_time(w, "createdAt", row->created_us);
    jw_str(w, "tokenType", "TOKEN_TYPE_ACCESS_TOKEN");
    jw_bool(w, "revoked", row->is_revoked);
    jw_str(w, "description", row->description);
    jw_end_object(w);
}

static det_status check_description(const char *text, struct err *err)
{
    if (text && strlen(text) > DESCRIPTION_MOST)
        return err_set(err, DET_INVALID,
                       "the description must not be longer than %d bytes",
                       DESCRIPTION_MOST);
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return err_set(err, DET_INVALID,
                           "the description must not contain control characters");
    return DET_OK;
}

/* ---- creating ------------------------------------------------------------------------ */

struct token_state {
    struct session session;
    const char *nonce;
};

static int64_t days_of(const struct master *master, const char *key)
{
    int64_t days = json_i64(json_path(master->config, key), 30);

    return days < 0 || days > UNLIMITED_DAYS ? UNLIMITED_DAYS : days;
}

static det_status read_lifespan(const struct request *req, const char *text,
                                int64_t *ret_us)
{
    int64_t most = days_of(req->master, "security.token.max_lifespan_days") * DAY_US;
    int64_t us = days_of(req->master, "security.token.default_lifespan_days") * DAY_US;

    if (text && !strcmp(text, "-1")) {
        us = most;
    } else if (text && *text) {
        if (!duration_parse(text, &us) || us <= 0)
            return err_set(req->err, DET_INVALID,
                           "cannot read the lifespan '%s'; write a duration such as "
                           "720h, or -1 for the longest that is allowed",
                           text);
        if (us > most)
            return err_set(
                req->err, DET_INVALID,
                "token Lifespan must be less than max token lifespan: %" PRId64
                " days (security.token.max_lifespan_days)",
                most / DAY_US);
    } else if (us > most) {
        us = most;
    }
    *ret_us = us;
    return DET_OK;
}

static det_status write_token(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct token_state *state = req->state;
    struct user user;
    det_status st = store_user_get(db, state->session.user_id, &req->mem, &user, err);

    if (!st && !user.is_active)
        return err_set(err, DET_STATE,
                       "user '%s' is not active, so a token of the user opens nothing; "
                       "activate the user first",
                       user.username);
    if (!st)
        st = store_session_add(db, &state->session, &req->mem, &state->session.id,
                               &state->nonce, err);
    return st;
}

static det_status token_done(struct request *req)
{
    const struct token_state *state = req->state;
    const char *token = auth_token(req->master->auth, TOKEN_SESSION, state->session.id,
                                   state->nonce, &req->mem);

    if (!token)
        return DET_NOMEM;
    jw_object(&req->w, NULL);
    jw_str(&req->w, "token", token);
    jw_i64(&req->w, "tokenId", state->session.id);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_create_token(struct request *req)
{
    const struct create_token_body *body = req->body;
    struct token_state *state = arena_new(&req->mem, struct token_state);
    int64_t lifespan_us = 0;
    det_status st = access_check_id(req, ROUTE_OBJECT_user, body->user_id);

    if (!st)
        st = check_description(body->description, req->err);
    if (!st)
        st = read_lifespan(req, body->lifespan, &lifespan_us);
    if (!st && !state)
        st = DET_NOMEM;
    if (st)
        return st;
    state->session = (struct session){.user_id = body->user_id,
                                      .created_us = master_now_us(req->master),
                                      .is_access_token = true,
                                      .description = body->description};
    state->session.expires_us = state->session.created_us + lifespan_us;
    req->state = state;
    return request_write(req, write_token, token_done);
}

/* ---- listing ------------------------------------------------------------------------- */

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_id(const struct access_token *a, const struct access_token *b)
{
    return compare_i64(a->id, b->id);
}

static int by_user(const struct access_token *a, const struct access_token *b)
{
    return compare_i64(a->user_id, b->user_id);
}

static int by_expiry(const struct access_token *a, const struct access_token *b)
{
    return compare_i64(a->expires_us, b->expires_us);
}

static int by_creation(const struct access_token *a, const struct access_token *b)
{
    return compare_i64(a->created_us, b->created_us);
}

static int by_revocation(const struct access_token *a, const struct access_token *b)
{
    return a->is_revoked - b->is_revoked;
}

static int by_description(const struct access_token *a, const struct access_token *b)
{
    return strcmp(a->description, b->description);
}

static int by_nothing(const struct access_token *a, const struct access_token *b)
{
    (void)a, (void)b;
    return 0;
}

static const struct token_order {
    const char *name;
    int (*compare)(const struct access_token *a, const struct access_token *b);
} token_orders[] = {
    {"SORT_BY_UNSPECIFIED", by_id},     {"SORT_BY_USER_ID", by_user},
    {"SORT_BY_EXPIRY", by_expiry},      {"SORT_BY_CREATED_AT", by_creation},
    {"SORT_BY_TOKEN_TYPE", by_nothing}, /* all are access tokens */
    {"SORT_BY_REVOKED", by_revocation}, {"SORT_BY_DESCRIPTION", by_description},
};

struct token_sort {
    const struct token_order *order;
    bool is_descending;
};

static int compare_tokens(const void *a, const void *b, void *arg)
{
    const struct token_sort *sort = arg;
    int sign = sort->order->compare(a, b);

    if (!sign)
        return by_id(a, b);
    return sort->is_descending ? -sign : sign;
}

static det_status sort_tokens(const struct request *req, struct access_token *rows,
                              size_t count)
{
    const struct tokens_query *query = req->query;
    const char *name = query->sort_by ? query->sort_by : token_orders[0].name;
    struct token_sort sort = {.is_descending = listing_is_descending(query->order_by)};

    for (size_t i = 0; i < ARRAY_LEN(token_orders); i++)
        if (!strcmp(token_orders[i].name, name))
            sort.order = &token_orders[i];
    if (!sort.order)
        return err_set(req->err, DET_INVALID, "tokens cannot be sorted by '%s'", name);
    qsort_r(rows, count, sizeof(*rows), compare_tokens, &sort);
    return DET_OK;
}

/* Those of one user, of the caller, or of everybody: 0. */
static det_status whose_tokens(struct request *req, int64_t *ret_user_id)
{
    const struct tokens_query *query = req->query;
    struct user user = {.id = req->caller.user_id};
    det_status st = DET_OK;

    *ret_user_id = 0;
    if (query->username && *query->username)
        st = store_user_named(req->db, query->username, &req->mem, &user, req->err);
    else if (access_is_for_all(req))
        return access_names_nothing(req), DET_OK;
    if (!st)
        st = access_check_id(req, ROUTE_OBJECT_user, user.id);
    *ret_user_id = user.id;
    return st;
}

static bool is_wanted(const struct request *req, const struct access_token *row)
{
    const struct tokens_query *query = req->query;
    bool is_named = !query->token_ids.count;

    for (size_t i = 0; i < query->token_ids.count; i++)
        is_named = is_named || query->token_ids.at[i] == row->id;
    if (!query->show_inactive &&
        (row->is_revoked || row->expires_us <= master_now_us(req->master)))
        return false;
    return is_named;
}

det_status api_list_tokens(struct request *req)
{
    const struct tokens_query *query = req->query;
    struct page page = {.offset = query->offset, .limit = query->limit};
    struct access_token *rows;
    uint32_t count = 0;
    int64_t total = 0;
    int64_t user_id;
    det_status st = whose_tokens(req, &user_id);

    if (!st)
        st = store_access_token_list(req->db, user_id, &req->mem, &rows, &count,
                                     req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (is_wanted(req, &rows[i]))
            rows[total++] = rows[i];
    if (!st)
        st = sort_tokens(req, rows, (size_t)total);
    if (!st)
        st = listing_cut_page(&page, total, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "tokenInfo");
    for (int64_t i = page.start; i < page.end; i++)
        render_token(&req->w, NULL, &rows[i]);
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- changing ------------------------------------------------------------------------ */

static det_status change_token(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct patch_token_body *body = req->body;
    struct access_token *row = req->state;
    det_status st = store_access_token_get(db, row->id, &req->mem, row, err);

    if (!st && (row->is_revoked || row->expires_us <= master_now_us(req->master)))
        return err_set(err, DET_INVALID,
                       "unable to update inactive token with ID %" PRId64, row->id);
    if (st)
        return st;
    if (body->description)
        row->description = body->description;
    row->is_revoked = body->set_revoked;
    return store_access_token_put(db, row, err);
}

static det_status change_done(struct request *req)
{
    jw_object(&req->w, NULL);
    render_token(&req->w, "tokenInfo", req->state);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_patch_token(struct request *req)
{
    const struct patch_token_body *body = req->body;
    struct access_token *row = arena_new(&req->mem, struct access_token);
    det_status st = check_description(body->description, req->err);

    if (!st && !row)
        st = DET_NOMEM;
    if (!st)
        st = request_id(req, 0, &row->id);
    if (!st && body->token_id && body->token_id != row->id)
        st = err_set(req->err, DET_INVALID,
                     "the body names token %" PRId64 ", the path token %" PRId64,
                     body->token_id, row->id);
    req->state = row;
    return st ? st : request_write(req, change_token, change_done);
}
