/* SPDX-License-Identifier: Apache-2.0 */
/* det/tensorboard.h - event files, as TensorBoard reads them.
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
 * These files are for people who look at them: nothing else reads them, and metrics
 * that a search is to see are reported (det/trial.h) as well.  TensorBoard takes every
 * directory with event files in it for a run, and the files in one for parts of it.
 *
 * An event is copied into memory and written with others: when 64 KiB are waiting, with
 * an event that comes `flush_ms` after the last writing, by det_events_flush() and by
 * det_events_close().
 * What was not written yet is lost when the program is killed; what was is whole, event
 * by event.  A disk that is full costs no event as long as there is room in memory.
 *
 * Threads: every function may be called by any thread, but for det_events_close(),
 * which must be the last, and comes before det_close().  After fork() the child's copy
 * is inert, as its context is. */
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

/* The folder for this trial's files, made when it is not there: in the experiment's
 * checkpoint storage, CLUSTER/tensorboard/experiment/N/trial/M, or, outside a task,
 * `tensorboard` in the run's own folder.  `tensorboard --logdir` shows what is in it.
 * Lives as long as the context.  NULL: it cannot be made; det_context_error() says why.
 */
DET_API const char *det_tensorboard_directory(det_context *context);

/* ---- a file of events ------------------------------------------------------------ */

typedef struct det_events_options {
    size_t size;         /* sizeof(det_events_options) */
    const char *suffix;  /* added to the file's name; NULL: nothing */
    int64_t flush_ms;    /* how long an event may wait for the next; 0: 10 s */
    int64_t resume_step; /* of a run that goes on: TensorBoard forgets what earlier
                            files say about this step and those behind; 0: nothing */
} det_events_options;

/* Makes a new file in a directory, which is made when it is not there; NULL options
 * count as all defaults.  Its name is of the form
 * events.out.tfevents.SECONDS.MICROSECONDS.HOST.PROCESS.NUMBER and never one that is
 * there already, so that several processes and several runs may write into one
 * directory. */
DET_API det_status det_events_open(det_context *context, const char *directory,
                                   const det_events_options *options,
                                   det_events **ret_events);
/* The path of the file. */
DET_API const char *det_events_path(const det_events *events);
/* Writes what is waiting, so that readers see it and the end of this process does not
 * take it.  DET_FULL, DET_IO: it still waits, and the next flush tries again. */
DET_API det_status det_events_flush(det_events *events);
/* Writes what is waiting and frees the writer, also when that fails: then what waited
 * is lost, and the file ends with its last whole event.  NULL does nothing. */
DET_API det_status det_events_close(det_events *events);

/* ---- events ---------------------------------------------------------------------- */

/* `tag` names a curve or a series of pictures, in groups by slashes ("train/loss");
 * `step` is 0 or more.  Tags and texts are UTF-8.  DET_INVALID: an argument makes no
 * sense; the sentence says which.  DET_TOO_LARGE: an event would have more than 1 GiB.
 * DET_FULL, DET_IO: writing has failed for so long that there is no room to wait in;
 * this event was not kept, later ones may be. */

/* Adds a number, as 32-bit floating point, which is all that TensorBoard keeps.  NaN
 * and the infinities are fine. */
DET_API det_status det_events_scalar(det_events *events, const char *tag, int64_t step,
                                     double value);
/* Adds several numbers of one step: all or none. */
DET_API det_status det_events_scalars(det_events *events, int64_t step,
                                      const det_metric *metrics, size_t count);
/* Adds a text, which is shown as Markdown. */
DET_API det_status det_events_text(det_events *events, const char *tag, int64_t step,
                                   const char *text);

/* So many values lie from `left` to `right`. */
typedef struct det_bucket {
    double left;
    double right;
    double count;
} det_bucket;

/* Adds how values are distributed, in 30 buckets of one width; those that are not
 * finite are left out. */
DET_API det_status det_events_histogram(det_events *events, const char *tag,
                                        int64_t step, const double *values,
                                        size_t count);
/* Adds how 32-bit values are distributed, likewise. */
DET_API det_status det_events_histogram_f32(det_events *events, const char *tag,
                                            int64_t step, const float *values,
                                            size_t count);
/* Adds a histogram that was counted elsewhere: buckets from left to right. */
DET_API det_status det_events_buckets(det_events *events, const char *tag, int64_t step,
                                      const det_bucket *buckets, size_t count);

/* Rows from top to bottom, 8 bits a channel: grey, grey and alpha, RGB, or RGBA. */
typedef struct det_image {
    size_t size; /* sizeof(det_image) */
    const void *pixels;
    uint32_t width;
    uint32_t height;
    uint32_t channels; /* 1 to 4 */
    size_t stride;     /* bytes from row to row; 0: one follows the other */
} det_image;

/* Adds a picture given as pixels.  They are stored as PNG, but not compressed. */
DET_API det_status det_events_image(det_events *events, const char *tag, int64_t step,
                                    const det_image *image);
/* Adds a picture that is a PNG file already. */
DET_API det_status det_events_png(det_events *events, const char *tag, int64_t step,
                                  const void *png, size_t len);

/* ---- hyperparameters of the run -------------------------------------------------- */

/* How a run has ended. */
typedef enum det_run_end { DET_RUN_SUCCEEDED = 1, DET_RUN_FAILED = 2 } det_run_end;

/* Says with which hyperparameters the run began, for the page HPARAMS: once, before the
 * metrics.  `hparams` is a JSON object; NULL: those of the context.  What lies deeper
 * is named with dots ("optimizer.lr"), lists become text, null is left out.  Runs of
 * one `group` are shown together; NULL: each by itself. */
DET_API det_status det_events_hparams(det_events *events, const char *hparams,
                                      const char *group);
/* Says how the run ended; without it, it counts as still running. */
DET_API det_status det_events_end(det_events *events, det_run_end end);

#ifdef __cplusplus
}
#endif

#endif
