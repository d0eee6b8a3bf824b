/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - the data road: metrics, logs and checkpoints go straight to the store.
 *
 * Metrics.  The names of a trial's metrics are interned; a report is a small tail row
 * (packed doubles where all values are numbers; a tagged form for strings, lists, nulls
 * and batch metrics; report time), later compacted into column blocks keyed by (trial,
 * run, group, steps) that carry their own summaries.  Merging: a second report with the
 * same key adds names; the same value again is fine, another value is DET_EXISTS; batch
 * metrics twice is DET_EXISTS.  Rollback: when a report comes with a higher run, rows
 * of older runs with more steps (or as many, within the group) are marked archived,
 * never deleted.
 *
 * Logs.  Rows of chunks: task, first and last line number, times, a blob of at most 64
 * KB of lines with time, level, stream, rank and origin each.  Small chunks are merged
 * into large ones beside the traffic.  The last lines of a task are found by key,
 * however many there are.
 *
 * Everything here takes a connection: inside a write job to write, a reader to read. */
#ifndef STORE_DATA_H
#define STORE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct buf;
struct db;
struct json;
struct report_metrics;
struct store;

/* ---- metrics --------------------------------------------------------------------- */

struct metric_report {
    int64_t trial_id;
    int64_t run_id;
    const char *group; /* not empty, no '.' */
    bool has_steps;
    int64_t steps;
    int64_t report_us;
    const struct json *avg;   /* object: name -> any JSON */
    const struct json *batch; /* array of objects, or NULL */
    /* Instead of both: the values as a ring's record has them (wire/report.h), which
     * need no tree.  Its steps and group are not looked at. */
    const struct report_metrics *values;
};

/* *ret_is_new: the row was not there before (only then is it an event).  Statuses:
 * DET_NOT_FOUND (no such trial), DET_STATE (a run that is over: trial_run_id is not the
 * current one), DET_EXISTS (conflict, names the metric). */
det_status store_metric_add(struct db *db, const struct metric_report *report,
                            struct arena *mem, bool *ret_is_new, struct err *err);

/* {"name": value, ...}: such values as a tree, in `mem`.  DET_INVALID as above. */
det_status metric_values_json(const struct report_metrics *values, struct arena *mem,
                              struct json **ret_object, struct err *err);

struct metric_row {
    int64_t id; /* grows with time within a trial and group */
    int64_t trial_id;
    int64_t run_id;
    const char *group;
    bool has_steps;
    int64_t steps; /* 0 without any */
    int64_t report_us;
    bool is_archived;
    const char *avg;   /* JSON object text */
    const char *batch; /* JSON array text, or NULL */
};

struct metric_query {
    int64_t trial_id;
    const char *group; /* NULL: all */
    bool with_archived;
    bool with_batch;
    /* cursor: rows behind this one; its four values (steps -1 where it has none) */
    bool has_cursor;
    int64_t after_run;
    int64_t after_steps;
    const char *after_group;
    int64_t after_id; /* only matters among rows without steps */
    uint32_t limit;   /* rows; 0: all */
};
/* Ordered by run, steps, group; rows without steps first, by id.  Rows in `mem`. */
det_status store_metric_read(struct db *db, const struct metric_query *query,
                             struct arena *mem, struct metric_row **ret_rows,
                             uint32_t *ret_count, struct err *err);

/* What a trial reported in a group at exactly those steps and was not taken back; NULL:
 * nothing. */
det_status store_metric_at(struct db *db, int64_t trial_id, const char *group,
                           int64_t steps, struct arena *mem, struct json **ret_metrics,
                           struct err *err);
/* {"avg_metrics":{name:{type,count,min,max,sum,mean,last}},"validation_metrics":{...}}
 */
det_status store_metric_summary(struct db *db, int64_t trial_id, struct buf *ret_json,
                                struct err *err);
/* max(steps) of all groups that is not archived; 0: none. */
det_status store_metric_steps(struct db *db, int64_t trial_id, int64_t *ret_steps,
                              struct err *err);

/* One step of compaction: turns the oldest full run of tail rows into a block.
 * *ret_did: there was something to do.  `everything`: also short runs (tests, bench,
 * the end of a trial). */
det_status store_metric_compact(struct db *db, bool everything, bool *ret_did,
                                struct err *err);

/* ---- logs ------------------------------------------------------------------------ */

enum log_stream { LOG_STREAM_NONE, LOG_STREAM_STDOUT, LOG_STREAM_STDERR };
enum log_severity {
    LOG_SEVERITY_UNSPECIFIED,
    LOG_SEVERITY_TRACE,
    LOG_SEVERITY_DEBUG,
    LOG_SEVERITY_INFO,
    LOG_SEVERITY_WARNING,
    LOG_SEVERITY_ERROR,
    LOG_SEVERITY_CRITICAL,
};
extern const char *const log_severity_names[]; /* wire names without LOG_LEVEL_ */

struct log_line {
    int64_t id; /* its number within the task, 1.. ; given by the store */
    int64_t time_us;
    enum log_severity severity;
    enum log_stream stream;
    int64_t rank;     /* -1: none */
    const char *text; /* without its newline; any bytes but NUL */
    uint32_t len;
    uint32_t cut;     /* bytes of it left out behind these; see log_query */
    uint32_t skipped; /* bytes of it left out before these */
    /* where it came from; equal for a whole batch */
    const char *allocation; /* NULL: unknown */
    const char *agent;
    const char *container;
    const char *source; /* "task", "master" */
};

/* A batch of one sender.  With `sender` (allocation, rank and stream) the batch carries
 * the offset of its first byte in that stream and the offset behind its last: what was
 * stored before is skipped, so that a line is stored once.  *ret_stored: lines added.
 */
struct log_batch {
    const char *task_id;
    const struct log_line *line;
    uint32_t count;
    const char *sender; /* NULL: no offsets */
    int64_t offset;
    int64_t end_offset;
};
det_status store_log_add(struct db *db, const struct log_batch *batch,
                         struct arena *mem, uint32_t *ret_stored, struct err *err);
/* Where that sender should go on; 0: nothing stored yet. */
det_status store_log_offset(struct db *db, const char *sender, int64_t *ret_offset,
                            struct err *err);

struct log_query {
    const char *task_id;
    int64_t after_id;  /* lines with a larger id ... */
    int64_t before_id; /* ... and a smaller one; 0: no bound */
    bool is_descending;
    uint32_t limit; /* lines; 0: as many as fit in one page (about 64 KB) */
    /* filters; empty: all */
    uint32_t severities; /* bit set */
    struct field_strs allocations;
    struct field_strs agents;
    struct field_strs containers;
    struct field_strs sources;
    struct field_strs streams; /* "stdout", "stderr" */
    struct field_i64s ranks;   /* -1: lines without one */
    int64_t from_us;           /* later than */
    int64_t to_us;             /* not later than; 0: no bound */
    const char *search;
    bool is_regex;      /* as in base/pattern.h */
    bool folds;         /* A-Z are searched for as a-z */
    uint32_t cut_bytes; /* so much of a line's text at most; 0: all of it.  What is
                         * searched for is in what is left: the text where it stands
                         * first, of an expression the match that ends first; of one
                         * longer than that its beginning */
};

/* Lines in the arena they were read into. */
struct log_page {
    struct log_line *line;
    uint32_t count;
    int64_t next; /* pass it as after_id (or before_id, descending) to go on */
    bool is_end;  /* there was nothing behind this page when it was read */
};
/* DET_INVALID: what it searches for is no regular expression. */
det_status store_log_check(const struct log_query *query, struct err *err);
/* A call looks at about 8 MB of lines at most (1 MB with a regular expression), and
 * returns some 4 MB: with filters a page may be short, or empty, and not the end. */
det_status store_log_read(struct db *db, const struct log_query *query,
                          struct arena *mem, struct log_page *ret_page,
                          struct err *err);
det_status store_log_compact(struct db *db, bool *ret_did, struct err *err);
/* Lines older than their task's retention go, a chunk at a time once all its lines are;
 * *ret_removed lines.  Bounded: call again while some go. */
det_status store_log_expire(struct db *db, int64_t now_us, int64_t default_days,
                            int64_t *ret_removed, struct err *err);
/* What values the filters could have: {"agentIds":[..],"rankIds":[..],...}. */
det_status store_log_fields(struct db *db, const char *task_id, struct buf *ret_json,
                            struct err *err);

/* ---- checkpoints ----------------------------------------------------------------- */

struct checkpoint {
    const char *uuid;
    const char *task_id;
    const char *allocation_id; /* its name on the wire */
    int64_t trial_id;
    int64_t experiment_id;
    uint32_t state; /* enum checkpoint_state */
    int64_t steps_completed;
    const char *metadata;  /* JSON object */
    const char *resources; /* JSON object: path -> size */
    int64_t size_bytes;
    int64_t report_us;
    int64_t storage_id;
    double searcher_metric; /* of the validation at the same steps */
    bool has_searcher_metric;
    bool is_held; /* another trial began from it: it is not collected */
};
extern const struct field checkpoint_fields[];

/* *ret_is_new as above; an equal one again is fine. */
det_status store_checkpoint_add(struct db *db, const struct checkpoint *row,
                                bool *ret_is_new, struct err *err);
det_status store_checkpoint_get(struct db *db, const char *uuid, struct arena *mem,
                                struct checkpoint *ret_row, struct err *err);
/* The best complete one of a trial by the searcher's metric, as the experiment counts
 * it; without any metric the last one.  *ret_found: there is one. */
det_status store_checkpoint_best(struct db *db, int64_t trial_id, struct arena *mem,
                                 struct checkpoint *ret_row, bool *ret_found,
                                 struct err *err);
/* New resources: empty means DELETED, fewer PARTIALLY_DELETED. */
det_status store_checkpoint_set_resources(struct db *db, const char *uuid,
                                          const struct json *resources,
                                          struct arena *mem, struct err *err);
det_status store_checkpoint_set_metadata(struct db *db, const char *uuid,
                                         const char *metadata, struct err *err);

enum checkpoint_sort {
    CHECKPOINT_BY_END_TIME,
    CHECKPOINT_BY_UUID,
    CHECKPOINT_BY_TRIAL,
    CHECKPOINT_BY_STEPS,
    CHECKPOINT_BY_STATE,
    CHECKPOINT_BY_METRIC,
};
struct checkpoint_query {
    int64_t experiment_id; /* or */
    int64_t trial_id;
    uint32_t states; /* bit set; 0: all */
    enum checkpoint_sort sort;
    bool is_descending;
    int64_t offset; /* negative: from the end */
    int64_t limit;  /* 0: all */
};
det_status store_checkpoint_list(struct db *db, const struct checkpoint_query *query,
                                 struct arena *mem, struct checkpoint **ret_rows,
                                 uint32_t *ret_count, int64_t *ret_total,
                                 struct err *err);

#endif
