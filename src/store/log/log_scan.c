/* SPDX-License-Identifier: Apache-2.0 */
/* log_scan.c - see log_scan.h. */
#include "store/log/log_scan.h"

#include <string.h>

#include "base/compiler.h"
#include "store/log/log_line.h"
#include "store/log/log_read.h"

enum { PATTERN_COST = 4 }; /* matching a byte costs this many times searching it */

static det_status compile_pattern(struct log_scan *scan, const struct log_query *query,
                                  struct err *err)
{
    const struct pattern_literal *literal;
    det_status st = query->folds
                        ? pattern_new_folding(query->search, &scan->pattern, err)
                        : pattern_new(query->search, &scan->pattern, err);

    if (!st)
        st = pattern_matcher_new(scan->pattern, &scan->matcher, err);
    if (st)
        return st;
    scan->places = pattern_literals(scan->pattern, &literal);
    for (size_t i = 0; i < scan->places; i++)
        find_init(&scan->place[i].find, literal[i].text, literal[i].len, query->folds);
    return DET_OK;
}

det_status log_scan_init(struct log_scan *scan, const struct log_query *query,
                         struct err *err)
{
    det_status st = DET_OK;

    *scan = (struct log_scan){0};
    if (!query->search || !*query->search)
        return DET_OK;
    if (query->is_regex) {
        st = compile_pattern(scan, query, err);
    } else {
        find_init(&scan->place[0].find, query->search, strlen(query->search),
                  query->folds);
        scan->places = 1;
    }
    if (st)
        log_scan_done(scan);
    return st;
}

void log_scan_done(struct log_scan *scan)
{
    pattern_matcher_free(scan->matcher);
    pattern_free(scan->pattern);
    *scan = (struct log_scan){0};
}

/* Searches again for each text whose last hit was before `from`. */
static void look_from(struct log_scan *scan, const char *from, bool is_new)
{
    scan->is_over = true;
    for (size_t i = 0; i < scan->places; i++) {
        const char *at = scan->place[i].at;

        if (is_new || (at && at < from))
            scan->place[i].at =
                find_in(&scan->place[i].find, from, (size_t)(scan->end - from));
        scan->is_over = scan->is_over && !scan->place[i].at;
    }
}

bool log_scan_begin(struct log_scan *scan, const void *bytes, size_t len)
{
    scan->is_over = false;
    if (!scan->places)
        return true;
    scan->end = (const char *)bytes + len;
    look_from(scan, bytes, true);
    return !scan->is_over;
}

bool log_scan_may(struct log_scan *scan, const struct log_line *line)
{
    if (!scan->places)
        return true;
    if (!scan->is_over)
        look_from(scan, line->text, false);
    for (size_t i = 0; !scan->is_over && i < scan->places; i++) {
        const char *at = scan->place[i].at;

        if (at && at + scan->place[i].find.len <= line->text + line->len)
            return true;
    }
    return false;
}

bool log_scan_matches(struct log_scan *scan, const struct log_line *line)
{
    if (!scan->pattern)
        return true;
    scan->cost += PATTERN_COST * MIN((size_t)line->len, (size_t)PATTERN_TEXT_BYTES);
    return pattern_matcher_finds(scan->matcher, line->text, line->len);
}

static struct log_hit find_pattern(struct log_scan *scan, const struct log_line *line)
{
    struct log_hit hit = {0};

    (void)pattern_matcher_where(scan->matcher, line->text, line->len, &hit.begin,
                                &hit.end);
    /* The matcher reads the line up to the end of the hit, and the hit itself several
     * times to find its beginning. */
    scan->cost += PATTERN_COST * (hit.end + 8 * (hit.end - hit.begin));
    return hit;
}

struct log_hit log_scan_where(struct log_scan *scan, const struct log_line *line)
{
    struct log_hit hit = {0};
    const char *at;

    if (scan->pattern)
        return find_pattern(scan, line);
    at = scan->places ? find_in(&scan->place[0].find, line->text, line->len) : NULL;
    if (at) {
        hit.begin = (size_t)(at - line->text);
        hit.end = hit.begin + scan->place[0].find.len;
    }
    return hit;
}

size_t log_scan_cost(struct log_scan *scan)
{
    size_t cost = scan->cost;

    scan->cost = 0;
    return cost;
}
