/* SPDX-License-Identifier: Apache-2.0 */
/* pool_ahead.c - see pool_ahead.h. */
#include "tests/support/pool_ahead.h"

#include "sched/pool_impl.h"

/* How many of the level come before it; walks each queue from its head. */
static int64_t ahead_in_level(const struct pool *pool, enum kind kind,
                              const struct request *request)
{
    const struct queue *queue = queue_after(pool, kind, request->priority, NULL);
    int64_t count = 0;

    for (; queue; queue = queue_after(pool, kind, request->priority, queue->head)) {
        const struct request *at = queue->head;

        if (request_compare(&at->node, &request->node) >= 0)
            break;
        while (at && request_compare(&at->node, &request->node) < 0) {
            at = request_of(tree_next(&at->node));
            count++;
        }
    }
    return count;
}

int64_t pool_ahead(const struct pool *pool, int64_t allocation)
{
    const struct request *request = map_get(&pool->requests, allocation);
    int64_t count = 0;

    if (!request || request->is_running)
        return -1;
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t level = 1; level < request->priority; level++)
            count += pool->level[kind][level].waiting;
        count += ahead_in_level(pool, kind, request);
    }
    return count;
}
