/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "store/metric/metric.h"
#include "store/metric/metric_block.h"
#include "store/metric/metric_stat.h"
#include "tests/unit/store/world.h"

static const char *const names[] = {"acc", "loss", "lr", "time"};

static struct metric_cells *some_rows(struct rng64 *rng, uint32_t count,
                                      struct arena *mem)
{
    struct metric_cells *rows = arena_array(mem, struct metric_cells, count + 1);
    int64_t steps = (int64_t)rng64_below(rng, 100);
    int64_t us = INT64_C(1700000000000000);

    for (uint32_t i = 0; i < count; i++) {
        const char **name = arena_array(mem, const char *, 4);
        double *value = arena_array(mem, double, 4);
        uint32_t n = 0;

        for (uint32_t k = 0; k < 4; k++) {
            if (!rng64_below(rng, 5))
                continue;
            name[n] = names[k];
            value[n] = k == 0   ? (double)rng64_below(rng, 1000) / 7
                       : k == 1 ? (double)(float)(0.1 * (double)rng64_below(rng, 99))
                       : k == 2 ? 0.25
                                : (double)rng64_below(rng, 100000);
            if (!rng64_below(rng, 50))
                value[n] = rng64_below(rng, 2) ? NAN : -INFINITY;
            n++;
        }
        rows[i] = (struct metric_cells){.id = 10 + i,
                                        .steps = steps,
                                        .report_us = us,
                                        .count = n,
                                        .name = name,
                                        .value = value};
        if (!rng64_below(rng, 9))
            rows[i].rest = "{\"note\":\"x\",\"list\":[1,2]}";
        if (!rng64_below(rng, 9))
            rows[i].batch = "[{\"a\":1}]";
        steps += 1 + (int64_t)rng64_below(rng, 3);
        us += (int64_t)rng64_below(rng, 1000000) - 1000;
    }
    return rows;
}

static void check_same(const struct metric_cells *a, const struct metric_cells *b)
{
    CHECK_EQ(a->id, b->id);
    CHECK_EQ(a->steps, b->steps);
    CHECK_EQ(a->report_us, b->report_us);
    CHECK_EQ(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        CHECK_STR(a->name[i], b->name[i]);
        CHECK(!memcmp(&a->value[i], &b->value[i], sizeof(double)) ||
              (isnan(a->value[i]) && isnan(b->value[i])));
    }
    CHECK_EQ(!a->rest, !b->rest);
    CHECK_EQ(!a->batch, !b->batch);
    if (a->rest)
        CHECK_STR(a->rest, b->rest);
    if (a->batch)
        CHECK_STR(a->batch, b->batch);
}

TEST(blocks_of_any_rows_come_back)
{
    struct rng64 rng = {.state = 1};

    for (int round = 0; round < 200; round++) {
        struct arena mem = ARENA_INIT(64 << 20);
        uint32_t count = 1 + (uint32_t)rng64_below(&rng, 70);
        struct metric_cells *rows = some_rows(&rng, count, &mem);
        struct metric_cells *back = NULL;
        struct buf head = BUF_INIT;
        struct buf data = BUF_INIT;
        uint32_t back_count = 0;

        CHECK_OK(metric_block_encode(rows, count, &mem, &head, &data, &test_err));
        CHECK_OK(metric_block_decode(data.data, data.len, &mem, &back, &back_count,
                                     &test_err));
        CHECK_EQ(back_count, count);
        for (uint32_t i = 0; i < count; i++)
            check_same(&rows[i], &back[i]);
        buf_done(&head);
        buf_done(&data);
        arena_done(&mem);
    }
}

/* The columns of a block can be as short as "all equal": its bytes do not bound its rows. */
TEST(a_few_bytes_that_claim_a_million_rows_are_refused_before_memory_is_taken)
{
    static const char million[] = "\x80\x80\x40" /* rows */
                                  "\0"           /* columns */
                                  "\0\0\0\0\0\0\0\0\0\0\0";
    struct arena mem = ARENA_INIT(64 << 20);
    struct metric_cells *rows;
    struct metric_columns columns;
    uint32_t count;

    CHECK_EQ(
        metric_block_decode(million, sizeof(million) - 1, &mem, &rows, &count, NULL),
        DET_CORRUPT);
    CHECK_EQ(metric_block_columns(million, sizeof(million) - 1, NULL, 0, &mem, &columns,
                                  NULL),
             DET_CORRUPT);
    CHECK_EQ(mem.used, 0);
    arena_done(&mem);
}

TEST(a_head_says_what_its_rows_say)
{
    struct rng64 rng = {.state = 2};

    for (int round = 0; round < 100; round++) {
        struct arena mem = ARENA_INIT(64 << 20);
        uint32_t count = 1 + (uint32_t)rng64_below(&rng, 70);
        struct metric_cells *rows = some_rows(&rng, count, &mem);
        struct metric_stats by_rows = {.mem = &mem};
        struct metric_stats by_head = {.mem = &mem};
        struct buf head = BUF_INIT;
        struct buf data = BUF_INIT;

        CHECK_OK(metric_block_encode(rows, count, &mem, &head, &data, &test_err));
        for (uint32_t i = 0; i < count; i++)
            CHECK_OK(metric_stats_add_row(&by_rows, 3, &rows[i], &test_err));
        CHECK_OK(metric_stats_add_head(&by_head, 3, head.data, head.len, &test_err));
        CHECK_EQ(by_rows.all.count, by_head.all.count);
        for (size_t i = 0; i < by_rows.all.count; i++) {
            struct metric_stat *a = by_rows.all.at[i];
            struct metric_stat *b = smap_get(&by_head.by_name, a->name);

            CHECK(b != NULL);
            CHECK_EQ(a->types, b->types);
            CHECK_EQ(a->count, b->count);
            CHECK(!memcmp(&a->sum, &b->sum, 8) || (isnan(a->sum) && isnan(b->sum)));
            CHECK(!memcmp(a->mark, b->mark, sizeof(a->mark)));
            CHECK_EQ(a->last_place.steps, b->last_place.steps);
            CHECK_EQ(!a->last, !b->last);
        }
        metric_stats_done(&by_rows);
        metric_stats_done(&by_head);
        buf_done(&head);
        buf_done(&data);
        arena_done(&mem);
    }
}

/* Compaction relies on it: rows out of order cannot be packed again. */
static void check_in_order(const struct metric_cells *row, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        CHECK(metric_place_compare(metric_place_of(&row[i - 1]),
                                   metric_place_of(&row[i])) < 0);
}

TEST(damaged_blocks_are_refused_or_read_without_harm)
{
    struct rng64 rng = {.state = 3};
    struct arena mem = ARENA_INIT(64 << 20);
    struct metric_cells *rows = some_rows(&rng, 50, &mem);
    struct buf head = BUF_INIT;
    struct buf data = BUF_INIT;

    CHECK_OK(metric_block_encode(rows, 50, &mem, &head, &data, &test_err));
    for (int round = 0; round < 3000; round++) {
        struct arena scratch = ARENA_INIT(64 << 20);
        struct metric_cells *back;
        struct metric_stats stats = {.mem = &scratch};
        uint32_t count;
        struct buf bad = BUF_INIT;

        buf_add(&bad, data.data, data.len);
        for (int i = 0; i < 3; i++)
            bad.data[rng64_below(&rng, bad.len)] = (char)rng64_next(&rng);
        buf_cut(&bad, 1 + rng64_below(&rng, bad.len));
        if (!metric_block_decode(bad.data, bad.len, &scratch, &back, &count, &test_err))
            check_in_order(back, count);
        buf_clear(&bad);
        buf_add(&bad, head.data, head.len);
        bad.data[rng64_below(&rng, bad.len)] = (char)rng64_next(&rng);
        (void)metric_stats_add_head(&stats, 1, bad.data, bad.len, &test_err);
        metric_stats_done(&stats);
        buf_done(&bad);
        arena_done(&scratch);
    }
    buf_done(&head);
    buf_done(&data);
    arena_done(&mem);
}

TEST(what_is_regular_costs_next_to_nothing)
{
    struct arena mem = ARENA_INIT(64 << 20);
    struct metric_cells *rows = arena_array(&mem, struct metric_cells, 1000);
    static const char *const name[] = {"const", "count", "single"};
    struct buf head = BUF_INIT;
    struct buf data = BUF_INIT;

    for (int i = 0; i < 1000; i++) {
        double *value = arena_array(&mem, double, 3);

        value[0] = 0.001;
        value[1] = i;
        value[2] = (double)(float)(i * 0.37);
        rows[i] = (struct metric_cells){.id = i + 1,
                                        .steps = i * 100,
                                        .report_us = i * INT64_C(1000000),
                                        .count = 3,
                                        .name = name,
                                        .value = value};
    }
    CHECK_OK(metric_block_encode(rows, 1000, &mem, &head, &data, &test_err));
    CHECK(data.len < 4000 + 100);
    buf_done(&head);
    buf_done(&data);
    arena_done(&mem);
}
