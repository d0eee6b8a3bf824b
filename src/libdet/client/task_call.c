/* SPDX-License-Identifier: Apache-2.0 */
/* task_call.c - calls that a task makes as itself, and waits for.
 *
 * Each call has its own client: calls are rare, and an idle connection would occupy a
 * thread of the master. */
#include "libdet/client/task_call.h"

#include "data/json/json.h"
#include "libdet/client/client_impl.h"
#include "libdet/context.h"
#include "net/net_system.h"

det_status task_call_client(const det_context *context, struct net *net,
                            long timeout_ms, det_client **ret_client, struct err *err)
{
    struct client_world world = {
        .io = context->world.io,
        .net = net,
        .master_file = context->master_file,
        .cluster = context->info.cluster_id,
    };
    det_client_options options = {
        .size = sizeof(options),
        .master = context->info.master_url,
        .token = context->token,
        .auth_file = "",
        .timeout_ms = timeout_ms,
    };

    return client_open(&world, &options, ret_client, err);
}

static det_status call_for_json(const det_context *context, det_client *client,
                                const char *const words[3], struct arena *mem,
                                struct json **ret_tree, struct err *err)
{
    det_reply *reply;
    const char *text;
    size_t len;
    det_status st = det_call(client, words[0], words[1], words[2], &reply);

    if (st)
        return err_set(err, st, "%s", det_error_text(client));
    text = det_reply_body(reply, &len);
    st = json_parse(text, len, mem, ret_tree, err);
    if (st == DET_INVALID)
        st = err_set(err, DET_CORRUPT, "the answer of the master at %s is not JSON",
                     context->info.master_url);
    det_reply_free(reply);
    return st;
}

det_status task_call(det_context *context, const char *method, const char *path,
                     const char *body, struct arena *mem, struct json **ret_tree,
                     struct err *err)
{
    const char *const words[3] = {method, path, body};
    struct net *net = context->world.net;
    struct net *own = NULL;
    det_client *client = NULL;
    det_status st = DET_OK;

    if (!net) {
        st = net_system_new(NULL, &own, err);
        net = own;
    }
    if (!st)
        st = task_call_client(context, net, 0, &client, err);
    if (!st)
        st = call_for_json(context, client, words, mem, ret_tree, err);
    det_client_close(client);
    if (own)
        net_free(own);
    return st;
}
