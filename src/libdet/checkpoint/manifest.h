/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - the paths, sizes and checksums of a checkpoint, in memory and as
 * `manifest.det.json`.
 *
 *   {"format":1, "directories":["a"], "files":[{"path":"a/b", "size":7,
 *    "crc32c":"0123abcd"}, ...], "check":"..."}
 *
 * `check` is the CRC-32C of all bytes before `,"check"`, so damage to the manifest
 * itself is noticed.  Paths are relative and must stay inside the checkpoint: reading a
 * manifest checks that first. */
#ifndef LIBDET_CHECKPOINT_MANIFEST_H
#define LIBDET_CHECKPOINT_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/vec.h"

struct arena;
struct io;
struct json_writer;

#define MANIFEST_NAME "manifest.det.json"
#define METADATA_NAME "metadata.json"

struct manifest_file {
    const char *path; /* below the root; in the arena */
    uint64_t size_bytes;
    int64_t modified_us;
    uint32_t crc;
    bool has_crc;
};

struct manifest {
    VEC(struct manifest_file) files; /* by path */
    VEC(const char *) directories;   /* parents come first */
    uint64_t size_bytes;             /* of all files */
};
void manifest_done(struct manifest *manifest);

/* Lists everything below `root` except the manifest itself, without checksums.
 * DET_INVALID: a link, a device, or too many levels. */
det_status manifest_walk(struct io *io, const char *root, struct arena *mem,
                         struct manifest *ret_manifest, struct err *err);

/* Sorts the files by path, as all other functions expect. */
void manifest_order(struct manifest *manifest);

/* Writes and syncs the file. */
det_status manifest_write(struct io *io, const char *root,
                          const struct manifest *manifest, struct err *err);
/* Reads the file.  DET_NOT_FOUND; DET_CORRUPT. */
det_status manifest_read(struct io *io, const char *root, struct arena *mem,
                         struct manifest *ret_manifest, struct err *err);
/* Checks that everything is there: kinds, sizes and, with `reads_all`, every byte.
 * DET_CORRUPT names the first difference. */
det_status manifest_verify(struct io *io, const char *root,
                           const struct manifest *manifest, bool reads_all,
                           struct err *err);

/* Writes {"path": "size", "directory/": "0", ...} for the report, including the
 * manifest. */
void manifest_resources(struct json_writer *w, const char *key,
                        const struct manifest *manifest, uint64_t own_bytes);

#endif
