/* SPDX-License-Identifier: Apache-2.0 */
/* log_chunk.h - lines packed into a chunk.
 *
 *   chunk   = section ...
 *   section = origin (allocation, agent, container, source), number of lines, their
 *             bytes, line ...
 *   line    = time since the line before, flags, rank if it has one, length, text
 *
 * Consecutive lines of one origin are one section, so the origin is stored once.  Line
 * numbers are not in the chunk: its key has the first, and they are consecutive. */
#ifndef STORE_LOG_LOG_CHUNK_H
#define STORE_LOG_LOG_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/buf.h"
#include "store/blob.h"
#include "store/log/log_line.h"

enum {
    LOG_CHUNK_BYTES = 64 << 10, /* the largest chunk */
    LOG_SMALL_BYTES = 16 << 10, /* smaller chunks are merged */
    LOG_LINE_BITS = 38,         /* the bits of a chunk's id that hold its first line */
};

/* A larger line number would reach into the ids of the next task. */
#define LOG_LINE_MOST ((INT64_C(1) << LOG_LINE_BITS) - 2)

static inline int64_t log_chunk_id(int64_t task, int64_t line)
{
    return task << LOG_LINE_BITS | line;
}

static inline int64_t log_chunk_line(int64_t id)
{
    return id & ((INT64_C(1) << LOG_LINE_BITS) - 1);
}

/* A sticky builder. */
struct log_writer {
    struct buf out;
    struct buf origin; /* of the open section; empty: none is open */
    struct buf scratch;
    struct buf lines;
    uint32_t section_lines;
    uint32_t count; /* lines in the whole chunk */
    int64_t before_us;
    int64_t from_us;
    int64_t to_us;
};
#define LOG_WRITER_INIT                                                                \
    {                                                                                  \
        .out = BUF_INIT, .origin = BUF_INIT, .scratch = BUF_INIT, .lines = BUF_INIT    \
    }

void log_writer_add(struct log_writer *w, const struct log_line *line);
/* The same for a line with the origin of the previous one. */
void log_writer_add_same(struct log_writer *w, const struct log_line *line);
size_t log_writer_size(const struct log_writer *w);
/* Closes the chunk: `out` holds it. */
det_status log_writer_end(struct log_writer *w);
void log_writer_clear(struct log_writer *w); /* for the next chunk */
void log_writer_done(struct log_writer *w);

struct log_reader {
    struct blob blob;
    uint64_t left; /* lines of the open section */
    struct log_line line;
};
void log_reader_init(struct log_reader *r, const void *bytes, size_t len,
                     int64_t first_line);
/* Reads the next line into r->line; it borrows from the bytes.  Its text does not end
 * with a NUL, its origin does.  False at the end, or if the bytes are damaged
 * (r->blob.is_bad). */
bool log_reader_next(struct log_reader *r);

#endif
