/* SPDX-License-Identifier: Apache-2.0 */
/* client_address.h - where a call comes from, through trusted proxies (net/peer/forwarded.h). */
#ifndef MASTER_REQUEST_CLIENT_ADDRESS_H
#define MASTER_REQUEST_CLIENT_ADDRESS_H

#include "base/err.h"
#include "net/net.h"

struct master;

/* Reads the key `trusted_proxies`; DET_INVALID: an entry is not an address. */
det_status client_address_read_config(struct master *master, struct err *err);
void client_address(const struct master *master, const struct net_exchange *x,
                    char ret_address[NET_ADDRESS_TEXT]);

#endif
