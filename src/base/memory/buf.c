/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory/mem.h"

enum {
    BUF_LEAST = 64,
    BUF_COUNTED = 8 << 10, /* from this size on, its allowance counts */
    BUF_LARGE = 1 << 20,   /* a counted one grows by a quarter from here on */
};

/* Shared by all empty buffers and never written to: `cap` 0 says it is not owned. */
char buf_empty[1];

/* Doubling: each byte is copied about once, however small the additions are.  A large
 * addition, for example a whole archive, gets what it needs and a little for its end. */
static size_t next_cap(const struct buf *buf, size_t need)
{
    size_t cap = buf->cap ? buf->cap : BUF_LEAST;

    if (buf->part.from && need > BUF_LARGE)
        return need + (need / 2 > buf->len ? (size_t)BUF_COUNTED : need / 4);
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    return cap;
}

static bool take_part(struct buf *buf, size_t cap)
{
    return cap < BUF_COUNTED || cap <= buf->part.taken ||
           allowance_part_take(&buf->part, cap - buf->part.taken);
}

char *buf_room(struct buf *buf, size_t len)
{
    size_t need = buf->len + len + 1;
    size_t cap;
    char *data;

    if (buf->status)
        return NULL;
    if (need < len || (buf->limit && buf->len + len > buf->limit)) {
        buf->status = DET_TOO_LARGE;
        return NULL;
    }
    if (need <= buf->cap)
        return buf->data + buf->len;

    cap = next_cap(buf, need);
    if (!take_part(buf, cap)) {
        buf->status = DET_BUSY;
        return NULL;
    }
    data = mem_resize(buf->cap ? buf->data : NULL, cap, 1);
    if (!data) {
        buf->status = DET_NOMEM;
        return NULL;
    }
    buf->data = data;
    buf->cap = cap;
    buf->data[buf->len] = '\0';
    return buf->data + buf->len;
}

void buf_took(struct buf *buf, size_t len)
{
    /* The shared empty string is never written to. */
    if (buf->status || !len)
        return;
    assert(len < buf->cap - buf->len); /* no more than buf_room() gave */
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
    char *room = len ? buf_room(buf, len) : NULL;

    if (!room)
        return;
    memcpy(room, bytes, len);
    buf_took(buf, len);
}

void buf_puts(struct buf *buf, const char *str)
{
    buf_add(buf, str, strlen(str));
}

void buf_putc(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

/* Measured, then printed in place: nothing is cut and nothing is copied twice. */
void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
{
    va_list again;
    char *room;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    room = len > 0 ? buf_room(buf, (size_t)len) : NULL;
    if (!room)
        return;
    vsnprintf(room, (size_t)len + 1, fmt, args);
    buf_took(buf, (size_t)len);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_vprintf(buf, fmt, args);
    va_end(args);
}

void buf_put_u32(struct buf *buf, uint32_t value)
{
    unsigned char bytes[4];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    buf_add(buf, bytes, sizeof(bytes));
}

void buf_put_u64(struct buf *buf, uint64_t value)
{
    buf_put_u32(buf, (uint32_t)value);
    buf_put_u32(buf, (uint32_t)(value >> 32));
}

/* Seven bits per byte, low ones first; the top bit says that more follow. */
void buf_put_varint(struct buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        buf_putc(buf, (char)(value | 0x80));
        value >>= 7;
    }
    buf_putc(buf, (char)value);
}

void buf_cut(struct buf *buf, size_t len)
{
    if (len >= buf->len)
        return;
    buf->len = len;
    buf->data[len] = '\0';
}

void buf_drop(struct buf *buf, size_t len)
{
    if (len >= buf->len) {
        buf_cut(buf, 0);
        return;
    }
    memmove(buf->data, buf->data + len, buf->len - len);
    buf_cut(buf, buf->len - len);
}

char *buf_take(struct buf *buf)
{
    char *data = NULL;

    /* buf_room() of nothing makes an empty buffer own its NUL. */
    if (!buf->status && buf_room(buf, 0))
        data = buf->data;
    else
        buf_done(buf);
    buf->data = buf_empty;
    buf->len = buf->cap = 0;
    allowance_part_give(&buf->part);
    return data;
}

void buf_clear(struct buf *buf)
{
    buf->status = DET_OK;
    buf_cut(buf, 0);
}

void buf_done(struct buf *buf)
{
    if (buf->cap)
        mem_free(buf->data);
    buf->data = buf_empty;
    buf->len = buf->cap = 0;
    allowance_part_give(&buf->part);
}
