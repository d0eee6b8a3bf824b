/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of callers: entries, their expiry, and lookups by token. */
#include "master/request/caller_cache.h"

#include <string.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/memory/arena.h"
#include "master/request/request.h"
#include "tests/support/test.h"

enum { NOW = 1000, LATER = 2000 };

struct world {
    struct caller_cache *cache;
    struct arena mem;
    struct caller found;
};

static void setup(struct world *w)
{
    *w = (struct world){.mem = ARENA_INIT(1 << 20)};
    CHECK_OK(caller_cache_new(&w->cache, &test_err));
}

static void world_done(struct world *w)
{
    caller_cache_free(w->cache);
    arena_done(&w->mem);
}

static void keep(struct world *w, const char *token, const char *name)
{
    struct caller caller = {.user_id = 7, .username = name, .allocation = "1.2.3"};

    caller_cache_keep(w->cache, token, caller_cache_age(w->cache), LATER, &caller);
}

static bool find(struct world *w, const char *token, int64_t now_us)
{
    return caller_cache_find(w->cache, token, now_us, &w->mem, &w->found);
}

TEST(a_caller_is_cached_completely)
{
    struct world w;

    setup(&w);
    CHECK(!find(&w, "a1.code", NOW));
    keep(&w, "a1.code", "ann");
    CHECK(find(&w, "a1.code", NOW));
    CHECK_EQ(w.found.user_id, 7);
    CHECK_STR(w.found.username, "ann");
    CHECK_STR(w.found.allocation, "1.2.3");
    CHECK(!w.found.task_id);
    world_done(&w);
}

TEST(only_the_exact_token_is_found)
{
    struct world w;

    setup(&w);
    keep(&w, "a1.code", "ann");
    CHECK(!find(&w, "a1.codf", NOW));
    CHECK(!find(&w, "a1.cod", NOW));
    CHECK(!find(&w, "a1.code5", NOW));
    CHECK(!find(&w, "a1", NOW));
    CHECK(!find(&w, "", NOW));
    world_done(&w);
}

TEST(expired_and_dropped_entries_are_not_found)
{
    struct world w;

    setup(&w);
    keep(&w, "s1.code", "ann");
    CHECK(find(&w, "s1.code", LATER));
    CHECK(!find(&w, "s1.code", LATER + 1));
    caller_cache_forget(w.cache);
    CHECK(!find(&w, "s1.code", NOW));
    world_done(&w);
}

TEST(a_lookup_from_before_a_change_is_not_kept)
{
    struct caller caller = {.user_id = 7};
    struct world w;
    uint64_t age;

    setup(&w);
    age = caller_cache_age(w.cache);
    caller_cache_forget(w.cache);
    caller_cache_keep(w.cache, "s1.code", age, LATER, &caller);
    CHECK(!find(&w, "s1.code", NOW));
    world_done(&w);
}

TEST(a_caller_with_long_names_is_not_cached)
{
    char name[200] = {0};
    struct world w;

    setup(&w);
    memset(name, 'x', sizeof(name) - 1);
    keep(&w, "s1.code", name);
    CHECK(!find(&w, "s1.code", NOW));
    keep(&w, name, "ann");
    CHECK(!find(&w, name, NOW));
    world_done(&w);
}

TEST(a_new_entry_replaces_the_old_one)
{
    struct world w;

    setup(&w);
    keep(&w, "s1.long-code", "ann");
    keep(&w, "s1.code", "bob"); /* the same number, so the same place */
    CHECK(!find(&w, "s1.long-code", NOW));
    CHECK(find(&w, "s1.code", NOW));
    CHECK_STR(w.found.username, "bob");
    world_done(&w);
}

TEST(out_of_memory_is_reported)
{
    EACH_ALLOCATION_FAILS() {
        struct caller_cache *cache = NULL;
        det_status st = caller_cache_new(&cache, &test_err);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        caller_cache_free(cache);
    }
}
