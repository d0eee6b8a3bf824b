/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - the files of a folder that are sent with an experiment.
 *
 * pack_scan() lists the files with their sizes: a folder that is too large is refused
 * before anything is read.  pack_write() reads the files.
 *
 * Not sent: .git, files that .detignore names, symlinks that are broken or lead out of the
 * folder, devices and sockets.  Other symlinks are followed.  webui/upload.js does the same
 * in the browser, as far as a browser knows. */
#ifndef CLI_CREATE_PACK_H
#define CLI_CREATE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/vec.h"

struct arena;
struct io;
struct json_writer;

/* The master accepts no more than this. */
#define PACK_LIMIT_MB    96
#define PACK_LIMIT_BYTES ((uint64_t)PACK_LIMIT_MB << 20)

struct pack_entry {
    const char *path;   /* relative to the folder */
    const char *source; /* where it is read from */
    bool is_folder;
    uint32_t mode; /* with the bits of the file type */
    int64_t modified_s;
    uint64_t size_bytes;
    uint32_t uid;
    uint32_t gid;
};

struct pack {
    struct arena *mem;
    struct io *io;
    VEC(struct pack_entry) entries;
    VEC(const char *) left_out; /* "'x': a symlink that leads out of the folder" */
    uint64_t size_bytes;
    size_t files;
};

/* An empty pack, for pack_include(); pack_scan() needs no such call. */
void pack_init(struct io *io, struct arena *mem, struct pack *ret_pack);
/* Call pack_done() even after a failure.  DET_TOO_LARGE names the largest files. */
det_status pack_scan(struct io *io, const char *folder, struct arena *mem,
                     struct pack *ret_pack, struct err *err);
/* Adds a file, or a folder with its files, under its own name.  DET_EXISTS: something of
 * that name is in the pack. */
det_status pack_include(struct pack *pack, const char *path, struct err *err);
void pack_done(struct pack *pack);

/* Called after each file; may be NULL. */
typedef void pack_progress_fn(void *arg, uint64_t done_bytes, uint64_t all_bytes);

/* Writes a list of v1File objects under `key`. */
det_status pack_write(const struct pack *pack, struct json_writer *w, const char *key,
                      pack_progress_fn *progress, void *arg, struct err *err);

#endif
