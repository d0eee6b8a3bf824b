/* SPDX-License-Identifier: Apache-2.0 */
/* reports.c - the records of a task's ring, one batch per call.
 *
 *   body --decode, check (a worker)--> items --one job (the writer)--> rows, journal
 *                                                                      and the mark
 *
 * One transaction commits the rows, the journal entries of records that are also events, and
 * the mark: the number of the last record.  Records up to the mark are duplicates and are
 * skipped.  A batch that leaves a gap stores nothing; the reply names the mark.
 *
 * An invalid record (two values for one metric, a group without a name) is refused alone;
 * the records after it are stored.  Such records are rare, so the job first writes
 * everything without savepoints.  If a record is refused, everything is rolled back and
 * written again with a savepoint per record.
 *
 * A run that the platform has given up (its agent was cut off, say) still delivers what it
 * had accepted.  Its reports and checkpoints are stored as archived, and alerts as lines;
 * nothing of it is an event, and progress and states are dropped.  The answer says that the
 * task must end.  Once the end of the share was reported, batches are refused with
 * DET_STATE. */

#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/api/experiments/unmanaged.h"
#include "master/api/reports/checkpoints.h"
#include "master/api/reports/media.h"
#include "master/api/reports/metrics.h"
#include "master/background/collector.h"
#include "master/changes/changes.h"
#include "master/heart/heart.h"
#include "master/heart/journal.h"
#include "master/request/waits.h"
#include "master/watch/meters.h"
#include "model/field.h"
#include "store/checkpoint/checkpoint.h"
#include "store/engine/db.h"
#include "store/experiment/trial.h"
#include "store/experiment/trial_view.h"
#include "store/experiment/unmanaged.h"
#include "store/heart/mark.h"
#include "store/log/log_add.h"
#include "store/log/log_line.h"
#include "store/media/media.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_parts.h"
#include "store/store.h"
#include "store/task/allocation.h"
#include "wire/batch.h"
#include "wire/bodies.h"
#include "wire/report.h"

enum { ALERT_BYTES = 16 << 10 };

/* One record, checked and ready to be written. */
struct item {
    uint64_t number;
    enum report_kind kind;
    det_status status; /* of a refused record; else DET_OK */
    const char *error;
    const char *dropped; /* which of its metrics were not stored; NULL: none */
    union {
        struct metric_report metrics;
        struct checkpoint *checkpoint;
        struct core_event *event;                 /* progress, early exit */
        const struct runner_metadata_body *state; /* REPORT_STATUS */
        struct log_line *line;                    /* REPORT_ALERT */
        struct media_new *media;
    };
};

struct batch_state {
    struct batch_head head;
    struct report_sender sender;
    struct allocation maker;
    struct share share;
    struct item *item;
    struct report_metrics *values; /* one per item */
    uint32_t count;
    const char *group; /* of the last metrics; the next ones mostly have the same */
    int64_t stored;    /* the mark, once the job is done */
    uint32_t added;    /* records that the job stored */
    bool has_events;
    bool has_validations;
    bool has_lines;
    uint32_t kinds;    /* bits of 1 << enum report_kind */
    bool is_unmanaged; /* the records are of one trial and any of its runs */
    int64_t run;       /* the run of the last item written, if unmanaged */
    bool is_late;      /* the run was given up */
};

/* Whether the record itself is invalid. */
static bool is_invalid_record(det_status status)
{
    switch (status) {
    case DET_INVALID:
    case DET_EXISTS:
    case DET_FORBIDDEN:
    case DET_NOT_FOUND:
    case DET_TOO_LARGE:
    case DET_UNSUPPORTED:
        return true;
    default:
        return false;
    }
}

/* Stores the refusal in the item.  Other errors are returned. */
static det_status refuse_record(struct request *req, struct item *item,
                                det_status status, const struct err *why)
{
    if (!is_invalid_record(status))
        return status;
    item->status = status;
    item->error = arena_strdup(&req->mem, why->text);
    return item->error ? DET_OK : DET_NOMEM;
}

/* ---- reading --------------------------------------------------------------------- */

static det_status group_text(struct batch_state *state,
                             const struct report_metrics *metrics, struct arena *mem,
                             struct err *err)
{
    const char *last = state->group;
    det_status st;

    if (last && strlen(last) == metrics->group_len &&
        !memcmp(last, metrics->group, metrics->group_len))
        return DET_OK;
    st = report_check_name(metrics->group, metrics->group_len, true, err);
    if (st)
        return st;
    state->group = arena_strndup(mem, metrics->group, metrics->group_len);
    return state->group ? DET_OK : err_default(err, DET_NOMEM);
}

static det_status read_metrics(struct request *req, const struct report *record,
                               struct item *item, struct err *err)
{
    struct batch_state *state = req->state;
    struct report_metrics *values = &state->values[item - state->item];
    struct metric_report *report = &item->metrics;
    struct json *tree = NULL;
    det_status st =
        report_metrics_decode(record->payload, record->len, &req->mem, values, err);

    if (st == DET_CORRUPT)
        return err_set(err, DET_INVALID, "its metrics cannot be decoded");
    if (!st)
        st = group_text(state, values, &req->mem, err);
    if (st)
        return st;
    *report = (struct metric_report){
        .trial_id = state->maker.trial_id,
        .run_id = state->is_unmanaged ? record->run : state->maker.run_id,
        .group = state->group,
        .has_steps = values->steps != -1,
        .steps = values->steps,
        .report_us = record->time_us > 0 ? record->time_us : master_now_us(req->master),
        .values = values,
        .names_most = req->master->metric_names_most,
        .ret_dropped = &item->dropped,
    };
    st = metrics_check(report, err);
    if (st || !metrics_is_validation(report))
        return st;
    /* Searchers and lists need a validation as a tree. */
    st = metric_values_json(values, &req->mem, &tree, err);
    report->avg = tree;
    report->values = NULL;
    if (!st && values->batch_len)
        st = json_parse(values->batch, values->batch_len, &req->mem, &tree, err);
    if (!st && values->batch_len)
        report->batch = tree;
    return st;
}

/* Decodes the payload like the body of the call of the same name. */
static det_status read_body(struct request *req, const struct report *record,
                            const struct field *fields, size_t size, void **ret_body,
                            struct err *err)
{
    void *body = arena_alloc(&req->mem, size);
    struct json *tree = NULL;
    det_status st = json_parse(record->payload, record->len, &req->mem, &tree, err);

    if (!st && !body)
        st = err_default(err, DET_NOMEM);
    if (!st && tree->kind != JSON_OBJECT)
        st = err_set(err, DET_INVALID, "it is %s; expected an object",
                     json_kind_name(tree->kind));
    if (!st)
        st = fields_read(fields, tree, &req->mem, body, err);
    *ret_body = body;
    return st;
}

static det_status read_checkpoint(struct request *req, const struct report *record,
                                  struct item *item, struct err *err)
{
    struct batch_state *state = req->state;
    void *body = NULL;
    det_status st = read_body(req, record, checkpoint_body_fields,
                              sizeof(struct checkpoint_body), &body, err);

    item->checkpoint = arena_new(&req->mem, struct checkpoint);
    if (!st && !item->checkpoint)
        st = err_default(err, DET_NOMEM);
    return st ? st
              : checkpoints_from_body(body, &state->maker, record->time_us, &req->mem,
                                      item->checkpoint, err);
}

static det_status read_progress(struct request *req, const struct report *record,
                                struct item *item, struct err *err)
{
    struct batch_state *state = req->state;
    void *body = NULL;
    det_status st = read_body(req, record, progress_body_fields,
                              sizeof(struct progress_body), &body, err);

    item->event = arena_new(&req->mem, struct core_event);
    if (!st && !item->event)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = metrics_progress_event(body, item->event, err);
    if (!st)
        item->event->progress.trial_id = state->maker.trial_id;
    return st;
}

static det_status read_early_exit(struct request *req, const struct report *record,
                                  struct item *item, struct err *err)
{
    struct batch_state *state = req->state;
    void *body = NULL;
    det_status st = read_body(req, record, early_exit_body_fields,
                              sizeof(struct early_exit_body), &body, err);

    item->event = arena_new(&req->mem, struct core_event);
    if (!st && !item->event)
        st = err_default(err, DET_NOMEM);
    if (!st)
        st = metrics_early_exit_event(body, item->event, err);
    if (!st)
        item->event->early_exit.trial_id = state->maker.trial_id;
    return st;
}

static det_status read_status(struct request *req, const struct report *record,
                              struct item *item, struct err *err)
{
    void *body = NULL;
    det_status st = read_body(req, record, runner_metadata_body_fields,
                              sizeof(struct runner_metadata_body), &body, err);

    item->state = body;
    return st ? st : metrics_check_state(item->state, err);
}

static enum log_severity alert_severity(const char *level)
{
    if (!strcmp(level, "debug"))
        return LOG_SEVERITY_DEBUG;
    if (!strcmp(level, "warn") || !strcmp(level, "warning"))
        return LOG_SEVERITY_WARNING;
    return !strcmp(level, "error") ? LOG_SEVERITY_ERROR : LOG_SEVERITY_INFO;
}

/* An alert is stored as a line of the task's log; there is no other channel yet. */
static det_status read_alert(struct request *req, const struct report *record,
                             struct item *item, struct err *err)
{
    struct batch_state *state = req->state;
    struct log_line *line = arena_new(&req->mem, struct log_line);
    struct json *tree = NULL;
    const char *title, *text;
    det_status st = json_parse(record->payload, record->len, &req->mem, &tree, err);

    if (st)
        return st;
    title = json_str(json_get(tree, "title"), "");
    text = json_str(json_get(tree, "description"), "");
    if (strlen(title) + strlen(text) > ALERT_BYTES)
        return err_set(err, DET_TOO_LARGE, "the alert is larger than %d KB",
                       ALERT_BYTES >> 10);
    text = arena_printf(&req->mem, "[alert] %s%s%s", title, *title && *text ? ": " : "",
                        text);
    if (!line || !text)
        return err_default(err, DET_NOMEM);
    *line = (struct log_line){
        .time_us = record->time_us,
        .severity = alert_severity(json_str(json_get(tree, "level"), "")),
        .rank = state->share.rank,
        .text = text,
        .len = (uint32_t)strlen(text),
        .allocation = state->maker.name,
        .agent = state->share.agent,
        .container = state->share.container_id,
        .source = "task",
    };
    item->line = line;
    state->has_lines = true;
    return DET_OK;
}

static det_status read_media(struct request *req, const struct report *record,
                             struct item *item, struct err *err)
{
    struct batch_state *state = req->state;

    item->media = arena_new(&req->mem, struct media_new);
    if (!item->media)
        return err_default(err, DET_NOMEM);
    item->media->item.trial_id = state->maker.trial_id;
    item->media->item.run_id = state->is_unmanaged ? record->run : state->maker.run_id;
    return media_from_record(req, record, item->media, err);
}

static det_status read_record(struct request *req, const struct report *record,
                              struct item *item, struct err *err)
{
    const struct batch_state *state = req->state;

    if (!state->is_unmanaged && record->run != state->maker.run_id)
        return err_set(err, DET_FORBIDDEN,
                       "it is of run %" PRIu32 "; its sender is run %" PRId64,
                       record->run, state->maker.run_id);
    switch (record->kind) {
    case REPORT_METRICS:
        return read_metrics(req, record, item, err);
    case REPORT_PROGRESS:
        return read_progress(req, record, item, err);
    case REPORT_CHECKPOINT:
        return read_checkpoint(req, record, item, err);
    case REPORT_EARLY_EXIT:
        return read_early_exit(req, record, item, err);
    case REPORT_STATUS:
        return read_status(req, record, item, err);
    case REPORT_ALERT:
        return read_alert(req, record, item, err);
    case REPORT_MEDIA:
        return read_media(req, record, item, err);
    }
    return err_set(err, DET_UNSUPPORTED,
                   "this master does not know reports of kind %d; it is older than "
                   "the task's det",
                   (int)record->kind);
}

/* Decodes the record at `at` into the next item; *ret_used: its size in bytes. */
static det_status next_item(struct request *req, const char *at, size_t len,
                            size_t *ret_used)
{
    struct batch_state *state = req->state;
    struct item *item = &state->item[state->count];
    uint64_t least =
        state->count ? state->item[state->count - 1].number + 1 : state->head.first;
    struct report record;
    struct err why = {0};
    det_status st = report_decode(at, len, &record, ret_used, &why);

    if (st)
        return err_set(req->err, DET_INVALID,
                       "report %" PRIu32 " of the batch is damaged or cut off",
                       state->count + 1);
    if (record.number < least || record.number > state->head.last)
        return err_set(req->err, DET_INVALID,
                       "report %" PRIu64 " is out of order in its batch",
                       record.number);
    *item = (struct item){.number = record.number, .kind = record.kind};
    state->count++;
    st = read_record(req, &record, item, &why);
    if (st)
        return refuse_record(req, item, st, &why);
    /* Also for duplicates: the call that stored them may have failed before it notified the
     * heart. */
    state->has_validations |=
        item->kind == REPORT_METRICS && metrics_is_validation(&item->metrics);
    state->has_events |= (item->kind != REPORT_METRICS && item->kind != REPORT_MEDIA) ||
                         state->has_validations;
    state->kinds |= 1u << item->kind;
    return DET_OK;
}

static det_status read_items(struct request *req, const char *at, size_t len)
{
    struct batch_state *state = req->state;
    det_status st = DET_OK;

    meters_add(req->master->meters, METER_REPORTS_RECEIVED, state->head.count);
    state->item = arena_array(&req->mem, struct item, (size_t)state->head.count + 1);
    state->values =
        arena_array(&req->mem, struct report_metrics, (size_t)state->head.count + 1);
    if (!state->item || !state->values)
        return DET_NOMEM;
    while (!st && state->count < state->head.count) {
        size_t used = 0;

        st = next_item(req, at, len, &used);
        if (st)
            return st;
        at += used;
        len -= used;
    }
    if (len)
        return err_set(req->err, DET_INVALID,
                       "%zu bytes follow the %" PRIu32 " reports of the batch", len,
                       state->head.count);
    return DET_OK;
}

/* Finds the share that sends.  The rank must exist: its mark would stay forever. */
static det_status find_sender(struct request *req, struct batch_state *state)
{
    struct share *shares;
    uint32_t count = 0;
    det_status st =
        store_allocation_get(req->db, req->arg[0], &req->mem, &state->maker, req->err);

    if (!st && !state->maker.trial_id)
        return err_set(req->err, DET_STATE, "task %s is a job: only trials report",
                       state->maker.task_id);
    if (!st)
        st = store_shares_of(req->db, state->maker.id, &req->mem, &shares, &count,
                             req->err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (shares[i].rank == state->head.source) {
            state->share = shares[i];
            state->sender = (struct report_sender){state->maker.id, shares[i].rank};
            return DET_OK;
        }
    return st ? st
              : err_set(req->err, DET_INVALID, "allocation %s has no rank %" PRIu32,
                        state->maker.name, state->head.source);
}

/* ---- writing --------------------------------------------------------------------- */

static det_status write_line(struct request *req, struct db *db,
                             const struct log_line *line, struct err *err)
{
    const struct batch_state *state = req->state;
    const struct log_batch batch = {
        .task_id = state->maker.task_id, .line = line, .count = 1};
    uint32_t stored;

    return store_log_add(db, &batch, &req->mem, &stored, err);
}

/* An unmanaged ring may hold several runs, one after the other. */
static det_status switch_run(struct batch_state *state, struct db *db, int64_t run,
                             struct err *err)
{
    det_status st = DET_OK;

    if (state->run != run)
        st = store_unmanaged_run(db, state->maker.trial_id, run, err);
    state->run = st ? 0 : run;
    return st;
}

/* What says how the trial is, and has no meaning once its run was given up. */
static det_status write_state(const struct batch_state *state, struct db *db,
                              const struct item *item, struct err *err)
{
    if (item->kind == REPORT_STATUS)
        return store_trial_set_runner_state(db, state->maker.trial_id,
                                            item->state->state, err);
    if (item->kind == REPORT_PROGRESS && state->is_unmanaged)
        return store_unmanaged_progress(db, state->maker.trial_id,
                                        item->event->progress.progress, err);
    return journal_add(db, item->event, err);
}

static det_status write_item(struct request *req, struct db *db, struct item *item,
                             struct err *err)
{
    struct batch_state *state = req->state;
    bool is_new; /* counted by the number: note_stored() */

    switch (item->kind) {
    case REPORT_METRICS:
        if (state->is_unmanaged) {
            det_status st = switch_run(state, db, item->metrics.run_id, err);

            if (st)
                return st;
        }
        item->metrics.is_late = state->is_late;
        return metrics_write(db, &item->metrics, &req->mem, &is_new, err);
    case REPORT_CHECKPOINT:
        item->checkpoint->is_archived |= state->is_late;
        return checkpoints_write(db, item->checkpoint, state->maker.run_id, err);
    case REPORT_PROGRESS:
    case REPORT_EARLY_EXIT:
    case REPORT_STATUS:
        return state->is_late ? DET_OK : write_state(state, db, item, err);
    case REPORT_ALERT:
        return write_line(req, db, item->line, err);
    case REPORT_MEDIA:
        item->media->is_late = state->is_late;
        return store_media_add(db, item->media, err);
    }
    return DET_OK; /* an unknown kind; read_record() has refused it */
}

/* With a savepoint, so a refused record leaves nothing behind. */
static det_status write_guarded(struct request *req, struct db *db, struct item *item,
                                struct err *err)
{
    struct err why = {0};
    det_status st = db_save(db, err);

    if (st)
        return st;
    st = write_item(req, db, item, &why);
    if (!st)
        return db_release(db, err);
    db_undo(db);
    ((struct batch_state *)req->state)->run = 0;
    st = refuse_record(req, item, st, &why);
    return st ? err_set(err, st, "%s", why.text) : DET_OK;
}

static det_status write_items(struct request *req, struct db *db, bool guarded,
                              struct err *err)
{
    struct batch_state *state = req->state;
    det_status st = DET_OK;

    for (uint32_t i = 0; !st && i < state->count; i++) {
        struct item *item = &state->item[i];

        if ((int64_t)item->number <= state->stored || item->status)
            continue;
        st = guarded ? write_guarded(req, db, item, err)
                     : write_item(req, db, item, err);
    }
    return st;
}

static det_status write_all(struct request *req, struct db *db, struct err *err)
{
    struct batch_state *state = req->state;
    det_status st = db_save(db, err);

    if (st)
        return st;
    st = write_items(req, db, false, err);
    if (!st)
        return db_release(db, err);
    db_undo(db);
    state->run = 0; /* that was rolled back, too */
    return is_invalid_record(st) ? write_items(req, db, true, err) : st;
}

static det_status read_mark(struct batch_state *state, struct db *db, struct err *err)
{
    struct report_mark mark = {0};
    det_status st;

    if (state->is_unmanaged)
        return store_unmanaged_mark(db, state->maker.trial_id, &state->stored, err);
    st = store_report_mark(db, &state->sender, &mark, err);
    state->stored = mark.number;
    state->is_late = mark.is_late;
    return st;
}

static void note_stored(struct batch_state *state, int64_t last)
{
    for (uint32_t i = 0; i < state->count; i++)
        state->added +=
            !state->item[i].status && (int64_t)state->item[i].number > state->stored;
    state->stored = last;
}

static det_status write_batch(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct batch_state *state = req->state;
    int64_t last = (int64_t)state->head.last;
    int64_t trial = state->maker.trial_id;
    det_status st = read_mark(state, db, err);

    /* A duplicate batch, or one that leaves a gap. */
    if (st || last <= state->stored || (int64_t)state->head.first > state->stored + 1)
        return st;
    st = write_all(req, db, err);
    if (!st)
        st = state->is_unmanaged ? store_unmanaged_mark_set(db, trial, last, err)
                                 : store_report_mark_set(db, &state->sender, last, err);
    if (!st)
        note_stored(state, last);
    return st;
}

/* ---- the call -------------------------------------------------------------------- */

/* The heart also notes its events; nobody else notes the rest. */
static void note_batch(struct request *req)
{
    const struct batch_state *state = req->state;
    struct changes *changes = req->master->changes;
    const uint32_t quiet =
        1u << REPORT_METRICS | 1u << REPORT_ALERT | 1u << REPORT_MEDIA;
    int64_t trial = state->maker.trial_id;
    int64_t experiment = state->maker.experiment_id;

    meters_add(req->master->meters, METER_REPORTS_STORED, state->added);
    if (state->kinds & 1u << REPORT_METRICS)
        changes_note(changes, CHANGE_METRICS, trial, experiment);
    if (state->kinds & 1u << REPORT_CHECKPOINT)
        changes_note(changes, CHANGE_CHECKPOINT, trial, experiment);
    if (state->kinds & 1u << REPORT_MEDIA)
        changes_note(changes, CHANGE_MEDIA, trial, experiment);
    if (state->has_lines)
        changes_note_text(changes, CHANGE_LOGS, state->maker.task_id);
    if (!(state->kinds & ~quiet) && !state->has_validations)
        return;
    changes_note(changes, CHANGE_TRIAL, trial, experiment);
    changes_note(changes, CHANGE_EXPERIMENT, experiment, 0);
}

static det_status reply_batch(struct request *req)
{
    const struct batch_state *state = req->state;
    const char *key;

    if (state->has_events) {
        heart_journal(req->master->heart);
        collector_wake_soon(req->master->collector);
    }
    key = state->has_lines ? waits_key_task(&req->mem, state->maker.task_id) : NULL;
    if (key)
        waits_wake(req->master->waits, key);
    jw_object(&req->w, NULL);
    jw_i64(&req->w, "stored", state->stored);
    jw_bool(&req->w, "mustEnd", state->is_late);
    jw_array(&req->w, "refused");
    for (uint32_t i = 0; i < state->count; i++) {
        const struct item *item = &state->item[i];

        if ((!item->status && !item->dropped) || (int64_t)item->number > state->stored)
            continue;
        jw_object(&req->w, NULL);
        jw_i64(&req->w, "number", (int64_t)item->number);
        jw_str(&req->w, "status",
               det_status_name(item->status ? item->status : DET_INVALID));
        jw_str(&req->w, "error", item->status ? item->error : item->dropped);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_report_batch(struct request *req)
{
    const struct bytes_body *body = req->body;
    struct batch_state *state = arena_new(&req->mem, struct batch_state);
    det_status st;

    if (!state)
        return DET_NOMEM;
    req->state = state;
    st = batch_head_decode(body->at, body->len, &state->head, req->err);
    if (!st)
        st = find_sender(req, state);
    if (!st)
        st = read_items(req, (const char *)body->at + BATCH_HEAD,
                        body->len - BATCH_HEAD);
    req->committed = note_batch;
    return st ? st : request_write(req, write_batch, reply_batch);
}

det_status api_trial_reports(struct request *req)
{
    const struct bytes_body *body = req->body;
    struct batch_state *state = arena_new(&req->mem, struct batch_state);
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!state)
        return DET_NOMEM;
    req->state = state;
    if (!st)
        st = unmanaged_trial_get(req, id, &trial);
    if (!st)
        st = batch_head_decode(body->at, body->len, &state->head, req->err);
    if (st)
        return st;
    state->is_unmanaged = true;
    state->maker.trial_id = id;
    state->maker.experiment_id = trial.row.experiment_id;
    state->maker.task_id = state->maker.name = trial.row.task_id;
    state->share.rank = -1;
    st = read_items(req, (const char *)body->at + BATCH_HEAD, body->len - BATCH_HEAD);
    req->committed = note_batch;
    return st ? st : request_write(req, write_batch, reply_batch);
}
