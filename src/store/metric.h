/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h - metrics inside the store; data.h holds what others see.
 *
 *   report --> tail row ---compaction---> block of columns
 *                 \                         /  \
 *                  `------- cells ---------'    `-- head: a summary of each column
 *
 * Keys.  A row's key within (trial, group, run) is (steps, nth): nth is 0 where the
 * report had steps; without, steps is -1 and nth the row's id. Shapes.  The names of a
 * report are interned a trial and group as a shape; a tail row holds the shape's
 * number, a double for each of its numbers, and as JSON what is no number.  A trial
 * whose names never repeat gets no more shapes after METRIC_SHAPES: then everything is
 * JSON. Rollback.  Of a run that a later one went back behind, all rows with steps >=
 * cut are archived: one number in `metric_runs`, no row is touched, in blocks or
 * outside. Blocks of one (trial, group, run) never overlap; tail rows may lie anywhere.
 */
#ifndef STORE_METRIC_H
#define STORE_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct arena;
struct buf;
struct db;
struct db_query;
struct json;
struct report_metrics;

enum {
    METRIC_BLOCK_ROWS = 1024,
    METRIC_SHAPES = 256, /* a trial and group; more and JSON takes over */
};

#define METRIC_UNCUT INT64_MAX

struct metric_key {
    int64_t trial_id;
    int64_t group_id;
    int64_t run_id;
};

struct metric_place {
    int64_t steps;
    int64_t nth;
};

static inline int metric_place_compare(struct metric_place a, struct metric_place b)
{
    if (a.steps != b.steps)
        return a.steps < b.steps ? -1 : 1;
    return a.nth == b.nth ? 0 : a.nth < b.nth ? -1 : 1;
}

/* One report in memory; everything borrows from an arena. */
struct metric_cells {
    int64_t id;
    int64_t steps; /* -1: none */
    int64_t report_us;
    uint32_t count;          /* numbers */
    const char *const *name; /* sorted */
    const double *value;
    const char *rest;  /* JSON object: what is no number; NULL: nothing */
    const char *batch; /* JSON array; NULL: none */
};

static inline struct metric_place metric_place_of(const struct metric_cells *row)
{
    return (struct metric_place){row->steps, row->steps < 0 ? row->id : 0};
}

struct metric_shape {
    struct metric_shape *next;
    int64_t id;
    uint32_t numbers;
    uint32_t others;
    const char **name; /* the numbers', then the others', each sorted */
};

/* ---- a report taken apart (metric_parts.c) --------------------------------------- */

struct metric_text {
    const char *text; /* need not end with a NUL */
    size_t len;       /* 0: none */
};

struct metric_part {
    const char *name; /* `len` bytes */
    size_t len;
    double value;            /* of a number */
    const struct json *json; /* as it came; NULL: a bare number */
};

/* Numbers that a double holds, and what is anything else; each sorted by name.  Two
 * ways in, a tree or the values of a ring's record; from here on they are the same. */
struct metric_parts {
    struct metric_part *number;
    struct metric_part *other;
    uint32_t numbers;
    uint32_t others;
};

/* Borrow from what they read; the arrays lie in `mem`. */
det_status metric_parts_of_json(const struct json *object, struct arena *mem,
                                struct metric_parts *ret_parts, struct err *err);
/* DET_INVALID: a value that should be JSON is none. */
det_status metric_parts_of_values(const struct report_metrics *values,
                                  struct arena *mem, struct metric_parts *ret_parts,
                                  struct err *err);
/* DET_INVALID: a name is no text, or is there twice. */
det_status metric_parts_check(const struct metric_parts *parts, struct err *err);
bool metric_parts_fit(const struct metric_parts *parts,
                      const struct metric_shape *shape);
/* Copies the names; NULL when memory is out. */
struct metric_shape *metric_parts_shape(const struct metric_parts *parts, int64_t id,
                                        struct arena *mem);
/* ---- summaries (metric_stat.c) --------------------------------------------------- */

enum metric_type {
    METRIC_NUMBER,
    METRIC_STRING,
    METRIC_BOOLEAN,
    METRIC_DATE,
    METRIC_OBJECT,
    METRIC_ARRAY,
    METRIC_NULL,
    METRIC_TYPES,
};

enum metric_mark_kind { MARK_FIRST, MARK_MIN, MARK_MAX, MARK_LAST, MARKS };

struct metric_mark {
    int64_t steps;
    int64_t report_us;
    double value;
};

struct metric_stat {
    const char *name;
    uint32_t types; /* bit set of enum metric_type */
    uint64_t count; /* numbers */
    double sum;
    struct metric_mark mark[MARKS]; /* when count > 0 */
    int64_t last_run;               /* the place of the last value of any type */
    struct metric_place last_place;
    const char *last; /* JSON; NULL: it is the number of MARK_LAST */
};

struct metric_stats {
    struct arena *mem;
    struct map by_name;
    VEC(struct metric_stat *) all;
};

void metric_stats_done(struct metric_stats *stats);
/* DET_NOMEM, or DET_CORRUPT for damaged bytes. */
det_status metric_stats_add_row(struct metric_stats *stats, int64_t run_id,
                                const struct metric_cells *row, struct err *err);
det_status metric_stats_add_head(struct metric_stats *stats, int64_t run_id,
                                 const void *head, size_t len, struct err *err);
void metric_stats_encode(const struct metric_stats *stats, struct buf *out);
void metric_stats_sort(struct metric_stats *stats); /* by name */
/* How the API calls a bit set of types; several at once are "string". */
const char *metric_type_name(uint32_t types);

/* ---- blocks (metric_block.c) ----------------------------------------------------- */

/* Rows are sorted by their places.  Appends to both. */
det_status metric_block_encode(const struct metric_cells *row, uint32_t count,
                               struct arena *mem, struct buf *head, struct buf *data,
                               struct err *err);
det_status metric_block_decode(const void *data, size_t len, struct arena *mem,
                               struct metric_cells **ret_rows, uint32_t *ret_count,
                               struct err *err);

/* Only some columns of a block.  A value that is JSON in its row (too long for a
 * double) is there as the double next to it. */
struct metric_columns {
    uint32_t rows;
    int64_t *steps;
    int64_t *report_us;
    double **value;      /* of each name that was asked for: `rows` of them */
    unsigned char **has; /* likewise: 1 where the row has it; NULL: no row has */
};
/* `name` is sorted.  Into `mem`. */
det_status metric_block_columns(const void *data, size_t len, const char *const *name,
                                uint32_t names, struct arena *mem,
                                struct metric_columns *ret_columns, struct err *err);

/* ---- rows (metric_rows.c) -------------------------------------------------------- */

/* The shapes of a trial and group, in `mem`. */
det_status metric_shapes_load(struct db *db, const struct metric_key *key,
                              struct arena *mem, struct metric_shape **ret_shapes,
                              struct err *err);
/* `tail` rows behind `after`, at most `limit` (sorted), in `mem`. */
struct metric_rows {
    struct metric_cells *row;
    uint32_t count;
};
det_status metric_tail_load(struct db *db, const struct metric_key *key,
                            struct metric_place after, uint32_t limit,
                            struct arena *mem, struct metric_rows *ret_rows,
                            struct err *err);
/* The block that holds `place` or else the next one behind it, decoded; *ret_id 0:
 * none. With `exact` only one whose stretch holds the place. */
struct metric_block {
    int64_t id; /* 0: none */
    struct metric_place first;
    struct metric_place last;
    uint32_t count;
    struct metric_rows rows;
};
det_status metric_block_behind(struct db *db, const struct metric_key *key,
                               struct metric_place after, struct arena *mem,
                               struct metric_block *ret_block, struct err *err);
/* The block that begins at or before `place`, not decoded when `mem` is NULL. */
det_status metric_block_upto(struct db *db, const struct metric_key *key,
                             struct metric_place place, struct arena *mem,
                             struct metric_block *ret_block, struct err *err);
det_status metric_block_drop(struct db *db, const struct metric_key *key,
                             const struct metric_block *block, struct err *err);
det_status metric_block_put(struct db *db, const struct metric_key *key,
                            const struct metric_rows *rows, struct arena *mem,
                            struct err *err);
/* The runs and groups a trial has reports of; NULL group: all. */
struct metric_run {
    struct metric_key key;
    const char *group;
    int64_t cut;
};
det_status metric_runs_load(struct db *db, int64_t trial_id, const char *group,
                            struct arena *mem, struct metric_run **ret_runs,
                            uint32_t *ret_count, struct err *err);
/* The JSON object of a row's values; *ret_text in `mem`. */
det_status metric_cells_text(const struct metric_cells *row, struct arena *mem,
                             const char **ret_text, struct err *err);
det_status metric_cells_json(const struct metric_cells *row, struct arena *mem,
                             struct json **ret_object, struct err *err);

/* What a trial reported in a group and was not taken back, summed up
 * (store_metric_summary.c). */
det_status metric_stats_of(struct db *db, int64_t trial_id, const char *group,
                           struct metric_stats *stats, struct err *err);

/* ---- reading in order (metric_cursor.c) ------------------------------------------ */

struct metric_cursor;
struct metric_query;

/* The next row in the order of run, steps, group; NULL at the end.  Borrowed until the
 * next call. */
struct metric_found {
    const struct metric_cells *row; /* NULL: the end */
    const struct metric_run *run;
    bool is_archived;
};
det_status metric_cursor_new(struct db *db, const struct metric_query *query,
                             struct metric_cursor **ret_cursor, struct err *err);
det_status metric_cursor_next(struct metric_cursor *cursor,
                              struct metric_found *ret_found, struct err *err);
void metric_cursor_free(struct metric_cursor *cursor);
void metric_cursor_freep(struct metric_cursor **cursor);

/* ---- writing (store_metric.c) ---------------------------------------------------- */

struct metric_group;

/* Writes a row into the tail; its names are interned through the writer's cache. */
det_status metric_tail_put(struct db *db, const struct metric_key *key,
                           struct metric_group *group, const struct metric_cells *row,
                           struct arena *mem, struct err *err);
/* The block that holds exactly this place goes back to the tail. */
det_status metric_block_unpack(struct db *db, const struct metric_key *key,
                               struct metric_group *group, struct metric_place place,
                               struct arena *mem, struct err *err);

#endif
