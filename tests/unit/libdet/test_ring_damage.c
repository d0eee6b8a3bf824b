/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_damage.c - rings that were damaged while nobody used them: every byte in
 * turn, every length, missing files.  Never a crash, never a wrong record, and the ring
 * works afterwards. */
#include <pthread.h>

#include "libdet/ring/ring_head.h"
#include "libdet/ring/ring_segment.h"
#include "tests/unit/libdet/ring_world.h"

enum { RECORDS = 8, SEGMENT_BYTES = 512 };

/* The files of a small ring, to be restored again and again. */
struct image {
    struct arena mem;
    const char **names;
    struct buf bytes[8];
    size_t count;
};

static void image_take(struct image *image, struct world *w)
{
    *image = (struct image){.mem = ARENA_INIT(1 << 20)};
    w->config.segment_bytes = SEGMENT_BYTES;
    open_ring(w);
    put_many(w, 1, RECORDS);
    close_both(w);
    CHECK_OK(io_list(w->io, w->dir, &image->mem, &image->names, &test_err));
    for (size_t i = 0; image->names[i]; i++) {
        char path[128];

        CHECK(i < ARRAY_LEN(image->bytes));
        snprintf(path, sizeof(path), "%s/%s", w->dir, image->names[i]);
        image->bytes[i] = (struct buf)BUF_INIT;
        CHECK_OK(io_read_file(w->io, path, &image->bytes[i], &test_err));
        image->count++;
    }
    /* The head, at least three segments in use. */
    CHECK(image->count >= 4);
}

static void image_free(struct image *image)
{
    for (size_t i = 0; i < image->count; i++)
        buf_done(&image->bytes[i]);
    arena_done(&image->mem);
}

/* Writes a file of the ring unchanged, or cut to `len` (SIZE_MAX: not cut). */
static void lay_file(struct world *w, const struct image *image, size_t i, size_t len)
{
    char path[128];
    struct io_file *file;

    snprintf(path, sizeof(path), "%s/%s", w->dir, image->names[i]);
    CHECK_OK(
        io_open(w->io, path, IO_WRITE | IO_CREATE | IO_TRUNCATE, &file, &test_err));
    CHECK_OK(io_write_at(file, 0, image->bytes[i].data, MIN(len, image->bytes[i].len),
                         &test_err));
    io_close(file);
}

static void lay_down(struct world *w, const struct image *image)
{
    CHECK_OK(io_remove_tree(w->io, w->dir, &test_err));
    CHECK_OK(io_mkdir(w->io, w->dir, true, &test_err));
    for (size_t i = 0; i < image->count; i++)
        lay_file(w, image, i, SIZE_MAX);
}

/* Reads the rest, and checks that each record was put.  Returns their number. */
static uint32_t read_left(struct world *w)
{
    struct report report;
    uint64_t last = 0;
    uint32_t count = 0;
    size_t at = 0;

    read_batch(w, SIZE_MAX);
    while (next_report(&w->out, &at, &report)) {
        CHECK(report.number > last && report.number <= RECORDS);
        last = report.number;
        CHECK_EQ(said_of(&report).nth, last);
        count++;
    }
    CHECK(w->batch.last <= RECORDS);
    return count;
}

/* The ring works whatever was lost, and no number is given twice. */
static void check_goes_on(struct world *w)
{
    struct report report;
    size_t at = 0;

    open_ring(w);
    CHECK_OK(put_said(w->ring, 2, 77));
    read_batch(w, SIZE_MAX);
    CHECK(next_report(&w->out, &at, &report));
    CHECK_EQ(said_of(&report).nth, 77);
    CHECK_EQ(w->out.len, at);
    close_both(w);
}

static void flip_each(struct world *w)
{
    struct image image;

    image_take(&image, w);
    for (size_t i = 0; i < image.count; i++)
        for (size_t at = 0; at < image.bytes[i].len; at++)
            for (unsigned char flip = 0x01; flip; flip = flip == 1 ? 0x80 : 0) {
                image.bytes[i].data[at] ^= (char)flip;
                lay_down(w, &image);
                image.bytes[i].data[at] ^= (char)flip;
                open_reader(w);
                /* A damaged head is rebuilt; of the records at most one is lost. */
                CHECK_EQ(read_left(w) + w->batch.damaged, RECORDS);
                CHECK(w->batch.damaged <= (strcmp(image.names[i], "head") != 0));
                check_goes_on(w);
            }
    image_free(&image);
}

TEST(a_flipped_bit_anywhere_costs_one_record_at_most)
{
    in_memory(flip_each);
}

static void flip_each_for_a_writer(struct world *w)
{
    struct image image;

    image_take(&image, w);
    for (size_t i = 0; i < image.count; i++)
        for (size_t at = 0; at < image.bytes[i].len; at++) {
            image.bytes[i].data[at] ^= 0x10;
            lay_down(w, &image);
            image.bytes[i].data[at] ^= 0x10;
            open_ring(w);
            CHECK_OK(put_said(w->ring, 1, RECORDS + 1));
            ring_close(w->ring);
            w->ring = NULL;
            open_reader(w);
            buf_clear(&w->out);
            CHECK_OK(ring_read(w->reader, SIZE_MAX, &w->out, &w->batch, &test_err));
            CHECK_EQ(w->batch.last, RECORDS + 1);
            CHECK(w->batch.damaged <= (strcmp(image.names[i], "head") != 0));
            close_both(w);
        }
    image_free(&image);
}

TEST(a_writer_goes_on_behind_a_flipped_bit_with_the_next_number)
{
    in_memory(flip_each_for_a_writer);
}

static void cut_each(struct world *w)
{
    struct image image;

    image_take(&image, w);
    for (size_t i = 0; i < image.count; i++)
        for (size_t len = 0; len < image.bytes[i].len; len++) {
            bool is_head = strcmp(image.names[i], "head") == 0;

            lay_down(w, &image);
            lay_file(w, &image, i, len);
            open_reader(w);
            CHECK_EQ(read_left(w) + w->batch.damaged, RECORDS);
            CHECK(!is_head || w->batch.damaged == 0);
            check_goes_on(w);
        }
    image_free(&image);
}

TEST(a_file_cut_short_costs_what_was_cut_off)
{
    in_memory(cut_each);
}

static void remove_each(struct world *w)
{
    struct image image;

    image_take(&image, w);
    for (size_t i = 0; i < image.count; i++) {
        char path[128];

        lay_down(w, &image);
        snprintf(path, sizeof(path), "%s/%s", w->dir, image.names[i]);
        CHECK_OK(io_remove(w->io, path, &test_err));
        open_reader(w);
        CHECK_EQ(read_left(w) + w->batch.damaged, RECORDS);
        CHECK(strcmp(image.names[i], "head") != 0 || w->batch.damaged == 0);
        check_goes_on(w);
    }
    image_free(&image);
}

TEST(a_file_that_is_gone_costs_what_was_in_it)
{
    in_memory(remove_each);
}

static void forget_head(struct world *w)
{
    char path[128];

    w->config.segment_bytes = SEGMENT_BYTES;
    open_ring(w);
    open_reader(w);
    put_many(w, 1, 50);
    check_reads(w, 1, 50);
    CHECK_OK(ring_stored(w->reader, 50, &test_err));
    close_both(w);
    snprintf(path, sizeof(path), "%s/head", w->dir);
    CHECK_OK(io_remove(w->io, path, &test_err));

    open_ring(w);
    put_many(w, 51, 52);
    open_reader(w);
    read_batch(w, SIZE_MAX);
    CHECK_EQ(w->batch.last, 52);
    CHECK_EQ(w->batch.damaged, 0);
    CHECK(w->batch.first <= 51);
}

TEST(numbers_go_on_when_the_head_is_gone_and_all_was_stored)
{
    in_memory(forget_head);
}

/* A sparse file may have any size: the search for records must end. */
ON_DISK(a_file_full_of_holes_does_not_keep_the_reader)
{
    char path[128];
    struct io_file *file;

    open_ring(w);
    put_many(w, 1, 5);
    close_both(w);
    snprintf(path, sizeof(path), "%s/head", w->dir);
    CHECK_OK(io_remove(w->io, path, &test_err));
    snprintf(path, sizeof(path), "%s/segment-000000000002", w->dir);
    CHECK_OK(io_open(w->io, path, IO_WRITE | IO_CREATE, &file, &test_err));
    CHECK_OK(io_truncate(file, UINT64_C(1) << 42, &test_err));
    io_close(file);

    open_reader(w);
    check_reads(w, 1, 5);
}

/* ---- the head is cut off under a reader that sleeps ------------------------------ */

static void *cut_head(void *arg)
{
    struct world *w = arg;
    char path[128];
    struct io_file *file;
    uint32_t sleeps = 0;
    size_t got;

    snprintf(path, sizeof(path), "%s/head", w->dir);
    if (io_open(w->io, path, IO_WRITE, &file, NULL))
        return NULL;
    while (!sleeps && !io_read_at(file, offsetof(struct ring_head, sleeps), &sleeps,
                                  sizeof(sleeps), &got, NULL))
        continue;
    if (io_truncate(file, 0, NULL))
        arg = NULL;
    io_close(file);
    return arg;
}

ON_DISK(a_head_that_is_cut_off_does_not_kill_a_reader_that_sleeps)
{
    pthread_t thread;
    void *is_fine;

    open_ring(w);
    put_many(w, 1, 5);
    ring_close(w->ring);
    w->ring = NULL;
    open_reader(w);
    check_reads(w, 1, 5);
    CHECK_EQ(pthread_create(&thread, NULL, cut_head, w), 0);
    ring_wait(w->reader, 500);
    CHECK_EQ(pthread_join(thread, &is_fine), 0);
    CHECK(is_fine);
    CHECK_OK(ring_stored(w->reader, 5, &test_err));
    ring_wait(w->reader, 1);
}

static void other_files(struct world *w)
{
    static const char *const names[] = {
        "segment-", "segment-x", "segment-99999999999999", "segment-1x", "notes"};

    open_ring(w);
    put_many(w, 1, 5);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", w->dir, names[i]);
        CHECK_OK(io_replace(w->io, path, "hello", 5, false, &test_err));
    }
    open_reader(w);
    check_reads(w, 1, 5);
}

TEST(other_files_in_the_folder_are_none_of_its_business)
{
    in_memory(other_files);
}

/* A run without a master keeps everything; a task must not keep its agent busy. */
static void many_files(struct world *w)
{
    char path[128];

    open_ring(w);
    put_many(w, 1, 5);
    ring_close(w->ring);
    w->ring = NULL;
    for (int i = 0; i < 4200; i++) {
        snprintf(path, sizeof(path), "%s/other-%d", w->dir, i);
        CHECK_OK(io_replace(w->io, path, "", 0, false, &test_err));
    }
    snprintf(path, sizeof(path), "%s/head", w->dir);
    CHECK_OK(io_remove(w->io, path, &test_err));
    w->config.makes = RING_MAKES_HEAD;
    CHECK_EQ(ring_reader_open(&w->config, &w->reader, &test_err), DET_CORRUPT);
    CHECK_HAS(test_err.text, "has more than 4096 files");
    w->config.only_looks = true;
    CHECK_OK(ring_reader_open(&w->config, &w->reader, &test_err));
    check_reads(w, 1, 5);
}

TEST(only_the_ring_of_a_task_has_a_limited_number_of_files)
{
    in_memory(many_files);
}

/* ---- who only looks -------------------------------------------------------------- */

static size_t count_files_or_none(struct world *w)
{
    struct io_stat found;

    return io_stat(w->io, w->dir, &found, NULL) ? 0 : count_files(w);
}

static void check_unchanged(struct world *w, const struct image *image, size_t changed,
                            size_t len)
{
    CHECK_EQ(count_files(w), image->count - (changed < image->count && !len));
    for (size_t i = 0; i < image->count; i++) {
        CLEANUP(buf_done) struct buf bytes = BUF_INIT;
        char path[128];

        if (i == changed && !len)
            continue;
        snprintf(path, sizeof(path), "%s/%s", w->dir, image->names[i]);
        CHECK_OK(io_read_file(w->io, path, &bytes, &test_err));
        CHECK_EQ(bytes.len, i == changed ? len : image->bytes[i].len);
        CHECK(!memcmp(bytes.data, image->bytes[i].data, bytes.len));
    }
}

/* Whatever is missing or truncated: the rest is read, and nothing changes. */
ON_BOTH(who_only_looks_reads_what_is_whole_and_changes_nothing)
{
    struct image image;

    image_take(&image, w);
    w->config.only_looks = true;
    for (size_t i = 0; i <= image.count; i++)
        for (size_t len = 0; len <= 64; len += 64) {
            char path[128];
            uint32_t left;

            lay_down(w, &image);
            if (i < image.count) {
                snprintf(path, sizeof(path), "%s/%s", w->dir, image.names[i]);
                CHECK_OK(io_remove(w->io, path, &test_err));
                if (len)
                    lay_file(w, &image, i, len);
            }
            open_reader(w);
            left = read_left(w);
            if (i == image.count || !strcmp(image.names[i], "head"))
                CHECK_EQ(left, RECORDS);
            close_both(w);
            check_unchanged(w, &image, i, len);
        }
    image_free(&image);
}

/* Beside a writer: it delays nobody and makes nothing. */
ON_BOTH(who_only_looks_sees_what_is_put_and_makes_no_folder)
{
    w->config.only_looks = true;
    open_reader(w);
    read_batch(w, SIZE_MAX);
    CHECK(w->batch.first > w->batch.last);
    CHECK_EQ(count_files_or_none(w), 0);
    ring_reader_close(w->reader);
    w->reader = NULL;

    open_ring(w);
    open_reader(w);
    put_many(w, 1, 3);
    check_reads(w, 1, 3);
    put_many(w, 4, 5);
    check_reads(w, 4, 5);
}
