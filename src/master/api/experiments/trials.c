/* SPDX-License-Identifier: Apache-2.0 */
/* trials.c - trials, their workloads and the curves of their metrics. */
#include "master/api/experiments/trials.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vec.h"
#include "master/api/api.h"
#include "master/api/listing.h"
#include "master/api/render.h"
#include "master/request/access.h"
#include "store/checkpoint/checkpoint.h"
#include "store/experiment/experiment.h"
#include "store/experiment/trial_view.h"
#include "store/metric/metric_cursor.h"
#include "store/metric/metric_summary.h"
#include "store/page.h"
#include "wire/queries.h"

det_status api_list_trials(struct request *req)
{
    const struct list_query *in = req->query;
    struct trial_query query = {.sort = in->sort_by,
                                .is_descending = listing_is_descending(in->order_by),
                                .page = {.offset = in->offset, .limit = in->limit}};
    struct experiment_view experiment;
    struct trial_view *rows;
    uint32_t count = 0;
    det_status st = request_id(req, 0, &query.experiment_id);

    if (!st)
        st = listing_live_states(&in->states, trial_state_names, &query.states,
                                 req->err);
    if (!st)
        st = store_experiment_get(req->db, query.experiment_id, &req->mem, &experiment,
                                  req->err);
    if (!st)
        st = store_trial_list(req->db, &query, &req->mem, &rows, &count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "trials");
    for (uint32_t i = 0; !st && i < count; i++)
        st = render_trial(req, NULL, &rows[i]);
    jw_end_array(&req->w);
    render_page(&req->w, &query.page);
    jw_end_object(&req->w);
    return st;
}

det_status trials_reply(struct request *req, int64_t id)
{
    struct trial_view view;
    det_status st = store_trial_get(req->db, id, &req->mem, &view, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    st = render_trial(req, "trial", &view);
    jw_end_object(&req->w);
    return st;
}

det_status api_get_trial(struct request *req)
{
    int64_t id;
    det_status st = request_id(req, 0, &id);

    return st ? st : trials_reply(req, id);
}

det_status api_kill_trial(struct request *req)
{
    struct core_event event = {.kind = EVENT_TRIAL_KILL};
    struct trial_view view;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &view, req->err);
    if (st || trial_is_terminal(view.row.state))
        return st; /* an ended trial: nothing to do */
    if (view.is_unmanaged)
        return err_set(req->err, DET_STATE,
                       "trial %" PRId64 " is unmanaged: this master does not run it",
                       id);
    event.trial_kill.trial_id = id;
    return request_event(req, &event, NULL);
}

/* ---- workloads ------------------------------------------------------------------- */

struct workload {
    int64_t steps;
    const struct metric_row *metrics; /* or */
    const struct checkpoint *checkpoint;
};

static int by_steps(const void *a, const void *b)
{
    const struct workload *x = a, *y = b;

    return (x->steps > y->steps) - (x->steps < y->steps);
}

static void render_metrics_workload(struct json_writer *w, const struct metric_row *row)
{
    bool is_validation = !strcmp(row->group, "validation");

    jw_object(w, is_validation ? "validation" : "training");
    jw_object(w, "metrics");
    jw_raw(w, "avgMetrics", row->avg);
    jw_raw(w, "batchMetrics", row->batch ? row->batch : "[]");
    jw_end_object(w);
    jw_i64(w, "numInputs", 0);
    jw_i64(w, "totalBatches", row->steps);
    jw_time(w, "endTime", row->report_us);
    jw_end_object(w);
}

static bool wants_metrics(const struct workloads_query *in,
                          const struct metric_row *row)
{
    bool is_validation = !strcmp(row->group, "validation");

    if (in->group && *in->group && strcmp(in->group, row->group))
        return false;
    if (!in->filter)
        return is_validation || !strcmp(row->group, "training") ||
               (in->group && *in->group);
    if (!strcmp(in->filter, "FILTER_OPTION_CHECKPOINT"))
        return false;
    if (strstr(in->filter, "VALIDATION"))
        return is_validation;
    return is_validation || !strcmp(row->group, "training");
}

static bool wants_checkpoints(const struct workloads_query *in)
{
    return !in->filter || strcmp(in->filter, "FILTER_OPTION_VALIDATION");
}

static det_status gather_workloads(struct request *req, int64_t trial_id,
                                   struct workload **ret_rows, uint32_t *ret_count)
{
    const struct workloads_query *in = req->query;
    struct metric_query metrics = {.trial_id = trial_id,
                                   .with_batch = in->include_batch_metrics};
    struct checkpoint_query checkpoints = {.trial_id = trial_id};
    struct metric_row *rows;
    struct checkpoint *saved;
    struct workload *all;
    uint32_t row_count, saved_count, count = 0;
    int64_t total;
    det_status st =
        store_metric_read(req->db, &metrics, &req->mem, &rows, &row_count, req->err);

    if (!st)
        st = store_checkpoint_list(req->db, &checkpoints, &req->mem, &saved,
                                   &saved_count, &total, req->err);
    if (st)
        return st;
    all = arena_array(&req->mem, struct workload, (size_t)row_count + saved_count + 1);
    if (!all)
        return DET_NOMEM;
    for (uint32_t i = 0; i < row_count; i++)
        if (wants_metrics(in, &rows[i]))
            all[count++] = (struct workload){rows[i].steps, &rows[i], NULL};
    for (uint32_t i = 0; i < saved_count && wants_checkpoints(in); i++)
        all[count++] = (struct workload){saved[i].steps_completed, NULL, &saved[i]};
    qsort(all, count, sizeof(*all), by_steps);
    *ret_rows = all;
    *ret_count = count;
    return DET_OK;
}

det_status api_trial_workloads(struct request *req)
{
    const struct workloads_query *in = req->query;
    struct page page = {.offset = in->offset, .limit = in->limit};
    struct workload *rows;
    struct trial_view trial;
    uint32_t count;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (!st)
        st = gather_workloads(req, id, &rows, &count);
    if (!st)
        st = listing_cut_page(&page, count, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "workloads");
    for (int64_t i = page.start; i < page.end; i++) {
        const struct workload *row =
            &rows[listing_is_descending(in->order_by) ? (int64_t)count - 1 - i : i];

        jw_object(&req->w, NULL);
        if (row->metrics)
            render_metrics_workload(&req->w, row->metrics);
        else
            render_checkpoint_outline(&req->w, "checkpoint", row->checkpoint);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    render_page(&req->w, &page);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- curves of metrics ------------------------------------------------------------ */

struct wanted {
    const char *group;
    const char *name;
};

static const char *group_of_type(const struct series_query *in)
{
    if (in->group && *in->group)
        return in->group;
    return in->metric_type && !strcmp(in->metric_type, "METRIC_TYPE_TRAINING")
               ? "training"
               : "validation";
}

/* "validation.loss" names group and metric at once. */
static det_status list_series(struct request *req, struct wanted **ret_series,
                              uint32_t *ret_count)
{
    const struct series_query *in = req->query;
    struct wanted *all = arena_array(&req->mem, struct wanted,
                                     in->metric_names.count + in->metric_ids.count + 1);
    uint32_t count = 0;

    if (!all)
        return DET_NOMEM;
    for (size_t i = 0; i < in->metric_names.count; i++)
        all[count++] = (struct wanted){group_of_type(in), in->metric_names.at[i]};
    for (size_t i = 0; i < in->metric_ids.count; i++) {
        const char *dot = strchr(in->metric_ids.at[i], '.');
        char *group;

        if (!dot)
            return err_set(req->err, DET_INVALID, "'%s' is not of the form group.name",
                           in->metric_ids.at[i]);
        group = arena_strndup(&req->mem, in->metric_ids.at[i],
                              (size_t)(dot - in->metric_ids.at[i]));
        all[count++] = (struct wanted){group, dot + 1};
    }
    if (req->mem.has_failed)
        return DET_NOMEM;
    *ret_series = all;
    *ret_count = count;
    return DET_OK;
}

static det_status render_series(struct request *req, int64_t trial_id,
                                const struct wanted *series)
{
    const struct series_query *in = req->query;
    uint32_t most = in->max_datapoints > 0 && in->max_datapoints < 100000
                        ? (uint32_t)in->max_datapoints
                        : 1000;
    const struct metric_line wanted = {trial_id, series->group, series->name, most};
    struct metric_series line;
    det_status st = store_metric_series(req->db, &wanted, &req->mem, &line, req->err);

    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_str(&req->w, "group", series->group);
    jw_str(&req->w, "type",
           strcmp(series->group, "training") ? "METRIC_TYPE_VALIDATION"
                                             : "METRIC_TYPE_TRAINING");
    jw_array(&req->w, "data");
    for (uint32_t i = 0; i < line.count; i++) {
        if (line.point[i].steps < in->start_batches ||
            (in->end_batches && line.point[i].steps > in->end_batches))
            continue;
        jw_object(&req->w, NULL);
        jw_i64(&req->w, "batches", line.point[i].steps);
        jw_time(&req->w, "time", line.point[i].report_us);
        jw_object(&req->w, "values");
        jw_real(&req->w, series->name, line.point[i].value);
        jw_end_object(&req->w);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

det_status api_trial_series(struct request *req)
{
    const struct series_query *in = req->query;
    struct wanted *series = NULL;
    uint32_t count = 0;
    det_status st = access_check_ids(req, ROUTE_OBJECT_trial, &in->trial_ids);

    if (!st)
        st = list_series(req, &series, &count);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "trials");
    for (size_t i = 0; i < in->trial_ids.count && !st; i++) {
        struct trial_view trial;

        st = store_trial_get(req->db, in->trial_ids.at[i], &req->mem, &trial, req->err);
        if (st)
            break;
        jw_object(&req->w, NULL);
        st = render_trial(req, "trial", &trial);
        jw_array(&req->w, "metrics");
        for (uint32_t j = 0; j < count && !st; j++)
            st = render_series(req, trial.row.id, &series[j]);
        jw_end_array(&req->w);
        jw_end_object(&req->w);
    }
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}
