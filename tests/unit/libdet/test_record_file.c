/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_file.c - files of records: they return what was written; every changed or
 * missing byte is noticed; if a write, sync or allocation fails, no file of that name
 * is left. */
#include "libdet/data/record_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/io/io.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/rng.h"
#include "libdet/data/dataset.h"
#include "libdet/data/record_file_writer.h"
#include "tests/support/test.h"

#define PATH "/data/set.records"

static struct io *memory_io(void)
{
    struct io *io;

    CHECK_OK(io_memory_new(&io, &test_err));
    CHECK_OK(io_mkdir(io, "/data", false, &test_err));
    return io;
}

/* Record i: i % 37 bytes that begin at i. */
static size_t make_record(int64_t i, unsigned char *bytes)
{
    size_t len = (size_t)(i % 37);

    for (size_t b = 0; b < len; b++)
        bytes[b] = (unsigned char)(i + (int64_t)b);
    return len;
}

static det_status write_records(struct io *io, const char *path, int64_t count)
{
    det_records *records;
    det_status st = record_file_create(io, path, &records, &test_err);

    for (int64_t i = 0; !st && i < count; i++) {
        unsigned char bytes[64];
        size_t len = make_record(i, bytes);

        st = det_records_add(records, bytes, len);
        if (st)
            det_records_abort(records);
    }
    if (st)
        return st;
    st = det_records_finish(records);
    if (st)
        det_records_abort(records);
    return st;
}

/* DET_OK if every record is there and unchanged. */
static det_status read_records(struct io *io, const char *path, int64_t count)
{
    det_dataset *dataset;
    det_status st = record_file_open(io, path, &dataset, &test_err);

    if (st)
        return st;
    CHECK_EQ(det_dataset_items(dataset), count);
    for (int64_t i = 0; !st && i < count; i++) {
        unsigned char wanted[64];
        size_t len = make_record(i, wanted);
        const void *bytes = NULL;
        size_t got = 0;

        st = det_dataset_record(dataset, i, &bytes, &got, test_err.text,
                                sizeof(test_err.text));
        if (st)
            break;
        CHECK_EQ(got, len);
        CHECK_EQ((uintptr_t)bytes % RECORD_FILE_ALIGN, 0);
        CHECK(memcmp(bytes, wanted, len) == 0);
    }
    det_dataset_free(dataset);
    return st;
}

TEST(what_goes_in_comes_out)
{
    static const int64_t counts[] = {0,
                                     1,
                                     2,
                                     100,
                                     RECORD_FILE_BLOCK - 1,
                                     RECORD_FILE_BLOCK,
                                     RECORD_FILE_BLOCK + 1,
                                     3 * RECORD_FILE_BLOCK + 5};
    struct io *io = memory_io();

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        CHECK_OK(write_records(io, PATH, counts[i]));
        CHECK_OK(read_records(io, PATH, counts[i]));
    }
    io_free(io);
}

TEST(on_a_real_disk_also_a_file_that_may_only_be_read)
{
    char root[] = P_tmpdir "/det-records-XXXXXX";
    char path[64];

    CHECK(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/set", root);
    CHECK_OK(write_records(io_system(), path, 1000));
    CHECK_EQ(chmod(path, 0444), 0);
    CHECK_OK(read_records(io_system(), path, 1000));
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
}

TEST(large_records_go_straight_to_the_file)
{
    struct io *io = memory_io();
    size_t len = 3 << 20;
    unsigned char *large = mem_alloc(len);
    struct rng64 rng = {.state = 1};
    det_records *records;
    det_dataset *dataset;
    const void *bytes;
    size_t got;

    for (size_t i = 0; i < len; i++)
        large[i] = (unsigned char)rng64_next(&rng);
    CHECK_OK(record_file_create(io, PATH, &records, &test_err));
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(det_records_add(records, large + i, len - i));
    CHECK_OK(det_records_finish(records));
    CHECK_OK(record_file_open(io, PATH, &dataset, &test_err));
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(det_dataset_record(dataset, (int64_t)i, &bytes, &got, NULL, 0));
        CHECK_EQ(got, len - i);
        CHECK(memcmp(bytes, large + i, got) == 0);
    }
    det_dataset_free(dataset);
    mem_free(large);
    io_free(io);
}

/* ---- damage ---------------------------------------------------------------------- */

static void change(struct io *io, const unsigned char *bytes, size_t len)
{
    CHECK_OK(io_replace(io, PATH, bytes, len, false, &test_err));
}

TEST(each_byte_that_is_changed_is_noticed)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct io *io = memory_io();

    CHECK_OK(write_records(io, PATH, 40));
    CHECK_OK(io_read_file(io, PATH, &whole, &test_err));
    for (size_t at = 0; at < whole.len; at++) {
        static const unsigned char flips[] = {0x01, 0x80, 0xff};

        for (size_t i = 0; i < ARRAY_LEN(flips); i++) {
            whole.data[at] = (char)(whole.data[at] ^ flips[i]);
            change(io, (unsigned char *)whole.data, whole.len);
            CHECK_EQ(read_records(io, PATH, 40), DET_CORRUPT);
            CHECK_HAS(test_err.text, PATH);
            whole.data[at] = (char)(whole.data[at] ^ flips[i]);
        }
    }
    io_free(io);
}

TEST(a_file_cut_short_anywhere_or_too_long_is_noticed)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct io *io = memory_io();

    CHECK_OK(write_records(io, PATH, 20));
    CHECK_OK(io_read_file(io, PATH, &whole, &test_err));
    for (size_t len = 0; len < whole.len; len++) {
        change(io, (unsigned char *)whole.data, len);
        CHECK_EQ(read_records(io, PATH, 20), DET_CORRUPT);
    }
    CHECK_HAS(test_err.text, "bytes, but was written with");
    buf_putc(&whole, 'x');
    change(io, (unsigned char *)whole.data, whole.len);
    CHECK_EQ(read_records(io, PATH, 20), DET_CORRUPT);
    io_free(io);
}

TEST(what_is_no_file_of_records_is_told)
{
    struct io *io = memory_io();
    det_dataset *dataset = NULL;
    unsigned char bytes[RECORD_FILE_HEADER] = "something else";

    CHECK_EQ(record_file_open(io, PATH, &dataset, &test_err), DET_NOT_FOUND);
    change(io, bytes, sizeof(bytes));
    CHECK_EQ(record_file_open(io, PATH, &dataset, &test_err), DET_CORRUPT);
    CHECK_STR(test_err.text, "'" PATH "' is not a file of records");
    change(io, bytes, 5);
    CHECK_EQ(record_file_open(io, PATH, &dataset, &test_err), DET_CORRUPT);
    CHECK_STR(test_err.text, "'" PATH "' is not a file of records: it has 5 bytes");
    memcpy(bytes, RECORD_FILE_MAGIC, 8);
    record_file_put(bytes + 8, 2, 4);
    record_file_put(bytes + RECORD_FILE_CRC_AT, crc32c(0, bytes, RECORD_FILE_CRC_AT),
                    4);
    change(io, bytes, sizeof(bytes));
    CHECK_EQ(record_file_open(io, PATH, &dataset, &test_err), DET_UNSUPPORTED);
    CHECK_NULL(dataset);
    io_free(io);
}

/* Checksums do not help against forged files. */
TEST(a_header_that_was_made_to_mislead_leads_nowhere)
{
    CLEANUP(buf_done) struct buf whole = BUF_INIT;
    struct io *io = memory_io();
    struct rng64 rng = {.state = 3};

    CHECK_OK(write_records(io, PATH, 10));
    CHECK_OK(io_read_file(io, PATH, &whole, &test_err));
    for (int round = 0; round < 1000; round++) {
        CLEANUP(buf_done) struct buf bytes = BUF_INIT;
        unsigned char *data;

        buf_add(&bytes, whole.data, whole.len);
        data = (unsigned char *)bytes.data;
        for (size_t at = 16; at < 32; at += 8)
            if (rng64_below(&rng, 2))
                record_file_put(data + at, rng64_next(&rng) >> rng64_below(&rng, 64),
                                8);
        for (size_t at = RECORD_FILE_HEADER; at < whole.len; at++)
            if (!rng64_below(&rng, 8))
                data[at] = (unsigned char)rng64_next(&rng);
        record_file_put(data + RECORD_FILE_CRC_AT, crc32c(0, data, RECORD_FILE_CRC_AT),
                        4);
        change(io, data, bytes.len);
        {
            det_dataset *dataset;
            const void *at;
            size_t len;

            if (record_file_open(io, PATH, &dataset, NULL))
                continue;
            for (int64_t i = 0; i < MIN(det_dataset_items(dataset), 100); i++)
                (void)det_dataset_record(dataset, i, &at, &len, NULL, 0);
            det_dataset_free(dataset);
        }
    }
    io_free(io);
}

/* ---- failures -------------------------------------------------------------------- */

TEST(a_write_or_sync_that_fails_leaves_the_earlier_file)
{
    static const enum fault_kind kinds[] = {FAULT_WRITE, FAULT_SYNC};

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (int64_t nth = 1;; nth++) {
            struct io *io = memory_io();
            det_status st;

            CHECK_OK(write_records(io, PATH, 3));
            fault_arm(kinds[k], nth);
            st = write_records(io, PATH, 5000);
            if (!fault_disarm(kinds[k])) {
                CHECK_OK(st);
                io_free(io);
                break;
            }
            CHECK(st != DET_OK);
            /* The sync of the folder may fail too: then the new file is there. */
            st = read_records(io, PATH, nth > 1 && kinds[k] == FAULT_SYNC ? 5000 : 3);
            CHECK_OK(st);
            io_free(io);
        }
}

TEST(without_memory_there_is_no_file)
{
    EACH_ALLOCATION_FAILS() {
        int64_t armed = fault_state.left[FAULT_MEMORY];
        struct io *io;
        det_status st;

        fault_state.left[FAULT_MEMORY] = 0;
        io = memory_io();
        fault_state.left[FAULT_MEMORY] = armed;
        st = write_records(io, PATH, 20);
        if (!st)
            st = read_records(io, PATH, 20);
        if (fault_fired())
            CHECK(st == DET_NOMEM || st == DET_OK);
        else
            CHECK_OK(st);
        io_free(io);
    }
}

TEST(the_folder_holds_nothing_else_afterwards)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct io *io = memory_io();
    const char **names;
    det_records *records;

    CHECK_OK(record_file_create(io, PATH, &records, &test_err));
    CHECK_OK(det_records_add(records, "x", 1));
    det_records_abort(records);
    det_records_abort(NULL);
    CHECK_OK(io_list(io, "/data", &mem, &names, &test_err));
    CHECK_NULL(names[0]);
    CHECK_OK(write_records(io, PATH, 1));
    CHECK_OK(io_list(io, "/data", &mem, &names, &test_err));
    CHECK_STR(names[0], "set.records");
    CHECK_NULL(names[1]);
    CHECK_EQ(record_file_create(io, "/nowhere/set", &records, &test_err),
             DET_NOT_FOUND);
    io_free(io);
}

TEST(after_a_failure_nothing_can_be_added_or_finished)
{
    struct io *io = memory_io();
    det_records *records;

    CHECK_OK(record_file_create(io, PATH, &records, &test_err));
    CHECK_EQ(det_records_add(records, "x", (size_t)UINT32_MAX + 1), DET_TOO_LARGE);
    CHECK_HAS(det_records_error(records), "too large");
    CHECK_EQ(det_records_add(records, "x", 1), DET_TOO_LARGE);
    CHECK_EQ(det_records_finish(records), DET_TOO_LARGE);
    det_records_abort(records);
    io_free(io);
}

TEST(a_forked_child_cannot_spoil_the_file)
{
    char root[] = P_tmpdir "/det-records-XXXXXX";
    char path[64];
    det_records *records;
    int status;
    pid_t pid;

    CHECK(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/set", root);
    CHECK_OK(record_file_create(io_system(), path, &records, &test_err));
    pid = fork();
    if (pid == 0) {
        if (det_records_add(records, "x", 1) != DET_STATE ||
            det_records_finish(records) != DET_STATE)
            _exit(1);
        det_records_abort(records);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK_OK(det_records_finish(records));
    CHECK_OK(read_records(io_system(), path, 0));
    CHECK_OK(io_remove_tree(io_system(), root, &test_err));
}

TEST(hints_change_nothing)
{
    static const int64_t odd[] = {-1, 0, 4095, 4096, 8191, 8192, INT64_MAX};
    struct io *io = memory_io();
    det_dataset *dataset;

    CHECK_OK(write_records(io, PATH, 8192));
    CHECK_OK(record_file_open(io, PATH, &dataset, &test_err));
    for (size_t i = 0; i < ARRAY_LEN(odd); i++)
        record_file_prefetch(dataset, odd[i], odd[ARRAY_LEN(odd) - 1 - i]);
    det_dataset_free(dataset);
    CHECK_OK(read_records(io, PATH, 8192));
    io_free(io);
}

TEST(only_records_that_are_there_are_given)
{
    struct io *io = memory_io();
    det_dataset *dataset;
    const void *bytes;
    char error[128];
    size_t len;

    CHECK_OK(write_records(io, PATH, 3));
    CHECK_OK(record_file_open(io, PATH, &dataset, &test_err));
    CHECK_EQ(det_dataset_record(dataset, 3, &bytes, &len, error, sizeof(error)),
             DET_INVALID);
    CHECK_STR(error, "there is no record 3 in '" PATH "', which has 3");
    CHECK_EQ(det_dataset_record(dataset, -1, &bytes, &len, NULL, 0), DET_INVALID);
    det_dataset_free(dataset);
    CHECK_OK(det_dataset_arrays(NULL, 0, 5, &dataset, NULL, 0));
    CHECK_EQ(det_dataset_record(dataset, 0, &bytes, &len, error, sizeof(error)),
             DET_INVALID);
    CHECK_STR(error, "this data set is not a file of records");
    det_dataset_free(dataset);
    io_free(io);
}
