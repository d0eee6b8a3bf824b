/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/map.h"

#include <stdio.h>

#include "base/rng.h"
#include "tests/support/test.h"

enum { KEYS = 400 };

TEST(an_empty_map_holds_nothing)
{
    struct map map = {0};
    size_t at = 0;

    CHECK_NULL(map_get(&map, 1));
    CHECK_NULL(map_remove(&map, 1));
    CHECK_NULL(smap_get(&map, "a"));
    CHECK_NULL(smap_remove(&map, "a"));
    CHECK_NULL(map_next(&map, &at));
    map_done(&map);
}

/* Few keys and many removals, so that probe chains are broken and mended all the
 * time. */
TEST(a_map_agrees_with_an_array_under_random_changes)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng64 rng = {seed};
        struct map map = {0};
        char *naive[KEYS] = {0};
        char values[KEYS];
        size_t count = 0;

        for (int i = 0; i < 4000; i++) {
            size_t k = rng64_below(&rng, KEYS);
            int64_t key = (int64_t)k * 1024 - 7;

            if (rng64_below(&rng, 2)) {
                CHECK(map_put(&map, key, &values[k]));
                count += !naive[k];
                naive[k] = &values[k];
            } else {
                CHECK(map_remove(&map, key) == naive[k]);
                count -= naive[k] != NULL;
                naive[k] = NULL;
            }
            CHECK_EQ(map.count, count);
            k = rng64_below(&rng, KEYS);
            CHECK(map_get(&map, (int64_t)k * 1024 - 7) == naive[k]);
        }
        for (size_t k = 0; k < KEYS; k++)
            CHECK(map_get(&map, (int64_t)k * 1024 - 7) == naive[k]);
        map_done(&map);
    }
}

TEST(strings_are_keys_by_their_text)
{
    struct map map = {0};
    char names[KEYS][8];
    char copy[8];

    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "a%d", i);
        CHECK(smap_put(&map, names[i], names[i]));
    }
    for (int i = 0; i < KEYS; i += 2) {
        snprintf(copy, sizeof(copy), "a%d", i);
        CHECK(smap_remove(&map, copy) == names[i]);
    }
    for (int i = 0; i < KEYS; i++) {
        snprintf(copy, sizeof(copy), "a%d", i);
        CHECK(smap_get(&map, copy) == (i % 2 ? names[i] : NULL));
    }
    map_done(&map);
}

TEST(every_value_is_met_once)
{
    struct map map = {0};
    int seen[KEYS] = {0};
    int *value;

    for (int64_t i = 0; i < KEYS; i++)
        CHECK(map_put(&map, i, &seen[i]));
    for (size_t at = 0; (value = map_next(&map, &at));)
        ++*value;
    for (int i = 0; i < KEYS; i++)
        CHECK_EQ(seen[i], 1);
    map_done(&map);
}

TEST(a_second_value_replaces_the_first)
{
    struct map map = {0};
    int one, two;

    CHECK(map_put(&map, 5, &one));
    CHECK(map_put(&map, 5, &two));
    CHECK_EQ(map.count, 1);
    CHECK(map_get(&map, 5) == &two);
    map_done(&map);
}

TEST(a_map_out_of_memory_keeps_what_it_had)
{
    static int value;

    EACH_ALLOCATION_FAILS() {
        struct map map = {0};
        int64_t put = 0;

        while (put < 100 && map_put(&map, put, &value))
            put++;
        CHECK_EQ(put == 100, !fault_fired());
        CHECK_EQ(map.count, put);
        for (int64_t i = 0; i < put; i++)
            CHECK(map_get(&map, i) == &value);
        map_done(&map);
    }
}

TEST(hashes_are_the_same_everywhere)
{
    CHECK_EQ(hash_number(0), 0);
    CHECK_EQ(hash_bytes("", 0), (int64_t)hash_number(0xcbf29ce484222325u));
    CHECK_EQ(hash_bytes("a", 1), (int64_t)hash_number(0xaf63dc4c8601ec8cu));
}
