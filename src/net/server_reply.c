/* SPDX-License-Identifier: Apache-2.0 */
/* server_reply.c - the answers of the real server. */
#include <assert.h>
#include <strings.h>

#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "net/server_http_impl.h"
#include "net/server_state.h"

static bool add_header(const struct http_server *server, struct MHD_Response *response,
                       const char *line)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT;
    struct net_header header;

    if (!net_header_split(line, &header))
        return false;
    buf_add(&text, header.name, header.name_len);
    buf_putc(&text, '\0');
    buf_puts(&text, header.value);
    /* over TLS no cookie may be sent in clear text later */
    if (server->tls && !text.status && !strcasecmp(text.data, "Set-Cookie"))
        buf_puts(&text, "; Secure");
    return !text.status &&
           server->mhd.add_response_header(response, text.data,
                                           text.data + header.name_len + 1) == MHD_YES;
}

bool http_add_headers(const struct http_server *server, struct MHD_Response *response,
                      const char *const *headers)
{
    for (const char *const *line = headers; line && *line; line++)
        if (!add_header(server, response, *line))
            return false;
    return true;
}

bool http_add_common(const struct http_server *server, struct MHD_Response *response,
                     const char *content_type, const char *const *headers)
{
    const struct mhd *mhd = &server->mhd;

    if (content_type &&
        mhd->add_response_header(response, "Content-Type", content_type) != MHD_YES)
        return false;
    if (!http_add_headers(server, response, headers) ||
        !http_add_headers(server, response, server->headers))
        return false;
    return !server->mark[0] ||
           mhd->add_response_header(response, NET_MARK, server->mark) == MHD_YES;
}

/* Returns NULL if out of memory. */
static struct MHD_Response *response_new(const struct http_server *server,
                                         const struct net_answer_with *answer)
{
    const struct mhd *mhd = &server->mhd;
    struct buf none = BUF_INIT;
    struct buf *body = answer->body ? answer->body : &none;
    size_t len = body->len;
    char *bytes = buf_take(body);
    struct MHD_Response *response = NULL;

    if (bytes)
        response =
            mhd->create_response_from_buffer_with_free_callback(len, bytes, mem_free);
    if (!response) {
        mem_free(bytes);
        return NULL;
    }
    if (http_add_common(server, response, answer->content_type, answer->headers))
        return response;
    mhd->destroy_response(response);
    return NULL;
}

void http_answer(struct net_exchange *base, const struct net_answer_with *answer)
{
    struct http_exchange *x = (struct http_exchange *)base;
    struct http_server *server = x->server;
    uint64_t len = answer->body ? answer->body->len : 0;
    struct MHD_Response *response;
    int status;
    bool is_resumable = false;
    bool is_claimed;
    bool is_over;

    if (answer->body) /* counts until it was sent */
        allowance_part_move(&answer->body->part, &x->base.replied);
    response = response_new(server, answer);
    status = response ? answer->status : 503;
    if (!response)
        response = server->sorry;
    if (x->is_watched)
        client_watch_remove(server->watcher, &x->watch);

    pthread_mutex_lock(&server->lock);
    assert(x->is_held);
    x->is_held = false;
    x->reply_len = len;
    is_claimed = http_claim(x, response, status, &is_resumable);
    is_over = x->is_sent;
    pthread_mutex_unlock(&server->lock);

    if (is_resumable)
        http_resume(x);
    if (is_claimed)
        return;
    /* The server was freed meanwhile and has answered. */
    http_response_free(server, response);
    if (is_over)
        http_exchange_free(x);
}

/* The daemon ends only after `is_closing` was set under the lock. */
void http_server_look(struct net_server *base, struct net_server_state *ret_state)
{
    struct http_server *server = CONTAINER_OF(base, struct http_server, base);

    *ret_state = (struct net_server_state){
        .held_bytes = server->memory ? server->memory->taken : 0,
        .max_held_bytes = server->memory ? server->memory->most : 0,
        .max_connections = server->max_connections,
    };
    pthread_mutex_lock(&server->lock);
    for (uint32_t i = 0; !server->is_closing && i < server->daemons; i++) {
        const union MHD_DaemonInfo *info = server->mhd.get_daemon_info(
            server->daemon[i], MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

        ret_state->connections += info ? info->num_connections : 0;
    }
    ret_state->open = server->suspended;
    ret_state->streams = server->streams;
    pthread_mutex_unlock(&server->lock);
}
