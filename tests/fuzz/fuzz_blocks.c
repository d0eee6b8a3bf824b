/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_blocks.c - any bytes as a block of metrics, whole and by columns, and as a page
 * of sums: refused, or read within bounds; a page that was read is the same when it is
 * written and read again.  The first byte says which. */
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "store/metric/metric.h"
#include "store/metric/metric_block.h"
#include "store/series/level.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *const names[] = {"a", "loss", "m0", "m1"};
enum { NAMES = 4 };

static void demand(bool is_so)
{
    if (!is_so)
        __builtin_trap();
}

static void try_block(const void *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    struct metric_cells *row;
    struct metric_columns columns;
    uint32_t count;
    double sum = 0;

    if (!metric_block_decode(bytes, len, &mem, &row, &count, NULL)) {
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < row[i].count; k++)
                sum += row[i].value[k] + (double)strlen(row[i].name[k]);
    }
    if (!metric_block_columns(bytes, len, names, NAMES, &mem, &columns, NULL)) {
        for (uint32_t k = 0; k < NAMES; k++)
            for (uint32_t i = 0; columns.has[k] && i < columns.rows; i++)
                sum += columns.has[k][i] ? columns.value[k][i] : 0;
    }
    demand(sum != 1e308);
}

static void try_page(const void *bytes, size_t len)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(256 << 20);
    CLEANUP(buf_done) struct buf first = BUF_INIT;
    CLEANUP(buf_done) struct buf second = BUF_INIT;
    struct level level;

    (void)level_decode(bytes, len, names, NAMES, &mem, &level, NULL);
    if (level_decode(bytes, len, NULL, 0, &mem, &level, NULL))
        return;
    level_encode(&level, &first);
    if (first.status)
        return;
    demand(!level_decode(first.data, first.len, NULL, 0, &mem, &level, NULL));
    level_encode(&level, &second);
    demand(first.len == second.len && !memcmp(first.data, second.data, first.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    if (bytes[0] % 2)
        try_block(bytes + 1, len - 1);
    else
        try_page(bytes + 1, len - 1);
    return 0;
}
