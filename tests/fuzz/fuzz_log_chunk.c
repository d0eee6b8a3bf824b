/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_log_chunk.c - any bytes as a chunk of a log: read without harm, and a search in
 * the whole of it finds exactly the lines that one line after the other has.  In front:
 * a byte of flags and length, and what is searched for. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/pattern.h"
#include "store/log/log_chunk.h"
#include "store/log/log_read.h"
#include "store/log/log_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { FOLDS = 1, IS_REGEX = 2, LENGTH_SHIFT = 2 };

static void demand(bool is_so)
{
    if (!is_so)
        __builtin_trap();
}

static bool has_plainly(const struct log_query *query, const struct pattern *pattern,
                        const struct log_line *line)
{
    struct find find;

    if (pattern)
        return pattern_matches(pattern, line->text, line->len);
    find_init(&find, query->search, strlen(query->search), query->folds);
    return find_in(&find, line->text, line->len) != NULL;
}

static void search(const struct log_query *query, struct log_scan *scan,
                   const uint8_t *bytes, size_t len)
{
    bool has_any = log_scan_begin(scan, bytes, len);
    struct log_reader r;

    log_reader_init(&r, bytes, len, 1);
    /* a section may claim more lines than there are bytes: every line has some */
    while (log_reader_next(&r)) {
        bool has =
            has_any && log_scan_may(scan, &r.line) && log_scan_matches(scan, &r.line);

        demand(r.line.id <= (int64_t)len);
        demand(has == has_plainly(query, scan->pattern, &r.line));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char text[64] = "";
    struct log_query query = {.search = text};
    struct log_scan scan;
    size_t text_len;

    if (!len)
        return 0;
    query.folds = *bytes & FOLDS;
    query.is_regex = *bytes & IS_REGEX;
    text_len = MIN((size_t)*bytes >> LENGTH_SHIFT, len - 1);
    memcpy(text, bytes + 1, text_len);
    bytes += 1 + text_len;
    len -= 1 + text_len;
    if (!*text || log_scan_init(&scan, &query, NULL))
        return 0;
    search(&query, &scan, bytes, len);
    log_scan_done(&scan);
    return 0;
}
