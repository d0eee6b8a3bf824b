/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - calls to the master.
 *
 * The first call that needs it decides as whom to call (session.c).  A token from the
 * session file may have expired; then a 401 means: log in again and repeat the call
 * once. */
#include "libdet/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/url.h"
#include "libdet/client/auth.h"
#include "libdet/client/client_impl.h"
#include "libdet/client/runfile.h"
#include "net/client_tick.h"
#include "net/net_system.h"

enum {
    STRINGS = 1 << 20,
    REPLY_LIMIT = 1 << 30,
    ERROR_TREE = 4 << 20,
    STREAM_TIMEOUT_MS = INT32_MAX,
    LINE_LIMIT = 256 << 20,
};

struct det_reply {
    int status;
    struct buf body;
};

/* ---- opening --------------------------------------------------------------------- */

/* Copies into the client's own memory; NULL stays NULL. */
static const char *keep_text(det_client *client, const char *text)
{
    return arena_strdup(&client->strings, text);
}

static void copy_options(det_client *client, const det_client_options *options)
{
    client->identity = options->identity;
    client->user = keep_text(client, options->user);
    client->password = keep_text(client, options->password);
    client->token = keep_text(client, options->token);
    client->timeout_ms = options->timeout_ms;
    client->auth_path = keep_text(client, options->auth_file);
    client->cert_file =
        keep_text(client, options->cert_file ? options->cert_file
                                             : getenv("DET_MASTER_CERT_FILE"));
    client->cert_name =
        keep_text(client, options->cert_name ? options->cert_name
                                             : getenv("DET_MASTER_CERT_NAME"));
}

static det_status find_local(det_client *client, const char *data_dir,
                             const char **ret_url, struct err *err)
{
    struct runfile run;
    det_status st = DET_OK;

    if (!data_dir)
        st = runfile_data_dir(&client->strings, &data_dir, err);
    if (!st)
        st = runfile_find(client->world.io, client->world.net, data_dir,
                          &client->strings, &run, err);
    if (st)
        return st;
    *ret_url = run.url;
    if (run.cert_file) { /* the folder may be another one than trust.c knows */
        client->cert_file = run.cert_file;
        client->cert_name = NULL;
    }
    return DET_OK;
}

/* In a task whose master speaks TLS only since it has moved: the agent has put the
 * certificate beside the file that says where the master is.  NULL: it has not. */
static const char *find_beside(det_client *client)
{
    const char *slash = client->master_file ? strrchr(client->master_file, '/') : NULL;
    const char *path;
    struct io_stat found;

    if (!slash)
        return NULL;
    path = arena_printf(&client->strings, "%.*s/master.crt",
                        (int)(slash - client->master_file), client->master_file);
    return path && !io_stat(client->world.io, path, &found, NULL) ? path : NULL;
}

/* A client for the address; over TLS it knows whom to trust. */
static det_status make_net_client(det_client *client, const struct url *url,
                                  struct net_client **ret_client, struct err *err)
{
    const struct trust_question question = {
        .io = client->world.io,
        .url = url,
        .cert_file = client->cert_file ? client->cert_file : find_beside(client),
        .cert_name = client->cert_name,
    };
    struct net_client *fresh = NULL;
    struct net_trust trust;
    det_status st =
        net_client_new(client->world.net, url->host, url->port, &fresh, err);

    if (!st && url->is_tls)
        st = trust_decide(&question, &client->strings, &trust, &client->trust_by, err);
    if (!st && url->is_tls)
        st = net_client_secure(fresh, &trust, err);
    if (st)
        net_client_free(fresh);
    else
        *ret_client = fresh;
    return st;
}

/* Switches to another address.  Only on the calling thread; copies `text`. */
static det_status go_to(det_client *client, const char *text, struct err *err)
{
    struct net_client *fresh = NULL;
    struct net_client *old;
    struct url url;
    const char *address;
    det_status st = url_parse(text, &client->strings, &url, err);

    if (st)
        return st;
    address = url_text(&client->strings, &url);
    if (!address)
        return err_default(err, DET_NOMEM);
    st = make_net_client(client, &url, &fresh, err);
    if (st)
        return st;
    client->url = url;
    client->address = address;
    lock_take(&client->lock);
    old = client->net_client;
    client->net_client = fresh;
    if (client->is_cancelled)
        net_client_cancel(fresh);
    lock_give(&client->lock);
    net_client_free(old);
    return DET_OK;
}

/* If the address comes from the environment of a task, so do the master file and the
 * cluster. */
static void look_around(det_client *client, const struct client_world *world,
                        bool is_from_environment)
{
    const char *file = world->master_file;
    const char *cluster = world->cluster;

    if (!file && is_from_environment)
        file = getenv("DET_MASTER_FILE");
    if (!cluster && is_from_environment && client->identity == DET_AS_TASK)
        cluster = getenv("DET_CLUSTER_ID");
    client->master_file = keep_text(client, file);
    client->cluster = keep_text(client, cluster);
}

static det_status find_master(det_client *client, const det_client_options *options,
                              struct err *err)
{
    const char *text = options->master;
    det_status st = DET_OK;

    if (!text)
        text = getenv("DET_MASTER");
    look_around(client, &client->world, text && *text && !options->master);
    if (!text || !*text)
        st = find_local(client, options->data_dir, &text, err);
    if (st)
        return st;
    client->given = keep_text(client, text);
    if (client->strings.has_failed)
        return err_default(err, DET_NOMEM);
    return go_to(client,
                 runfile_moved(client->world.io, client->master_file, client->given,
                               &client->strings),
                 err);
}

/* Called before each call, since it costs little.  Keeps the old address if the new one
 * is invalid or there is no memory. */
static void follow_master(det_client *client)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(STRINGS);
    struct url url;
    const char *now;

    if (!client->master_file)
        return;
    now = runfile_moved(client->world.io, client->master_file, client->given, &mem);
    if (url_parse(now, &mem, &url, NULL) ||
        (url.port == client->url.port && url.is_tls == client->url.is_tls &&
         !strcmp(url.host, client->url.host) && !strcmp(url.path, client->url.path)))
        return;
    (void)go_to(client, now, NULL);
}

void client_cancel(det_client *client)
{
    lock_take(&client->lock);
    client->is_cancelled = true;
    if (client->net_client)
        net_client_cancel(client->net_client);
    lock_give(&client->lock);
}

static det_status set_up(det_client *client, const det_client_options *options,
                         struct err *err)
{
    det_status st;

    copy_options(client, options);
    if (!client->auth_path &&
        auth_file_default(&client->strings, &client->auth_path, NULL))
        client->auth_path = ""; /* no home: sessions are not stored */
    if (client->strings.has_failed)
        return err_default(err, DET_NOMEM);
    st = find_master(client, options, err);
    return st;
}

det_status client_open(const struct client_world *world,
                       const det_client_options *options, det_client **ret_client,
                       struct err *err)
{
    det_client *client = mem_new(det_client);
    det_status st;

    if (!client)
        return err_default(err, DET_NOMEM);
    client->world = *world;
    client->strings = (struct arena)ARENA_INIT(STRINGS);
    st = lock_init(&client->lock, err);
    if (!st)
        st = set_up(client, options, err);
    if (st) {
        det_client_close(client);
        return st;
    }
    *ret_client = client;
    return DET_OK;
}

static det_status open_in_system(const det_client_options *options,
                                 det_client **ret_client, struct err *err)
{
    struct client_world world = {.io = io_system()};
    det_status st = net_system_new(NULL, &world.net, err);

    if (st)
        return st;
    st = client_open(&world, options, ret_client, err);
    if (st)
        net_free(world.net);
    else
        (*ret_client)->owns_net = true;
    return st;
}

det_status det_client_open(const det_client_options *options, det_client **ret_client)
{
    det_client_options all = {.size = sizeof(all)};
    struct err err = {0};
    det_status st;

    if (!ret_client || (options && (!options->size || options->size > sizeof(all))))
        return DET_INVALID;
    if (options)
        memcpy(&all, options, options->size);
    st = open_in_system(&all, ret_client, &err);
    if (st && all.error && all.error_size)
        snprintf(all.error, all.error_size, "%s", err.text);
    return st;
}

void det_client_close(det_client *client)
{
    if (!client)
        return;
    if (client->net_client)
        net_client_free(client->net_client);
    if (client->owns_net)
        net_free(client->world.net);
    lock_done(&client->lock);
    arena_done(&client->strings);
    mem_free(client);
}

const char *det_client_master(const det_client *client)
{
    return client->address;
}

const char *det_client_user(const det_client *client)
{
    return client->user;
}

const char *det_error_text(const det_client *client)
{
    if (!client || !client->err.status)
        return "";
    return client->err.text[0] ? client->err.text : det_status_text(client->err.status);
}

const char *det_version(void)
{
    return DET_VERSION;
}

/* ---- errors ---------------------------------------------------------------------- */

enum { GRPC_FAILED_PRECONDITION = 9 };

det_status client_status_of(int http, int grpc)
{
    static const struct {
        int http;
        det_status status;
    } rows[] = {
        {401, DET_UNAUTHENTICATED},
        {403, DET_FORBIDDEN},
        {404, DET_NOT_FOUND},
        {408, DET_TIMEOUT},
        {409, DET_EXISTS},
        {413, DET_TOO_LARGE},
        {429, DET_BUSY},
        {501, DET_UNSUPPORTED},
        {503, DET_BUSY},
        {504, DET_TIMEOUT},
    };

    if (http == 400)
        return grpc == GRPC_FAILED_PRECONDITION ? DET_STATE : DET_INVALID;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].http == http)
            return rows[i].status;
    return DET_FAILED;
}

/* {"error":{"error":...}}, {"error":{"message":...}} or {"message":...}. */
static det_status refuse_reply(det_client *client, int http, const char *body,
                               size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(ERROR_TREE);
    struct json *tree = NULL;
    const struct json *error;
    const char *text;
    det_status st;

    if (json_parse(body, len, &mem, &tree, NULL))
        tree = NULL;
    error = json_get(tree, "error");
    st = client_status_of(
        http,
        (int)json_i64(
            json_get(error, error && json_get(error, "grpcCode") ? "grpcCode" : "code"),
            0));
    text =
        json_str(json_get(error, "error"), json_str(json_get(error, "message"), NULL));
    if (!text)
        text = json_str(json_get(tree, "message"), NULL);
    if (text)
        return err_set(&client->err, st, "%s", text);
    if (!tree)
        return err_set(
            &client->err, st,
            "the server at %s is not a master: it returned HTTP status %d without JSON",
            client->address, http);
    return err_set(&client->err, st, "the master answered with HTTP status %d", http);
}

/* ---- calling --------------------------------------------------------------------- */

static bool method_of(const char *name, enum net_method *ret_method)
{
    static const struct {
        const char *name;
        enum net_method method;
    } rows[] = {{"GET", NET_GET},
                {"POST", NET_POST},
                {"PUT", NET_PUT},
                {"PATCH", NET_PATCH},
                {"DELETE", NET_DELETE}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!strcmp(name, rows[i].name)) {
            *ret_method = rows[i].method;
            return true;
        }
    return false;
}

/* One exchange, with the current authorization header. */
static det_status send_once(det_client *client, struct net_call *call,
                            struct net_reply *reply)
{
    const char *headers[] = {"Content-Type: application/json", client->header, NULL};
    struct err err = {0};
    det_status st;

    call->headers = headers;
    net_client_tick(client->net_client, client->on_tick, client->tick_arg);
    st = net_call(client->net_client, call, reply, &err);
    if (st)
        trust_hint(client->net_client, client->address, client->trust_by, &err);
    if (st)
        client->err = err;
    return st;
}

/* Another program may use the port while a task's master is down: its answers do not
 * count.  Server errors count from any program. */
static bool is_stranger(const det_client *client, const struct net_reply *reply)
{
    return client->cluster && reply->status < 500 &&
           strcmp(reply->mark, client->cluster) != 0;
}

det_status client_exchange(det_client *client, struct net_call *call,
                           struct net_reply *reply)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;
    det_status st;

    follow_master(client);
    buf_printf(&path, "%s%s", client->url.path, call->path);
    if (path.status)
        return err_default(&client->err, path.status);
    call->path = path.data;
    st = send_once(client, call, reply);
    if (!st && is_stranger(client, reply))
        return err_set(&client->err, DET_UNREACHABLE,
                       "the server at %s is not the master of this task",
                       client->address);
    if (!st && (reply->status < 200 || reply->status > 299))
        st = refuse_reply(client, reply->status, reply->body->data, reply->body->len);
    return st;
}

/* Logs in if needed, and again if the session has expired. */
static det_status exchange_as(det_client *client, struct net_call *call,
                              struct net_reply *reply)
{
    const char *path = call->path;
    det_status st;

    memset(&client->err, 0, sizeof(client->err));
    st = session_begin(client);
    if (!st)
        st = client_exchange(client, call, reply);
    if (st != DET_UNAUTHENTICATED || !client->is_from_file)
        return st;
    st = session_renew(client);
    if (st)
        return st;
    memset(&client->err, 0, sizeof(client->err));
    call->path = path;
    return client_exchange(client, call, reply);
}

void client_watch(det_client *client, client_tick_fn *on_tick, void *arg)
{
    client->on_tick = on_tick;
    client->tick_arg = arg;
}

det_status det_call(det_client *client, const char *method, const char *path,
                    const char *body, det_reply **ret_reply)
{
    return client_call_bytes(client, method, path, body, body ? strlen(body) : 0,
                             ret_reply);
}

det_status client_call_bytes(det_client *client, const char *method, const char *path,
                             const void *body, size_t len, det_reply **ret_reply)
{
    struct net_call call = {
        .path = path, .body = body, .body_len = len, .timeout_ms = client->timeout_ms};
    det_reply *reply;
    struct net_reply into;
    det_status st;

    memset(&client->err, 0, sizeof(client->err));
    if (!method || !path || *path != '/' || !method_of(method, &call.method))
        return err_set(&client->err, DET_INVALID, "a call needs a method and a path");
    reply = mem_new(det_reply);
    if (!reply)
        return err_default(&client->err, DET_NOMEM);
    reply->body = (struct buf)BUF_LIMITED(REPLY_LIMIT);
    into = (struct net_reply){.body = &reply->body};
    st = exchange_as(client, &call, &into);
    reply->status = into.status;
    if (st || !ret_reply)
        det_reply_free(reply);
    else
        *ret_reply = reply;
    return st;
}

int det_reply_status(const det_reply *reply)
{
    return reply->status;
}

const char *det_reply_body(const det_reply *reply, size_t *ret_len)
{
    if (ret_len)
        *ret_len = reply->body.len;
    return reply->body.data;
}

void det_reply_free(det_reply *reply)
{
    if (!reply)
        return;
    buf_done(&reply->body);
    mem_free(reply);
}

det_status client_read_bytes(det_client *client, const char *path,
                             client_data_fn *on_data, void *arg)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(ERROR_TREE);
    struct net_call call = {
        .path = path, .timeout_ms = client->timeout_ms, .on_data = on_data, .arg = arg};
    struct net_reply reply = {.body = &body};

    return exchange_as(client, &call, &reply);
}

/* ---- streams --------------------------------------------------------------------- */

struct lines {
    det_client *client;
    det_line_fn *on_line;
    void *arg;
    struct buf pending; /* an incomplete line */
    bool is_stopped;
};

static bool is_error_line(const char *line)
{
    static const char mark[] = "{\"error\":";

    return !strncmp(line, mark, sizeof(mark) - 1);
}

static det_status take_line(struct lines *lines, char *line, size_t len,
                            struct err *err)
{
    line[len] = '\0';
    if (is_error_line(line)) {
        det_status st;
        int http = 500;
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(ERROR_TREE);
        struct json *tree;

        if (!json_parse(line, len, &mem, &tree, NULL))
            http = (int)json_i64(json_path(tree, "error.httpCode"), 500);
        st = refuse_reply(lines->client, http, line, len);
        *err = lines->client->err;
        return st;
    }
    if (len && lines->on_line(lines->arg, line, len)) {
        lines->is_stopped = true;
        return DET_FAILED;
    }
    return DET_OK;
}

static det_status take_bytes(void *arg, const char *bytes, size_t len, struct err *err)
{
    struct lines *lines = arg;
    size_t from = lines->pending.len; /* there is no line break before it */
    size_t start = 0;
    char *at;
    det_status st = DET_OK;

    buf_add(&lines->pending, bytes, len);
    if (lines->pending.status)
        return err_default(err, lines->pending.status);
    while (!st &&
           (at = memchr(lines->pending.data + from, '\n', lines->pending.len - from))) {
        size_t end = (size_t)(at - lines->pending.data);

        st = take_line(lines, lines->pending.data + start, end - start, err);
        start = from = end + 1;
    }
    buf_drop(&lines->pending, start);
    return st;
}

det_status det_call_stream(det_client *client, const char *path, det_line_fn *on_line,
                           void *arg)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(ERROR_TREE);
    struct lines lines = {.client = client,
                          .on_line = on_line,
                          .arg = arg,
                          .pending = BUF_LIMITED(LINE_LIMIT)};
    struct net_call call = {.path = path,
                            .timeout_ms = STREAM_TIMEOUT_MS,
                            .on_data = take_bytes,
                            .arg = &lines};
    struct net_reply reply = {.body = &body};
    det_status st;

    memset(&client->err, 0, sizeof(client->err));
    if (!path || *path != '/' || !on_line)
        return err_set(&client->err, DET_INVALID,
                       "a stream needs a path and a function");
    st = exchange_as(client, &call, &reply);
    if (!st && lines.pending.len) /* the last line may have no line break */
        st = take_line(&lines, lines.pending.data, lines.pending.len, &client->err);
    buf_done(&lines.pending);
    if (lines.is_stopped) {
        memset(&client->err, 0, sizeof(client->err));
        st = DET_OK;
    }
    return st;
}
