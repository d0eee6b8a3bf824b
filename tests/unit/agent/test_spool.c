/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "agent/task/output/spool.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "tests/support/test.h"

enum { HEADER = 32 };

struct fixture {
    struct io *io;
    struct spool_config config;
    struct spool *spool;
};

static void open_spool(struct fixture *f)
{
    CHECK_OK(spool_open(&f->config, &f->spool, &test_err));
}

static struct fixture fixture(uint64_t limit, uint64_t segment)
{
    struct fixture f = {0};

    CHECK_OK(io_memory_new(&f.io, &test_err));
    CHECK_OK(io_mkdir(f.io, "/t", true, &test_err));
    f.config = (struct spool_config){f.io, "/t", "stdout", limit, segment};
    open_spool(&f);
    return f;
}

static void done(struct fixture *f)
{
    spool_close(f->spool);
    io_free(f->io);
}

static void put(struct fixture *f, int64_t time_us, const char *text)
{
    spool_write(f->spool, time_us, text, strlen(text));
}

/* Everything that can be read now. */
static void read_all(struct fixture *f, struct buf *out)
{
    struct spool_record record;

    buf_clear(out);
    while (spool_read(f->spool, out, &record, NULL) == DET_OK)
        continue;
}

static size_t count_files(struct fixture *f)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    const char **names;
    size_t count = 0;

    CHECK_OK(io_list(f->io, "/t", &mem, &names, &test_err));
    while (names[count])
        count++;
    return count;
}

TEST(records_come_back_with_offset_and_time)
{
    struct fixture f = fixture(0, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct spool_record record;

    put(&f, 100, "hello\n");
    put(&f, 200, "world");

    CHECK_OK(spool_read(f.spool, &out, &record, &test_err));
    CHECK_EQ(record.offset, 0);
    CHECK_EQ(record.time_us, 100);
    CHECK_EQ(record.len, 6);
    CHECK_OK(spool_read(f.spool, &out, &record, &test_err));
    CHECK_EQ(record.offset, 6);
    CHECK_EQ(record.time_us, 200);
    CHECK_STR(out.data, "hello\nworld");
    CHECK_EQ(spool_read(f.spool, &out, &record, NULL), DET_NOT_FOUND);
    CHECK_EQ(spool_end_offset(f.spool), 11);
    CHECK(!spool_is_ended(f.spool));
    spool_end(f.spool, 0);
    CHECK(spool_is_ended(f.spool));
    done(&f);
}

TEST(a_later_reader_finds_what_was_not_sent)
{
    struct fixture f = fixture(0, 1);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct spool_record record;

    put(&f, 1, "one\n");
    put(&f, 1, "two\n");
    put(&f, 1, "three\n");
    CHECK_EQ(count_files(&f), 3);
    CHECK_OK(spool_read(f.spool, &out, &record, &test_err));
    spool_sent(f.spool, 4);
    CHECK_EQ(count_files(&f), 2);
    spool_close(f.spool);
    open_spool(&f);

    CHECK_EQ(spool_next_offset(f.spool), 4);
    read_all(&f, &out);
    CHECK_STR(out.data, "two\nthree\n");
    put(&f, 1, "four\n");
    read_all(&f, &out);
    CHECK_STR(out.data, "four\n");
    CHECK_EQ(spool_end_offset(f.spool), 19);
    spool_discard(f.spool);
    CHECK_EQ(count_files(&f), 0);
    done(&f);
}

TEST(a_record_cut_by_a_crash_is_the_end)
{
    static const char name[] = "/t/stdout.spool.00000000000000000000";
    const uint64_t whole = HEADER + 4;

    /* Every length the second record can have been cut to. */
    for (uint64_t cut = 0; cut < HEADER + 4; cut++) {
        struct fixture f = fixture(0, 0);
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct io_file *file;

        put(&f, 1, "one\n");
        put(&f, 1, "two\n");
        spool_close(f.spool);
        CHECK_OK(io_open(f.io, name, IO_WRITE, &file, &test_err));
        CHECK_OK(io_truncate(file, whole + cut, &test_err));
        io_close(file);
        open_spool(&f);

        CHECK_EQ(spool_end_offset(f.spool), 4);
        put(&f, 1, "2\n"); /* takes its place */
        spool_close(f.spool);
        open_spool(&f);
        read_all(&f, &out);
        CHECK_STR(out.data, "one\n2\n");
        done(&f);
    }
}

TEST(a_changed_byte_is_noticed)
{
    static const char name[] = "/t/stdout.spool.00000000000000000000";

    for (uint64_t at = HEADER + 4; at < 2 * (HEADER + 4); at++) {
        struct fixture f = fixture(0, 0);
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct io_file *file;

        put(&f, 1, "one\n");
        put(&f, 1, "two\n");
        spool_close(f.spool);
        CHECK_OK(io_open(f.io, name, IO_WRITE, &file, &test_err));
        CHECK_OK(io_write_at(file, at, "\xA5", 1, &test_err));
        io_close(file);
        open_spool(&f);

        read_all(&f, &out);
        CHECK_STR(out.data, "one\n");
        done(&f);
    }
}

/* "There is nothing to read" would keep its reader waiting forever. */
TEST(a_removed_file_is_not_taken_for_the_end)
{
    struct fixture f = fixture(0, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct spool_record record;

    put(&f, 100, "hello\n");
    CHECK_OK(io_remove_tree(f.io, "/t", &test_err));

    CHECK_EQ(spool_read(f.spool, &out, &record, &test_err), DET_CORRUPT);
    CHECK_HAS(test_err.text, "was removed");
    done(&f);
}

TEST(beyond_the_limit_lines_are_dropped_and_counted)
{
    struct fixture f = fixture(20, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    put(&f, 1, "0123456789\n");
    put(&f, 1, "abcdef");         /* kept: the beginning of a line */
    put(&f, 1, "ghi\nlost\nhal"); /* too much */
    put(&f, 1, "f a line\n");     /* still waiting to be sent */
    read_all(&f, &out);
    CHECK_STR(out.data, "0123456789\nabcdef");

    spool_sent(f.spool, 17);
    put(&f, 1, "new\n");
    read_all(&f, &out);
    CHECK_STR(out.data, "\n[det] 3 lines were dropped here: 20B of output waited to "
                        "be sent already\nnew\n");
    done(&f);
}

TEST(keeping_begins_again_with_a_whole_line)
{
    struct fixture f = fixture(8, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    put(&f, 1, "1234567\n");
    put(&f, 1, "lost");
    spool_sent(f.spool, 8);
    put(&f, 1, " too");
    put(&f, 1, " too\nkept\n");
    read_all(&f, &out);

    CHECK_HAS(out.data, "1234567\n[det] 1 line was dropped here: ");
    CHECK_HAS(out.data, "already\nkept\n");
    done(&f);
}

TEST(the_end_says_what_was_dropped_last)
{
    struct fixture f = fixture(8, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    put(&f, 1, "1234567\n");
    put(&f, 1, "a\nb\nc\n");
    spool_end(f.spool, 1);
    read_all(&f, &out);

    CHECK_HAS(out.data, "1234567\n[det] 3 lines were dropped here: ");
    done(&f);
}

TEST(a_full_disk_drops_too_and_recovers)
{
    struct fixture f = fixture(0, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    put(&f, 1, "kept\n");
    io_memory_limit(f.io, HEADER + 6);
    put(&f, 1, "lost\n");
    put(&f, 1, "lost too\n");
    io_memory_limit(f.io, 0);
    put(&f, 1, "back\n");
    spool_close(f.spool); /* what lies in the files, not in memory */
    open_spool(&f);
    read_all(&f, &out);

    CHECK_STR(out.data, "kept\n[det] 2 lines were dropped here: the disk was full\n"
                        "back\n");
    done(&f);
}

TEST(a_disk_that_is_full_at_the_end_does_not_hide_what_was_dropped)
{
    struct fixture f = fixture(0, 0);
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    put(&f, 1, "kept\n");
    io_memory_limit(f.io, HEADER + 6);
    put(&f, 1, "lost\nlost too\n");
    spool_end(f.spool, 1);
    read_all(&f, &out);

    CHECK_STR(out.data, "kept\n[det] 2 lines were dropped here: the disk was full\n");
    CHECK_EQ(spool_end_offset(f.spool), out.len);
    CHECK_EQ(spool_next_offset(f.spool), out.len);
    done(&f);
}

TEST(failing_writes_lose_lines_but_never_the_rest)
{
    for (int64_t nth = 1; nth < 8; nth++) {
        struct fixture f = fixture(0, 40);
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        bool has_failed;

        fault_arm(FAULT_WRITE, nth);
        put(&f, 1, "a\n");
        put(&f, 1, "b\n");
        put(&f, 1, "c\n");
        put(&f, 1, "d\n");
        has_failed = fault_disarm(FAULT_WRITE);
        put(&f, 1, "e\n");
        read_all(&f, &out);

        CHECK_HAS(out.data, "e\n");
        CHECK((strstr(out.data, "dropped") != NULL) == has_failed);
        done(&f);
    }
}

TEST(out_of_memory_is_told_or_drops)
{
    EACH_ALLOCATION_FAILS() {
        struct io *io;
        struct spool *spool = NULL;
        struct spool_config config = {.dir = "/t", .name = "stdout"};
        CLEANUP(buf_done) struct buf out = BUF_INIT;
        struct spool_record record;

        if (io_memory_new(&io, NULL))
            continue;
        config.io = io;
        if (io_mkdir(io, "/t", true, NULL) == DET_OK &&
            spool_open(&config, &spool, NULL) == DET_OK) {
            spool_write(spool, 1, "a\n", 2);
            spool_write(spool, 1, "b\n", 2);
            while (spool_read(spool, &out, &record, NULL) == DET_OK)
                continue;
            CHECK(fault_fired() || strcmp(out.data, "a\nb\n") == 0);
        } else {
            CHECK(fault_fired());
        }
        spool_close(spool);
        io_free(io);
    }
}

TEST(whoever_only_looks_removes_nothing_behind_damage)
{
    struct fixture f = fixture(0, 16);
    struct fixture look = f;
    size_t files;

    put(&f, 1, "the first segment\n");
    put(&f, 2, "the second segment\n");
    put(&f, 3, "the third segment\n");
    files = count_files(&f);
    CHECK(files >= 3);
    spool_close(f.spool);
    f.spool = NULL;
    CHECK_OK(io_replace(f.io, "/t/stdout.spool.00000000000000000000", "x", 1, false,
                        &test_err));

    look.config.only_looks = true;
    open_spool(&look);
    CHECK_EQ(count_files(&look), files);
    spool_close(look.spool);
    open_spool(&f);
    CHECK(count_files(&f) < files);
    done(&f);
}

TEST(whoever_looks_again_begins_with_the_segment_it_left_off_in)
{
    struct fixture f = fixture(0, 1);
    struct fixture look = f;
    CLEANUP(buf_done) struct buf out = BUF_INIT;

    put(&f, 1, "one\n");
    put(&f, 1, "two\n");
    put(&f, 1, "three\n");
    look.config.only_looks = true;
    look.config.from = 5; /* in the middle of the second */
    open_spool(&look);
    read_all(&look, &out);
    CHECK_STR(out.data, "two\nthree\n");
    CHECK_EQ(spool_end_offset(look.spool), 14);
    spool_close(look.spool);
    look.config.from = 14;
    open_spool(&look);
    CHECK_EQ(spool_end_offset(look.spool), 14);
    spool_close(look.spool);
    done(&f);
}
