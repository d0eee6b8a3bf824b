/* SPDX-License-Identifier: Apache-2.0 */
/* webui.c - serves the files in the program (master/request/webui_files.h): the WebUI's page
 * and its files, and the documentation.
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
 * So markup in data is harmless.  It frames and plays only the media of trials, which come
 * with a sandbox (reports/media.c). */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; media-src 'self'; frame-src 'self'; connect-src "
    "'self'; font-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'";

/* The file's bytes, or 304 if the browser has them. */
static det_status reply_file(struct request *req, const struct webui_files *files,
                             const struct webui_file *file)
{
    const struct webui_bytes *bytes = &file->plain;

    req->content_type = file->type;
    request_header(req, "ETag", files->etag);
    request_header(req, "Vary", "Accept-Encoding");
    if (webui_files_has_tag(net_request_header(req->x, "If-None-Match"), files->etag)) {
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

/* For documents of this master that a browser shows. */
static void put_page_headers(struct request *req)
{
    request_header(req, "Cache-Control", "no-cache");
    request_header(req, "Content-Security-Policy", policy);
    request_header(req, "Referrer-Policy", "same-origin");
    request_header(req, "X-Frame-Options", "DENY");
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
    put_page_headers(req);
    if (route)
        request_header(req, "Link", route->link);
    /* The page will soon ask for experiments.  Loading very many takes a moment, so it
     * starts while the browser reads the page. */
    lane_post(req->master->chores, &req->master->warming);
    st = reply_file(req, &webui_files, page);
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
        return reply_file(req, &webui_files, file);
    }
    request_header(req, "Cache-Control", "no-store");
    req->http_status = 404;
    error_body_write(&req->out, DET_NOT_FOUND,
                     "this program has no such file; load the page again");
    return DET_OK;
}

/* "/docs" or "/docs/": the links of a page are relative, so its own address counts. */
det_status api_get_docs_root(struct request *req)
{
    return request_redirect(req, "/docs/index.html");
}

det_status api_get_docs(struct request *req)
{
    const struct webui_file *file = webui_files_find(&docs_files, req->arg[0]);
    const char *page = arena_printf(&req->mem, "%s.html", req->arg[0]);

    put_page_headers(req);
    if (file)
        return reply_file(req, &docs_files, file);
    if (page && webui_files_find(&docs_files, page)) /* named as for `det docs` */
        return request_redirect(req, arena_printf(&req->mem, "/docs/%s", page));
    return err_set(req->err, DET_NOT_FOUND,
                   "the documentation has no page '%s'; it begins at /docs",
                   req->arg[0]);
}
