/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the waiting requests.
 *
 * A level holds its queues ordered by their heads, so a pass sees the requests of a
 * level in order and can skip whole queues. */
#include "sched/pool_impl.h"

#include <assert.h>

#include "base/memory/mem.h"

static struct queue *queue_of(const struct tree_node *node)
{
    return node ? CONTAINER_OF(node, struct queue, node) : NULL;
}

static int compare_heads(const struct tree_node *a, const struct tree_node *b)
{
    return request_compare(&queue_of(a)->head->node, &queue_of(b)->head->node);
}

static struct level *level_of(struct pool *pool, const struct queue *queue)
{
    enum kind kind = queue->shape.slots ? KIND_SLOTS : KIND_AUX;

    return &pool->level[kind][queue->priority];
}

static int64_t hash_shape(uint32_t priority, const struct shape *shape)
{
    uint64_t flags = priority << 3 | (uint32_t)shape->prefers_single_node << 2 |
                     (uint32_t)shape->is_single_node << 1 |
                     (uint32_t)shape->is_preemptible;
    uint64_t hash = hash_number((uint64_t)shape->slots << 32 | flags);

    for (uint32_t i = 0; i < shape->blocked_count; i++)
        hash = hash_number(hash ^ (uint64_t)shape->blocked[i]);
    if (shape->avoided)
        hash = hash_number(hash ^ (uint64_t)shape->avoided);
    if (shape->group)
        hash = hash_number(hash + (uint64_t)shape->group->id);
    return (int64_t)hash;
}

static bool queue_is(const struct queue *queue, uint32_t priority,
                     const struct shape *shape)
{
    const struct shape *own = &queue->shape;

    if (queue->priority != priority || own->slots != shape->slots ||
        own->is_single_node != shape->is_single_node ||
        own->prefers_single_node != shape->prefers_single_node ||
        own->is_preemptible != shape->is_preemptible ||
        own->blocked_count != shape->blocked_count || own->avoided != shape->avoided ||
        own->group != shape->group)
        return false;
    for (uint32_t i = 0; i < shape->blocked_count; i++)
        if (own->blocked[i] != shape->blocked[i])
            return false;
    return true;
}

static struct queue *queue_new(uint32_t priority, const struct shape *shape,
                               int64_t hash)
{
    size_t count = shape->blocked_count;
    struct queue *queue = mem_alloc(sizeof(*queue) + count * sizeof(queue->blocked[0]));

    if (!queue)
        return NULL;

    queue->shape = *shape;
    queue->shape.blocked = queue->blocked;
    for (size_t i = 0; i < count; i++)
        queue->blocked[i] = shape->blocked[i];
    queue->priority = priority;
    queue->requests = (struct tree)TREE_INIT(request_compare);
    queue->hash = hash;
    return queue;
}

struct queue *queue_get(struct pool *pool, uint32_t priority, const struct shape *shape)
{
    int64_t hash = hash_shape(priority, shape);
    struct queue *first = map_get(&pool->queues, hash);
    struct queue *queue = first;

    while (queue && !queue_is(queue, priority, shape))
        queue = queue->same_hash;
    if (queue)
        return queue;

    queue = queue_new(priority, shape, hash);
    if (!queue)
        return NULL;
    queue->same_hash = first;
    if (!map_put(&pool->queues, hash, queue)) {
        mem_free(queue);
        return NULL;
    }
    return queue;
}

void queue_drop_if_empty(struct pool *pool, struct queue *queue)
{
    struct queue *first = map_get(&pool->queues, queue->hash);

    if (queue->head || queue->popped)
        return;
    if (first != queue) {
        while (first->same_hash != queue)
            first = first->same_hash;
        first->same_hash = queue->same_hash;
    } else if (queue->same_hash) {
        /* It replaces a value, so it cannot run out of memory. */
        (void)map_put(&pool->queues, queue->hash, queue->same_hash);
    } else {
        map_remove(&pool->queues, queue->hash);
    }
    mem_free(queue);
}

/* The head decides the place of a queue in its level, so the queue leaves the tree
 * before its head changes. */
static void set_head(struct level *level, struct queue *queue, struct request *head)
{
    if (queue->head)
        tree_remove(&level->heads, &queue->node);
    queue->head = head;
    if (!head)
        return;
    level->heads.compare = compare_heads;
    tree_add(&level->heads, &queue->node);
}

void queue_add(struct pool *pool, struct queue *queue, struct request *request)
{
    struct level *level = level_of(pool, queue);

    assert(!request->is_running);
    assert(request->priority == queue->priority);
    assert(request->slots == queue->shape.slots);
    request->queue = queue;
    tree_add(&queue->requests, &request->node);
    if (!queue->head || request_compare(&request->node, &queue->head->node) < 0)
        set_head(level, queue, request);
    if (level->waiting++ == 0)
        bit_flip(pool->has_level[request_kind(request)], queue->priority);
}

void queue_remove(struct pool *pool, struct request *request)
{
    struct queue *queue = request->queue;
    struct level *level = level_of(pool, queue);

    assert(!request->is_running);
    assert(level->waiting > 0);
    if (queue->head == request)
        set_head(level, queue, request_of(tree_next(&request->node)));
    tree_remove(&queue->requests, &request->node);
    if (--level->waiting == 0)
        bit_flip(pool->has_level[request_kind(request)], queue->priority);
}

struct queue *queue_after(const struct pool *pool, enum kind kind, uint32_t priority,
                          const struct request *after)
{
    const struct tree *heads = &pool->level[kind][priority].heads;
    struct tree_node *at = heads->root;
    struct tree_node *found = NULL;

    if (!after)
        return queue_of(tree_first(heads));
    while (at) {
        if (request_compare(&queue_of(at)->head->node, &after->node) > 0) {
            found = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return queue_of(found);
}

uint32_t queue_next_level(const struct pool *pool, enum kind kind, uint32_t priority)
{
    for (uint32_t word = priority / 64; word < 2; word++) {
        uint64_t bits = pool->has_level[kind][word];

        if (word == priority / 64)
            bits &= ~UINT64_C(0) << (priority % 64);
        if (bits)
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return 0;
}
