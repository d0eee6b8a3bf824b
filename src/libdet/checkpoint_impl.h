/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_impl.h - a checkpoint under way, from inside.
 *
 *   checkpoint.c        begun, put into, committed or aborted
 *   checkpoint_seal.c   from a draft to a checkpoint that is whole and reported
 *   checkpoint_store.c  a directory of the user's as one
 *   saver.c             behind the caller's back: copies, writers, the outcome
 *   shard.c             of several ranks
 *
 * Who may touch one: the thread that began it, until it is handed to the saver; then
 * the saver's thread; then whoever collects the outcome. */
#ifndef LIBDET_CHECKPOINT_IMPL_H
#define LIBDET_CHECKPOINT_IMPL_H

#include "base/arena.h"
#include "base/vec.h"
#include "det/checkpoint.h"
#include "det/profiler.h"
#include "libdet/context.h"
#include "libdet/manifest.h"
#include "libdet/storage.h"

struct shard;

/* A file whose bytes lie in the saver's memory and not yet on disk. */
struct checkpoint_copy {
    const char *path;
    uint64_t offset;
    uint64_t len;
    bool is_dropped; /* another file of that name was put later */
};

struct det_checkpoint {
    det_context *context;
    struct arena mem;
    struct storage storage;
    char uuid[UUID_TEXT];
    int64_t steps;
    struct json *metadata; /* an object */
    const char *draft;     /* what is written into; of a group, this rank's part */
    bool is_named;         /* published: the report is missing, and maybe a sync */
    bool has_own_names;    /* metadata and manifest there are the library's */
    bool is_overlapped;
    uint64_t memory_bytes; /* limit of copies; 0: what there is */
    uint64_t copied_bytes;
    uint64_t waited_bytes;
    uint64_t own_bytes; /* of the manifest */
    det_timing timing;  /* since it was begun, as long as the caller is held */
    struct manifest manifest;
    VEC(struct manifest_file) puts; /* files whose sums are known */
    VEC(struct checkpoint_copy) copies;
    struct shard *shard; /* NULL: of this process alone */
};

/* ---- checkpoint.c ---------------------------------------------------------------- */

/* All but the group's work; `options` are whole and valid. */
det_status checkpoint_new(det_context *context, const det_checkpoint_options *options,
                          det_checkpoint **ret_checkpoint, struct err *err);
/* Frees memory only. */
void checkpoint_free(det_checkpoint *checkpoint);
/* Throws away what was written, and frees. */
void checkpoint_discard(det_checkpoint *checkpoint);
/* A JSON object with the steps in it. */
det_status checkpoint_read_metadata(det_checkpoint *checkpoint, const char *metadata,
                                    struct err *err);
/* A uuid and its draft. */
det_status checkpoint_make_draft(det_checkpoint *checkpoint, struct err *err);
/* Writes bytes that lie in pieces (`at` gives the piece at an offset), with their sum;
 * for put() and for the saver.  The sum is kept in `ret_file`. */
struct checkpoint_bytes {
    const void *(*at)(const void *self, uint64_t offset, size_t *ret_len);
    const void *self;
    uint64_t len;
};
det_status checkpoint_write(struct io *io, const char *draft, const char *name,
                            const struct checkpoint_bytes *bytes,
                            struct manifest_file *ret_file, struct err *err);

/* ---- checkpoint_seal.c ----------------------------------------------------------- */

/* A file of the user's own that has one of the library's names: DET_INVALID. */
det_status checkpoint_check_taken(det_checkpoint *checkpoint, const char *from,
                                  const char *name, struct err *err);
/* The files of the draft, synced and summed, as its manifest. */
det_status checkpoint_list(det_checkpoint *checkpoint, struct err *err);
/* The same of a rank's part; metadata that a restored folder brought is left out. */
det_status checkpoint_list_part(det_checkpoint *checkpoint, struct err *err);
/* Writes the metadata into a draft whose list is there already, and lists it. */
det_status checkpoint_add_metadata(det_checkpoint *checkpoint, const char *draft,
                                   struct err *err);
/* From the list to a checkpoint that has its name: manifest, directories, publication.
 * `draft` is the directory of all. */
det_status checkpoint_publish(det_checkpoint *checkpoint, const char *draft,
                              struct err *err);
/* Tells the master. */
det_status checkpoint_report(det_checkpoint *checkpoint, struct err *err);
/* It is the latest now; cannot fail any more. */
void checkpoint_remember(const det_checkpoint *checkpoint);
/* All of it, for one process; goes on where an earlier try has failed. */
det_status checkpoint_seal(det_checkpoint *checkpoint, struct err *err);

#endif
