/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - a checkpoint's files from where they lie to a folder, compared on the way.
 *
 * What there must be: every file that the master lists, with its size; and, where the
 * checkpoint has a manifest (libdet/manifest.h), every file that it names, with its
 * size and its CRC-32C.  Links and devices are refused: a checkpoint has none. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct arena;
struct cli;
struct io;
struct json;

struct copy_result {
    int64_t files;
    uint64_t size_bytes;
    bool has_manifest;
};

/* `from` and `to` are there.  `resources` is {"path": size}; may be NULL.  DET_CORRUPT
 * names the first file that is not as it should be. */
det_status copy_checkpoint(struct io *io, const char *from, const char *to,
                           const struct json *resources, struct arena *mem,
                           struct copy_result *ret_result, struct err *err);

/* Where the checkpoint (as the API shows it) lies, if it can be seen from here
 * (checkpoint.c). */
det_status checkpoint_directory(struct cli *cli, const struct json *checkpoint,
                                const char **ret_path);

#endif
