/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/arena.h"

#include <string.h>

#include "tests/support/test.h"

TEST(what_is_allocated_is_zeroed_and_aligned_for_any_type)
{
    struct arena mem = ARENA_INIT(1 << 20);

    for (size_t size = 1; size < 3000; size += 37) {
        unsigned char *bytes = arena_alloc(&mem, size);

        CHECK(bytes);
        CHECK_EQ((uintptr_t)bytes % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            CHECK_EQ(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    arena_done(&mem);
}

TEST(beyond_its_limit_an_arena_refuses_and_says_so)
{
    struct arena mem = ARENA_INIT(64);

    CHECK(arena_alloc(&mem, 48));
    CHECK(!mem.has_failed);
    CHECK_NULL(arena_alloc(&mem, 32));
    CHECK(mem.has_failed);
    CHECK(arena_alloc(&mem, 16));
    arena_done(&mem);
}

TEST(a_size_that_overflows_is_refused)
{
    struct arena mem = ARENA_INIT(SIZE_MAX);

    CHECK_NULL(arena_alloc(&mem, SIZE_MAX));
    CHECK_NULL(arena_array_of(&mem, SIZE_MAX / 4, 8));
    CHECK(mem.has_failed);
    arena_done(&mem);
}

TEST(a_cleared_arena_is_empty_and_hands_out_zeroes_again)
{
    struct arena mem = ARENA_INIT(1 << 20);
    unsigned char *bytes;

    for (int i = 0; i < 100; i++)
        memset(arena_alloc(&mem, 1000), 0xff, 1000);
    arena_clear(&mem);

    CHECK_EQ(mem.used, 0);
    bytes = arena_alloc(&mem, 900);
    for (size_t i = 0; i < 900; i++)
        CHECK_EQ(bytes[i], 0);
    arena_done(&mem);
}

TEST(strings_are_copied_and_printed_into_an_arena)
{
    struct arena mem = ARENA_INIT(1 << 20);

    CHECK_STR(arena_strdup(&mem, "trial"), "trial");
    CHECK_STR(arena_strndup(&mem, "trial", 3), "tri");
    CHECK_STR(arena_printf(&mem, "%s %d", "trial", 7), "trial 7");
    CHECK_STR(arena_printf(&mem, "%s", ""), "");
    CHECK_NULL(arena_strdup(&mem, NULL));
    arena_done(&mem);
}

TEST(an_arena_out_of_memory_gives_null_and_stays_usable)
{
    EACH_ALLOCATION_FAILS() {
        struct arena mem = ARENA_INIT(1 << 20);
        char *text = arena_printf(&mem, "%2000s", "x");
        bool has_failed = mem.has_failed;

        CHECK_EQ(text == NULL, fault_fired());
        CHECK_EQ(has_failed, fault_fired());
        CHECK(fault_fired() ? arena_strdup(&mem, "again") != NULL : true);
        arena_done(&mem);
    }
}
