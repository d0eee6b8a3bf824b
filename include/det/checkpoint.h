/* SPDX-License-Identifier: Apache-2.0 */
/* det/checkpoint.h - saving and restoring the state of a training program.
 *
 *     det_checkpoint *checkpoint;
 *     char path[4096];
 *
 *     if (det_checkpoint_begin(det, step, NULL, &checkpoint) != DET_OK)
 *         return fail(det_context_error(det));
 *     if (det_checkpoint_put(checkpoint, "weights", weights, sizeof(weights)) != DET_OK
 * || det_checkpoint_commit(checkpoint) != DET_OK) return fail(det_context_error(det));
 *     ...
 *     if (det_checkpoint_restore(det, NULL, 0, path, sizeof(path)) == DET_OK)
 *         read_weights(path);
 *
 * A checkpoint is a directory, named by a uuid, in the experiment's checkpoint storage
 * (types shared_fs and directory).  It is written under another name, synced, its files
 * listed with their sizes and checksums in `manifest.det.json`, renamed, and reported
 * last: a checkpoint that was reported is whole, and one that no longer is, is noticed
 * when it is restored.  `metadata.json` holds the metadata.
 *
 * Threads: the functions that take a context may be called by any thread; a checkpoint
 * under way belongs to one thread at a time. */
#ifndef DET_CHECKPOINT_H
#define DET_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_checkpoint det_checkpoint;

/* A uuid as text, with its NUL. */
#define DET_UUID_SIZE 37

/* ---- saving -----------------------------------------------------------------------
 */

/* Begins a checkpoint of the state after `steps` batches.  `metadata` is a JSON object
 * of your own, or NULL; `steps_completed` is added to it.  What earlier runs of the
 * trial began and never finished is removed.  DET_UNSUPPORTED: the storage is of a type
 * that is not built yet. */
DET_API det_status det_checkpoint_begin(det_context *context, int64_t steps,
                                        const char *metadata,
                                        det_checkpoint **ret_checkpoint);
/* The directory to write into, until it is committed.  Files and directories are fine;
 * links are not. */
DET_API const char *det_checkpoint_path(const det_checkpoint *checkpoint);
/* The uuid of the checkpoint under way. */
DET_API const char *det_checkpoint_uuid(const det_checkpoint *checkpoint);
/* Writes a file from memory: `name` is a path inside of the checkpoint.  What has a
 * checksum by then need not be read again. */
DET_API det_status det_checkpoint_put(det_checkpoint *checkpoint, const char *name,
                                      const void *bytes, size_t len);
/* Makes it durable, gives it its name and reports it; then `checkpoint` is gone.  A
 * failure leaves it as it is: commit again (DET_BUSY: only the report is missing), or
 * abort.  DET_INVALID: a link, or a `manifest.det.json` or `metadata.json` of your own
 * is in it. */
DET_API det_status det_checkpoint_commit(det_checkpoint *checkpoint);
/* Removes it with all that was written.  NULL does nothing. */
DET_API void det_checkpoint_abort(det_checkpoint *checkpoint);

/* Saves a directory of your own as a checkpoint: copies it (where the file system can,
 * without copying bytes), commits, and writes the uuid.  `ret_uuid` may be NULL.
 * DET_INVALID: a `manifest.det.json` or a `metadata.json` of your own is in it; one
 * that a restored checkpoint brought along is replaced. */
DET_API det_status det_checkpoint_store(det_context *context, const char *directory,
                                        int64_t steps, const char *metadata,
                                        char ret_uuid[DET_UUID_SIZE]);

/* ---- restoring --------------------------------------------------------------------
 */

enum det_restore_flag {
    /* Takes a checkpoint as it is: one without a manifest (another program's), or one
     * that need not be read twice. */
    DET_RESTORE_UNCHECKED = 1
};

/* The directory of a checkpoint, to be read only; `uuid` NULL is the latest: the one
 * last committed in this run, else the one the trial is to begin from.  Every file is
 * read and compared with the manifest.  DET_NOT_FOUND: the trial has none yet, or there
 * is none of that uuid.  DET_CORRUPT: a file is missing, cut short or changed, or all
 * of the trial's latest checkpoint is gone; the sentence names it.  DET_TOO_LARGE:
 * `size` bytes do not hold the path. */
DET_API det_status det_checkpoint_restore(det_context *context, const char *uuid,
                                          unsigned flags, char *path, size_t size);
/* Copies a checkpoint into a directory, which is made when it is not there.  Compared
 * as above; a copy that fails leaves nothing behind.  DET_EXISTS: the directory is not
 * empty. */
DET_API det_status det_checkpoint_download(det_context *context, const char *uuid,
                                           unsigned flags, const char *directory);
/* The metadata of a checkpoint as JSON, cut to `size` bytes with its NUL.  `ret_len`
 * (may be NULL) is how long the whole text is. */
DET_API det_status det_checkpoint_metadata(det_context *context, const char *uuid,
                                           char *text, size_t size, size_t *ret_len);

#ifdef __cplusplus
}
#endif

#endif
