/* SPDX-License-Identifier: Apache-2.0 */
/* pool_fit.c - where a request fits, and the index that tells it fast.
 *
 * Three ways, in this order:
 *   shared          one agent with enough free slots;
 *   dedicated       whole idle agents of one size that divides the request;
 *   heterogeneous   whole idle agents, largest first, where the pool allows it.
 * The last two only for requests that may spread (fit_may_spread()).
 * The search reads only the classes (see pool_impl.h): it looks at no agent that it does
 * not take, except blocked ones.  Zero-slot requests use a score per agent, kept up to
 * date in one flat array. */
#include "sched/pool_fit.h"

#include "sched/pool_impl.h"

#include <assert.h>
#include <string.h>

#include "base/memory/mem.h"

static const struct size *size_of(const struct index *index, const struct agent *agent)
{
    return &index->size[agent->size_at];
}

static uint32_t idle_class(const struct size *size)
{
    return size->first_class + size->slots + 1;
}

uint32_t index_class_of(const struct index *index, const struct agent *agent)
{
    const struct size *size = size_of(index, agent);

    return agent->used ? size->first_class + agent->free : idle_class(size);
}

/* A larger score is better.  The fraction for `worst` is fixed-point, exact up to 65535
 * slots per agent.  The score of a busy agent comes from its free slots, that of an idle
 * one from its free places for zero-slot requests.  An agent whose slots are all disabled
 * is out of service. */
uint64_t index_aux_score_of(const struct pool *pool, const struct agent *agent)
{
    uint64_t most = pool->config.max_aux_per_agent;
    uint64_t free = agent->used ? agent->free : most - agent->aux_used;
    uint64_t total = agent->used ? agent->enabled : most;

    if (agent->is_aux_off || agent->aux_used >= most ||
        (agent->slots && !agent->enabled))
        return 0;
    if (!pool->config.fits_worst)
        return 1 + (UINT32_MAX - free);
    return 1 + (free << 32) / total;
}

static bool grow_array(void **at, size_t *cap, size_t count, size_t size)
{
    void *grown;

    if (count <= *cap)
        return true;
    grown = mem_resize(*at, count, size);
    if (!grown)
        return false;
    *at = grown;
    *cap = count;
    return true;
}

/* Lists the sizes in descending order and gives each its range of classes. */
static void fill_sizes(struct pool *pool)
{
    struct index *index = &pool->index;

    index->size_count = 0;
    for (size_t i = 0; i < pool->agents.count; i++) {
        uint32_t slots = pool->agents.at[i]->enabled;
        uint32_t at = 0;

        while (at < index->size_count && index->size[at].slots > slots)
            at++;
        if (at < index->size_count && index->size[at].slots == slots)
            continue;
        memmove(&index->size[at + 1], &index->size[at],
                (index->size_count - at) * sizeof(index->size[0]));
        index->size[at].slots = slots;
        index->size_count++;
    }
    index->class_count = 0;
    for (uint32_t i = 0; i < index->size_count; i++) {
        index->size[i].first_class = index->class_count;
        index->class_count += index->size[i].slots + 2;
    }
    index->words = (uint32_t)(pool->agents.count + 63) / 64;
}

bool index_reserve(struct pool *pool)
{
    struct index *index = &pool->index;
    size_t agents = pool->agents.count;
    void *size = index->size;
    void *count = index->count;
    void *bits = index->bits;
    void *score = index->aux_score;
    bool is_ok = grow_array(&size, &index->size_cap, agents, sizeof(*index->size));

    index->size = size;
    if (!is_ok)
        return false;
    fill_sizes(pool);
    is_ok =
        grow_array(&count, &index->count_cap, index->class_count,
                   sizeof(*index->count)) &&
        grow_array(&bits, &index->bits_cap, (size_t)index->class_count * index->words,
                   sizeof(*index->bits)) &&
        grow_array(&score, &index->score_cap, agents, sizeof(*index->aux_score));
    index->count = count;
    index->bits = bits;
    index->aux_score = score;
    return is_ok;
}

static void agent_enter(struct pool *pool, struct agent *agent)
{
    struct index *index = &pool->index;

    agent->class = index_class_of(index, agent);
    index->count[agent->class]++;
    bit_flip(index->bits + (size_t)agent->class * index->words, agent->rank);
    index->aux_score[agent->rank] = index_aux_score_of(pool, agent);
    index->aux_open += index->aux_score[agent->rank] > 0;
}

void index_fill(struct pool *pool)
{
    struct index *index = &pool->index;

    fill_sizes(pool);
    index->aux_open = 0;
    if (!pool->agents.count)
        return;
    memset(index->count, 0, index->class_count * sizeof(*index->count));
    memset(index->bits, 0,
           (size_t)index->class_count * index->words * sizeof(*index->bits));
    for (uint32_t i = 0; i < pool->agents.count; i++) {
        struct agent *agent = pool->agents.at[i];

        agent->rank = i;
        agent->size_at = 0;
        while (index->size[agent->size_at].slots != agent->enabled)
            agent->size_at++;
        agent_enter(pool, agent);
    }
}

void index_done(struct index *index)
{
    mem_free(index->size);
    mem_free(index->count);
    mem_free(index->bits);
    mem_free(index->aux_score);
    *index = (struct index){0};
}

void index_change(struct pool *pool, const struct change *change)
{
    struct index *index = &pool->index;
    struct agent *agent = change->agent;

    agent->free += (uint32_t)change->free;
    agent->used += (uint32_t)change->used;
    agent->aux_used += (uint32_t)change->aux;
    assert(agent->free <= agent->enabled && agent->used <= agent->slots);
    index->count[agent->class]--;
    bit_flip(index->bits + (size_t)agent->class * index->words, agent->rank);
    index->aux_open -= index->aux_score[agent->rank] > 0;
    agent_enter(pool, agent);
}

static bool shape_is_picky(const struct shape *shape)
{
    return shape->blocked_count || shape->avoided;
}

static bool shape_blocks(const struct shape *shape, int64_t agent)
{
    uint32_t low = 0;
    uint32_t high = shape->blocked_count;

    if (agent == shape->avoided)
        return true;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (shape->blocked[mid] < agent)
            low = mid + 1;
        else
            high = mid;
    }
    return low < shape->blocked_count && shape->blocked[low] == agent;
}

/* The agent of the class with the lowest rank >= `from` that is not blocked. */
static struct agent *class_next(const struct pool *pool, uint32_t class,
                                const struct shape *shape, uint32_t from)
{
    const struct index *index = &pool->index;
    const uint64_t *bits = index->bits + (size_t) class * index->words;
    uint64_t mask = ~UINT64_C(0) << (from % 64);

    if (!index->count[class])
        return NULL;
    for (uint32_t word = from / 64; word < index->words; word++) {
        for (uint64_t left = bits[word] & mask; left; left &= left - 1) {
            uint32_t rank = word * 64 + (uint32_t)__builtin_ctzll(left);
            struct agent *agent = pool->agents.at[rank];

            if (!shape_is_picky(shape) || !shape_blocks(shape, agent->id))
                return agent;
        }
        mask = ~UINT64_C(0);
    }
    return NULL;
}

/* The first agent of that size with exactly `free` free slots. */
static struct agent *size_pick(const struct pool *pool, const struct size *size,
                               const struct shape *shape, uint32_t free)
{
    struct agent *busy = class_next(pool, size->first_class + free, shape, 0);
    struct agent *idle;

    if (free < size->slots)
        return busy;
    idle = class_next(pool, idle_class(size), shape, 0);
    if (!idle || !busy)
        return idle ? idle : busy;
    return idle->rank < busy->rank ? idle : busy;
}

/* Whether a is a better place than b: fuller for `best`, emptier for `worst`. */
static bool is_better(const struct pool *pool, const struct agent *a,
                      const struct agent *b)
{
    uint64_t left = a->free;
    uint64_t right = b->free;

    if (pool->config.fits_worst) {
        left = (uint64_t)b->free * a->enabled;
        right = (uint64_t)a->free * b->enabled;
    }
    return left != right ? left < right : a->rank < b->rank;
}

static struct agent *size_best(const struct pool *pool, const struct size *size,
                               const struct shape *shape)
{
    struct agent *found = NULL;

    for (uint32_t i = 0; !found && i <= size->slots - shape->slots; i++) {
        uint32_t free = pool->config.fits_worst ? size->slots - i : shape->slots + i;

        found = size_pick(pool, size, shape, free);
    }
    return found;
}

static struct agent *find_shared(const struct pool *pool, const struct shape *shape)
{
    const struct index *index = &pool->index;
    struct agent *best = NULL;

    for (uint32_t i = 0; i < index->size_count; i++) {
        struct agent *agent;

        if (index->size[i].slots < shape->slots)
            break;
        agent = size_best(pool, &index->size[i], shape);
        if (agent && (!best || is_better(pool, agent, best)))
            best = agent;
    }
    return best;
}

static struct agent *find_aux(const struct pool *pool, const struct shape *shape)
{
    const uint64_t *score = pool->index.aux_score;
    uint64_t best = 0;
    size_t found = 0;

    if (!pool->index.aux_open)
        return NULL;
    for (size_t i = 0; i < pool->agents.count; i++) {
        if (score[i] <= best)
            continue;
        if (shape_is_picky(shape) && shape_blocks(shape, pool->agents.at[i]->id))
            continue;
        best = score[i];
        found = i;
    }
    return best ? pool->agents.at[found] : NULL;
}

uint64_t fit_idle_slots(const struct pool *pool)
{
    const struct index *index = &pool->index;
    uint64_t slots = 0;

    for (uint32_t i = 0; i < index->size_count; i++)
        slots +=
            (uint64_t)index->size[i].slots * index->count[idle_class(&index->size[i])];
    return slots;
}

uint32_t fit_most_free(const struct pool *pool)
{
    const struct index *index = &pool->index;
    uint32_t most = 0;

    for (uint32_t i = 0; i < index->size_count; i++) {
        const struct size *size = &index->size[i];
        uint32_t free = index->count[idle_class(size)] ? size->slots : most;

        for (uint32_t at = size->slots; at > free; at--)
            if (index->count[size->first_class + at])
                free = at;
        most = MAX(most, free);
    }
    return most;
}

/* How many idle agents of that size the request may use. */
static uint32_t count_idle(const struct pool *pool, const struct size *size,
                           const struct shape *shape)
{
    uint32_t class = idle_class(size);
    uint32_t count = pool->index.count[class];
    bool is_blocked = false; /* the avoided one: it counts once */

    for (uint32_t i = 0; count && i < shape->blocked_count; i++) {
        const struct agent *agent = pool_agent(pool, shape->blocked[i]);

        count -= agent && agent->class == class;
        is_blocked |= shape->blocked[i] == shape->avoided;
    }
    if (count && shape->avoided && !is_blocked) {
        const struct agent *agent = pool_agent(pool, shape->avoided);

        count -= agent && agent->class == class;
    }
    return count;
}

static void pick_one(struct pool *pool, struct agent *agent, uint32_t slots)
{
    struct pass *pass = &pool->pass;

    assert(pass->picks.count < pass->picks.cap); /* pass_reserve() */
    pass->picks.at[pass->picks.count++] = (struct pick){agent, slots};
}

static void pick_idle(struct pool *pool, const struct size *size,
                      const struct shape *shape, uint32_t count)
{
    uint32_t from = 0;

    while (count-- > 0) {
        struct agent *agent = class_next(pool, idle_class(size), shape, from);

        pick_one(pool, agent, size->slots);
        from = agent->rank + 1;
    }
}

static bool find_dedicated(struct pool *pool, const struct shape *shape)
{
    const struct index *index = &pool->index;

    for (uint32_t i = 0; i < index->size_count && index->size[i].slots; i++) {
        const struct size *size = &index->size[i];

        if (shape->slots % size->slots)
            continue;
        if (count_idle(pool, size, shape) < shape->slots / size->slots)
            continue;
        pick_idle(pool, size, shape, shape->slots / size->slots);
        return true;
    }
    return false;
}

static bool find_heterogeneous(struct pool *pool, const struct shape *shape)
{
    const struct index *index = &pool->index;
    size_t before = pool->pass.picks.count;
    uint32_t left = shape->slots;

    for (uint32_t i = 0; left && i < index->size_count && index->size[i].slots; i++) {
        const struct size *size = &index->size[i];
        uint32_t count = left / size->slots;

        if (!count)
            continue;
        count = MIN(count, count_idle(pool, size, shape));
        pick_idle(pool, size, shape, count);
        left -= count * size->slots;
    }
    if (left)
        pool->pass.picks.count = before;
    return left == 0;
}

/* Whether an agent could take the whole request once its slots are free.  An avoided
 * agent counts: it takes the request if no other does. */
static bool has_large_agent(const struct pool *pool, const struct shape *shape)
{
    struct shape blocking = *shape;
    const struct index *index = &pool->index;

    blocking.avoided = 0;
    if (!index->size_count || index->size[0].slots < shape->slots)
        return false;
    if (!shape->blocked_count)
        return true;
    for (size_t i = 0; i < pool->agents.count; i++)
        if (pool->agents.at[i]->enabled >= shape->slots &&
            !shape_blocks(&blocking, pool->agents.at[i]->id))
            return true;
    return false;
}

bool fit_may_spread(const struct pool *pool, const struct shape *shape)
{
    if (shape->slots < 2 || shape->is_single_node)
        return false;
    return !shape->prefers_single_node || !has_large_agent(pool, shape);
}

bool pool_waits_for_one_agent(const struct pool *pool, int64_t allocation)
{
    const struct request *request = map_get(&pool->requests, allocation);
    const struct shape *shape;

    if (!request || request->is_running)
        return false;
    shape = &request->queue->shape;
    return shape->prefers_single_node && shape->slots > 1 && pool->agents.count > 1 &&
           has_large_agent(pool, shape) && !find_shared(pool, shape);
}

static bool find_fit(struct pool *pool, const struct shape *shape, struct fit *ret_fit)
{
    size_t first = pool->pass.picks.count;
    struct agent *one = shape->slots ? find_shared(pool, shape) : find_aux(pool, shape);
    bool is_found = one != NULL;

    if (one)
        pick_one(pool, one, shape->slots);
    else if (fit_may_spread(pool, shape))
        is_found =
            find_dedicated(pool, shape) ||
            (pool->config.allows_heterogeneous_fits && find_heterogeneous(pool, shape));
    if (is_found)
        *ret_fit = (struct fit){first, pool->pass.picks.count - first};
    return is_found;
}

/* An avoided agent is as good as blocked while there are others. */
bool fit_find(struct pool *pool, const struct shape *shape, struct fit *ret_fit)
{
    struct shape any = *shape;

    if (find_fit(pool, shape, ret_fit))
        return true;
    any.avoided = 0;
    return shape->avoided && find_fit(pool, &any, ret_fit);
}

/* All agents idle.  `is_whole`: all slots enabled, too. */
struct empty_pool {
    const struct pool *pool;
    const struct shape *shape;
    bool is_whole;
};

/* How many agents that the request may use have exactly `slots` slots, and the next
 * smaller number of slots of any of them (0: none). */
static uint64_t count_size(const struct empty_pool *empty, uint32_t slots,
                           uint32_t *ret_next)
{
    uint64_t count = 0;
    uint32_t next = 0;

    for (size_t i = 0; i < empty->pool->agents.count; i++) {
        const struct agent *agent = empty->pool->agents.at[i];
        uint32_t own = empty->is_whole ? agent->slots : agent->enabled;

        if (empty->shape->blocked_count && shape_blocks(empty->shape, agent->id))
            continue;
        count += own == slots;
        if (own < slots)
            next = MAX(next, own);
    }
    *ret_next = next;
    return count;
}

/* Walks all agents once per size. */
static bool fits_empty_pool(const struct empty_pool *empty)
{
    uint32_t slots = empty->shape->slots;
    uint32_t left = slots;
    uint32_t size;

    (void)count_size(empty, UINT32_MAX, &size);
    if (size >= slots)
        return true;
    while (size && !empty->shape->is_single_node) {
        uint32_t next;
        uint64_t count = count_size(empty, size, &next);

        if (slots % size == 0 && count >= slots / size)
            return true;
        if (empty->pool->config.allows_heterogeneous_fits)
            left -= (uint32_t)MIN(count, left / size) * size;
        if (!left)
            return true;
        size = next;
    }
    return false;
}

bool fit_is_possible(const struct pool *pool, const struct shape *shape)
{
    struct shape any = *shape;

    assert(shape->slots);
    any.avoided = 0;
    if (has_large_agent(pool, shape))
        return true;
    return fits_empty_pool(&(struct empty_pool){.pool = pool, .shape = &any});
}

bool pool_could_fit(const struct pool *pool, uint32_t slots, bool is_single_node)
{
    struct shape shape = {.slots = slots, .is_single_node = is_single_node};

    if (!slots)
        return pool->agents.count && pool->config.max_aux_per_agent;
    return fits_empty_pool(
        &(struct empty_pool){.pool = pool, .shape = &shape, .is_whole = true});
}
