/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_overlap.c - checkpoints that overlap training: in a memory file
 * system, where they happen at once and faults strike, and on disk with threads. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/memory/arena.h"
#include "base/memory/snapshot.h"
#include "tests/unit/libdet/world.h"

#define ROOT "/store/below"

static const det_checkpoint_options overlapped = {
    .size = sizeof(overlapped), .steps = 5, .flags = DET_CHECKPOINT_OVERLAPPED};

static det_status save(det_context *det, const char *text, char uuid[UUID_TEXT])
{
    det_checkpoint *checkpoint;
    det_status st = det_checkpoint_begin_with(det, &overlapped, &checkpoint);

    if (st)
        return st;
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    st = det_checkpoint_put(checkpoint, "weights", text, strlen(text));
    if (!st)
        st = det_checkpoint_put(checkpoint, "deep/er/state", "", 0);
    if (st)
        det_checkpoint_abort(checkpoint);
    return st ? st : det_checkpoint_commit(checkpoint);
}

static det_status wait_for(det_context *det, det_checkpoint_outcome *outcome)
{
    *outcome = (det_checkpoint_outcome){.size = sizeof(*outcome)};
    return det_checkpoint_wait(det, -1, outcome);
}

static size_t drafts(struct io *io, const char *root)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 20);
    const char **names;
    size_t count = 0;

    if (io_list(io, root, &mem, &names, NULL))
        return 0;
    for (; *names; names++)
        count += !strncmp(*names, ".det-", 5);
    return count;
}

static void check_text(struct io *io, det_context *det, const char *uuid,
                       const char *text)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;
    char dir[280], path[300];

    CHECK_OK(det_checkpoint_restore(det, uuid, 0, dir, sizeof(dir)));
    snprintf(path, sizeof(path), "%s/weights", dir);
    CHECK_OK(io_read_file(io, path, &bytes, &test_err));
    CHECK_STR(bytes.data, text);
}

/* ---- in memory ------------------------------------------------------------------- */

TEST(it_is_reported_and_told_once_and_the_next_may_begin)
{
    det_checkpoint_outcome outcome;
    char uuid[UUID_TEXT], next[UUID_TEXT];
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(wait_for(det, &outcome));
    CHECK_STR(outcome.uuid, "");
    CHECK_OK(save(det, "one", uuid));
    check_text(w.io, det, NULL, "one");
    CHECK_OK(wait_for(det, &outcome));
    CHECK_STR(outcome.uuid, uuid);
    CHECK_EQ(outcome.copied_bytes, 3);
    CHECK_EQ(outcome.waited_bytes, 0);
    CHECK_OK(wait_for(det, &outcome));
    CHECK_STR(outcome.uuid, "");
    CHECK_OK(save(det, "two", uuid));
    CHECK_OK(save(det, "three", next)); /* nobody collected the second */
    CHECK_OK(wait_for(det, &outcome));
    CHECK_STR(outcome.uuid, next);
    check_text(w.io, det, uuid, "two");
    CHECK_EQ(det_checkpoint_wait(det, -1, &(det_checkpoint_outcome){0}), DET_INVALID);
    det_close(det);
    world_end(&w);
}

TEST(one_is_filled_at_a_time_and_what_was_aborted_leaves_nothing)
{
    det_checkpoint *checkpoint, *other;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(det_checkpoint_begin_with(det, &overlapped, &checkpoint));
    CHECK_EQ(det_checkpoint_begin_with(det, &overlapped, &other), DET_STATE);
    CHECK_HAS(det_context_error(det), "another overlapped checkpoint has been begun");
    CHECK_OK(det_checkpoint_begin(det, 1, NULL, &other)); /* a checkpoint that is not
                                                             overlapped works */
    CHECK_OK(det_checkpoint_commit(other));
    CHECK_OK(det_checkpoint_put(checkpoint, "a", "b", 1));
    det_checkpoint_abort(checkpoint);
    CHECK_EQ(drafts(w.io, ROOT), 0);
    CHECK_OK(det_checkpoint_begin_with(det, &overlapped, &checkpoint));
    det_checkpoint_abort(checkpoint);
    CHECK_EQ(det_checkpoint_begin_with(det, NULL, &checkpoint), DET_INVALID);
    det_close(det);
    world_end(&w);
}

TEST(of_a_name_put_twice_the_last_counts)
{
    det_checkpoint_options options = overlapped;
    det_checkpoint_outcome outcome;
    det_checkpoint *checkpoint;
    char uuid[UUID_TEXT];
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    options.memory_bytes = 8;
    CHECK_OK(det_checkpoint_begin_with(det, &options, &checkpoint));
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    CHECK_OK(det_checkpoint_put(checkpoint, "weights", "one", 3));
    CHECK_OK(det_checkpoint_put(checkpoint, "weights", "two", 3));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    check_text(w.io, det, uuid, "two");

    /* The second finds no room and is written at once; the first must not replace it.
     */
    CHECK_OK(det_checkpoint_begin_with(det, &options, &checkpoint));
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    CHECK_OK(det_checkpoint_put(checkpoint, "weights", "first", 5));
    CHECK_OK(det_checkpoint_put(checkpoint, "weights", "second", 6));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    check_text(w.io, det, uuid, "second");
    CHECK_OK(wait_for(det, &outcome));
    CHECK_EQ(outcome.copied_bytes, 5);
    CHECK_EQ(outcome.waited_bytes, 6); /* the outcome says so */
    det_close(det);
    world_end(&w);
}

TEST(a_full_disk_is_told_once_and_the_checkpoint_before_stays)
{
    det_checkpoint_outcome outcome;
    char first[UUID_TEXT], uuid[UUID_TEXT];
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(save(det, "one", first));
    CHECK_OK(wait_for(det, &outcome));
    for (int who = 0; who < 3; who++) {
        io_memory_limit(w.io, 1);
        CHECK_OK(save(det, "two", uuid)); /* no failure is known yet */
        io_memory_limit(w.io, 0);
        CHECK_EQ(who == 0   ? det_checkpoint_wait(det, 0, NULL)
                 : who == 1 ? save(det, "three", uuid)
                            : det_flush(det, 0),
                 DET_FULL);
        CHECK_HAS(det_context_error(det), " was not saved: ");
        CHECK_HAS(det_context_error(det), "No space left");
        CHECK_OK(wait_for(det, &outcome)); /* once */
        CHECK_EQ(drafts(w.io, ROOT), 0);
        check_text(w.io, det, NULL, "one");
    }
    CHECK_OK(save(det, "four", uuid));
    CHECK_OK(wait_for(det, &outcome));
    check_text(w.io, det, NULL, "four");
    det_close(det);
    world_end(&w);
}

/* Whatever fails: a checkpoint reported as saved exists, a failed one leaves the one
 * before; one error, and no draft unless the disk is broken. */
static void save_under(enum fault_kind kind, int64_t nth, bool *ret_struck)
{
    det_checkpoint_outcome outcome = {.size = sizeof(outcome)};
    char first[UUID_TEXT], uuid[UUID_TEXT];
    struct world w;
    det_context *det;
    det_status st;

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(save(det, "one", first));
    CHECK_OK(wait_for(det, &outcome));
    fault_arm(kind, nth);
    st = save(det, "two", uuid);
    if (!st)
        st = det_checkpoint_wait(det, -1, &outcome);
    *ret_struck = fault_disarm(kind);
    if (st) {
        CHECK(*ret_struck);
        CHECK(*det_context_error(det));
        check_text(w.io, det, NULL, "one");
        CHECK_OK(det_checkpoint_wait(det, -1, NULL));
    } else {
        check_text(w.io, det, NULL, "two");
    }
    CHECK_OK(save(det, "three", uuid)); /* the saver is free again */
    CHECK_OK(det_checkpoint_wait(det, -1, NULL));
    check_text(w.io, det, NULL, "three");
    det_close(det);
    world_end(&w);
}

TEST(no_failed_write_sync_or_allocation_is_silent_or_leaves_half)
{
    static const enum fault_kind kinds[] = {FAULT_WRITE, FAULT_SYNC, FAULT_MEMORY};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool has_struck = true;

        for (int64_t nth = 1; has_struck; nth++)
            save_under(kinds[i], nth, &has_struck);
    }
}

/* Without memory for the copy it is written at once, and the outcome says so. */
TEST(without_memory_for_the_copy_it_is_written_at_once)
{
    det_checkpoint_options options = overlapped;
    det_checkpoint_outcome outcome;
    det_checkpoint *checkpoint;
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    options.memory_bytes = 1;
    CHECK_OK(det_checkpoint_begin_with(det, &options, &checkpoint));
    CHECK_OK(det_checkpoint_put(checkpoint, "weights", "0123", 4));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    CHECK_OK(wait_for(det, &outcome));
    CHECK_EQ(outcome.copied_bytes, 0);
    CHECK_EQ(outcome.waited_bytes, 4);
    check_text(w.io, det, outcome.uuid, "0123");
    det_close(det);
    world_end(&w);
}

/* ---- on the disk, with threads --------------------------------------------------- */

static void remove_tree(const char *path)
{
    CHECK_OK(io_remove_tree(io_system(), path, &test_err));
}

static det_context *open_on_disk(char dir[64])
{
    det_init_options options = {.size = sizeof(options), .directory = dir};
    det_context *det;

    memcpy(dir, "/tmp/det-overlap-XXXXXX", 24);
    CHECK(mkdtemp(dir));
    CHECK_OK(det_init(&options, &det));
    return det;
}

enum { LARGE = SNAPSHOT_BLOCK + (9 << 20) };

static char *make_large(unsigned seed)
{
    char *bytes = mem_alloc(LARGE);

    CHECK(bytes);
    for (size_t i = 0; i < LARGE; i += 4)
        memcpy(bytes + i, &(uint32_t){(uint32_t)i * 2654435761u + seed}, 4);
    return bytes;
}

/* Several threads copy and write it while the caller changes its own memory. */
TEST(the_caller_may_change_its_memory_at_once)
{
    CLEANUP(mem_freep) char *bytes = make_large(1);
    CLEANUP(mem_freep) char *before = make_large(1);
    CLEANUP(buf_done) struct buf read = BUF_INIT;
    det_checkpoint_outcome outcome;
    det_checkpoint *checkpoint;
    char dir[64], path[400], found[300];
    det_context *det = open_on_disk(dir);

    CHECK_OK(det_checkpoint_reserve(det, LARGE + 100));
    for (int round = 0; round < 2; round++) {
        memcpy(bytes, before, LARGE);
        CHECK_OK(det_checkpoint_begin_with(det, &overlapped, &checkpoint));
        for (int i = 0; i < 20; i++) {
            snprintf(path, sizeof(path), "small/%d", i);
            CHECK_OK(det_checkpoint_put(checkpoint, path, bytes + 100 * i, 100));
        }
        CHECK_OK(det_checkpoint_put(checkpoint, "large", bytes, LARGE));
        snprintf(path, sizeof(path), "%s/own", det_checkpoint_path(checkpoint));
        CHECK_OK(io_replace(io_system(), path, "mine", 4, false, &test_err));
        CHECK_OK(det_checkpoint_commit(checkpoint));
        memset(bytes, 0, LARGE);
        CHECK_OK(wait_for(det, &outcome));
        CHECK_EQ(outcome.copied_bytes, LARGE + 2000);

        buf_clear(&read);
        CHECK_OK(det_checkpoint_restore(det, NULL, 0, found, sizeof(found)));
        CHECK_HAS(found, outcome.uuid);
        snprintf(path, sizeof(path), "%s/large", found);
        CHECK_OK(io_read_file(io_system(), path, &read, &test_err));
        CHECK_EQ(read.len, LARGE);
        CHECK(!memcmp(read.data, before, LARGE));
    }
    det_close(det);
    remove_tree(dir);
}

/* Nobody waits, and the context is closed: it is complete anyway, and the next run
 * starts from it. */
TEST(the_end_waits_for_what_is_being_written)
{
    CLEANUP(mem_freep) char *bytes = make_large(2);
    det_checkpoint *checkpoint;
    char dir[64], uuid[UUID_TEXT], path[300];
    det_context *det = open_on_disk(dir);
    det_init_options options = {.size = sizeof(options), .directory = dir};

    CHECK_OK(det_checkpoint_begin_with(det, &overlapped, &checkpoint));
    memcpy(uuid, det_checkpoint_uuid(checkpoint), UUID_TEXT);
    CHECK_OK(det_checkpoint_put(checkpoint, "large", bytes, LARGE));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    det_close(det);
    CHECK_OK(det_init(&options, &det));
    CHECK_STR(det_get_info(det)->latest_checkpoint, uuid);
    CHECK_EQ(det_get_info(det)->steps_completed, 5);
    CHECK_OK(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)));
    det_close(det);
    remove_tree(dir);
}

/* Asked while it is being written: a timeout or the outcome, never both. */
TEST(who_asks_early_is_told_later)
{
    CLEANUP(mem_freep) char *bytes = make_large(3);
    det_checkpoint_outcome outcome = {.size = sizeof(outcome)};
    det_checkpoint *checkpoint;
    char dir[64];
    det_context *det = open_on_disk(dir);
    det_status st;
    size_t told = 0;

    CHECK_OK(det_checkpoint_begin_with(det, &overlapped, &checkpoint));
    CHECK_OK(det_checkpoint_put(checkpoint, "large", bytes, LARGE));
    CHECK_OK(det_checkpoint_commit(checkpoint));
    do {
        st = det_checkpoint_wait(det, 0, &outcome);
        told += outcome.uuid[0] != 0;
    } while (st == DET_TIMEOUT);
    CHECK_OK(st);
    CHECK_OK(det_checkpoint_wait(det, 0, &outcome));
    CHECK_EQ(outcome.uuid[0], 0);
    CHECK_EQ(told, 1);
    det_close(det);
    remove_tree(dir);
}

/* A forked child has neither the threads nor the pages, and does no harm. */
TEST(a_forked_child_leaves_it_alone)
{
    CLEANUP(mem_freep) char *bytes = make_large(4);
    det_checkpoint_outcome outcome;
    det_checkpoint *checkpoint;
    char dir[64], path[300];
    det_context *det = open_on_disk(dir);
    int status;
    pid_t child;

    CHECK_OK(det_checkpoint_begin_with(det, &overlapped, &checkpoint));
    CHECK_OK(det_checkpoint_put(checkpoint, "large", bytes, LARGE));
    child = fork();
    if (child == 0) {
        bool is_right = det_checkpoint_put(checkpoint, "x", "y", 1) == DET_STATE &&
                        det_checkpoint_commit(checkpoint) == DET_STATE &&
                        det_checkpoint_wait(det, -1, NULL) == DET_STATE;

        det_checkpoint_abort(checkpoint);
        det_close(det);
        _exit(is_right ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_OK(det_checkpoint_commit(checkpoint));
    child = fork();
    if (child == 0) {
        det_close(det);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_OK(wait_for(det, &outcome));
    CHECK(outcome.uuid[0]);
    CHECK_OK(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)));
    det_close(det);
    remove_tree(dir);
}

/* Killed at any moment: the latest is the one before or this one, complete. */
TEST(a_kill_leaves_the_checkpoint_before_or_this_one)
{
    CLEANUP(mem_freep) char *bytes = make_large(5);
    char dir[64], path[300];
    det_context *det = open_on_disk(dir);
    det_init_options options = {.size = sizeof(options), .directory = dir};

    det_close(det);
    for (int round = 0; round < 6; round++) {
        pid_t child = fork();
        int status;

        if (child == 0) {
            det_checkpoint *checkpoint;
            char uuid[UUID_TEXT];

            if (det_init(&options, &det) || save(det, "before", uuid) ||
                det_checkpoint_wait(det, -1, NULL) ||
                det_checkpoint_begin_with(det, &overlapped, &checkpoint) ||
                det_checkpoint_put(checkpoint, "weights", bytes, LARGE) ||
                det_checkpoint_commit(checkpoint))
                _exit(1);
            usleep((useconds_t)round * 7000);
            kill(getpid(), SIGKILL);
        }
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status));
        CHECK_OK(det_init(&options, &det));
        CHECK_OK(det_checkpoint_restore(det, NULL, 0, path, sizeof(path)));
        det_close(det);
    }
    remove_tree(dir);
}
