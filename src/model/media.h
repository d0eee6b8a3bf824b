/* SPDX-License-Identifier: Apache-2.0 */
/* media.h - the types of media that a trial may report (det/media.h).
 *
 * One row per type: its name in the API, how the WebUI shows it, and the content type it
 * is served as.  Both ends check the bytes against the type: the library, so the program
 * hears of a mistake at once, and the master, which believes no program.  The check does
 * not replace the sandbox (master/api/reports/media.c): SVG and HTML stay hostile.
 *
 * To add a type: a member of enum det_media_type, a row here, a check in media.c, and a
 * view in webui/pages/trial_media.js if its kind is new.  Pure. */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

/* Items per trial.  Each new item sums up the sizes of the others. */
enum { MEDIA_ITEMS_MOST = 10000 };

struct media_type {
    const char *name; /* "png" */
    const char *kind; /* "image", "audio", "text", "html", "table", "histogram" */
    const char *content_type;
};

/* NULL: no such type. */
const struct media_type *media_type(uint32_t type);
/* 0: no type has this name. */
uint32_t media_type_named(const char *name);
/* The type whose signature the bytes begin with; 0: none. */
uint32_t media_recognise(const void *bytes, size_t len);

/* Whether the bytes are of the type.  DET_INVALID says what is wrong; DET_TOO_LARGE:
 * more than DET_MEDIA_BYTES_MOST.  Needs `mem` for JSON only. */
det_status media_check(uint32_t type, const void *bytes, size_t len, struct arena *mem,
                       struct err *err);

#endif
