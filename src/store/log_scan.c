/* SPDX-License-Identifier: Apache-2.0 */
/* log_scan.c - see log_scan.h. */
#include "store/log_scan.h"

#include <string.h>

#include "base/compiler.h"
#include "base/pattern.h"
#include "store/data.h"

enum { PATTERN_COST = 8 }; /* matching a byte costs that many times looking at it */

det_status log_scan_init(struct log_scan *scan, const struct log_query *query,
                         struct err *err)
{
    const char *text = query->search ? query->search : "";
    size_t len = strlen(text);
    det_status st = DET_OK;

    *scan = (struct log_scan){0};
    if (len && query->is_regex) {
        st = query->folds ? pattern_new_folding(text, &scan->pattern, err)
                          : pattern_new(text, &scan->pattern, err);
        if (st)
            return st;
        text = pattern_literal(scan->pattern, &len);
    }
    find_init(&scan->find, text, len, query->folds);
    return DET_OK;
}

void log_scan_done(struct log_scan *scan)
{
    pattern_free(scan->pattern);
}

static void look_from(struct log_scan *scan, const char *from)
{
    scan->place = find_in(&scan->find, from, (size_t)(scan->end - from));
    scan->is_over = !scan->place;
}

bool log_scan_begin(struct log_scan *scan, const void *bytes, size_t len)
{
    scan->is_over = false;
    if (!scan->find.len)
        return true;
    scan->end = (const char *)bytes + len;
    look_from(scan, bytes);
    return !scan->is_over;
}

bool log_scan_may(struct log_scan *scan, const struct log_line *line)
{
    if (!scan->find.len)
        return true;
    if (!scan->is_over && scan->place < line->text)
        look_from(scan, line->text);
    return !scan->is_over && scan->place + scan->find.len <= line->text + line->len;
}

bool log_scan_matches(struct log_scan *scan, const struct log_line *line)
{
    if (!scan->pattern)
        return true;
    scan->cost += PATTERN_COST * MIN((size_t)line->len, (size_t)PATTERN_TEXT_BYTES);
    return pattern_matches(scan->pattern, line->text, line->len);
}

size_t log_scan_cost(struct log_scan *scan)
{
    size_t cost = scan->cost;

    scan->cost = 0;
    return cost;
}
