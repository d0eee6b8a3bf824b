/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c - writers and the reader of a ring; damage is in test_ring_damage.c,
 * dying processes are in test_ring_kill.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libdet/ring/ring_head.h"
#include "tests/unit/libdet/ring_world.h"

/* ---- one after the other --------------------------------------------------------- */

ON_BOTH(records_come_in_order_and_numbered)
{
    open_ring(w);
    open_reader(w);
    check_reads(w, 1, 0);

    put_many(w, 1, 3);
    check_reads(w, 1, 3);
    put_many(w, 4, 500);
    check_reads(w, 4, 500);
    check_reads(w, 501, 500);
}

ON_BOTH(metrics_lie_in_the_ring_as_they_were_given)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct report_value value[] = {{.name = "loss", .name_len = 4, .number = 0.25},
                                   {.name = "tag",
                                    .name_len = 3,
                                    .type = REPORT_JSON,
                                    .json = "[1]",
                                    .json_len = 3}};
    struct report_metrics metrics = {
        .steps = 7, .group = "training", .group_len = 8, .count = 2, .value = value};
    struct report_metrics back;
    struct report report;
    size_t at = 0;

    open_ring(w);
    open_reader(w);
    CHECK_OK(ring_put_metrics(w->ring, 3, 99, &metrics, &test_err));

    read_batch(w, 1);
    CHECK(next_report(&w->out, &at, &report));
    CHECK_EQ(report.kind, REPORT_METRICS);
    CHECK_EQ(report.run, 3);
    CHECK_EQ(report.time_us, 99);
    CHECK_OK(report_metrics_decode(report.payload, report.len, &mem, &back, &test_err));
    CHECK_EQ(back.steps, 7);
    CHECK(back.value[0].number == 0.25);
    CHECK_EQ(memcmp(back.value[1].json, "[1]", 3), 0);
}

ON_BOTH(a_batch_is_as_large_as_asked_for_but_never_empty)
{
    open_ring(w);
    open_reader(w);
    put_many(w, 1, 40);

    read_batch(w, 1);
    CHECK_EQ(w->batch.first, 1);
    CHECK_EQ(w->batch.last, 1);
    read_batch(w, 1000);
    CHECK_EQ(w->batch.first, 2);
    CHECK(w->batch.last > 2 && w->batch.last < 40);
    CHECK(w->out.len <= 1000);
    check_reads(w, (uint32_t)w->batch.last + 1, 40);
}

ON_BOTH(what_was_stored_is_removed_and_the_rest_is_read_again_after_a_rewind)
{
    uint64_t accepted;
    uint64_t stored;

    open_ring(w);
    open_reader(w);
    put_many(w, 1, 400);
    CHECK(count_files(w) > 8);
    check_reads(w, 1, 400);
    ring_rewind(w->reader);
    check_reads(w, 1, 400);

    CHECK_OK(ring_stored(w->reader, 300, &test_err));
    ring_rewind(w->reader);
    check_reads(w, 301, 400);
    ring_numbers(w->ring, &accepted, &stored);
    CHECK_EQ(accepted, 400);
    CHECK_EQ(stored, 300);

    CHECK_OK(ring_stored(w->reader, 1000, &test_err));
    ring_numbers(w->ring, &accepted, &stored);
    CHECK_EQ(stored, 400);
    /* The head, the current segment, and perhaps one made ahead. */
    CHECK(count_files(w) <= 3);
}

ON_BOTH(a_new_reader_goes_on_behind_what_was_stored)
{
    open_ring(w);
    open_reader(w);
    put_many(w, 1, 200);
    check_reads(w, 1, 200);
    CHECK_OK(ring_stored(w->reader, 150, &test_err));
    ring_reader_close(w->reader);

    open_reader(w);
    check_reads(w, 151, 200);
    CHECK_OK(ring_stored(w->reader, 200, &test_err));
    close_both(w);

    open_reader(w);
    check_reads(w, 201, 200);
    open_ring(w);
    put_many(w, 201, 210);
    check_reads(w, 201, 210);
}

ON_BOTH(a_reader_works_before_any_writer_came)
{
    open_reader(w);
    check_reads(w, 1, 0);
    ring_wake(w->reader);
    ring_wait(w->reader, -1);
    CHECK_OK(ring_stored(w->reader, 5, &test_err));
    ring_rewind(w->reader);
    open_ring(w);
    put_many(w, 1, 2);
    check_reads(w, 1, 2);
}

ON_BOTH(nobody_in_a_task_makes_a_ring_that_is_gone)
{
    struct ring *late;
    struct io_stat found;
    uint32_t count = 0;
    det_status status = DET_OK;

    w->config.makes = RING_MAKES_NOTHING;
    CHECK_EQ(ring_open(&w->config, &late, &test_err), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, "the task's directory was removed");
    w->config.makes = RING_MAKES_ALL;
    open_reader(w);
    w->config.makes = RING_MAKES_NOTHING;
    open_ring(w);
    put_many(w, 1, 5);
    read_batch(w, 100000); /* the reader has the segment open */
    CHECK_OK(io_remove_tree(w->config.io, w->config.dir, &test_err));

    CHECK_EQ(ring_open(&w->config, &late, &test_err), DET_NOT_FOUND);
    while (!status && count < 100000)
        status = put_said(w->ring, 1, 6 + count++);
    CHECK_EQ(status, DET_NOT_FOUND); /* not beyond the segment that is read */
    CHECK_HAS(test_err.text, "is gone");
    CHECK_EQ(io_stat(w->config.io, w->config.dir, &found, &test_err), DET_NOT_FOUND);
    ring_rewind(w->reader);
    check_reads(w, 1, 5 + count - 1); /* what was accepted */
}

ON_BOTH(several_handles_write_into_one_ring)
{
    struct ring *other;

    open_ring(w);
    open_reader(w);
    CHECK_OK(ring_open(&w->config, &other, &test_err));
    for (uint32_t i = 1; i <= 300; i++)
        CHECK_OK(put_said(i % 3 ? w->ring : other, 1, i));
    ring_close(other);
    check_reads(w, 1, 300);
}

ON_BOTH(a_record_larger_than_a_segment_has_one_of_its_own)
{
    CLEANUP(buf_done) struct buf large = BUF_INIT;
    struct report report = {.kind = REPORT_ALERT, .len = REPORT_BYTES_MOST};
    size_t at = 0;

    open_ring(w);
    open_reader(w);
    memset(buf_room(&large, REPORT_BYTES_MOST), 'x', REPORT_BYTES_MOST);
    report.payload = large.data;
    put_many(w, 1, 2);
    CHECK_OK(ring_put(w->ring, &report, &test_err));
    put_many(w, 4, 4);

    read_batch(w, 1000);
    CHECK_EQ(w->batch.last, 2);
    read_batch(w, 100);
    CHECK_EQ(w->batch.first, 3);
    CHECK_EQ(w->batch.last, 3);
    CHECK(next_report(&w->out, &at, &report));
    CHECK_EQ(memcmp(report.payload, large.data, REPORT_BYTES_MOST), 0);
    check_reads(w, 4, 4);

    report.len++;
    CHECK_EQ(ring_put(w->ring, &report, &test_err), DET_TOO_LARGE);
    CHECK_HAS(test_err.text, "more than");
}

/* ---- limits ---------------------------------------------------------------------- */

/* Fills the ring; returns how many records it took. */
static uint32_t fill(struct world *w, uint32_t from)
{
    while (!put_said(w->ring, 1, from))
        from++;
    return from - 1;
}

ON_BOTH(a_full_ring_says_so_and_goes_on_when_it_is_drained)
{
    uint32_t last;

    w->config.limit_bytes = 20000;
    open_ring(w);
    open_reader(w);
    last = fill(w, 1);
    CHECK(last > 100);
    CHECK_EQ(put_said(w->ring, 1, last + 1), DET_BUSY);
    CHECK_HAS(test_err.text, "wait to be sent to the master, its limit is 20000");

    check_reads(w, 1, last);
    CHECK_EQ(put_said(w->ring, 1, last + 1), DET_BUSY);
    CHECK_OK(ring_stored(w->reader, last, &test_err));
    CHECK(fill(w, last + 1) > last + 100);
}

ON_BOTH(a_limit_below_a_segment_holds_as_well)
{
    uint32_t last = 0;

    w->config.limit_bytes = 1000;
    w->config.segment_bytes = 1 << 20;
    open_ring(w);
    open_reader(w);
    for (int round = 0; round < 20; round++) {
        uint32_t before = last;

        last = fill(w, last + 1);
        CHECK(last >= before + 5);
        check_reads(w, before + 1, last);
        CHECK_OK(ring_stored(w->reader, last, &test_err));
    }
    CHECK_EQ(ring_put(w->ring, &(struct report){.payload = w, .len = 1000}, &test_err),
             DET_TOO_LARGE);
}

static void fill_disk(struct world *w, uint64_t limit)
{
    uint32_t last;

    w->config.segment_bytes = 8192;
    open_ring(w);
    open_reader(w);
    io_memory_limit(w->io, limit);
    last = fill(w, 1);
    CHECK_EQ(put_said(w->ring, 1, last + 1), DET_BUSY);
    CHECK_HAS(test_err.text,
              "the disk under the ring of reports in '/task/ring' is full");
    check_reads(w, 1, last);
    CHECK_EQ(put_said(w->ring, 1, last + 1), DET_BUSY);

    /* A drained ring works again and again, although nothing else frees space. */
    for (int round = 0; round < 5; round++) {
        uint32_t before = last;

        CHECK_OK(ring_stored(w->reader, last, &test_err));
        last = fill(w, last + 1);
        CHECK(last > before + 50);
        CHECK_HAS(test_err.text, "is full");
        check_reads(w, before + 1, last);
    }

    /* And when space returns. */
    io_memory_limit(w->io, 0);
    put_many(w, last + 1, last + 200);
    check_reads(w, last + 1, last + 200);
}

static void full_with_one(struct world *w)
{
    fill_disk(w, 4096 + 8192 + 100);
}

static void full_with_three(struct world *w)
{
    fill_disk(w, 4096 + 3 * 8192 + 100);
}

TEST(a_full_disk_says_so_and_goes_on_when_the_ring_is_drained)
{
    in_memory(full_with_one);
    in_memory(full_with_three);
}

/* The file is at once the old segment, which the reader has open, and the new one. */
static void reuse_behind_reader(struct world *w)
{
    static const char zeroes[3000];
    const struct report large = {
        .kind = REPORT_STATUS, .payload = zeroes, .len = sizeof(zeroes)};
    uint64_t stored, last;

    w->config.segment_bytes = 8192;
    open_ring(w);
    open_reader(w);
    io_memory_limit(w->io, 4096 + 8192 + 100);
    put_many(w, 1, 60);
    check_reads(w, 1, 60);
    CHECK_OK(ring_stored(w->reader, 60, &test_err));
    CHECK_OK(ring_put(w->ring, &large, &test_err)); /* not behind the 60th any more */
    while (!put_said(w->ring, 1, 1))
        continue;
    ring_numbers(w->ring, &last, &stored);
    CHECK(last > 61);

    read_batch(w, SIZE_MAX);
    CHECK_EQ(w->batch.first, 61);
    CHECK_EQ(w->batch.last, last);
    CHECK_EQ(w->batch.damaged, 0);
}

TEST(a_segment_that_becomes_the_next_one_is_not_read_as_the_last)
{
    in_memory(reuse_behind_reader);
}

/* ---- threads --------------------------------------------------------------------- */

enum { THREADS = 6, EACH = 2000 };

struct writer {
    struct ring *ring;
    uint32_t who;
    pthread_t thread;
};

static void *write_each(void *arg)
{
    const struct writer *writer = arg;

    for (uint32_t i = 1; i <= EACH; i++)
        if (put_said(writer->ring, writer->who, i))
            return NULL;
    return arg;
}

ON_BOTH(many_threads_write_while_one_reads)
{
    struct writer writer[THREADS];
    uint32_t nth[THREADS] = {0};
    uint64_t count = 0;
    void *is_fine;

    open_ring(w);
    open_reader(w);
    for (uint32_t i = 0; i < THREADS; i++) {
        writer[i] = (struct writer){w->ring, i, 0};
        CHECK_EQ(pthread_create(&writer[i].thread, NULL, write_each, &writer[i]), 0);
    }
    while (count < THREADS * EACH) {
        struct report report;
        size_t at = 0;

        ring_wait(w->reader, -1);
        read_batch(w, 20000);
        CHECK_EQ(w->batch.damaged, 0);
        while (next_report(&w->out, &at, &report)) {
            struct said said = said_of(&report);

            CHECK_EQ(report.number, ++count);
            CHECK(said.who < THREADS);
            CHECK_EQ(said.nth, ++nth[said.who]);
        }
        CHECK_OK(ring_stored(w->reader, w->batch.last, &test_err));
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(writer[i].thread, &is_fine), 0);
        CHECK(is_fine);
    }
}

static void *wake_reader(void *arg)
{
    ring_wake(arg);
    return NULL;
}

static void *put_one(void *arg)
{
    struct world *w = arg;

    return put_said(w->ring, 1, 1) ? NULL : arg;
}

/* Would hang otherwise. */
ON_DISK(a_sleeping_reader_is_woken_by_a_put_or_by_hand)
{
    pthread_t thread;

    open_ring(w);
    open_reader(w);
    read_batch(w, 1);
    CHECK_EQ(pthread_create(&thread, NULL, wake_reader, w->reader), 0);
    ring_wait(w->reader, -1);
    pthread_join(thread, NULL);

    CHECK_EQ(pthread_create(&thread, NULL, put_one, w), 0);
    do {
        ring_wait(w->reader, -1);
        read_batch(w, SIZE_MAX);
    } while (w->batch.first > w->batch.last);
    pthread_join(thread, NULL);
    CHECK_EQ(w->batch.last, 1);
}

/* ---- what fails on the way ------------------------------------------------------- */

/* Uses everything once while something fails; then, without faults, checks that the
 * accepted records can be read. */
static void use_ring(const struct ring_config *config)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    CLEANUP(buf_done) struct buf rest = BUF_INIT;
    struct ring_batch batch = {0};
    struct ring_reader *reader = NULL;
    struct ring *ring = NULL;
    uint32_t accepted = 0;

    if (!ring_open(config, &ring, &test_err))
        for (uint32_t i = 1; i <= 60; i++)
            accepted += !put_said(ring, 1, accepted + 1);
    if (!ring_reader_open(config, &reader, &test_err) &&
        !ring_read(reader, 1000, &out, &batch, &test_err))
        (void)ring_stored(reader, batch.last, &test_err);
    ring_close(ring);
    ring_reader_close(reader);
    fault_state.left[FAULT_MEMORY] = fault_state.left[FAULT_WRITE] = 0;

    CHECK_OK(ring_reader_open(config, &reader, &test_err));
    CHECK_OK(ring_read(reader, SIZE_MAX, &rest, &batch, &test_err));
    CHECK_EQ(batch.last, accepted);
    CHECK_EQ(batch.damaged, 0);
    ring_reader_close(reader);
}

static void use_with_fault(enum fault_kind kind, int64_t nth)
{
    struct io *io;

    fault_state.left[kind] = 0;
    CHECK_OK(io_memory_new(&io, &test_err));
    fault_arm(kind, nth);
    use_ring(&(struct ring_config){io, "/task/ring", 0, 2048});
    io_free(io);
}

TEST(out_of_memory_anywhere_loses_nothing)
{
    EACH_ALLOCATION_FAILS() {
        use_with_fault(FAULT_MEMORY, each_nth);
    }
}

TEST(a_write_that_fails_anywhere_loses_nothing)
{
    int64_t nth = 0;

    do
        use_with_fault(FAULT_WRITE, ++nth);
    while (fault_disarm(FAULT_WRITE));
    CHECK(nth > 10);
}

static void put_and_crash(struct world *w)
{
    open_ring(w);
    open_reader(w);
    put_many(w, 1, 100);
    io_crash(w->io);
    close_both(w);

    open_reader(w);
    check_reads(w, 1, 0);
    open_ring(w);
    put_many(w, 1, 100);
    check_reads(w, 1, 100);
}

TEST(a_loss_of_power_leaves_a_ring_that_works)
{
    in_memory(put_and_crash);
}

/* The task's library and the supervisor may be of different versions. */
ON_BOTH(a_ring_of_a_newer_format_is_refused_by_name)
{
    const uint64_t format = ring_word_seal(2);
    struct io_file *file;
    char path[80];

    open_ring(w);
    ring_close(w->ring);
    w->ring = NULL;
    snprintf(path, sizeof(path), "%s/head", w->dir);
    CHECK_OK(io_open(w->io, path, IO_WRITE, &file, &test_err));
    CHECK_OK(io_write_at(file, offsetof(struct ring_head, format), &format,
                         sizeof(format), &test_err));
    io_close(file);
    CHECK_EQ(ring_open(&w->config, &w->ring, &test_err), DET_UNSUPPORTED);
    CHECK_HAS(test_err.text, "has format 2, and this version of det reads 1");
}

/* ---- forks ----------------------------------------------------------------------- */

ON_DISK(a_child_knows_that_the_ring_is_its_parents)
{
    int code;
    pid_t child;

    open_ring(w);
    open_reader(w);
    put_many(w, 1, 50);
    CHECK(!ring_is_inherited(w->ring));
    child = fork();
    if (child == 0) {
        bool is_fine =
            ring_is_inherited(w->ring) && put_said(w->ring, 1, 51) == DET_STATE;

        ring_close(w->ring);
        _exit(is_fine ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &code, 0), child);
    CHECK_EQ(code, 0);
    put_many(w, 51, 100);
    check_reads(w, 1, 100);
}
