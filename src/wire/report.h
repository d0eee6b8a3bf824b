/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the reports of a trial as bytes: the records of the ring and of the batched
 * call.
 *
 * A training process writes records into its ring (libdet/ring/ring.h).  Its supervisor
 * sends them unchanged to POST /api/v1/allocations/{id}/reports, and the master reads
 * them with the same functions.  So a report is encoded once and decoded once.
 *
 *   record  = length u32   bytes of the payload
 *             check u32    CRC-32C of the length and of all that follows the check
 *             number u64   from 1, without gaps in a ring: a gap means lost records
 *             time i64     wall clock, us, when the library accepted the report
 *             kind u32     enum report_kind
 *             run u32      the run of the trial
 *             payload, and zeroes up to a multiple of 8
 *
 *   metrics = steps i64 (-1: none), group text, count u32, count times
 *             (type u8, name text, value), batch text (JSON list, or empty)
 *   text    = length u32, bytes
 *   value   = f64 for REPORT_NUMBER, text of JSON for REPORT_JSON
 *
 *   media   = steps i64, type u32 (enum det_media_type), name text, the bytes
 *
 * All other kinds have JSON as their payload: the body of the call of the same name.
 * Little-endian throughout.  Pure; no function keeps anything. */
#ifndef WIRE_REPORT_H
#define WIRE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct arena;

enum { REPORT_HEADER = 32, REPORT_BYTES_MOST = 4 << 20 };
enum { REPORT_GROUPS_MOST = 256 }; /* of metrics, of one trial */

/* Used on disk and on the wire: never reuse a number. */
enum report_kind {
    REPORT_METRICS = 1,
    REPORT_PROGRESS = 2,   /* of POST /trials/{id}/progress */
    REPORT_CHECKPOINT = 3, /* of POST /checkpoints */
    REPORT_EARLY_EXIT = 4, /* of POST /trials/{id}/early_exit */
    REPORT_STATUS = 5,     /* of POST /trials/{id}/runner/metadata */
    REPORT_ALERT = 6,      /* {"title", "description", "level"} */
    REPORT_MEDIA = 7,
};

struct report {
    enum report_kind kind;
    uint32_t run;
    uint64_t number;
    int64_t time_us;
    const void *payload; /* borrowed */
    uint32_t len;
};

/* ---- records --------------------------------------------------------------------- */

/* The size of the record of a payload, padding included; 0: the payload is too long. */
size_t report_size(size_t payload_len);
/* Writes report_size() bytes.  The payload may already be in place, REPORT_HEADER bytes
 * behind `to`. */
void report_encode(const struct report *report, void *to);
/* The first record of `bytes`.  DET_NOT_FOUND: the bytes end before the record does.
 * DET_CORRUPT: the checksum is wrong; *ret_used is then where the next record may begin,
 * 0 if even the length is impossible. */
det_status report_decode(const void *bytes, size_t len, struct report *ret_report,
                         size_t *ret_used, struct err *err);

/* Reads a header of REPORT_HEADER bytes without checking the record.  False: the length
 * is impossible, so there is no record. */
bool report_peek(const void *bytes, uint64_t *ret_number, size_t *ret_size);

/* ---- metrics --------------------------------------------------------------------- */

enum report_type { REPORT_NUMBER = 0, REPORT_JSON = 1 };

struct report_value {
    const char *name;
    size_t name_len;
    enum report_type type;
    double number;
    const char *json; /* only for REPORT_JSON */
    size_t json_len;
};

struct report_metrics {
    int64_t steps; /* -1: none */
    const char *group;
    size_t group_len;
    uint32_t count;
    const struct report_value *value;
    const char *batch; /* JSON list; NULL: none */
    size_t batch_len;
};

/* The statuses of a task whose environment is built, before its program runs. */
#define STATUS_BUILDING "building the environment"
#define STATUS_BUILT    "running"
/* Whether a record is such a status, which no program has made. */
bool report_is_of_build(const struct report *report);

enum { REPORT_NAME_MOST = 256, REPORT_STATUS_MOST = 1 << 10 };
/* Whether `name` can be the name of a metric, or with `is_group` of a group: 1 to
 * REPORT_NAME_MOST bytes of UTF-8 without control characters, and no dot in a group.
 * (Names appear in addresses, tables and terminals.)  DET_INVALID names the broken rule.
 */
det_status report_check_name(const char *name, size_t len, bool is_group,
                             struct err *err);

/* The size of the payload; then the payload.  Two passes, so no memory is needed. */
size_t report_metrics_size(const struct report_metrics *metrics);
void report_metrics_encode(const struct report_metrics *metrics, void *to);
/* Texts borrow from `payload` and have no NUL at their end; the array is in `mem`.
 * DET_CORRUPT: the bytes are not a valid payload. */
det_status report_metrics_decode(const void *payload, size_t len, struct arena *mem,
                                 struct report_metrics *ret_metrics, struct err *err);
/* Whether the payload is of that group; does not check the rest of it. */
bool report_metrics_is_of(const void *payload, size_t len, const char *group);

/* ---- media ----------------------------------------------------------------------- */

struct report_media {
    int64_t steps;
    uint32_t type; /* enum det_media_type */
    const char *name;
    size_t name_len;
    const void *bytes;
    size_t len;
};

/* Whether `name` can be the name of an item: the rules of metrics. */
det_status report_check_media_name(const char *name, size_t len, struct err *err);
/* As for metrics.  The bytes borrow from `payload`.  The type is not checked. */
size_t report_media_size(const struct report_media *media);
void report_media_encode(const struct report_media *media, void *to);
det_status report_media_decode(const void *payload, size_t len,
                               struct report_media *ret_media, struct err *err);

#endif
