/* SPDX-License-Identifier: Apache-2.0 */
/* web.h - the files of the WebUI, which travel inside the program.
 *
 * tools/embed-webui packs them when the program is built: each as it is and gzipped,
 * under one name for all of them together, a hash.  A file's address holds the hash, so
 * that a browser may keep it for ever and a changed program has other addresses; the
 * page itself (index.html) is asked for each time and says where the rest is.
 *
 * Everything here is pure; api/webui.c answers. */
#ifndef MASTER_WEB_H
#define MASTER_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct web_bytes {
    const char *at;
    size_t len;
};

struct web_file {
    const char *path; /* "pages/login.js" */
    const char *type;
    struct web_bytes plain;
    struct web_bytes gzip; /* empty: it would not be smaller */
};

/* Of ROUTES in app.js, which is the one table of pages. */
struct web_route {
    const char *pattern; /* "experiments/:id/metrics" */
    const char *link;    /* a header: the modules that it will ask for */
};

struct web_files {
    const char *hash;            /* 12 hexadecimal digits, of all files together */
    const char *etag;            /* the same as a weak validator, in its quotes */
    const struct web_file *file; /* by path */
    uint32_t count;
    const struct web_route *route; /* the first that fits counts */
    uint32_t routes;
};

/* What this program was built with. */
extern const struct web_files web_files;

/* NULL: there is none.  Paths are compared as they are: "" and "a//b" are none. */
const struct web_file *web_find(const struct web_files *files, const char *path);

/* The page at `path`, what follows "/det/"; NULL: there is none. */
const struct web_route *web_route(const struct web_files *files, const char *path);

/* Whether a reply may be gzipped, by the request's Accept-Encoding (NULL: there is
 * none). */
bool web_takes_gzip(const char *accept);

/* Whether If-None-Match (NULL: there is none) names this validator. */
bool web_has_tag(const char *if_none_match, const char *etag);

#endif
