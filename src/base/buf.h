/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - a growing run of bytes; a sticky builder.
 *
 * A buffer remembers its first failure (DET_NOMEM, or DET_TOO_LARGE beyond its
 * limit); later additions do nothing; the caller asks `status` once.  The bytes are
 * always followed by a NUL that does not count, and an empty buffer is safe to read,
 * so that `buf.data` serves as a string at any time. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "det/status.h"

struct buf {
    char *data; /* never NULL: an empty buffer points at a shared "" */
    size_t len;
    size_t cap;   /* 0: nothing is owned yet */
    size_t limit; /* 0: none */
    det_status status;
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

/* Room for `len` bytes at the end, to be filled and then counted by the caller with
 * buf_took(); NULL (and a status) when there is none. */
char *buf_room(struct buf *buf, size_t len);
void buf_took(struct buf *buf, size_t len);

/* Drops the first `len` bytes, or everything behind the first `len`. */
void buf_drop(struct buf *buf, size_t len);
void buf_cut(struct buf *buf, size_t len);

/* Returns the bytes, owned by the caller (mem_free), and leaves the buffer empty;
 * NULL when it had failed. */
char *buf_take(struct buf *buf);

void buf_clear(struct buf *buf); /* empty, no failure, keeps its memory */
void buf_done(struct buf *buf);

#endif
