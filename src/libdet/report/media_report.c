/* SPDX-License-Identifier: Apache-2.0 */
/* media_report.c - media as records of the ring (wire/report.h).
 *
 * An item is one record, at most 4 MB of the 4 MiB that a record may have.  So it is
 * accepted, sent, repeated and counted as every report is: what the call accepted is in
 * the ring's file, and the master stores each number once. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "data/png.h"
#include "libdet/context.h"
#include "libdet/report/pixels.h"
#include "libdet/ring/ring.h"
#include "model/media.h"

enum { TREE = 256 << 20 }; /* of a table's JSON */

static_assert(DET_MEDIA_BYTES_MOST + REPORT_NAME_MOST + 64 <= REPORT_BYTES_MOST,
              "an item fits into a record");

static det_status check_place(const char *name, int64_t steps, struct err *err)
{
    if (!name)
        return err_set(err, DET_INVALID, "a media item needs a name");
    if (steps < 0)
        return err_set(err, DET_INVALID, "steps is %" PRId64 "; expected 0 or more",
                       steps);
    return report_check_media_name(name, strlen(name), err);
}

/* DET_MEDIA_AUTO becomes a type. */
static det_status find_type(const struct report_media *media, uint32_t *ret_type,
                            struct err *err)
{
    *ret_type = media->type;
    if (media->type == DET_MEDIA_AUTO)
        *ret_type = media_recognise(media->bytes, media->len);
    if (*ret_type)
        return DET_OK;
    return err_set(
        err, DET_INVALID,
        "the bytes of '%s' are not PNG, JPEG, GIF, WebP, WAV, MP3 or Ogg; set "
        "the type of other media",
        media->name);
}

static det_status put_media(det_context *context, struct report_media *media,
                            struct err *err)
{
    CLEANUP(buf_done) struct buf payload = BUF_INIT;
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE);
    struct report report = {
        .kind = REPORT_MEDIA,
        .run = (uint32_t)context->info.run_id,
        .time_us = clock_wall_us(context->world.clock),
    };
    det_status st = find_type(media, &media->type, err);
    char *to;

    if (!st)
        st = media_check(media->type, media->bytes, media->len, &mem, err);
    if (st)
        return err_prefix(err, "'%s' is not reported", media->name);
    media->name_len = strlen(media->name);
    report.len = (uint32_t)report_media_size(media);
    to = buf_room(&payload, report.len);
    if (!to)
        return err_default(err, payload.status);
    report_media_encode(media, to);
    report.payload = to;
    return ring_put(context->ring, &report, err);
}

/* *ret_media borrows from `file` if the item names one. */
static det_status read_content(const det_context *context, const det_media *media,
                               struct buf *file, struct report_media *ret_media,
                               struct err *err)
{
    det_status st;

    if (!media->bytes == !media->path)
        return err_set(err, DET_INVALID, "'%s' needs %s: bytes or the path of a file",
                       media->name, media->bytes ? "one content" : "a content");
    ret_media->bytes = media->bytes;
    ret_media->len = media->len;
    if (media->bytes)
        return DET_OK;
    st = io_read_file(context->world.io, media->path, file, err);
    if (st == DET_TOO_LARGE)
        return err_set(err, DET_TOO_LARGE,
                       "the file '%s' is too large for one item; expected %d bytes at "
                       "most",
                       media->path, DET_MEDIA_BYTES_MOST);
    ret_media->bytes = file->data;
    ret_media->len = file->len;
    return st;
}

det_status det_report_media(det_context *context, const det_media *media)
{
    CLEANUP(buf_done) struct buf file = BUF_LIMITED(DET_MEDIA_BYTES_MOST);
    struct report_media item = {0};
    det_media all = {0};
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st && (!media || !media->size || media->size > sizeof(all)))
        st = err_set(&err, DET_INVALID,
                     "the item has a wrong size: set it to sizeof(det_media)");
    if (st)
        return context_end(context, st, &err);
    memcpy(&all, media, media->size);
    st = check_place(all.name, all.steps, &err);
    if (!st && all.type < 0)
        st = err_set(&err, DET_INVALID, "%d is not a type of media", all.type);
    if (!st)
        st = read_content(context, &all, &file, &item, &err);
    item.name = all.name;
    item.steps = all.steps;
    item.type = (uint32_t)all.type;
    if (!st)
        st = put_media(context, &item, &err);
    return context_end(context, st, &err);
}

det_status det_report_image(det_context *context, const char *name, int64_t steps,
                            const det_image *image)
{
    CLEANUP(buf_done) struct buf png = BUF_INIT;
    struct report_media item = {.name = name, .steps = steps, .type = DET_MEDIA_PNG};
    struct png_image pixels;
    CONTEXT_ERR(err);
    det_status st = context_check_trial(context, &err);

    if (!st)
        st = check_place(name, steps, &err);
    if (!st)
        st = pixels_read(image, &pixels, &err);
    if (!st) {
        png_encode_small(&png, &pixels);
        st = png.status ? err_default(&err, png.status) : DET_OK;
    }
    item.bytes = png.data;
    item.len = png.len;
    if (!st)
        st = put_media(context, &item, &err);
    return context_end(context, st, &err);
}
