/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the handlers, one per route.  They are bound to the rows of wire/route_list.h: a
 * row without its function does not link. */
#ifndef MASTER_API_API_H
#define MASTER_API_API_H

#include "master/request/request.h"

#define ROUTE(id, ...) handler_fn api_##id;
#include "wire/route_list.h"
#undef ROUTE

extern handler_fn *const api_handlers[ROUTE_COUNT];

#endif
