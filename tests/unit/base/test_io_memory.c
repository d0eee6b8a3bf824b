/* SPDX-License-Identifier: Apache-2.0 */
/* What a loss of power leaves. */
#include "base/io/io.h"

#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/rng.h"
#include "tests/support/test.h"

static struct io *new_io(void)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    return io;
}

static struct io_file *open_file(struct io *io, const char *path)
{
    struct io_file *file;

    CHECK_OK(io_open(io, path, IO_WRITE | IO_CREATE, &file, &test_err));
    return file;
}

/* Bytes durable, the name not yet. */
static void put(struct io *io, const char *path, const char *text)
{
    struct io_file *file = open_file(io, path);

    CHECK_OK(io_truncate(file, 0, &test_err));
    CHECK_OK(io_append(file, text, strlen(text), &test_err));
    CHECK_OK(io_sync(file, &test_err));
    io_close(file);
}

static void make_dir(struct io *io, const char *path)
{
    CHECK_OK(io_mkdir(io, path, false, &test_err));
}

static void sync_dir(struct io *io, const char *path)
{
    CHECK_OK(io_sync_dir(io, path, &test_err));
}

static void move(struct io *io, const char *from, const char *to)
{
    CHECK_OK(io_rename(io, from, to, &test_err));
}

static void check_content(struct io *io, const char *path, const char *text)
{
    struct buf bytes = BUF_INIT;

    CHECK_OK(io_read_file(io, path, &bytes, &test_err));
    CHECK_STR(bytes.data, text);
    buf_done(&bytes);
}

static bool is_there(struct io *io, const char *path)
{
    struct io_stat st;

    return io_stat(io, path, &st, NULL) == DET_OK;
}

TEST(synced_bytes_survive_and_others_do_not)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");

    sync_dir(io, "/");
    CHECK_OK(io_append(file, "kept", 4, &test_err));
    CHECK_OK(io_sync(file, &test_err));
    CHECK_OK(io_append(file, " lost", 5, &test_err));
    CHECK_OK(io_write_at(file, 0, "LOST", 4, &test_err));
    check_content(io, "f", "LOST lost");
    io_crash(io);
    check_content(io, "f", "kept");
    io_close(file);
    io_free(io);
}

TEST(a_file_that_was_never_synced_is_empty)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");

    CHECK_OK(io_append(file, "lost", 4, &test_err));
    sync_dir(io, "/");
    io_close(file);
    io_crash(io);
    check_content(io, "f", "");
    io_free(io);
}

TEST(cut_bytes_come_back_unless_the_cut_was_synced)
{
    struct io *io = new_io();
    struct io_file *file;

    put(io, "f", "0123456789");
    sync_dir(io, "/");
    file = open_file(io, "f");
    CHECK_OK(io_truncate(file, 3, &test_err));
    CHECK_OK(io_truncate(file, 6, &test_err));
    io_close(file);
    io_crash(io);
    check_content(io, "f", "0123456789");

    file = open_file(io, "f");
    CHECK_OK(io_truncate(file, 3, &test_err));
    CHECK_OK(io_append(file, "x", 1, &test_err));
    CHECK_OK(io_sync(file, &test_err));
    io_close(file);
    io_crash(io);
    check_content(io, "f", "012x");
    io_free(io);
}

/* The dirty range against whole copies. */
TEST(any_mix_of_writes_cuts_and_syncs_survives_as_of_the_last_sync)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rng64 rng = {seed};
        struct io *io = new_io();
        struct io_file *file = open_file(io, "f");
        struct buf now = BUF_INIT;
        struct buf kept = BUF_INIT;

        sync_dir(io, "/");
        for (int i = 0; i < 200; i++) {
            uint64_t dice = rng64_below(&rng, 10);
            size_t offset = rng64_below(&rng, 200);
            char byte = (char)('a' + i % 26);

            if (dice < 6) {
                CHECK_OK(io_write_at(file, offset, &byte, 1, &test_err));
                while (now.len <= offset)
                    buf_putc(&now, '\0');
                now.data[offset] = byte;
            } else if (dice < 8) {
                CHECK_OK(io_truncate(file, offset, &test_err));
                buf_cut(&now, offset);
                while (now.len < offset)
                    buf_putc(&now, '\0');
            } else if (dice == 8) {
                CHECK_OK(io_sync(file, &test_err));
                buf_clear(&kept);
                buf_add(&kept, now.data, now.len);
            } else {
                struct buf found = BUF_INIT;

                io_crash(io);
                io_close(file);
                CHECK_OK(io_read_file(io, "f", &found, &test_err));
                CHECK_EQ(found.len, kept.len);
                CHECK_EQ(memcmp(found.data, kept.data, kept.len), 0);
                buf_done(&found);
                buf_clear(&now);
                buf_add(&now, kept.data, kept.len);
                file = open_file(io, "f");
            }
        }
        io_close(file);
        buf_done(&now);
        buf_done(&kept);
        io_free(io);
    }
}

TEST(a_name_is_lost_unless_its_directory_was_synced)
{
    struct io *io = new_io();

    put(io, "kept", "x");
    sync_dir(io, "/");
    put(io, "lost", "x");
    io_crash(io);
    CHECK(is_there(io, "kept"));
    CHECK(!is_there(io, "lost"));
    io_free(io);
}

TEST(a_directory_that_is_lost_takes_its_files_along)
{
    struct io *io = new_io();

    make_dir(io, "/a/b");
    put(io, "/a/b/f", "x");
    sync_dir(io, "/a/b");
    io_crash(io);
    CHECK(!is_there(io, "/a"));

    make_dir(io, "/a/b");
    put(io, "/a/b/f", "x");
    sync_dir(io, "/a/b");
    sync_dir(io, "/a");
    sync_dir(io, "/");
    io_crash(io);
    check_content(io, "/a/b/f", "x");
    io_free(io);
}

TEST(a_removed_file_comes_back_unless_its_directory_was_synced)
{
    struct io *io = new_io();

    put(io, "f", "x");
    sync_dir(io, "/");
    CHECK_OK(io_remove(io, "f", &test_err));
    io_crash(io);
    check_content(io, "f", "x");
    CHECK_OK(io_remove(io, "f", &test_err));
    sync_dir(io, "/");
    io_crash(io);
    CHECK(!is_there(io, "f"));
    io_free(io);
}

TEST(a_removed_tree_comes_back_whole)
{
    struct io *io = new_io();

    make_dir(io, "/t/a");
    put(io, "/t/a/f", "x");
    sync_dir(io, "/t/a");
    sync_dir(io, "/t");
    sync_dir(io, "/");
    CHECK_OK(io_remove_tree(io, "/t", &test_err));
    io_crash(io);
    check_content(io, "/t/a/f", "x");
    CHECK_OK(io_remove_tree(io, "/t", &test_err));
    sync_dir(io, "/");
    io_crash(io);
    CHECK(!is_there(io, "/t"));
    io_free(io);
}

TEST(an_unsynced_rename_is_undone_and_its_victim_is_back)
{
    struct io *io = new_io();

    put(io, "a", "new");
    put(io, "b", "old");
    sync_dir(io, "/");
    move(io, "a", "b");
    check_content(io, "b", "new");
    io_crash(io);
    check_content(io, "a", "new");
    check_content(io, "b", "old");
    io_free(io);
}

TEST(a_rename_between_directories_is_whole_when_either_is_synced)
{
    static const char *const synced[] = {"/from", "/to"};

    for (int i = 0; i < 2; i++) {
        struct io *io = new_io();

        make_dir(io, "/from");
        make_dir(io, "/to");
        put(io, "/from/f", "new");
        put(io, "/to/f", "old");
        sync_dir(io, "/");
        sync_dir(io, "/from");
        sync_dir(io, "/to");
        move(io, "/from/f", "/to/f");
        sync_dir(io, synced[i]);
        io_crash(io);
        CHECK(!is_there(io, "/from/f"));
        check_content(io, "/to/f", "new");
        io_free(io);
    }
}

TEST(directories_moved_into_one_another_in_turn_are_not_lost)
{
    struct io *io = new_io();

    make_dir(io, "/a");
    make_dir(io, "/b");
    put(io, "/a/f", "x");
    sync_dir(io, "/a");
    sync_dir(io, "/");
    move(io, "/a", "/b/a");
    sync_dir(io, "/b");
    move(io, "/b/a", "/a");
    move(io, "/b", "/a/b");
    sync_dir(io, "/a");
    io_crash(io);
    check_content(io, "/a/f", "x");
    CHECK(is_there(io, "/a/b"));
    io_free(io);
}

TEST(a_file_moved_out_of_a_removed_directory_is_not_lost)
{
    struct io *io = new_io();

    make_dir(io, "/d");
    put(io, "/d/f", "x");
    sync_dir(io, "/d");
    sync_dir(io, "/");
    make_dir(io, "/e");
    sync_dir(io, "/");
    move(io, "/d/f", "/e/f");
    CHECK_OK(io_remove(io, "/d", &test_err));
    sync_dir(io, "/");
    io_crash(io);
    CHECK(!is_there(io, "/d"));
    check_content(io, "/e/f", "x");
    io_free(io);
}

TEST(replacing_leaves_the_old_bytes_or_the_new_whenever_the_power_fails)
{
    static const enum fault_kind kinds[] = {FAULT_WRITE, FAULT_SYNC};

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        bool struck = true;

        for (int64_t nth = 1; struck; nth++) {
            struct io *io = new_io();
            det_status status;

            CHECK_OK(io_replace(io, "f", "old", 3, false, &test_err));
            fault_arm(kinds[k], nth);
            status = io_replace(io, "f", "new", 3, false, NULL);
            struck = fault_disarm(kinds[k]);
            io_crash(io);
            check_content(io, "f", status ? "old" : "new");
            io_free(io);
        }
    }
}

TEST(open_files_are_dead_after_a_crash)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_file *again;
    struct err err = {0};
    uint64_t size;
    size_t got;
    char byte;

    sync_dir(io, "/");
    CHECK_OK(io_lock(file, &test_err));
    io_crash(io);
    CHECK_EQ(io_read_at(file, 0, &byte, 1, &got, &err), DET_IO);
    CHECK_STR(err.text, "'f' was lost when the power failed");
    CHECK_EQ(io_write_at(file, 0, "x", 1, NULL), DET_IO);
    CHECK_EQ(io_append(file, "x", 1, NULL), DET_IO);
    CHECK_EQ(io_sync(file, NULL), DET_IO);
    CHECK_EQ(io_truncate(file, 0, NULL), DET_IO);
    CHECK_EQ(io_size(file, &size, NULL), DET_IO);
    CHECK_EQ(io_lock(file, NULL), DET_IO);

    again = open_file(io, "f");
    CHECK_OK(io_lock(again, &test_err));
    io_close(file);
    io_close(again);
    io_free(io);
}

TEST(a_full_disk_takes_what_fits_and_frees_what_is_removed)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct err err = {0};
    uint64_t size;

    io_memory_limit(io, 10);
    CHECK_OK(io_append(file, "12345678", 8, &test_err));
    CHECK_EQ(io_append(file, "9abc", 4, &err), DET_FULL);
    CHECK_HAS(err.text, "'f'");
    CHECK_OK(io_size(file, &size, &test_err));
    CHECK_EQ(size, 10);
    CHECK_OK(io_write_at(file, 0, "overwrite", 9, &test_err));
    CHECK_EQ(io_truncate(file, 11, NULL), DET_FULL);
    CHECK_EQ(io_replace(io, "g", "x", 1, false, NULL), DET_FULL);
    CHECK(!is_there(io, ".g.tmp0"));
    io_close(file);
    CHECK_OK(io_remove(io, "f", &test_err));
    CHECK_OK(io_replace(io, "g", "x", 1, false, &test_err));
    io_memory_limit(io, 0);
    CHECK_OK(io_replace(io, "g", "0123456789ab", 12, false, &test_err));
    io_free(io);
}

TEST(the_root_can_be_listed_but_not_removed)
{
    struct arena mem = ARENA_INIT(1 << 16);
    struct io *io = new_io();
    const char **names;

    CHECK(io_is_memory(io));
    CHECK(!io_is_memory(io_system()));
    CHECK_OK(io_list(io, "/", &mem, &names, &test_err));
    CHECK_NULL(names[0]);
    CHECK_EQ(io_remove(io, "/", NULL), DET_IO);
    CHECK_EQ(io_remove_tree(io, "/", NULL), DET_IO);
    CHECK_EQ(io_rename(io, "/", "/x", NULL), DET_IO);
    CHECK_OK(io_mkdir(io, "/", false, &test_err));
    arena_done(&mem);
    io_free(io);
}

TEST(a_memory_file_system_out_of_memory_is_no_file_system)
{
    EACH_ALLOCATION_FAILS() {
        struct io *io = NULL;
        det_status status = io_memory_new(&io, NULL);

        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
        CHECK_EQ(io == NULL, fault_fired());
        io_free(io);
    }
}

/* Random renames, removals, syncs and crashes of a small tree: whatever is synced all
 * over must be there after the crash, and nothing may be met twice. */
static const char *const spots[] = {"/a",   "/b",     "/c",     "/a/x",  "/b/x",
                                    "/c/x", "/a/x/y", "/b/x/y", "/c/x/y"};

/* Counts all nodes; syncs all directories on the way, if asked to. */
static size_t count_all(struct io *io, const char *path, struct arena *mem,
                        bool must_sync)
{
    const char **names;
    size_t count = 0;

    CHECK(strlen(path) < 100);
    if (io_list(io, path, mem, &names, NULL))
        return 0;
    if (must_sync)
        sync_dir(io, path);
    for (size_t i = 0; names[i]; i++)
        count += 1 + count_all(io, arena_printf(mem, "%s/%s", path, names[i]), mem,
                               must_sync);
    return count;
}

static void change_something(struct io *io, struct rng64 *rng)
{
    const char *one = spots[rng64_below(rng, ARRAY_LEN(spots))];
    const char *other = spots[rng64_below(rng, ARRAY_LEN(spots))];

    switch (rng64_below(rng, 8)) {
    case 0:
        (void)io_mkdir(io, one, false, NULL);
        break;
    case 1:
        (void)io_replace(io, one, one, strlen(one), false, NULL);
        break;
    case 2:
        (void)io_remove_tree(io, one, NULL);
        break;
    case 3:
        (void)io_sync_dir(io, rng64_below(rng, 2) ? one : "/", NULL);
        break;
    case 4:
        if (rng64_below(rng, 4) == 0)
            io_crash(io);
        break;
    default:
        (void)io_rename(io, one, other, NULL);
    }
}

TEST(random_changes_and_crashes_leave_a_tree)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct arena mem = ARENA_INIT(1 << 24);
        struct rng64 rng = {seed};
        struct io *io = new_io();
        size_t count;

        for (int i = 0; i < 200; i++) {
            change_something(io, &rng);
            (void)count_all(io, "/", &mem, false);
        }
        count = count_all(io, "/", &mem, true);
        io_crash(io);
        CHECK_EQ(count_all(io, "/", &mem, false), count);
        arena_done(&mem);
        io_free(io);
    }
}

/* ---- maps ---- */

TEST(what_was_written_through_a_map_survives_when_it_was_synced)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_map map;
    struct io_map late;

    sync_dir(io, "/");
    CHECK_OK(io_reserve(file, 4, &test_err));
    CHECK_OK(io_map(file, 4, &map, &test_err));
    memcpy(map.data, "kept", 4);
    CHECK_OK(io_sync(file, &test_err));
    memcpy(map.data, "lost", 4);
    io_crash(io);
    io_unmap(&map);
    io_close(file);
    check_content(io, "f", "kept");

    /* Also when the map is gone before the sync. */
    file = open_file(io, "f");
    CHECK_OK(io_map(file, 4, &late, &test_err));
    memcpy(late.data, "late", 4);
    io_unmap(&late);
    CHECK_OK(io_sync(file, &test_err));
    io_crash(io);
    io_close(file);
    check_content(io, "f", "late");
    io_free(io);
}

TEST(a_map_of_a_file_that_the_crash_took_can_still_be_unmapped)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_map map;

    CHECK_OK(io_reserve(file, 100, &test_err));
    CHECK_OK(io_map(file, 100, &map, &test_err));
    io_crash(io);
    io_crash(io);
    CHECK(!is_there(io, "f"));
    map.data[99] = 1;
    io_unmap(&map);
    io_close(file);
    io_free(io);
}

TEST(reserving_beyond_the_limit_says_that_the_disk_is_full)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_map map;

    io_memory_limit(io, 100);
    CHECK_EQ(io_reserve(file, 101, &test_err), DET_FULL);
    CHECK_OK(io_reserve(file, 100, &test_err));
    CHECK_OK(io_map(file, 100, &map, &test_err));
    io_close(file);
    CHECK_OK(io_remove(io, "f", &test_err));
    /* As on a disk: its space comes back with the last map. */
    file = open_file(io, "g");
    CHECK_EQ(io_reserve(file, 1, &test_err), DET_FULL);
    io_unmap(&map);
    CHECK_OK(io_reserve(file, 1, &test_err));
    io_close(file);
    io_free(io);
}

TEST(a_mapped_file_stays_where_it_is)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_map map;

    CHECK_OK(io_reserve(file, 64, &test_err));
    CHECK_OK(io_map(file, 64, &map, &test_err));
    CHECK_EQ(io_reserve(file, 1 << 20, &test_err), DET_IO);
    CHECK_EQ(io_write_at(file, 1 << 20, "x", 1, &test_err), DET_IO);
    map.data[63] = 'x';
    io_unmap(&map);
    CHECK_OK(io_reserve(file, 1 << 20, &test_err));
    io_close(file);
    io_free(io);
}

/* ---- ways in which an operation goes wrong -----------------------------------------
 */

static uint64_t size_of(struct io *io, const char *path)
{
    struct io_stat found;

    CHECK_OK(io_stat(io, path, &found, &test_err));
    return found.size_bytes;
}

TEST(a_fault_fails_tears_or_fills_as_it_was_told)
{
    static const struct {
        enum fault_how how;
        det_status status;
        uint64_t left;
    } ways[] = {
        {FAULT_FAILS, DET_IO, 0}, {FAULT_TORN, DET_IO, 2}, {FAULT_FULL, DET_FULL, 2}};

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct io *io = new_io();
        struct io_file *file = open_file(io, "f");

        fault_arm_as(FAULT_WRITE, 1, ways[i].how);
        CHECK_EQ(io_write_at(file, 0, "abcd", 4, &test_err), ways[i].status);
        CHECK(fault_disarm(FAULT_WRITE));
        CHECK_EQ(size_of(io, "f"), ways[i].left);
        CHECK_OK(io_write_at(file, 0, "abcd", 4, &test_err));
        io_close(file);
        io_free(io);
    }
}

TEST(after_the_power_went_it_is_dark_until_there_is_light)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_stat found;

    sync_dir(io, "/");
    CHECK_OK(io_write_at(file, 0, "ab", 2, &test_err));
    CHECK_OK(io_sync(file, &test_err));
    fault_arm_as(FAULT_WRITE, 1, FAULT_POWER);
    CHECK_EQ(io_write_at(file, 2, "cd", 2, &test_err), DET_IO);
    CHECK(fault_is_dark());
    CHECK_EQ(io_stat(io, "f", &found, NULL), DET_IO);
    CHECK_EQ(io_mkdir(io, "d", false, NULL), DET_IO);
    CHECK_EQ(io_remove(io, "f", NULL), DET_IO);
    io_close(file);
    CHECK(fault_light());
    CHECK_EQ(size_of(io, "f"), 2); /* what was not synced is gone */
    CHECK(!fault_light());
    io_free(io);
}

TEST(a_process_that_dies_leaves_what_it_wrote_and_no_lock)
{
    struct io *io = new_io();
    struct io_file *file = open_file(io, "f");
    struct io_file *next;

    CHECK_OK(io_lock(file, &test_err));
    fault_arm_as(FAULT_WRITE, 2, FAULT_DEATH);
    CHECK_OK(io_write_at(file, 0, "ab", 2, &test_err));
    CHECK_EQ(io_write_at(file, 2, "cd", 2, &test_err), DET_IO);
    CHECK(fault_light());
    CHECK_EQ(io_write_at(file, 0, "x", 1, &test_err), DET_IO); /* it is dead */
    CHECK_EQ(size_of(io, "f"), 3);
    next = open_file(io, "f");
    CHECK_OK(io_lock(next, &test_err));
    io_close(next);
    io_close(file);
    io_free(io);
}

TEST(operations_can_be_counted)
{
    struct io *io = new_io();

    fault_count(FAULT_WRITE);
    fault_count(FAULT_SYNC);
    CHECK_OK(io_replace(io, "f", "x", 1, false, &test_err));
    CHECK_EQ(fault_counted(FAULT_WRITE), 3); /* open, write, rename */
    CHECK_EQ(fault_counted(FAULT_SYNC), 2);
    CHECK(!fault_state.left[FAULT_WRITE]);
    io_free(io);
}
