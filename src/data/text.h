/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - small formats: times, numbers, base64, hex, percent-encoding, sizes, names.
 */
#ifndef DATA_TEXT_H
#define DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct buf;

/* "2022-03-02T02:15:18.299569Z"; TIME_TEXT bytes with the NUL. */
enum { TIME_TEXT = 28 };
void time_format(int64_t wall_us, char text[TIME_TEXT]);
/* RFC 3339, with Z or an offset, with or without a fraction. */
bool time_parse(const char *text, int64_t *ret_wall_us);

/* Whole strings only; no spaces around; false for anything else or overflow. */
bool parse_i64(const char *text, int64_t *ret_value);
bool parse_real(const char *text, double *ret_value);
/* "4GiB", "64kb", "1024": bytes. */
bool parse_size(const char *text, uint64_t *ret_bytes);

void base64_encode(struct buf *out, const void *bytes, size_t len);
/* Standard alphabet, with or without padding; DET_INVALID otherwise. */
det_status base64_decode(struct buf *out, const char *text, size_t len,
                         struct err *err);
void hex_encode(char *text, const void *bytes, size_t len); /* 2 * len + 1 bytes */
bool hex_decode(void *bytes, size_t len, const char *text);

/* Percent-encoding of one path segment or query value. */
void url_encode(struct buf *out, const char *text);
/* In an arena; NULL when memory is out.  '+' is a space when `is_query`. */
char *url_decode(struct arena *mem, const char *text, size_t len, bool is_query);

/* http://host:port/path: no scheme means http and port 8080, http:// 80, https:// 443,
 * unless a port is given.  IPv6 hosts come in brackets and are returned without. */
struct url {
    bool is_tls;
    const char *host;
    uint16_t port;
    const char *path; /* without a trailing slash; "" for none */
};
det_status url_parse(const char *text, struct arena *mem, struct url *ret_url,
                     struct err *err);

/* "2.5KB": at most one decimal, powers of 1024, as the command line has always said. */
void size_format(uint64_t bytes, char text[16]);

/* The candidate nearest to `word` by edit distance, or NULL when none is near enough to
 * be a slip.  `candidates` ends with NULL. */
const char *nearest_word(const char *word, const char *const *candidates);

/* Whether `path` stays inside the folder it is relative to: not absolute, no "..". */
bool path_is_inside(const char *path);

#endif
