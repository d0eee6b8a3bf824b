/* SPDX-License-Identifier: Apache-2.0 */
/* Callers seen before: what is remembered, until when, and for whom. */
#include "master/known.h"

#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "master/request.h"
#include "tests/support/test.h"

enum { NOW = 1000, LATER = 2000 };

struct world {
    struct known *known;
    struct arena mem;
    struct caller found;
};

static void setup(struct world *w)
{
    *w = (struct world){.mem = ARENA_INIT(1 << 20)};
    CHECK_OK(known_new(&w->known, &test_err));
}

static void world_done(struct world *w)
{
    known_free(w->known);
    arena_done(&w->mem);
}

static void keep(struct world *w, const char *token, const char *name)
{
    struct caller caller = {.user_id = 7, .username = name, .allocation = "1.2.3"};

    known_keep(w->known, token, known_age(w->known), LATER, &caller);
}

static bool find(struct world *w, const char *token, int64_t now_us)
{
    return known_find(w->known, token, now_us, &w->mem, &w->found);
}

TEST(a_caller_is_remembered_whole)
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

TEST(only_the_very_token_is_known)
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

TEST(what_expires_or_is_forgotten_is_looked_up_again)
{
    struct world w;

    setup(&w);
    keep(&w, "s1.code", "ann");
    CHECK(find(&w, "s1.code", LATER));
    CHECK(!find(&w, "s1.code", LATER + 1));
    known_forget(w.known);
    CHECK(!find(&w, "s1.code", NOW));
    world_done(&w);
}

TEST(what_was_looked_up_before_a_change_is_not_kept_after_it)
{
    struct caller caller = {.user_id = 7};
    struct world w;
    uint64_t age;

    setup(&w);
    age = known_age(w.known);
    known_forget(w.known);
    known_keep(w.known, "s1.code", age, LATER, &caller);
    CHECK(!find(&w, "s1.code", NOW));
    world_done(&w);
}

TEST(what_does_not_fit_is_not_remembered)
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

TEST(a_newcomer_takes_the_place)
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

TEST(without_memory_there_is_nobody_to_know)
{
    EACH_ALLOCATION_FAILS() {
        struct known *known = NULL;
        det_status st = known_new(&known, &test_err);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
        known_free(known);
    }
}
