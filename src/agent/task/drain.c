/* SPDX-License-Identifier: Apache-2.0 */
/* drain.c - one batch in hand at a time:
 *
 *   read from the ring --> sent, again and again --> the master has it: ring_stored()
 *
 * A batch whose answer did not come goes out again as it was; the master tells batches
 * apart by their numbers and skips what it has.  Its answer says how far it is:
 *
 *   as far as the batch, or farther  done with it (a supervisor before us may have got
 *                                    farther)
 *   less than where it begins        something is missing in between: reading begins
 *                                    again with the oldest that the ring has.  What is
 *                                    not there either is lost, and the next batch says
 *                                    so by beginning where the master is
 *
 * A batch that the master cannot read is passed over: an empty one covers its numbers.
 *
 * An idle ring costs nothing: the lane sleeps in ring_wait().  What wakes it is sent
 * after the usual pause, so that a program that reports often makes 20 calls a second
 * and not thousands.  On one thread (simulations) nobody may sleep: it looks again
 * after each pause. */
#include "agent/task/drain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/talk.h"
#include "agent/task/courier.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/json.h"
#include "data/text.h"
#include "libdet/ring.h"
#include "net/net.h"
#include "wire/batch.h"
#include "wire/report.h"

enum {
    REPLY_MEM = 16 << 20,
    IDLE_MS = 10 * 1000,
    NOTES = 16, /* that wait to be taken; more are only in the supervisor's log */
    REFUSALS_SAID = 10, /* of a task */
};

struct drain {
    struct courier courier;
    struct drain_config config;
    char *dir;
    char *path;
    struct buf body; /* the batch in hand: room for its head, then records */
    struct batch_head head;
    uint32_t batch_damaged; /* how many of it are lost */
    bool has_batch;
    uint64_t next; /* the number the master waits for; 0: not known */
    uint32_t refusals;
    uint64_t damaged;
    bool was_full;

    struct lock lock;           /* guards the rest */
    struct ring_reader *reader; /* made on the lane; NULL: not yet */
    bool is_started;
    bool is_ending;
    char note[NOTES][ERR_TEXT_SIZE];
    uint32_t notes;
};

/* ---- notes ----------------------------------------------------------------------- */

static void PRINTF_LIKE(2, 3) note(struct drain *drain, const char *fmt, ...)
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

bool drain_take_note(struct drain *drain, char text[ERR_TEXT_SIZE])
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

/* For the log, and for whoever waits for that report. */
static void note_refusals(struct drain *drain, const struct json *refused)
{
    json_each(item, refused) {
        ring_refuse(drain->reader, (uint64_t)json_i64(json_get(item, "number"), 0),
                    status_named(json_str(json_get(item, "status"), "")),
                    json_str(json_get(item, "error"), "no reason given"));
        drain->refusals++;
        if (drain->refusals <= REFUSALS_SAID)
            note(drain, "a report was refused: %s",
                 json_str(json_get(item, "error"), "no reason given"));
        else if (drain->refusals == REFUSALS_SAID + 1)
            note(drain, "more reports were refused; no more of them are named here");
        else
            log_warn("a report was refused: %s", json_str(json_get(item, "error"), ""));
    }
}

static void note_damage(struct drain *drain, uint32_t damaged)
{
    if (damaged && !drain->damaged)
        note(drain, "%" PRIu32 " reports were damaged in the task's ring and are lost",
             damaged);
    else if (damaged)
        log_warn("%" PRIu32 " more reports were damaged", damaged);
    drain->damaged += damaged;
}

static void note_full(struct drain *drain)
{
    if (drain->was_full || !drain->reader || !ring_turned_away(drain->reader))
        return;
    drain->was_full = true;
    note(drain, "the task's ring of reports is full, or its disk: reports are refused "
                "until the master has taken what is there");
}

/* ---- the batch in hand ----------------------------------------------------------- */

static det_status open_reader(struct drain *drain, struct err *err)
{
    const struct ring_config config = {.io = drain->config.io, .dir = drain->dir};
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

/* How many records lie behind the head; the reader has checked them. */
static uint32_t count_records(const struct buf *body)
{
    size_t at = BATCH_HEAD;
    uint32_t count = 0;
    uint64_t number;
    size_t size;

    while (at + REPORT_HEADER <= body->len &&
           report_peek(body->data + at, &number, &size)) {
        at += size;
        count++;
    }
    return count;
}

static void forget_batch(struct drain *drain)
{
    buf_clear(&drain->body);
    drain->has_batch = false;
}

/* The next stretch of the ring becomes the batch in hand, if there is one. */
static det_status fill(struct drain *drain, struct err *err)
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
                                      .count = count_records(&drain->body),
                                      .first = batch.first,
                                      .last = batch.last};
    if (drain->next && drain->next < batch.first) {
        note(drain,
             "reports %" PRIu64 " to %" PRIu64
             " are lost: neither the master nor the task's ring has them",
             drain->next, batch.first - 1);
        drain->head.first = drain->next;
    }
    drain->batch_damaged = batch.damaged;
    drain->has_batch = true;
    return DET_OK;
}

/* The master has everything up to `stored`.  What was damaged is said only now: a batch
 * may be read again, and by somebody else. */
static void accept(struct drain *drain, uint64_t stored)
{
    struct err err = {0};

    note_damage(drain, drain->batch_damaged);
    if (ring_stored(drain->reader, stored, &err))
        log_warn("%s", err.text);
    drain->next = stored + 1;
    forget_batch(drain);
}

static det_status take_answer(struct drain *drain, const struct json *reply,
                              struct err *err)
{
    int64_t stored = json_i64(json_get(reply, "stored"), -1);

    if (stored < 0)
        return err_set(err, DET_BUSY, "the master does not say what it has stored");
    note_refusals(drain, json_get(reply, "refused"));
    if ((uint64_t)stored >= drain->head.last) {
        accept(drain, (uint64_t)stored);
        return DET_OK;
    }
    /* It will not take the same again. */
    if (drain->next == (uint64_t)stored + 1 && drain->head.first <= drain->next)
        return err_set(err, DET_BUSY,
                       "the master took none of the reports %" PRIu64 " to %" PRIu64,
                       drain->head.first, drain->head.last);
    drain->next = (uint64_t)stored + 1;
    ring_rewind(drain->reader);
    forget_batch(drain);
    return DET_OK;
}

static det_status post(struct drain *drain, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(REPLY_MEM);
    const struct talk_request request = {.method = NET_POST,
                                         .path = drain->path,
                                         .body = &drain->body,
                                         .is_bytes = true};
    struct json *reply = NULL;
    det_status status;

    batch_head_encode(&drain->head, drain->body.data);
    status = talk_call(drain->config.talk, &request, &mem, &reply, err);
    if ((status == DET_INVALID || status == DET_TOO_LARGE) && drain->head.count) {
        note(drain, "%" PRIu32 " reports are lost, the master cannot read them: %s",
             drain->head.count, err->text);
        drain->head.count = 0;
        buf_cut(&drain->body, BATCH_HEAD);
        return DET_OK;
    }
    return status ? status : take_answer(drain, reply, err);
}

/* ---- rounds ---------------------------------------------------------------------- */

/* A ring that cannot be opened (the disk has no space for its head, say) may be later,
 * as long as there is somebody to write into it: nothing that was accepted may be left
 * there. */
static det_status open_later(struct err *err)
{
    err->status = DET_BUSY;
    return DET_BUSY;
}

static bool is_ending(struct drain *drain, bool *ret_has_started)
{
    bool ending;

    lock_take(&drain->lock);
    ending = drain->is_ending;
    *ret_has_started = drain->is_started;
    lock_give(&drain->lock);
    return ending;
}

/* *ret_sent: bytes of the batch that was sent; 0: there was none.  A ring that cannot
 * be read on is at its end. */
static det_status send_next(struct drain *drain, bool has_writers, size_t *ret_sent,
                            bool *ret_broken, struct err *err)
{
    det_status status = open_reader(drain, err);

    if (status && has_writers)
        return open_later(err);
    if (!status && !drain->has_batch)
        status = fill(drain, err);
    if (status && status != DET_NOMEM) {
        note(drain, "the task's reports cannot be read on, the rest is lost: %s",
             err->text);
        *ret_broken = true;
        return DET_OK;
    }
    if (status || !drain->has_batch)
        return status;
    *ret_sent = drain->body.len;
    return post(drain, err);
}

static det_status carry(struct courier *courier, struct courier_next *ret_next,
                        struct err *err)
{
    struct drain *drain = CONTAINER_OF(courier, struct drain, courier);
    bool has_started;
    bool ending = is_ending(drain, &has_started); /* before the look: nothing follows */
    size_t sent = 0;
    det_status status;

    ret_next->is_done = ending && !has_started;
    if (ret_next->is_done)
        return DET_OK;
    status = send_next(drain, !ending, &sent, &ret_next->is_done, err);
    note_full(drain);
    if (status && status != DET_STATE && status != DET_UNAUTHENTICATED &&
        !talk_may_retry(status))
        note(drain, "the reports are not sent any more: %s", err->text);
    if (status || ret_next->is_done)
        return status;
    ret_next->wait_us = COURIER_PAUSE_US;
    if (sent) {
        if (ending || drain->has_batch || sent >= DRAIN_BATCH / 2)
            ret_next->wait_us = 0;
        return DET_OK;
    }
    ret_next->is_done = ending;
    buf_done(&drain->body); /* idle tasks are many */
    if (!ending && !exec_is_single(drain->config.exec))
        ring_wait(drain->reader, IDLE_MS);
    return DET_OK;
}

static void over(void *arg)
{
    struct drain *drain = arg;

    if (drain->config.on_change)
        drain->config.on_change(drain->config.arg);
}

void drain_start(struct drain *drain)
{
    lock_take(&drain->lock);
    drain->is_started = true;
    lock_give(&drain->lock);
    courier_hurry(&drain->courier);
}

void drain_hurry(struct drain *drain)
{
    bool has_started;

    (void)is_ending(drain, &has_started);
    if (has_started)
        courier_hurry(&drain->courier);
}

void drain_end(struct drain *drain)
{
    lock_take(&drain->lock);
    drain->is_ending = true;
    if (drain->reader)
        ring_wake(drain->reader);
    lock_give(&drain->lock);
    courier_end(&drain->courier);
}

bool drain_is_over(const struct drain *drain)
{
    return courier_is_over(&drain->courier);
}

det_status drain_outcome(const struct drain *drain, struct err *err)
{
    return courier_outcome(&drain->courier, err);
}

det_status drain_rest(struct drain *drain, struct err *err)
{
    const bool has_writers = false;
    size_t sent = 1;
    bool is_broken = false;
    det_status status = DET_OK;

    while (!status && sent && !is_broken) {
        sent = 0;
        status = send_next(drain, has_writers, &sent, &is_broken, err);
    }
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

det_status drain_new(const struct drain_config *config, struct drain **ret_drain,
                     struct err *err)
{
    struct drain *drain = mem_new(struct drain);
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
        drain_free(drain);
        return status;
    }
    courier_init(&drain->courier, &(struct courier_config){.exec = config->exec,
                                                           .lane = config->lane,
                                                           .what = "the reports",
                                                           .carry = carry,
                                                           .on_over = over,
                                                           .arg = drain});
    *ret_drain = drain;
    return DET_OK;
}

void drain_free(struct drain *drain)
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
