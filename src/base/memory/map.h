/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - hash maps from numbers or strings to pointers.
 *
 * Open addressing, linear probing.  The hash is fixed: the same inserts give the same
 * order of iteration on every machine (the pure layers rely on it).  A map owns neither
 * values nor string keys: keys borrow, usually from the value itself.  The empty value
 * {0} is a valid empty map. */
#ifndef BASE_MEMORY_MAP_H
#define BASE_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    int64_t number;  /* the key, for map_*; the hash, for smap_* */
    const char *key; /* NULL in a map of numbers */
    void *value;     /* NULL: the slot is free */
};

struct map {
    struct map_slot *slot;
    size_t count;
    size_t cap; /* a power of two, or 0 */
};

/* `value` must not be NULL.  Replaces an old value.  False when out of memory. */
bool map_put(struct map *map, int64_t key, void *value);
void *map_get(const struct map *map, int64_t key); /* NULL: none */
void *map_remove(struct map *map, int64_t key);    /* the value it had, or NULL */

bool smap_put(struct map *map, const char *key, void *value);
void *smap_get(const struct map *map, const char *key);
void *smap_remove(struct map *map, const char *key);

/* Every value once, in an arbitrary order:
 *   for (size_t i = 0; (x = map_next(&map, &i));) */
void *map_next(const struct map *map, size_t *at);

void map_done(struct map *map);

/* 64-bit FNV-1a with a final mix; stable across versions. */
uint64_t hash_bytes(const void *bytes, size_t len);
uint64_t hash_number(uint64_t number);

#endif
