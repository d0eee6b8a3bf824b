/* SPDX-License-Identifier: Apache-2.0 */
/* event_media.h - reads pictures, sounds, texts and histograms from TensorBoard's event
 * files (event_file.h has their form; numbers and everything else are skipped).
 *
 * Writers use two encodings of a value, and both are read:
 *
 *   old   a field of its own per kind: Image, HistogramProto, Audio
 *         (TensorFlow 1, torch.utils.tensorboard, tensorboardX)
 *   new   a tensor, and in the metadata the name of the page that shows it: "images",
 *         "histograms", "audio", "text" (tf.summary of TensorFlow 2, texts of PyTorch,
 *         det_events_*())
 *
 * The files are written by programs that we do not trust: a wrong length ends the message
 * and never reads beyond it.  Checksums are not compared, because a value that does not
 * look like its type is left out anyway.  Pure. */
#ifndef DATA_EVENT_EVENT_MEDIA_H
#define DATA_EVENT_EVENT_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { EVENT_RECORD_HEAD = 12, EVENT_RECORD_TAIL = 4 };

struct event_media {
    double wall_s;
    int64_t step;
    uint32_t place;  /* in its record: says which value, and which picture of it */
    uint32_t part;   /* number of the picture or sound within its value, from 0 */
    uint32_t type;   /* enum det_media_type */
    const char *tag; /* borrowed, no NUL at its end */
    size_t tag_len;
    const unsigned char
        *bytes; /* borrowed; of a histogram: see event_histogram_json() */
    size_t len;
    bool is_tensor; /* a histogram in the new encoding */
};

/* The length of a message, from the head of its record. */
uint64_t event_record_len(const unsigned char head[EVENT_RECORD_HEAD]);

/* Calls `fn` for each media value of a message; false from `fn` ends it. */
typedef bool event_media_fn(void *arg, const struct event_media *media);
void event_media_each(const void *message, size_t len, event_media_fn *fn, void *arg);

/* Writes a histogram as a DET_MEDIA_HISTOGRAM.  False: it has no buckets, or its numbers
 * are not finite. */
bool event_histogram_json(const struct event_media *media, struct buf *out);

#endif
