/* SPDX-License-Identifier: Apache-2.0 */
/* route_page.h - the table of routes as an HTML page. */
#ifndef WIRE_ROUTE_PAGE_H
#define WIRE_ROUTE_PAGE_H

struct buf;

void route_page_write(struct buf *out);

#endif
