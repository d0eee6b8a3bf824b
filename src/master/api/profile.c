/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - a trial's profiler, added up for the page of the trial: what the machine
 * did over time, where the time went, and why time was lost.
 *
 * The reports are read a page at a time, and between two pages the worker is free for
 * others: a trial of days has some hundred thousand of them. */
#include "model/profile.h"

#include <string.h>

#include "master/api/api.h"
#include "store/data.h"
#include "store/views.h"

enum { REPORTS_AT_ONCE = 500, PAGE_MEMORY = 64 << 20 };

struct adding {
    struct profile profile;
    size_t group; /* of profile_groups, being read */
    struct metric_query query;
};

static void adding_ended(struct request *req)
{
    struct adding *adding = req->state;

    profile_done(&adding->profile);
}

/* ---- showing --------------------------------------------------------------------- */

static void show_points(struct json_writer *w, const char *key, const double *at,
                        uint32_t count)
{
    jw_array(w, key);
    for (uint32_t i = 0; i < count; i++)
        jw_real(w, NULL, at[i]);
    jw_end_array(w);
}

static void show_line(struct json_writer *w, const struct profile_line *line,
                      double covered)
{
    jw_object(w, NULL);
    jw_str(w, "group", line->group);
    jw_str(w, "name", line->name);
    jw_real(w, "last", line->last);
    jw_real(w, "mean", line->sum / (double)line->count);
    jw_real(w, "max", line->max);
    jw_i64(w, "reports", (int64_t)line->count);
    if (!strcmp(line->group, "timing")) {
        jw_real(w, "seconds", line->seconds);
        jw_i64(w, "count", (int64_t)line->events);
        jw_real(w, "share", covered > 0 ? line->seconds / covered : 0);
    }
    show_points(w, "times", line->curve.time_s, line->curve.count);
    show_points(w, "values", line->curve.point, line->curve.count);
    jw_end_object(w);
}

/* Lines from `at` on that are of one agent; where the next one's begin. */
static size_t show_agent(struct json_writer *w, const struct profile *profile,
                         size_t at)
{
    const char *agent = profile->lines.at[at]->agent;
    double covered = profile_seconds(profile, agent);
    struct profile_cause cause;

    profile_find_cause(profile, agent, &cause);
    jw_object(w, NULL);
    jw_str(w, "agent", agent);
    jw_real(w, "seconds", covered);
    jw_object(w, "cause");
    jw_str(w, "kind", cause.kind);
    jw_bool(w, "isTrouble", cause.is_trouble);
    jw_real(w, "share", cause.share);
    jw_str(w, "text", cause.text);
    jw_end_object(w);
    jw_array(w, "lines");
    for (; at < profile->lines.count && !strcmp(profile->lines.at[at]->agent, agent);
         at++)
        show_line(w, profile->lines.at[at], covered);
    jw_end_array(w);
    jw_end_object(w);
    return at;
}

static det_status show_profile(struct request *req, struct profile *profile)
{
    profile_sort(profile);
    jw_object(&req->w, NULL);
    jw_array(&req->w, "agents");
    for (size_t at = 0; at < profile->lines.count;)
        at = show_agent(&req->w, profile, at);
    jw_end_array(&req->w);
    jw_end_object(&req->w);
    return DET_OK;
}

/* ---- reading --------------------------------------------------------------------- */

static det_status add_row(struct adding *adding, const struct metric_row *row,
                          struct arena *mem, struct err *err)
{
    struct json *tree;
    det_status st = json_parse(row->avg, strlen(row->avg), mem, &tree, err);

    return st ? st
              : profile_add(&adding->profile, row->group, tree,
                            (double)row->report_us / 1e6, err);
}

/* Behind the last row of a full page, or at the next group. */
static void go_on_behind(struct request *req, const struct metric_row *rows,
                         uint32_t count)
{
    struct adding *adding = req->state;
    struct metric_query *query = &adding->query;

    query->has_cursor = count == REPORTS_AT_ONCE;
    if (!query->has_cursor) {
        adding->group++;
        return;
    }
    query->after_run = rows[count - 1].run_id;
    query->after_steps = rows[count - 1].has_steps ? rows[count - 1].steps : -1;
    query->after_id = rows[count - 1].id;
    query->after_group = profile_groups[adding->group];
}

static det_status next_page(struct request *req)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(PAGE_MEMORY);
    struct adding *adding = req->state;
    struct metric_query *query = &adding->query;
    struct metric_row *rows = NULL;
    uint32_t count = 0;
    det_status st;

    if (!profile_groups[adding->group])
        return show_profile(req, &adding->profile);
    query->group = profile_groups[adding->group];
    st = store_metric_read(req->db, query, &mem, &rows, &count, req->err);
    for (uint32_t i = 0; i < count && !st; i++)
        st = add_row(adding, &rows[i], &mem, req->err);
    if (st)
        return st;
    go_on_behind(req, rows, count);
    return request_move(req, req->master->workers, next_page);
}

det_status api_get_trial_profile(struct request *req)
{
    struct adding *adding = arena_new(&req->mem, struct adding);
    struct trial_view trial;
    int64_t id;
    det_status st = request_id(req, 0, &id);

    if (!st)
        st = store_trial_get(req->db, id, &req->mem, &trial, req->err);
    if (st)
        return st;
    if (!adding)
        return DET_NOMEM;
    *adding = (struct adding){
        .profile = PROFILE_INIT(&req->mem),
        .query = {.trial_id = id, .limit = REPORTS_AT_ONCE},
    };
    adding->profile.curve_points = PROFILE_CURVE;
    req->state = adding;
    req->ended = adding_ended;
    return next_page(req);
}
