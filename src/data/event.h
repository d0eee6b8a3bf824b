/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - TensorBoard's event files: records, and the messages in them.
 *
 *   file     records, one behind the other
 *   record   u64 length, u32 check of the length, the message, u32 check of it; little-
 *            endian; a check is the CRC-32C, turned right by 15 bits, plus 0xa282ead8
 *   message  an Event in protobuf's wire format: wall time, step, and one of: the
 *            version of the format (the first of a file), the mark of a restart, or a
 *            Summary with values: tag, body
 *   body     a number, or a tensor with the name of the page that shows it
 *
 * Messages are written with their fields in the order of their numbers and without
 * those that have their default value, as protobuf's own writers do: equal events,
 * equal bytes. Every function adds to a buffer; its status says whether all of it fits.
 */
#ifndef DATA_EVENT_H
#define DATA_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "det/tensorboard.h"

struct buf;
struct json;

struct event_stamp {
    double wall_s;
    int64_t step;
};

/* Records. */
void event_version(struct buf *out, double wall_s);
/* From here on the run goes on at the stamp's step, whatever was said about later ones.
 */
void event_restart(struct buf *out, const struct event_stamp *stamp);
/* One value: `tag`, and a body made by a function below. */
void event_value(struct buf *out, const struct event_stamp *stamp, const char *tag,
                 const struct buf *body);
/* One value that is a number. */
void event_number(struct buf *out, const struct event_stamp *stamp, const char *tag,
                  float value);
/* Several numbers in one record. */
void event_numbers(struct buf *out, const struct event_stamp *stamp,
                   const det_metric *metrics, size_t count);

/* Bodies. */
void event_text(struct buf *body, const char *text);
void event_buckets(struct buf *body, const det_bucket *buckets, size_t count);
void event_image(struct buf *body, uint32_t width, uint32_t height,
                 const struct buf *png);
/* `hparams` is an object; `group` may be NULL. */
void event_hparams(struct buf *body, const struct json *hparams, const char *group,
                   double begun_s);
void event_end(struct buf *body, det_run_end end, double ended_s);

/* The tags that the last two go under. */
#define EVENT_HPARAMS_TAG "_hparams_/session_start_info"
#define EVENT_END_TAG     "_hparams_/session_end_info"

#endif
