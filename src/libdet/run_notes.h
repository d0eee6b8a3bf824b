/* SPDX-License-Identifier: Apache-2.0 */
/* run_notes.h - small JSON files in the folder of a run (context->notes_dir).
 *
 * They outlive the process: its next run and the other processes of this run read
 * them. */
#ifndef LIBDET_RUN_NOTES_H
#define LIBDET_RUN_NOTES_H

#include "base/err.h"
#include "det/trial.h"

struct arena;
struct buf;
struct json;

/* Reads and parses the file `name`; *ret_tree is NULL if there is no such file.
 * DET_CORRUPT: it is not JSON. */
det_status run_notes_read(det_context *context, const char *name, struct arena *mem,
                          struct json **ret_tree, struct err *err);
/* Replaces the file as a whole. */
det_status run_notes_write(det_context *context, const char *name, struct buf *text,
                           struct err *err);

#endif
