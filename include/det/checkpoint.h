/* SPDX-License-Identifier: Apache-2.0 */
/* det/checkpoint.h - saves and restores the state of a training program.
 *
 *     det_checkpoint *checkpoint;
 *     char path[4096];
 *
 *     if (det_checkpoint_begin(det, step, NULL, &checkpoint) != DET_OK)
 *         return fail(det_context_error(det));
 *     if (det_checkpoint_put(checkpoint, "weights", data, size) != DET_OK ||
 *         det_checkpoint_commit(checkpoint) != DET_OK)
 *         return fail(det_context_error(det));
 *     ...
 *     if (det_checkpoint_restore(det, NULL, 0, path, sizeof(path)) == DET_OK)
 *         read_weights(path);
 *
 * A checkpoint is a directory in the experiment's checkpoint storage (types shared_fs
 * and directory), named by a uuid.  The library writes it under another name, syncs it,
 * lists its files with sizes and checksums in `manifest.det.json`, renames it, and
 * reports it last.  So a reported checkpoint is complete, and restoring it notices any
 * damage that happened later.  `metadata.json` holds the metadata.
 *
 * A checkpoint begun with DET_CHECKPOINT_OVERLAPPED holds training only while put()
 * copies.  Threads of the library write and commit it, and det_checkpoint_wait() or the
 * next beginning says how that ended.  A checkpoint begun with a group belongs to all
 * its ranks.
 *
 * Threads: any thread may call the functions that take a context.  One thread at a time
 * may use a checkpoint under way, and one thread at a time a group. */
#ifndef DET_CHECKPOINT_H
#define DET_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "det/distributed.h"
#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_checkpoint det_checkpoint;

/* The size of a uuid as text, including the NUL. */
#define DET_UUID_SIZE 37

/* ---- saving ---------------------------------------------------------------------- */

/* Begins a checkpoint of the state after `steps` batches.  `metadata` is a JSON object
 * of your own, or NULL; `steps_completed` is added to it.  Also removes unfinished
 * checkpoints that earlier runs of the trial left.  DET_UNSUPPORTED: the storage has a
 * type that is not implemented yet. */
DET_API det_status det_checkpoint_begin(det_context *context, int64_t steps,
                                        const char *metadata,
                                        det_checkpoint **ret_checkpoint);

enum det_checkpoint_flag {
    /* det_checkpoint_put() copies into memory, and det_checkpoint_commit() only hands
     * the checkpoint over: threads of the library write, sync, checksum and report it
     * while training goes on.  One at a time: the next beginning waits for it, and so
     * do det_checkpoint_restore() and similar functions, det_flush(), det_preempt_ack()
     * and det_close().  The library keeps the memory of the copies for the next
     * checkpoint: as much as the largest needed, and never more than `memory_bytes`.
     * If a copy does not fit, put() writes it to disk while the caller waits, and the
     * outcome counts it. */
    DET_CHECKPOINT_OVERLAPPED = 1
};

/* Says whether a path inside a directory is wanted: 0 means no, a negative value fails
 * the call with DET_FAILED.  Directories end in a slash; the answer for a directory
 * does not decide about its content. */
typedef int det_selector(void *self, const char *path);

typedef struct det_checkpoint_options {
    size_t size;           /* sizeof(det_checkpoint_options) */
    int64_t steps;         /* batches that the state has seen; in a group, -1 on
                              ranks that leave it to the others */
    const char *metadata;  /* a JSON object of your own; NULL: none */
    unsigned flags;        /* enum det_checkpoint_flag */
    uint64_t memory_bytes; /* limit of the copies; 0: half of the memory that the
                              machine (or the control group) has free at that time */
    /* The ranks that save together; NULL: this process alone.  All of them begin,
     * commit (or abort) and wait in step, and get the same outcome; the message names
     * the rank that failed.  Each rank has its own det_checkpoint_path(); the
     * checkpoint holds the files of all.  If several ranks write the same file or the
     * same metadata key, the content must be equal.  All ranks must see the same
     * storage.  Borrowed until the outcome is known. */
    det_distributed *group;
    det_selector *selector; /* for det_checkpoint_store_with(); NULL: everything */
    void *selector_self;
} det_checkpoint_options;

/* Begins a checkpoint with options: one that overlaps training, or one of several
 * ranks.  If an earlier overlapped checkpoint failed and no call has returned that
 * failure yet, returns it instead, once, and begins nothing.  DET_STATE: another
 * overlapped checkpoint was begun and not committed. */
DET_API det_status det_checkpoint_begin_with(det_context *context,
                                             const det_checkpoint_options *options,
                                             det_checkpoint **ret_checkpoint);
/* Prepares memory for overlapped checkpoints of this size, in the background; without
 * it the first checkpoint is slower.  It is only a hint: running out of memory here is
 * not reported. */
DET_API det_status det_checkpoint_reserve(det_context *context, uint64_t bytes);

/* The directory to write into until the checkpoint is committed.  It may hold files and
 * directories, but no links. */
DET_API const char *det_checkpoint_path(const det_checkpoint *checkpoint);
/* The uuid of the checkpoint under way. */
DET_API const char *det_checkpoint_uuid(const det_checkpoint *checkpoint);
/* Writes a file from memory; `name` is a path inside the checkpoint.  The checksum is
 * computed on the way, so the file need not be read again. */
DET_API det_status det_checkpoint_put(det_checkpoint *checkpoint, const char *name,
                                      const void *bytes, size_t len);
/* Commits a checkpoint: syncs it, gives it its name and reports it; then frees
 * `checkpoint`.  After a failure `checkpoint` still exists: commit again (DET_BUSY:
 * only the report is missing) or abort.  DET_INVALID: it contains a link, or your own
 * `manifest.det.json` or `metadata.json`.  In a group only DET_BUSY can be retried, and
 * then all ranks commit again.
 *
 * An overlapped checkpoint is handed over and freed at once; the outcome reports every
 * failure.  Do not change files in det_checkpoint_path() after that. */
DET_API det_status det_checkpoint_commit(det_checkpoint *checkpoint);
/* Aborts a checkpoint and removes its files.  In a group it meets the commit or abort
 * of the other ranks and fails it; for an overlapped checkpoint the ranks meet when
 * they wait.  NULL does nothing. */
DET_API void det_checkpoint_abort(det_checkpoint *checkpoint);
/* Aborts a checkpoint and tells the other ranks of its group why. */
DET_API void det_checkpoint_give_up(det_checkpoint *checkpoint, const char *why);

typedef struct det_checkpoint_outcome {
    size_t size;              /* sizeof(det_checkpoint_outcome) */
    char uuid[DET_UUID_SIZE]; /* "": no checkpoint has ended since the last call */
    uint64_t copied_bytes;    /* copied into memory by put() */
    uint64_t waited_bytes;    /* written while the caller waited, for lack of memory */
} det_checkpoint_outcome;

/* Waits for the overlapped checkpoint that was committed last, and reports its outcome
 * once.  `timeout_ms` -1 means no limit.  `ret_outcome` may be NULL, and is filled on
 * failure too.  DET_OK if there is nothing to wait for.  DET_TIMEOUT: it is still being
 * written.  Any other failure: that checkpoint does not exist, and the one before it is
 * still the latest.  In a group all ranks call it: the parts of the ranks become one
 * checkpoint only here or in the next beginning.  If one rank is not ready in time, all
 * get DET_TIMEOUT. */
DET_API det_status det_checkpoint_wait(det_context *context, int64_t timeout_ms,
                                       det_checkpoint_outcome *ret_outcome);

/* Saves a directory of your own as a checkpoint: copies it (sharing the bytes if the
 * file system can), commits, and writes the uuid.  `ret_uuid` may be NULL.
 * DET_INVALID: the directory contains your own `manifest.det.json` or `metadata.json`.
 * Those of a restored checkpoint are allowed; they are replaced. */
DET_API det_status det_checkpoint_store(det_context *context, const char *directory,
                                        int64_t steps, const char *metadata,
                                        char ret_uuid[DET_UUID_SIZE]);
/* Saves a directory of your own as a checkpoint with options: a selector, or a group
 * (then `directory` may be NULL: this rank adds nothing).  A selected file brings the
 * directories it lies in.  The call does not overlap training. */
DET_API det_status det_checkpoint_store_with(det_context *context,
                                             const char *directory,
                                             const det_checkpoint_options *options,
                                             char ret_uuid[DET_UUID_SIZE]);

/* ---- restoring ------------------------------------------------------------------- */

enum det_restore_flag {
    /* Restores without checking anything: a checkpoint without a manifest (written by
     * another program), or one that need not be read twice. */
    DET_RESTORE_UNCHECKED = 1,
    /* Skips the check only if there is no manifest, because another program wrote it.
     */
    DET_RESTORE_FOREIGN = 2
};

typedef struct det_restore_options {
    size_t size;            /* sizeof(det_restore_options) */
    unsigned flags;         /* enum det_restore_flag */
    det_selector *selector; /* only these files are checked and copied; NULL: all */
    void *selector_self;
    /* The ranks of each node share the work: all of them call with the same arguments,
     * local rank 0 checks and copies, and all get its outcome. */
    det_distributed *group;
} det_restore_options;

/* Finds a checkpoint and checks it; writes its directory, which is read-only for you,
 * into `path`.  `uuid` NULL means the latest: the last one committed in this run, else
 * the one that the trial starts from.  Reads every file and compares it with the
 * manifest.  DET_NOT_FOUND: the trial has no checkpoint yet, or none has that uuid.
 * DET_CORRUPT: a file is missing, truncated or changed, or the trial's latest
 * checkpoint is gone; the message names it.  DET_TOO_LARGE: the path does not fit into
 * `size` bytes. */
DET_API det_status det_checkpoint_restore(det_context *context, const char *uuid,
                                          unsigned flags, char *path, size_t size);
/* Finds and checks a checkpoint with options: only some of its files, or once for all
 * ranks of a node. */
DET_API det_status det_checkpoint_restore_with(det_context *context, const char *uuid,
                                               const det_restore_options *options,
                                               char *path, size_t size);
/* Copies a checkpoint into a directory, and makes the directory if needed.  Checks it
 * as det_checkpoint_restore() does; a failed copy leaves nothing behind.  DET_EXISTS:
 * the directory is not empty. */
DET_API det_status det_checkpoint_download(det_context *context, const char *uuid,
                                           unsigned flags, const char *directory);
/* Copies a checkpoint, or some of its files, into a directory; with a group, once for
 * all ranks of a node. */
DET_API det_status det_checkpoint_download_with(det_context *context, const char *uuid,
                                                const det_restore_options *options,
                                                const char *directory);
/* Writes the metadata of a checkpoint as JSON, cut to `size` bytes including the NUL.
 * `ret_len` (may be NULL) is the length of the whole text. */
DET_API det_status det_checkpoint_metadata(det_context *context, const char *uuid,
                                           char *text, size_t size, size_t *ret_len);

/* Deletes a checkpoint.  On a cluster it asks the master, as the user: the master keeps
 * a record of it, refuses with DET_STATE if it is still needed, and has an agent
 * remove the files.  Without a master it removes the directory; if that was the latest
 * checkpoint, the trial has none any more. */
DET_API det_status det_checkpoint_delete(det_context *context, const char *uuid);

#ifdef __cplusplus
}
#endif

#endif
