/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_copy.h - copies a checkpoint's files into a folder and checks them.
 *
 * Every file in the master's list must exist with its size.  If the checkpoint has a
 * manifest (libdet/checkpoint/manifest.h), every file in the manifest must exist with its
 * size and its CRC-32C.  Symlinks and devices are refused: a checkpoint contains none. */
#ifndef CLI_NOUNS_CHECKPOINT_COPY_H
#define CLI_NOUNS_CHECKPOINT_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct io;
struct json;

struct checkpoint_copy_result {
    int64_t files;
    uint64_t size_bytes;
    bool has_manifest;
};

/* Both folders exist; `to` NULL: only checks.  `resources` is {"path": size}; may be NULL.  DET_CORRUPT names
 * the first file that is missing or damaged. */
det_status checkpoint_copy(struct io *io, const char *from, const char *to,
                           const struct json *resources, struct arena *mem,
                           struct checkpoint_copy_result *ret_result, struct err *err);

#endif
