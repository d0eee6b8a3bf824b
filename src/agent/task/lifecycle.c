/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle.c - a place in a sequence of steps.
 *
 * A step that returns DET_OK is done; it is repeated when the master is away or has no
 * room.  Any other failure before the start fails the task; after the start it
 * is only logged, because then the exit matters more.  The loop's calls (stop,
 * set_running, set_exit) only raise flags and post the work; run_lifecycle() decides
 * what they mean for the step it is at. */
#include "agent/task/lifecycle.h"

#include <assert.h>
#include <string.h>

#include "agent/master_link.h"
#include "agent/task/prepare/env_entry.h"
#include "agent/task/prepare/task_start.h"
#include "agent/task/spec.h"
#include "agent/task/task_dir.h"
#include "base/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/thread/executor.h"
#include "base/thread/lock.h"
#include "data/json/json.h"

enum {
    ALIVE_MS = 10 * 1000,
    BEAT_US = 5 * 1000 * 1000, /* until the master has said how often */
    BEAT_LEAST_US = 200 * 1000,
    BEAT_MOST_US = 60 * 1000 * 1000,
    SMALL = 1 << 20,
    RECORD_MEMORY = 64 << 20,
};

struct lifecycle {
    struct lock lock; /* guards the fields up to the blank line */
    struct lifecycle_view view;
    struct err why;
    bool is_stopped;
    bool has_started;
    bool has_exit;

    struct work work;
    struct lifecycle_config config;
    struct arena mem;
    struct task_exit exit; /* in `mem`; set before has_exit */
    /* Only the lane uses these: */
    bool has_record; /* the record was sent, or given up */
    size_t at;       /* which step */
    uint32_t failures;
    int64_t beat_us; /* when to send the next sign of life */
};

/* Places in the sequence: the rows of start_steps[], then these. */
enum {
    STEP_READY = START_STEPS, /* the entrypoint may start */
    STEP_RUNNING = START_STEPS,
    STEP_EXIT,
    STEP_COUNT,
};

/* ---- the calls ------------------------------------------------------------------- */

static det_status post_body(struct lifecycle *life, const char *what,
                            const struct buf *body, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL);
    struct master_link_request request = {.method = NET_POST, .body = body};
    struct json *reply;

    request.path = master_link_path(&mem, "/api/v1/det/allocations/",
                                    life->config.start->spec->allocation, what);
    if (!request.path)
        return err_default(err, DET_NOMEM);
    return master_link_call(life->config.start->link, &request, &mem, &reply, err);
}

static void set_superseded(struct lifecycle *life)
{
    lock_take(&life->lock);
    life->view.is_superseded = true;
    lock_give(&life->lock);
}

/* Fails only if the run is over: if the master refuses a state, the task still runs. */
static det_status post_state(struct lifecycle *life, const char *state, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_status status;

    jw_object(&w, NULL);
    jw_i64(&w, "rank", life->config.start->spec->rank);
    jw_str(&w, "state", state);
    jw_end_object(&w);
    status = post_body(life, "/state", &body, err);
    if (!status || master_link_may_retry(status))
        return status;
    /* A refused token means the same, but another program may have the master's port.
     * That is reason enough not to start, but not to kill. */
    if (status == DET_UNAUTHENTICATED && life->at < STEP_READY)
        status = DET_STATE;
    if (status != DET_STATE) {
        log_warn("the master did not accept the state %s: %s", state, err->text);
        return DET_OK;
    }
    set_superseded(life);
    return status;
}

/* Sends the record of what the run runs on, once.  A task never fails for its
 * record. */
static det_status post_record(struct lifecycle *life, bool is_last, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(RECORD_MEMORY);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct json *record = NULL;
    det_status status;

    if (life->has_record || !life->config.start->spec->envs)
        return DET_OK;
    status = env_entry_record(life->config.start->io, life->config.start->dir, is_last,
                              &mem, &record, err);
    if (status) {
        if (status != DET_NOT_FOUND) {
            log_warn("the record of the environment cannot be read: %s", err->text);
            life->has_record = true; /* reading it again would not help */
        }
        return DET_OK;
    }
    jw_object(&w, NULL);
    jw_i64(&w, "rank", life->config.start->spec->rank);
    jw_json(&w, "record", record);
    jw_end_object(&w);
    status = post_body(life, "/environment", &body, err);
    if (status && master_link_may_retry(status))
        return status;
    if (status)
        log_warn("the master did not accept the record of the environment: %s",
                 err->text);
    life->has_record = true;
    return DET_OK;
}

static det_status post_exit(struct lifecycle *life, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_status status = post_record(life, true, err);

    if (status)
        return status;
    jw_object(&w, NULL);
    jw_i64(&w, "rank", life->config.start->spec->rank);
    jw_str(&w, "exit", life->exit.exit);
    jw_i64(&w, "code", life->exit.code);
    jw_str(&w, "reason", life->exit.reason);
    if (life->exit.is_final)
        jw_bool(&w, "isFinal", true);
    jw_end_object(&w);
    return post_body(life, "/exit", &body, err);
}

/* ---- signs of life --------------------------------------------------------------- */

static int64_t now_us(const struct lifecycle *life)
{
    return clock_mono_us(executor_clock(life->config.exec));
}

/* Returns how long to wait before the next one.  A refusal other than "it is over" or "its
 * end was reported" is ignored, because another program may have the master's port. */
static int64_t send_sign_of_life(struct lifecycle *life)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct master_link_request request = {
        .method = NET_POST, .body = &body, .timeout_ms = ALIVE_MS};
    struct json *reply = NULL;
    struct err err = {0};
    det_status status;

    (void)post_record(life, false, &err); /* again at the next beat, or at the end */
    jw_object(&w, NULL);
    jw_i64(&w, "rank", life->config.start->spec->rank);
    jw_end_object(&w);
    request.path = master_link_path(&mem, "/api/v1/det/allocations/",
                                    life->config.start->spec->allocation, "/alive");
    if (!request.path)
        return BEAT_US;
    status = master_link_call(life->config.start->link, &request, &mem, &reply, &err);
    if (status == DET_STATE || status == DET_FORBIDDEN)
        log_warn("the master has given up this run: %s", err.text);
    if (status == DET_STATE || status == DET_FORBIDDEN ||
        (!status && json_bool(json_get(reply, "mustEnd"), false)))
        set_superseded(life);
    if (status && master_link_may_retry(status))
        return master_link_backoff_us(++life->failures);
    life->failures = 0;
    return MIN(MAX(json_i64(json_get(reply, "againMs"), BEAT_US / 1000) * 1000,
                   (int64_t)BEAT_LEAST_US),
               (int64_t)BEAT_MOST_US);
}

/* The lane is free for this between the task's start and its end. */
static void beat_when_due(struct lifecycle *life)
{
    bool is_running;

    lock_take(&life->lock);
    is_running = life->has_started && !life->has_exit && life->at == STEP_EXIT &&
                 !life->view.is_superseded;
    lock_give(&life->lock);
    if (!is_running)
        return;
    if (now_us(life) >= life->beat_us)
        life->beat_us = now_us(life) + send_sign_of_life(life);
    lane_post_at(life->config.lane, &life->work, life->beat_us);
}

/* ---- the sequence ---------------------------------------------------------------- */

static void wake_loop(struct lifecycle *life)
{
    life->config.on_change(life->config.arg);
}

/* Skips the steps that the end has made pointless; but a task that ran was RUNNING. */
static void skip_to_exit(struct lifecycle *life)
{
    bool owes_running = life->at == STEP_RUNNING && life->has_started;

    if (life->has_exit && life->at < STEP_EXIT && !owes_running)
        life->at = STEP_EXIT;
}

/* Whether the current step may run now.  The lock is held. */
static bool is_step_due(const struct lifecycle *life)
{
    if (life->at < STEP_READY)
        return !life->is_stopped && !life->view.has_failed;
    if (life->at == STEP_RUNNING)
        return life->has_started;
    return life->has_exit && !life->view.is_over;
}

/* The same; if not, tells the loop whether the task is ready or has failed. */
static bool may_continue(struct lifecycle *life)
{
    bool may;

    lock_take(&life->lock);
    skip_to_exit(life);
    may = is_step_due(life);
    if (!may && !life->has_started && !life->has_exit) {
        life->view.is_ready = life->at == STEP_READY && !life->is_stopped;
        life->view.has_failed = life->view.has_failed || life->is_stopped;
    }
    lock_give(&life->lock);
    return may;
}

static void finish_step(struct lifecycle *life, det_status status,
                        const struct err *err)
{
    lock_take(&life->lock);
    if (status && life->at < STEP_READY) {
        life->view.has_failed = true;
        life->why = *err;
    }
    if (life->at == STEP_EXIT)
        life->view.is_over = true;
    lock_give(&life->lock);
    if (status)
        log_warn("%s", err->text);
    if (!status || life->at >= STEP_READY)
        life->at++;
    life->failures = 0;
}

static det_status run_step(struct lifecycle *life, struct err *err)
{
    if (life->at == STEP_RUNNING)
        return post_state(life, "RUNNING", err);
    if (life->at == STEP_EXIT)
        return post_exit(life, err);
    assert(life->at < START_STEPS);
    if (start_steps[life->at].state)
        return post_state(life, start_steps[life->at].state, err);
    return start_steps[life->at].run(life->config.start, err);
}

static void run_lifecycle(struct work *work)
{
    struct lifecycle *life = CONTAINER_OF(work, struct lifecycle, work);
    struct err err = {0};
    det_status status;

    if (life->at >= STEP_COUNT || !may_continue(life)) {
        beat_when_due(life);
        wake_loop(life);
        return;
    }
    status = run_step(life, &err);
    if (master_link_may_retry(status) || status == DET_FULL) {
        if (!life->failures++)
            log_warn("retrying: %s", err.text);
        lane_post_at(life->config.lane, &life->work,
                     now_us(life) + master_link_backoff_us(life->failures));
        return;
    }
    finish_step(life, status, &err);
    wake_loop(life);
    lane_post(life->config.lane, &life->work);
}

void lifecycle_hurry(struct lifecycle *life)
{
    lane_post(life->config.lane, &life->work);
}

struct lifecycle_view lifecycle_look(struct lifecycle *life, struct err *ret_why)
{
    struct lifecycle_view view;

    lock_take(&life->lock);
    view = life->view;
    if (ret_why)
        *ret_why = life->why;
    lock_give(&life->lock);
    return view;
}

void lifecycle_stop(struct lifecycle *life)
{
    bool is_preparing;

    lock_take(&life->lock);
    life->is_stopped = true;
    is_preparing = !life->has_started;
    lock_give(&life->lock);
    if (is_preparing)
        master_link_interrupt(life->config.start->link);
    lifecycle_hurry(life);
}

void lifecycle_set_running(struct lifecycle *life)
{
    lock_take(&life->lock);
    life->has_started = true;
    lock_give(&life->lock);
    lifecycle_hurry(life);
}

det_status lifecycle_set_exit(struct lifecycle *life, const struct task_exit *exit,
                              struct err *err)
{
    struct task_exit copy = {
        .exit = arena_strdup(&life->mem, exit->exit),
        .code = exit->code,
        .is_final = exit->is_final,
        .reason = arena_strdup(&life->mem, exit->reason),
    };

    if (!copy.exit || (exit->reason && !copy.reason))
        return err_default(err, DET_NOMEM);
    lock_take(&life->lock);
    life->exit = copy;
    life->has_exit = true;
    lock_give(&life->lock);
    master_link_resume(life->config.start->link);
    lifecycle_hurry(life);
    return DET_OK;
}

/* ---- life ------------------------------------------------------------------------ */

det_status lifecycle_new(const struct lifecycle_config *config,
                         struct lifecycle **ret_lifecycle, struct err *err)
{
    struct lifecycle *life = mem_new(struct lifecycle);
    det_status status;

    if (!life)
        return err_default(err, DET_NOMEM);
    life->work = (struct work)WORK_INIT(run_lifecycle);
    life->config = *config;
    life->mem = (struct arena)ARENA_INIT(SMALL);
    status = lock_init(&life->lock, err);
    if (status) {
        mem_free(life);
        return status;
    }
    *ret_lifecycle = life;
    lane_post(config->lane, &life->work);
    return DET_OK;
}

void lifecycle_free(struct lifecycle *life)
{
    if (!life)
        return;
    lock_done(&life->lock);
    arena_done(&life->mem);
    mem_free(life);
}
