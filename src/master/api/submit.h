/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - steps that every submission needs: its files are packed, it gets a name if it
 * brings none, and its configuration is checked for size. */
#ifndef MASTER_API_SUBMIT_H
#define MASTER_API_SUBMIT_H

#include <stdbool.h>

#include "base/err.h"

struct buf;
struct json;

enum {
    SUBMIT_FILES_LIMIT = 128 << 20, /* unpacked bytes of a folder */
    SUBMIT_NAME_SIZE = 96,
};

/* Whether a body brings files.  An empty list and an absent one are the same. */
bool submit_has_files(const struct json *files);
/* Packs a list of files (path, type, content, ...) as tar.gz.  Without files `ret_tgz`
 * stays empty.  `what` is the body's name for the list. */
det_status submit_pack_files(const char *what, const struct json *files,
                             struct buf *ret_tgz, struct err *err);

/* "Experiment (plain-amber-otter)", for submissions without a name. */
void submit_make_name(const char *what, const unsigned char random[16],
                      char text[SUBMIT_NAME_SIZE]);

/* DET_TOO_LARGE if a program cannot get the complete configuration in its environment
 * as `variable`. */
det_status submit_check_size(const char *variable, const char *config, struct err *err);

#endif
