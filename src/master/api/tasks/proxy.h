/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - programs of tasks behind the master's address. */
#ifndef MASTER_API_TASKS_PROXY_H
#define MASTER_API_TASKS_PROXY_H

#include "base/err.h"

struct request;

/* The answer to a caller who is not signed in: a browser is sent to the login page. */
det_status proxy_sign_in(struct request *req);

#endif
