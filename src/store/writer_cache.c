/* SPDX-License-Identifier: Apache-2.0 */
/* writer_cache.c - see writer_cache.h. */
#include "store/writer_cache.h"

#include <assert.h>

#include "base/compiler.h"
#include "base/memory/mem.h"
#include "store/engine/db_impl.h"

enum {
    CACHE_BYTES = 2 << 20,
    CACHE_LIMIT = 256 << 20,
    ROW_BYTES = 64 << 10,
    CACHE_NAMES = 1 << 18
};

static struct writer_cache *cache_of(struct db_cache *base)
{
    return CONTAINER_OF(base, struct writer_cache, base);
}

static void forget_rows(struct db_cache *base)
{
    struct writer_cache *cache = cache_of(base);

    map_done(&cache->trials);
    map_done(&cache->tasks);
    map_done(&cache->names);
    arena_clear(&cache->mem);
    cache->next_id = cache->id_end = 0;
}

static void cache_free(struct db_cache *base)
{
    struct writer_cache *cache = cache_of(base);

    forget_rows(base);
    arena_done(&cache->mem);
    vec_done(&cache->full);
    vec_done(&cache->small);
    buf_done(&cache->row);
    buf_done(&cache->rest);
    mem_free(cache);
}

struct writer_cache *writer_cache_of(struct db *db)
{
    struct writer_cache *cache;

    assert(!db->is_read_only);
    if (db->cache)
        return cache_of(db->cache);
    cache = mem_new(struct writer_cache);
    if (!cache)
        return NULL;
    cache->base.undone = forget_rows;
    cache->base.free = cache_free;
    cache->mem = (struct arena)ARENA_INIT(CACHE_LIMIT);
    cache->row = cache->rest = (struct buf)BUF_INIT;
    db->cache = &cache->base;
    return cache;
}

struct metric_trial *writer_cache_trial(struct writer_cache *cache,
                                        const struct metric_key *key)
{
    struct metric_trial *trial = map_get(&cache->trials, writer_cache_place(key));

    return trial && trial->run_id == key->run_id ? trial : NULL;
}

void writer_cache_drop_trial(struct db *db, int64_t trial_id)
{
    if (!db->cache)
        return;
    (void)map_remove(&cache_of(db->cache)->trials, trial_id);
    (void)map_remove(&cache_of(db->cache)->trials, -trial_id);
}

void writer_cache_trim(struct writer_cache *cache)
{
    if (cache->mem.used > CACHE_BYTES || cache->names.count > CACHE_NAMES)
        forget_rows(&cache->base);
    if (cache->row.cap > ROW_BYTES)
        buf_done(&cache->row);
    if (cache->rest.cap > ROW_BYTES)
        buf_done(&cache->rest);
}
