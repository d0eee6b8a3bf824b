/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_report.c - any bytes as records and as metrics: refused, or the same when they
 * are written again.  The first byte says which: the check of a record is hard to
 * guess, so that metrics also come without one. */
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/mem.h"
#include "wire/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void demand(bool is_so)
{
    if (!is_so)
        __builtin_trap();
}

static void try_metrics(const void *payload, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct report_metrics metrics;
    void *again;

    if (report_metrics_decode(payload, len, &mem, &metrics, NULL))
        return;
    demand(report_metrics_size(&metrics) == len);
    again = mem_alloc(len);
    report_metrics_encode(&metrics, again);
    demand(!memcmp(again, payload, len));
    mem_free(again);
}

static void try_records(const uint8_t *bytes, size_t len)
{
    size_t at = 0;
    size_t used = 0;
    struct report report;
    det_status status;

    do {
        status = report_decode(bytes + at, len - at, &report, &used, NULL);
        if (status == DET_NOT_FOUND)
            return;
        demand(used <= len - at && used % 8 == 0);
        if (!status) {
            void *again = mem_alloc(used);

            report_encode(&report, again);
            demand(!memcmp(again, bytes + at, used));
            mem_free(again);
            try_metrics(report.payload, report.len);
        }
        at += used;
    } while (used > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    if (bytes[0] % 2)
        try_records(bytes + 1, len - 1);
    else
        try_metrics(bytes + 1, len - 1);
    return 0;
}
