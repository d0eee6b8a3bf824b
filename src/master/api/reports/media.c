/* SPDX-License-Identifier: Apache-2.0 */
/* media.c - pictures, sounds, texts, tables and histograms that trials reported.
 *
 * The bytes come from programs that we do not trust, and people look at them with a
 * browser that is signed in here.  So:
 *
 *   1. The content type is that of the item's type (model/media.h), never one that the
 *      program chose, and nosniff forbids the browser to guess another one.
 *   2. `Content-Security-Policy: sandbox` puts the document into an origin of its own,
 *      where scripts do not run, also if somebody opens the address by itself.  It may
 *      load nothing but what it contains.
 *   3. The WebUI shows SVG in <img> and HTML in <iframe sandbox>. */
#include "master/api/reports/media.h"

#include <inttypes.h>
#include <string.h>

#include "det/media.h"
#include "master/api/api.h"
#include "model/media.h"
#include "store/media/media.h"
#include "wire/report.h"

static const char policy[] =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "media-src data:; font-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'";

/* ---- from a report --------------------------------------------------------------- */

det_status media_from_record(struct request *req, const struct report *record,
                             struct media_new *ret_media, struct err *err)
{
    struct media_item *item = &ret_media->item;
    struct report_media media;
    det_status st = report_media_decode(record->payload, record->len, &media, err);

    if (st == DET_CORRUPT)
        return err_set(err, DET_INVALID, "its media item cannot be decoded");
    if (!st)
        st = report_check_media_name(media.name, media.name_len, err);
    if (!st && media.steps < 0)
        st = err_set(err, DET_INVALID, "its steps are %" PRId64 "; expected 0 or more",
                     media.steps);
    if (!st)
        st = media_check(media.type, media.bytes, media.len, &req->mem, err);
    if (st)
        return st;
    item->name = arena_strndup(&req->mem, media.name, media.name_len);
    item->steps = media.steps;
    item->type = media.type;
    item->report_us =
        record->time_us > 0 ? record->time_us : master_now_us(req->master);
    ret_media->bytes = media.bytes;
    ret_media->len = media.len;
    ret_media->bytes_most = req->master->media_bytes_most;
    return item->name ? DET_OK : err_default(err, DET_NOMEM);
}

/* ---- to a browser ---------------------------------------------------------------- */

void media_put_headers(struct request *req)
{
    request_header(req, "Content-Security-Policy", policy);
    request_header(req, "Cross-Origin-Resource-Policy", "same-origin");
    request_header(req, "Referrer-Policy", "no-referrer");
    request_header(req, "Cache-Control", "private, no-cache");
}

static void render_item(struct json_writer *w, const struct media_item *item)
{
    const struct media_type *type = media_type((uint32_t)item->type);

    jw_object(w, NULL);
    jw_i64(w, "id", item->id);
    jw_i64(w, "steps", item->steps);
    jw_str(w, "kind", type ? type->kind : "");
    jw_str(w, "type", type ? type->name : "");
    jw_i64(w, "bytes", item->size_bytes);
    jw_i64(w, "run", item->run_id);
    jw_time(w, "time", item->report_us);
    jw_bool(w, "isArchived", item->is_archived);
    jw_end_object(w);
}

static void render_list(struct json_writer *w, const struct media_item *items,
                        uint32_t count)
{
    jw_array(w, "media");
    for (uint32_t i = 0; i < count; i++) {
        bool is_first = i == 0 || strcmp(items[i].name, items[i - 1].name) != 0;
        bool is_last = i + 1 == count || strcmp(items[i].name, items[i + 1].name) != 0;

        if (is_first) {
            jw_object(w, NULL);
            jw_str(w, "name", items[i].name);
            jw_array(w, "items");
        }
        render_item(w, &items[i]);
        if (is_last) {
            jw_end_array(w);
            jw_end_object(w);
        }
    }
    jw_end_array(w);
}

det_status api_list_media(struct request *req)
{
    struct media_item *items = NULL;
    uint32_t count = 0;
    int64_t bytes = 0;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_media_of_trial(req->db, id, &req->mem, &items, &count, req->err);
    if (st)
        return st;
    for (uint32_t i = 0; i < count; i++)
        bytes += items[i].size_bytes;
    jw_object(&req->w, NULL);
    render_list(&req->w, items, count);
    jw_i64(&req->w, "bytes", bytes);
    jw_i64(&req->w, "bytesMost", req->master->media_bytes_most);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_get_media(struct request *req)
{
    const struct media_type *type;
    struct media_item item = {0};
    int64_t trial, id;
    det_status st = request_id(req, 0, &trial);

    if (!st)
        st = request_id(req, 1, &id);
    if (!st)
        st = store_media_get(req->db, trial, id, &req->mem, &item, &req->out, req->err);
    if (st)
        return st;
    type = media_type((uint32_t)item.type);
    req->content_type = type ? type->content_type : "application/octet-stream";
    media_put_headers(req);
    return DET_OK;
}
