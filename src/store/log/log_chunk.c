/* SPDX-License-Identifier: Apache-2.0 */
/* log_chunk.c - see log_chunk.h. */
#include "store/log/log_chunk.h"

#include <string.h>

#include "store/blob.h"
#include "store/log/log_line.h"

enum { SEVERITY_MASK = 7, STREAM_SHIFT = 3, STREAM_MASK = 3, HAS_RANK = 1 << 5 };

/* Writes the NUL too, so readers can borrow the name.  Length 0: no name. */
static void put_name(struct buf *out, const char *name)
{
    if (name)
        buf_put_bytes(out, name, strlen(name) + 1);
    else
        buf_put_varint(out, 0);
}

static void close_section(struct log_writer *w)
{
    if (!w->section_lines)
        return;
    buf_put_bytes(&w->out, w->origin.data, w->origin.len);
    buf_put_varint(&w->out, w->section_lines);
    buf_put_bytes(&w->out, w->lines.data, w->lines.len);
    if ((w->origin.status || w->lines.status) && !w->out.status)
        w->out.status = DET_NOMEM;
    buf_clear(&w->lines);
    w->section_lines = 0;
    w->before_us = 0;
}

/* Most lines have the origin of the previous one, so its bytes are compared first. */
static void take_origin(struct log_writer *w, const struct log_line *line)
{
    struct buf old = w->origin;

    buf_clear(&w->scratch);
    put_name(&w->scratch, line->allocation);
    put_name(&w->scratch, line->agent);
    put_name(&w->scratch, line->container);
    put_name(&w->scratch, line->source);
    if (w->scratch.status && !w->out.status)
        w->out.status = w->scratch.status;
    if (old.len == w->scratch.len && !memcmp(old.data, w->scratch.data, old.len))
        return;
    close_section(w);
    w->origin = w->scratch;
    w->scratch = old;
}

void log_writer_add(struct log_writer *w, const struct log_line *line)
{
    take_origin(w, line);
    log_writer_add_same(w, line);
}

void log_writer_add_same(struct log_writer *w, const struct log_line *line)
{
    unsigned flags = line->severity | (unsigned)line->stream << STREAM_SHIFT;

    if (line->rank >= 0)
        flags |= HAS_RANK;
    /* The difference of any two times may wrap round; reading wraps it back. */
    buf_put_zigzag(&w->lines,
                   (int64_t)((uint64_t)line->time_us - (uint64_t)w->before_us));
    buf_putc(&w->lines, (char)flags);
    if (line->rank >= 0)
        buf_put_varint(&w->lines, (uint64_t)line->rank);
    buf_put_bytes(&w->lines, line->text, line->len);
    w->before_us = line->time_us;
    if (!w->count || line->time_us < w->from_us)
        w->from_us = line->time_us;
    if (!w->count || line->time_us > w->to_us)
        w->to_us = line->time_us;
    w->section_lines++;
    w->count++;
}

size_t log_writer_size(const struct log_writer *w)
{
    return w->out.len + w->origin.len + w->lines.len;
}

det_status log_writer_end(struct log_writer *w)
{
    close_section(w);
    return w->out.status;
}

void log_writer_clear(struct log_writer *w)
{
    buf_clear(&w->out);
    buf_clear(&w->origin);
    buf_clear(&w->lines);
    w->section_lines = w->count = 0;
    w->before_us = 0;
}

void log_writer_done(struct log_writer *w)
{
    buf_done(&w->out);
    buf_done(&w->origin);
    buf_done(&w->scratch);
    buf_done(&w->lines);
}

/* ---- reading --------------------------------------------------------------------- */

void log_reader_init(struct log_reader *r, const void *bytes, size_t len,
                     int64_t first_line)
{
    *r = (struct log_reader){.blob = BLOB_INIT(bytes, len)};
    r->line.id = first_line - 1;
}

static const char *get_name(struct blob *blob)
{
    uint64_t len = blob_varint(blob);
    const char *name = len ? blob_bytes(blob, len) : NULL;

    if (!name)
        return NULL;
    if (name[len - 1] == '\0')
        return name;
    blob->is_bad = true;
    return NULL;
}

static void open_section(struct log_reader *r)
{
    (void)blob_varint(&r->blob); /* length of the origin */
    r->line.allocation = get_name(&r->blob);
    r->line.agent = get_name(&r->blob);
    r->line.container = get_name(&r->blob);
    r->line.source = get_name(&r->blob);
    r->left = blob_varint(&r->blob);
    (void)blob_varint(&r->blob); /* length of the lines */
    r->line.time_us = 0;
}

bool log_reader_next(struct log_reader *r)
{
    const unsigned char *flags;
    struct log_line *line = &r->line;
    uint64_t len;

    while (!r->left && r->blob.at < r->blob.end && !r->blob.is_bad)
        open_section(r);
    if (!r->left || r->blob.is_bad)
        return false;
    r->left--;
    line->id++;
    line->time_us =
        (int64_t)((uint64_t)line->time_us + (uint64_t)blob_zigzag(&r->blob));
    flags = blob_bytes(&r->blob, 1);
    if (!flags)
        return false;
    line->severity = *flags & SEVERITY_MASK;
    line->stream = *flags >> STREAM_SHIFT & STREAM_MASK;
    line->rank = *flags & HAS_RANK ? (int64_t)blob_varint(&r->blob) : -1;
    len = blob_varint(&r->blob);
    line->text = blob_bytes(&r->blob, len);
    line->len = (uint32_t)len;
    return !r->blob.is_bad;
}
