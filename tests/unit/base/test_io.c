/* SPDX-License-Identifier: Apache-2.0 */
/* Every sentence here is tested on the machine's file system and on its twin in
 * memory: what holds for one holds for the other. */
#include "base/io/folder_lock.h"
#include "base/io/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

typedef void body_fn(struct io *io, const char *root);

static void on_disk(body_fn *body)
{
    char root[] = P_tmpdir "/det-test-XXXXXX";
    mode_t mask = umask(022);

    CHECK(mkdtemp(root));
    body(io_system(), root);
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
    umask(mask);
}

static void in_memory(body_fn *body)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/some/where", false, &test_err));
    body(io, "/some/where");
    io_free(io);
}

#define ON_BOTH(name)                                                                  \
    static void name(struct io *io, const char *root);                                 \
    TEST(name##_on_disk)                                                               \
    {                                                                                  \
        on_disk(name);                                                                 \
    }                                                                                  \
    TEST(name##_in_memory)                                                             \
    {                                                                                  \
        in_memory(name);                                                               \
    }                                                                                  \
    static void name(struct io *io, const char *root)

/* A path below the root; a few live at a time. */
static const char *below(const char *root, const char *name)
{
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
    return path;
}

static void put(struct io *io, const char *path, const char *text)
{
    CHECK_OK(io_replace(io, path, text, strlen(text), false, &test_err));
}

static void check_content(struct io *io, const char *path, const char *text)
{
    struct buf bytes = BUF_INIT;

    CHECK_OK(io_read_file(io, path, &bytes, &test_err));
    CHECK_STR(bytes.data, text);
    buf_done(&bytes);
}

/* The names in a directory, joined by commas. */
static void check_names(struct io *io, const char *path, const char *joined)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct buf all = BUF_INIT;
    const char **names;

    CHECK_OK(io_list(io, path, &mem, &names, &test_err));
    for (size_t i = 0; names[i]; i++)
        buf_printf(&all, "%s%s", i ? "," : "", names[i]);
    CHECK_STR(all.data, joined);
    buf_done(&all);
    arena_done(&mem);
}

static enum io_kind kind_at(struct io *io, const char *path)
{
    struct io_stat st;
    det_status status = io_stat(io, path, &st, NULL);

    return status == DET_NOT_FOUND ? IO_NONE : st.kind;
}

ON_BOTH(a_file_gives_back_what_was_written)
{
    struct io_file *file;
    char bytes[16] = {0};
    size_t got;
    uint64_t size;

    CHECK_OK(io_open(io, below(root, "f"), IO_WRITE | IO_CREATE, &file, &test_err));
    CHECK_OK(io_write_at(file, 0, "hello", 5, &test_err));
    CHECK_OK(io_append(file, " world", 6, &test_err));
    CHECK_OK(io_write_at(file, 4, "O", 1, &test_err));
    CHECK_OK(io_read_at(file, 0, bytes, sizeof(bytes), &got, &test_err));
    CHECK_EQ(got, 11);
    CHECK_STR(bytes, "hellO world");
    CHECK_OK(io_read_at(file, 6, bytes, 3, &got, &test_err));
    CHECK_EQ(got, 3);
    CHECK_OK(io_read_at(file, 11, bytes, 3, &got, &test_err));
    CHECK_EQ(got, 0);
    CHECK_OK(io_read_at(file, 1000, bytes, 3, &got, &test_err));
    CHECK_EQ(got, 0);
    CHECK_OK(io_size(file, &size, &test_err));
    CHECK_EQ(size, 11);
    CHECK_OK(io_sync(file, &test_err));
    CHECK_EQ(io_fd(file) >= 0, !io_is_memory(io));
    io_close(file);
}

ON_BOTH(a_hole_reads_as_zeroes)
{
    struct io_file *file;
    char bytes[8];
    size_t got;

    CHECK_OK(io_open(io, below(root, "f"), IO_WRITE | IO_CREATE, &file, &test_err));
    CHECK_OK(io_write_at(file, 0, "abcd", 4, &test_err));
    CHECK_OK(io_truncate(file, 1, &test_err));
    CHECK_OK(io_write_at(file, 6, "z", 1, &test_err));
    CHECK_OK(io_truncate(file, 8, &test_err));
    CHECK_OK(io_read_at(file, 0, bytes, 8, &got, &test_err));
    CHECK_EQ(got, 8);
    CHECK_EQ(memcmp(bytes, "a\0\0\0\0\0z\0", 8), 0);
    io_close(file);
}

ON_BOTH(opening_follows_its_flags)
{
    const char *path = below(root, "f");
    struct io_file *file = NULL;
    uint64_t size;

    CHECK_EQ(io_open(io, path, IO_READ, &file, NULL), DET_NOT_FOUND);
    CHECK_NULL(file);
    CHECK_OK(io_open(io, path, IO_WRITE | IO_CREATE | IO_EXCLUSIVE, &file, &test_err));
    CHECK_OK(io_append(file, "abc", 3, &test_err));
    io_closep(&file);
    CHECK_NULL(file);
    CHECK_EQ(io_open(io, path, IO_WRITE | IO_CREATE | IO_EXCLUSIVE, &file, NULL),
             DET_EXISTS);
    CHECK_OK(io_open(io, path, IO_READ, &file, &test_err));
    CHECK_EQ(io_append(file, "x", 1, NULL), DET_IO);
    CHECK_EQ(io_truncate(file, 0, NULL), DET_IO);
    io_close(file);
    CHECK_OK(io_open(io, path, IO_WRITE | IO_TRUNCATE, &file, &test_err));
    CHECK_OK(io_size(file, &size, &test_err));
    CHECK_EQ(size, 0);
    io_close(file);
    io_close(NULL);
}

ON_BOTH(errors_name_the_path)
{
    struct io_file *file;
    struct err err = {0};

    CHECK_EQ(io_open(io, below(root, "no/such"), IO_READ, &file, &err), DET_NOT_FOUND);
    CHECK_HAS(err.text, "no/such': No such file");
    CHECK_EQ(io_rename(io, below(root, "here"), below(root, "there"), &err),
             DET_NOT_FOUND);
    CHECK_HAS(err.text, "here' to '");
}

ON_BOTH(modes_are_private_where_asked)
{
    struct io_stat st;

    CHECK_OK(io_replace(io, below(root, "secret"), "x", 1, true, &test_err));
    CHECK_OK(io_stat(io, below(root, "secret"), &st, &test_err));
    CHECK_EQ(st.mode, 0600);
    CHECK_EQ(st.size_bytes, 1);
    CHECK_EQ(st.uid, geteuid());
    put(io, below(root, "open"), "x");
    CHECK_OK(io_stat(io, below(root, "open"), &st, &test_err));
    CHECK_EQ(st.mode, 0644);
    CHECK_OK(io_mkdir(io, below(root, "a/b"), true, &test_err));
    CHECK_OK(io_stat(io, below(root, "a/b"), &st, &test_err));
    CHECK_EQ(st.mode, 0700);
    CHECK_OK(io_stat(io, below(root, "a"), &st, &test_err));
    CHECK_EQ(st.mode, 0755);
}

ON_BOTH(a_directory_is_made_with_its_parents_and_twice)
{
    CHECK_OK(io_mkdir(io, below(root, "a/b/c"), false, &test_err));
    CHECK_OK(io_mkdir(io, below(root, "a/b/c"), false, &test_err));
    CHECK_OK(io_mkdir(io, below(root, "a//b/./d/"), false, &test_err));
    check_names(io, below(root, "a/b"), "c,d");
    put(io, below(root, "a/file"), "x");
    CHECK_EQ(io_mkdir(io, below(root, "a/file"), false, NULL), DET_EXISTS);
    CHECK_EQ(io_mkdir(io, below(root, "a/file/x"), false, NULL), DET_NOT_FOUND);
    CHECK_EQ(io_mkdir(io, "", false, NULL), DET_NOT_FOUND);
}

ON_BOTH(a_directory_is_not_a_file)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct io_file *file;
    const char **names;

    CHECK_OK(io_mkdir(io, below(root, "d"), false, &test_err));
    CHECK_EQ(io_open(io, below(root, "d"), IO_READ, &file, NULL), DET_IO);
    CHECK_EQ(io_open(io, below(root, "d"), IO_WRITE | IO_CREATE, &file, NULL), DET_IO);
    put(io, below(root, "f"), "x");
    CHECK_EQ(io_open(io, below(root, "f/x"), IO_READ, &file, NULL), DET_NOT_FOUND);
    CHECK_EQ(io_list(io, below(root, "f"), &mem, &names, NULL), DET_NOT_FOUND);
    CHECK_EQ(io_list(io, below(root, "g"), &mem, &names, NULL), DET_NOT_FOUND);
    CHECK_EQ(io_sync_dir(io, below(root, "f"), NULL), DET_NOT_FOUND);
    arena_done(&mem);
}

ON_BOTH(names_are_listed_in_order)
{
    check_names(io, root, "");
    put(io, below(root, "b"), "x");
    put(io, below(root, "a"), "x");
    put(io, below(root, ".c"), "x");
    CHECK_OK(io_mkdir(io, below(root, "B"), false, &test_err));
    check_names(io, root, ".c,B,a,b");
}

ON_BOTH(a_renamed_file_takes_the_place_of_another)
{
    put(io, below(root, "a"), "first");
    put(io, below(root, "b"), "second");
    CHECK_OK(io_rename(io, below(root, "a"), below(root, "b"), &test_err));
    check_content(io, below(root, "b"), "first");
    check_names(io, root, "b");
    CHECK_OK(io_rename(io, below(root, "b"), below(root, "b"), &test_err));
    check_content(io, below(root, "b"), "first");
}

ON_BOTH(a_renamed_directory_takes_its_files_along)
{
    CHECK_OK(io_mkdir(io, below(root, "a/deep"), false, &test_err));
    CHECK_OK(io_mkdir(io, below(root, "to"), false, &test_err));
    put(io, below(root, "a/deep/f"), "x");
    CHECK_OK(io_rename(io, below(root, "a"), below(root, "to/b"), &test_err));
    check_content(io, below(root, "to/b/deep/f"), "x");
    CHECK_EQ(kind_at(io, below(root, "a")), IO_NONE);
    check_content(io, below(root, "to/b/deep/../deep/f"), "x");
}

ON_BOTH(a_rename_that_makes_no_sense_is_refused)
{
    CHECK_OK(io_mkdir(io, below(root, "d/sub"), false, &test_err));
    CHECK_OK(io_mkdir(io, below(root, "e"), false, &test_err));
    put(io, below(root, "f"), "x");
    CHECK_EQ(io_rename(io, below(root, "d"), below(root, "d/sub/x"), NULL), DET_IO);
    CHECK_EQ(io_rename(io, below(root, "f"), below(root, "d"), NULL), DET_IO);
    CHECK_EQ(io_rename(io, below(root, "d"), below(root, "f"), NULL), DET_NOT_FOUND);
    CHECK_EQ(io_rename(io, below(root, "e"), below(root, "d"), NULL), DET_IO);
    CHECK_EQ(io_rename(io, below(root, "f"), below(root, "no/f"), NULL), DET_NOT_FOUND);
    CHECK_OK(io_rename(io, below(root, "d"), below(root, "e"), &test_err));
    check_names(io, root, "e,f");
    check_names(io, below(root, "e"), "sub");
}

ON_BOTH(files_and_empty_directories_are_removed)
{
    CHECK_OK(io_mkdir(io, below(root, "d"), false, &test_err));
    put(io, below(root, "d/f"), "x");
    CHECK_EQ(io_remove(io, below(root, "d"), NULL), DET_IO);
    CHECK_OK(io_remove(io, below(root, "d/f"), &test_err));
    CHECK_OK(io_remove(io, below(root, "d"), &test_err));
    CHECK_EQ(io_remove(io, below(root, "d"), NULL), DET_NOT_FOUND);
    check_names(io, root, "");
}

ON_BOTH(a_tree_is_removed_whole)
{
    CHECK_OK(io_mkdir(io, below(root, "t/a/b"), false, &test_err));
    CHECK_OK(io_mkdir(io, below(root, "t/c"), false, &test_err));
    put(io, below(root, "t/a/b/f"), "x");
    put(io, below(root, "t/g"), "x");
    put(io, below(root, "single"), "x");
    CHECK_OK(io_remove_tree(io, below(root, "t"), &test_err));
    check_names(io, root, "single");
    CHECK_OK(io_remove_tree(io, below(root, "t"), &test_err));
    CHECK_OK(io_remove_tree(io, below(root, "single"), &test_err));
    check_names(io, root, "");
}

ON_BOTH(a_removed_file_lives_while_it_is_open)
{
    struct io_file *file;
    char bytes[4];
    size_t got;

    put(io, below(root, "f"), "abc");
    CHECK_OK(io_open(io, below(root, "f"), IO_WRITE, &file, &test_err));
    CHECK_OK(io_remove(io, below(root, "f"), &test_err));
    CHECK_OK(io_append(file, "d", 1, &test_err));
    CHECK_OK(io_read_at(file, 0, bytes, 4, &got, &test_err));
    CHECK_EQ(got, 4);
    CHECK_EQ(memcmp(bytes, "abcd", 4), 0);
    io_close(file);
}

ON_BOTH(a_lock_is_held_by_one_until_it_closes)
{
    struct io_file *one, *two;
    struct err err = {0};

    CHECK_OK(io_open(io, below(root, "l"), IO_WRITE | IO_CREATE, &one, &test_err));
    CHECK_OK(io_open(io, below(root, "l"), IO_WRITE, &two, &test_err));
    CHECK_OK(io_lock(one, &test_err));
    CHECK_OK(io_lock(one, &test_err));
    CHECK_EQ(io_lock(two, &err), DET_BUSY);
    CHECK_HAS(err.text, "l' is locked by somebody else");
    io_close(one);
    CHECK_OK(io_lock(two, &test_err));
    io_close(two);
}

ON_BOTH(a_folder_is_locked_though_the_file_in_it_is_removed)
{
    struct folder_lock lock = {0}, other = {0};
    const char *path = below(root, "locked");
    bool is_held = true;

    CHECK_OK(folder_lock_look(io, path, "l", &is_held, &test_err));
    CHECK(!is_held);
    CHECK_OK(io_mkdir(io, path, true, &test_err));
    CHECK_OK(folder_lock_take(io, path, "l", &lock, &test_err));
    CHECK_EQ(folder_lock_take(io, path, "l", &other, NULL), DET_BUSY);
    CHECK_OK(io_remove(io, below(root, "locked/l"), &test_err));
    CHECK_OK(folder_lock_look(io, path, "l", &is_held, &test_err));
    CHECK(is_held);
    CHECK_EQ(folder_lock_take(io, path, "l", &other, NULL), DET_BUSY);
    folder_lock_give(&lock);
    CHECK_OK(folder_lock_look(io, path, "l", &is_held, &test_err));
    CHECK(!is_held);
    CHECK_OK(folder_lock_take(io, path, "l", &other, &test_err));
    folder_lock_give(&other);
}

/* A process that can open nothing more does not know whether the folder is there. */
TEST(a_locked_folder_is_gone_only_if_it_is_gone)
{
    struct folder_lock lock = {0};
    char root[] = "/tmp/det-lock-XXXXXX";
    char moved[40];
    struct rlimit most, none;

    CHECK(mkdtemp(root) != NULL);
    (void)snprintf(moved, sizeof(moved), "%s-moved", root);
    CHECK_OK(folder_lock_take(io_system(), root, "l", &lock, &test_err));
    CHECK(folder_lock_is_in_place(&lock, root));
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &most), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = most.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK(folder_lock_is_in_place(&lock, root));
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &most), 0);
    CHECK_OK(io_rename(io_system(), root, moved, &test_err));
    CHECK(!folder_lock_is_in_place(&lock, root));
    CHECK_OK(io_mkdir(io_system(), root, true, &test_err));
    CHECK(!folder_lock_is_in_place(&lock, root));
    folder_lock_give(&lock);
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
    CHECK_OK(io_remove_tree(io_system(), moved, &test_err));
}

ON_BOTH(an_open_file_is_known_whatever_its_name)
{
    struct io_file *file;
    struct io_stat one, two;

    CHECK_OK(io_open(io, below(root, "f"), IO_WRITE | IO_CREATE, &file, &test_err));
    CHECK_OK(io_stat(io, below(root, "f"), &one, &test_err));
    CHECK_OK(io_rename(io, below(root, "f"), below(root, "g"), &test_err));
    CHECK_OK(io_stat_of(file, &two, &test_err));
    CHECK_EQ(one.inode, two.inode);
    CHECK_EQ(one.device, two.device);
    io_close(file);
}

ON_BOTH(a_folder_syncs_everything)
{
    struct io_file *folder;

    CHECK_EQ(io_open(io, below(root, "f"), IO_READ | IO_FOLDER, &folder, NULL),
             DET_NOT_FOUND);
    CHECK_OK(io_open(io, root, IO_READ | IO_FOLDER, &folder, &test_err));
    CHECK_OK(io_replace(io, below(root, "f"), "abc", 3, false, &test_err));
    if (io_sync_all(folder, &test_err)) /* a file system of a server */
        CHECK_HAS(test_err.text, "not synced as a whole");
    io_close(folder);
    CHECK(io_open(io, below(root, "f"), IO_READ | IO_FOLDER, &folder, NULL));
}

ON_BOTH(a_whole_file_is_added_to_a_buffer)
{
    struct buf bytes = BUF_INIT;
    char big[10000];

    memset(big, 'x', sizeof(big));
    CHECK_OK(io_replace(io, below(root, "f"), big, sizeof(big), false, &test_err));
    buf_puts(&bytes, "before ");
    CHECK_OK(io_read_file(io, below(root, "f"), &bytes, &test_err));
    CHECK_EQ(bytes.len, 7 + sizeof(big));
    CHECK_EQ(memcmp(bytes.data + 7, big, sizeof(big)), 0);
    buf_clear(&bytes);
    put(io, below(root, "empty"), "");
    CHECK_OK(io_read_file(io, below(root, "empty"), &bytes, &test_err));
    CHECK_EQ(bytes.len, 0);
    buf_done(&bytes);
}

ON_BOTH(a_file_as_large_as_the_limit_is_read_and_a_larger_one_is_not)
{
    struct buf bytes = BUF_LIMITED(5);
    struct err err = {0};

    put(io, below(root, "five"), "12345");
    CHECK_OK(io_read_file(io, below(root, "five"), &bytes, &test_err));
    CHECK_STR(bytes.data, "12345");
    buf_clear(&bytes);
    put(io, below(root, "six"), "123456");
    CHECK_EQ(io_read_file(io, below(root, "six"), &bytes, &err), DET_TOO_LARGE);
    CHECK_HAS(err.text, "six");
    CHECK_EQ(bytes.len, 0);
    buf_done(&bytes);
}

ON_BOTH(replacing_changes_all_and_leaves_nothing_behind)
{
    put(io, below(root, "f"), "old and long");
    put(io, below(root, "f"), "new");
    check_content(io, below(root, "f"), "new");
    check_names(io, root, "f");
    CHECK_EQ(io_replace(io, below(root, "no/f"), "x", 1, false, NULL), DET_NOT_FOUND);
}

ON_BOTH(a_temporary_file_left_by_a_crash_is_stepped_around)
{
    put(io, below(root, ".f.tmp0"), "left over");
    put(io, below(root, "f"), "new");
    check_content(io, below(root, "f"), "new");
    check_content(io, below(root, ".f.tmp0"), "left over");
}

/* Opening, writing and renaming each fail once; then the syncs. */
ON_BOTH(a_failed_replace_keeps_the_old_bytes_and_no_temporary_file)
{
    static const enum fault_kind kinds[] = {FAULT_WRITE, FAULT_SYNC};

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        bool struck = true;

        for (int64_t nth = 1; struck; nth++) {
            det_status status;

            put(io, below(root, "f"), "old");
            fault_arm(kinds[k], nth);
            status = io_replace(io, below(root, "f"), "new", 3, false, NULL);
            struck = fault_disarm(kinds[k]);
            CHECK_EQ(status, struck ? DET_IO : DET_OK);
            check_names(io, root, "f");
            /* The last sync comes after the rename. */
            if (struck && !(kinds[k] == FAULT_SYNC && nth == 2))
                check_content(io, below(root, "f"), "old");
            else
                check_content(io, below(root, "f"), "new");
        }
    }
}

ON_BOTH(a_struck_write_leaves_half)
{
    struct io_file *file;
    uint64_t size;

    CHECK_OK(io_open(io, below(root, "f"), IO_WRITE | IO_CREATE, &file, &test_err));
    fault_arm(FAULT_WRITE, 1);
    CHECK_EQ(io_write_at(file, 0, "12345678", 8, NULL), DET_IO);
    CHECK(fault_disarm(FAULT_WRITE));
    CHECK_OK(io_size(file, &size, &test_err));
    CHECK_EQ(size, 4);
    fault_arm(FAULT_WRITE, 1);
    CHECK_EQ(io_append(file, "5678", 4, NULL), DET_IO);
    CHECK(fault_disarm(FAULT_WRITE));
    CHECK_OK(io_size(file, &size, &test_err));
    CHECK_EQ(size, 6);
    fault_arm(FAULT_SYNC, 1);
    CHECK_EQ(io_sync(file, NULL), DET_IO);
    CHECK(fault_disarm(FAULT_SYNC));
    io_close(file);
}

ON_BOTH(every_change_of_names_can_be_struck)
{
    put(io, below(root, "f"), "x");
    for (int what = 0; what < 4; what++) {
        det_status status = DET_OK;

        fault_arm(FAULT_WRITE, 1);
        if (what == 0)
            status = io_mkdir(io, below(root, "d"), false, NULL);
        else if (what == 1)
            status = io_rename(io, below(root, "f"), below(root, "g"), NULL);
        else if (what == 2)
            status = io_remove(io, below(root, "f"), NULL);
        else
            status = io_remove_tree(io, below(root, "f"), NULL);
        CHECK_EQ(status, DET_IO);
        CHECK(fault_disarm(FAULT_WRITE));
    }
    check_names(io, root, "f");
    fault_arm(FAULT_SYNC, 1);
    CHECK_EQ(io_sync_dir(io, root, NULL), DET_IO);
    CHECK(fault_disarm(FAULT_SYNC));
}

ON_BOTH(out_of_memory_is_an_ordinary_error)
{
    struct arena mem = ARENA_INIT(1 << 20);

    CHECK_OK(io_mkdir(io, below(root, "d"), false, &test_err));
    EACH_ALLOCATION_FAILS() {
        struct buf bytes = BUF_INIT;
        const char **names;
        det_status status = io_mkdir(io, below(root, "m/n"), false, NULL);

        if (!status)
            status = io_replace(io, below(root, "d/f"), "x", 1, false, NULL);
        if (!status)
            status = io_rename(io, below(root, "d/f"), below(root, "d/g"), NULL);
        if (!status)
            status = io_read_file(io, below(root, "d/g"), &bytes, NULL);
        if (!status)
            status = io_list(io, below(root, "d"), &mem, &names, NULL);
        CHECK_EQ(status, fault_fired() ? DET_NOMEM : DET_OK);
        buf_done(&bytes);
    }
    check_names(io, below(root, "d"), "g");
    arena_done(&mem);
}

TEST(links_are_removed_and_not_followed)
{
    struct io *io = io_system();
    char root[] = P_tmpdir "/det-test-XXXXXX";

    CHECK(mkdtemp(root));
    CHECK_OK(io_mkdir(io, below(root, "keep"), false, &test_err));
    put(io, below(root, "keep/f"), "x");
    CHECK_OK(io_mkdir(io, below(root, "t/sub"), false, &test_err));
    CHECK_EQ(symlink(below(root, "keep"), below(root, "t/sub/link")), 0);
    CHECK_EQ(symlink(below(root, "keep"), below(root, "link")), 0);
    CHECK_EQ(kind_at(io, below(root, "link")), IO_LINK);
    CHECK_OK(io_remove_tree(io, below(root, "t"), &test_err));
    CHECK_OK(io_remove_tree(io, below(root, "link"), &test_err));
    check_names(io, root, "keep");
    check_content(io, below(root, "keep/f"), "x");
    CHECK_OK(io_remove_tree(io, root, &test_err));
}

/* As anybody can make who may write into a directory that an agent is to remove. */
TEST(a_tree_that_is_deeper_than_there_are_descriptors_is_removed)
{
    char root[] = P_tmpdir "/det-io-XXXXXX";
    struct buf path = BUF_INIT;
    struct rlimit usual, few;
    struct io_stat found;

    CHECK(mkdtemp(root));
    buf_puts(&path, root);
    for (int i = 0; i < 300; i++) {
        buf_puts(&path, "/d");
        CHECK_OK(io_mkdir(io_system(), path.data, false, &test_err));
        buf_puts(&path, "/.det-deep-1");
        CHECK_OK(io_replace(io_system(), path.data, "", 0, false, &test_err));
        buf_cut(&path, path.len - strlen("/.det-deep-1"));
    }
    CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0);
    few = usual;
    few.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    det_status status = io_remove_tree(io_system(), root, &test_err);
    CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);

    CHECK_OK(status);
    CHECK_EQ(io_stat(io_system(), root, &found, NULL), DET_NOT_FOUND);
    buf_done(&path);
}

TEST(a_file_of_the_kernel_is_read_to_its_end_though_it_has_no_size)
{
    struct buf bytes = BUF_INIT;

    CHECK_OK(io_read_file(io_system(), "/proc/self/status", &bytes, &test_err));
    CHECK(bytes.len > 0);
    buf_done(&bytes);
}

/* The kernel gives a number only whole, and says that such a file has no bytes. */
TEST(a_number_of_the_kernel_is_read_whole)
{
    CLEANUP(buf_done) struct buf bytes = BUF_INIT;

    UNLESS(access("/proc/sys/kernel/pid_max", R_OK) == 0, "there is no pid_max");
    CHECK_OK(io_read_file(io_system(), "/proc/sys/kernel/pid_max", &bytes, &test_err));
    CHECK(bytes.len > 3);
    CHECK_EQ(bytes.data[bytes.len - 1], '\n');
}

TEST(descriptors_are_closed_on_exec)
{
    struct io_file *file;

    CHECK_OK(io_open(io_system(), "/dev/null", IO_READ, &file, &test_err));
    CHECK(fcntl(io_fd(file), F_GETFD) & FD_CLOEXEC);
    io_close(file);
}

ON_BOTH(a_map_shows_and_changes_the_file)
{
    const char *path = below(root, "mapped");
    struct io_file *file;
    struct io_map map;
    struct io_map other;
    char bytes[4];
    size_t got;

    CHECK_OK(io_open(io, path, IO_WRITE | IO_CREATE, &file, &test_err));
    CHECK_EQ(io_map(file, 1, &map, &test_err), DET_INVALID);
    CHECK_OK(io_reserve(file, 8192, &test_err));
    CHECK_OK(io_reserve(file, 10, &test_err));
    CHECK_EQ(io_map(file, 8193, &map, &test_err), DET_INVALID);
    CHECK_EQ(io_map(file, 0, &map, &test_err), DET_INVALID);
    CHECK_OK(io_map(file, 8192, &map, &test_err));
    CHECK_OK(io_map(file, 4096, &other, &test_err));
    CHECK_EQ(map.data[8191], 0);
    map.data[5] = 'm';
    CHECK_EQ(other.data[5], 'm');
    CHECK_OK(io_write_at(file, 6, "w", 1, &test_err));
    CHECK_EQ(map.data[6], 'w');
    CHECK_OK(io_read_at(file, 4, bytes, 4, &got, &test_err));
    CHECK_EQ(memcmp(bytes, "\0mw\0", 4), 0);

    /* The file may go: its bytes stay as long as they are mapped. */
    io_close(file);
    CHECK_OK(io_remove(io, path, &test_err));
    io_unmap(&other);
    map.data[8191] = 'e';
    io_unmap(&map);
    io_unmap(&map);
}

ON_BOTH(only_what_may_be_written_is_mapped_for_writing)
{
    struct io_file *file;
    struct io_map map;

    put(io, below(root, "f"), "text");
    CHECK_OK(io_open(io, below(root, "f"), IO_READ, &file, &test_err));
    CHECK(io_map(file, 4, &map, &test_err) != DET_OK);
    CHECK_EQ(io_map_read(file, 5, &map, &test_err), DET_INVALID);
    CHECK_OK(io_map_read(file, 4, &map, &test_err));
    io_close(file);
    CHECK(memcmp(map.data, "text", 4) == 0);
    io_unmap(&map);
}

ON_BOTH(maps_and_reservations_fail_when_told_to)
{
    struct io_file *file;
    struct io_map map;

    put(io, below(root, "f"), "text");
    CHECK_OK(io_open(io, below(root, "f"), IO_WRITE, &file, &test_err));
    fault_arm(FAULT_MEMORY, 1);
    CHECK_EQ(io_map(file, 4, &map, &test_err), DET_NOMEM);
    fault_disarm(FAULT_MEMORY);
    fault_arm(FAULT_WRITE, 1);
    CHECK_EQ(io_reserve(file, 100, &test_err), DET_IO);
    fault_disarm(FAULT_WRITE);
    io_close(file);
    check_content(io, below(root, "f"), "text");
}

ON_BOTH(several_share_a_lock_that_one_may_hold_alone)
{
    struct io_file *file[3];

    put(io, below(root, "f"), "");
    for (int i = 0; i < 3; i++)
        CHECK_OK(io_open(io, below(root, "f"), IO_WRITE, &file[i], &test_err));
    CHECK_OK(io_lock(file[0], &test_err));
    CHECK_EQ(io_lock_shared(file[1], &test_err), DET_BUSY);
    CHECK_OK(io_lock_shared(file[0], &test_err));
    CHECK_OK(io_lock_shared(file[1], &test_err));
    CHECK_OK(io_lock_shared(file[1], &test_err));
    CHECK_EQ(io_lock(file[2], &test_err), DET_BUSY);
    io_close(file[0]);
    CHECK_EQ(io_lock(file[2], &test_err), DET_BUSY);
    CHECK_OK(io_lock(file[1], &test_err));
    CHECK_EQ(io_lock_shared(file[2], &test_err), DET_BUSY);
    io_close(file[1]);
    CHECK_OK(io_lock(file[2], &test_err));
    io_close(file[2]);
}

TEST(plain_files_are_neither_links_nor_pipes)
{
    char root[] = P_tmpdir "/det-test-XXXXXX";
    struct io_file *file;

    CHECK(mkdtemp(root));
    put(io_system(), below(root, "f"), "");
    CHECK_EQ(symlink(below(root, "f"), below(root, "link")), 0);
    CHECK_EQ(mkfifo(below(root, "pipe"), 0600), 0);
    CHECK_EQ(
        io_open(io_system(), below(root, "link"), IO_READ | IO_PLAIN, &file, &test_err),
        DET_IO);
    CHECK_EQ(
        io_open(io_system(), below(root, "pipe"), IO_READ | IO_PLAIN, &file, &test_err),
        DET_IO);
    CHECK_OK(
        io_open(io_system(), below(root, "f"), IO_READ | IO_PLAIN, &file, &test_err));
    io_close(file);
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
}

ON_BOTH(a_disk_says_how_large_it_is_and_what_is_free)
{
    struct io_space space;

    if (io_is_memory(io)) {
        CHECK_EQ(io_space(io, root, &space, &test_err), DET_UNSUPPORTED);
        io_memory_limit(io, 1000);
        put(io, below(root, "f"), "0123456789");
    }
    CHECK_OK(io_space(io, root, &space, &test_err));
    CHECK(space.size_bytes > 0 && space.free_bytes <= space.size_bytes);
    if (io_is_memory(io))
        CHECK_EQ(space.free_bytes, 990);
    CHECK_EQ(io_space(io, below(root, "nowhere"), &space, &test_err), DET_NOT_FOUND);
}

ON_BOTH(a_file_below_a_directory_is_opened_by_its_path)
{
    struct io_file *file;
    char byte;
    size_t len;

    CHECK_OK(io_mkdir(io, below(root, "a/b"), false, &test_err));
    put(io, below(root, "a/b/c"), "x");
    CHECK_OK(io_open_below(io, root, "a/b/c", NULL, &file, &test_err));
    CHECK_OK(io_read_at(file, 0, &byte, 1, &len, &test_err));
    CHECK_EQ(byte, 'x');
    io_close(file);
    CHECK_EQ(io_open_below(io, root, "a/none", NULL, &file, &test_err), DET_NOT_FOUND);
    CHECK(io_open_below(io, root, "a/b", NULL, &file, &test_err) != DET_OK);
    CHECK(io_open_below(io, root, "a/b/c/d", NULL, &file, &test_err) != DET_OK);
}

static void links_below(struct io *io, const char *root)
{
    struct io_file *file;

    CHECK_OK(io_mkdir(io, below(root, "real"), false, &test_err));
    put(io, below(root, "real/f"), "x");
    CHECK_EQ(symlink(below(root, "real"), below(root, "folder")), 0);
    CHECK_EQ(symlink("f", below(root, "real/link")), 0);
    CHECK(io_open_below(io, root, "folder/f", NULL, &file, &test_err) != DET_OK);
    CHECK(io_open_below(io, root, "real/link", NULL, &file, &test_err) != DET_OK);
    CHECK_OK(io_open_below(io, below(root, "folder"), "f", NULL, &file,
                           &test_err)); /* trusted */
    io_close(file);
}

TEST(no_link_on_the_way_is_followed)
{
    on_disk(links_below);
}
