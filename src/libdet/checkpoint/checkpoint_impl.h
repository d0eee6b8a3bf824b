/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_impl.h - a checkpoint that is being saved.
 *
 *   checkpoint.c        begin, put, commit, abort
 *   checkpoint_seal.c   turns a draft into a complete, reported checkpoint
 *   checkpoint_store.c  saves a directory of the user
 *   saver.c             saves in the background: copies, writers, the outcome
 *   shard.c             saves for several ranks
 *
 * Owner: first the thread that began it; after the hand-over, the saver's thread; at
 * the end, the thread that collects the outcome. */
#ifndef LIBDET_CHECKPOINT_CHECKPOINT_IMPL_H
#define LIBDET_CHECKPOINT_CHECKPOINT_IMPL_H

#include "base/memory/arena.h"
#include "base/memory/vec.h"
#include "det/checkpoint.h"
#include "det/profiler.h"
#include "libdet/checkpoint/manifest.h"
#include "libdet/checkpoint/storage.h"
#include "libdet/context.h"

struct shard;

/* A file whose bytes are in the saver's memory and not on disk yet. */
struct checkpoint_copy {
    const char *path;
    uint64_t offset;
    uint64_t len;
    bool is_dropped; /* a later put replaced it */
};

struct det_checkpoint {
    det_context *context;
    struct arena mem;
    struct storage storage;
    char uuid[UUID_TEXT];
    int64_t steps;
    struct json *metadata; /* an object */
    const char *draft;     /* the directory to write into; in a group, this rank's
                              part */
    bool is_named;         /* published: only the report, and maybe a sync, is
                              missing */
    bool has_own_names;    /* the library wrote its metadata and manifest */
    bool is_overlapped;
    uint64_t memory_bytes; /* limit of copies; 0: half of the free memory */
    uint64_t copied_bytes;
    uint64_t waited_bytes;
    uint64_t own_bytes; /* of the manifest */
    det_timing timing;  /* the time for which training is held */
    struct manifest manifest;
    VEC(struct manifest_file) puts; /* files whose checksums are known */
    VEC(struct checkpoint_copy) copies;
    struct shard *shard;  /* NULL: only this process saves */
    struct io_file *disk; /* the draft, open since before the first write, to sync many
                             files at once; NULL: each file is synced */
};

/* Makes a checkpoint, without the meetings of a group.  `options` must be complete and
 * valid. */
det_status checkpoint_new(det_context *context, const det_checkpoint_options *options,
                          det_checkpoint **ret_checkpoint, struct err *err);
/* Frees memory only. */
void checkpoint_free(det_checkpoint *checkpoint);
/* Removes the files, and frees. */
void checkpoint_discard(det_checkpoint *checkpoint);
/* Parses the metadata, a JSON object, and adds the steps. */
det_status checkpoint_read_metadata(det_checkpoint *checkpoint, const char *metadata,
                                    struct err *err);
/* Makes the directory to write into. */
det_status checkpoint_open_draft(det_checkpoint *checkpoint, const char *uuid,
                                 struct err *err);
/* Chooses a uuid and makes the draft. */
det_status checkpoint_make_draft(det_checkpoint *checkpoint, struct err *err);
/* Writes bytes that lie in pieces (`at` returns the piece at an offset); for put() and
 * for the saver.  Computes the checksum on the way, into `ret_file`. */
struct checkpoint_bytes {
    const void *(*at)(const void *self, uint64_t offset, size_t *ret_len);
    const void *self;
    uint64_t len;
};
det_status checkpoint_write(struct io *io, const char *draft, const char *name,
                            const struct checkpoint_bytes *bytes,
                            struct manifest_file *ret_file, struct err *err);

#endif
