/* SPDX-License-Identifier: Apache-2.0 */
/* webui.c - serves the WebUI's page and its files (master/request/webui_files.h).
 *
 * index.html is the same page for every address below /det/.  The table of pages in
 * webui/app.js, which tools/embed-webui packs, gives the Link header of an address, and 404
 * for an address that is not a page. */
#include <string.h>

#include "master/api/api.h"
#include "master/request/error_body.h"
#include "master/request/webui_files.h"

#define FOR_EVER "public, max-age=31536000, immutable"

/* The page runs only scripts of this master, calls no other server, and cannot be framed.
 * So markup in data is harmless. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

/* The file's bytes, or 304 if the browser has them. */
static det_status reply_file(struct request *req, const struct webui_file *file)
{
    const struct webui_bytes *bytes = &file->plain;

    req->content_type = file->type;
    request_header(req, "ETag", webui_files.etag);
    request_header(req, "Vary", "Accept-Encoding");
    if (webui_files_has_tag(net_request_header(req->x, "If-None-Match"),
                            webui_files.etag)) {
        req->http_status = 304;
        return DET_OK;
    }
    if (file->gzip.len &&
        webui_files_takes_gzip(net_request_header(req->x, "Accept-Encoding"))) {
        request_header(req, "Content-Encoding", "gzip");
        bytes = &file->gzip;
    }
    buf_add(&req->out, bytes->at, bytes->len);
    return DET_OK;
}

/* One page for all addresses; its script shows the view of the address.  The Link header
 * names the modules of that view, so the browser fetches them at once. */
det_status api_get_webui(struct request *req)
{
    const struct webui_file *page = webui_files_find(&webui_files, "index.html");
    const struct webui_route *route = webui_files_route(&webui_files, req->arg[0]);
    det_status st;

    if (!page)
        return err_set(req->err, DET_NOT_FOUND,
                       "this program was built without the WebUI");
    request_header(req, "Cache-Control", "no-cache");
    request_header(req, "Content-Security-Policy", policy);
    request_header(req, "Referrer-Policy", "same-origin");
    request_header(req, "X-Frame-Options", "DENY");
    if (route)
        request_header(req, "Link", route->link);
    /* The page will soon ask for experiments.  Loading very many takes a moment, so it
     * starts while the browser reads the page. */
    lane_post(req->master->chores, &req->master->warming);
    st = reply_file(req, page);
    if (!st && req->http_status == 200 && !route)
        req->http_status = 404;
    return st;
}

/* A browser must not cache the answer of another build (an older one, during an upgrade). */
det_status api_get_webui_file(struct request *req)
{
    const struct webui_file *file = strcmp(req->arg[0], webui_files.hash)
                                        ? NULL
                                        : webui_files_find(&webui_files, req->arg[1]);

    if (file) {
        request_header(req, "Cache-Control", FOR_EVER);
        return reply_file(req, file);
    }
    request_header(req, "Cache-Control", "no-store");
    req->http_status = 404;
    error_body_write(&req->out, DET_NOT_FOUND,
                     "this program has no such file; load the page again");
    return DET_OK;
}
