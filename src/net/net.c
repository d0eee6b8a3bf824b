/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - dispatches to the network that made an object, and reads requests, whose data
 * is the same in both networks. */
#include "net/net.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/memory/allowance.h"
#include "base/memory/mem.h"
#include "net/net_impl.h"
#include "net/server_state.h"
#include "net/tls/tls_client.h"
#include "net/tls/tls_server.h"

/* ---- what both networks use ------------------------------------------------------ */

static const char *const method_names[] = {
    [NET_GET] = "GET",         [NET_POST] = "POST",     [NET_PUT] = "PUT",
    [NET_PATCH] = "PATCH",     [NET_DELETE] = "DELETE", [NET_HEAD] = "HEAD",
    [NET_OPTIONS] = "OPTIONS", [NET_OTHER] = NULL,
};

const char *net_method_name(enum net_method method)
{
    return (size_t)method < ARRAY_LEN(method_names) ? method_names[method] : NULL;
}

enum net_method net_method_parse(const char *name)
{
    for (size_t i = 0; i < NET_OTHER; i++) {
        if (!strcmp(name, method_names[i]))
            return (enum net_method)i;
    }
    return NET_OTHER;
}

void net_exchange_set_uri(struct net_exchange *x, char *uri)
{
    char *mark = strchr(uri, '?');

    x->path = uri;
    x->query = "";
    if (mark) {
        *mark = '\0';
        x->query = mark + 1;
    }
    if (*uri != '/' && strcmp(uri, "*"))
        x->problem = DET_INVALID;
}

void net_exchange_drop_body(struct net_exchange *x)
{
    buf_done(&x->body);
    allowance_part_give(&x->held);
}

void net_exchange_done(struct net_exchange *x)
{
    net_exchange_drop_body(x);
    allowance_part_give(&x->replied);
    mem_free(x->headers);
    x->headers = NULL;
}

bool net_header_split(const char *line, struct net_header *ret_header)
{
    const char *colon = strchr(line, ':');

    if (!colon || colon == line || strpbrk(line, "\r\n"))
        return false;
    ret_header->name = line;
    ret_header->name_len = (size_t)(colon - line);
    ret_header->value = colon + 1 + strspn(colon + 1, " \t");
    return true;
}

det_status net_call_check(const struct net_call *call, struct err *err)
{
    struct net_header header;

    if (!net_method_name(call->method))
        return err_set(err, DET_INVALID, "a call needs a method");
    if (!call->path || *call->path != '/')
        return err_set(err, DET_INVALID, "the path '%s' does not begin with a slash",
                       call->path ? call->path : "");
    for (const char *at = call->path; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 127)
            return err_set(err, DET_INVALID, "the path '%s' has blanks in it",
                           call->path);
    }
    for (const char *const *line = call->headers; line && *line; line++) {
        if (!net_header_split(*line, &header))
            return err_set(err, DET_INVALID, "'%s' is not a header", *line);
    }
    return DET_OK;
}

/* ---- dispatch -------------------------------------------------------------------- */

void net_free(struct net *net)
{
    if (net)
        net->ops->free(net);
}

det_status net_serve(struct net *net, const struct net_server_config *config,
                     struct net_server **ret_server, struct err *err)
{
    return net->ops->serve(net, config, ret_server, err);
}

uint16_t net_server_port(const struct net_server *server)
{
    return server->port;
}

void net_server_free(struct net_server *server)
{
    if (server)
        server->ops->server_free(server);
}

void net_server_look(struct net_server *server, struct net_server_state *ret_state)
{
    server->ops->server_look(server, ret_state);
}

det_status net_server_reload(struct net_server *server, struct err *err)
{
    return server->ops->server_reload(server, err);
}

bool net_peer_uid(const struct net_exchange *x, uint32_t *ret_uid)
{
    return x->ops->peer_uid(x, ret_uid);
}

bool net_is_gone(struct net_exchange *x)
{
    return x->ops->is_gone(x);
}

void net_on_gone(struct net_exchange *x, net_gone_fn *fn)
{
    x->ops->on_gone(x, fn);
}

void net_answer(struct net_exchange *x, int status, const char *content_type,
                const char *const *headers, struct buf *body)
{
    struct net_answer_with answer = {
        .status = status,
        .content_type = content_type,
        .headers = headers,
        .body = body,
    };

    x->ops->answer(x, &answer);
}

void net_answer_stream(struct net_exchange *x, const char *content_type,
                       const struct net_stream *stream)
{
    x->ops->answer_stream(x, content_type, stream);
}

void net_stream_wake(struct net_exchange *x)
{
    x->ops->stream_wake(x);
}

void net_relay(struct net_exchange *x, const struct net_relay *to)
{
    x->ops->relay(x, to);
}

void net_peer_address(const struct net_exchange *x, char text[NET_ADDRESS_TEXT])
{
    text[0] = '\0';
    x->ops->peer_address(x, text);
}

det_status net_client_new(struct net *net, const char *host, uint16_t port,
                          struct net_client **ret_client, struct err *err)
{
    return net->ops->client_new(net, host, port, ret_client, err);
}

void net_client_free(struct net_client *client)
{
    if (client)
        client->ops->client_free(client);
}

det_status net_client_secure(struct net_client *client, const struct net_trust *trust,
                             struct err *err)
{
    return client->ops->client_secure(client, trust, err);
}

bool net_client_is_distrusted(const struct net_client *client)
{
    return client->tls && tls_is_distrusted(client->tls);
}

const char *net_client_fingerprint(const struct net_client *client)
{
    return client->tls ? tls_fingerprint(client->tls) : "";
}

void net_client_certificate(const struct net_client *client, struct buf *out)
{
    if (client->tls)
        tls_certificate(client->tls, out);
}

void net_client_cancel(struct net_client *client)
{
    client->ops->client_cancel(client);
}

/* A call whose request or answer a fault has struck.  A torn answer leaves its first half
 * in the buffer; callers must not look at it. */
static det_status struck_call(struct net_client *client, const struct net_call *call,
                              struct net_reply *reply, bool is_sent, struct err *err)
{
    enum fault_how how = fault_state.how[is_sent ? FAULT_RECEIVE : FAULT_SEND];

    if (is_sent || how == FAULT_TWICE)
        (void)client->ops->call(client, call, reply, NULL);
    fault_state.is_dark = fault_state.is_dark || how == FAULT_DEATH;
    reply->status = 0;
    if (reply->body)
        buf_cut(reply->body, how == FAULT_TORN ? reply->body->len / 2 : 0);
    if (!is_sent && how == FAULT_TWICE)
        return client->ops->call(client, call, reply, err);
    return err_set(err, DET_UNREACHABLE, "the connection broke");
}

det_status net_call(struct net_client *client, const struct net_call *call,
                    struct net_reply *reply, struct err *err)
{
    det_status st;

    assert(reply);
    st = net_call_check(call, err);
    if (st)
        return st;
    reply->status = 0;
    reply->mark[0] = '\0';
    if (reply->body)
        buf_clear(reply->body);
    if (reply->headers)
        buf_clear(reply->headers);
    if (fault_is_dark())
        return err_set(err, DET_UNREACHABLE, "the connection broke");
    if (fault_strikes(FAULT_SEND))
        return struck_call(client, call, reply, false, err);
    if (fault_strikes(FAULT_RECEIVE))
        return struck_call(client, call, reply, true, err);
    return client->ops->call(client, call, reply, err);
}

/* ---- the request ----------------------------------------------------------------- */

enum net_method net_request_method(const struct net_exchange *x)
{
    return x->method;
}

const char *net_request_path(const struct net_exchange *x)
{
    return x->path;
}

const char *net_request_query(const struct net_exchange *x)
{
    return x->query;
}

const char *net_request_header(const struct net_exchange *x, const char *name)
{
    const char *at = x->headers;

    while (at && *at) {
        const char *value = at + strlen(at) + 1;

        if (!strcasecmp(at, name))
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

bool net_request_next_header(const struct net_exchange *x, const char **at,
                             const char **ret_name, const char **ret_value)
{
    const char *next = *at ? *at : x->headers;

    if (!next || !*next)
        return false;
    *ret_name = next;
    *ret_value = next + strlen(next) + 1;
    *at = *ret_value + strlen(*ret_value) + 1;
    return true;
}

const char *net_request_body(const struct net_exchange *x, size_t *ret_len)
{
    *ret_len = x->body.len;
    return x->body.data;
}

det_status net_request_problem(const struct net_exchange *x)
{
    return x->problem;
}

bool net_peer_is_loopback(const struct net_exchange *x)
{
    return x->is_loopback;
}

bool net_is_certified(const struct net_exchange *x, const char *host)
{
    return x->tls && tls_server_has_name(x->tls, host);
}

void net_request_drop_body(struct net_exchange *x)
{
    net_exchange_drop_body(x);
}

void net_set_user(struct net_exchange *x, void *user)
{
    x->user = user;
}

void *net_user(const struct net_exchange *x)
{
    return x->user;
}
