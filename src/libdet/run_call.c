/* SPDX-License-Identifier: Apache-2.0 */
/* run_call.c - what a trial asks the master now and then, and waits for.
 *
 * Each call has a client of its own: they are few, and a connection that idles between
 * them would only hold a thread of the master. */
#include <string.h>

#include "data/json.h"
#include "libdet/client_impl.h"
#include "libdet/context.h"

static det_status call(const det_context *context, det_client *client,
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
        st = err_set(err, DET_CORRUPT, "the master at %s answers with no JSON",
                     context->info.master_url);
    det_reply_free(reply);
    return st;
}

det_status context_call(det_context *context, const char *method, const char *path,
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
        st = context_client(context, net, 0, &client, err);
    if (!st)
        st = call(context, client, words, mem, ret_tree, err);
    det_client_close(client);
    if (own)
        net_free(own);
    return st;
}
