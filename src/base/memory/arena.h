/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that is freed all at once.
 *
 * One arena serves one scope: a request, a command, a pass of the scheduler, a message.
 * Allocations are zeroed, aligned for any type, and freed only with the arena.  The
 * limit makes running out an ordinary DET_NOMEM that ends one request.  Not
 * thread-safe: one thread at a time uses an arena. */
#ifndef BASE_MEMORY_ARENA_H
#define BASE_MEMORY_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/memory/allowance.h"

struct arena_chunk;
struct arena_kept;
struct buf;

struct arena {
    struct arena_chunk *chunk;  /* the newest; the others hang behind it */
    struct arena_kept *kept;    /* see arena_keep() */
    size_t used;                /* bytes handed out since the last clear */
    size_t limit;               /* a larger total is refused */
    bool has_failed;            /* an allocation was refused since the last clear */
    bool is_full;               /* ... because of the limit: it would be again */
    struct allowance_part part; /* bounds what many arenas take together; small ones are
                                   not counted */
};

#define ARENA_INIT(limit_bytes)                                                        \
    {                                                                                  \
        .limit = (limit_bytes)                                                         \
    }

/* NULL when the limit is reached or memory is out. */
void *arena_alloc(struct arena *mem, size_t size);
void *arena_array_of(struct arena *mem, size_t count, size_t size);
char *arena_strdup(struct arena *mem, const char *str); /* NULL for NULL */
char *arena_strndup(struct arena *mem, const char *str, size_t len);
char *arena_printf(struct arena *mem, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *mem, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* Takes the buffer's memory, without copying it, and leaves the buffer empty.  NULL when the
 * buffer had failed, or memory is out. */
char *arena_keep(struct arena *mem, struct buf *buf);

#define arena_new(mem, type) ((type *)arena_alloc((mem), sizeof(type)))
#define arena_array(mem, type, count)                                                  \
    ((type *)arena_array_of((mem), (count), sizeof(type)))

/* Empty but usable; keeps one small chunk. */
void arena_clear(struct arena *mem);
void arena_done(struct arena *mem);

#endif
