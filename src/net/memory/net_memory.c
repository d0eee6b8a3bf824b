/* SPDX-License-Identifier: Apache-2.0 */
/* net_memory.c - the network's twin: carries calls inside the process on the one-thread
 * executor.
 *
 *   net_call()                  the wire (a lane)                  the server's owner
 *   ----------                  -----------------                  ------------------
 *   copies the request  ------> deliver: finds host:port  -------> handler(x)
 *   pumps the executor          (or: nobody listens)
 *   takes bytes, on_data <----- arrive: a reply or a piece <------ net_answer(x)
 *
 * The seed decides how long each way takes, so calls overtake one another as they do
 * between machines.  It also decides which call loses its request, loses its reply or is
 * delivered twice, and whether the client notices a loss at once (a broken connection) or
 * by its timeout.
 *
 * A call (on the caller's stack) and its exchange (on the heap) point at each other while
 * both live.  If the call is cancelled or times out, it ends first, and the exchange's
 * client is gone.  If the server crashes, the exchange ends first, and the call breaks.
 * `task` carries an exchange over the wire or to the stream's lane, never both at once;
 * `gone_task` tells the owner.  There are no locks: everything is on one thread. */
#include "net/memory/net_memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/mem.h"
#include "net/memory/net_memory_impl.h"
#include "net/server_state.h"

enum { FIRST_PORT = 49152 }; /* for servers without a fixed port */

/* ---- servers --------------------------------------------------------------------- */

static bool is_any_host(const char *host)
{
    return !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
}

bool memory_is_own_host(const char *host)
{
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) ||
           !strcmp(host, "::1");
}

void memory_key_format(char key[MEMORY_KEY_SIZE], const char *host, uint16_t port)
{
    if (is_any_host(host))
        host = "";
    else if (memory_is_own_host(host))
        host = "localhost";
    snprintf(key, MEMORY_KEY_SIZE, "%s:%u", host, port);
}

static struct memory_server *server_find(struct memory_net *net, const char *key)
{
    struct memory_server *server = smap_get(&net->servers, key);

    return server ? server : smap_get(&net->servers, strrchr(key, ':'));
}

static det_status memory_serve(struct net *base, const struct net_server_config *config,
                               struct net_server **ret_server, struct err *err)
{
    struct memory_net *net = (struct memory_net *)base;
    struct memory_server *server = mem_new(struct memory_server);

    assert(!config->mark || strlen(config->mark) < NET_MARK_TEXT);
    if (!server)
        return err_default(err, DET_NOMEM);
    *server = (struct memory_server){
        .base = {.ops = base->ops, .port = config->port},
        .net = net,
        .handler = config->handler,
        .arg = config->arg,
        .max_body_bytes = config->max_body_bytes,
        .body_limit = config->body_limit,
    };
    snprintf(server->mark, sizeof(server->mark), "%s",
             config->mark ? config->mark : "");
    do {
        if (!config->port)
            server->base.port = net->next_port++;
        memory_key_format(server->key, config->host, server->base.port);
    } while (!config->port && server_find(net, server->key));
    if (server_find(net, server->key)) {
        mem_free(server);
        return err_set(err, DET_EXISTS, "port %u on %s is taken", config->port,
                       config->host);
    }
    if (!smap_put(&net->servers, server->key, server)) {
        mem_free(server);
        return err_default(err, DET_NOMEM);
    }
    *ret_server = &server->base;
    return DET_OK;
}

static struct memory_exchange *find_exchange(const struct memory_server *server)
{
    for (struct memory_exchange *x = server->net->exchanges; x; x = x->next) {
        if (x->server == server)
            return x;
    }
    return NULL;
}

/* Answers for the owner: 503 for a request, a broken connection for a stream. */
static void answer_for_owner(struct memory_exchange *x)
{
    struct memory_call *call = x->call;

    if (x->phase == OPEN && call) {
        call->status = 503;
        memory_call_over(call, DET_OK);
    } else if (call && x->phase != REPLIES) {
        memory_call_over(call, DET_UNREACHABLE);
        memory_exchange_gone(x);
    }
    x->server = NULL;
}

static bool is_stream(const struct memory_exchange *x)
{
    return x->phase > REPLIES;
}

static void memory_server_free(struct net_server *base)
{
    struct memory_server *server = (struct memory_server *)base;
    struct memory_net *net = server->net;
    struct memory_exchange *next;
    bool has_streams;

    smap_remove(&net->servers, server->key);
    do {
        has_streams = false;
        for (struct memory_exchange *x = net->exchanges; x; x = next) {
            next = x->next;
            if (x->server != server)
                continue;
            answer_for_owner(x);
            if (is_stream(x)) {
                x->server = server; /* until done() was called */
                has_streams = true;
            }
        }
        server->is_quiet = false;
    } while (has_streams && executor_pump_until(net->base.exec, &server->is_quiet));
    for (struct memory_exchange *x; (x = find_exchange(server));)
        x->server = NULL;
    mem_free(server);
}

void net_memory_crash(struct net_server *base)
{
    struct memory_server *server = (struct memory_server *)base;
    struct memory_exchange *x;

    assert(base->ops == &net_memory_ops);
    smap_remove(&server->net->servers, server->key);
    while ((x = find_exchange(server))) {
        if (x->phase == REPLIES) {
            x->server = NULL; /* the reply has left the machine */
            continue;
        }
        if (x->call)
            memory_call_over(x->call, DET_UNREACHABLE);
        memory_exchange_unpost(x);
        memory_exchange_free(x);
    }
    mem_free(server);
}

void memory_request_arrives(struct work *task)
{
    struct memory_exchange *x = CONTAINER_OF(task, struct memory_exchange, task);
    struct memory_server *server = server_find(x->net, x->key);

    if (!server) {
        if (x->call)
            memory_call_over(x->call, DET_UNREACHABLE);
        memory_exchange_free(x);
        return;
    }
    x->server = server;
    memcpy(x->mark, server->mark, sizeof(x->mark));
    x->phase = OPEN;
    if ((server->max_body_bytes && x->base.body.len > server->max_body_bytes) ||
        (server->body_limit &&
         x->base.body.len > server->body_limit(server->arg, &x->base).bytes)) {
        x->base.problem = DET_TOO_LARGE;
        buf_done(&x->base.body);
    }
    server->handler(server->arg, &x->base);
}

/* ---- the network ----------------------------------------------------------------- */

static void memory_free(struct net *base)
{
    struct memory_net *net = (struct memory_net *)base;

    while (net->exchanges) {
        memory_exchange_unpost(net->exchanges);
        memory_exchange_free(net->exchanges);
    }
    map_done(&net->servers);
    mem_free(net);
}

static void memory_server_look(struct net_server *server,
                               struct net_server_state *ret_state)
{
    (void)server;
    *ret_state = (struct net_server_state){0};
}

/* Nothing is encrypted in memory, so there is nothing to read again. */
static det_status memory_server_reload(struct net_server *server, struct err *err)
{
    (void)server;
    (void)err;
    return DET_OK;
}

const struct net_ops net_memory_ops = {
    .free = memory_free,
    .serve = memory_serve,
    .server_free = memory_server_free,
    .server_reload = memory_server_reload,
    .server_look = memory_server_look,
    .peer_uid = memory_peer_uid,
    .on_gone = memory_on_gone,
    .is_gone = memory_is_gone,
    .answer = memory_answer,
    .answer_stream = memory_answer_stream,
    .stream_wake = memory_stream_wake,
    .relay = memory_relay,
    .peer_address = memory_peer_address,
    .client_new = memory_client_new,
    .client_free = memory_client_free,
    .client_secure = memory_client_secure,
    .client_cancel = memory_client_cancel,
    .call = memory_call,
};

det_status net_memory_new(struct executor *exec, uint64_t seed, struct net **ret_net,
                          struct err *err)
{
    struct memory_net *net = mem_new(struct memory_net);
    det_status st;

    if (!net)
        return err_default(err, DET_NOMEM);
    *net = (struct memory_net){
        .base = {.ops = &net_memory_ops, .exec = exec},
        .rng = {.state = seed},
        .next_port = FIRST_PORT,
    };
    st = lane_new(exec, "wire", 1, &net->wire, err);
    if (st) {
        mem_free(net);
        return st;
    }
    *ret_net = &net->base;
    return DET_OK;
}

void net_memory_faults(struct net *net, const struct net_faults *faults)
{
    assert(net->ops == &net_memory_ops);
    ((struct memory_net *)net)->faults = *faults;
}
