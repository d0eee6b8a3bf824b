/* SPDX-License-Identifier: Apache-2.0 */
#include "master/api/api.h"

handler_fn *const api_handlers[ROUTE_COUNT] = {
#define ROUTE(id, ...) [ROUTE_ID_##id] = api_##id,
#include "wire/route_list.h"
#undef ROUTE
};
