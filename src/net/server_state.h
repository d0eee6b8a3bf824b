/* SPDX-License-Identifier: Apache-2.0 */
/* server_state.h - what a server holds now, for those who watch it. */
#ifndef NET_SERVER_STATE_H
#define NET_SERVER_STATE_H

#include <stddef.h>
#include <stdint.h>

struct net_server;

struct net_server_state {
    uint32_t connections;
    uint32_t open;    /* requests that are not answered yet; they hold no thread */
    uint32_t streams; /* replies in pieces that have not ended */
    size_t held_bytes;
    size_t max_held_bytes;
    uint32_t max_connections;
};

/* The twin knows none of it. */
void net_server_look(struct net_server *server, struct net_server_state *ret_state);

#endif
