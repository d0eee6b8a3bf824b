/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - a folder as it is sent with an experiment.
 *
 * Two steps: pack_scan() walks the folder and looks at sizes only, so that a folder
 * that is too large is refused before anything is read; pack_write() reads the files.
 *
 * Left at home: .git, what .detignore names, links that lead out of the folder or
 * nowhere, and what is neither file nor folder.  Links inside are followed. */
#ifndef CLI_PACK_H
#define CLI_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct arena;
struct io;
struct json_writer;

/* The most that a master takes, as bytes of files. */
#define PACK_LIMIT_MB    96
#define PACK_LIMIT_BYTES ((uint64_t)PACK_LIMIT_MB << 20)

struct pack_entry {
    const char *path;   /* relative to the folder */
    const char *source; /* where it is read from */
    bool is_folder;
    uint32_t mode; /* with the bits that say what it is */
    int64_t modified_s;
    uint64_t size_bytes;
    uint32_t uid;
    uint32_t gid;
};

struct pack {
    struct arena *mem;
    struct io *io;
    VEC(struct pack_entry) entries;
    VEC(const char *) left_out; /* "'x': a link that leads out of the folder" */
    uint64_t size_bytes;
    size_t files;
};

/* The pack is ended with pack_done() also after a failure.  DET_TOO_LARGE names the
 * largest files. */
det_status pack_scan(struct io *io, const char *folder, struct arena *mem,
                     struct pack *ret_pack, struct err *err);
void pack_done(struct pack *pack);

/* Called after each file; may be NULL. */
typedef void pack_progress_fn(void *arg, uint64_t done_bytes, uint64_t all_bytes);

/* A list of v1File objects, as one value at the writer's place under `key`. */
det_status pack_write(const struct pack *pack, struct json_writer *w, const char *key,
                      pack_progress_fn *progress, void *arg, struct err *err);

#endif
