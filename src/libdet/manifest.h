/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - what is in a checkpoint: paths, sizes, checksums; in memory and as
 * `manifest.det.json`.
 *
 *   {"format":1, "directories":["a"], "files":[{"path":"a/b", "size":7,
 *    "crc32c":"0123abcd"}, ...], "check":"..."}
 *
 * `check` is the CRC-32C of all bytes in front of `,"check"`, so that the manifest
 * itself can be told from a damaged one.  Paths are relative and lead nowhere but
 * inside: what a manifest says is not believed before that was looked at. */
#ifndef LIBDET_MANIFEST_H
#define LIBDET_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct arena;
struct buf;
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
    VEC(const char *) directories;   /* parents before what is in them */
    uint64_t size_bytes;             /* of all files */
};
void manifest_done(struct manifest *manifest);

/* What lies below `root`, without the manifest itself; no checksums yet.  DET_INVALID:
 * a link, a device, or more levels than anybody needs. */
det_status manifest_walk(struct io *io, const char *root, struct arena *mem,
                         struct manifest *ret_manifest, struct err *err);

/* Sorts the files by path, as everything else expects them. */
void manifest_order(struct manifest *manifest);

enum manifest_work { MANIFEST_SYNC = 1, MANIFEST_SUM = 2 };
/* Syncs every file, or reads it for its checksum where it has none, or both at once;
 * several at a time where there is much to do. */
det_status manifest_work(struct io *io, const char *root, struct manifest *manifest,
                         unsigned work, struct err *err);

/* Writes and syncs the file. */
det_status manifest_write(struct io *io, const char *root,
                          const struct manifest *manifest, struct err *err);
/* Reads it.  DET_NOT_FOUND: there is none.  DET_CORRUPT. */
det_status manifest_read(struct io *io, const char *root, struct arena *mem,
                         struct manifest *ret_manifest, struct err *err);
/* Whether everything is there as the manifest says: kinds, sizes and, with
 * `reads_all`, every byte.  DET_CORRUPT names the first that is not. */
det_status manifest_verify(struct io *io, const char *root,
                           const struct manifest *manifest, bool reads_all,
                           struct err *err);

/* {"path": "size", "directory/": "0", ...}: what is reported; with the manifest. */
void manifest_resources(struct json_writer *w, const char *key,
                        const struct manifest *manifest, uint64_t own_bytes);

#endif
