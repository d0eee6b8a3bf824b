/* SPDX-License-Identifier: Apache-2.0 */
#include "master/request/caller_cache.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "master/request/request.h"

enum { PLACES = 1024, TOKEN_MOST = 128, NAME_MOST = 96 };

struct place {
    uint64_t age; /* 0: free */
    int64_t expires_us;
    struct caller caller; /* its strings are these: */
    char token[TOKEN_MOST];
    char username[NAME_MOST];
    char allocation[NAME_MOST];
    char task_id[NAME_MOST];
};

struct caller_cache {
    struct lock lock; /* guards everything below */
    uint64_t age;     /* from 1 */
    struct place place[PLACES];
};

det_status caller_cache_new(struct caller_cache **ret_cache, struct err *err)
{
    struct caller_cache *cache = mem_new(struct caller_cache);
    det_status st;

    if (!cache)
        return err_default(err, DET_NOMEM);
    st = lock_init(&cache->lock, err);
    if (st) {
        mem_free(cache);
        return st;
    }
    cache->age = 1;
    *ret_cache = cache;
    return DET_OK;
}

void caller_cache_free(struct caller_cache *cache)
{
    if (!cache)
        return;
    lock_done(&cache->lock);
    sodium_memzero(cache, sizeof(*cache));
    mem_free(cache);
}

uint64_t caller_cache_age(struct caller_cache *cache)
{
    uint64_t age;

    lock_take(&cache->lock);
    age = cache->age;
    lock_give(&cache->lock);
    return age;
}

void caller_cache_forget(struct caller_cache *cache)
{
    lock_take(&cache->lock);
    cache->age++;
    lock_give(&cache->lock);
}

/* Hashes the number of the token only; the rest is its code. */
static struct place *place_of(struct caller_cache *cache, const char *token)
{
    return &cache->place[hash_bytes(token, strcspn(token, ".")) % PLACES];
}

static const char *copy_text(struct arena *mem, const char *text, bool *ok)
{
    const char *ret = text ? arena_strdup(mem, text) : NULL;

    *ok = *ok && (ret || !text);
    return ret;
}

/* The time of the comparison does not reveal how many bytes match. */
static bool place_has_token(const struct caller_cache *cache, const struct place *place,
                            const char *token, int64_t now_us)
{
    size_t len = strlen(token);

    return place->age == cache->age && place->expires_us >= now_us &&
           len < TOKEN_MOST && place->token[len] == '\0' &&
           !sodium_memcmp(place->token, token, len);
}

bool caller_cache_find(struct caller_cache *cache, const char *token, int64_t now_us,
                       struct arena *mem, struct caller *ret_caller)
{
    struct place *place = place_of(cache, token);
    bool ok;

    lock_take(&cache->lock);
    ok = place_has_token(cache, place, token, now_us);
    if (ok) {
        struct caller caller = place->caller;

        caller.username = copy_text(mem, caller.username, &ok);
        caller.allocation = copy_text(mem, caller.allocation, &ok);
        caller.task_id = copy_text(mem, caller.task_id, &ok);
        if (ok)
            *ret_caller = caller;
    }
    lock_give(&cache->lock);
    return ok;
}

/* NULL stays NULL; *ok becomes false when the text does not fit. */
static const char *put_text(char *to, size_t size, const char *text, bool *ok)
{
    if (!text)
        return NULL;
    *ok = (size_t)snprintf(to, size, "%s", text) < size && *ok;
    return to;
}

void caller_cache_keep(struct caller_cache *cache, const char *token, uint64_t age,
                       int64_t expires_us, const struct caller *caller)
{
    struct place *place = place_of(cache, token);
    bool ok = true;

    lock_take(&cache->lock);
    place->age = 0;
    memset(place->token, 0,
           sizeof(place->token)); /* place_has_token() reads past the end */
    put_text(place->token, sizeof(place->token), token, &ok);
    place->caller = *caller;
    place->caller.username =
        put_text(place->username, sizeof(place->username), caller->username, &ok);
    place->caller.allocation =
        put_text(place->allocation, sizeof(place->allocation), caller->allocation, &ok);
    place->caller.task_id =
        put_text(place->task_id, sizeof(place->task_id), caller->task_id, &ok);
    place->expires_us = expires_us;
    if (ok)
        place->age = age;
    lock_give(&cache->lock);
}
