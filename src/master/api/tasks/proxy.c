/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.c - /proxy/<task>/...: programs of tasks under the master's address.
 *
 * Signed-in users may call them; net_relay() carries the request.  The rules:
 *
 *   address    only the port that the task's own run has registered (a row), on the machine
 *              that the run's call came from.  Nothing in the request chooses the address,
 *              so a user cannot be sent anywhere else.
 *   upwards    the program never learns who calls: no Authorization, no cookie of ours, no
 *              token of a task.  Its own cookies are passed on.
 *   downwards  its cookies are limited to its own path and never have our cookie's name;
 *              headers that apply to the whole host are dropped.
 *
 * The path is not changed: programs serve below /proxy/<task>/.  Their pages have the
 * master's own origin, and their owner controls what is on them.  So that a script there
 * cannot call the API as the person who reads the page:
 *
 *   - a policy (CSP) lets the page load, fetch, frame and send forms below its own path only;
 *   - a redirect leads there too, because a policy ignores the path after a redirect;
 *   - all answers of the master itself have Cross-Origin-Opener-Policy, and the program's have
 *     none, so a window that the page opens on the master is out of its reach.  Browsers obey
 *     this over TLS and on loopback.
 *
 * Only TensorBoards may register, not any job. */
#include "master/api/tasks/proxy.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "data/url.h"
#include "master/api/api.h"
#include "master/background/proxy_activity.h"
#include "master/changes/changes.h"
#include "master/request/auth.h"
#include "master/request/error_body.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "store/task/job.h"
#include "store/task/proxy.h"
#include "wire/job_bodies.h"

enum { SENT_HEADERS = 128 };

/* ---- error pages ------------------------------------------------------------ */

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

/* A page with one sentence. */
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

/* Answers for a program that did not reply; may run on the relays' thread. */
static void answer_unreachable(void *arg, struct net_exchange *x, det_status status,
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
        error_body_write(&body, status, err.text);
    net_answer(x, http, request_wants_page(x) ? page_type : "application/json",
               page_headers, &body);
}

/* The page reloads by itself until the program has started. */
static det_status reply_starting(struct request *req, const char *sentence)
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

static det_status reply_missing(struct request *req, const char *sentence)
{
    if (!request_wants_page(req->x))
        return err_set(req->err, DET_NOT_FOUND, "%s", sentence);
    write_page(&req->out, "Not found", sentence);
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
        return DET_UNAUTHENTICATED; /* auth_check() has set the sentence */
    if (!address)
        return DET_NOMEM;
    url_encode(&next, address);
    return request_redirect(req,
                            arena_printf(&req->mem, "/det/login?next=%s", next.data));
}

/* ---- upwards --------------------------------------------------------------------- */

/* Servers read "Content-Length : 5" differently, so only valid HTTP names are passed on. */
static bool is_header_name(const char *text)
{
    size_t len = 0;

    while (text[len] &&
           (isalnum((unsigned char)text[len]) || strchr("!#$%&'*+-.^_`|~", text[len])))
        len++;
    return len && !text[len];
}

/* Likewise an address with blanks. */
static bool has_no_blanks(const char *address)
{
    for (; *address; address++)
        if ((unsigned char)*address <= ' ' || *address == 0x7f)
            return false;
    return true;
}

/* Headers for the master, or for this connection only, are not passed to the program. */
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

/* All cookies except ours. */
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

/* A bare CR or LF ends a line for some servers, other control characters are not allowed. */
static bool has_no_controls(const char *value)
{
    for (; *value; value++)
        if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
            return false;
    return true;
}

/* Refuses what the program could read in another way than the master did: with two lengths,
 * a body may end in two places. */
static det_status check_header(struct request *req, const char *name, const char *value,
                               uint32_t *lengths)
{
    *lengths += !strcasecmp(name, "Content-Length");
    if (*lengths > 1)
        return err_set(req->err, DET_INVALID,
                       "the request has two Content-Length headers");
    if (!has_no_controls(value))
        return err_set(req->err, DET_INVALID,
                       "a header of the request has a control character in its value");
    return DET_OK;
}

static det_status headers_up(struct request *req, const char *const **ret_headers)
{
    const char **lines = arena_array(&req->mem, const char *, SENT_HEADERS + 1);
    const char *at = NULL;
    const char *name;
    const char *value;
    uint32_t lengths = 0;
    size_t count = 0;

    if (!lines)
        return DET_NOMEM;
    while (count < SENT_HEADERS - 1 &&
           net_request_next_header(req->x, &at, &name, &value)) {
        det_status st = check_header(req, name, value, &lengths);

        if (st)
            return st;
        if (!strcasecmp(name, "Cookie"))
            lines[count] = other_cookies(req, value);
        else if (is_header_name(name) && is_passed_up(name))
            lines[count] = arena_printf(&req->mem, "%s: %s", name, value);
        count += lines[count] != NULL;
    }
    lines[count++] = "Via: " NET_VIA; /* after those of proxies before us */
    lines[count] = NULL;
    *ret_headers = lines;
    return req->mem.has_failed ? DET_NOMEM : DET_OK;
}

/* ---- downwards ------------------------------------------------------------------- */

/* The program must not set headers for the whole host. */
static bool is_passed_down(const char *name)
{
    static const char *const dropped[] = {
        "Clear-Site-Data",
        "Service-Worker-Allowed",
        "Cross-Origin-Opener-Policy",
        "Cross-Origin-Opener-Policy-Report-Only",
        "Strict-Transport-Security",
        "Public-Key-Pins",
        "Alt-Svc",
    };

    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        if (!strcasecmp(name, dropped[i]))
            return false;
    return true;
}

/* Keeps name, value and attributes, except Path and Domain. */
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

/* Without the program's own address, if it has it. */
static const char *location_path(const struct net_relay *to, const char *value)
{
    const char *rest = strncmp(value, "http://", 7) ? NULL : value + 7;
    size_t len = strlen(to->address);
    char port[16];

    snprintf(port, sizeof(port), ":%u", to->port);
    if (rest && !strncmp(rest, to->address, len) &&
        !strncmp(rest + len, port, strlen(port)) && rest[len + strlen(port)] == '/')
        return rest + len + strlen(port);
    return value;
}

/* Whether a browser stays below /proxy/<service>/: an absolute path there, or a relative one
 * from there, and no way up however it is written. */
static bool is_below(const char *service, const char *path)
{
    size_t len = strlen(service);

    if (strstr(path, "..") || strcasestr(path, "%2e") || strchr(path, '\\') ||
        !has_no_controls(path))
        return false;
    if (*path != '/')
        return path[strcspn(path, ":/?#")] != ':';
    return !strncmp(path, "/proxy/", 7) && !strncmp(path + 7, service, len) &&
           path[7 + len] == '/';
}

static bool header_down(void *arg, const char *name, const char *value, struct buf *out)
{
    const struct request *req = arg;

    if (!is_passed_down(name))
        return false;
    if (!strcasecmp(name, "Set-Cookie"))
        return write_cookie(req->arg[0], value, out);
    if (!strcasecmp(name, "Location")) {
        value = location_path(req->relay, value);
        if (!is_below(req->arg[0], value))
            return false;
    }
    buf_puts(out, value);
    return true;
}

/* A host that a policy can name; an IPv6 address it cannot. */
static bool is_policy_host(const char *host)
{
    return *host && !host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:")];
}

/* Pages of programs contain scripts in the page, made at run time, and in blobs. */
static det_status headers_of_reply(struct request *req, const char *const **ret_headers)
{
    const char **lines = arena_array(&req->mem, const char *, 2);
    const char *host = net_request_header(req->x, "Host");
    const char *self = host && is_policy_host(host)
                           ? arena_printf(&req->mem, "%s/proxy/%s/", host, req->arg[0])
                           : "'self'";

    if (!lines || !self)
        return DET_NOMEM;
    lines[0] = arena_printf(&req->mem,
                            "Content-Security-Policy: default-src %s data: blob: "
                            "'unsafe-inline' 'unsafe-eval'; base-uri %s; "
                            "form-action %s; frame-ancestors %s; object-src 'none'",
                            self, self, self, self);
    lines[1] = NULL;
    *ret_headers = lines;
    return lines[0] ? DET_OK : DET_NOMEM;
}

/* ---- the call -------------------------------------------------------------------- */

static void note_request_end(struct request *req)
{
    const int64_t *allocation_id = req->state;

    proxy_activity_end(req->master->proxy_activity, *allocation_id,
                       request_mono_us(req));
}

static det_status relay_request(struct request *req, const struct proxy_row *row)
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
    if (!has_no_blanks(to->target))
        return err_set(req->err, DET_INVALID,
                       "the address has blanks in it; write them as %%20");
    to->may_switch = upgrade && !strcasecmp(upgrade, "websocket");
    to->header = header_down;
    to->refuse = answer_unreachable;
    st = headers_up(req, &to->headers);
    if (!st)
        st = headers_of_reply(req, &to->reply_headers);
    if (st)
        return st;
    *allocation_id = row->allocation_id;
    req->state = allocation_id;
    req->ended = note_request_end;
    proxy_activity_begin(req->master->proxy_activity, row->allocation_id,
                         request_mono_us(req));
    return request_relay(req, to);
}

/* No program listens (yet): tells why. */
static det_status reply_not_listening(struct request *req)
{
    struct job_view job;
    det_status st = store_job_get(req->db, req->arg[0], &req->mem, &job, req->err);

    if (st == DET_NOT_FOUND)
        return reply_missing(
            req, arena_printf(&req->mem, "there is no task '%.80s' here", req->arg[0]));
    if (st)
        return st;
    if (job_is_terminal(job.row.state))
        return reply_missing(
            req, arena_printf(&req->mem, "%s has ended (%s); start another one",
                              job.name, job_state_names[job.row.state]));
    if (strcmp(job.type, JOB_TENSORBOARD))
        return reply_missing(
            req, arena_printf(&req->mem, "%s does not serve a page", job.name));
    return reply_starting(
        req, arena_printf(&req->mem,
                          "%s is starting, which takes a minute if it must be "
                          "installed first; this page reloads by itself",
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
        return reply_not_listening(req);
    return st ? st : relay_request(req, &row);
}

/* ---- calls of the program's task ------------------------------------------------ */

static det_status find_own_allocation(struct request *req, struct allocation *ret_row)
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

/* From now on the task counts as ready. */
static det_status note_ready(struct request *req)
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
    det_status st = find_own_allocation(req, &allocation);

    if (st)
        return st;
    if (!row || !address)
        return DET_NOMEM;
    if (allocation.job_id)
        st = store_job_by_id(req->db, allocation.job_id, &req->mem, &job, req->err);
    if (st)
        return st;
    if (!job.type || strcmp(job.type, JOB_TENSORBOARD))
        return err_set(req->err, DET_STATE,
                       "only a TensorBoard is reached through the master, not %s",
                       allocation.name);
    if (body->port < 1 || body->port > 65535)
        return err_set(req->err, DET_INVALID, "%" PRId64 " is not a port", body->port);
    /* a local program listens on 127.0.0.1, whichever loopback address it called from */
    if (net_peer_is_loopback(req->x))
        snprintf(address, NET_ADDRESS_TEXT, "127.0.0.1");
    else
        net_peer_address(req->x, address);
    *row = (struct proxy_row){allocation.id, allocation.task_id, address, body->port};
    req->state = row;
    return request_write(req, write_proxy, note_ready);
}

det_status api_look_at_proxy(struct request *req)
{
    struct allocation allocation;
    det_status st = find_own_allocation(req, &allocation);
    int64_t idle_us;

    if (st)
        return st;
    idle_us = proxy_activity_idle_us(req->master->proxy_activity, allocation.id,
                                     request_mono_us(req));
    jw_object(&req->w, NULL);
    jw_i64(&req->w, "idleSeconds", idle_us / 1000000);
    jw_end_object(&req->w);
    return DET_OK;
}
