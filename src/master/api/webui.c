/* SPDX-License-Identifier: Apache-2.0 */
/* webui.c - the WebUI's page and its files, as master/web.h has them. */
#include <string.h>

#include "master/api/api.h"
#include "master/web.h"

#define FOR_EVER "public, max-age=31536000, immutable"

/* The page runs only what this master serves, talks to nobody else, and is shown in
 * nobody's frame; data that looks like markup could not do anything. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

/* The file's bytes; 304 without them when the browser has them already. */
static det_status reply_file(struct request *req, const struct web_file *file)
{
    const struct web_bytes *bytes = &file->plain;

    req->content_type = file->type;
    request_header(req, "ETag", web_files.etag);
    request_header(req, "Vary", "Accept-Encoding");
    request_header(req, "X-Content-Type-Options", "nosniff");
    if (web_has_tag(net_request_header(req->x, "If-None-Match"), web_files.etag)) {
        req->http_status = 304;
        return DET_OK;
    }
    if (file->gzip.len &&
        web_takes_gzip(net_request_header(req->x, "Accept-Encoding"))) {
        request_header(req, "Content-Encoding", "gzip");
        bytes = &file->gzip;
    }
    buf_add(&req->out, bytes->at, bytes->len);
    return DET_OK;
}

/* One page for all addresses: its script shows what the address means.  What it will
 * need for that is named beside it, so that a browser fetches all of it at once. */
det_status api_get_webui(struct request *req)
{
    const struct web_file *page = web_find(&web_files, "index.html");
    const struct web_route *route = web_route(&web_files, req->arg[0]);
    det_status st;

    if (!page)
        return err_set(req->err, DET_NOT_FOUND, "this program has no WebUI in it");
    request_header(req, "Cache-Control", "no-cache");
    request_header(req, "Content-Security-Policy", policy);
    request_header(req, "Referrer-Policy", "same-origin");
    request_header(req, "X-Frame-Options", "DENY");
    if (route)
        request_header(req, "Link", route->link);
    /* It will soon ask for experiments: with very many it takes a moment to gather
     * them, in which the browser reads the page. */
    lane_post(req->master->chores, &req->master->warming);
    st = reply_file(req, page);
    if (!st && req->http_status == 200 && !route)
        req->http_status = 404;
    return st;
}

/* A browser must not keep what it is told by a program that is not the one it asks for
 * (an older one, in the middle of an upgrade). */
det_status api_get_webui_file(struct request *req)
{
    const struct web_file *file =
        strcmp(req->arg[0], web_files.hash) ? NULL : web_find(&web_files, req->arg[1]);

    if (file) {
        request_header(req, "Cache-Control", FOR_EVER);
        return reply_file(req, file);
    }
    request_header(req, "Cache-Control", "no-store");
    req->http_status = 404;
    error_write(&req->out, DET_NOT_FOUND,
                "this program has no such file; load the page again");
    return DET_OK;
}
