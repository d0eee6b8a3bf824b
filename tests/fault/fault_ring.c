/* SPDX-License-Identifier: Apache-2.0 */
/* fault_ring.c - every accepted record is read once, in order, whatever fails. */
#include <string.h>

#include "base/compiler.h"
#include "base/io/io.h"
#include "base/memory/buf.h"
#include "libdet/ring/ring.h"

#include "libdet/ring/ring_reader.h"
#include "tests/fault/sweep.h"

enum { REPORTS = 60, PAYLOAD = 400, TRIES = 8 };

struct world {
    struct sweep *sweep;
    struct io *io;
    struct ring *ring;
    struct ring_reader *reader;
    uint32_t accepted; /* accepted by the ring */
    uint32_t seen;     /* read, in order */
    bool is_again;     /* a new reader starts after the last record known to be
                          stored */
};

static const struct ring_config *config_of(struct world *w, struct ring_config *config)
{
    *config =
        (struct ring_config){.io = w->io, .dir = "/t/ring", .segment_bytes = 4096};
    return config;
}

static void check_refusal(struct world *w, det_status status, const struct err *err)
{
    if (!sweep_has_struck(w->sweep))
        fail_msg("%s", err->text);
    sweep_check_sentence(err->text);
    CHECK(status == DET_NOMEM || status == DET_BUSY || status == DET_IO ||
          status == DET_FULL);
}

static bool open_both(struct world *w)
{
    struct ring_config config;

    for (int i = 0; i < TRIES && !fault_is_dark(); i++) {
        struct err err = {0};
        det_status st = DET_OK;

        if (!w->ring)
            st = ring_open(config_of(w, &config), &w->ring, &err);
        if (!st && !w->reader)
            st = ring_reader_open(config_of(w, &config), &w->reader, &err);
        if (!st)
            return true;
        if (!fault_is_dark())
            check_refusal(w, st, &err);
    }
    CHECK(fault_is_dark());
    return false;
}

static void put(struct world *w, uint32_t number)
{
    unsigned char payload[PAYLOAD] = {0};
    struct report report = {
        .kind = REPORT_METRICS, .run = 1, .payload = payload, .len = sizeof(payload)};

    memcpy(payload, &number, sizeof(number));
    for (int i = 0; i < TRIES && !fault_is_dark(); i++) {
        struct err err = {0};
        det_status st = ring_put(w->ring, &report, &err);

        if (fault_is_dark())
            return;
        if (!st) {
            w->accepted = number;
            return;
        }
        check_refusal(w, st, &err);
    }
    fail_msg("a report is never accepted");
}

static void look_at(struct world *w, const struct buf *out)
{
    size_t at = 0;

    while (at < out->len) {
        struct report report;
        uint32_t number;
        size_t used;

        CHECK_OK(
            report_decode(out->data + at, out->len - at, &report, &used, &test_err));
        CHECK_EQ(report.len, PAYLOAD);
        memcpy(&number, report.payload, sizeof(number));
        CHECK(w->is_again ? number <= w->seen + 1 : number == w->seen + 1);
        w->is_again = false;
        w->seen = number;
        at += used;
    }
}

/* Reads everything. */
static void drain(struct world *w)
{
    for (int i = 0; i < 10 * TRIES && !fault_is_dark(); i++) {
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct ring_batch batch = {0};
        struct err err = {0};
        det_status st = ring_read(w->reader, 1 << 16, &out, &batch, &err);

        if (fault_is_dark())
            return;
        if (st) {
            check_refusal(w, st, &err);
            continue;
        }
        if (batch.first > batch.last)
            return;
        CHECK_EQ(batch.damaged, 0);
        look_at(w, &out);
        st = ring_stored(w->reader, batch.last, &err);
        if (st && !fault_is_dark())
            check_refusal(w, st, &err);
    }
}

static void close_both(struct world *w)
{
    ring_close(w->ring);
    ring_reader_close(w->reader);
    w->ring = NULL;
    w->reader = NULL;
}

static void tell_of_a_ring(struct sweep *sweep)
{
    struct world w = {.sweep = sweep};

    CHECK_OK(io_memory_new(&w.io, &test_err));
    CHECK_OK(io_mkdir(w.io, "/t", true, &test_err));
    sweep_begin(sweep);
    if (open_both(&w))
        for (uint32_t i = 1; i <= REPORTS && !fault_is_dark(); i++) {
            put(&w, i);
            if (i % 7 == 0)
                drain(&w);
        }
    sweep_end(sweep);
    if (sweep->was_dark) { /* the supervisor dies with its task; an agent reads the rest
                            */
        close_both(&w);
        io_abandon(w.io);
        CHECK(open_both(&w));
        w.is_again = true;
    }
    drain(&w);
    /* Nothing is synced: a power failure loses the task anyway. */
    CHECK(w.seen >= w.accepted || sweep->how == FAULT_POWER);
    close_both(&w);
    io_free(w.io);
}

TEST(what_the_ring_accepted_is_read_once)
{
    sweep_run("ring", tell_of_a_ring, SWEEP_FILES | SWEEP_MEMORY, 200);
}
