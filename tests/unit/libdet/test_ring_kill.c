/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_kill.c - writers that are killed, stopped or misled while others write.
 * The seed of a run is printed; DET_SEED repeats it. */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io/map_guard.h"
#include "base/rng.h"
#include "libdet/ring/ring_head.h"
#include "libdet/ring/ring_segment.h"
#include "tests/unit/libdet/ring_world.h"

enum { WRITERS = 4, KILLS = 60, LIVES = WRITERS + KILLS };

/* The number of puts of each life that returned; shared with the children. */
struct tally {
    _Atomic uint32_t returned[LIVES];
};

/* A child that ends with the test, even if the test fails. */
static pid_t fork_child(void)
{
    pid_t child = fork();

    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(child >= 0);
    return child;
}

static pid_t start_writer(struct world *w, struct tally *tally, uint32_t life)
{
    pid_t child = fork_child();

    if (child == 0) {
        struct ring *ring;
        det_status status = ring_open(&w->config, &ring, &test_err);

        for (uint32_t i = 1; !status || status == DET_BUSY;) {
            status = put_said(ring, life, i);
            if (status == DET_BUSY)
                sched_yield();
            else if (!status)
                atomic_store(&tally->returned[life], i++);
        }
        fprintf(stderr, "# writer %u: %s\n", life, test_err.text);
        _exit(1);
    }
    return child;
}

static void kill_writer(pid_t child)
{
    int code;

    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(waitpid(child, &code, 0), child);
    CHECK(WIFSIGNALED(code));
}

/* Checks numbers without gaps, and the records of each life in order.  Returns false if
 * there was nothing. */
static bool drain(struct world *w, uint64_t *number, uint32_t *nth)
{
    struct report report;
    size_t at = 0;

    read_batch(w, 1 << 16);
    CHECK_EQ(w->batch.damaged, 0);
    while (next_report(&w->out, &at, &report)) {
        struct said said = said_of(&report);

        CHECK_EQ(report.number, ++*number);
        CHECK(said.who < LIVES);
        CHECK_EQ(said.nth, ++nth[said.who]);
    }
    CHECK_OK(ring_stored(w->reader, w->batch.last, &test_err));
    return w->batch.first <= w->batch.last;
}

static uint64_t pick_seed(void)
{
    const char *given = getenv("DET_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    print_message("# DET_SEED=%" PRIu64 "\n", seed);
    return seed;
}

ON_DISK(what_killed_writers_had_put_is_read_exactly_once)
{
    struct tally *tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t nth[LIVES] = {0};
    uint64_t number = 0;
    pid_t child[WRITERS];
    uint32_t who[WRITERS];
    struct rng64 rng;

    CHECK(tally != MAP_FAILED);
    rng.state = pick_seed();
    w->config.limit_bytes = 100000;
    open_reader(w);
    for (uint32_t i = 0; i < WRITERS; i++)
        child[i] = start_writer(w, tally, who[i] = i);
    for (uint32_t life = WRITERS; life < LIVES; life++) {
        uint32_t i = (uint32_t)rng64_below(&rng, WRITERS);
        uint64_t until = number + rng64_below(&rng, 400);

        /* By records rather than by time: as many on any machine. */
        while (number <= until)
            (void)drain(w, &number, nth);
        kill_writer(child[i]);
        child[i] = start_writer(w, tally, who[i] = life);
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        kill_writer(child[i]);
    while (drain(w, &number, nth))
        continue;
    for (uint32_t life = 0; life < LIVES; life++) {
        uint32_t returned = atomic_load(&tally->returned[life]);

        /* One more may have been accepted when its writer died. */
        CHECK(nth[life] == returned || nth[life] == returned + 1);
    }
    munmap(tally, sizeof(*tally));
}

/* Holds the ring's mutex, says so, and waits to be killed. */
static pid_t start_holder(struct world *w)
{
    int said[2];
    char byte;
    pid_t child;

    CHECK_EQ(pipe(said), 0);
    child = fork_child();
    if (child == 0) {
        struct ring_head_file head;

        if (ring_head_open(w->io, w->dir, RING_MAKES_ALL, &head, &test_err) ||
            !shared_lock_take(&head.head->lock, 1000) || write(said[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    close(said[1]);
    CHECK_EQ(read(said[0], &byte, 1), 1);
    close(said[0]);
    return child;
}

ON_DISK(a_holder_that_is_killed_blocks_nobody)
{
    pid_t holder;

    open_ring(w);
    open_reader(w);
    put_many(w, 1, 10);
    holder = start_holder(w);
    kill_writer(holder);
    put_many(w, 11, 20);
    check_reads(w, 1, 20);
}

ON_DISK(a_holder_that_is_stopped_makes_puts_fail_rather_than_wait)
{
    pid_t holder;

    open_ring(w);
    open_reader(w);
    put_many(w, 1, 10);
    holder = start_holder(w);
    CHECK_EQ(put_said(w->ring, 1, 11), DET_BUSY);
    CHECK_HAS(test_err.text, "is it stopped?");
    /* The reader still works. */
    check_reads(w, 1, 10);
    kill_writer(holder);
    put_many(w, 11, 12);
    check_reads(w, 11, 12);
}

/* ---- a folder that is changed under them ----------------------------------------- */

static const char *segment_name(struct world *w, uint64_t index)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/segment-%012" PRIu64, w->dir, index);
    return path;
}

ON_DISK(a_segment_removed_under_writers_is_left_by_them)
{
    open_ring(w);
    open_reader(w);
    put_many(w, 1, 3);
    check_reads(w, 1, 3);
    CHECK_OK(io_remove(w->io, segment_name(w, 1), &test_err));
    ring_reader_close(w->reader);
    open_reader(w);

    /* The record in flight is lost with it, and counted. */
    put_many(w, 4, 4);
    read_batch(w, SIZE_MAX);
    CHECK_EQ(w->batch.first, 1);
    CHECK_EQ(w->batch.last, 4);
    CHECK_EQ(w->batch.damaged, 4);
    put_many(w, 5, 9);
    check_reads(w, 5, 9);
}

ON_DISK(a_folder_removed_under_a_writer_is_told)
{
    open_ring(w);
    open_reader(w);
    put_many(w, 1, 3);
    CHECK_OK(io_remove_tree(w->io, w->dir, &test_err));
    read_batch(w, SIZE_MAX);
    CHECK_EQ(w->batch.damaged, 3);
    CHECK_EQ(put_said(w->ring, 1, 4), DET_NOT_FOUND);
    CHECK_HAS(test_err.text, w->dir);
}

ON_DISK(links_and_pipes_in_the_folder_are_not_followed)
{
    char other[160];

    open_ring(w);
    put_many(w, 1, 3);
    close_both(w);
    snprintf(other, sizeof(other), "%s.other", w->dir);
    CHECK_OK(io_rename(w->io, segment_name(w, 1), other, &test_err));

    CHECK_EQ(symlink(other, segment_name(w, 1)), 0);
    open_reader(w);
    CHECK(ring_read(w->reader, SIZE_MAX, &w->out, &w->batch, &test_err) != DET_OK);
    CHECK_EQ(unlink(segment_name(w, 1)), 0);
    CHECK_EQ(mkfifo(segment_name(w, 1), 0600), 0);
    CHECK(ring_read(w->reader, SIZE_MAX, &w->out, &w->batch, &test_err) != DET_OK);

    /* The reader has lost nothing by that. */
    CHECK_OK(io_rename(w->io, other, segment_name(w, 1), &test_err));
    check_reads(w, 1, 3);
}

ON_DISK(a_head_cut_short_under_the_reader_costs_nothing_that_was_put)
{
    char path[160];

    open_ring(w);
    put_many(w, 1, 100);
    ring_close(w->ring);
    w->ring = NULL;
    open_reader(w);
    snprintf(path, sizeof(path), "%s/head", w->dir);
    CHECK_EQ(truncate(path, 0), 0);
    check_reads(w, 1, 100);
    CHECK_OK(ring_stored(w->reader, 100, &test_err));
    ring_wake(w->reader);
    ring_wait(w->reader, -1);
}

/* A process of the task that truncates the head and fills it again, until it is killed. */
static pid_t start_truncating(const char *head)
{
    pid_t child = fork_child();

    if (child == 0)
        for (;;)
            if (truncate(head, 0) || truncate(head, HEAD_BYTES))
                _exit(1);
    return child;
}

static void use_reader(struct world *w, uint32_t round)
{
    buf_clear(&w->out);
    (void)ring_read(w->reader, SIZE_MAX, &w->out, &w->batch, &test_err);
    (void)ring_stored(w->reader, round, &test_err);
    ring_refuse(w->reader, 1, DET_INVALID, "no");
    (void)ring_turned_away(w->reader);
    ring_wake(w->reader);
    ring_wait(w->reader, -1);
}

/* Without the guard, one of the first thousand rounds ends this process with SIGBUS. */
ON_DISK(a_head_that_is_truncated_all_the_time_does_not_end_its_reader)
{
    char head[160];
    uint32_t cut = 0;
    pid_t child;

    map_guard_install();
    open_ring(w);
    put_many(w, 1, 20);
    close_both(w);
    snprintf(head, sizeof(head), "%s/head", w->dir);
    child = start_truncating(head);
    for (uint32_t i = 0; i < 200; i++) { /* a new agent opens it again */
        if (ring_reader_open(&w->config, &w->reader, &test_err))
            continue;
        for (uint32_t round = 0; round < 100; round++)
            use_reader(w, round);
        cut += ring_is_cut(w->reader);
        ring_reader_close(w->reader);
        w->reader = NULL;
    }
    kill_writer(child);
    CHECK(cut > 0);
}

ON_DISK(what_is_read_from_a_truncated_map_is_empty)
{
    struct io_file *file;
    struct io_map map;
    char path[160];

    map_guard_install();
    snprintf(path, sizeof(path), "%s.map", w->dir);
    CHECK_OK(io_open(w->io, path, IO_WRITE | IO_CREATE, &file, &test_err));
    CHECK_OK(io_reserve(file, HEAD_BYTES, &test_err));
    CHECK_OK(io_map(file, HEAD_BYTES, &map, &test_err));
    CHECK_OK(map_guard_add(&map, &test_err));
    map.data[0] = 7;
    CHECK(!map_guard_is_broken(&map));
    CHECK_EQ(truncate(path, 0), 0);
    CHECK_EQ(((volatile char *)map.data)[0], 0);
    CHECK(map_guard_is_broken(&map));
    map_guard_remove(&map);
    CHECK(!map_guard_is_broken(&map));
    io_unmap(&map);
    io_close(file);
}
