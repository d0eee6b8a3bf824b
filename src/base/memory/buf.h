/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - a growing run of bytes; a sticky builder.
 *
 * A buffer remembers its first failure (DET_NOMEM, or DET_TOO_LARGE beyond its limit).
 * Later additions do nothing; the caller checks `status` once.  A NUL that does not
 * count always follows the bytes, and an empty buffer is safe to read: `buf.data` is a
 * valid string at any time. */
#ifndef BASE_MEMORY_BUF_H
#define BASE_MEMORY_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/memory/allowance.h"
#include "det/status.h"

struct buf {
    char *data; /* never NULL: an empty buffer points at a shared "" */
    size_t len;
    size_t cap;   /* 0: the buffer owns no memory yet */
    size_t limit; /* 0: no limit */
    det_status status;
    /* bounds what many buffers take together; small ones are not counted */
    struct allowance_part part;
};

extern char buf_empty[1];

#define BUF_INIT                                                                       \
    {                                                                                  \
        .data = buf_empty                                                              \
    }
#define BUF_LIMITED(limit_bytes)                                                       \
    {                                                                                  \
        .data = buf_empty, .limit = (limit_bytes)                                      \
    }

void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_puts(struct buf *buf, const char *str);
void buf_putc(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* Little-endian, for file and blob formats. */
void buf_put_u32(struct buf *buf, uint32_t value);
void buf_put_u64(struct buf *buf, uint64_t value);
void buf_put_varint(struct buf *buf, uint64_t value);

/* Returns room for `len` bytes at the end.  The caller fills it and then counts the
 * bytes with buf_took().  NULL (and a status) when there is no room. */
char *buf_room(struct buf *buf, size_t len);
void buf_took(struct buf *buf, size_t len);

/* Drops the first `len` bytes, or all bytes after the first `len`. */
void buf_drop(struct buf *buf, size_t len);
void buf_cut(struct buf *buf, size_t len);

/* Returns the bytes owned (mem_free()) and leaves the buffer empty; NULL when the
 * buffer had failed.  Its allowance counts them no longer, unless its part was moved. */
char *buf_take(struct buf *buf);

void buf_clear(struct buf *buf); /* empty, no failure, keeps its memory */
void buf_done(struct buf *buf);

#endif
