/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - reports of trials, and streams that read them back.
 *
 * The hot path of the platform: a training report is decoded here and goes straight to the
 * store's writer; the caller is answered once it is durable.  A validation is also an event:
 * if its row is new, the same job adds it to the journal. */
#include "master/api/reports/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "master/api/api.h"
#include "master/background/collector.h"
#include "master/changes/change_notes.h"
#include "master/changes/changes.h"
#include "master/heart/heart.h"
#include "master/heart/journal.h"
#include "master/request/access.h"
#include "master/request/request_stream.h"
#include "master/watch/meters.h"
#include "store/experiment/trial.h"
#include "store/experiment/trial_view.h"
#include "store/experiment/unmanaged.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/validation.h"
#include "store/store.h"
#include "wire/bodies.h"
#include "wire/queries.h"
#include "wire/report.h"

/* Limits the metadata in a trial's row: lists of trials read all rows. */
enum { METADATA_BYTES = 1 << 20 };

static det_status write_validation(struct db *db, const struct metric_report *report,
                                   struct arena *mem, struct err *err)
{
    struct core_event event = {.kind = EVENT_VALIDATED};
    det_status st = store_validation_add(db, report->trial_id, report->steps,
                                         report->report_us, report->avg, mem, err);

    if (st)
        return st;
    event.validated.trial_id = report->trial_id;
    event.validated.run_id = report->run_id;
    event.validated.steps = report->steps;
    event.validated.metrics = json_text(mem, report->avg);
    if (!event.validated.metrics)
        return err_default(err, DET_NOMEM);
    return journal_add(db, &event, err);
}

bool metrics_is_validation(const struct metric_report *report)
{
    return !strcmp(report->group, "validation");
}

det_status metrics_write(struct db *db, const struct metric_report *report,
                         struct arena *mem, bool *ret_is_new, struct err *err)
{
    det_status st = store_metric_add(db, report, mem, ret_is_new, err);

    if (!st && *ret_is_new && !report->is_late && metrics_is_validation(report))
        st = write_validation(db, report, mem, err);
    return st;
}

struct sent_report {
    struct metric_report report;
    bool is_new; /* it was not stored before */
};

static det_status write_report(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    struct sent_report *sent = req->state;

    return metrics_write(db, &sent->report, &req->mem, &sent->is_new, err);
}

static void note_report(struct request *req)
{
    const struct sent_report *sent = req->state;
    const struct metric_report *report = &sent->report;

    if (sent->is_new)
        meters_add(req->master->meters, METER_REPORTS_STORED, 1);
    changes_note(req->master->changes, CHANGE_METRICS, report->trial_id,
                 req->experiment_id);
    if (metrics_is_validation(report))
        change_notes_path_trial(req);
}

det_status metrics_notify_heart(struct request *req)
{
    heart_journal(req->master->heart);
    collector_wake_soon(req->master->collector);
    return DET_OK;
}

static det_status check_names(const struct metric_report *report, struct err *err)
{
    const struct report_metrics *values = report->values;
    det_status st = DET_OK;

    for (uint32_t i = 0; values && !st && i < values->count; i++)
        st = report_check_name(values->value[i].name, values->value[i].name_len, false,
                               err);
    if (values)
        return st;
    json_each(item, report->avg)
        if (!st)
            st = report_check_name(item->key, strlen(item->key), false, err);
    return st;
}

det_status metrics_check(const struct metric_report *report, struct err *err)
{
    det_status st = report_check_name(report->group, strlen(report->group), true, err);

    if (st)
        return st;
    if (!report->values && (!report->avg || report->avg->kind != JSON_OBJECT))
        return err_set(err, DET_INVALID, "avgMetrics must be an object: name to value");
    if (report->has_steps && report->steps < 0)
        return err_set(err, DET_INVALID, "stepsCompleted is %" PRId64 "; expected >= 0",
                       report->steps);
    return check_names(report, err);
}

det_status api_report_metrics(struct request *req)
{
    const struct report_metrics_body *body = req->body;
    struct sent_report *sent = arena_new(&req->mem, struct sent_report);
    struct metric_report *report;
    det_status st;

    if (!sent)
        return DET_NOMEM;
    report = &sent->report;
    st = request_id(req, 0, &report->trial_id);
    if (st)
        return st;
    report->run_id = body->metrics.trial_run_id;
    report->group = body->group ? body->group : "training";
    report->has_steps = body->metrics.has_steps_completed;
    report->steps = body->metrics.steps_completed;
    report->report_us = body->metrics.report_time ? body->metrics.report_time
                                                  : master_now_us(req->master);
    report->avg = body->metrics.metrics.avg_metrics;
    report->names_most = req->master->metric_names_most;
    if (!json_is_null(body->metrics.metrics.batch_metrics))
        report->batch = body->metrics.metrics.batch_metrics;
    st = metrics_check(report, req->err);
    if (st)
        return st;
    meters_add(req->master->meters, METER_REPORTS_RECEIVED, 1);
    req->state = sent;
    req->experiment_id = change_notes_experiment_of(req, report->trial_id);
    req->committed = note_report;
    return request_write(req, write_report,
                         metrics_is_validation(report) ? metrics_notify_heart : NULL);
}

/* ---- progress, early exit and state of a trial ----------------------------------------- */

det_status metrics_progress_event(const struct progress_body *body,
                                  struct core_event *ret_event, struct err *err)
{
    if (!(body->progress >= 0))
        return err_set(err, DET_INVALID, "progress must be a number from 0 to 1");
    ret_event->kind = EVENT_PROGRESS;
    ret_event->progress.progress = body->progress > 1 ? 1 : body->progress;
    return DET_OK;
}

static det_status write_progress(struct write_job *job, struct db *db, struct err *err)
{
    const struct core_event *event = REQUEST_OF(job)->state;

    return store_unmanaged_progress(db, event->progress.trial_id,
                                    event->progress.progress, err);
}

/* The heart does not know unmanaged trials, so their progress is written here.  A task's
 * token never belongs to one. */
det_status api_report_progress(struct request *req)
{
    struct core_event *event = arena_new(&req->mem, struct core_event);
    struct trial_view trial = {0};
    det_status st = event ? metrics_progress_event(req->body, event, req->err)
                          : err_default(req->err, DET_NOMEM);

    if (!st)
        st = request_id(req, 0, &event->progress.trial_id);
    if (!st && !req->caller.allocation_id)
        st = store_trial_get(req->db, event->progress.trial_id, &req->mem, &trial,
                             req->err);
    if (st)
        return st;
    req->state = event;
    req->experiment_id = trial.row.experiment_id;
    req->committed = change_notes_path_trial;
    return trial.is_unmanaged ? request_write(req, write_progress, NULL)
                              : request_event(req, event, NULL);
}

det_status metrics_early_exit_event(const struct early_exit_body *body,
                                    struct core_event *ret_event, struct err *err)
{
    if (strcmp(body->reason, "EXITED_REASON_INVALID_HP") &&
        strcmp(body->reason, "EXITED_REASON_INIT_INVALID_HP"))
        return err_set(err, DET_INVALID,
                       "the reason '%s' is unknown; expected EXITED_REASON_INVALID_HP",
                       body->reason);
    ret_event->kind = EVENT_EARLY_EXIT;
    return DET_OK;
}

det_status api_report_early_exit(struct request *req)
{
    struct core_event event = {0};
    det_status st = metrics_early_exit_event(req->body, &event, req->err);

    if (!st)
        st = request_id(req, 0, &event.early_exit.trial_id);
    return st ? st : request_event(req, &event, NULL);
}

static det_status write_runner(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct runner_metadata_body *body = req->body;
    const int64_t *id = req->state;

    return store_trial_set_runner_state(db, *id, body->state, err);
}

/* Stores the trial's number in req->state for the write job. */
static det_status keep_trial_id(struct request *req)
{
    int64_t *id = arena_new(&req->mem, int64_t);
    det_status st = id ? request_id(req, 0, id) : DET_NOMEM;

    if (st)
        return st;
    req->state = id;
    req->experiment_id = change_notes_experiment_of(req, *id);
    req->committed = change_notes_path_trial;
    return DET_OK;
}

det_status metrics_check_state(const struct runner_metadata_body *body, struct err *err)
{
    if (body->state && strlen(body->state) > REPORT_STATUS_MOST)
        return err_set(err, DET_INVALID,
                       "the status has %zu bytes; expected %d at most",
                       strlen(body->state), REPORT_STATUS_MOST);
    return DET_OK;
}

det_status api_report_runner(struct request *req)
{
    det_status st = keep_trial_id(req);

    if (!st)
        st = metrics_check_state(req->body, req->err);
    return st ? st : request_write(req, write_runner, NULL);
}

/* Every rank calls this when training starts.  There is only one storage. */
det_status api_start_run(struct request *req)
{
    jw_object(&req->w, NULL);
    jw_i64(&req->w, "storageId", 1);
    jw_end_object(&req->w);
    return DET_OK;
}

static void reply_metadata(struct request *req, const char *metadata)
{
    jw_object(&req->w, NULL);
    jw_raw(&req->w, "metadata", metadata ? metadata : "{}");
    jw_end_object(&req->w);
}

det_status api_get_run_metadata(struct request *req)
{
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (!st)
        reply_metadata(req, trial.metadata);
    return st;
}

static det_status write_metadata(struct write_job *job, struct db *db, struct err *err)
{
    struct request *req = REQUEST_OF(job);
    const struct run_metadata_body *body = req->body;
    const int64_t *id = req->state;
    const char *merged;
    det_status st =
        store_trial_merge_metadata(db, *id, body->metadata, &req->mem, &merged, err);

    if (!st && strlen(merged) > METADATA_BYTES)
        st = err_set(err, DET_TOO_LARGE, "metadata would be larger than %d MB",
                     METADATA_BYTES >> 20);
    if (!st)
        reply_metadata(req, merged);
    return st;
}

det_status api_post_run_metadata(struct request *req)
{
    const struct run_metadata_body *body = req->body;
    det_status st = keep_trial_id(req);

    if (!st && (!body->metadata || body->metadata->kind != JSON_OBJECT))
        st = err_set(req->err, DET_INVALID, "metadata must be an object");
    if (!st &&
        json_count(body->metadata) > TRIAL_METADATA_VALUES) /* not on the writer */
        st = err_set(req->err, DET_TOO_LARGE,
                     "metadata has %zu values; expected %d at most",
                     json_count(body->metadata), TRIAL_METADATA_VALUES);
    return st ? st : request_write(req, write_metadata, NULL);
}

/* ---- reading --------------------------------------------------------------------- */

enum { REPORTS_AT_ONCE = 500 };

struct reading {
    struct field_i64s trials;
    size_t at;
    struct metric_query query;
};

static void render_report(struct json_writer *w, const struct metric_row *row)
{
    bool is_validation = !strcmp(row->group, "validation");

    jw_object(w, NULL);
    jw_i64(w, "trialId", row->trial_id);
    jw_i64(w, "trialRunId", row->run_id);
    jw_i64(w, "totalBatches", row->steps);
    jw_time(w, "endTime", row->report_us);
    jw_i64(w, "id", row->id);
    jw_bool(w, "archived", row->is_archived);
    jw_str(w, "group", row->group);
    jw_object(w, "metrics");
    jw_raw(w, is_validation ? "validation_metrics" : "avg_metrics", row->avg);
    if (!is_validation)
        jw_raw(w, "batch_metrics", row->batch ? row->batch : "[]");
    jw_end_object(w);
    jw_end_object(w);
}

static det_status next_reports(struct request *req, struct buf *out,
                               enum net_more *ret_more)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(64 << 20);
    struct reading *reading = req->state;
    struct metric_query *query = &reading->query;
    struct json_writer w = JSON_WRITER(out);
    struct metric_row *rows;
    uint32_t count;
    det_status st;

    *ret_more = NET_END;
    if (reading->at >= reading->trials.count)
        return DET_OK;
    query->trial_id = reading->trials.at[reading->at];
    st = store_metric_read(req->db, query, &mem, &rows, &count, req->err);
    if (st)
        return st;
    if (count) {
        jw_object(&w, NULL);
        jw_object(&w, "result");
        jw_array(&w, "metrics");
        for (uint32_t i = 0; i < count; i++)
            render_report(&w, &rows[i]);
        jw_end_array(&w);
        jw_end_object(&w);
        jw_end_object(&w);
        buf_putc(out, '\n');
    }
    if (count == REPORTS_AT_ONCE) {
        const struct metric_row *last = &rows[count - 1];

        query->has_cursor = true;
        query->after_run = last->place;
        query->after_steps = last->has_steps ? last->steps : -1;
        query->after_id = last->id;
        query->after_group = arena_strdup(&req->mem, last->group);
        if (!query->after_group)
            return DET_NOMEM;
    } else {
        query->has_cursor = false;
        reading->at++;
    }
    *ret_more = NET_MORE;
    return out->status;
}

static det_status stream_reports(struct request *req, const char *group)
{
    const struct metrics_query *in = req->query;
    struct reading *reading = arena_new(&req->mem, struct reading);

    det_status st = access_check_ids(req, ROUTE_OBJECT_trial, &in->trial_ids);

    if (!reading)
        return DET_NOMEM;
    for (size_t i = 0; !st && i < in->trial_ids.count; i++) {
        struct trial_view trial;

        st = store_trial_get(req->db, in->trial_ids.at[i], &req->mem, &trial, req->err);
    }
    if (st)
        return st;
    reading->trials = in->trial_ids;
    reading->query.group = group && *group ? group : NULL;
    reading->query.with_archived = in->with_archived;
    reading->query.with_batch = true;
    reading->query.limit = REPORTS_AT_ONCE;
    req->state = reading;
    return request_stream(req, next_reports);
}

det_status api_trial_metrics(struct request *req)
{
    const struct metrics_query *in = req->query;

    return stream_reports(req, in->group);
}

det_status api_training_metrics(struct request *req)
{
    return stream_reports(req, "training");
}

det_status api_validation_metrics(struct request *req)
{
    return stream_reports(req, "validation");
}
