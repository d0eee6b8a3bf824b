/* SPDX-License-Identifier: Apache-2.0 */
/* det/media.h - pictures, sounds, texts, tables and histograms of a trial, at a step.
 *
 *     det_media sample = {0};
 *
 *     sample.size = sizeof(sample);
 *     sample.name = "samples/first";
 *     sample.steps = step;
 *     sample.path = "sample.png";
 *     if (det_report_media(det, &sample) != DET_OK)
 *         return fail(det_context_error(det));
 *
 * The WebUI shows them on the trial's page, by name and step.  They take the way of all
 * reports (det/trial.h): the call copies the bytes into the task's file and returns, and
 * the supervisor sends them.  What the call accepted survives the program.
 *
 * A later item with the same name and steps replaces the earlier one.  A trial that is
 * continued from a checkpoint replaces what it reports again; items of steps after the
 * checkpoint that do not come again are marked as archived.
 *
 * Limits: DET_MEDIA_BYTES_MOST per item.  The master also limits the bytes per trial
 * (`max_media_bytes` of its configuration) and the number of items (10000): it refuses
 * further items, and the log of the trial and det_flush() say so. */
#ifndef DET_MEDIA_H
#define DET_MEDIA_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"
#include "det/tensorboard.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DET_MEDIA_BYTES_MOST 4000000

/* Never renumbered: they are stored. */
enum det_media_type {
    DET_MEDIA_AUTO = 0, /* recognise PNG, JPEG, GIF, WebP, WAV, MP3 and Ogg */
    DET_MEDIA_PNG = 1,
    DET_MEDIA_JPEG = 2,
    DET_MEDIA_GIF = 3,
    DET_MEDIA_WEBP = 4,
    DET_MEDIA_SVG = 5, /* the WebUI runs none of its scripts */
    DET_MEDIA_WAV = 6,
    DET_MEDIA_MP3 = 7,
    DET_MEDIA_OGG = 8,
    DET_MEDIA_TEXT = 9,   /* UTF-8 */
    DET_MEDIA_HTML = 10,  /* UTF-8; the WebUI runs none of its scripts */
    DET_MEDIA_TABLE = 11, /* JSON: {"columns": ["a", "b"], "rows": [[1, "x"], ...]} */
    DET_MEDIA_HISTOGRAM = 12 /* JSON: {"edges": [0, 1, 2], "counts": [5, 3]} */
};

/* One item.  Its content is `bytes` or the file at `path`, not both. */
typedef struct det_media {
    size_t size;      /* sizeof(det_media) */
    const char *name; /* 1 to 256 bytes; slashes make groups */
    int64_t steps;    /* 0 or more */
    int type;         /* enum det_media_type */
    const void *bytes;
    size_t len;
    const char *path;
} det_media;

/* Reports one item.  DET_INVALID: an argument is wrong, or the bytes are not of the
 * type; the message says which.  DET_TOO_LARGE: it has more than DET_MEDIA_BYTES_MOST
 * bytes.  DET_BUSY: too much waits to be sent, or the disk is full; nothing was kept.
 * DET_NOT_FOUND, DET_IO: the file cannot be read. */
DET_API det_status det_report_media(det_context *context, const det_media *media);

/* Reports a picture given as pixels; it is sent as compressed PNG.  Fails as
 * det_report_media() does. */
DET_API det_status det_report_image(det_context *context, const char *name,
                                    int64_t steps, const det_image *image);

#ifdef __cplusplus
}
#endif

#endif
