/* SPDX-License-Identifier: Apache-2.0 */
/* series.c - metrics as charts for a screen (store/series/series.h), in bytes that a browser
 * reads without a parser:
 *
 *   "DETS"  u32 version  u32 length of the header  header (JSON)  float64 ...
 *
 * Everything is little-endian.  The header ends with spaces, so the numbers start at a
 * multiple of eight.  A client that accepts only JSON, or asks for format=json, gets the
 * numbers as arrays. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "master/api/api.h"
#include "master/request/access.h"
#include "store/experiment/trial_view.h"
#include "store/metric/metric_names.h"
#include "store/metric/metric_summary.h"
#include "store/series/series.h"
#include "wire/queries.h"

enum {
    VERSION = 1,
    POINTS_USUAL = 600,
    CHARTS_USUAL = 40, /* if the query names no metric */
    CHARTS_MOST = 400,
    TRIALS_MOST = 10000,
    LINES_MOST = CHARTS_USUAL * TRIALS_MOST, /* each has a few numbers */
    DRAWING_BYTES = 512 << 20,
};

/* ---- the query ---------------------------------------------------------------- */

/* Texts such as "1,2,3". */
static det_status read_trials(struct request *req, const struct field_strs *texts,
                              struct series_ask *ask)
{
    size_t room = texts->count;
    int64_t *trial;

    for (size_t i = 0; i < texts->count; i++) {
        for (const char *c = texts->at[i]; *c; c++)
            room += *c == ',';
    }
    trial = arena_array(&req->mem, int64_t, room + 1);
    if (!trial)
        return DET_NOMEM;
    for (size_t i = 0; i < texts->count; i++) {
        const char *at = texts->at[i];

        while (*at) {
            char *end;
            int64_t id = strtoll(at, &end, 10);

            if (end == at || id < 1 || (*end && *end != ','))
                return err_set(req->err, DET_INVALID,
                               "trials='%s' is not a list of trials; expected numbers, "
                               "separated by commas",
                               texts->at[i]);
            trial[ask->trials++] = id;
            at = *end ? end + 1 : end;
        }
    }
    if (!ask->trials || ask->trials > TRIALS_MOST)
        return err_set(req->err, DET_INVALID,
                       "%" PRIu32 " trials were asked for; expected 1 to %d",
                       ask->trials, TRIALS_MOST);
    ask->trial = trial;
    return DET_OK;
}

static bool is_asked(const struct series_ask *ask, const char *group, const char *name)
{
    for (uint32_t i = 0; i < ask->metrics; i++) {
        if (!strcmp(ask->metric[i].name, name) && !strcmp(ask->metric[i].group, group))
            return true;
    }
    return false;
}

static det_status read_metrics(struct request *req, const struct field_strs *texts,
                               struct series_ask *ask)
{
    struct series_metric *metric =
        arena_array(&req->mem, struct series_metric, texts->count + 1);

    if (!metric)
        return DET_NOMEM;
    if (texts->count > CHARTS_MOST)
        return err_set(req->err, DET_INVALID,
                       "%zu metrics were asked for; expected %d at most", texts->count,
                       CHARTS_MOST);
    ask->metric = metric;
    for (size_t i = 0; i < texts->count; i++) {
        const char *dot = strchr(texts->at[i], '.');
        const char *group;

        if (!dot)
            return err_set(req->err, DET_INVALID, "'%s' is not of the form group.name",
                           texts->at[i]);
        group = arena_strndup(&req->mem, texts->at[i], (size_t)(dot - texts->at[i]));
        if (!group)
            return DET_NOMEM;
        if (!is_asked(ask, group, dot + 1))
            metric[ask->metrics++] = (struct series_metric){group, dot + 1};
    }
    return DET_OK;
}

static det_status read_bound(struct request *req, const char *name, const char *text,
                             double *bound)
{
    char *end;
    double value;

    if (!text || !*text)
        return DET_OK;
    value = strtod(text, &end);
    if (*end || isnan(value))
        return err_set(req->err, DET_INVALID, "%s='%s' is not a number", name, text);
    *bound = value;
    return DET_OK;
}

static det_status read_axis(struct request *req, const char *text,
                            enum series_axis *ret_axis)
{
    if (text && *text && strcmp(text, "steps") != 0 && strcmp(text, "time") != 0)
        return err_set(req->err, DET_INVALID,
                       "x='%s' is unknown; expected steps or time", text);
    *ret_axis = text && !strcmp(text, "time") ? SERIES_TIME : SERIES_STEPS;
    return DET_OK;
}

/* The query names no metric: uses the first ones that these trials have.  *ret_names: all
 * of them. */
static det_status choose_metrics(struct request *req, struct series_ask *ask,
                                 struct series_metric **ret_names, uint32_t *ret_count)
{
    det_status st = store_series_names(req->db, ask->trial, ask->trials, &req->mem,
                                       ret_names, ret_count, req->err);

    if (st)
        return st;
    ask->metric = *ret_names;
    ask->metrics = *ret_count < CHARTS_USUAL ? *ret_count : CHARTS_USUAL;
    return DET_OK;
}

static det_status read_ask(struct request *req, struct series_ask *ask)
{
    const struct charts_query *in = req->query;
    det_status st = read_trials(req, &in->trials, ask);

    *ask = (struct series_ask){.trial = ask->trial,
                               .trials = ask->trials,
                               .points = POINTS_USUAL,
                               .from = -(double)INFINITY,
                               .to = (double)INFINITY,
                               .with_archived = in->archived};
    if (!st)
        st = read_metrics(req, &in->metrics, ask);
    if (!st)
        st = read_axis(req, in->x, &ask->axis);
    if (!st)
        st = read_bound(req, "from", in->from, &ask->from);
    if (!st)
        st = read_bound(req, "to", in->to, &ask->to);
    if (in->points > 0)
        ask->points =
            in->points < SERIES_POINTS_MOST ? (uint32_t)in->points : SERIES_POINTS_MOST;
    return st;
}

/* ---- the answer ------------------------------------------------------------------ */

struct answer {
    struct json_writer *w;
    bool is_json;
    uint64_t at; /* numbers so far */
};

static void render_numbers(struct answer *answer, const char *key, const double *number,
                           uint32_t count)
{
    jw_array(answer->w, key);
    for (uint32_t i = 0; i < count; i++)
        jw_real(answer->w, NULL, number[i]);
    jw_end_array(answer->w);
}

static void render_point(struct json_writer *w, const char *key,
                         const struct series_point *point)
{
    jw_array(w, key);
    jw_real(w, NULL, point->x);
    jw_real(w, NULL, point->y);
    jw_end_array(w);
}

static void render_line(struct answer *answer, const struct series_line *line,
                        uint32_t count)
{
    struct json_writer *w = answer->w;

    jw_object(w, NULL);
    jw_i64(w, "trial", line->trial_id);
    jw_i64(w, "run", line->run_id);
    jw_bool(w, "archived", line->is_archived);
    jw_i64(w, "reports", (int64_t)line->reports);
    render_point(w, "first", &line->first);
    render_point(w, "last", &line->last);
    if (line->odd_count) {
        jw_array(w, "notNumbers");
        for (uint32_t i = 0; i < line->odd_count; i++)
            render_point(w, NULL, &line->odd[i]);
        jw_end_array(w);
    }
    if (answer->is_json) {
        render_numbers(answer, "y", line->y, count);
    } else {
        jw_i64(w, "at", (int64_t)answer->at);
        jw_i64(w, "count", count);
    }
    answer->at += count;
    jw_end_object(w);
}

static void render_chart(struct answer *answer, const struct series_chart *chart)
{
    struct json_writer *w = answer->w;

    jw_object(w, NULL);
    jw_str(w, "group", chart->metric.group);
    jw_str(w, "name", chart->metric.name);
    jw_bool(w, "isExact", chart->is_exact);
    if (answer->is_json) {
        render_numbers(answer, "x", chart->x, chart->x_count);
    } else {
        jw_object(w, "x");
        jw_i64(w, "at", (int64_t)answer->at);
        jw_i64(w, "count", chart->x_count);
        jw_end_object(w);
    }
    answer->at += chart->x_count;
    jw_array(w, "lines");
    for (uint32_t i = 0; i < chart->line_count; i++)
        render_line(answer, &chart->line[i], chart->x_count);
    jw_end_array(w);
    jw_end_object(w);
}

static void render_end(struct json_writer *w, const struct series_end *end)
{
    char key[24];

    (void)snprintf(key, sizeof(key), "%" PRId64, end->trial_id);
    jw_object(w, key);
    jw_i64(w, "run", end->run_id);
    jw_i64(w, "reports", (int64_t)end->reports);
    if (end->last_steps >= 0)
        jw_i64(w, "lastSteps", end->last_steps);
    if (end->last_us)
        jw_real(w, "lastTime", (double)end->last_us / 1e6);
    jw_end_object(w);
}

static void render_more(struct json_writer *w, const struct series_metric *name,
                        uint32_t count)
{
    jw_array(w, "more");
    for (uint32_t i = 0; i < count; i++) {
        jw_object(w, NULL);
        jw_str(w, "group", name[i].group);
        jw_str(w, "name", name[i].name);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void render_header(struct answer *answer, const struct series *series,
                          const struct series_metric *more, uint32_t more_count)
{
    struct json_writer *w = answer->w;

    jw_object(w, NULL);
    jw_array(w, "charts");
    for (uint32_t i = 0; i < series->chart_count; i++)
        render_chart(answer, &series->chart[i]);
    jw_end_array(w);
    jw_object(w, "head");
    for (uint32_t i = 0; i < series->end_count; i++)
        render_end(w, &series->end[i]);
    jw_end_object(w);
    if (more_count)
        render_more(w, more, more_count);
    jw_end_object(w);
}

static void add_numbers(struct buf *out, const struct series_chart *chart)
{
    buf_add(out, chart->x, chart->x_count * sizeof(double));
    for (uint32_t i = 0; i < chart->line_count; i++)
        buf_add(out, chart->line[i].y, chart->x_count * sizeof(double));
}

/* Writes the header first, because its length precedes it. */
static void send_bytes(struct request *req, const struct series *series,
                       const struct series_metric *more, uint32_t more_count)
{
    CLEANUP(buf_done) struct buf header = BUF_INIT;
    struct json_writer w = JSON_WRITER(&header);
    struct answer answer = {.w = &w};

    render_header(&answer, series, more, more_count);
    while ((header.len + 12) % 8 && !header.status)
        buf_putc(&header, ' ');
    if (header.status)
        req->out.status = header.status;
    buf_add(&req->out, "DETS", 4);
    buf_put_u32(&req->out, VERSION);
    buf_put_u32(&req->out, (uint32_t)header.len);
    buf_add(&req->out, header.data, header.len);
    for (uint32_t i = 0; i < series->chart_count; i++)
        add_numbers(&req->out, &series->chart[i]);
    req->content_type = "application/vnd.det.series";
}

static bool wants_json(const struct request *req)
{
    const struct charts_query *in = req->query;
    const char *accept = net_request_header(req->x, "Accept");

    if (in->format && !strcmp(in->format, "json"))
        return true;
    return accept && strstr(accept, "application/json") != NULL &&
           !strstr(accept, "application/vnd.det.series");
}

det_status api_get_series(struct request *req)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(DRAWING_BYTES);
    struct answer answer = {.w = &req->w, .is_json = true};
    struct series_ask ask = {0};
    struct series series = {0};
    struct series_metric *names = NULL;
    uint32_t count = 0;
    det_status st = read_ask(req, &ask);

    access_names_nothing(req); /* until a trial is named */
    for (uint32_t i = 0; !st && i < ask.trials; i++)
        st = access_check_id(req, ROUTE_OBJECT_trial, ask.trial[i]);
    if (!st && !ask.metrics)
        st = choose_metrics(req, &ask, &names, &count);
    if (!st && (uint64_t)ask.trials * ask.metrics > LINES_MOST)
        st = err_set(req->err, DET_INVALID,
                     "%" PRIu32 " metrics of %" PRIu32
                     " trials were asked for; expected %d lines at most",
                     ask.metrics, ask.trials, LINES_MOST);
    if (!st)
        st = store_series(req->db, &ask, &mem, &series, req->err);
    if (st)
        return st;
    if (count > ask.metrics) {
        names += ask.metrics;
        count -= ask.metrics;
    } else {
        count = 0;
    }
    if (wants_json(req))
        render_header(&answer, &series, names, count);
    else
        send_bytes(req, &series, names, count);
    return DET_OK;
}

/* ---- names ----------------------------------------------------------------------- */

det_status api_get_trial_metric_names(struct request *req)
{
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (st)
        return st;
    jw_object(&req->w, NULL);
    jw_array(&req->w, "metricNames");
    st = store_metric_list(req->db, id, &req->w, req->err);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return st;
}
