/* SPDX-License-Identifier: Apache-2.0 */
/* event_file.h - TensorBoard's event files: records, and the messages in them.
 *
 *   file     records, one behind the other
 *   record   u64 length, u32 checksum of the length, the message, u32 checksum of it;
 *            little-endian; a checksum is the CRC-32C, turned right by 15 bits, plus
 *            0xa282ead8
 *   message  an Event in protobuf's wire format: wall time, step, and one of: the
 *            version of the format (the first of a file), the mark of a restart, or a
 *            Summary with values: tag, body
 *   body     a number, or a tensor with the name of the page that shows it
 *
 * Messages are written as protobuf's own writers do: fields in the order of their
 * numbers, without those that have their default value.  Equal events give equal bytes.
 * Every function adds to a buffer; its status says whether everything fits. */
#ifndef DATA_EVENT_FILE_H
#define DATA_EVENT_FILE_H

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
/* From here on the run continues at the stamp's step; later steps written before are
 * void. */
void event_restart(struct buf *out, const struct event_stamp *stamp);
/* One value: `tag`, and a body made by a function below. */
void event_value(struct buf *out, const struct event_stamp *stamp, const char *tag,
                 const struct buf *body);
/* Numbers, in one record. */
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
