/* SPDX-License-Identifier: Apache-2.0 */
/* tensorboard_events.c - the writer behind det/tensorboard.h.
 *
 * A call prepares its record without the lock, except for numbers, which are cheaper to
 * make in place.  Under the lock it appends the record to the waiting ones, and writes
 * them if there are enough.
 *
 *     |  in the file: whole records  |  waiting: whole records  |
 *     0                           offset
 *
 *   1. The first `offset` bytes of the file are complete records.  A failed write
 *      may have left some of the waiting bytes after them; the next write puts the same
 *      bytes at the same place, so nothing is there twice.
 *   2. Waiting records are never dropped before the writer is closed.  While writing
 *      fails, records are accepted until WAIT_BYTES are waiting, then refused.
 *   3. A failed write that has lost nothing yet is not reported but retried, at most
 *      every RETRY_US, so a full disk does not slow training down.
 *
 * Threading: `lock` guards everything except what is set at the beginning.  A forked
 * child writes nothing and only frees memory. */
#include "libdet/report/tensorboard_events.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/event_file.h"
#include "data/json/json.h"
#include "data/png.h"
#include "data/utf8.h"
#include "libdet/context.h"
#include "libdet/report/pixels.h"

enum {
    WRITE_BYTES = 64 << 10, /* written when this many are waiting */
    WAIT_BYTES = 4 << 20,   /* accepted while writing fails */
    EVENT_MOST = 1 << 30,
    RETRY_US = 1000000,
    FLUSH_MS = 10000,
    FLUSH_MS_MOST = 24 * 3600 * 1000,
    TAG_MOST = 4096,
    BUCKETS = 30,
    TREE = 64 << 20,
    HOST_SIZE = 256,
    NUMBERS = 10000, /* names to try per moment before giving up */
};

struct det_events {
    det_context *context; /* borrowed */
    char *path;
    int64_t flush_us;
    struct lock lock;
    struct io_file *file;
    uint64_t offset;
    struct buf waiting;
    int64_t written_us; /* time of the last write or try */
    bool has_failed;    /* the last write failed */
};

/* ---- checks ---------------------------------------------------------------------- */

static det_status check_events(const det_events *events, struct err *err)
{
    if (!events)
        return err_set(err, DET_INVALID, "the events handle is NULL");
    return context_check(events->context, err);
}

static det_status check_text(const char *what, const char *text, struct err *err)
{
    size_t len;

    if (!text)
        return err_set(err, DET_INVALID, "the %s is missing", what);
    len = strlen(text);
    /* A reader would refuse the whole event. */
    if (utf8_valid(text, len) != len)
        return err_set(err, DET_INVALID, "the %s is not valid UTF-8", what);
    return DET_OK;
}

static det_status check_tag(const char *tag, struct err *err)
{
    size_t len = tag ? strnlen(tag, TAG_MOST + 1) : 0;

    if (tag && !len)
        return err_set(err, DET_INVALID, "the tag is empty");
    if (len > TAG_MOST)
        return err_set(err, DET_INVALID, "the tag '%.40s...' has more than %d bytes",
                       tag, TAG_MOST);
    return check_text("tag", tag, err);
}

static det_status check_step(int64_t step, struct err *err)
{
    if (step < 0)
        return err_set(err, DET_INVALID, "step is %" PRId64 "; expected 0 or more",
                       step);
    return DET_OK;
}

/* Every event with a tag starts with these checks. */
static det_status check_event(const det_events *events, const char *tag, int64_t step,
                              struct err *err)
{
    det_status st = check_events(events, err);

    if (!st)
        st = check_tag(tag, err);
    return st ? st : check_step(step, err);
}

static det_status end_events_call(det_events *events, det_status status,
                                  const struct err *err)
{
    return events ? context_end(events->context, status, err) : status;
}

/* ---- writing --------------------------------------------------------------------- */

static int64_t now_us(const det_events *events)
{
    return clock_wall_us(events->context->world.clock);
}

static struct event_stamp stamp_at(int64_t wall_us, int64_t step)
{
    return (struct event_stamp){(double)wall_us / 1e6, step};
}

static det_status write_waiting(det_events *events, int64_t at_us, struct err *err)
{
    det_status st = DET_OK;

    events->written_us = at_us;
    if (events->waiting.len)
        st = io_write_at(events->file, events->offset, events->waiting.data,
                         events->waiting.len, err);
    events->has_failed = st != DET_OK;
    if (st)
        return st;
    events->offset += events->waiting.len;
    if (events->waiting.cap > WAIT_BYTES) /* does not keep the memory of a large
                                             picture */
        buf_done(&events->waiting);
    buf_clear(&events->waiting);
    return DET_OK;
}

/* Whether it is time to write.  The time of day may be set back. */
static bool is_due(const det_events *events, int64_t at_us)
{
    int64_t since_us = at_us - events->written_us;

    if (events->has_failed)
        return since_us < 0 || since_us >= RETRY_US;
    return events->waiting.len >= WRITE_BYTES || since_us < 0 ||
           since_us >= events->flush_us;
}

/* With the lock held, before a record is added. */
static det_status make_room(det_events *events, int64_t at_us, struct err *err)
{
    if (events->waiting.len < WAIT_BYTES)
        return DET_OK;
    return write_waiting(events, at_us, err);
}

/* With the lock held, after a record was added; `len` bytes waited before.  A failed
 * addition leaves nothing behind. */
static det_status settle_record(det_events *events, size_t len, int64_t at_us,
                                struct err *err)
{
    det_status st = events->waiting.status;

    if (st) {
        events->waiting.status = DET_OK;
        buf_cut(&events->waiting, len);
        return st == DET_TOO_LARGE
                   ? err_set(err, st, "the event is larger than the limit of 1 GiB")
                   : err_default(err, st);
    }
    if (is_due(events, at_us))
        (void)write_waiting(events, at_us, NULL); /* it keeps waiting */
    return DET_OK;
}

static det_status add_numbers(det_events *events, int64_t wall_us, int64_t step,
                              const det_metric *metrics, size_t count, struct err *err)
{
    int64_t at_us = now_us(events);
    struct event_stamp stamp = stamp_at(wall_us ? wall_us : at_us, step);
    size_t len;
    det_status st;

    lock_take(&events->lock);
    st = make_room(events, at_us, err);
    if (!st) {
        len = events->waiting.len;
        event_numbers(&events->waiting, &stamp, metrics, count);
        st = settle_record(events, len, at_us, err);
    }
    lock_give(&events->lock);
    return st;
}

static det_status add_value(det_events *events, const char *tag, int64_t step,
                            const struct buf *body, struct err *err)
{
    int64_t at_us = now_us(events);
    struct event_stamp stamp = stamp_at(at_us, step);
    size_t len;
    det_status st;

    lock_take(&events->lock);
    st = make_room(events, at_us, err);
    if (!st) {
        len = events->waiting.len;
        event_value(&events->waiting, &stamp, tag, body);
        st = settle_record(events, len, at_us, err);
    }
    lock_give(&events->lock);
    return st;
}

/* ---- opening --------------------------------------------------------------------- */

/* The name of this machine, made safe for a file name. */
static void host_name(char host[HOST_SIZE])
{
    if (gethostname(host, HOST_SIZE) != 0 || !*host)
        snprintf(host, HOST_SIZE, "localhost");
    host[HOST_SIZE - 1] = '\0';
    for (char *at = host; *at; at++)
        if (*at == '/')
            *at = '-';
}

/* TensorBoard reads the files of a directory in the order of their names.  The fraction
 * of the second keeps that order for a run that is resumed at once. */
static det_status make_file(det_events *events, const char *directory,
                            const char *suffix, struct err *err)
{
    struct io *io = events->context->world.io;
    int64_t at_us = now_us(events);
    char host[HOST_SIZE];
    det_status st = io_mkdir(io, directory, false, err);

    host_name(host);
    for (int number = 0; !st && number < NUMBERS; number++) {
        struct buf path = BUF_INIT;

        buf_printf(&path,
                   "%s/events.out.tfevents.%010" PRId64 ".%06" PRId64 ".%s.%ld.%d%s",
                   directory, at_us / 1000000, at_us % 1000000, host, (long)getpid(),
                   number, suffix);
        mem_free(events->path);
        events->path = buf_take(&path);
        if (!events->path)
            return err_default(err, DET_NOMEM);
        st = io_open(io, events->path, IO_WRITE | IO_CREATE | IO_EXCLUSIVE,
                     &events->file, err);
        if (st != DET_EXISTS)
            return st;
        st = DET_OK;
    }
    return st ? st
              : err_set(err, DET_EXISTS,
                        "'%s' has %d event files of this second already", directory,
                        NUMBERS);
}

/* Writes at once: a run without events is then a run too, and a full disk is reported
 * now. */
static det_status begin_file(det_events *events, int64_t resume_step, struct err *err)
{
    int64_t at_us = now_us(events);
    struct event_stamp stamp = stamp_at(at_us, resume_step);

    event_version(&events->waiting, stamp.wall_s);
    /* Some readers take the first mark for the start of the run and only later marks
     * for restarts, so there are two. */
    for (int i = 0; resume_step && i < 2; i++)
        event_restart(&events->waiting, &stamp);
    if (events->waiting.status)
        return err_default(err, events->waiting.status);
    return write_waiting(events, at_us, err);
}

static det_status check_options(const char *directory,
                                const det_events_options *options, struct err *err)
{
    if (!directory || !*directory)
        return err_set(err, DET_INVALID, "the directory for event files is missing");
    if (options->flush_ms < 0 || options->flush_ms > FLUSH_MS_MOST)
        return err_set(err, DET_INVALID,
                       "flush_ms is %" PRId64 "; expected 0 to %d (a day)",
                       options->flush_ms, FLUSH_MS_MOST);
    if (options->resume_step < 0)
        return err_set(err, DET_INVALID,
                       "resume_step is %" PRId64 "; expected 0 or more",
                       options->resume_step);
    if (options->suffix && strchr(options->suffix, '/'))
        return err_set(err, DET_INVALID, "the suffix '%s' of a file's name has a slash",
                       options->suffix);
    return DET_OK;
}

static void destroy(det_events *events)
{
    io_close(events->file);
    buf_done(&events->waiting);
    lock_done(&events->lock);
    mem_free(events->path);
    mem_free(events);
}

static det_status make_events(det_context *context, const char *directory,
                              const det_events_options *options,
                              det_events **ret_events, struct err *err)
{
    det_events *events = mem_new(det_events);
    int64_t flush_ms = options->flush_ms ? options->flush_ms : (int64_t)FLUSH_MS;
    det_status st;

    if (!events)
        return err_default(err, DET_NOMEM);
    events->context = context;
    events->flush_us = flush_ms * 1000;
    events->waiting = (struct buf)BUF_LIMITED(EVENT_MOST);
    st = lock_init(&events->lock, err);
    if (st) {
        mem_free(events);
        return st;
    }
    st = make_file(events, directory, options->suffix ? options->suffix : "", err);
    if (!st)
        st = begin_file(events, options->resume_step, err);
    if (st && events->file)
        (void)io_remove(context->world.io, events->path, NULL);
    if (st)
        destroy(events);
    else
        *ret_events = events;
    return st;
}

det_status det_events_open(det_context *context, const char *directory,
                           const det_events_options *options, det_events **ret_events)
{
    det_events_options all = {.size = sizeof(all)};
    CONTEXT_ERR(err);
    det_status st = context_check(context, &err);

    if (!st && !ret_events)
        st = err_set(&err, DET_INVALID, "ret_events is NULL");
    if (!st && options && (!options->size || options->size > sizeof(all)))
        st = err_set(&err, DET_INVALID,
                     "the options of the event file have no size that this library "
                     "knows");
    if (!st && options)
        memcpy(&all, options, options->size);
    if (!st)
        st = check_options(directory, &all, &err);
    if (!st)
        st = make_events(context, directory, &all, ret_events, &err);
    return context_end(context, st, &err);
}

const char *det_events_path(const det_events *events)
{
    return events && !context_check(events->context, NULL) ? events->path : "";
}

/* ---- closing --------------------------------------------------------------------- */

det_status det_events_flush(det_events *events)
{
    CONTEXT_ERR(err);
    det_status st = check_events(events, &err);

    if (!st) {
        lock_take(&events->lock);
        st = write_waiting(events, now_us(events), &err);
        lock_give(&events->lock);
    }
    return end_events_call(events, st, &err);
}

det_status det_events_close(det_events *events)
{
    det_context *context = events ? events->context : NULL;
    CONTEXT_ERR(err);
    det_status st;

    if (!events)
        return DET_OK;
    st = context_check(context, &err);
    if (!st) {
        st = write_waiting(events, now_us(events), &err);
        if (st) /* readers cannot use half an event */
            (void)io_truncate(events->file, events->offset, NULL);
    }
    destroy(events);
    return context_end(context, st, &err);
}

/* ---- numbers and texts ----------------------------------------------------------- */

det_status det_events_scalar(det_events *events, const char *tag, int64_t step,
                             double value)
{
    det_metric metric = {tag, value};
    CONTEXT_ERR(err);
    det_status st = check_event(events, tag, step, &err);

    if (!st)
        st = add_numbers(events, 0, step, &metric, 1, &err);
    return end_events_call(events, st, &err);
}

det_status det_events_scalars(det_events *events, int64_t step,
                              const det_metric *metrics, size_t count)
{
    CONTEXT_ERR(err);
    det_status st = check_events(events, &err);

    if (!st)
        st = check_step(step, &err);
    if (!st && count && !metrics)
        st = err_set(&err, DET_INVALID, "the metrics are missing");
    for (size_t i = 0; !st && i < count; i++)
        st = check_tag(metrics[i].name, &err);
    if (!st && count)
        st = add_numbers(events, 0, step, metrics, count, &err);
    return end_events_call(events, st, &err);
}

det_status tensorboard_events_scalars_at(det_events *events, int64_t wall_us,
                                         int64_t step, const det_metric *metrics,
                                         size_t count, struct err *err)
{
    return add_numbers(events, wall_us, step, metrics, count, err);
}

det_status det_events_text(det_events *events, const char *tag, int64_t step,
                           const char *text)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(EVENT_MOST);
    CONTEXT_ERR(err);
    det_status st = check_event(events, tag, step, &err);

    if (!st)
        st = check_text("text", text, &err);
    if (!st) {
        event_text(&body, text);
        st = add_value(events, tag, step, &body, &err);
    }
    return end_events_call(events, st, &err);
}

/* ---- histograms ------------------------------------------------------------------ */

/* Values of either width. */
struct samples {
    const double *f64;
    const float *f32;
    size_t count;
};

static double sample(const struct samples *samples, size_t i)
{
    return samples->f64 ? samples->f64[i] : (double)samples->f32[i];
}

/* The number of finite values, and their range. */
static size_t find_range(const struct samples *samples, double *ret_least,
                         double *ret_most)
{
    double least = INFINITY, most = -INFINITY;
    size_t finite = 0;

    for (size_t i = 0; i < samples->count; i++) {
        double value = sample(samples, i);

        if (!isfinite(value))
            continue;
        finite++;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    *ret_least = least;
    *ret_most = most;
    return finite;
}

/* Counts values into the buckets given by `least` and `width`.  Divides before
 * subtracting if the difference would overflow. */
static void count_samples(const struct samples *samples, double least, double width,
                          det_bucket *buckets)
{
    for (size_t i = 0; i < samples->count; i++) {
        double value = sample(samples, i);
        double place = (value - least) / width;
        size_t index;

        if (!isfinite(value))
            continue;
        if (!isfinite(place))
            place = value / width - least / width;
        index = place > 0 ? (size_t)place : 0;
        buckets[MIN(index, (size_t)BUCKETS - 1)].count++;
    }
}

/* Returns the number of buckets: none without values, one if all values are equal. */
static size_t count_buckets(const struct samples *samples, det_bucket *buckets)
{
    double least, most, width;
    size_t finite = find_range(samples, &least, &most);

    if (!finite)
        return 0;
    width = most / BUCKETS - least / BUCKETS;
    if (!(width > 0)) {
        buckets[0] = (det_bucket){least - 0.5, most + 0.5, (double)finite};
        return 1;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        buckets[i] =
            (det_bucket){least + (double)i * width, least + (double)(i + 1) * width, 0};
    buckets[BUCKETS - 1].right = most;
    count_samples(samples, least, width, buckets);
    return BUCKETS;
}

static det_status add_buckets(det_events *events, const char *tag, int64_t step,
                              const det_bucket *buckets, size_t count, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(EVENT_MOST);

    event_buckets(&body, buckets, count);
    return add_value(events, tag, step, &body, err);
}

static det_status add_samples(det_events *events, const char *tag, int64_t step,
                              const struct samples *samples)
{
    det_bucket buckets[BUCKETS];
    CONTEXT_ERR(err);
    det_status st = check_event(events, tag, step, &err);

    if (!st && samples->count && !samples->f64 && !samples->f32)
        st = err_set(&err, DET_INVALID, "the values of the histogram are missing");
    if (!st)
        st = add_buckets(events, tag, step, buckets, count_buckets(samples, buckets),
                         &err);
    return end_events_call(events, st, &err);
}

det_status det_events_histogram(det_events *events, const char *tag, int64_t step,
                                const double *values, size_t count)
{
    struct samples samples = {.f64 = values, .count = count};

    return add_samples(events, tag, step, &samples);
}

det_status det_events_histogram_f32(det_events *events, const char *tag, int64_t step,
                                    const float *values, size_t count)
{
    struct samples samples = {.f32 = values, .count = count};

    return add_samples(events, tag, step, &samples);
}

static det_status check_buckets(const det_bucket *buckets, size_t count,
                                struct err *err)
{
    if (count && !buckets)
        return err_set(err, DET_INVALID, "the buckets of the histogram are missing");
    if (count > EVENT_MOST / sizeof(*buckets))
        return err_set(err, DET_TOO_LARGE,
                       "the event is larger than the limit of 1 GiB");
    for (size_t i = 0; i < count; i++)
        if (!(buckets[i].left <= buckets[i].right) || !(buckets[i].count >= 0) ||
            (i && !(buckets[i - 1].right <= buckets[i].left)))
            return err_set(err, DET_INVALID,
                           "bucket %zu of the histogram, %g values from %g to %g, does "
                           "not follow the one before",
                           i, buckets[i].count, buckets[i].left, buckets[i].right);
    return DET_OK;
}

det_status det_events_buckets(det_events *events, const char *tag, int64_t step,
                              const det_bucket *buckets, size_t count)
{
    CONTEXT_ERR(err);
    det_status st = check_event(events, tag, step, &err);

    if (!st)
        st = check_buckets(buckets, count, &err);
    if (!st)
        st = add_buckets(events, tag, step, buckets, count, &err);
    return end_events_call(events, st, &err);
}

/* ---- pictures -------------------------------------------------------------------- */

det_status det_events_image(det_events *events, const char *tag, int64_t step,
                            const det_image *image)
{
    CLEANUP(buf_done) struct buf png = BUF_LIMITED(EVENT_MOST);
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(EVENT_MOST);
    struct png_image pixels;
    CONTEXT_ERR(err);
    det_status st = check_event(events, tag, step, &err);

    if (!st)
        st = pixels_read(image, &pixels, &err);
    if (!st) {
        png_encode(&png, &pixels);
        event_image(&body, pixels.width, pixels.height, &png);
        st = add_value(events, tag, step, &body, &err);
    }
    return end_events_call(events, st, &err);
}

det_status det_events_png(det_events *events, const char *tag, int64_t step,
                          const void *png, size_t len)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(EVENT_MOST);
    struct buf bytes = {.data = (char *)png, .len = len}; /* borrowed, only read */
    uint32_t width, height;
    CONTEXT_ERR(err);
    det_status st = check_event(events, tag, step, &err);

    if (!st && (!png || !png_size(png, len, &width, &height)))
        st = err_set(&err, DET_INVALID, "the picture is not a PNG file");
    if (!st) {
        event_image(&body, width, height, &bytes);
        st = add_value(events, tag, step, &body, &err);
    }
    return end_events_call(events, st, &err);
}

/* ---- hyperparameters ------------------------------------------------------------- */

static det_status add_hparams(det_events *events, const char *text, const char *group,
                              struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(TREE);
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(EVENT_MOST);
    const struct json *hparams = events->context->hparams;
    struct json *tree;
    det_status st;

    if (text) {
        st = json_parse(text, strlen(text), &mem, &tree, err);
        if (!st && tree->kind != JSON_OBJECT)
            st = err_set(err, DET_INVALID, "it is not an object");
        if (st)
            return err ? err_prefix(err, "the hyperparameters of the run") : st;
        hparams = tree;
    }
    event_hparams(&body, hparams, group, (double)now_us(events) / 1e6);
    return add_value(events, EVENT_HPARAMS_TAG, 0, &body, err);
}

det_status det_events_hparams(det_events *events, const char *hparams,
                              const char *group)
{
    CONTEXT_ERR(err);
    det_status st = check_events(events, &err);

    if (!st && group)
        st = check_text("group", group, &err);
    if (!st)
        st = add_hparams(events, hparams, group, &err);
    return end_events_call(events, st, &err);
}

det_status det_events_end(det_events *events, det_run_end run_end)
{
    CLEANUP(buf_done) struct buf body = BUF_LIMITED(EVENT_MOST);
    CONTEXT_ERR(err);
    det_status st = check_events(events, &err);

    if (!st && run_end != DET_RUN_SUCCEEDED && run_end != DET_RUN_FAILED)
        st = err_set(&err, DET_INVALID,
                     "the end of the run is %d; expected DET_RUN_SUCCEEDED or "
                     "DET_RUN_FAILED",
                     (int)run_end);
    if (!st) {
        event_end(&body, run_end, (double)now_us(events) / 1e6);
        st = add_value(events, EVENT_END_TAG, 0, &body, &err);
    }
    return end_events_call(events, st, &err);
}
