/* SPDX-License-Identifier: Apache-2.0 */
/* users.h - the caller as the API shows it. */
#ifndef MASTER_API_PEOPLE_USERS_H
#define MASTER_API_PEOPLE_USERS_H

#include "base/err.h"

struct request;

/* Writes the caller into the open object: "user", "permissions" and "mayAdminister". */
det_status users_render_caller(struct request *req);

#endif
