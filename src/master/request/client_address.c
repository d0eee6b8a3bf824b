/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/client_address.h"

#include <strings.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "master/master_impl.h"
#include "net/peer/forwarded.h"

det_status client_address_read_config(struct master *master, struct err *err)
{
    const struct json *list = json_get(master->config, "trusted_proxies");
    size_t count = list && list->kind == JSON_ARRAY ? list->list.count : 0;
    struct net_range *ranges = arena_array(&master->mem, struct net_range, count + 1);
    size_t at = 0;

    if (!ranges)
        return err_default(err, DET_NOMEM);
    json_each(item, count ? list : NULL) {
        if (!net_range_parse(json_str(item, ""), &ranges[at++]))
            return err_set(
                err, DET_INVALID,
                "trusted_proxies has '%s'; expected an address like 10.0.0.7, "
                "or several like 10.0.0.0/8",
                json_str(item, ""));
    }
    master->trusted_proxies = (struct net_ranges){ranges, count};
    return DET_OK;
}

/* All values of the header, in their order. */
static void join_forwarded(const struct net_exchange *x, struct buf *out)
{
    const char *at = NULL;
    const char *name;
    const char *value;

    while (net_request_next_header(x, &at, &name, &value))
        if (!strcasecmp(name, "X-Forwarded-For"))
            buf_printf(out, "%s%s", out->len ? "," : "", value);
}

void client_address(const struct master *master, const struct net_exchange *x,
                    char ret_address[NET_ADDRESS_TEXT])
{
    CLEANUP(buf_done) struct buf forwarded = BUF_INIT;
    char peer[NET_ADDRESS_TEXT];

    net_peer_address(x, peer);
    if (master->trusted_proxies.count)
        join_forwarded(x, &forwarded);
    forwarded_client(&master->trusted_proxies, peer,
                     forwarded.len && !forwarded.status ? forwarded.data : NULL,
                     ret_address);
}
