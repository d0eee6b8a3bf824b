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
 * One begun with DET_CHECKPOINT_OVERLAPPED holds training only while put() copies; it
 * is written and committed behind the caller's back, and det_checkpoint_wait(), or the
 * next beginning, says how that went.  One begun with a group is of all its ranks.
 *
 * Threads: the functions that take a context may be called by any thread; a checkpoint
 * under way belongs to one thread at a time, and so does a group. */
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

enum det_checkpoint_flag {
    /* det_checkpoint_put() copies into memory, and det_checkpoint_commit() only hands
     * the checkpoint over: it is written, synced, summed and reported by threads of the
     * library while training goes on.  One at a time; the next beginning waits for it,
     * and so do det_checkpoint_restore() and its kin, det_flush(), det_preempt_ack()
     * and det_close().  The copies stay in memory that is kept for the next checkpoint:
     * as much as the largest needed, and never more than `memory_bytes`.  What does not
     * fit is written by put() itself, while the caller waits; the outcome counts it. */
    DET_CHECKPOINT_OVERLAPPED = 1
};

/* Says whether a path inside of a directory is wanted: 0 is no, and less than 0 fails
 * the call (DET_FAILED).  Directories end in a slash; the answer for one says nothing
 * about what is in it. */
typedef int det_selector(void *self, const char *path);

typedef struct det_checkpoint_options {
    size_t size;           /* sizeof(det_checkpoint_options) */
    int64_t steps;         /* batches that the state has seen; of a group, -1 on ranks
                              that leave it to others */
    const char *metadata;  /* a JSON object of your own; NULL: none */
    unsigned flags;        /* enum det_checkpoint_flag */
    uint64_t memory_bytes; /* the most that copies may take; 0: half of what the machine
                              (or the control group) has free when it is needed */
    /* The ranks that save together; NULL: this process alone.  All of them begin,
     * commit (or abort) and wait in step, and all get the same outcome; the sentence
     * names the rank that failed.  Every rank has a det_checkpoint_path() of its own;
     * the checkpoint holds the files of all.  What several ranks have must be the same,
     * byte by byte, and so must the metadata under one key.  The storage must be seen
     * by all.  Borrowed until the outcome is there. */
    det_distributed *group;
    det_selector *selector; /* of det_checkpoint_store_with(); NULL: everything */
    void *selector_self;
} det_checkpoint_options;

/* Begins a checkpoint with options: one that overlaps training, or one of several
 * ranks. What an earlier overlapped one failed with, and nobody has been told of yet,
 * is returned instead, once: then nothing was begun.  DET_STATE: another overlapped one
 * was begun and not committed. */
DET_API det_status det_checkpoint_begin_with(det_context *context,
                                             const det_checkpoint_options *options,
                                             det_checkpoint **ret_checkpoint);
/* Makes memory ready for overlapped checkpoints of so many bytes, in the background:
 * without it the first one pays for the pages.  A wish; nothing is said when there is
 * no memory. */
DET_API det_status det_checkpoint_reserve(det_context *context, uint64_t bytes);

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
 * is in it.  Of a group DET_BUSY alone may be tried again, and all ranks commit again.
 *
 * An overlapped one is handed over and gone; whatever fails is the outcome's.  Files
 * that you have written into det_checkpoint_path() must not be touched any more. */
DET_API det_status det_checkpoint_commit(det_checkpoint *checkpoint);
/* Removes it with all that was written.  Of a group it meets the commit, or abort, of
 * the other ranks and fails it; of an overlapped one they meet when they wait.  NULL
 * does nothing. */
DET_API void det_checkpoint_abort(det_checkpoint *checkpoint);
/* Aborts a checkpoint and tells the other ranks of its group why. */
DET_API void det_checkpoint_give_up(det_checkpoint *checkpoint, const char *why);

typedef struct det_checkpoint_outcome {
    size_t size;              /* sizeof(det_checkpoint_outcome) */
    char uuid[DET_UUID_SIZE]; /* "": no checkpoint has ended since it was last asked */
    uint64_t copied_bytes;    /* by put(), into memory */
    uint64_t waited_bytes;    /* written while the caller waited: memory was short */
} det_checkpoint_outcome;

/* Waits for the overlapped checkpoint that was committed last, for at most `timeout_ms`
 * (-1: for as long as it takes), and tells once how it went; `ret_outcome` may be NULL,
 * and is filled also when it failed.  DET_TIMEOUT: it is still being written.  Any
 * other failure: there is no such checkpoint, the one before is still the latest.
 * DET_OK also when there is none to wait for.  Of a group all ranks call it: only here,
 * or in the next beginning, the ranks' parts become one checkpoint; where one is not
 * done within its time all get DET_TIMEOUT. */
DET_API det_status det_checkpoint_wait(det_context *context, int64_t timeout_ms,
                                       det_checkpoint_outcome *ret_outcome);

/* Saves a directory of your own as a checkpoint: copies it (where the file system can,
 * without copying bytes), commits, and writes the uuid.  `ret_uuid` may be NULL.
 * DET_INVALID: a `manifest.det.json` or a `metadata.json` of your own is in it; one
 * that a restored checkpoint brought along is replaced. */
DET_API det_status det_checkpoint_store(det_context *context, const char *directory,
                                        int64_t steps, const char *metadata,
                                        char ret_uuid[DET_UUID_SIZE]);
/* Saves a directory of your own with options: a selector, a group (then `directory` may
 * be NULL: this rank brings nothing).  A selected file brings the directories it lies
 * in.  It is not overlapped. */
DET_API det_status det_checkpoint_store_with(det_context *context,
                                             const char *directory,
                                             const det_checkpoint_options *options,
                                             char ret_uuid[DET_UUID_SIZE]);

/* ---- restoring --------------------------------------------------------------------
 */

enum det_restore_flag {
    /* Takes a checkpoint as it is: one without a manifest (another program's), or one
     * that need not be read twice. */
    DET_RESTORE_UNCHECKED = 1,
    /* Takes one as it is where it has no manifest at all: another program wrote it. */
    DET_RESTORE_FOREIGN = 2
};

typedef struct det_restore_options {
    size_t size;            /* sizeof(det_restore_options) */
    unsigned flags;         /* enum det_restore_flag */
    det_selector *selector; /* only these files are compared, and copied; NULL: all */
    void *selector_self;
    /* The ranks of each node share the work: all of them call with the same arguments,
     * local rank 0 compares and copies, and all get its outcome. */
    det_distributed *group;
} det_restore_options;

/* The directory of a checkpoint, to be read only; `uuid` NULL is the latest: the one
 * last committed in this run, else the one the trial is to begin from.  Every file is
 * read and compared with the manifest.  DET_NOT_FOUND: the trial has none yet, or there
 * is none of that uuid.  DET_CORRUPT: a file is missing, cut short or changed, or all
 * of the trial's latest checkpoint is gone; the sentence names it.  DET_TOO_LARGE:
 * `size` bytes do not hold the path. */
DET_API det_status det_checkpoint_restore(det_context *context, const char *uuid,
                                          unsigned flags, char *path, size_t size);
/* The directory of a checkpoint with options: some files of it compared, or once for
 * all ranks of a node. */
DET_API det_status det_checkpoint_restore_with(det_context *context, const char *uuid,
                                               const det_restore_options *options,
                                               char *path, size_t size);
/* Copies a checkpoint into a directory, which is made when it is not there.  Compared
 * as above; a copy that fails leaves nothing behind.  DET_EXISTS: the directory is not
 * empty. */
DET_API det_status det_checkpoint_download(det_context *context, const char *uuid,
                                           unsigned flags, const char *directory);
/* Copies a checkpoint, or some of its files, into a directory; once for all ranks of a
 * node where they have a group. */
DET_API det_status det_checkpoint_download_with(det_context *context, const char *uuid,
                                                const det_restore_options *options,
                                                const char *directory);
/* The metadata of a checkpoint as JSON, cut to `size` bytes with its NUL.  `ret_len`
 * (may be NULL) is how long the whole text is. */
DET_API det_status det_checkpoint_metadata(det_context *context, const char *uuid,
                                           char *text, size_t size, size_t *ret_len);

/* Removes a checkpoint.  On a cluster the master is asked, as the user: it keeps a note
 * of it, refuses what somebody still needs (DET_STATE), and has an agent remove the
 * files.  Elsewhere the directory is removed and, where it was the latest, the trial
 * has none any more. */
DET_API det_status det_checkpoint_delete(det_context *context, const char *uuid);

#ifdef __cplusplus
}
#endif

#endif
