/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h - how large the bodies may be that world.h's server takes. */
#ifndef TESTS_UNIT_NET_LIMIT_H
#define TESTS_UNIT_NET_LIMIT_H

#include <stdint.h>
#include <string.h>

#include "net/net.h"

/* Of /small by method and a header, which are there before the body is; of others, any.
 */
static inline struct net_limit world_limit(void *arg, const struct net_exchange *x)
{
    bool is_small = !strcmp(net_request_path(x), "/small");
    bool is_known =
        net_request_header(x, "X-Test") && net_request_method(x) == NET_POST;

    return (struct net_limit){arg && is_small ? (is_known ? 10 : 0) : SIZE_MAX, 0};
}

#endif
