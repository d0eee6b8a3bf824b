/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

/* The first chunk is small, since ten thousand requests may wait at once; each further
 * one is twice as large as the one before, up to CHUNK_MOST, which the C library gives
 * back to the system at once (main/process_limits.c). */
enum {
    ALIGNMENT = 16,
    CHUNK_LEAST = 1024,
    CHUNK_MOST = 512 * 1024,
    CHUNK_COUNTED = 32 * 1024, /* from this size on, its allowance counts */
};

struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* of `bytes` */
    size_t used;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

/* Memory of a buffer; the struct itself is in a chunk. */
struct arena_kept {
    struct arena_kept *older;
    char *bytes;
};

static struct arena_chunk *chunk_add(struct arena *mem, size_t size)
{
    size_t want = mem->chunk ? MIN(mem->chunk->size * 2, (size_t)CHUNK_MOST)
                             : CHUNK_LEAST - sizeof(struct arena_chunk);
    struct arena_chunk *chunk;

    if (want < size)
        want = size;
    if (want >= CHUNK_COUNTED && !allowance_part_take(&mem->part, want))
        return NULL;
    chunk = mem_alloc(sizeof(*chunk) + want);
    if (!chunk)
        return NULL;

    chunk->size = want;
    chunk->older = mem->chunk;
    mem->chunk = chunk;
    return chunk;
}

/* The arena remembers the failure: a request may build many objects and check once at
 * the end. */
static void *refuse_allocation(struct arena *mem)
{
    mem->has_failed = true;
    return NULL;
}

void *arena_alloc(struct arena *mem, size_t size)
{
    struct arena_chunk *chunk = mem->chunk;
    size_t room;
    void *ret;

    /* Faults strike here and not only in mem_alloc(): tests can make every allocation
     * of a request fail, not just the first one of each chunk. */
    if (size > SIZE_MAX / 2 || fault_strikes(FAULT_MEMORY))
        return refuse_allocation(mem);
    room = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (room > mem->limit || mem->used > mem->limit - room) {
        mem->is_full = true;
        return refuse_allocation(mem);
    }
    if (!chunk || chunk->size - chunk->used < room)
        chunk = chunk_add(mem, room);
    if (!chunk)
        return refuse_allocation(mem);

    ret = chunk->bytes + chunk->used;
    chunk->used += room;
    mem->used += room;
    return ret;
}

void *arena_array_of(struct arena *mem, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return refuse_allocation(mem);
    return arena_alloc(mem, bytes);
}

char *arena_strndup(struct arena *mem, const char *str, size_t len)
{
    char *copy = str ? arena_alloc(mem, len + 1) : NULL;

    if (copy)
        memcpy(copy, str, len);
    return copy;
}

char *arena_strdup(struct arena *mem, const char *str)
{
    return str ? arena_strndup(mem, str, strlen(str)) : NULL;
}

char *arena_vprintf(struct arena *mem, const char *fmt, va_list args)
{
    va_list again;
    int len;
    char *text;

    /* Measured first, since an arena cannot take memory back. */
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = len < 0 ? NULL : arena_alloc(mem, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, args);
    return text;
}

char *arena_printf(struct arena *mem, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(mem, fmt, args);
    va_end(args);
    return text;
}

char *arena_keep(struct arena *mem, struct buf *buf)
{
    struct arena_kept *kept = arena_new(mem, struct arena_kept);

    if (!kept)
        return NULL;
    allowance_part_move(&buf->part, &mem->part);
    kept->bytes = buf_take(buf);
    if (!kept->bytes)
        return refuse_allocation(mem);
    kept->older = mem->kept;
    mem->kept = kept;
    return kept->bytes;
}

static void free_kept(struct arena *mem)
{
    for (struct arena_kept *kept = mem->kept; kept; kept = kept->older)
        mem_free(kept->bytes);
    mem->kept = NULL;
    allowance_part_give(&mem->part);
}

/* Frees the chunks down to `last`, which stays. */
static void chunks_free(struct arena_chunk *chunk, const struct arena_chunk *last)
{
    while (chunk != last) {
        struct arena_chunk *older = chunk->older;

        mem_free(chunk);
        chunk = older;
    }
}

void arena_clear(struct arena *mem)
{
    struct arena_chunk *first = mem->chunk;

    free_kept(mem);
    mem->used = 0;
    mem->has_failed = mem->is_full = false;
    if (!first)
        return;
    while (first->older)
        first = first->older;
    chunks_free(mem->chunk, first);
    /* Only the used part was written to; the rest is still zero. */
    memset(first->bytes, 0, first->used);
    first->used = 0;
    mem->chunk = first;
}

void arena_done(struct arena *mem)
{
    free_kept(mem);
    chunks_free(mem->chunk, NULL);
    mem->chunk = NULL;
    mem->used = 0;
}
