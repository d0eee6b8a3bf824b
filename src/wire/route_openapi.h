/* SPDX-License-Identifier: Apache-2.0 */
/* route_openapi.h - the table of routes as an OpenAPI 3 document. */
#ifndef WIRE_ROUTE_OPENAPI_H
#define WIRE_ROUTE_OPENAPI_H

struct buf;

void route_openapi_write(struct buf *out);

#endif
