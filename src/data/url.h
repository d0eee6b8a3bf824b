/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - percent-encoding, and the addresses of masters. */
#ifndef DATA_URL_H
#define DATA_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;

/* Percent-encoding of one path segment or query value. */
void url_encode(struct buf *out, const char *text);
/* In an arena; NULL when out of memory.  '+' is a space when `is_query`. */
char *url_decode(struct arena *mem, const char *text, size_t len, bool is_query);

/* http://host:port/path.  The default port is 80 after http://, 443 after https://, and
 * 8080 without a scheme, which means http.  An IPv6 host is written in brackets and
 * returned without them. */
struct url {
    bool is_tls;
    const char *host;
    uint16_t port;
    const char *path; /* without a trailing slash; "" when there is no path */
};
/* The whole address, in an arena; NULL when out of memory. */
const char *url_text(struct arena *mem, const struct url *url);
det_status url_parse(const char *text, struct arena *mem, struct url *ret_url,
                     struct err *err);

#endif
