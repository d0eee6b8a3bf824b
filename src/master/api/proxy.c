/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.c - /proxy/<task>/...: programs of tasks under the master's address.
 *
 * Whoever has signed in may talk to them; the way there is net_relay().  What is said
 * about whom:
 *
 *   where to   only where the task's own run said that it listens (a row), and that is
 *              a port of the machine the run's call came from.  Nothing of the request
 *              decides about the address, so that nobody is sent anywhere else.
 *   upwards    the program never sees who asks: no Authorization, no cookie of ours, no
 *              token of a task.  Its own cookies travel.
 *   downwards  a cookie that it sets counts below its own path, and never has our
 *              name; headers that speak for the whole host are dropped.
 *
 * The path is not changed: programs are told to serve below /proxy/<task>/.  Pages that
 * come this way are of the master's own origin, and what they run could call its API as
 * the person who looks at them; therefore only programs of the platform's choosing
 * (TensorBoard) may say that they listen, not any job.  That keeps accidents out, not
 * the owner of a TensorBoard, who sets its environment. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "data/text.h"
#include "master/api/api.h"
#include "master/auth.h"
#include "master/changes.h"
#include "master/proxies.h"
#include "store/jobs.h"
#include "store/proxies.h"
#include "store/views.h"
#include "wire/job_bodies.h"

enum { SENT_HEADERS = 128 };

/* ---- pages of our own ------------------------------------------------------------ */

static void add_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '<')
            buf_puts(out, "&lt;");
        else if (*text == '&')
            buf_puts(out, "&amp;");
        else
            buf_putc(out, *text);
}

/* One sentence, for people. */
static void write_page(struct buf *out, const char *title, const char *sentence)
{
    buf_puts(out, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
                  "<meta name=\"color-scheme\" content=\"light dark\"><title>");
    add_text(out, title);
    buf_puts(out, "</title><h1>");
    add_text(out, title);
    buf_puts(out, "</h1><p>");
    add_text(out, sentence);
    buf_puts(out, ".</p>\n");
}

static const char page_type[] = "text/html; charset=utf-8";
static const char *const page_headers[] = {
    "Content-Security-Policy: default-src 'none'",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    NULL,
};

/* Called instead of a reply that did not come; perhaps on the relays' thread. */
static void refuse(void *arg, struct net_exchange *x, det_status status,
                   const char *sentence)
{
    struct request *req = arg;
    struct buf body = BUF_INIT;
    struct err err = {0};
    int http = status == DET_TIMEOUT ? 504 : 502;

    if (status == DET_NOMEM || status == DET_BUSY || status == DET_UNSUPPORTED)
        http = det_status_http(status);
    (void)err_set(&err, status, "the program of task %s cannot be reached: %s",
                  req->arg[0], sentence);
    if (request_wants_page(x))
        write_page(&body, "No answer", err.text);
    else
        error_write(&body, status, err.text);
    net_answer(x, http, request_wants_page(x) ? page_type : "application/json",
               page_headers, &body);
}

/* It will be there soon: the page looks again by itself. */
static det_status say_starting(struct request *req, const char *sentence)
{
    if (!request_wants_page(req->x))
        return err_set(req->err, DET_BUSY, "%s", sentence);
    write_page(&req->out, "Starting", sentence);
    req->http_status = 503;
    req->content_type = page_type;
    request_header(req, "Content-Security-Policy", "default-src 'none'");
    request_header(req, "Cache-Control", "no-store");
    request_header(req, "Refresh", "1");
    return req->out.status;
}

static det_status say_missing(struct request *req, const char *sentence)
{
    if (!request_wants_page(req->x))
        return err_set(req->err, DET_NOT_FOUND, "%s", sentence);
    write_page(&req->out, "Not there", sentence);
    req->http_status = 404;
    req->content_type = page_type;
    request_header(req, "Content-Security-Policy", "default-src 'none'");
    request_header(req, "Cache-Control", "no-store");
    return req->out.status;
}

det_status proxy_sign_in(struct request *req)
{
    CLEANUP(buf_done) struct buf next = BUF_INIT;
    const char *address = request_address(req);

    if (!request_wants_page(req->x))
        return DET_UNAUTHENTICATED; /* with the sentence that is there */
    if (!address)
        return DET_NOMEM;
    url_encode(&next, address);
    return request_redirect(req,
                            arena_printf(&req->mem, "/det/login?next=%s", next.data));
}

/* ---- upwards --------------------------------------------------------------------- */

/* "Content-Length : 5" is nothing to one reader and a length to another: only names as
 * HTTP has them travel. */
static bool is_name(const char *text)
{
    size_t len = 0;

    while (text[len] &&
           (isalnum((unsigned char)text[len]) || strchr("!#$%&'*+-.^_`|~", text[len])))
        len++;
    return len && !text[len];
}

/* Likewise an address that has blanks in it. */
static bool is_clean(const char *address)
{
    for (; *address; address++)
        if ((unsigned char)*address <= ' ' || *address == 0x7f)
            return false;
    return true;
}

/* What is about us, or about this connection, is not the program's. */
static bool is_passed_up(const char *name)
{
    static const char *const dropped[] = {
        "Connection",
        "Keep-Alive",
        "Proxy-Authorization",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Content-Length",
        "Expect",
        "Cookie",
        "Authorization",
        NET_MARK,
    };

    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        if (!strcasecmp(name, dropped[i]))
            return false;
    return strncasecmp(name, "Grpc-Metadata-", 14) != 0;
}

/* All but ours. */
static const char *other_cookies(struct request *req, const char *cookies)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    while (*cookies) {
        size_t len;

        cookies += strspn(cookies, "; \t");
        len = strcspn(cookies, ";");
        if (len && !auth_is_cookie(cookies)) {
            buf_puts(&out, out.len ? "; " : "Cookie: ");
            buf_add(&out, cookies, len);
        }
        cookies += len;
    }
    req->mem.has_failed = req->mem.has_failed || out.status;
    return out.len ? arena_strdup(&req->mem, out.data) : NULL;
}

static det_status headers_up(struct request *req, const char *const **ret_headers)
{
    const char **lines = arena_array(&req->mem, const char *, SENT_HEADERS + 1);
    const char *at = NULL;
    const char *name;
    const char *value;
    size_t count = 0;

    if (!lines)
        return DET_NOMEM;
    while (count < SENT_HEADERS &&
           net_request_next_header(req->x, &at, &name, &value)) {
        if (!strcasecmp(name, "Cookie"))
            lines[count] = other_cookies(req, value);
        else if (is_name(name) && is_passed_up(name))
            lines[count] = arena_printf(&req->mem, "%s: %s", name, value);
        count += lines[count] != NULL;
    }
    lines[count] = NULL;
    *ret_headers = lines;
    return req->mem.has_failed ? DET_NOMEM : DET_OK;
}

/* ---- downwards ------------------------------------------------------------------- */

/* For the whole host, which is not the program's. */
static bool is_passed_down(const char *name)
{
    static const char *const dropped[] = {
        "Clear-Site-Data",
        "Service-Worker-Allowed",
        "Strict-Transport-Security",
        "Public-Key-Pins",
        "Alt-Svc",
    };

    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        if (!strcasecmp(name, dropped[i]))
            return false;
    return true;
}

/* Its name and value, and all attributes but those that say where it counts. */
static bool write_cookie(const char *service, const char *cookie, struct buf *out)
{
    size_t len = strcspn(cookie, ";");

    if (auth_is_cookie(cookie + strspn(cookie, " \t")))
        return false;
    buf_add(out, cookie, len);
    for (cookie += len; *cookie; cookie += len) {
        cookie += strspn(cookie, "; \t");
        len = strcspn(cookie, ";");
        if (len && strncasecmp(cookie, "Path=", 5) &&
            strncasecmp(cookie, "Domain", 6)) {
            buf_puts(out, "; ");
            buf_add(out, cookie, len);
        }
    }
    buf_printf(out, "; Path=/proxy/%s/", service);
    return true;
}

/* A program that names itself by its own address means ours. */
static void write_location(const struct net_relay *to, const char *value,
                           struct buf *out)
{
    const char *rest = strncmp(value, "http://", 7) ? NULL : value + 7;
    size_t len = strlen(to->address);
    char port[16];

    snprintf(port, sizeof(port), ":%u", to->port);
    if (rest && !strncmp(rest, to->address, len) &&
        !strncmp(rest + len, port, strlen(port)) && rest[len + strlen(port)] == '/')
        buf_puts(out, rest + len + strlen(port));
    else
        buf_puts(out, value);
}

static bool header_down(void *arg, const char *name, const char *value, struct buf *out)
{
    const struct request *req = arg;

    if (!is_passed_down(name))
        return false;
    if (!strcasecmp(name, "Set-Cookie"))
        return write_cookie(req->arg[0], value, out);
    if (!strcasecmp(name, "Location"))
        write_location(req->relay, value, out);
    else
        buf_puts(out, value);
    return true;
}

/* ---- the call -------------------------------------------------------------------- */

static void conversation_over(struct request *req)
{
    const int64_t *allocation_id = req->state;

    proxies_end(req->master->proxies, *allocation_id, request_mono_us(req));
}

static det_status hand_on(struct request *req, const struct proxy_row *row)
{
    const char *upgrade = net_request_header(req->x, "Upgrade");
    struct net_relay *to = arena_new(&req->mem, struct net_relay);
    int64_t *allocation_id = arena_new(&req->mem, int64_t);
    det_status st;

    if (!to || !allocation_id)
        return DET_NOMEM;
    to->address = row->address;
    to->port = (uint16_t)row->port;
    to->target = request_address(req);
    if (!to->target)
        return DET_NOMEM;
    if (!is_clean(to->target))
        return err_set(req->err, DET_INVALID,
                       "the address has blanks in it; write them as %%20");
    to->may_switch = upgrade && !strcasecmp(upgrade, "websocket");
    to->header = header_down;
    to->refuse = refuse;
    st = headers_up(req, &to->headers);
    if (st)
        return st;
    *allocation_id = row->allocation_id;
    req->state = allocation_id;
    req->ended = conversation_over;
    proxies_begin(req->master->proxies, row->allocation_id, request_mono_us(req));
    return request_relay(req, to);
}

/* Nobody listens (yet): why? */
static det_status say_why(struct request *req)
{
    struct job_view job;
    det_status st = store_job_get(req->db, req->arg[0], &req->mem, &job, req->err);

    if (st == DET_NOT_FOUND)
        return say_missing(
            req, arena_printf(&req->mem, "there is no task '%.80s' here", req->arg[0]));
    if (st)
        return st;
    if (job_is_terminal(job.row.state))
        return say_missing(req, arena_printf(&req->mem,
                                             "%s has ended (%s); start another one",
                                             job.name, job_state_names[job.row.state]));
    if (strcmp(job.type, JOB_TENSORBOARD))
        return say_missing(req, arena_printf(&req->mem, "%s serves no page", job.name));
    return say_starting(
        req, arena_printf(&req->mem,
                          "%s is starting, which takes a minute where it must be "
                          "installed first; this page looks again by itself",
                          job.name));
}

det_status api_proxy(struct request *req)
{
    const char *rest = net_request_path(req->x) + strlen("/proxy/");
    struct proxy_row row;
    det_status st;

    if (!strchr(rest, '/')) /* relative links need the slash */
        return request_redirect(req, arena_printf(&req->mem, "/proxy/%s/", rest));
    st = store_proxy_of_task(req->db, req->arg[0], &req->mem, &row, req->err);
    if (st == DET_NOT_FOUND)
        return say_why(req);
    return st ? st : hand_on(req, &row);
}

/* ---- what the program's task says ------------------------------------------------ */

static det_status find_own(struct request *req, struct allocation *ret_row)
{
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, ret_row, req->err);

    if (!st && ret_row->state == ALLOCATION_TERMINATED)
        st = err_set(req->err, DET_STATE, "allocation %s is over", ret_row->name);
    return st;
}

static det_status write_proxy(struct write_job *job, struct db *db, struct err *err)
{
    return store_proxy_put(db, REQUEST_OF(job)->state, err);
}

/* From now on its task counts as ready. */
static det_status tell_pages(struct request *req)
{
    const struct proxy_row *row = req->state;

    changes_note_text(req->master->changes, CHANGE_JOB, row->task_id);
    return DET_OK;
}

det_status api_register_proxy(struct request *req)
{
    const struct proxy_body *body = req->body;
    struct proxy_row *row = arena_new(&req->mem, struct proxy_row);
    char *address = arena_alloc(&req->mem, NET_ADDRESS_TEXT);
    struct allocation allocation;
    struct job_view job = {0};
    det_status st = find_own(req, &allocation);

    if (st)
        return st;
    if (!row || !address)
        return DET_NOMEM;
    if (allocation.job_id)
        st = store_job_by_id(req->db, allocation.job_id, &req->mem, &job, req->err);
    if (st)
        return st;
    if (!job.type || strcmp(job.type, JOB_TENSORBOARD))
        return err_set(req->err, DET_FORBIDDEN,
                       "only a TensorBoard is reached through the master, not %s",
                       allocation.name);
    if (body->port < 1 || body->port > 65535)
        return err_set(req->err, DET_INVALID, "%" PRId64 " is not a port", body->port);
    /* on this machine it listens there, by whichever loopback it called */
    if (net_peer_is_loopback(req->x))
        snprintf(address, NET_ADDRESS_TEXT, "127.0.0.1");
    else
        net_peer_address(req->x, address);
    *row = (struct proxy_row){allocation.id, allocation.task_id, address, body->port};
    req->state = row;
    return request_write(req, write_proxy, tell_pages);
}

det_status api_look_at_proxy(struct request *req)
{
    struct allocation allocation;
    det_status st = find_own(req, &allocation);
    int64_t idle_us;

    if (st)
        return st;
    idle_us =
        proxies_idle_us(req->master->proxies, allocation.id, request_mono_us(req));
    jw_object(&req->w, NULL);
    jw_i64(&req->w, "idleSeconds", idle_us / 1000000);
    jw_end_object(&req->w);
    return DET_OK;
}
