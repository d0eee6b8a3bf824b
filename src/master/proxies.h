/* SPDX-License-Identifier: Apache-2.0 */
/* proxies.h - programs of tasks that are reached through the master: when somebody last
 * talked to them.
 *
 * Where they listen is a row (store/proxies.h), so that their address outlives the
 * master; this is only memory.  After a start nobody has been talked to yet, and idle
 * times begin anew.
 *
 * Threading: from any thread. */
#ifndef MASTER_PROXIES_H
#define MASTER_PROXIES_H

#include <stdint.h>

#include "base/err.h"

struct proxies;
struct request;

det_status proxies_new(struct proxies **ret_proxies, struct err *err);
void proxies_free(struct proxies *proxies);

/* A conversation with the program of this allocation begins, and ends.  Without memory
 * to remember it, it is not counted. */
void proxies_begin(struct proxies *proxies, int64_t allocation_id, int64_t now_us);
void proxies_end(struct proxies *proxies, int64_t allocation_id, int64_t now_us);
/* How long there was none; 0 while there is, and when it is asked for first. */
int64_t proxies_idle_us(struct proxies *proxies, int64_t allocation_id, int64_t now_us);

/* api/proxy.c: the answer for somebody who has not signed in. */
det_status proxy_sign_in(struct request *req);

#endif
