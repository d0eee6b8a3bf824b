/* SPDX-License-Identifier: Apache-2.0 */
/* log_read.h - pages of a log, with filters and a search. */
#ifndef STORE_LOG_LOG_READ_H
#define STORE_LOG_LOG_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/field.h"

struct arena;
struct db;
struct log_line;

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
    bool is_regex; /* as in base/text/pattern.h */
    bool folds;    /* the search ignores the case of A-Z */
    /* The most bytes of a line's text; 0: all.  The rest of the line is left out around
     * the found text: its first occurrence, or for an expression the match that ends
     * first.  Of a longer match the beginning is kept. */
    uint32_t cut_bytes;
};

/* Lines in the arena they were read into. */
struct log_page {
    struct log_line *line;
    uint32_t count;
    int64_t next; /* pass it as after_id (or before_id, descending) to go on */
    bool is_end;  /* the log had nothing after this page when it was read */
};
/* DET_INVALID: the search is not a valid regular expression. */
det_status store_log_check(const struct log_query *query, struct err *err);
/* A call examines at most about 8 MB of lines (1 MB with a regular expression) and
 * returns at most about 4 MB.  With filters a page can therefore be short or empty
 * although it is not the end. */
det_status store_log_read(struct db *db, const struct log_query *query,
                          struct arena *mem, struct log_page *ret_page,
                          struct err *err);
/* What lines that are being rewritten show now, at most one per sender; their id is 0.
 * Filters apply, bounds of lines and `limit` do not. */
det_status store_log_live(struct db *db, const struct log_query *query,
                          struct arena *mem, struct log_page *ret_page,
                          struct err *err);

#endif
