/* SPDX-License-Identifier: Apache-2.0 */
/* log_scan.h - finds the lines of a chunk that match a search.
 *
 * A chunk is the texts of its lines with a few bytes between them, so a text is
 * searched in the whole chunk at once.  Lines are decoded only up to the hits; a hit
 * that crosses the end of a line does not count.  A regular expression is
 * turned into texts, one of which every match must contain; only lines that contain one
 * are matched. */
#ifndef STORE_LOG_LOG_SCAN_H
#define STORE_LOG_LOG_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text/find.h"
#include "base/text/pattern.h"

struct log_line;
struct log_query;

struct log_scan {
    struct {
        struct find find;
        const char *at; /* its next hit in this chunk; NULL: none */
    } place[PATTERN_LITERALS];
    size_t places;           /* 0: no text to search for in whole chunks */
    struct pattern *pattern; /* NULL: a plain text, or no search */
    struct pattern_matcher *matcher;
    const char *end; /* of the chunk */
    bool is_over;    /* the rest of the chunk has no hit */
    size_t cost;     /* bytes that were matched, weighted */
};

/* Borrows the query.  DET_INVALID: its regular expression is not valid. */
det_status log_scan_init(struct log_scan *scan, const struct log_query *query,
                         struct err *err);
void log_scan_done(struct log_scan *scan);

/* Begins a chunk.  False: no line of it matches. */
bool log_scan_begin(struct log_scan *scan, const void *bytes, size_t len);
/* Call these for the lines of the chunk in order.  A cheap test: false means that the
 * line does not match. */
bool log_scan_may(struct log_scan *scan, const struct log_line *line);
/* For a line that may match: whether it does. */
bool log_scan_matches(struct log_scan *scan, const struct log_line *line);
/* For a line that matches: where; without a search an empty hit at its beginning. */
struct log_hit {
    size_t begin;
    size_t end;
};
struct log_hit log_scan_where(struct log_scan *scan, const struct log_line *line);
/* Returns the cost of matching since the last call, in bytes. */
size_t log_scan_cost(struct log_scan *scan);

#endif
