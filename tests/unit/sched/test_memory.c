/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - a pool runs out of memory at every possible point. */
#include "tests/support/test.h"

#include <string.h>

#include "base/memory/arena.h"
#include "sched/pool.h"
#include "sched/pool_check.h"

/* Repeats the call until it succeeds; a failure must leave the pool unchanged. */
#define RETRY(pool, call)                                                              \
    do {                                                                               \
        struct pool_stats before, after;                                               \
        det_status retry_st;                                                           \
        pool_get_stats(pool, &before);                                                 \
        while ((retry_st = (call)) == DET_NOMEM) {                                     \
            pool_get_stats(pool, &after);                                              \
            CHECK(memcmp(&before, &after, sizeof(before)) == 0);                       \
            CHECK_OK(pool_check(pool, &test_err));                                     \
        }                                                                              \
        CHECK_OK(retry_st);                                                            \
    } while (0)

static void retry_add(struct pool *pool, struct pool_request request)
{
    RETRY(pool, pool_add(pool, &request, NULL));
}

static uint32_t retry_schedule(struct pool *pool)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct pool_plan plan;

    RETRY(pool, pool_schedule(pool, &mem, &plan, NULL));
    arena_done(&mem);
    return plan.count;
}

/* A life with gangs, blocked agents, starts, reservations and preemptions in it. */
static void live_short_of_memory(struct pool *pool)
{
    const int64_t blocked[] = {9, 8, 7, 6, 5, 4, 3, 9, 9, 1};
    const uint32_t slot = 0;
    struct pool_share share = {2, 1, &slot};
    struct pool_request restored = {
        .allocation = 50, .slots = 1, .priority = 90, .is_preemptible = true};

    for (int64_t id = 1; id <= 10; id++)
        RETRY(pool, pool_add_agent(pool, id, id < 10 ? 2 : 4, NULL));
    RETRY(pool, pool_enable_slot(pool, 1, 1, false, NULL));
    RETRY(pool, pool_add_running(pool, &restored, &share, 1, NULL));
    for (int64_t id = 100; id < 120; id++)
        retry_add(pool, (struct pool_request){.allocation = id,
                                              .slots = id % 2,
                                              .priority = 60,
                                              .is_preemptible = true});
    retry_add(pool, (struct pool_request){.allocation = 1,
                                          .slots = 1,
                                          .priority = 55,
                                          .blocked = blocked,
                                          .blocked_count = ARRAY_LEN(blocked)});
    CHECK_EQ(retry_schedule(pool), 21);
    retry_add(pool, (struct pool_request){.allocation = 2, .slots = 12, .priority = 5});
    retry_add(pool, (struct pool_request){.allocation = 3, .slots = 4, .priority = 6});
    retry_add(pool, (struct pool_request){.allocation = 4, .slots = 2, .priority = 7});
    CHECK(retry_schedule(pool) > 3);
    RETRY(pool, pool_set_priority(pool, 4, 3, NULL));
    retry_schedule(pool);
    RETRY(pool, pool_remove_agent(pool, 10, NULL) == DET_NOMEM ? DET_NOMEM : DET_OK);
}

/* Jobs with and without a cap, changed and preempted. */
static void share_short_of_memory(struct pool *pool)
{
    const struct pool_group capped = {.id = 1, .is_capped = true, .max_slots = 2};
    const uint32_t slot = 0;
    struct pool_share share = {1, 1, &slot};
    struct pool_request restored = {.allocation = 50,
                                    .slots = 1,
                                    .priority = 42,
                                    .is_preemptible = true,
                                    .group.id = 1};

    for (int64_t id = 1; id <= 2; id++)
        RETRY(pool, pool_add_agent(pool, id, 2, NULL));
    RETRY(pool, pool_add_running(pool, &restored, &share, 1, NULL));
    for (int64_t id = 100; id < 108; id++)
        retry_add(pool, (struct pool_request){.allocation = id,
                                              .slots = id % 4 > 0,
                                              .priority = 42,
                                              .is_preemptible = true,
                                              .group.id = 1 + id % 2});
    CHECK(retry_schedule(pool) >= 3);
    for (int64_t id = 100; id < 108; id++)
        if (id % 2 == 0)
            RETRY(pool, pool_set_group(pool, id, &capped, NULL));
    RETRY(pool, pool_set_group(pool, 50, &capped, NULL));
    retry_schedule(pool);
}

TEST(out_of_memory_leaves_the_groups_as_they_were)
{
    static const char *const policies[] = {"priority", "fair_share"};

    for (size_t i = 0; i < ARRAY_LEN(policies); i++)
        EACH_ALLOCATION_FAILS() {
            struct pool_config config = {.policy = policies[i], .max_aux_per_agent = 5};
            struct pool *pool = NULL;

            if (pool_new(&config, &pool, NULL))
                continue;
            share_short_of_memory(pool);
            CHECK_OK(pool_check(pool, &test_err));
            pool_free(pool);
        }
}

TEST(out_of_memory_leaves_the_pool_as_it_was)
{
    EACH_ALLOCATION_FAILS() {
        struct pool_config config = {
            .policy = "priority", .is_preemptive = true, .max_aux_per_agent = 5};
        struct pool *pool = NULL;
        det_status status = pool_new(&config, &pool, NULL);

        if (status) {
            CHECK_EQ(status, DET_NOMEM);
            continue;
        }
        live_short_of_memory(pool);
        CHECK_OK(pool_check(pool, &test_err));
        pool_free(pool);
    }
}
