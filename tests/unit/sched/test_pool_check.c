/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_check.c - pool_check() finds every kind of damage.  Each test damages one
 * value of the pool and repairs it again. */
#include <string.h>

#include "base/compiler.h"
#include "sched/pool_check.h"
#include "sched/pool_impl.h"
#include "tests/support/test.h"

/* Agents of 4 and 2 slots.  1 runs on slots 0 and 1 of agent 1 and is preemptible; 2
 * leaves agent 2; 3 runs without slots; 4 and 5 wait. */
static struct pool *busy_pool(void)
{
    const struct pool_config config = {
        .policy = "priority", .is_preemptive = true, .max_aux_per_agent = 2};
    const uint32_t slots[] = {0, 1};
    const struct pool_share large = {1, 2, slots};
    const struct pool_share small = {2, 1, slots};
    const struct pool_share aux = {.agent = 1};
    struct pool_request request = {
        .allocation = 1, .slots = 2, .priority = 42, .is_preemptible = true};
    struct pool *pool = NULL;

    CHECK_OK(pool_new(&config, &pool, &test_err));
    CHECK_OK(pool_add_agent(pool, 1, 4, &test_err));
    CHECK_OK(pool_add_agent(pool, 2, 2, &test_err));
    CHECK_OK(pool_add_running(pool, &request, &large, 1, &test_err));
    request.allocation = 2;
    request.slots = 1;
    CHECK_OK(pool_add_running(pool, &request, &small, 1, &test_err));
    pool_mark_leaving(pool, 2);
    request = (struct pool_request){.allocation = 3, .priority = 42};
    CHECK_OK(pool_add_running(pool, &request, &aux, 1, &test_err));
    request = (struct pool_request){.allocation = 4, .slots = 9, .priority = 42};
    CHECK_OK(pool_add(pool, &request, &test_err));
    request.allocation = 5;
    request.position = 7;
    CHECK_OK(pool_add(pool, &request, &test_err));
    CHECK_OK(pool_check(pool, &test_err));
    return pool;
}

static struct request *request_at(const struct pool *pool, int64_t id)
{
    return map_get(&pool->requests, id);
}

/* Notices that `at`, of `size` bytes, differs in its lowest bit. */
static void check_notices(const struct pool *pool, void *at, int line)
{
    *(unsigned char *)at ^= 1;
    if (pool_check(pool, NULL) != DET_CORRUPT)
        fail_msg("line %d: the damage is not noticed", line);
    *(unsigned char *)at ^= 1;
    CHECK_OK(pool_check(pool, &test_err));
}

#define NOTICES(pool, at) check_notices(pool, at, __LINE__)

TEST(counts_of_an_agent)
{
    struct pool *pool = busy_pool();

    for (size_t i = 0; i < pool->agents.count; i++) {
        struct agent *agent = pool->agents.at[i];

        NOTICES(pool, agent_held(agent));
        NOTICES(pool, agent_off(agent));
        NOTICES(pool, &agent->used);
        NOTICES(pool, &agent->enabled);
        NOTICES(pool, &agent->free);
        NOTICES(pool, &agent->aux_used);
        NOTICES(pool, &agent->rank);
        NOTICES(pool, &agent->class);
        NOTICES(pool, &pool->index.aux_score[i]);
    }
    pool_free(pool);
}

TEST(the_index_of_agents)
{
    struct pool *pool = busy_pool();

    for (uint32_t i = 0; i < pool->index.class_count; i++) {
        NOTICES(pool, &pool->index.bits[(size_t)i * pool->index.words]);
        NOTICES(pool, &pool->index.count[i]);
    }
    NOTICES(pool, &pool->index.aux_open);
    pool_free(pool);
}

TEST(totals_of_the_pool)
{
    struct pool *pool = busy_pool();

    NOTICES(pool, &pool->slots);
    NOTICES(pool, &pool->slots_used);
    NOTICES(pool, &pool->aux_running);
    NOTICES(pool, &pool->waiting);
    NOTICES(pool, &pool->running);
    pool_free(pool);
}

TEST(trees_and_levels)
{
    struct pool *pool = busy_pool();

    for (int kind = 0; kind < KINDS; kind++) {
        NOTICES(pool, &pool->victims[kind].count);
        NOTICES(pool, &pool->leavers[kind].count);
        for (int priority = 0; priority < LEVELS; priority++) {
            NOTICES(pool, &pool->level[kind][priority].waiting);
            NOTICES(pool, &pool->level[kind][priority].heads.count);
        }
        NOTICES(pool, &pool->has_level[kind][0]);
        NOTICES(pool, &pool->has_level[kind][1]);
    }
    pool_free(pool);
}

TEST(slots_that_an_allocation_holds)
{
    struct pool *pool = busy_pool();
    struct request *request = request_at(pool, 1);
    struct hold_share *share = &request->hold->share[0];

    for (uint32_t i = 0; i < share->count; i++) {
        uint32_t slot = share->slots[i];

        share->slots[i] = 3; /* free */
        CHECK_EQ(pool_check(pool, NULL), DET_CORRUPT);
        share->slots[i] = slot;
    }
    NOTICES(pool, &request->slots);
    NOTICES(pool, &share->count);
    pool_free(pool);
}

TEST(the_tree_of_a_running_allocation)
{
    struct pool *pool = busy_pool();

    NOTICES(pool, &request_at(pool, 1)->is_leaving);
    NOTICES(pool, &request_at(pool, 3)->is_leaving);
    NOTICES(pool, &request_at(pool, 3)->is_preemptible);
    NOTICES(pool, &request_at(pool, 2)->is_leaving);
    pool_free(pool);
}

TEST(the_queue_of_a_waiting_allocation)
{
    struct pool *pool = busy_pool();
    struct request *first = request_at(pool, 4);
    struct queue *queue = first->queue;

    NOTICES(pool, &first->priority);
    NOTICES(pool, &first->slots);
    NOTICES(pool, &first->is_preemptible);
    NOTICES(pool, &queue->popped);
    NOTICES(pool, &queue->requests.count);
    first->position = 8; /* behind the other one */
    CHECK_EQ(pool_check(pool, NULL), DET_CORRUPT);
    first->position = 0;
    queue->head = request_at(pool, 5);
    CHECK_EQ(pool_check(pool, NULL), DET_CORRUPT);
    queue->head = NULL;
    CHECK_EQ(pool_check(pool, NULL), DET_CORRUPT);
    queue->head = first;
    CHECK_OK(pool_check(pool, &test_err));
    pool_free(pool);
}

TEST(a_pass_that_did_not_clean_up)
{
    struct pool *pool = busy_pool();

    NOTICES(pool, &pool->pass.log.count);
    NOTICES(pool, &pool->pass.starts.count);
    NOTICES(pool, &pool->pass.reserved.count);
    NOTICES(pool, &pool->pass.preempted.count);
    pool_free(pool);
}
