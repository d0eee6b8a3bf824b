/* SPDX-License-Identifier: Apache-2.0 */
/* webui_files.h - the files of the WebUI and of the documentation, embedded in the program.
 *
 * tools/embed-webui packs each file at build time, plain and gzipped, and computes one hash
 * over all of them.  The address of a file contains the hash, so a browser may cache it
 * forever, and a new build has new addresses.  Only the page itself (index.html) is fetched
 * each time; it names the addresses of the rest.
 *
 * Everything here is pure; api/pages/webui.c replies. */
#ifndef MASTER_REQUEST_WEBUI_FILES_H
#define MASTER_REQUEST_WEBUI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct webui_bytes {
    const char *at;
    size_t len;
};

struct webui_file {
    const char *path; /* "pages/login.js" */
    const char *type;
    struct webui_bytes plain;
    struct webui_bytes gzip; /* empty: gzip does not make it smaller */
};

/* A row of ROUTES in app.js, the table of pages. */
struct webui_route {
    const char *pattern; /* "experiments/:id/metrics" */
    const char *link;    /* the Link header: modules that the page will load */
};

struct webui_files {
    const char *hash;              /* 12 hexadecimal digits, of all files together */
    const char *etag;              /* the same as a weak validator, in its quotes */
    const struct webui_file *file; /* by path */
    uint32_t count;
    const struct webui_route *route; /* the first match counts */
    uint32_t routes;
};

/* The files of this build. */
extern const struct webui_files webui_files;
/* The documentation (tools/docs-site), without routes: its links are relative. */
extern const struct webui_files docs_files;

/* NULL: not found.  Paths are compared as they are; "" and "a//b" match nothing. */
const struct webui_file *webui_files_find(const struct webui_files *files,
                                          const char *path);

/* The page at `path`, the part after "/det/"; NULL: not found. */
const struct webui_route *webui_files_route(const struct webui_files *files,
                                            const char *path);

/* Whether Accept-Encoding (NULL: absent) allows gzip. */
bool webui_files_takes_gzip(const char *accept);

/* Whether If-None-Match (NULL: absent) names this validator. */
bool webui_files_has_tag(const char *if_none_match, const char *etag);

#endif
