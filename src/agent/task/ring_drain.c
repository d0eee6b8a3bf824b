/* SPDX-License-Identifier: Apache-2.0 */
/* ring_drain.c - one batch at a time:
 *
 *   read from the ring --> sent until the master answers --> ring_stored()
 *
 * A batch without an answer is sent again unchanged; the master knows batches by their
 * numbers and skips duplicates.  Its answer says which number it has stored last:
 *
 *   the batch's last, or higher    the batch is done (an earlier supervisor may have
 *                                  sent more than we know)
 *   below the batch's first        something between is missing: reading starts again
 *                                  at the oldest record in the ring.  A record that is
 *                                  not there either is lost; the next batch says so by
 *                                  starting where the master is
 *
 * A batch that the master cannot read is skipped: an empty batch covers its numbers.
 *
 * An idle ring costs nothing: the lane sleeps in ring_wait().  After a wake-up the
 * usual pause comes first, so a program that reports often causes 20 calls a second and
 * not thousands.  On one thread (simulations) nothing may sleep: it looks again after
 * each pause. */
#include "agent/task/ring_drain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/master_link.h"
#include "agent/task/master_sender.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/lock.h"
#include "data/json/json.h"
#include "data/url.h"
#include "libdet/ring/ring.h"
#include "libdet/ring/ring_reader.h"
#include "net/net.h"
#include "wire/batch.h"
#include "wire/report.h"

enum {
    REPLY_MEM = 16 << 20,
    IDLE_MS = 10 * 1000,
    NOTES = 16,         /* waiting ones; more are only in the supervisor's log */
    REFUSALS_SAID = 10, /* of a task */
    REST_BATCHES = 256, /* then other tasks have their turn */
};

struct ring_drain {
    struct master_sender sender;
    struct ring_drain_config config;
    char *dir;
    char *path;
    struct buf body; /* the current batch: room for its head, then records */
    struct batch_head head;
    uint32_t batch_damaged; /* how many of it are lost */
    bool has_batch;
    bool has_reports;
    uint64_t seen; /* the last number that was looked at for checkpoints */
    uint32_t checkpoints;
    uint64_t next; /* the number the master waits for; 0: not known */
    uint32_t refusals;
    uint64_t damaged;
    bool was_full;
    bool was_cut;

    struct lock lock;           /* guards the rest */
    struct ring_reader *reader; /* made on the lane; NULL: not yet */
    bool is_started;
    bool is_ending;
    bool must_end; /* the master has given up this run */
    char note[NOTES][ERR_TEXT_SIZE];
    uint32_t notes;
};

/* ---- notes ----------------------------------------------------------------------- */

static void PRINTF_LIKE(2, 3) add_note(struct ring_drain *drain, const char *fmt, ...)
{
    char text[ERR_TEXT_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    log_warn("%s", text);
    lock_take(&drain->lock);
    if (drain->notes < NOTES)
        memcpy(drain->note[drain->notes++], text, sizeof(text));
    lock_give(&drain->lock);
    if (drain->config.on_change)
        drain->config.on_change(drain->config.arg);
}

bool ring_drain_take_note(struct ring_drain *drain, char text[ERR_TEXT_SIZE])
{
    bool has_one;

    lock_take(&drain->lock);
    has_one = drain->notes > 0;
    if (has_one) {
        memcpy(text, drain->note[0], ERR_TEXT_SIZE);
        drain->notes--;
        memmove(drain->note[0], drain->note[1], drain->notes * sizeof(drain->note[0]));
    }
    lock_give(&drain->lock);
    return has_one;
}

static det_status status_named(const char *name)
{
    for (int status = DET_OK; status <= DET_FULL; status++)
        if (!strcmp(det_status_name((det_status)status), name))
            return (det_status)status;
    return DET_FAILED;
}

/* For the log, and for a caller that waits for this report. */
static void note_refusals(struct ring_drain *drain, const struct json *refused)
{
    json_each(item, refused) {
        ring_refuse(drain->reader, (uint64_t)json_i64(json_get(item, "number"), 0),
                    status_named(json_str(json_get(item, "status"), "")),
                    json_str(json_get(item, "error"), "no reason given"));
        drain->refusals++;
        if (drain->refusals <= REFUSALS_SAID)
            add_note(drain, "a report was refused: %s",
                     json_str(json_get(item, "error"), "no reason given"));
        else if (drain->refusals == REFUSALS_SAID + 1)
            add_note(drain, "more reports were refused; they are not listed here");
        else
            log_warn("a report was refused: %s", json_str(json_get(item, "error"), ""));
    }
}

static void note_damage(struct ring_drain *drain, uint32_t damaged)
{
    if (damaged && !drain->damaged)
        add_note(drain,
                 "%" PRIu32 " reports were damaged in the task's ring and are lost",
                 damaged);
    else if (damaged)
        log_warn("%" PRIu32 " more reports were damaged", damaged);
    drain->damaged += damaged;
}

static void note_full(struct ring_drain *drain)
{
    if (drain->was_full || !drain->reader || !ring_turned_away(drain->reader))
        return;
    drain->was_full = true;
    add_note(drain,
             "the task's ring of reports is full, or its disk: reports are refused "
             "until the master has taken what is there");
}

static void note_cut(struct ring_drain *drain)
{
    if (drain->was_cut || !drain->reader || !ring_is_cut(drain->reader))
        return;
    drain->was_cut = true;
    add_note(drain,
             "a process of the task truncated '%s/head': reports that are complete "
             "are still sent, later ones may be refused",
             drain->dir);
}

/* ---- the current batch ----------------------------------------------------------- */

static det_status open_reader(struct ring_drain *drain, struct err *err)
{
    const struct ring_config config = {
        .io = drain->config.io, .dir = drain->dir, .makes = RING_MAKES_HEAD};
    struct ring_reader *reader = NULL;
    det_status status;

    if (drain->reader)
        return DET_OK;
    status = ring_reader_open(&config, &reader, err);
    if (status)
        return status;
    lock_take(&drain->lock);
    drain->reader = reader;
    lock_give(&drain->lock);
    return DET_OK;
}

/* A batch may be read again, so the numbers say which checkpoints are new. */
static void note_record(struct ring_drain *drain, const char *bytes, size_t len,
                        uint64_t number)
{
    struct report report;
    size_t used;

    if (number <= drain->seen || report_decode(bytes, len, &report, &used, NULL))
        return;
    drain->seen = number;
    drain->checkpoints += report.kind == REPORT_CHECKPOINT;
    drain->has_reports |= !report_is_of_build(&report);
}

/* How many records lie behind the head; the reader has checked them. */
static uint32_t count_records(struct ring_drain *drain)
{
    const struct buf *body = &drain->body;
    size_t at = BATCH_HEAD;
    uint32_t count = 0;
    uint64_t number;
    size_t size;

    while (at + REPORT_HEADER <= body->len &&
           report_peek(body->data + at, &number, &size)) {
        note_record(drain, body->data + at, body->len - at, number);
        at += size;
        count++;
    }
    return count;
}

static void forget_batch(struct ring_drain *drain)
{
    buf_clear(&drain->body);
    drain->has_batch = false;
}

/* The master waits for `drain->next`, and the ring begins later.  If one batch may not claim
 * all of it, this one claims what is lost, or a part, and the records are read again. */
static void claim_lost(struct ring_drain *drain, struct ring_batch *batch)
{
    uint64_t most =
        drain->config.numbers_most ? drain->config.numbers_most : BATCH_NUMBERS_MOST;
    uint64_t lost_until = batch->first - 1;

    drain->head.first = drain->next;
    if (drain->head.last - drain->head.first >= most) {
        lost_until = MIN(lost_until, drain->head.first + most - 1);
        drain->head.last = lost_until;
        drain->head.count = 0;
        batch->damaged = 0;
        buf_cut(&drain->body, BATCH_HEAD);
        ring_rewind(drain->reader);
    }
    add_note(drain,
             "reports %" PRIu64 " to %" PRIu64
             " are lost: neither the master nor the task's ring has them",
             drain->head.first, lost_until);
}

/* Reads the next records of the ring as the current batch, if there are any. */
static det_status fill_batch(struct ring_drain *drain, struct err *err)
{
    struct ring_batch batch = {.first = 1};
    det_status status;

    forget_batch(drain);
    if (!buf_room(&drain->body, BATCH_HEAD))
        return err_default(err, DET_NOMEM);
    buf_took(&drain->body, BATCH_HEAD);
    status = ring_read(drain->reader, DRAIN_BATCH, &drain->body, &batch, err);
    if (status) {
        forget_batch(drain);
        return status;
    }
    if (batch.first > batch.last)
        return DET_OK;
    drain->head = (struct batch_head){.source = (uint32_t)drain->config.rank,
                                      .count = count_records(drain),
                                      .first = batch.first,
                                      .last = batch.last};
    if (drain->next && drain->next < batch.first)
        claim_lost(drain, &batch);
    drain->batch_damaged = batch.damaged;
    drain->has_batch = true;
    return DET_OK;
}

/* The master has everything up to `stored`.  Damage is reported only now, because a
 * batch may be read again, and by another supervisor. */
static void accept_batch(struct ring_drain *drain, uint64_t stored)
{
    struct err err = {0};

    note_damage(drain, drain->batch_damaged);
    if (ring_stored(drain->reader, stored, &err))
        log_warn("%s", err.text);
    drain->next = stored + 1;
    forget_batch(drain);
}

/* It still takes what the run had accepted. */
static void note_given_up(struct ring_drain *drain)
{
    bool is_new;

    lock_take(&drain->lock);
    is_new = !drain->must_end;
    drain->must_end = true;
    lock_give(&drain->lock);
    if (!is_new)
        return;
    log_warn("the master has given up this run: its reports are stored as archived");
    if (drain->config.on_change)
        drain->config.on_change(drain->config.arg);
}

static det_status take_answer(struct ring_drain *drain, const struct json *reply,
                              struct err *err)
{
    int64_t stored = json_i64(json_get(reply, "stored"), -1);

    if (stored < 0)
        return err_set(err, DET_BUSY, "the master does not say what it has stored");
    if (json_bool(json_get(reply, "mustEnd"), false))
        note_given_up(drain);
    note_refusals(drain, json_get(reply, "refused"));
    if ((uint64_t)stored >= drain->head.last) {
        accept_batch(drain, (uint64_t)stored);
        return DET_OK;
    }
    /* The master would refuse the same batch again. */
    if (drain->next == (uint64_t)stored + 1 && drain->head.first <= drain->next)
        return err_set(err, DET_BUSY,
                       "the master took none of the reports %" PRIu64 " to %" PRIu64,
                       drain->head.first, drain->head.last);
    drain->next = (uint64_t)stored + 1;
    ring_rewind(drain->reader);
    forget_batch(drain);
    return DET_OK;
}

static det_status post_batch(struct ring_drain *drain, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(REPLY_MEM);
    const struct master_link_request request = {.method = NET_POST,
                                                .path = drain->path,
                                                .body = &drain->body,
                                                .is_bytes = true};
    struct json *reply = NULL;
    det_status status;

    batch_head_encode(&drain->head, drain->body.data);
    status = master_link_call(drain->config.link, &request, &mem, &reply, err);
    if ((status == DET_INVALID || status == DET_TOO_LARGE) && drain->head.count) {
        add_note(drain, "%" PRIu32 " reports are lost, the master cannot read them: %s",
                 drain->head.count, err->text);
        drain->head.count = 0;
        buf_cut(&drain->body, BATCH_HEAD);
        return DET_OK;
    }
    return status ? status : take_answer(drain, reply, err);
}

/* ---- rounds ---------------------------------------------------------------------- */

/* A ring that cannot be opened now (no disk space for its head, say) may open later,
 * as long as a program may write into it: no accepted report may be left behind. */
static det_status open_later(struct err *err)
{
    err->status = DET_BUSY;
    return DET_BUSY;
}

static bool is_ending(struct ring_drain *drain, bool *ret_has_started)
{
    bool ending;

    lock_take(&drain->lock);
    ending = drain->is_ending;
    *ret_has_started = drain->is_started;
    lock_give(&drain->lock);
    return ending;
}

/* *ret_sent: bytes of the batch that was sent; 0: there was none.  A ring whose rest
 * cannot be read is at its end. */
static det_status send_next(struct ring_drain *drain, bool has_writers,
                            size_t *ret_sent, bool *ret_broken, struct err *err)
{
    det_status status = open_reader(drain, err);

    if (status && has_writers)
        return open_later(err);
    if (!status && !drain->has_batch)
        status = fill_batch(drain, err);
    if (status && status != DET_NOMEM) {
        add_note(drain, "the rest of the task's reports cannot be read and is lost: %s",
                 err->text);
        *ret_broken = true;
        return DET_OK;
    }
    if (status || !drain->has_batch)
        return status;
    *ret_sent = drain->body.len;
    return post_batch(drain, err);
}

static det_status send_round(struct master_sender *sender, struct sender_next *ret_next,
                             struct err *err)
{
    struct ring_drain *drain = CONTAINER_OF(sender, struct ring_drain, sender);
    bool has_started;
    bool ending = is_ending(drain, &has_started); /* before we read the ring */
    size_t sent = 0;
    det_status status;

    ret_next->is_done = ending && !has_started;
    if (ret_next->is_done)
        return DET_OK;
    status = send_next(drain, !ending, &sent, &ret_next->is_done, err);
    note_full(drain);
    note_cut(drain);
    if (status && status != DET_STATE && status != DET_UNAUTHENTICATED &&
        !master_link_may_retry(status))
        add_note(drain, "the reports are not sent any more: %s", err->text);
    if (status || ret_next->is_done)
        return status;
    ret_next->wait_us = SENDER_PAUSE_US;
    if (sent) {
        if (ending || drain->has_batch || sent >= DRAIN_BATCH / 2)
            ret_next->wait_us = 0;
        return DET_OK;
    }
    ret_next->is_done = ending;
    buf_done(&drain->body); /* many tasks are idle */
    if (!ending && !executor_is_single(drain->config.exec))
        ring_wait(drain->reader, IDLE_MS);
    return DET_OK;
}

static void notify_over(void *arg)
{
    struct ring_drain *drain = arg;

    if (drain->config.on_change)
        drain->config.on_change(drain->config.arg);
}

void ring_drain_start(struct ring_drain *drain)
{
    lock_take(&drain->lock);
    drain->is_started = true;
    lock_give(&drain->lock);
    sender_hurry(&drain->sender);
}

void ring_drain_hurry(struct ring_drain *drain)
{
    bool has_started;

    (void)is_ending(drain, &has_started);
    if (has_started)
        sender_hurry(&drain->sender);
}

void ring_drain_end(struct ring_drain *drain)
{
    lock_take(&drain->lock);
    drain->is_ending = true;
    if (drain->reader)
        ring_wake(drain->reader);
    lock_give(&drain->lock);
    sender_end(&drain->sender);
}

bool ring_drain_is_over(const struct ring_drain *drain)
{
    return sender_is_over(&drain->sender);
}

bool ring_drain_must_end(struct ring_drain *drain)
{
    bool must_end;

    lock_take(&drain->lock);
    must_end = drain->must_end;
    lock_give(&drain->lock);
    return must_end;
}

bool ring_drain_has_reports(const struct ring_drain *drain)
{
    return drain->has_reports;
}

uint32_t ring_drain_checkpoints(const struct ring_drain *drain)
{
    return drain->checkpoints;
}

det_status ring_drain_outcome(const struct ring_drain *drain, struct err *err)
{
    return sender_outcome(&drain->sender, err);
}

det_status ring_drain_rest(struct ring_drain *drain, struct err *err)
{
    const bool has_writers = false;
    size_t sent = 1;
    bool is_broken = false;
    det_status status = DET_OK;

    for (int i = 0; !status && sent && !is_broken; i++) {
        if (i == REST_BATCHES)
            return err_set(err, DET_BUSY, "more reports wait to be sent");
        sent = 0;
        status = send_next(drain, has_writers, &sent, &is_broken, err);
    }
    note_cut(drain);
    return status;
}

/* ---- life ------------------------------------------------------------------------ */

static char *make_path(const char *allocation)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_puts(&path, "/api/v1/allocations/");
    url_encode(&path, allocation);
    buf_puts(&path, "/reports");
    return buf_take(&path);
}

det_status ring_drain_new(const struct ring_drain_config *config,
                          struct ring_drain **ret_drain, struct err *err)
{
    struct ring_drain *drain = mem_new(struct ring_drain);
    det_status status;

    if (!drain)
        return err_default(err, DET_NOMEM);
    drain->body = (struct buf)BUF_INIT;
    drain->config = *config;
    drain->config.dir = drain->config.allocation = NULL;
    drain->dir = mem_strdup(config->dir);
    drain->path = make_path(config->allocation);
    status = lock_init(&drain->lock, err);
    if (!status && (!drain->dir || !drain->path))
        status = err_default(err, DET_NOMEM);
    if (status) {
        ring_drain_free(drain);
        return status;
    }
    sender_init(&drain->sender, &(struct sender_config){.exec = config->exec,
                                                        .lane = config->lane,
                                                        .what = "the reports",
                                                        .send_round = send_round,
                                                        .on_over = notify_over,
                                                        .arg = drain});
    *ret_drain = drain;
    return DET_OK;
}

void ring_drain_free(struct ring_drain *drain)
{
    if (!drain)
        return;
    ring_reader_close(drain->reader);
    buf_done(&drain->body);
    lock_done(&drain->lock);
    mem_free(drain->dir);
    mem_free(drain->path);
    mem_free(drain);
}
