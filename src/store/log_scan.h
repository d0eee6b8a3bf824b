/* SPDX-License-Identifier: Apache-2.0 */
/* log_scan.h - which lines of a chunk hold what is searched for.
 *
 * A chunk is its lines' texts with a few bytes between them, so a text is looked for in
 * the whole of it at once; lines are taken apart only up to the places where it stands,
 * and a place that reaches over the end of a line is none.  Of a regular expression the
 * texts of which its matches hold one are looked for so; only lines that have one are
 * matched. */
#ifndef STORE_LOG_SCAN_H
#define STORE_LOG_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/find.h"
#include "base/pattern.h"

struct log_line;
struct log_query;

struct log_scan {
    struct {
        struct find find;
        const char *at; /* where it stands next in this chunk; NULL: nowhere */
    } place[PATTERN_LITERALS];
    size_t places;           /* 0: nothing to look for in whole chunks */
    struct pattern *pattern; /* NULL: it is a plain text, or nothing */
    struct pattern_matcher *matcher;
    const char *end; /* of the chunk */
    bool is_over;    /* none of them stands in the rest of the chunk */
    size_t cost;     /* beyond looking: bytes that were matched, weighted */
};

/* Borrows the query.  DET_INVALID: its expression is none. */
det_status log_scan_init(struct log_scan *scan, const struct log_query *query,
                         struct err *err);
void log_scan_done(struct log_scan *scan);

/* A chunk; false: none of its lines matches. */
bool log_scan_begin(struct log_scan *scan, const void *bytes, size_t len);
/* Lines of it, one after the other: false: it does not match, which is told cheaply. */
bool log_scan_may(struct log_scan *scan, const struct log_line *line);
/* Of one that may: whether it does. */
bool log_scan_matches(struct log_scan *scan, const struct log_line *line);
/* Of one that does: where; nothing, at its beginning, where nothing is looked for. */
struct log_hit {
    size_t begin;
    size_t end;
};
struct log_hit log_scan_where(struct log_scan *scan, const struct log_line *line);
/* What this chunk has cost besides its bytes, in bytes; counts from 0 again. */
size_t log_scan_cost(struct log_scan *scan);

#endif
