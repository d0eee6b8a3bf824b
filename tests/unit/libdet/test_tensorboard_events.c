/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensorboard_events.c - event files: their content, and what happens if writing
 * fails. */
#include "det/tensorboard.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "data/event_file.h"
#include "data/json/json.h"
#include "data/png.h"
#include "tests/unit/libdet/world.h"

#define DIR "/tb/run"

/* The initial time of the world's clock. */
static const double wall_s = 1700000000;

static det_events *open_events(det_context *det, const det_events_options *options)
{
    det_events *events;

    if (det_events_open(det, DIR, options, &events))
        fail_msg("%s", det_context_error(det));
    return events;
}

static void read_events(struct io *io, const char *path, struct buf *ret_bytes)
{
    buf_clear(ret_bytes);
    CHECK_OK(io_read_file(io, path, ret_bytes, &test_err));
}

static uint64_t number_at(const char *at, int len)
{
    uint64_t number = 0;

    for (int i = len; i-- > 0;)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

static uint32_t masked(const char *bytes, size_t len)
{
    uint32_t crc = crc32c_plain(0, bytes, len);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Counts the records; each must be complete. */
static size_t count_records(const struct buf *bytes)
{
    size_t at = 0, count = 0;

    while (at < bytes->len) {
        const char *record = bytes->data + at;
        uint64_t len;

        CHECK(at + 16 <= bytes->len);
        len = number_at(record, 8);
        CHECK_EQ(number_at(record + 8, 4), masked(record, 8));
        CHECK(at + 16 + len <= bytes->len);
        CHECK_EQ(number_at(record + 12 + len, 4), masked(record + 12, len));
        at += 16 + len;
        count++;
    }
    return count;
}

static size_t records_in(struct io *io, const char *path)
{
    struct buf bytes = BUF_INIT;
    size_t count;

    read_events(io, path, &bytes);
    count = count_records(&bytes);
    buf_done(&bytes);
    return count;
}

static void check_same(const struct buf *got, const struct buf *wanted)
{
    CHECK_EQ(wanted->status, DET_OK);
    CHECK_EQ(got->len, wanted->len);
    CHECK(memcmp(got->data, wanted->data, wanted->len) == 0);
}

/* ---- files ----------------------------------------------------------------------- */

TEST(a_new_file_has_the_name_and_the_beginning_that_readers_look_for)
{
    struct world w;
    det_context *det;
    det_events *events;
    struct buf got = BUF_INIT, wanted = BUF_INIT;

    world_make(&w);
    det = world_open(&w);
    events = open_events(det, NULL);
    CHECK_HAS(det_events_path(events), DIR "/events.out.tfevents.1700000000.000000.");
    read_events(w.io, det_events_path(events), &got);
    event_version(&wanted, wall_s);
    check_same(&got, &wanted);
    CHECK_OK(det_events_close(events));
    CHECK_OK(det_events_close(NULL));
    det_close(det);
    buf_done(&got);
    buf_done(&wanted);
    world_end(&w);
}

TEST(two_writers_in_one_directory_have_a_file_each)
{
    det_events_options options = {.size = sizeof(options), .suffix = ".chief"};
    struct world w;
    det_context *det;
    det_events *one, *two, *named;

    world_make(&w);
    det = world_open(&w);
    one = open_events(det, NULL);
    two = open_events(det, NULL);
    named = open_events(det, &options);
    CHECK(strcmp(det_events_path(one), det_events_path(two)) != 0);
    CHECK_HAS(det_events_path(named), ".0.chief");
    CHECK_OK(det_events_scalar(one, "a", 1, 1));
    CHECK_OK(det_events_scalar(two, "a", 1, 1));
    CHECK_OK(det_events_flush(one));
    CHECK_EQ(records_in(w.io, det_events_path(one)), 2);
    CHECK_EQ(records_in(w.io, det_events_path(two)), 1);
    CHECK_OK(det_events_close(one));
    CHECK_OK(det_events_close(two));
    CHECK_OK(det_events_close(named));
    det_close(det);
    world_end(&w);
}

TEST(a_run_that_goes_on_says_from_where)
{
    det_events_options options = {.size = sizeof(options), .resume_step = 41};
    struct event_stamp stamp = {wall_s, 41};
    struct world w;
    det_context *det;
    det_events *events;
    struct buf got = BUF_INIT, wanted = BUF_INIT;

    world_make(&w);
    det = world_open(&w);
    events = open_events(det, &options);
    read_events(w.io, det_events_path(events), &got);
    event_version(&wanted, wall_s);
    event_restart(&wanted, &stamp);
    event_restart(&wanted, &stamp);
    check_same(&got, &wanted);
    CHECK_OK(det_events_close(events));
    det_close(det);
    buf_done(&got);
    buf_done(&wanted);
    world_end(&w);
}

TEST(events_wait_until_they_are_many_or_old_or_asked_for)
{
    det_events_options options = {.size = sizeof(options), .flush_ms = 2000};
    struct world w;
    det_context *det;
    det_events *events;
    const char *path;

    world_make(&w);
    det = world_open(&w);
    events = open_events(det, &options);
    path = det_events_path(events);

    CHECK_OK(det_events_scalar(events, "loss", 1, 1));
    CHECK_EQ(records_in(w.io, path), 1);
    CHECK_OK(det_events_flush(events));
    CHECK_EQ(records_in(w.io, path), 2);

    clock_manual_advance(&w.clock, 1999999);
    CHECK_OK(det_events_scalar(events, "loss", 2, 1));
    CHECK_EQ(records_in(w.io, path), 2);
    clock_manual_advance(&w.clock, 1);
    CHECK_OK(det_events_scalar(events, "loss", 3, 1));
    CHECK_EQ(records_in(w.io, path), 4);

    for (int i = 0; i < 2000; i++)
        CHECK_OK(det_events_scalar(events, "loss", 4 + i, 1));
    CHECK(records_in(w.io, path) > 1000);
    CHECK_OK(det_events_close(events));
    det_close(det);
    world_end(&w);
}

/* ---- what is in them ------------------------------------------------------------- */

/* A file, and its expected bytes. */
struct file {
    struct world w;
    det_context *det;
    det_events *events;
    struct event_stamp stamp;
    struct buf wanted;
    struct buf body;
};

static void file_open(struct file *f)
{
    memset(f, 0, sizeof(*f));
    f->wanted = (struct buf)BUF_INIT;
    f->body = (struct buf)BUF_INIT;
    f->stamp = (struct event_stamp){wall_s, 7};
    world_make(&f->w);
    f->det = world_open(&f->w);
    f->events = open_events(f->det, NULL);
    event_version(&f->wanted, wall_s);
}

/* The body is the next value. */
static void file_expect(struct file *f, const char *tag)
{
    event_value(&f->wanted, &f->stamp, tag, &f->body);
    buf_clear(&f->body);
}

static void file_expect_number(struct file *f, const char *tag, float value)
{
    det_metric metric = {tag, value};

    event_numbers(&f->wanted, &f->stamp, &metric, 1);
}

static void file_check(struct file *f)
{
    struct buf got = BUF_INIT;

    CHECK_OK(det_events_flush(f->events));
    read_events(f->w.io, det_events_path(f->events), &got);
    check_same(&got, &f->wanted);
    buf_done(&got);
    CHECK_OK(det_events_close(f->events));
    det_close(f->det);
    world_end(&f->w);
    buf_done(&f->wanted);
    buf_done(&f->body);
}

TEST(numbers_and_texts)
{
    det_metric two[] = {{"a", 1}, {"b", NAN}};
    struct file f;

    file_open(&f);
    CHECK_OK(det_events_scalar(f.events, "train/loss", 7, 0.1));
    file_expect_number(&f, "train/loss", 0.1f);
    CHECK_OK(det_events_scalars(f.events, 7, two, 2));
    event_numbers(&f.wanted, &f.stamp, two, 2);
    CHECK_OK(det_events_scalars(f.events, 7, NULL, 0));
    CHECK_OK(det_events_text(f.events, "note", 7, "*gr\xc3\xbc\xc3\x9f*"));
    event_text(&f.body, "*gr\xc3\xbc\xc3\x9f*");
    file_expect(&f, "note");
    CHECK_OK(det_events_text(f.events, "note", 7, ""));
    event_text(&f.body, "");
    file_expect(&f, "note");
    file_check(&f);
}

TEST(values_are_counted_into_thirty_buckets)
{
    double values[] = {0, 30, 29.5, 1.5, 1.25, NAN, INFINITY, -INFINITY};
    float floats[] = {0, 30, 29.5f, 1.5f, 1.25f, NAN, INFINITY, -INFINITY};
    det_bucket wanted[30];
    struct file f;

    for (int i = 0; i < 30; i++)
        wanted[i] = (det_bucket){i, i + 1, 0};
    wanted[0].count = 1;
    wanted[1].count = 2;
    wanted[29].count = 2; /* also the largest */
    file_open(&f);
    CHECK_OK(det_events_histogram(f.events, "w", 7, values, 8));
    event_buckets(&f.body, wanted, 30);
    file_expect(&f, "w");
    CHECK_OK(det_events_histogram_f32(f.events, "w", 7, floats, 8));
    event_buckets(&f.body, wanted, 30);
    file_expect(&f, "w");
    CHECK_OK(det_events_buckets(f.events, "w", 7, wanted, 30));
    event_buckets(&f.body, wanted, 30);
    file_expect(&f, "w");
    file_check(&f);
}

TEST(values_that_are_equal_or_none_have_a_histogram_too)
{
    double equal[] = {4, 4, 4};
    double none[] = {NAN, INFINITY};
    det_bucket one = {3.5, 4.5, 3};
    struct file f;

    file_open(&f);
    CHECK_OK(det_events_histogram(f.events, "w", 7, equal, 3));
    event_buckets(&f.body, &one, 1);
    file_expect(&f, "w");
    CHECK_OK(det_events_histogram(f.events, "w", 7, none, 2));
    event_buckets(&f.body, NULL, 0);
    file_expect(&f, "w");
    CHECK_OK(det_events_histogram(f.events, "w", 7, NULL, 0));
    event_buckets(&f.body, NULL, 0);
    file_expect(&f, "w");
    file_check(&f);
}

TEST(the_widest_and_the_narrowest_values_are_counted)
{
    double wide[] = {-DBL_MAX, 0, DBL_MAX};
    double narrow[] = {0, DBL_TRUE_MIN};
    struct file f;

    file_open(&f);
    CHECK_OK(det_events_histogram(f.events, "w", 7, wide, 3));
    CHECK_OK(det_events_histogram(f.events, "w", 7, narrow, 2));
    CHECK_OK(det_events_close(f.events));
    det_close(f.det);
    world_end(&f.w);
    buf_done(&f.wanted);
}

TEST(pictures_from_pixels_and_from_files)
{
    static const unsigned char pixels[24] = {1, 2, 3, 4, 5, 6, 9, 9, 7, 8, 10, 11};
    det_image image = {.size = sizeof(image),
                       .pixels = pixels,
                       .width = 2,
                       .height = 2,
                       .channels = 3,
                       .stride = 8};
    struct png_image same = {pixels, 2, 2, 3, 8};
    struct buf png = BUF_INIT;
    struct file f;

    png_encode(&png, &same);
    file_open(&f);
    CHECK_OK(det_events_image(f.events, "digit", 7, &image));
    event_image(&f.body, 2, 2, &png);
    file_expect(&f, "digit");
    CHECK_OK(det_events_png(f.events, "digit", 7, png.data, png.len));
    event_image(&f.body, 2, 2, &png);
    file_expect(&f, "digit");
    file_check(&f);
    buf_done(&png);
}

TEST(hyperparameters_are_those_of_the_context_or_those_given)
{
    struct json *tree;
    struct arena mem = ARENA_INIT(1 << 16);
    struct file f;

    file_open(&f);
    f.stamp.step = 0;
    CHECK_OK(det_events_hparams(f.events, NULL, NULL));
    event_hparams(&f.body, f.det->hparams, NULL, wall_s);
    file_expect(&f, EVENT_HPARAMS_TAG);
    CHECK_OK(det_events_hparams(f.events, "{\"x\": 1}", "both"));
    CHECK_OK(json_parse("{\"x\": 1}", 8, &mem, &tree, &test_err));
    event_hparams(&f.body, tree, "both", wall_s);
    file_expect(&f, EVENT_HPARAMS_TAG);
    CHECK_OK(det_events_end(f.events, DET_RUN_FAILED));
    event_end(&f.body, DET_RUN_FAILED, wall_s);
    file_expect(&f, EVENT_END_TAG);
    file_check(&f);
    arena_done(&mem);
}

/* ---- what makes no sense --------------------------------------------------------- */

#define REFUSES(call, part)                                                            \
    do {                                                                               \
        CHECK_EQ(call, DET_INVALID);                                                   \
        CHECK_HAS(det_context_error(f.det), part);                                     \
    } while (0)

TEST(events_that_make_no_sense_are_refused_and_named)
{
    det_metric nameless[] = {{"a", 1}, {NULL, 2}};
    det_bucket crossed[] = {{0, 2, 1}, {1, 3, 1}};
    det_bucket turned = {1, 0, 1};
    det_bucket negative = {0, 1, -1};
    char long_tag[5000];
    struct file f;

    memset(long_tag, 'a', sizeof(long_tag));
    long_tag[sizeof(long_tag) - 1] = '\0';
    file_open(&f);
    REFUSES(det_events_scalar(f.events, NULL, 1, 1), "the tag is missing");
    REFUSES(det_events_scalar(f.events, "", 1, 1), "the tag is empty");
    REFUSES(det_events_scalar(f.events, long_tag, 1, 1), "more than 4096 bytes");
    REFUSES(det_events_scalar(f.events, "\xff", 1, 1), "the tag is not valid UTF-8");
    REFUSES(det_events_scalar(f.events, "a", -1, 1), "step is -1; expected 0 or more");
    REFUSES(det_events_scalars(f.events, 1, nameless, 2), "the tag is missing");
    REFUSES(det_events_scalars(f.events, 1, NULL, 2), "the metrics are missing");
    REFUSES(det_events_text(f.events, "a", 1, NULL), "the text is missing");
    REFUSES(det_events_text(f.events, "a", 1, "\xc3"), "the text is not valid UTF-8");
    REFUSES(det_events_histogram(f.events, "a", 1, NULL, 3), "values of the histogram");
    REFUSES(det_events_buckets(f.events, "a", 1, NULL, 3), "buckets of the histogram");
    REFUSES(det_events_buckets(f.events, "a", 1, crossed, 2), "bucket 1");
    REFUSES(det_events_buckets(f.events, "a", 1, &turned, 1), "bucket 0");
    REFUSES(det_events_buckets(f.events, "a", 1, &negative, 1), "bucket 0");
    REFUSES(det_events_png(f.events, "a", 1, "GIF89a", 6), "is not a PNG file");
    REFUSES(det_events_png(f.events, "a", 1, NULL, 0), "is not a PNG file");
    REFUSES(det_events_hparams(f.events, "[1]", NULL), "it is not an object");
    REFUSES(det_events_hparams(f.events, "{", NULL),
            "the hyperparameters of the run: ");
    REFUSES(det_events_hparams(f.events, "{}", "\xff"), "the group is not valid UTF-8");
    REFUSES(det_events_end(f.events, (det_run_end)3), "the end of the run is 3");
    CHECK_EQ(det_events_scalar(NULL, "a", 1, 1), DET_INVALID);
    CHECK_EQ(det_events_flush(NULL), DET_INVALID);
    CHECK_STR(det_events_path(NULL), "");
    file_check(&f); /* nothing of it is there */
}

TEST(pictures_that_make_no_sense_are_refused_and_named)
{
    static const unsigned char pixels[64];
    det_image good = {sizeof(good), pixels, 4, 4, 4, 0}, bad;
    struct file f;

    file_open(&f);
    REFUSES(det_events_image(f.events, "a", 1, NULL), "the picture has a wrong size");
    bad = good;
    bad.size = 1000;
    REFUSES(det_events_image(f.events, "a", 1, &bad), "the picture has a wrong size");
    bad = good;
    bad.width = 0;
    REFUSES(det_events_image(f.events, "a", 1, &bad), "0 times 4 pixels");
    bad = good;
    bad.pixels = NULL;
    REFUSES(det_events_image(f.events, "a", 1, &bad), "of which none is given");
    bad = good;
    bad.channels = 5;
    REFUSES(det_events_image(f.events, "a", 1, &bad), "5 channels; expected 1 to 4");
    bad = good;
    bad.stride = 15;
    REFUSES(det_events_image(f.events, "a", 1, &bad), "rows of 16 bytes");
    bad = (det_image){sizeof(bad), pixels, 1 << 20, 1 << 20, 4, 0};
    CHECK_EQ(det_events_image(f.events, "a", 1, &bad), DET_TOO_LARGE);
    file_check(&f);
}

TEST(options_that_make_no_sense_are_refused_and_named)
{
    static const struct {
        det_events_options options;
        const char *says;
    } cases[] = {
        {{.size = 0}, "no size"},
        {{.size = sizeof(det_events_options) + 1}, "no size"},
        {{.size = sizeof(det_events_options), .flush_ms = -1}, "flush_ms is -1"},
        {{.size = sizeof(det_events_options), .resume_step = -1}, "resume_step is -1"},
        {{.size = sizeof(det_events_options), .suffix = "../x"}, "has a slash"},
    };
    struct file f;
    det_events *other;

    file_open(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        REFUSES(det_events_open(f.det, DIR, &cases[i].options, &other), cases[i].says);
    REFUSES(det_events_open(f.det, NULL, NULL, &other), "directory for event files");
    REFUSES(det_events_open(f.det, DIR, NULL, NULL), "ret_events is NULL");
    CHECK_EQ(det_events_open(NULL, DIR, NULL, &other), DET_INVALID);
    file_check(&f);
}

/* ---- disks and memory ------------------------------------------------------------ */

TEST(a_write_that_fails_half_way_is_done_again_at_the_same_place)
{
    for (enum fault_how how = FAULT_TORN; how <= FAULT_FULL; how++) {
        struct file f;

        file_open(&f);
        for (int i = 0; i < 100; i++) {
            CHECK_OK(det_events_scalar(f.events, "loss", 7, i));
            file_expect_number(&f, "loss", (float)i);
        }
        fault_arm_as(FAULT_WRITE, 1, how);
        CHECK_EQ(det_events_flush(f.events), how == FAULT_FULL ? DET_FULL : DET_IO);
        CHECK_HAS(det_context_error(f.det), "events.out.tfevents");
        CHECK(fault_disarm(FAULT_WRITE));
        CHECK_OK(det_events_scalar(f.events, "loss", 7, 100));
        file_expect_number(&f, "loss", 100);
        file_check(&f);
    }
}

TEST(a_full_disk_costs_no_event_that_was_taken)
{
    struct file f;
    det_status st = DET_OK;
    int taken = 0;

    file_open(&f);
    io_memory_limit(f.w.io, 1);
    while (!st && taken < 1000000) {
        st = det_events_scalar(f.events, "loss", 7, taken);
        if (!st)
            file_expect_number(&f, "loss", (float)taken++);
    }
    CHECK_EQ(st, DET_FULL);
    CHECK_HAS(det_context_error(f.det), "events.out.tfevents");
    CHECK(taken > 10000);
    io_memory_limit(f.w.io, 0);
    CHECK_OK(det_events_scalar(f.events, "loss", 7, -1));
    file_expect_number(&f, "loss", -1);
    file_check(&f);
}

TEST(a_writer_that_is_closed_on_a_bad_disk_leaves_whole_events)
{
    struct file f;
    char path[512];

    file_open(&f);
    snprintf(path, sizeof(path), "%s", det_events_path(f.events));
    for (int i = 0; i < 100; i++)
        CHECK_OK(det_events_scalar(f.events, "loss", 7, i));
    fault_arm_as(FAULT_WRITE, 1, FAULT_TORN);
    CHECK_EQ(det_events_close(f.events), DET_IO);
    CHECK(fault_disarm(FAULT_WRITE));
    CHECK_HAS(det_context_error(f.det), "events.out.tfevents");
    CHECK_EQ(records_in(f.w.io, path), 1);
    det_close(f.det);
    world_end(&f.w);
    buf_done(&f.wanted);
}

TEST(a_disk_that_takes_nothing_is_told_when_the_file_is_made)
{
    struct world w;
    det_context *det;
    det_events *events = NULL;
    const char **names;
    struct arena mem = ARENA_INIT(1 << 16);

    world_make(&w);
    det = world_open(&w);
    CHECK_OK(io_mkdir(w.io, DIR, false, &test_err));
    fault_arm_as(FAULT_WRITE, 2, FAULT_FULL);
    CHECK_EQ(det_events_open(det, DIR, NULL, &events), DET_FULL);
    (void)fault_disarm(FAULT_WRITE);
    CHECK_NULL(events);
    CHECK_OK(io_list(w.io, DIR, &mem, &names, &test_err));
    CHECK_NULL(names[0]);
    det_close(det);
    arena_done(&mem);
    world_end(&w);
}

/* Calls everything once; returns the first failure. */
static det_status tell_all(det_context *det)
{
    static const unsigned char pixels[4];
    det_image image = {sizeof(image), pixels, 2, 2, 1, 0};
    double values[] = {1, 2, 3};
    det_events *events;
    det_status st = det_events_open(det, DIR, NULL, &events), closed;

    if (st)
        return st;
    st = det_events_scalar(events, "a", 1, 1);
    if (!st)
        st = det_events_text(events, "b", 1, "text");
    if (!st)
        st = det_events_histogram(events, "c", 1, values, 3);
    if (!st)
        st = det_events_image(events, "d", 1, &image);
    if (!st)
        st = det_events_hparams(events, "{\"a\": {\"b\": [1]}}", "g");
    if (!st)
        st = det_events_hparams(events, NULL, NULL);
    if (!st)
        st = det_events_end(events, DET_RUN_SUCCEEDED);
    closed = det_events_close(events);
    return st ? st : closed;
}

TEST(without_memory_events_are_refused_and_nothing_is_half_there)
{
    struct world w;
    det_context *det;

    world_make(&w);
    det = world_open(&w);
    EACH_ALLOCATION_FAILS() {
        det_status st;

        clock_manual_advance(&w.clock, 1000000); /* another name for the file */
        st = tell_all(det);

        CHECK(st == DET_OK || (st == DET_NOMEM && fault_fired()));
    }
    det_close(det);
    world_end(&w);
}

/* ---- forks and threads ----------------------------------------------------------- */

/* A context on the real disk, and a directory that goes with it. */
static det_context *open_real(char *dir)
{
    det_init_options options = {.size = sizeof(options), .directory = dir};
    det_context *det;

    CHECK(mkdtemp(dir));
    unsetenv("DET_ALLOCATION_ID");
    CHECK_OK(det_init(&options, &det));
    return det;
}

static int child_says(det_context *det, det_events *events)
{
    if (det_events_scalar(events, "loss", 2, 2) != DET_STATE ||
        det_events_flush(events) != DET_STATE || *det_events_path(events) ||
        det_events_close(events) != DET_STATE)
        return 1;
    det_close(det);
    return 0;
}

TEST(a_forked_child_writes_nothing_and_its_parent_goes_on)
{
    char dir[] = "/tmp/det-events-XXXXXX";
    det_context *det = open_real(dir);
    det_events *events;
    char path[512];
    int status;
    pid_t pid;

    CHECK_OK(det_events_open(det, dir, NULL, &events));
    snprintf(path, sizeof(path), "%s", det_events_path(events));
    CHECK_OK(det_events_scalar(events, "loss", 1, 1));
    pid = fork();
    if (pid == 0)
        _exit(child_says(det, events));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(records_in(io_system(), path), 1);
    CHECK_OK(det_events_close(events));
    CHECK_EQ(records_in(io_system(), path), 2);
    det_close(det);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}

enum { SPEAKERS = 4, SAYS = 3000 };

static void *speak(void *arg)
{
    det_events *events = arg;
    double values[] = {1, 2, 3};

    for (int i = 0; i < SAYS; i++)
        if (det_events_scalar(events, "loss", i, i) ||
            det_events_histogram(events, "w", i, values, 3))
            return events;
    return NULL;
}

TEST(what_several_threads_say_is_all_there)
{
    char dir[] = "/tmp/det-events-XXXXXX";
    det_context *det = open_real(dir);
    pthread_t thread[SPEAKERS];
    det_events *events;
    char path[512];

    CHECK_OK(det_events_open(det, dir, NULL, &events));
    snprintf(path, sizeof(path), "%s", det_events_path(events));
    for (int i = 0; i < SPEAKERS; i++)
        CHECK_EQ(pthread_create(&thread[i], NULL, speak, events), 0);
    for (int i = 0; i < SPEAKERS; i++) {
        void *failed;

        CHECK_EQ(pthread_join(thread[i], &failed), 0);
        CHECK_NULL(failed);
    }
    CHECK_OK(det_events_close(events));
    CHECK_EQ(records_in(io_system(), path), 1 + SPEAKERS * SAYS * 2);
    det_close(det);
    CHECK_OK(io_remove_tree(io_system(), dir, &test_err));
}
