/* SPDX-License-Identifier: Apache-2.0 */
/* ring_world.h - a ring on disk or in memory, with payloads that name their writer. */
#ifndef TESTS_LIBDET_RING_WORLD_H
#define TESTS_LIBDET_RING_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "libdet/ring/ring.h"
#include "libdet/ring/ring_reader.h"
#include "tests/support/test.h"

struct world {
    struct io *io;
    char dir[64];
    struct ring_config config;
    struct ring *ring;
    struct ring_reader *reader;
    struct buf out;
    struct ring_batch batch;
};

typedef void world_fn(struct world *w);

static inline void world_run(struct io *io, const char *dir, world_fn *body)
{
    struct world w = {.io = io, .out = BUF_INIT};

    snprintf(w.dir, sizeof(w.dir), "%s/ring", dir);
    w.config = (struct ring_config){io, w.dir, 0, 4096};
    body(&w);
    ring_close(w.ring);
    ring_reader_close(w.reader);
    buf_done(&w.out);
}

static inline void on_disk(world_fn *body)
{
    char root[] = P_tmpdir "/det-ring-XXXXXX";

    CHECK(mkdtemp(root));
    world_run(io_system(), root, body);
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
}

static inline void in_memory(world_fn *body)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    world_run(io, "/task", body);
    io_free(io);
}

#define ON_BOTH(name)                                                                  \
    static void name(struct world *w);                                                 \
    TEST(name##_on_disk)                                                               \
    {                                                                                  \
        on_disk(name);                                                                 \
    }                                                                                  \
    TEST(name##_in_memory)                                                             \
    {                                                                                  \
        in_memory(name);                                                               \
    }                                                                                  \
    static void name(struct world *w)

#define ON_DISK(name)                                                                  \
    static void name(struct world *w);                                                 \
    TEST(name)                                                                         \
    {                                                                                  \
        on_disk(name);                                                                 \
    }                                                                                  \
    static void name(struct world *w)

static inline void open_ring(struct world *w)
{
    CHECK_OK(ring_open(&w->config, &w->ring, &test_err));
}

static inline void open_reader(struct world *w)
{
    CHECK_OK(ring_reader_open(&w->config, &w->reader, &test_err));
}

static inline void close_both(struct world *w)
{
    ring_close(w->ring);
    ring_reader_close(w->reader);
    w->ring = NULL;
    w->reader = NULL;
}

/* The `nth` record of writer `who`; its length varies. */
struct said {
    uint32_t who;
    uint32_t nth;
    char rest[120];
};

static inline det_status put_said(struct ring *ring, uint32_t who, uint32_t nth)
{
    struct said said = {who, nth, {0}};
    struct report report = {.kind = REPORT_STATUS,
                            .run = who,
                            .time_us = nth,
                            .payload = &said,
                            .len = 8 + (who * 7 + nth * 13) % sizeof(said.rest)};

    memset(said.rest, (int)(who + nth), sizeof(said.rest));
    return ring_put(ring, &report, &test_err);
}

static inline void put_many(struct world *w, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i <= to; i++)
        CHECK_OK(put_said(w->ring, 1, i));
}

static inline struct said said_of(const struct report *report)
{
    struct said said;

    CHECK(report->len >= 8 && report->len <= sizeof(said));
    memcpy(&said, report->payload, report->len);
    CHECK_EQ(said.who, report->run);
    CHECK_EQ(said.nth, report->time_us);
    CHECK_EQ(report->len, 8 + (said.who * 7 + said.nth * 13) % sizeof(said.rest));
    for (uint32_t i = 8; i < report->len; i++)
        CHECK_EQ(((const char *)&said)[i], (char)(said.who + said.nth));
    return said;
}

/* Returns the next record in `out`; false if none is left. */
static inline bool next_report(const struct buf *out, size_t *at, struct report *report)
{
    size_t used;

    if (*at == out->len)
        return false;
    CHECK_OK(report_decode(out->data + *at, out->len - *at, report, &used, &test_err));
    *at += used;
    return true;
}

static inline void read_batch(struct world *w, size_t max)
{
    buf_clear(&w->out);
    CHECK_OK(ring_read(w->reader, max, &w->out, &w->batch, &test_err));
}

/* Checks that the ring holds exactly the records from..to of writer 1, with these
 * numbers. */
static inline void check_reads(struct world *w, uint32_t from, uint32_t to)
{
    struct report report;
    uint32_t nth = from;
    size_t at = 0;

    read_batch(w, SIZE_MAX);
    CHECK_EQ(w->batch.first, from);
    CHECK_EQ(w->batch.last, to);
    CHECK_EQ(w->batch.damaged, 0);
    while (next_report(&w->out, &at, &report)) {
        CHECK_EQ(report.number, nth);
        CHECK_EQ(said_of(&report).nth, nth);
        nth++;
    }
    CHECK_EQ(nth, to + 1);
}

static inline size_t count_files(struct world *w)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    size_t count = 0;

    CHECK_OK(io_list(w->io, w->dir, &mem, &names, &test_err));
    while (names[count])
        count++;
    return count;
}

#endif
