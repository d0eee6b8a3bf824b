/* SPDX-License-Identifier: Apache-2.0 */
/* net_system.c - binds server_http.c and client_http.c to net.h. */
#include "net/net_system.h"

#include "base/memory/mem.h"
#include "net/client_http.h"
#include "net/net_impl.h"
#include "net/server_http_impl.h"

static void system_free(struct net *net)
{
    mem_free(net);
}

static const struct net_ops net_system_ops = {
    .free = system_free,
    .serve = http_serve,
    .server_free = http_server_free,
    .server_reload = http_server_reload,
    .server_look = http_server_look,
    .peer_uid = http_peer_uid,
    .on_gone = http_on_gone,
    .is_gone = http_is_gone,
    .answer = http_answer,
    .answer_stream = http_answer_stream,
    .stream_wake = http_stream_wake,
    .relay = http_relay,
    .peer_address = http_peer_address,
    .client_new = client_http_new,
    .client_free = client_http_free,
    .client_secure = client_http_secure,
    .client_cancel = client_http_cancel,
    .call = client_http_call,
};

det_status net_system_new(struct executor *exec, struct net **ret_net, struct err *err)
{
    struct net *net = mem_new(struct net);

    if (!net)
        return err_default(err, DET_NOMEM);
    net->ops = &net_system_ops;
    net->exec = exec;
    *ret_net = net;
    return DET_OK;
}
