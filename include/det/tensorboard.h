/* SPDX-License-Identifier: Apache-2.0 */
/* det/tensorboard.h - writes event files for TensorBoard.
 *
 *     det_events *events;
 *
 *     if (det_events_open(det, "tensorboard/run1", NULL, &events) != DET_OK ||
 *         det_events_hparams(events, NULL, NULL) != DET_OK)
 *         return fail(det_context_error(det));
 *     for (int64_t step = 1; step <= steps; step++)
 *         if (det_events_scalar(events, "train/loss", step, train()) != DET_OK)
 *             return fail(det_context_error(det));
 *     det_events_histogram(events, "weights", steps, weights, count);
 *     det_events_end(events, DET_RUN_SUCCEEDED);
 *     if (det_events_close(events) != DET_OK)
 *         return fail(det_context_error(det));
 *
 * Only TensorBoard reads these files.  Metrics for the search must also be reported
 * (det/trial.h).  TensorBoard shows every directory that contains event files as a run,
 * and treats the files in it as parts of that run.
 *
 * An event is copied into memory and written together with others: when 64 KiB are
 * waiting, with the first event later than `flush_ms` after the last write, by
 * det_events_flush() and by det_events_close().  If the program is killed, waiting
 * events are lost; written events are complete.  While the disk is full, events wait in
 * memory as long as there is room.
 *
 * Threads: any thread may call any function, except det_events_close(), which must be
 * the last call, before det_close().  After fork() the child's copy is unusable, as its
 * context is. */
#ifndef DET_TENSORBOARD_H
#define DET_TENSORBOARD_H

#include <stddef.h>
#include <stdint.h>

#include "det/status.h"
#include "det/trial.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct det_events det_events;

/* ---- where they belong ----------------------------------------------------------- */

/* The folder for this trial's event files; made if needed.  It is
 * CLUSTER/tensorboard/experiment/N/trial/M in the experiment's checkpoint storage or,
 * outside a task, `tensorboard` in the run's folder.  `tensorboard --logdir` shows what
 * is in it.  Valid as long as the context.  NULL: it cannot be made;
 * det_context_error() says why. */
DET_API const char *det_tensorboard_directory(det_context *context);

/* ---- a file of events ------------------------------------------------------------ */

typedef struct det_events_options {
    size_t size;         /* sizeof(det_events_options) */
    const char *suffix;  /* added to the file's name; NULL: none */
    int64_t flush_ms;    /* how long an event may wait; 0: 10 s */
    int64_t resume_step; /* of a resumed run: TensorBoard ignores the events of
                            earlier files from this step on; 0: none */
} det_events_options;

/* Opens a new event file in a directory, and makes the directory if needed; NULL
 * options mean all defaults.  The name has the form
 * events.out.tfevents.SECONDS.MICROSECONDS.HOST.PROCESS.NUMBER and is always new, so
 * several processes and runs may write into one directory. */
DET_API det_status det_events_open(det_context *context, const char *directory,
                                   const det_events_options *options,
                                   det_events **ret_events);
/* The path of the file. */
DET_API const char *det_events_path(const det_events *events);
/* Writes the waiting events.  Then readers see them, and the end of this process does
 * not lose them.  DET_FULL, DET_IO: they still wait, and the next flush tries again. */
DET_API det_status det_events_flush(det_events *events);
/* Closes a file: writes the waiting events and frees the writer.  If writing fails, the
 * waiting events are lost, and the file ends with its last complete event.  NULL does
 * nothing. */
DET_API det_status det_events_close(det_events *events);

/* ---- events ---------------------------------------------------------------------- */

/* `tag` names a curve or a series of pictures; slashes make groups ("train/loss").
 * `step` is 0 or more.  Tags and texts are UTF-8.  DET_INVALID: an argument is wrong;
 * the message says which.  DET_TOO_LARGE: the event would have more than 1 GiB.
 * DET_FULL, DET_IO: writing has failed for so long that no memory is left for waiting
 * events; this event was not kept, later ones may be. */

/* Adds a number, as 32-bit floating point; TensorBoard keeps no more.  It may be NaN or
 * infinite. */
DET_API det_status det_events_scalar(det_events *events, const char *tag, int64_t step,
                                     double value);
/* Adds several numbers of one step: all or none. */
DET_API det_status det_events_scalars(det_events *events, int64_t step,
                                      const det_metric *metrics, size_t count);
/* Adds a text.  TensorBoard shows it as Markdown. */
DET_API det_status det_events_text(det_events *events, const char *tag, int64_t step,
                                   const char *text);

/* The number of values from `left` to `right`. */
typedef struct det_bucket {
    double left;
    double right;
    double count;
} det_bucket;

/* Adds a histogram of values, in 30 buckets of equal width.  Leaves out values that are
 * not finite. */
DET_API det_status det_events_histogram(det_events *events, const char *tag,
                                        int64_t step, const double *values,
                                        size_t count);
/* Adds a histogram of 32-bit values, likewise. */
DET_API det_status det_events_histogram_f32(det_events *events, const char *tag,
                                            int64_t step, const float *values,
                                            size_t count);
/* Adds a histogram that was counted elsewhere: buckets from left to right. */
DET_API det_status det_events_buckets(det_events *events, const char *tag, int64_t step,
                                      const det_bucket *buckets, size_t count);

/* Rows from top to bottom, 8 bits per channel: grey, grey and alpha, RGB, or RGBA. */
typedef struct det_image {
    size_t size; /* sizeof(det_image) */
    const void *pixels;
    uint32_t width;
    uint32_t height;
    uint32_t channels; /* 1 to 4 */
    size_t stride;     /* bytes from row to row; 0: without gaps */
} det_image;

/* Adds a picture given as pixels.  It is stored as PNG without compression. */
DET_API det_status det_events_image(det_events *events, const char *tag, int64_t step,
                                    const det_image *image);
/* Adds a picture that is a PNG file already. */
DET_API det_status det_events_png(det_events *events, const char *tag, int64_t step,
                                  const void *png, size_t len);

/* ---- hyperparameters of the run -------------------------------------------------- */

/* How a run ended. */
typedef enum det_run_end { DET_RUN_SUCCEEDED = 1, DET_RUN_FAILED = 2 } det_run_end;

/* Adds the hyperparameters of the run, for the page HPARAMS: once, before the metrics.
 * `hparams` is a JSON object; NULL: those of the context.  Nested names get dots
 * ("optimizer.lr"), lists become text, null is left out.  TensorBoard shows the runs of
 * one `group` together; NULL: each by itself. */
DET_API det_status det_events_hparams(det_events *events, const char *hparams,
                                      const char *group);
/* Adds how the run ended.  Without it the run counts as still running. */
DET_API det_status det_events_end(det_events *events, det_run_end end);

#ifdef __cplusplus
}
#endif

#endif
