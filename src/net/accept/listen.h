/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - the socket that an HTTP server listens on. */
#ifndef NET_ACCEPT_LISTEN_H
#define NET_ACCEPT_LISTEN_H

#include <stdint.h>

#include "base/err.h"

struct net_server_config;

/* DET_EXISTS if the port is taken. */
det_status listen_open(const struct net_server_config *config, int *ret_fd,
                       uint16_t *ret_port, struct err *err);

#endif
