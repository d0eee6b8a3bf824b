/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/map.h"

#include <assert.h>
#include <string.h>

#include "base/memory/mem.h"

uint64_t hash_number(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
    const unsigned char *byte = bytes;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash_number(hash);
}

/* For strings the number is the hash, which differs for nearly all of them. */
static bool slot_holds(const struct map_slot *slot, int64_t number, const char *key)
{
    if (slot->number != number)
        return false;
    return !key || strcmp(slot->key, key) == 0;
}

/* Mixed once more, since keys are often small consecutive numbers. */
static size_t slot_home(const struct map *map, int64_t number)
{
    return (size_t)hash_number((uint64_t)number) & (map->cap - 1);
}

/* The slot that holds the key, or the free one where it would go. */
static struct map_slot *slot_find(const struct map *map, int64_t number,
                                  const char *key)
{
    size_t i = slot_home(map, number);

    while (map->slot[i].value && !slot_holds(&map->slot[i], number, key))
        i = (i + 1) & (map->cap - 1);
    return &map->slot[i];
}

/* Into new slots, since every key may move.  The old ones stay valid until the last
 * step: when memory is out, the map is as it was. */
static bool grow_slots(struct map *map)
{
    struct map bigger = {.cap = map->cap ? map->cap * 2 : 16, .count = map->count};

    bigger.slot = mem_array(bigger.cap, sizeof(*bigger.slot));
    if (!bigger.slot)
        return false;
    for (size_t i = 0; i < map->cap; i++) {
        const struct map_slot *old = &map->slot[i];

        if (old->value)
            *slot_find(&bigger, old->number, old->key) = *old;
    }
    mem_free(map->slot);
    *map = bigger;
    return true;
}

static bool put_entry(struct map *map, struct map_slot entry)
{
    struct map_slot *slot;

    assert(entry.value); /* NULL marks a free slot */
    /* Linear probing gets slow beyond three quarters.  There is always a free slot,
     * where every search ends. */
    if (map->count * 4 >= map->cap * 3 && !grow_slots(map))
        return false;
    slot = slot_find(map, entry.number, entry.key);
    if (!slot->value)
        map->count++;
    *slot = entry;
    return true;
}

static void *get_value(const struct map *map, int64_t number, const char *key)
{
    return map->count ? slot_find(map, number, key)->value : NULL;
}

/* Knuth's deletion for linear probing: moves back the keys that the hole would cut
 * off. */
static void close_hole(struct map *map, size_t hole)
{
    size_t mask = map->cap - 1;

    for (size_t i = (hole + 1) & mask; map->slot[i].value; i = (i + 1) & mask) {
        size_t home = slot_home(map, map->slot[i].number);

        /* Its home lies behind the hole: a search for it never passes the hole. */
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->slot[hole] = map->slot[i];
        hole = i;
    }
    memset(&map->slot[hole], 0, sizeof(map->slot[hole]));
}

static void *take_value(struct map *map, int64_t number, const char *key)
{
    struct map_slot *slot = map->count ? slot_find(map, number, key) : NULL;
    void *value = slot ? slot->value : NULL;

    if (value) {
        map->count--;
        close_hole(map, (size_t)(slot - map->slot));
    }
    return value;
}

bool map_put(struct map *map, int64_t key, void *value)
{
    return put_entry(map, (struct map_slot){.number = key, .value = value});
}

void *map_get(const struct map *map, int64_t key)
{
    return get_value(map, key, NULL);
}

void *map_remove(struct map *map, int64_t key)
{
    return take_value(map, key, NULL);
}

static int64_t hash_key(const char *key)
{
    return (int64_t)hash_bytes(key, strlen(key));
}

bool smap_put(struct map *map, const char *key, void *value)
{
    return put_entry(map, (struct map_slot){hash_key(key), key, value});
}

void *smap_get(const struct map *map, const char *key)
{
    return map->count ? get_value(map, hash_key(key), key) : NULL;
}

void *smap_remove(struct map *map, const char *key)
{
    return take_value(map, hash_key(key), key);
}

void *map_next(const struct map *map, size_t *at)
{
    while (*at < map->cap) {
        void *value = map->slot[(*at)++].value;

        if (value)
            return value;
    }
    return NULL;
}

void map_done(struct map *map)
{
    mem_free(map->slot);
    *map = (struct map){0};
}
