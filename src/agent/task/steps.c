/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - a list of functions and a place in it.
 *
 * A step is done when it returns DET_OK; it is tried again when the master was away;
 * any other failure before the start fails the task, and after it is only logged: by
 * then the exit matters more.  The loop's three words (running, exit, stop) only raise
 * flags and post the task; run() decides what they mean for the place it is at. */
#include "agent/task/steps.h"

#include <inttypes.h>
#include <string.h>

#include "agent/talk.h"
#include "agent/task/doorway.h"
#include "agent/task/identity.h"
#include "agent/task/mounts.h"
#include "agent/task/place.h"
#include "agent/task/spec.h"
#include "agent/task/world.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/task.h"
#include "data/json.h"
#include "data/text.h"

enum {
    CONTEXT_LIMIT = 1 << 30, /* of a reply with files, as base64 */
    RENDEZVOUS_MS = 15 * 60 * 1000,
    ALIVE_MS = 10 * 1000,
    BEAT_US = 5 * 1000 * 1000, /* until the master has said how often */
    BEAT_LEAST_US = 200 * 1000,
    BEAT_MOST_US = 60 * 1000 * 1000,
    SMALL = 1 << 20,
    RECORD_MEMORY = 64 << 20,
};

struct steps {
    struct lock lock; /* guards what stands until the next blank line */
    struct steps_view view;
    struct err why;
    bool is_stopped;
    bool has_started;
    bool has_exit;

    struct task task;
    struct steps_config config;
    struct arena mem;
    struct identity who;    /* in `mem`; set before is_ready */
    struct task_exit exit;  /* in `mem`; set before has_exit */
    char code[SHA256_TEXT]; /* set before is_ready */
    bool has_record; /* the master has it, or it is given up; only the lane's, as what
                        follows */
    size_t at;       /* which step */
    uint32_t failures;
    int64_t beat_us; /* when to say next that we are there */
};

/* Places in the sequence below. */
enum { STEP_READY = 6, STEP_RUNNING = 6, STEP_EXIT = 7, STEP_COUNT = 8 };

typedef det_status step_fn(struct steps *steps, struct err *err);

/* ---- the calls ------------------------------------------------------------------- */

static const char *path_of(struct arena *mem, const char *before, const char *name,
                           const char *after)
{
    CLEANUP(buf_done) struct buf path = BUF_INIT;

    buf_puts(&path, before);
    url_encode(&path, name);
    buf_puts(&path, after);
    return path.status ? NULL : arena_strdup(mem, path.data);
}

static det_status post(struct steps *steps, const char *what, const struct buf *body,
                       struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL);
    struct talk_request request = {.method = NET_POST, .body = body};
    struct json *reply;

    request.path =
        path_of(&mem, "/api/v1/det/allocations/", steps->config.spec->allocation, what);
    if (!request.path)
        return err_default(err, DET_NOMEM);
    return talk_call(steps->config.talk, &request, &mem, &reply, err);
}

static void is_superseded(struct steps *steps)
{
    lock_take(&steps->lock);
    steps->view.is_superseded = true;
    lock_give(&steps->lock);
}

/* Only a run that is over matters here: a task whose state nobody wants still runs. */
static det_status post_state(struct steps *steps, const char *state, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_status status;

    jw_object(&w, NULL);
    jw_i64(&w, "rank", steps->config.spec->rank);
    jw_str(&w, "state", state);
    jw_end_object(&w);
    status = post(steps, "/state", &body, err);
    if (!status || talk_may_retry(status))
        return status;
    /* A token that is refused means the same, but may be a stranger's word on the
     * master's port: enough not to start, not enough to kill. */
    if (status == DET_UNAUTHENTICATED && steps->at < STEP_READY)
        status = DET_STATE;
    if (status != DET_STATE) {
        log_warn("the state %s was not taken: %s", state, err->text);
        return DET_OK;
    }
    is_superseded(steps);
    return status;
}

/* What fails on this machine fails for good, however it would read in a reply; but
 * memory may come back, as may room on the disk (DET_FULL, which run() tries again). */
static det_status local(det_status status, struct err *err)
{
    if (status && status != DET_NOMEM && talk_may_retry(status)) {
        status = DET_FAILED;
        err->status = status;
    }
    return status;
}

static det_status step_pulling(struct steps *steps, struct err *err)
{
    return post_state(steps, "PULLING", err);
}

static det_status step_who(struct steps *steps, struct err *err)
{
    const struct task_user *user = &steps->config.spec->user;

    return local(identity_find(user, &steps->mem, &steps->who, err), err);
}

static det_status step_context(struct steps *steps, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT((size_t)CONTEXT_LIMIT * 2);
    struct talk_request request = {.method = NET_GET, .reply_limit = CONTEXT_LIMIT};
    struct json *reply;
    det_status status = local(
        world_make(steps->config.io, steps->config.spec, steps->config.dir, err), err);

    if (status || !steps->config.spec->context)
        return status;
    request.path = path_of(&mem, "/api/v1/tasks/", steps->config.spec->task_id,
                           "/context_directory");
    if (!request.path)
        return err_default(err, DET_NOMEM);
    status = talk_call(steps->config.talk, &request, &mem, &reply, err);
    return status
               ? status
               : local(world_unpack(reply, steps->config.dir, steps->code, err), err);
}

static det_status step_starting(struct steps *steps, struct err *err)
{
    det_status status =
        world_write_info(steps->config.io, steps->config.spec, steps->config.dir, err);

    status = local(status, err);
    return status ? status : post_state(steps, "STARTING", err);
}

static det_status step_rendezvous(struct steps *steps, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL);
    const struct task_spec *spec = steps->config.spec;
    struct talk_request request = {.method = NET_GET, .timeout_ms = RENDEZVOUS_MS};
    const char *rest;
    struct json *reply = NULL;
    struct json *info = NULL;
    det_status status;

    if (spec->shares > 1 || spec->rank > 0) {
        rest = path_of(&mem, "/resources/", spec->container_id, "/rendezvous");
        request.path =
            rest ? path_of(&mem, "/api/v1/allocations/", spec->allocation, rest) : NULL;
        if (!request.path)
            return err_default(err, DET_NOMEM);
        status = talk_call(steps->config.talk, &request, &mem, &reply, err);
        if (status)
            return status;
        info = json_find(reply, "rendezvous_info");
        if (!info)
            return err_set(err, DET_INVALID, "the master's rendezvous says nothing");
    }
    status =
        world_write_rendezvous(steps->config.io, spec, info, steps->config.dir, err);
    return local(status, err);
}

/* Nothing is written into the task's directories after this. */
static det_status step_handing(struct steps *steps, struct err *err)
{
    const struct doorway doorway = {.spec = steps->config.spec, .who = &steps->who};
    det_status status;

    mounts_prepare(steps->config.dir);
    status = doorway_prepare(steps->config.io, &doorway, err);
    if (!status)
        status = identity_give(&steps->who, steps->config.dir, err);
    return local(status, err);
}

static det_status step_running(struct steps *steps, struct err *err)
{
    return post_state(steps, "RUNNING", err);
}

/* What it runs on, once.  A record that is not there, cannot be read or is refused is
 * nothing to fail for. */
static det_status post_record(struct steps *steps, bool is_last, struct err *err)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(RECORD_MEMORY);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct json *record = NULL;
    det_status status;

    if (steps->has_record || !steps->config.spec->envs)
        return DET_OK;
    status = doorway_record(steps->config.io, steps->config.dir, is_last, &mem, &record,
                            err);
    if (status) {
        if (status != DET_NOT_FOUND) {
            log_warn("what the task runs on is not recorded: %s", err->text);
            steps->has_record = true; /* it will not get better */
        }
        return DET_OK;
    }
    jw_object(&w, NULL);
    jw_i64(&w, "rank", steps->config.spec->rank);
    jw_json(&w, "record", record);
    jw_end_object(&w);
    status = post(steps, "/environment", &body, err);
    if (status && talk_may_retry(status))
        return status;
    if (status)
        log_warn("what the task runs on was not taken: %s", err->text);
    steps->has_record = true;
    return DET_OK;
}

static det_status step_exit(struct steps *steps, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    det_status status = post_record(steps, true, err);

    if (status)
        return status;
    jw_object(&w, NULL);
    jw_i64(&w, "rank", steps->config.spec->rank);
    jw_str(&w, "exit", steps->exit.exit);
    jw_i64(&w, "code", steps->exit.code);
    jw_str(&w, "reason", steps->exit.reason);
    if (steps->exit.is_final)
        jw_bool(&w, "isFinal", true);
    jw_end_object(&w);
    return post(steps, "/exit", &body, err);
}

/* ---- being there ----------------------------------------------------------------- */

static int64_t now_us(const struct steps *steps)
{
    return clock_mono_us(exec_clock(steps->config.exec));
}

/* How long until the next time.  A refusal other than "it is over" may be a stranger's
 * on the master's port. */
static int64_t say_alive(struct steps *steps)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(SMALL);
    CLEANUP(buf_done) struct buf body = BUF_INIT;
    struct json_writer w = JSON_WRITER(&body);
    struct talk_request request = {
        .method = NET_POST, .body = &body, .timeout_ms = ALIVE_MS};
    struct json *reply = NULL;
    struct err err = {0};
    det_status status;

    (void)post_record(steps, false, &err); /* again at the next beat, or at the end */
    jw_object(&w, NULL);
    jw_i64(&w, "rank", steps->config.spec->rank);
    jw_end_object(&w);
    request.path = path_of(&mem, "/api/v1/det/allocations/",
                           steps->config.spec->allocation, "/alive");
    if (!request.path)
        return BEAT_US;
    status = talk_call(steps->config.talk, &request, &mem, &reply, &err);
    if (status == DET_STATE)
        log_warn("the master has given this run up: %s", err.text);
    if (status == DET_STATE ||
        (!status && json_bool(json_get(reply, "mustEnd"), false)))
        is_superseded(steps);
    if (status && talk_may_retry(status))
        return talk_backoff_us(++steps->failures);
    steps->failures = 0;
    return MIN(MAX(json_i64(json_get(reply, "againMs"), BEAT_US / 1000) * 1000,
                   (int64_t)BEAT_LEAST_US),
               (int64_t)BEAT_MOST_US);
}

/* Between its start and its end a task leaves the lane free for this. */
static void beat(struct steps *steps)
{
    bool is_running;

    lock_take(&steps->lock);
    is_running = steps->has_started && !steps->has_exit && steps->at == STEP_EXIT &&
                 !steps->view.is_superseded;
    lock_give(&steps->lock);
    if (!is_running)
        return;
    if (now_us(steps) >= steps->beat_us)
        steps->beat_us = now_us(steps) + say_alive(steps);
    lane_post_at(steps->config.lane, &steps->task, steps->beat_us);
}

/* ---- the sequence ---------------------------------------------------------------- */

static step_fn *const sequence[STEP_COUNT] = {
    step_pulling,    step_who,     step_context, step_starting,
    step_rendezvous, step_handing, step_running, step_exit,
};

static void changed(struct steps *steps)
{
    steps->config.on_change(steps->config.arg);
}

/* What an end has made pointless is jumped over; but a task that ran was RUNNING. */
static void skip_to_exit(struct steps *steps)
{
    bool owes_running = steps->at == STEP_RUNNING && steps->has_started;

    if (steps->has_exit && steps->at < STEP_EXIT && !owes_running)
        steps->at = STEP_EXIT;
}

/* Whether the step's turn has come.  The lock is held. */
static bool is_due(const struct steps *steps)
{
    if (steps->at < STEP_READY)
        return !steps->is_stopped && !steps->view.has_failed;
    if (steps->at == STEP_RUNNING)
        return steps->has_started;
    return steps->has_exit && !steps->view.is_over;
}

/* The same, and tells the loop what it is waited for: a start, or nothing any more. */
static bool may_go_on(struct steps *steps)
{
    bool may;

    lock_take(&steps->lock);
    skip_to_exit(steps);
    may = is_due(steps);
    if (!may && !steps->has_started && !steps->has_exit) {
        steps->view.is_ready = steps->at == STEP_READY && !steps->is_stopped;
        steps->view.has_failed = steps->view.has_failed || steps->is_stopped;
    }
    lock_give(&steps->lock);
    return may;
}

static void settle(struct steps *steps, det_status status, const struct err *err)
{
    lock_take(&steps->lock);
    if (status && steps->at < STEP_READY) {
        steps->view.has_failed = true;
        steps->why = *err;
    }
    if (steps->at == STEP_EXIT)
        steps->view.is_over = true;
    lock_give(&steps->lock);
    if (status)
        log_warn("%s", err->text);
    if (!status || steps->at >= STEP_READY)
        steps->at++;
    steps->failures = 0;
}

static void run(struct task *task)
{
    struct steps *steps = CONTAINER_OF(task, struct steps, task);
    struct err err = {0};
    det_status status;

    if (steps->at >= STEP_COUNT || !may_go_on(steps)) {
        beat(steps);
        changed(steps);
        return;
    }
    status = sequence[steps->at](steps, &err);
    if (talk_may_retry(status) || status == DET_FULL) {
        if (!steps->failures++)
            log_warn("retrying: %s", err.text);
        lane_post_at(steps->config.lane, &steps->task,
                     now_us(steps) + talk_backoff_us(steps->failures));
        return;
    }
    settle(steps, status, &err);
    changed(steps);
    lane_post(steps->config.lane, &steps->task);
}

void steps_hurry(struct steps *steps)
{
    lane_post(steps->config.lane, &steps->task);
}

struct steps_view steps_look(struct steps *steps, struct err *ret_why)
{
    struct steps_view view;

    lock_take(&steps->lock);
    view = steps->view;
    if (ret_why)
        *ret_why = steps->why;
    lock_give(&steps->lock);
    return view;
}

const struct identity *steps_who(const struct steps *steps)
{
    return &steps->who;
}

const char *steps_code(const struct steps *steps)
{
    return steps->code;
}

void steps_stop(struct steps *steps)
{
    bool is_preparing;

    lock_take(&steps->lock);
    steps->is_stopped = true;
    is_preparing = !steps->has_started;
    lock_give(&steps->lock);
    if (is_preparing)
        talk_interrupt(steps->config.talk);
    steps_hurry(steps);
}

void steps_running(struct steps *steps)
{
    lock_take(&steps->lock);
    steps->has_started = true;
    lock_give(&steps->lock);
    steps_hurry(steps);
}

det_status steps_exit(struct steps *steps, const struct task_exit *exit,
                      struct err *err)
{
    struct task_exit copy = {
        .exit = arena_strdup(&steps->mem, exit->exit),
        .code = exit->code,
        .is_final = exit->is_final,
        .reason = arena_strdup(&steps->mem, exit->reason),
    };

    if (!copy.exit || (exit->reason && !copy.reason))
        return err_default(err, DET_NOMEM);
    lock_take(&steps->lock);
    steps->exit = copy;
    steps->has_exit = true;
    lock_give(&steps->lock);
    talk_resume(steps->config.talk);
    steps_hurry(steps);
    return DET_OK;
}

/* ---- life ------------------------------------------------------------------------ */

det_status steps_new(const struct steps_config *config, struct steps **ret_steps,
                     struct err *err)
{
    struct steps *steps = mem_new(struct steps);
    det_status status;

    if (!steps)
        return err_default(err, DET_NOMEM);
    steps->task = (struct task)TASK_INIT(run);
    steps->config = *config;
    steps->mem = (struct arena)ARENA_INIT(SMALL);
    status = lock_init(&steps->lock, err);
    if (status) {
        mem_free(steps);
        return status;
    }
    *ret_steps = steps;
    lane_post(config->lane, &steps->task);
    return DET_OK;
}

void steps_free(struct steps *steps)
{
    if (!steps)
        return;
    lock_done(&steps->lock);
    arena_done(&steps->mem);
    mem_free(steps);
}
